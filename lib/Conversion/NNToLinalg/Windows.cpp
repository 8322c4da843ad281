//===- Windows.cpp - Pools and LRN to linalg ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

/// The element of a pool's input that position `kernel` of window `out` has, or
/// `start` where it is padding. Called in the body of the operation that loops
/// over windows: the loops are those of pool().
template <typename PoolOp>
static Value elementOfWindow(OpBuilder &builder, Location loc, PoolOp op,
                             Value start) {
  // What was widened as a whole is widened element by element.
  Value input = op.getInput();
  if (auto cast = input.template getDefiningOp<nn::CastOp>();
      cast && start.getType().isF32() &&
      nn::isFloatOf16Bits(getElementTypeOrSelf(cast.getX())))
    input = cast.getX();
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  auto number = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  auto loopOf = [&](unsigned loop) -> Value {
    return builder.create<linalg::IndexOp>(loc, loop);
  };
  unsigned spatial = shape.size() - 2, loops = 2 + 2 * spatial;
  SmallVector<Value> place = {loopOf(0), loopOf(1)};
  Value isInside;
  for (unsigned i = 0; i < spatial; ++i) {
    Value at = builder.create<arith::AddIOp>(
        loc,
        builder.create<arith::MulIOp>(
            loc, loopOf(i + 1 < spatial ? 2 + i : loops - 1),
            number(op.getStrides()[i])),
        builder.create<arith::MulIOp>(loc, loopOf(1 + spatial + i),
                                      number(op.getDilations()[i])));
    if (op.getPadsLo()[i] == 0 && op.getPadsHi()[i] == 0) {
      place.push_back(at);
      continue;
    }
    // Before the start, the difference is a large number without a sign.
    at = builder.create<arith::SubIOp>(loc, at, number(op.getPadsLo()[i]));
    Value isHere = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                                 at, number(shape[2 + i]));
    isInside = isInside
                   ? Value(builder.create<arith::AndIOp>(loc, isInside, isHere))
                   : isHere;
    place.push_back(
        builder.create<arith::SelectOp>(loc, isHere, at, number(0)));
  }
  Value element = widened(builder, loc,
                          builder.create<tensor::ExtractOp>(loc, input, place),
                          getElementTypeOrSelf(input));
  return isInside ? Value(builder.create<arith::SelectOp>(loc, isInside,
                                                          element, start))
                  : element;
}

/// Joins the elements of every window of `op` by `join`, starting from
/// `start`, which is also the padding. `byIndex`: without a padded copy.
template <typename PoolOp>
static Value pool(OpBuilder &builder, PoolOp op, Value start, bool byIndex,
                  ElementBuilder join) {
  Location loc = op.getLoc();
  RankedTensorType type = tensorType(op.getResult());
  unsigned spatial = type.getRank() - 2;
  SmallVector<int64_t> lo(2, 0), hi(2, 0);
  llvm::append_range(lo, op.getPadsLo());
  llvm::append_range(hi, op.getPadsHi());

  // Loops: n, c, rows, kernel, then the columns, which are contiguous.
  unsigned loops = 2 + 2 * spatial;
  SmallVector<Iterator> iterators(loops, Iterator::parallel);
  SmallVector<AffineExpr> inputExprs, windowExprs, resultExprs;
  for (unsigned i = 0; i < 2; ++i) {
    inputExprs.push_back(builder.getAffineDimExpr(i));
    resultExprs.push_back(builder.getAffineDimExpr(i));
  }
  for (unsigned i = 0; i < spatial; ++i) {
    unsigned kernelLoop = 1 + spatial + i;
    unsigned outLoop = i + 1 < spatial ? 2 + i : loops - 1;
    iterators[kernelLoop] = Iterator::reduction;
    AffineExpr kernel = builder.getAffineDimExpr(kernelLoop);
    AffineExpr out = builder.getAffineDimExpr(outLoop);
    inputExprs.push_back(out * op.getStrides()[i] +
                         kernel * op.getDilations()[i]);
    windowExprs.push_back(kernel);
    resultExprs.push_back(out);
  }
  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> exprs :
       {ArrayRef<AffineExpr>(inputExprs), ArrayRef<AffineExpr>(windowExprs),
        ArrayRef<AffineExpr>(resultExprs)})
    maps.push_back(AffineMap::get(loops, 0, exprs, builder.getContext()));
  Value input;
  if (!byIndex)
    input = padded(builder, loc, op.getInput(), lo, hi, start);
  // Nothing reads the window; it only gives the kernel loops their extents.
  Value window = empty(builder, loc, op.getKernel(), type.getElementType());
  if (byIndex)
    return generic(
        builder, loc, {window}, filled(builder, loc, type.getShape(), start),
        {ArrayRef(maps).drop_front(), iterators},
        [&](OpBuilder &nested, Location location,
            ValueRange elements) -> Value {
          Value element = elementOfWindow(nested, location, op, start);
          return join(nested, location, {element, elements[0], elements[1]});
        });
  return generic(builder, loc, {input, window},
                 filled(builder, loc, type.getShape(), start),
                 {maps, iterators}, join);
}

