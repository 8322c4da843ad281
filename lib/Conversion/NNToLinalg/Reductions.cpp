//===- Reductions.cpp - Reductions and softmax to linalg ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

Value linalg_lowering::neutral(OpBuilder &builder, Location loc,
                               std::optional<nn::ReduceKind> kind,
                               Type element) {
  TypedAttr value = nn::neutralElement(kind, element);
  if (auto integer = dyn_cast<IntegerAttr>(value))
    value = IntegerAttr::get(storageType(element), integer.getValue());
  return builder.create<arith::ConstantOp>(loc, value);
}

Value linalg_lowering::joined(OpBuilder &builder, Location loc, Join how,
                              Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(), how.flags);
  switch (how.kind) {
  case nn::ReduceKind::Sum:
    if (isFloat)
      return builder.create<arith::AddFOp>(loc, a, b, flags);
    return builder.create<arith::AddIOp>(loc, a, b);
  case nn::ReduceKind::Prod:
    if (isFloat)
      return builder.create<arith::MulFOp>(loc, a, b, flags);
    return builder.create<arith::MulIOp>(loc, a, b);
  case nn::ReduceKind::Max:
    if (isFloat)
      return builder.create<arith::MaximumFOp>(loc, a, b);
    if (how.isUnsigned)
      return builder.create<arith::MaxUIOp>(loc, a, b);
    return builder.create<arith::MaxSIOp>(loc, a, b);
  case nn::ReduceKind::Min:
    if (isFloat)
      return builder.create<arith::MinimumFOp>(loc, a, b);
    if (how.isUnsigned)
      return builder.create<arith::MinUIOp>(loc, a, b);
    return builder.create<arith::MinSIOp>(loc, a, b);
  }
  llvm_unreachable("all kinds are handled");
}

Value linalg_lowering::reduce(OpBuilder &builder, Location loc, Value input,
                              ArrayRef<int64_t> axes, nn::ReduceKind kind,
                              bool isUnsigned) {
  RankedTensorType type = tensorType(input);
  Type element = type.getElementType();
  // Neighbours that are both summed, or both kept, are one loop: a long one.
  SmallVector<Iterator> iterators;
  SmallVector<int64_t> shape, merged;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool reduced = llvm::is_contained(axes, dim);
    if (!reduced)
      shape.push_back(type.getDimSize(dim));
    Iterator iterator = reduced ? Iterator::reduction : Iterator::parallel;
    if (!iterators.empty() && iterators.back() == iterator) {
      merged.back() *= type.getDimSize(dim);
      continue;
    }
    iterators.push_back(iterator);
    merged.push_back(type.getDimSize(dim));
  }
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> mergedResult;
  for (auto [dim, iterator] : llvm::enumerate(iterators))
    if (iterator == Iterator::parallel) {
      kept.push_back(builder.getAffineDimExpr(dim));
      mergedResult.push_back(merged[dim]);
    }
  Type signedness = element;
  if (auto integer = dyn_cast<IntegerType>(element);
      integer && isUnsigned && integer.getWidth() > 1)
    signedness = IntegerType::get(builder.getContext(), integer.getWidth(),
                                  IntegerType::Unsigned);
  Value start = neutral(builder, loc, kind, signedness);
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(merged.size()),
      AffineMap::get(merged.size(), 0, kept, builder.getContext())};
  Value result =
      generic(builder, loc, reshaped(builder, loc, input, merged),
              filled(builder, loc, mergedResult, start), {maps, iterators},
              [&](OpBuilder &nested, Location location, ValueRange elements) {
                return joined(nested, location, {kind, isUnsigned, sumFlags},
                              elements[0], elements[1]);
              });
  return reshaped(builder, loc, result, shape);
}

