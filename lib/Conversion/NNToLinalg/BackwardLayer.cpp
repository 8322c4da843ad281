//===- BackwardLayer.cpp - One direction of a layer, back -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardLayer.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

Value BackwardLayer::statesBefore() {
  Value first = entry(firstHidden, direction);
  Value states = empty(builder, loc, {steps, batch, hidden}, element);
  states = withEntry(states, first, {number(isBackwards() ? steps - 1 : 0)});
  if (steps == 1)
    return states;
  // The others are those behind the step before.
  ArrayRef<int64_t> shape = tensorType(hiddens).getShape();
  SmallVector<OpFoldResult> offsets(4, number(0)), strides(4, number(1));
  SmallVector<OpFoldResult> sizes = {number(steps - 1), number(1),
                                     number(shape[2]), number(shape[3])};
  offsets[0] = number(isBackwards() ? 1 : 0);
  offsets[1] = direction;
  Value others = builder.create<tensor::ExtractSliceOp>(
      loc, RankedTensorType::get({steps - 1, shape[2], shape[3]}, element),
      hiddens, offsets, sizes, strides);
  SmallVector<OpFoldResult> to(3, number(0)), one(3, number(1));
  to[0] = number(isBackwards() ? 0 : 1);
  sizes.erase(sizes.begin() + 1);
  return builder.create<tensor::InsertSliceOp>(loc, others, states, to, sizes,
                                               one);
}

Value BackwardLayer::withStep(Value result, Value value, Value at) {
  ArrayRef<int64_t> shape = tensorType(result).getShape();
  SmallVector<OpFoldResult> offsets(shape.size(), number(0)), sizes;
  SmallVector<OpFoldResult> strides(shape.size(), number(1));
  for (int64_t size : shape)
    sizes.push_back(number(size));
  offsets[0] = direction;
  offsets[2] = at;
  sizes[0] = sizes[2] = number(1);
  return builder.create<tensor::InsertSliceOp>(loc, value, result, offsets,
                                               sizes, strides);
}

Value BackwardLayer::withSteps(Value result, Value values) {
  Value turned =
      builder
          .create<linalg::TransposeOp>(
              loc, values, empty(builder, loc, {batch, steps, hidden}, element),
              ArrayRef<int64_t>{1, 0, 2})
          .getResult()[0];
  return withEntry(result, turned, {direction});
}

Value BackwardLayer::joined(ArrayRef<Value> rows) {
  auto count = static_cast<int64_t>(rows.size());
  Value gates = empty(builder, loc, {batch, count, hidden}, element);
  for (auto [i, row] : llvm::enumerate(rows))
    gates = builder.create<tensor::InsertSliceOp>(
        loc, row, gates,
        ArrayRef<OpFoldResult>{number(0), number(i), number(0)},
        ArrayRef<OpFoldResult>{number(batch), number(1), number(hidden)},
        SmallVector<OpFoldResult>(3, number(1)));
  return gates;
}

Value BackwardLayer::addTransposed(Value gates, Value weight, Value sums) {
  MLIRContext *context = builder.getContext();
  auto dim = [&](unsigned i) { return builder.getAffineDimExpr(i); };
  if (element.isF32()) { // The form of a product, which libraries take.
    AffineExpr gate = dim(0), unit = dim(1), sample = dim(2), k = dim(3);
    return generic(builder, loc, {gates, weight}, sums,
                   {{AffineMap::get(4, 0, {sample, gate, unit}, context),
                     AffineMap::get(4, 0, {gate, unit, k}, context),
                     AffineMap::get(4, 0, {sample, k}, context)},
                    {Iterator::reduction, Iterator::reduction,
                     Iterator::parallel, Iterator::parallel}},
                   [](OpBuilder &nested, Location location, ValueRange e) {
                     return multiplyAdd(nested, location, e[0], e[1], e[2]);
                   });
  }
  AffineExpr unit = dim(0), sample = dim(1), k = dim(2);
  // All gates at once: a sum is read and written once for them.
  int64_t count = tensorType(gates).getDimSize(1);
  SmallVector<Value> inputs(count, gates);
  inputs.append(count, weight);
  SmallVector<AffineMap> maps;
  for (int64_t gate = 0; gate != count; ++gate)
    maps.push_back(AffineMap::get(
        3, 0, {sample, builder.getAffineConstantExpr(gate), unit}, context));
  for (int64_t gate = 0; gate != count; ++gate)
    maps.push_back(AffineMap::get(
        3, 0, {builder.getAffineConstantExpr(gate), unit, k}, context));
  maps.push_back(AffineMap::get(3, 0, {sample, k}, context));
  return generic(
      builder, loc, inputs, sums,
      {maps, {Iterator::reduction, Iterator::parallel, Iterator::parallel}},
      [&](OpBuilder &nested, Location location, ValueRange e) {
        Value sum = e.back();
        for (int64_t gate = 0; gate != count; ++gate)
          sum = multiplyAdd(nested, location, e[gate], e[count + gate], sum);
        return sum;
      });
}
