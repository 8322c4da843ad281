//===- Scatter.cpp - Look-ups and stores of nn to linalg ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

Row linalg_lowering::rowOf(OpBuilder &builder, Location loc, Value index,
                           int64_t base, int64_t size, int64_t tableSize) {
  Type type = index.getType();
  auto number = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantOp>(
        loc, builder.getIntegerAttr(type, value));
  };
  using I = arith::CmpIPredicate;
  Value zero = number(0);
  Value fromEnd = builder.create<arith::AddIOp>(loc, index, number(tableSize));
  Value isNegative = builder.create<arith::CmpIOp>(loc, I::slt, index, zero);
  Value row = builder.create<arith::SelectOp>(loc, isNegative, fromEnd, index);
  row = builder.create<arith::SubIOp>(loc, row, number(base));
  Value isInside =
      builder.create<arith::CmpIOp>(loc, I::ult, row, number(size));
  row = builder.create<arith::SelectOp>(loc, isInside, row, zero);
  row = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), row);
  return {row, isInside};
}

Value linalg_lowering::elementOrZero(OpBuilder &builder, Location loc,
                                     Value table, ValueRange position,
                                     Value isInside) {
  Value found = builder.create<tensor::ExtractOp>(loc, table, position);
  return builder.create<arith::SelectOp>(
      loc, isInside, found, scalar(builder, loc, found.getType(), 0));
}

/// Entry i of a list that may be left out.
static int64_t entry(std::optional<ArrayRef<int64_t>> list, size_t i,
                     int64_t otherwise) {
  return list ? (*list)[i] : otherwise;
}

namespace {
/// Every element of the result has an index, and reads the row that it names.
struct GatherElementsLowering : public OpRewritePattern<nn::GatherElementsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::GatherElementsOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    Value output = empty(rewriter, loc, type.getShape(), type.getElementType());
    auto element = [&](OpBuilder &builder, Location location,
                       ValueRange elements) {
      return elementAlongAxis(builder, location, op, elements[0],
                              [](unsigned dim) { return dim; });
    };
    rewriter.replaceOp(
        op, elementwise(rewriter, loc, op.getIndices(), output, element));
    return success();
  }
};

/// Every slice of the result reads the slice that several indices name.
struct GatherNDLowering : public OpRewritePattern<nn::GatherNDOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::GatherNDOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    RankedTensorType data = tensorType(op.getData());
    RankedTensorType indices = tensorType(op.getIndices());
    unsigned rank = type.getRank(), outer = indices.getRank() - 1;
    unsigned batch = op.getBatchDims(), indexed = indices.getShape().back();
    auto element = [&](OpBuilder &builder, Location location,
                       ValueRange) -> Value {
      SmallVector<Value> dims, position;
      for (unsigned dim = 0; dim < rank; ++dim)
        dims.push_back(builder.create<linalg::IndexOp>(location, dim));
      SmallVector<Value> at(ArrayRef(dims).take_front(outer));
      position.assign(dims.begin(), dims.begin() + batch);
      at.push_back(nullptr);
      Value isInside;
      for (unsigned i = 0; i < indexed; ++i) {
        at.back() = builder.create<arith::ConstantIndexOp>(location, i);
        Value index =
            builder.create<tensor::ExtractOp>(location, op.getIndices(), at);
        int64_t size = data.getDimSize(batch + i);
        Row row = rowOf(builder, location, index, entry(op.getBases(), i, 0),
                        size, entry(op.getTableSizes(), i, size));
        position.push_back(row.index);
        isInside = isInside ? builder.create<arith::AndIOp>(location, isInside,
                                                            row.isInside)
                            : row.isInside;
      }
      llvm::append_range(position, ArrayRef(dims).drop_front(outer));
      return elementOrZero(builder, location, op.getData(), position, isInside);
    };
    Value output = empty(rewriter, loc, type.getShape(), type.getElementType());
    SmallVector<AffineMap> maps = {rewriter.getMultiDimIdentityMap(rank)};
    SmallVector<Iterator> iterators(rank, Iterator::parallel);
    rewriter.replaceOp(
        op, generic(rewriter, loc, {}, output, {maps, iterators}, element));
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Where an update at the given place goes: a position that exists in any case,
/// and whether it is the right one.
using Target = llvm::function_ref<std::pair<SmallVector<Value>, Value>(
    OpBuilder &, Location, ValueRange)>;