/// By how many counted positions the windows along one dim of an average pool
/// are divided: 1 where dilated windows count none, whose sum is 0.
static SmallVector<float> countPositions(nn::AvgPoolOp op, unsigned dim) {
  int64_t size = tensorType(op.getInput()).getDimSize(dim + 2);
  int64_t first = -op.getCountedLo()[dim];
  int64_t end = size + op.getCountedHi()[dim];
  SmallVector<float> counts;
  for (int64_t x = 0; x < tensorType(op.getResult()).getDimSize(dim + 2); ++x) {
    int64_t count = 0;
    for (int64_t k = 0; k < op.getKernel()[dim]; ++k) {
      int64_t position = x * op.getStrides()[dim] - op.getPadsLo()[dim] +
                         k * op.getDilations()[dim];
      count += position >= first && position < end;
    }
    counts.push_back(std::max<int64_t>(count, 1));
  }
  return counts;
}

namespace {
struct MaxPoolLowering : public OpRewritePattern<nn::MaxPoolOp> {
  MaxPoolLowering(MLIRContext *context, bool byIndex)
      : OpRewritePattern(context), byIndex(byIndex) {}

  LogicalResult matchAndRewrite(nn::MaxPoolOp op,
                                PatternRewriter &rewriter) const override {
    constexpr nn::ReduceKind kind = nn::ReduceKind::Max;
    Value start = neutral(rewriter, op.getLoc(), kind, elementTypeOf(op, 0));
    rewriter.replaceOp(
        op, pool(rewriter, op, start, byIndex,
                 [&](OpBuilder &builder, Location loc, ValueRange elements) {
                   return joined(builder, loc, {kind, isUnsigned(op)},
                                 elements[0], elements[2]);
                 }));
    return success();
  }

  bool byIndex;
};

struct AvgPoolLowering : public OpRewritePattern<nn::AvgPoolOp> {
  AvgPoolLowering(MLIRContext *context, bool byIndex)
      : OpRewritePattern(context), byIndex(byIndex) {}

  LogicalResult matchAndRewrite(nn::AvgPoolOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto flags = arith::FastMathFlagsAttr::get(rewriter.getContext(), sumFlags);
    Type element = tensorType(op.getResult()).getElementType();
    Value sums = pool(rewriter, op, scalar(rewriter, loc, element, 0), byIndex,
                      [&](OpBuilder &builder, Location location,
                          ValueRange elements) -> Value {
                        return builder.create<arith::AddFOp>(
                            location, elements[0], elements[2], flags);
                      });

    // The divisor is a product over dims, of vectors where it changes.
    RankedTensorType type = tensorType(op.getResult());
    unsigned rank = type.getRank();
    double uniform = 1;
    SmallVector<Value> vectors;
    SmallVector<AffineMap> maps;
    for (unsigned dim = 0; dim + 2 < rank; ++dim) {
      SmallVector<float> counts = countPositions(op, dim);
      if (llvm::all_equal(counts)) {
        uniform *= counts.front();
        continue;
      }
      SmallVector<APFloat> values;
      for (float count : counts) {
        bool inexact;
        values.emplace_back(count);
        values.back().convert(
            cast<FloatType>(type.getElementType()).getFloatSemantics(),
            APFloat::rmNearestTiesToEven, &inexact);
      }
      vectors.push_back(rewriter.create<arith::ConstantOp>(
          loc, DenseElementsAttr::get(
                   RankedTensorType::get({static_cast<int64_t>(counts.size())},
                                         type.getElementType()),
                   values)));
      maps.push_back(
          AffineMap::get(rank, 0, rewriter.getAffineDimExpr(dim + 2)));
    }
    maps.push_back(rewriter.getMultiDimIdentityMap(rank));
    SmallVector<Iterator> iterators(rank, Iterator::parallel);
    rewriter.replaceOp(
        op, generic(rewriter, loc, vectors, sums, {maps, iterators},
                    [&](OpBuilder &builder, Location location,
                        ValueRange elements) -> Value {
                      Value divisor = scalar(builder, location,
                                             type.getElementType(), uniform);
                      for (Value count : elements.drop_back())
                        divisor = builder.create<arith::MulFOp>(location,
                                                                divisor, count);
                      return builder.create<arith::DivFOp>(
                          location, elements.back(), divisor);
                    }));
    return success();
  }

