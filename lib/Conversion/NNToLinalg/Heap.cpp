//===- Heap.cpp - Heaps in kernels ----------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Heap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return builder.create<arith::ConstantIndexOp>(loc, value);
}

static Value sum(OpBuilder &builder, Location loc, Value a, int64_t b) {
  return builder.create<arith::AddIOp>(loc, a, number(builder, loc, b));
}

Value Heap::get(OpBuilder &builder, Location loc, Value list,
                Value entry) const {
  Value item =
      builder.create<tensor::ExtractOp>(loc, list, place_(builder, loc, entry));
  return builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), item);
}

Value Heap::put(OpBuilder &builder, Location loc, Value list, Value entry,
                Value item) const {
  Type type = cast<RankedTensorType>(list.getType()).getElementType();
  return builder.create<tensor::InsertOp>(
      loc, builder.create<arith::IndexCastOp>(loc, type, item), list,
      place_(builder, loc, entry));
}

/// Puts `item` at an entry, or below it, so that the entries from there on are
/// heaps if those below it are.
Value Heap::sink(OpBuilder &builder, Location loc, Value list, Value count,
                 Value entry, Value item) const {
  // As many levels as the logarithm of how many entries there are for each of
  // this level.
  Value width =
      builder.create<arith::DivUIOp>(loc, count, sum(builder, loc, entry, 1));
  Value zeros = builder.create<math::CountLeadingZerosOp>(
      loc,
      builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), width));
  Value levels = builder.create<arith::SubIOp>(
      loc, number(builder, loc, 63),
      builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), zeros));
  auto loop = builder.create<scf::ForOp>(
      loc, number(builder, loc, 0), levels, number(builder, loc, 1),
      ValueRange{list, entry},
      [&](OpBuilder &inner, Location, Value, ValueRange state) {
        auto select = [&](Value condition, Value a, Value b) -> Value {
          return inner.create<arith::SelectOp>(loc, condition, a, b);
        };
        auto isBelow = [&](Value a, Value b) -> Value {
          return inner.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a,
                                             b);
        };
        Value all = state[0], here = state[1];
        Value left =
            sum(inner, loc, inner.create<arith::AddIOp>(loc, here, here), 1);
        Value right = sum(inner, loc, left, 1);
        Value isInner = isBelow(left, count);
        left = select(isInner, left, here);
        right = select(isBelow(right, count), right, left);
        Value leftItem = get(inner, loc, all, left),
              rightItem = get(inner, loc, all, right);
        Value isRight = order_(inner, loc, rightItem, leftItem);
        Value next = select(isRight, right, left);
        Value nextItem = select(isRight, rightItem, leftItem);
        Value sinks = inner.create<arith::AndIOp>(
            loc, isInner, order_(inner, loc, nextItem, item));
        inner.create<scf::YieldOp>(
            loc, ValueRange{
                     put(inner, loc, all, here, select(sinks, nextItem, item)),
                     select(sinks, next, here)});
      });
  return put(builder, loc, loop.getResult(0), loop.getResult(1), item);
}

Value Heap::make(OpBuilder &builder, Location loc, Value list,
                 Value count) const {
  Value inner =
      builder.create<arith::DivUIOp>(loc, count, number(builder, loc, 2));
  auto loop = builder.create<scf::ForOp>(
      loc, number(builder, loc, 0), inner, number(builder, loc, 1), list,
      [&](OpBuilder &nested, Location, Value i, ValueRange state) {
        Value entry =
            nested.create<arith::SubIOp>(loc, sum(nested, loc, inner, -1), i);
        nested.create<scf::YieldOp>(loc,
                                    sink(nested, loc, state[0], count, entry,
                                         get(nested, loc, state[0], entry)));
      });
  return loop.getResult(0);
}

std::pair<Value, Value> Heap::take(OpBuilder &builder, Location loc, Value list,
                                   Value count) const {
  Value first = number(builder, loc, 0);
  Value item = get(builder, loc, list, first);
  Value left = sum(builder, loc, count, -1);
  Value last = get(builder, loc, list, left);
  return {item, sink(builder, loc, list, left, first, last)};
}
