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

Value linalg_lowering::joined(OpBuilder &builder, Location loc,
                              nn::ReduceKind kind, Value a, Value b,
                              bool isUnsigned, arith::FastMathFlags fast) {
  bool isFloat = isa<FloatType>(a.getType());
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(), fast);
  switch (kind) {
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
    if (isUnsigned)
      return builder.create<arith::MaxUIOp>(loc, a, b);
    return builder.create<arith::MaxSIOp>(loc, a, b);
  case nn::ReduceKind::Min:
    if (isFloat)
      return builder.create<arith::MinimumFOp>(loc, a, b);
    if (isUnsigned)
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
  SmallVector<Iterator> iterators;
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool reduced = llvm::is_contained(axes, dim);
    iterators.push_back(reduced ? Iterator::reduction : Iterator::parallel);
    if (reduced)
      continue;
    kept.push_back(builder.getAffineDimExpr(dim));
    shape.push_back(type.getDimSize(dim));
  }
  Type signedness = element;
  if (auto integer = dyn_cast<IntegerType>(element);
      integer && isUnsigned && integer.getWidth() > 1)
    signedness = IntegerType::get(builder.getContext(), integer.getWidth(),
                                  IntegerType::Unsigned);
  Value start = neutral(builder, loc, kind, signedness);
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(type.getRank()),
      AffineMap::get(type.getRank(), 0, kept, builder.getContext())};
  return generic(
      builder, loc, input, filled(builder, loc, shape, start), maps, iterators,
      [&](OpBuilder &nested, Location location, ValueRange elements) {
        return joined(nested, location, kind, elements[0], elements[1],
                      isUnsigned, sumFlags);
      });
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
          {identity, rows, identity}, iterators, element);
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
                                     {rows, identity}, iterators,
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
                                   {rows, identity}, iterators,
                                   [](OpBuilder &builder, Location location,
                                      ValueRange elements) -> Value {
                                     return builder.create<arith::DivFOp>(
                                         location, elements[1], elements[0]);
                                   }));
    return success();
  }
};
/// Mean and variance of every row, then one pass over the elements.
struct LayerNormLowering : public OpRewritePattern<nn::LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::LayerNormOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    Type element = type.getElementType();
    auto axes =
        llvm::to_vector(llvm::seq<int64_t>(op.getAxis(), type.getRank()));
    double count = 1;
    SmallVector<AffineExpr> outer, inner;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      bool normalised = dim >= static_cast<int64_t>(op.getAxis());
      (normalised ? inner : outer).push_back(rewriter.getAffineDimExpr(dim));
      if (normalised)
        count *= static_cast<double>(type.getDimSize(dim));
    }
    MLIRContext *context = rewriter.getContext();
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    AffineMap rows = AffineMap::get(type.getRank(), 0, outer, context);
    AffineMap columns = AffineMap::get(type.getRank(), 0, inner, context);
    SmallVector<Iterator> iterators(type.getRank(), Iterator::parallel);
    auto scaled = [&](Value sums) {
      return elementwise(rewriter, loc, {}, sums,
                         [&](OpBuilder &builder, Location location,
                             ValueRange elements) -> Value {
                           return builder.create<arith::MulFOp>(
                               location, elements[0],
                               scalar(builder, location, element, 1 / count));
                         });
    };
    Value means =
        scaled(reduce(rewriter, loc, op.getX(), axes, nn::ReduceKind::Sum));
    Value deviations = generic(rewriter, loc, {op.getX(), means},
                               empty(rewriter, loc, type.getShape(), element),
                               {identity, rows, identity}, iterators,
                               [](OpBuilder &builder, Location location,
                                  ValueRange elements) -> Value {
                                 return builder.create<arith::SubFOp>(
                                     location, elements[0], elements[1]);
                               });
    Value squares = elementwise(rewriter, loc, deviations,
                                empty(rewriter, loc, type.getShape(), element),
                                [](OpBuilder &builder, Location location,
                                   ValueRange elements) -> Value {
                                  return builder.create<arith::MulFOp>(
                                      location, elements[0], elements[0]);
                                });
    Value variances =
        scaled(reduce(rewriter, loc, squares, axes, nn::ReduceKind::Sum));
    double epsilon = op.getEpsilon().convertToDouble();
    Value factors =
        elementwise(rewriter, loc, {}, variances,
                    [&](OpBuilder &builder, Location location,
                        ValueRange elements) -> Value {
                      Value sum = builder.create<arith::AddFOp>(
                          location, elements[0],
                          scalar(builder, location, element, epsilon));
                      return builder.create<arith::DivFOp>(
                          location, scalar(builder, location, element, 1),
                          builder.create<math::SqrtOp>(location, sum));
                    });
    SmallVector<Value> inputs = {factors, op.getScale()};
    SmallVector<AffineMap> maps = {rows, columns};
    if (op.getBias()) {
      inputs.push_back(op.getBias());
      maps.push_back(columns);
    }
    maps.push_back(identity);
    rewriter.replaceOp(
        op, generic(rewriter, loc, inputs, deviations, maps, iterators,
                    [&](OpBuilder &builder, Location location,
                        ValueRange elements) -> Value {
                      Value result = builder.create<arith::MulFOp>(
                          location, elements.back(), elements[0]);
                      result = builder.create<arith::MulFOp>(location, result,
                                                             elements[1]);
                      if (op.getBias())
                        result = builder.create<arith::AddFOp>(location, result,
                                                               elements[2]);
                      return result;
                    }));
    return success();
  }
};
} // namespace

void linalg_lowering::populateReductionPatterns(RewritePatternSet &patterns) {
  patterns.add<ReduceLowering, SoftmaxLowering, LayerNormLowering>(
      patterns.getContext());
}
