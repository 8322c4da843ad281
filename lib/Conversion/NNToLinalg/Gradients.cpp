//===- Gradients.cpp - Operations of gradients to linalg ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

Value linalg_lowering::reached(OpBuilder &builder, Location loc, Value x,
                               const Reach &reach, Value fill,
                               int64_t firstSpatial) {
  RankedTensorType type = tensorType(x);
  SmallVector<int64_t> lo(type.getRank(), 0), hi(type.getRank(), 0);
  SmallVector<OpFoldResult> from, sizes,
      ones(type.getRank(), builder.getIndexAttr(1));
  bool isCut = false;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t first = 0, end = type.getDimSize(dim), i = dim - firstSpatial;
    if (i >= 0 && i < static_cast<int64_t>(reach.pads.size())) {
      int64_t start = -reach.pads[i];
      int64_t stop =
          start + (reach.counts[i] - 1) * reach.strides[i] + reach.extents[i];
      first = std::clamp<int64_t>(start, 0, end);
      end = std::clamp<int64_t>(stop, first, end);
      lo[dim] = end == first ? stop - start : first - start;
      hi[dim] = end == first ? 0 : stop - end;
    }
    isCut |= first != 0 || end != type.getDimSize(dim);
    from.push_back(builder.getIndexAttr(first));
    sizes.push_back(builder.getIndexAttr(end - first));
  }
  if (isCut)
    x = builder.create<tensor::ExtractSliceOp>(loc, x, from, sizes, ones);
  return padded(builder, loc, x, lo, hi, fill);
}

namespace {
/// The sum over samples and positions of products of x and dy.
struct ConvBackwardFilterLowering
    : public OpRewritePattern<nn::ConvBackwardFilterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ConvBackwardFilterOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    RankedTensorType gradient = tensorType(op.getDy());
    auto spatial = static_cast<unsigned>(type.getRank() - 2);
    Reach windows{
        op.getPadsLo(), gradient.getShape().drop_front(2), op.getStrides(), {}};
    for (unsigned i = 0; i < spatial; ++i)
      windows.extents.push_back(
          (type.getDimSize(2 + i) - 1) * op.getDilations()[i] + 1);
    Value x = reached(
        rewriter, loc, op.getX(), windows,
        scalar(rewriter, loc, tensorType(op.getX()).getElementType(), 0));
    Value dy = op.getDy(), sum = initialSum(rewriter, loc, type, Value(), 0);
    int64_t groups = op.getGroups();
    bool grouped = groups > 1;
    if (grouped) {
      x = splitGroups(rewriter, loc, x, 1, groups);
      dy = splitGroups(rewriter, loc, dy, 1, groups);
      sum = splitGroups(rewriter, loc, sum, 0, groups);
    }

    // WindowLoops: (g), f, c, kernel, n, rows and columns, which are
    // contiguous.
    SmallVector<Iterator> iterators;
    auto loop = [&](Iterator kind) {
      iterators.push_back(kind);
      return rewriter.getAffineDimExpr(iterators.size() - 1);
    };
    SmallVector<AffineExpr> xExprs, dyExprs, sumExprs, kernel;
    if (grouped) {
      AffineExpr g = loop(Iterator::parallel);
      for (auto *exprs : {&xExprs, &dyExprs, &sumExprs})
        exprs->push_back(g);
    }
    AffineExpr f = loop(Iterator::parallel), c = loop(Iterator::parallel);
    for (unsigned i = 0; i < spatial; ++i)
      kernel.push_back(loop(Iterator::parallel));
    AffineExpr n = loop(Iterator::reduction);
    xExprs.insert(xExprs.begin(), n);
    dyExprs.insert(dyExprs.begin(), n);
    xExprs.push_back(c);
    dyExprs.push_back(f);
    sumExprs.push_back(f);
    sumExprs.push_back(c);
    for (unsigned i = 0; i < spatial; ++i) {
      AffineExpr out = loop(Iterator::reduction);
      xExprs.push_back(out * op.getStrides()[i] +
                       kernel[i] * op.getDilations()[i]);
      dyExprs.push_back(out);
      sumExprs.push_back(kernel[i]);
    }
    Value result = sumOfProducts(rewriter, loc, {x, dy}, sum,
                                 {xExprs, dyExprs, sumExprs}, iterators);
    if (grouped)
      result = mergeGroups(rewriter, loc, type, result, 0);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void linalg_lowering::populateGradientPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvBackwardFilterLowering>(patterns.getContext());
}
