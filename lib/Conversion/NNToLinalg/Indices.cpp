//===- Indices.cpp - Look-ups of nn to linalg -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

namespace {
/// Every element of the result reads the row that its index names.
struct GatherLowering : public OpRewritePattern<nn::GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::GatherOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    unsigned rank = type.getRank(), axis = op.getAxis();
    unsigned indexRank = tensorType(op.getIndices()).getRank();
    SmallVector<AffineExpr> exprs;
    for (unsigned dim = 0; dim < indexRank; ++dim)
      exprs.push_back(rewriter.getAffineDimExpr(axis + dim));
    SmallVector<AffineMap> maps = {
        AffineMap::get(rank, 0, exprs, rewriter.getContext()),
        rewriter.getMultiDimIdentityMap(rank)};
    SmallVector<Iterator> iterators(rank, Iterator::parallel);
    Value output = empty(rewriter, loc, type.getShape(), type.getElementType());
    auto element = [&](OpBuilder &builder, Location location,
                       ValueRange elements) {
      return elementAlongAxis(
          builder, location, op, elements[0],
          [&](unsigned dim) { return dim < axis ? dim : dim - 1 + indexRank; });
    };
    rewriter.replaceOp(op, generic(rewriter, loc, op.getIndices(), output,
                                   {maps, iterators}, element));
    return success();
  }
};

/// A dim that repeats becomes two dims: the repetition and the element.
struct TileLowering : public OpRewritePattern<nn::TileOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::TileOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType x = tensorType(op.getX());
    RankedTensorType type = tensorType(op.getResult());
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
    for (auto [size, total] : llvm::zip_equal(x.getShape(), type.getShape())) {
      if (size != total)
        shape.push_back(total / size);
      exprs.push_back(rewriter.getAffineDimExpr(shape.size()));
      shape.push_back(size);
    }
    SmallVector<AffineMap> maps = {
        AffineMap::get(shape.size(), 0, exprs, rewriter.getContext()),
        rewriter.getMultiDimIdentityMap(shape.size())};
    SmallVector<Iterator> iterators(shape.size(), Iterator::parallel);
    Value output = empty(rewriter, loc, shape, type.getElementType());
    Value repeated = generic(
        rewriter, loc, op.getX(), output, {maps, iterators},
        [](OpBuilder &, Location, ValueRange elements) { return elements[0]; });
    rewriter.replaceOp(op, reshaped(rewriter, loc, repeated, type.getShape()));
    return success();
  }
};

/// Keys' weights of the four elements around a point that lies by `t` behind
/// the second: cubic polynomials in t.
static SmallVector<Value> cubicWeights(OpBuilder &builder, Location loc,
                                       Value t, double a) {
  // Horner's rule begins with the highest power.
  const double polynomials[4][4] = {{a, -2 * a, a, 0},
                                    {a + 2, -(a + 3), 0, 1},
                                    {-(a + 2), 2 * a + 3, -a, 0},
                                    {-a, a, 0, 0}};
  SmallVector<Value> weights;
  for (const auto &coefficients : polynomials) {
    Value sum = scalar(builder, loc, t.getType(), coefficients[0]);
    for (double coefficient : ArrayRef(coefficients).drop_front())
      sum = builder.create<arith::AddFOp>(
          loc, builder.create<arith::MulFOp>(loc, sum, t),
          scalar(builder, loc, t.getType(), coefficient));
    weights.push_back(sum);
  }
  return weights;
}

/// A place between elements of a dimension.
struct PlaceBetween {
  Value below; ///< Index of the element below.
  Value t;     ///< The distance from it, in [0, 1).
};

/// The elements `below` - 1 to `below` + 2 of a dimension of `size`, joined by
/// their weights at `t`.
static Value joinFour(OpBuilder &builder, Location loc, nn::ResizeOp op,
                      PlaceBetween place, int64_t size,
                      llvm::function_ref<Value(Value)> read) {
  auto [below, t] = place;
  SmallVector<Value> weights =
      cubicWeights(builder, loc, t, op.getCubicA().convertToDouble());
  Value zero = scalar(builder, loc, t.getType(), 0), sum = zero, all = zero;
  for (auto [k, weight] : llvm::enumerate(weights)) {
    Value index =
        builder.create<arith::AddIOp>(loc, below,
                                      builder.create<arith::ConstantIndexOp>(
                                          loc, static_cast<int64_t>(k) - 1));
    if (op.getExcludeOutside()) {
      Value isInside = builder.create<arith::CmpIOp>(
          loc, arith::CmpIPredicate::ult, index,
          builder.create<arith::ConstantIndexOp>(loc, size));
      weight = builder.create<arith::SelectOp>(loc, isInside, weight, zero);
      all = builder.create<arith::AddFOp>(loc, all, weight);
    }
    sum = builder.create<arith::AddFOp>(
        loc, sum, builder.create<arith::MulFOp>(loc, read(index), weight));
  }
  if (!op.getExcludeOutside())
    return sum;
  return builder.create<arith::DivFOp>(loc, sum, all);
}

