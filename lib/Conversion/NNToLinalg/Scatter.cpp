//===- Scatter.cpp - Look-ups and stores of nn to linalg ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

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

/// What updates are stored onto: the data, or the neutral element.
template <typename Op>
static Value startOfStore(OpBuilder &builder, Op op) {
  Location loc = op.getLoc();
  RankedTensorType type = tensorType(op.getResult());
  if (!op.getData())
    return filled(builder, loc, type.getShape(),
                  neutral(builder, loc, op.getReduction(),
                          elementTypeOf(op, op->getNumOperands())));
  return elementwise(
      builder, loc, op.getData(),
      empty(builder, loc, type.getShape(), type.getElementType()),
      [](OpBuilder &, Location, ValueRange elements) { return elements[0]; });
}

/// What an update makes of the element at its place.
template <typename Op>
static Value stored(OpBuilder &builder, Location loc, Op op, Value old,
                    Value update) {
  if (!op.getReduction())
    return update;
  return joined(builder, loc,
                {*op.getReduction(), isUnsigned(op, op->getNumOperands())}, old,
                update);
}

/// A nest of loops that hand `start` on.
static Value loopNest(
    OpBuilder &builder, Location loc, ArrayRef<int64_t> sizes, Value start,
    llvm::function_ref<Value(OpBuilder &, Location, ValueRange, Value)> body) {
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
  Value one = builder.create<arith::ConstantIndexOp>(loc, 1);
  SmallVector<Value> lows(sizes.size(), zero), steps(sizes.size(), one), highs;
  for (int64_t size : sizes)
    highs.push_back(builder.create<arith::ConstantIndexOp>(loc, size));
  return scf::buildLoopNest(builder, loc, lows, highs, steps, start,
                            [&](OpBuilder &nested, Location location,
                                ValueRange at,
                                ValueRange state) -> scf::ValueVector {
                              return {body(nested, location, at, state[0])};
                            })
      .results.front();
}

/// `table` after all slices, one by one in row-major order of the indices, have
/// been stored: `element` makes an element of what is there and of that of the
/// slice.
template <typename Op>
static Value storeSlices(OpBuilder &builder, Op op, Value table, Value slices,
                         ElementBuilder element) {
  ArrayRef<int64_t> shape = tensorType(table).getShape();
  ArrayRef<int64_t> indices = tensorType(op.getIndices()).getShape();
  size_t outer = indices.size() - 1, indexed = indices.back();
  auto slice = RankedTensorType::get(shape.drop_front(indexed),
                                     tensorType(table).getElementType());
  auto body = [&](OpBuilder &nested, Location loc, ValueRange at,
                  Value state) -> Value {
    Attribute zero = nested.getIndexAttr(0), one = nested.getIndexAttr(1);
    SmallVector<Value> entry(at);
    entry.push_back(nullptr);
    SmallVector<OpFoldResult> to, from(at.begin(), at.end());
    Value isInside;
    for (size_t i = 0; i < indexed; ++i) {
      entry.back() = nested.create<arith::ConstantIndexOp>(loc, i);
      Value index =
          nested.create<tensor::ExtractOp>(loc, op.getIndices(), entry);
      Row row = rowOf(nested, loc, index, ::entry(op.getBases(), i, 0),
                      shape[i], ::entry(op.getTableSizes(), i, shape[i]));
      to.push_back(row.index);
      isInside = isInside
                     ? nested.create<arith::AndIOp>(loc, isInside, row.isInside)
                     : row.isInside;
    }
    SmallVector<OpFoldResult> sizesTo(indexed, one), sizesFrom(outer, one);
    for (int64_t size : slice.getShape())
      for (auto *sizes : {&sizesTo, &sizesFrom})
        sizes->push_back(nested.getIndexAttr(size));
    to.resize(sizesTo.size(), zero);
    from.resize(sizesFrom.size(), zero);
    SmallVector<OpFoldResult> stepsTo(to.size(), one),
        stepsFrom(from.size(), one);
    Value old = nested.create<tensor::ExtractSliceOp>(loc, slice, state, to,
                                                      sizesTo, stepsTo);
    Value update = nested.create<tensor::ExtractSliceOp>(
        loc, slice, slices, from, sizesFrom, stepsFrom);
    Value made = elementwise(
        nested, loc, update, old,
        [&](OpBuilder &inside, Location location, ValueRange elements) {
          Value value = element(inside, location, {elements[1], elements[0]});
          return isInside ? inside.create<arith::SelectOp>(location, isInside,
                                                           value, elements[1])
                          : value;
        });
    return nested.create<tensor::InsertSliceOp>(loc, made, state, to, sizesTo,
                                                stepsTo);
  };
  return loopNest(builder, op.getLoc(), indices.drop_back(), table, body);
}

namespace {
/// Updates of single elements, one by one in row-major order.
struct ScatterElementsLowering
    : public OpRewritePattern<nn::ScatterElementsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ScatterElementsOp op,
                                PatternRewriter &rewriter) const override {
    unsigned axis = op.getAxis();
    int64_t size = tensorType(op.getResult()).getDimSize(axis);
    auto body = [&](OpBuilder &builder, Location loc, ValueRange at,
                    Value state) -> Value {
      Value index = builder.create<tensor::ExtractOp>(loc, op.getIndices(), at);
      Row row = rowOf(builder, loc, index, op.getBase(), size,
                      op.getTableSize().value_or(size));
      SmallVector<Value> position(at);
      position[axis] = row.index;
      Value update =
          builder.create<tensor::ExtractOp>(loc, op.getUpdates(), at);
      Value old = builder.create<tensor::ExtractOp>(loc, state, position);
      Value value = builder.create<arith::SelectOp>(
          loc, row.isInside, stored(builder, loc, op, old, update), old);
      return builder.create<tensor::InsertOp>(loc, value, state, position);
    };
    rewriter.replaceOp(op, loopNest(rewriter, op.getLoc(),
                                    tensorType(op.getUpdates()).getShape(),
                                    startOfStore(rewriter, op), body));
    return success();
  }
};

struct ScatterNDLowering : public OpRewritePattern<nn::ScatterNDOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ScatterNDOp op,
                                PatternRewriter &rewriter) const override {
    auto element = [&](OpBuilder &builder, Location loc, ValueRange elements) {
      return stored(builder, loc, op, elements[0], elements[1]);
    };
    Value start = startOfStore(rewriter, op);
    rewriter.replaceOp(
        op, storeSlices(rewriter, op, start, op.getUpdates(), element));
    return success();
  }
};

struct SparseSGDLowering : public OpRewritePattern<nn::SparseSGDOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::SparseSGDOp op,
                                PatternRewriter &rewriter) const override {
    Value rate = rewriter.create<tensor::ExtractOp>(op.getLoc(), op.getRate());
    auto element = [&](OpBuilder &builder, Location loc,
                       ValueRange elements) -> Value {
      Value step = builder.create<arith::MulFOp>(loc, rate, elements[1]);
      return builder.create<arith::SubFOp>(loc, elements[0], step);
    };
    rewriter.replaceOp(
        op, storeSlices(rewriter, op, op.getW(), op.getSlices(), element));
    return success();
  }
};
} // namespace

void linalg_lowering::populateScatterPatterns(RewritePatternSet &patterns) {
  patterns.add<GatherElementsLowering, GatherNDLowering,
               ScatterElementsLowering, ScatterNDLowering, SparseSGDLowering>(
      patterns.getContext());
}