namespace {
struct ReduceLowering : public OpRewritePattern<nn::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = tensorType(op.getInput()).getElementType();
    double scale = op.getScale().convertToDouble();
    Value result = reduce(rewriter, loc, op.getInput(), op.getAxes(),
                          op.getKind(), isUnsigned(op));
    if (scale != 1)
      result = elementwise(rewriter, loc, {}, result,
                           [&](OpBuilder &builder, Location location,
                               ValueRange elements) -> Value {
                             return builder.create<arith::MulFOp>(
                                 location, elements[0],
                                 scalar(builder, location, element, scale));
                           });
    // Kept dims of size 1.
    rewriter.replaceOp(op, reshaped(rewriter, loc, result,
                                    tensorType(op.getResult()).getShape()));
    return success();
  }
};

struct SoftmaxLowering : public OpRewritePattern<nn::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    int64_t axis = op.getAxis();
    SmallVector<AffineExpr> kept;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != axis)
        kept.push_back(rewriter.getAffineDimExpr(dim));
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    AffineMap rows =
        AffineMap::get(type.getRank(), 0, kept, rewriter.getContext());
    SmallVector<Iterator> iterators(type.getRank(), Iterator::parallel);

    Value maxima =
        reduce(rewriter, loc, op.getX(), {axis}, nn::ReduceKind::Max);
    auto shift = [](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
      return builder.create<arith::SubFOp>(location, elements[0], elements[1]);
    };
    auto mapped = [&](ElementBuilder element) {
      return generic(
          rewriter, loc, {op.getX(), maxima},
          empty(rewriter, loc, type.getShape(), type.getElementType()),
          {{identity, rows, identity}, iterators}, element);
    };
    Value exponentials = mapped([&](OpBuilder &builder, Location location,
                                    ValueRange elements) -> Value {
      return builder.create<math::ExpOp>(location,
                                         shift(builder, location, elements));
    });
    Value sums =
        reduce(rewriter, loc, exponentials, {axis}, nn::ReduceKind::Sum);
    if (op.getLog()) {
      // x - maximum - log(sum).
      rewriter.replaceOp(op, generic(rewriter, loc, sums, mapped(shift),
                                     {{rows, identity}, iterators},
                                     [](OpBuilder &builder, Location location,
                                        ValueRange elements) -> Value {
                                       Value logarithm =
                                           builder.create<math::LogOp>(
                                               location, elements[0]);
                                       return builder.create<arith::SubFOp>(
                                           location, elements[1], logarithm);
                                     }));
      return success();
    }
    rewriter.replaceOp(op, generic(rewriter, loc, sums, exponentials,
                                   {{rows, identity}, iterators},
                                   [](OpBuilder &builder, Location location,
                                      ValueRange elements) -> Value {
                                     return builder.create<arith::DivFOp>(
                                         location, elements[1], elements[0]);
                                   }));
    return success();
  }
};

/// How the rows of a layer norm lie in its elements.
struct NormalisedRows {
  explicit NormalisedRows(nn::LayerNormOp op)
      : type(tensorType(op.getResult())),
        axes(
            llvm::to_vector(llvm::seq<int64_t>(op.getAxis(), type.getRank()))) {
    Builder builder(op.getContext());
    SmallVector<AffineExpr> outer, inner;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      bool normalised = dim >= static_cast<int64_t>(op.getAxis());
      (normalised ? inner : outer).push_back(builder.getAffineDimExpr(dim));
      if (normalised)
        count *= static_cast<double>(type.getDimSize(dim));
    }
    identity = builder.getMultiDimIdentityMap(type.getRank());
    rows = AffineMap::get(type.getRank(), 0, outer, op.getContext());
    columns = AffineMap::get(type.getRank(), 0, inner, op.getContext());
    iterators.assign(type.getRank(), Iterator::parallel);
  }

  RankedTensorType type;
  SmallVector<int64_t> axes;
  double count = 1; ///< Elements of a row.
  AffineMap identity, rows, columns;
  SmallVector<Iterator> iterators;
};

