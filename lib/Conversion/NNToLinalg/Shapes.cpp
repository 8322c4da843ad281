//===- Shapes.cpp - Shape operations of nn to linalg and tensor -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

static SmallVector<OpFoldResult> attributes(OpBuilder &builder,
                                            ArrayRef<int64_t> values) {
  SmallVector<OpFoldResult> results;
  for (int64_t value : values)
    results.push_back(builder.getIndexAttr(value));
  return results;
}

namespace {
struct ConstantLowering : public OpRewritePattern<nn::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ConstantOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, cast<TypedAttr>(op.getValue()));
    return success();
  }
};

struct ConcatLowering : public OpRewritePattern<nn::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = tensorType(op.getResult());
    Value result =
        empty(rewriter, op.getLoc(), type.getShape(), type.getElementType());
    SmallVector<int64_t> offsets(type.getRank(), 0), ones(type.getRank(), 1);
    for (Value input : op.getInputs()) {
      ArrayRef<int64_t> sizes = tensorType(input).getShape();
      result = rewriter.create<tensor::InsertSliceOp>(
          op.getLoc(), input, result, attributes(rewriter, offsets),
          attributes(rewriter, sizes), attributes(rewriter, ones));
      offsets[op.getAxis()] += sizes[op.getAxis()];
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct SliceLowering : public OpRewritePattern<nn::SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::SliceOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    // A tensor.extract_slice only goes forwards: what goes backwards is taken
    // forwards, then turned round.
    SmallVector<int64_t> starts(op.getStarts()), steps(op.getSteps());
    SmallVector<AffineExpr> exprs;
    bool turns = false;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      exprs.push_back(rewriter.getAffineDimExpr(dim));
      if (steps[dim] > 0)
        continue;
      int64_t last = type.getDimSize(dim) - 1;
      starts[dim] += last * steps[dim];
      steps[dim] = -steps[dim];
      exprs[dim] = last - exprs[dim];
      turns = true;
    }
    Value forwards = rewriter.create<tensor::ExtractSliceOp>(
        loc, type, op.getX(), attributes(rewriter, starts),
        attributes(rewriter, type.getShape()), attributes(rewriter, steps));
    if (!turns) {
      rewriter.replaceOp(op, forwards);
      return success();
    }
    SmallVector<AffineMap> maps = {
        AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext()),
        rewriter.getMultiDimIdentityMap(type.getRank())};
    SmallVector<Iterator> iterators(type.getRank(), Iterator::parallel);
    Value output = empty(rewriter, loc, type.getShape(), type.getElementType());
    rewriter.replaceOp(
        op, generic(rewriter, loc, forwards, output, {maps, iterators},
                    [](OpBuilder &, Location, ValueRange elements) {
                      return elements[0];
                    }));
    return success();
  }
};

struct PadLowering : public OpRewritePattern<nn::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::PadOp op,
                                PatternRewriter &rewriter) const override {
    Value value =
        rewriter.create<arith::ConstantOp>(op.getLoc(), op.getValue());
    rewriter.replaceOp(op, padded(rewriter, op.getLoc(), op.getX(),
                                  op.getPadsLo(), op.getPadsHi(), value));
    return success();
  }
};

struct ReshapeLowering : public OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, reshaped(rewriter, op.getLoc(), op.getX(),
                                    tensorType(op.getResult()).getShape()));
    return success();
  }
};

struct TransposeLowering : public OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = tensorType(op.getResult());
    Value output =
        empty(rewriter, op.getLoc(), type.getShape(), type.getElementType());
    rewriter.replaceOp(op, rewriter
                               .create<linalg::TransposeOp>(op.getLoc(),
                                                            op.getX(), output,
                                                            op.getPermutation())
                               .getResult());
    return success();
  }
};
} // namespace

void linalg_lowering::populateShapePatterns(RewritePatternSet &patterns) {
  patterns.add<ConstantLowering, ConcatLowering, SliceLowering, PadLowering,
               ReshapeLowering, TransposeLowering>(patterns.getContext());
}
