//===- Attention.cpp - Attention as products and a softmax ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

namespace {
/// The operations of nn that an attention stands for, which other patterns
/// lower. Their scores are a tensor: for targets without a kernel.
struct AttentionLowering : public OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType query = tensorType(op.getQuery());
    Type element = query.getElementType();
    SmallVector<int64_t> shape(query.getShape());
    shape.back() = tensorType(op.getValues()).getDimSize(query.getRank() - 2);
    auto type = RankedTensorType::get(shape, element);

    Value scores = rewriter.create<nn::MatMulOp>(
        loc, type, op.getQuery(), op.getKeys(), /*bias=*/Value(),
        /*transpose_a=*/false, /*transpose_b=*/!op.getTransposedKeys(),
        op.getScale());
    if (Value mask = op.getMask()) {
      if (tensorType(mask).getElementType() == element) {
        scores = rewriter.create<nn::AddOp>(loc, type, scores, mask);
      } else {
        Value fill = rewriter.create<nn::ConstantOp>(
            loc, DenseElementsAttr::get(
                     RankedTensorType::get({}, element),
                     rewriter.getFloatAttr(element,
                                           op.getFill().convertToDouble())));
        bool keeps = op.getMaskKeeps();
        scores = rewriter.create<nn::WhereOp>(
            loc, type, mask, keeps ? scores : fill, keeps ? fill : scores);
      }
    }
    Value weights = rewriter.create<nn::SoftmaxOp>(
        loc, type, scores, query.getRank() - 1, /*log=*/false);
    rewriter.replaceOpWithNewOp<nn::MatMulOp>(
        op, op.getType(), weights, op.getValues(), /*bias=*/Value(),
        /*transpose_a=*/false, /*transpose_b=*/false, APFloat(1.0F));
    return success();
  }
};
} // namespace

void linalg_lowering::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<AttentionLowering>(patterns.getContext());
}