  bool byIndex;
};

/// x^-beta, for x > 0, from operations that have vector code.
static Value inversePower(OpBuilder &builder, Location loc, Value x,
                          double beta) {
  Type type = x.getType();
  Value one = scalar(builder, loc, type, 1);
  Value power;
  if (beta == 0.75) {
    Value root = builder.create<math::SqrtOp>(loc, x);
    Value fourth = builder.create<math::SqrtOp>(loc, root);
    power = builder.create<arith::MulFOp>(loc, root, fourth);
  } else if (beta == 0.5) {
    power = builder.create<math::SqrtOp>(loc, x);
  } else if (beta == 1) {
    power = x;
  } else {
    Value logarithm = builder.create<math::LogOp>(loc, x);
    Value exponent = builder.create<arith::MulFOp>(
        loc, logarithm, scalar(builder, loc, type, -beta));
    return builder.create<math::ExpOp>(loc, exponent);
  }
  return builder.create<arith::DivFOp>(loc, one, power);
}

struct LRNLowering : public OpRewritePattern<nn::LRNOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::LRNOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    unsigned rank = type.getRank();
    int64_t size = op.getSize();
    auto flags = arith::FastMathFlagsAttr::get(rewriter.getContext(), sumFlags);
    SmallVector<int64_t> lo(rank, 0), hi(rank, 0);
    lo[1] = (size - 1) / 2;
    hi[1] = size / 2;
    Value zero = scalar(rewriter, loc, type.getElementType(), 0);
    Value input = padded(rewriter, loc, op.getX(), lo, hi, zero);

    // Loops: n, c, channel of the window, then the spatial dims.
    SmallVector<Iterator> iterators(rank + 1, Iterator::parallel);
    iterators[2] = Iterator::reduction;
    SmallVector<AffineExpr> inputExprs, resultExprs;
    for (unsigned dim = 0; dim < rank; ++dim) {
      AffineExpr expr = rewriter.getAffineDimExpr(dim < 2 ? dim : dim + 1);
      resultExprs.push_back(expr);
      inputExprs.push_back(dim == 1 ? expr + rewriter.getAffineDimExpr(2)
                                    : expr);
    }
    MLIRContext *context = rewriter.getContext();
    SmallVector<AffineMap> maps = {
        AffineMap::get(rank + 1, 0, inputExprs, context),
        AffineMap::get(rank + 1, 0, rewriter.getAffineDimExpr(2)),
        AffineMap::get(rank + 1, 0, resultExprs, context)};
    Value window = empty(rewriter, loc, {size}, type.getElementType());
    Value sums =
        generic(rewriter, loc, {input, window},
                filled(rewriter, loc, type.getShape(), zero), {maps, iterators},
                [&](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
                  Value square = builder.create<arith::MulFOp>(
                      location, elements[0], elements[0], flags);
                  return builder.create<arith::AddFOp>(location, elements[2],
                                                       square, flags);
                });
    double alpha = op.getAlpha().convertToDouble() / size;
    double bias = op.getBias().convertToDouble();
    double beta = op.getBeta().convertToDouble();
    rewriter.replaceOp(
        op, elementwise(rewriter, loc, op.getX(), sums,
                        [&](OpBuilder &builder, Location location,
                            ValueRange elements) -> Value {
                          Type element = elements[0].getType();
                          Value scaled = builder.create<arith::MulFOp>(
                              location, elements[1],
                              scalar(builder, location, element, alpha), flags);
                          Value base = builder.create<arith::AddFOp>(
                              location, scaled,
                              scalar(builder, location, element, bias), flags);
                          return builder.create<arith::MulFOp>(
                              location, elements[0],
                              inversePower(builder, location, base, beta));
                        }));
    return success();
  }
};
} // namespace

void linalg_lowering::populateWindowPatterns(RewritePatternSet &patterns,
                                             bool byIndex) {
  patterns.add<MaxPoolLowering, AvgPoolLowering>(patterns.getContext(),
                                                 byIndex);
  patterns.add<LRNLowering>(patterns.getContext());
}