/// Interpolates along one dim after the other.
struct ResizeLowering : public OpRewritePattern<nn::ResizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ResizeOp op,
                                PatternRewriter &rewriter) const override {
    // Dims that shrink come first, so that no intermediate tensor is larger
    // than x or the result. The steps say which dims these are, and are the
    // same for all tiles.
    Value result = op.getX();
    ArrayRef<int64_t> shape = tensorType(op.getResult()).getShape();
    for (bool shrinks : {true, false})
      for (unsigned dim = 0; dim < shape.size(); ++dim)
        if ((op.getNumerators()[dim] > op.getDenominators()[dim]) == shrinks)
          result = resize(rewriter, op, result, dim, shape[dim]);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static Value resize(OpBuilder &rewriter, nn::ResizeOp op, Value x,
                      unsigned dim, int64_t wanted) {
    Location loc = op.getLoc();
    int64_t num = op.getNumerators()[dim], offset = op.getOffsets()[dim];
    int64_t den = op.getDenominators()[dim];
    RankedTensorType type = tensorType(x);
    int64_t size = type.getDimSize(dim);
    if (num == den && offset == 0 && size == wanted)
      return x;
    bool exact = num % den == 0 && offset % den == 0;
    bool linear = op.getMode() == nn::ResizeMode::Linear && !exact;
    bool cubic = op.getMode() == nn::ResizeMode::Cubic && !exact;
    // Divisions are of numbers that are not negative.
    int64_t shift = offset < 0 ? (-offset + den - 1) / den : 0;

    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = wanted;
    unsigned rank = shape.size();
    Type element = type.getElementType();
    auto body = [&](OpBuilder &builder, Location location,
                    ValueRange) -> Value {
      auto number = [&](int64_t value) -> Value {
        return builder.create<arith::ConstantIndexOp>(location, value);
      };
      Value at = builder.create<linalg::IndexOp>(location, dim);
      Value scaled = builder.create<arith::MulIOp>(location, at, number(num));
      scaled = builder.create<arith::AddIOp>(location, scaled,
                                             number(offset + shift * den));
      Value below =
          builder.create<arith::DivUIOp>(location, scaled, number(den));
      below = builder.create<arith::SubIOp>(location, below, number(shift));
      auto read = [&](Value row) -> Value {
        row = builder.create<arith::MaxSIOp>(location, row, number(0));
        row = builder.create<arith::MinSIOp>(location, row, number(size - 1));
        SmallVector<Value> position;
        for (unsigned i = 0; i < rank; ++i)
          position.push_back(
              i == dim ? row
                       : Value(builder.create<linalg::IndexOp>(location, i)));
        return builder.create<tensor::ExtractOp>(location, x, position);
      };
      if (!linear && !cubic)
        return read(below);
      Value rest =
          builder.create<arith::RemUIOp>(location, scaled, number(den));
      Value integer = builder.create<arith::IndexCastOp>(
          location, builder.getI64Type(), rest);
      Value weight =
          builder.create<arith::SIToFPOp>(location, element, integer);
      weight = builder.create<arith::DivFOp>(
          location, weight,
          scalar(builder, location, element, static_cast<double>(den)));
      if (cubic)
        return joinFour(builder, location, op, {below, weight}, size, read);
      Value other = builder.create<arith::SubFOp>(
          location, scalar(builder, location, element, 1), weight);
      Value first = read(below);
      Value second =
          read(builder.create<arith::AddIOp>(location, below, number(1)));
      return builder.create<arith::AddFOp>(
          location, builder.create<arith::MulFOp>(location, first, other),
          builder.create<arith::MulFOp>(location, second, weight));
    };
    SmallVector<AffineMap> maps = {rewriter.getMultiDimIdentityMap(rank)};
    SmallVector<Iterator> iterators(rank, Iterator::parallel);
    return generic(rewriter, loc, {}, empty(rewriter, loc, shape, element),
                   {maps, iterators}, body);
  }
};
} // namespace

void linalg_lowering::populateIndexPatterns(RewritePatternSet &patterns) {
  patterns.add<GatherLowering, TileLowering, ResizeLowering>(
      patterns.getContext());
}