/// The data, or the neutral element, with all updates stored, one by one in
/// row-major order.
template <typename Op>
static Value store(OpBuilder &builder, Op op, Target target) {
  Location loc = op.getLoc();
  RankedTensorType type = tensorType(op.getResult());
  Value output = empty(builder, loc, type.getShape(), type.getElementType());
  if (op.getData()) {
    output = elementwise(
        builder, loc, op.getData(), output,
        [](OpBuilder &, Location, ValueRange elements) { return elements[0]; });
  } else {
    Value start = neutral(builder, loc, op.getReduction(),
                          elementTypeOf(op, op->getNumOperands()));
    output = filled(builder, loc, type.getShape(), start);
  }
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
  Value one = builder.create<arith::ConstantIndexOp>(loc, 1);
  SmallVector<Value> lows, highs, steps;
  for (int64_t size : tensorType(op.getUpdates()).getShape()) {
    lows.push_back(zero);
    highs.push_back(builder.create<arith::ConstantIndexOp>(loc, size));
    steps.push_back(one);
  }
  auto body = [&](OpBuilder &nested, Location location, ValueRange at,
                  ValueRange state) -> scf::ValueVector {
    auto [position, isInside] = target(nested, location, at);
    Value update =
        nested.create<tensor::ExtractOp>(location, op.getUpdates(), at);
    Value old = nested.create<tensor::ExtractOp>(location, state[0], position);
    Value value = update;
    if (op.getReduction())
      value = joined(nested, location,
                     {*op.getReduction(), isUnsigned(op, op->getNumOperands())},
                     old, update);
    value = nested.create<arith::SelectOp>(location, isInside, value, old);
    return {
        nested.create<tensor::InsertOp>(location, value, state[0], position)};
  };
  return scf::buildLoopNest(builder, loc, lows, highs, steps, output, body)
      .results.front();
}

namespace {
struct ScatterElementsLowering
    : public OpRewritePattern<nn::ScatterElementsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ScatterElementsOp op,
                                PatternRewriter &rewriter) const override {
    unsigned axis = op.getAxis();
    int64_t size = tensorType(op.getResult()).getDimSize(axis);
    auto target = [&](OpBuilder &builder, Location loc, ValueRange at) {
      Value index = builder.create<tensor::ExtractOp>(loc, op.getIndices(), at);
      Row row = rowOf(builder, loc, index, op.getBase(), size,
                      op.getTableSize().value_or(size));
      SmallVector<Value> position(at);
      position[axis] = row.index;
      return std::pair(position, row.isInside);
    };
    rewriter.replaceOp(op, store(rewriter, op, target));
    return success();
  }
};

struct ScatterNDLowering : public OpRewritePattern<nn::ScatterNDOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ScatterNDOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = tensorType(op.getResult()).getShape();
    ArrayRef<int64_t> indices = tensorType(op.getIndices()).getShape();
    unsigned outer = indices.size() - 1;
    auto target = [&](OpBuilder &builder, Location loc, ValueRange at) {
      SmallVector<Value> from(at.take_front(outer)), position;
      from.push_back(nullptr);
      Value isInside;
      for (int64_t i = 0; i < indices.back(); ++i) {
        from.back() = builder.create<arith::ConstantIndexOp>(loc, i);
        Value index =
            builder.create<tensor::ExtractOp>(loc, op.getIndices(), from);
        Row row = rowOf(builder, loc, index, entry(op.getBases(), i, 0),
                        shape[i], entry(op.getTableSizes(), i, shape[i]));
        position.push_back(row.index);
        isInside = isInside ? builder.create<arith::AndIOp>(loc, isInside,
                                                            row.isInside)
                            : row.isInside;
      }
      llvm::append_range(position, at.drop_front(outer));
      return std::pair(position, isInside);
    };
    rewriter.replaceOp(op, store(rewriter, op, target));
    return success();
  }
};
} // namespace

void linalg_lowering::populateScatterPatterns(RewritePatternSet &patterns) {
  patterns.add<GatherElementsLowering, GatherNDLowering,
               ScatterElementsLowering, ScatterNDLowering>(
      patterns.getContext());
}