/// Mean and variance of every row, then one pass over the elements.
struct LayerNormLowering : public OpRewritePattern<nn::LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::LayerNormOp op,
                                PatternRewriter &rewriter) const override {
    NormalisedRows rows(op);
    Value means = mean(rewriter, op.getLoc(), rows, op.getX());
    Value deviations =
        generic(rewriter, op.getLoc(), {op.getX(), means},
                uninitialised(rewriter, op.getLoc(), rows),
                {{rows.identity, rows.rows, rows.identity}, rows.iterators},
                [](OpBuilder &builder, Location loc, ValueRange e) -> Value {
                  return builder.create<arith::SubFOp>(loc, e[0], e[1]);
                });
    Value squares = elementwise(
        rewriter, op.getLoc(), deviations,
        uninitialised(rewriter, op.getLoc(), rows),
        [](OpBuilder &builder, Location loc, ValueRange e) -> Value {
          return builder.create<arith::MulFOp>(loc, e[0], e[0]);
        });
    Value variances = mean(rewriter, op.getLoc(), rows, squares);
    Value factors = scaleOf(rewriter, op, variances);
    rewriter.replaceOp(op, scaled(rewriter, op, rows, factors, deviations));
    return success();
  }

private:
  static Value uninitialised(OpBuilder &builder, Location loc,
                             const NormalisedRows &rows) {
    return empty(builder, loc, rows.type.getShape(),
                 rows.type.getElementType());
  }

  /// The mean of every row.
  static Value mean(OpBuilder &builder, Location loc,
                    const NormalisedRows &rows, Value elements) {
    Value sums = reduce(builder, loc, elements, rows.axes, nn::ReduceKind::Sum);
    return elementwise(
        builder, loc, {}, sums,
        [&](OpBuilder &nested, Location location, ValueRange e) -> Value {
          return nested.create<arith::MulFOp>(
              location, e[0],
              scalar(nested, location, e[0].getType(), 1 / rows.count));
        });
  }

  /// 1 / sqrt(variance + epsilon) of every row.
  static Value scaleOf(OpBuilder &builder, nn::LayerNormOp op,
                       Value variances) {
    double epsilon = op.getEpsilon().convertToDouble();
    return elementwise(
        builder, op.getLoc(), {}, variances,
        [&](OpBuilder &nested, Location loc, ValueRange e) -> Value {
          Value sum = nested.create<arith::AddFOp>(
              loc, e[0], scalar(nested, loc, e[0].getType(), epsilon));
          return nested.create<arith::DivFOp>(
              loc, scalar(nested, loc, e[0].getType(), 1),
              nested.create<math::SqrtOp>(loc, sum));
        });
  }

  /// The deviations times the factor of their row and the scale of their
  /// column, plus its bias, if there is one.
  static Value scaled(OpBuilder &builder, nn::LayerNormOp op,
                      const NormalisedRows &rows, Value factors,
                      Value deviations) {
    SmallVector<Value> inputs = {factors, op.getScale()};
    SmallVector<AffineMap> maps = {rows.rows, rows.columns};
    if (op.getBias()) {
      inputs.push_back(op.getBias());
      maps.push_back(rows.columns);
    }
    maps.push_back(rows.identity);
    return generic(
        builder, op.getLoc(), inputs, deviations, {maps, rows.iterators},
        [&](OpBuilder &nested, Location loc, ValueRange e) -> Value {
          Value result = nested.create<arith::MulFOp>(loc, e.back(), e[0]);
          result = nested.create<arith::MulFOp>(loc, result, e[1]);
          if (op.getBias())
            result = nested.create<arith::AddFOp>(loc, result, e[2]);
          return result;
        });
  }
};
} // namespace

void linalg_lowering::populateReductionPatterns(RewritePatternSet &patterns) {
  patterns.add<ReduceLowering, SoftmaxLowering, LayerNormLowering>(
      patterns.getContext());
}
