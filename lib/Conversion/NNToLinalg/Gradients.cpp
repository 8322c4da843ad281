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

namespace {
/// Windows along the spatial dimensions: the first starts `pads[i]` elements
/// before the operand, `counts[i]` follow each other.
struct Reach {
  ArrayRef<int64_t> pads, counts, strides;
  SmallVector<int64_t, 3> extents; ///< Elements of a window.
};
} // namespace

/// What windows read of `x`, and no more; `fill` is what lies outside of x. The
/// spatial dimensions begin at dim `firstSpatial`.
static Value reached(OpBuilder &builder, Location loc, Value x,
                     const Reach &reach, Value fill, int64_t firstSpatial = 2) {
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

/// For every window, the number of its first largest element; then for every
/// element of the result the sum over the windows that reach it and have it for
/// that.
struct MaxPoolBackwardLowering
    : public OpRewritePattern<nn::MaxPoolBackwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MaxPoolBackwardOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    RankedTensorType gradient = tensorType(op.getDy());
    Type element = type.getElementType(), index = rewriter.getI32Type();
    auto spatial = static_cast<unsigned>(type.getRank() - 2);
    WindowLoops loops(rewriter, op);
    auto shapeOf = [&](RankedTensorType of) {
      return loops.ordered<int64_t>(of.getDimSize(0), of.getDimSize(1),
                                    of.getShape().drop_front(2));
    };
    Reach windows{
        op.getPadsLo(), gradient.getShape().drop_front(2), op.getStrides(), {}};
    Spread spread{{}, {}, op.getStrides(), loops.firstSpatial()};
    for (unsigned i = 0; i < spatial; ++i) {
      int64_t reach = (op.getKernel()[i] - 1) * op.getDilations()[i];
      int64_t offset = op.getOffsets() ? (*op.getOffsets())[i] : 0;
      windows.extents.push_back(reach + 1);
      // In the result, moved by `reach` so that no kernel position is before 0.
      spread.origins.push_back(reach - op.getPadsLo()[i] - offset);
      spread.sizes.push_back(type.getDimSize(2 + i) + reach);
    }
    Value dy = reshaped(rewriter, loc, op.getDy(), shapeOf(gradient));
    Value x = reached(
        rewriter, loc,
        reshaped(rewriter, loc, op.getX(), shapeOf(tensorType(op.getX()))),
        windows, neutral(rewriter, loc, nn::ReduceKind::Max, element),
        loops.firstSpatial());
    Value first =
        firstOfWindows(rewriter, op, loops, x, tensorType(dy).getShape());
    Value none = scalar(rewriter, loc, index, -1);
    Value spreadFirst = spreadOut(rewriter, loc, first, spread, none);
    Value spreadGradient =
        spreadOut(rewriter, loc, dy, spread, scalar(rewriter, loc, element, 0));

    SmallVector<AffineExpr> exprs = loops.places([&](unsigned i) {
      return loops.out(i) + (windows.extents[i] - 1) -
             loops.kernel(i) * op.getDilations()[i];
    });
    SmallVector<AffineExpr> results =
        loops.places([&](unsigned i) { return loops.out(i); });
    Value window = empty(rewriter, loc, op.getKernel(), element);
    Value zeros =
        filled(rewriter, loc, shapeOf(type), scalar(rewriter, loc, element, 0));
    Value sums = generic(
        rewriter, loc, {spreadFirst, spreadGradient, window}, zeros,
        {loops.maps({exprs, exprs, loops.kernels(), results}),
         loops.iterators()},
        [&](OpBuilder &builder, Location location,
            ValueRange elements) -> Value {
          Value isIt = builder.create<arith::CmpIOp>(
              location, arith::CmpIPredicate::eq, elements[0],
              loops.position(builder, location, index));
          Value share = builder.create<arith::SelectOp>(
              location, isIt, elements[1],
              scalar(builder, location, element, 0));
          return builder.create<arith::AddFOp>(location, elements[3], share);
        });
    rewriter.replaceOp(op, reshaped(rewriter, loc, sums, type.getShape()));
    return success();
  }

private:
  /// The loops of both steps: n, c, rows, kernel, then the columns; with
  /// channels last n, rows, columns, kernel, then c.
  class WindowLoops {
  public:
    WindowLoops(Builder &builder, nn::MaxPoolBackwardOp op)
        : builder_(builder), kernel_(op.getKernel()),
          spatial_(op.getKernel().size()),
          channelsLast_(op->hasAttr(channelsLastAttr)) {}

    /// The first spatial dimension of a tensor.
    unsigned firstSpatial() const { return channelsLast_ ? 1 : 2; }
    /// What belongs to each dimension of a tensor.
    template <typename T>
    SmallVector<T> ordered(T sample, T channel, ArrayRef<T> spatial) const {
      SmallVector<T> result = {sample};
      llvm::append_range(result, spatial);
      result.insert(channelsLast_ ? result.end() : result.begin() + 1, channel);
      return result;
    }

    AffineExpr out(unsigned i) const {
      if (channelsLast_)
        return builder_.getAffineDimExpr(1 + i);
      return builder_.getAffineDimExpr(i + 1 < spatial_ ? 2 + i
                                                        : 1 + 2 * spatial_);
    }
    AffineExpr kernel(unsigned i) const {
      return builder_.getAffineDimExpr(1 + spatial_ + i);
    }
    /// The element of a tensor whose places along the spatial dimensions are
    /// these.
    SmallVector<AffineExpr>
    places(llvm::function_ref<AffineExpr(unsigned)> along) const {
      SmallVector<AffineExpr> spatial;
      for (unsigned i = 0; i < spatial_; ++i)
        spatial.push_back(along(i));
      return ordered<AffineExpr>(
          builder_.getAffineDimExpr(0),
          builder_.getAffineDimExpr(channelsLast_ ? 1 + 2 * spatial_ : 1),
          spatial);
    }
    SmallVector<AffineExpr> kernels() const {
      SmallVector<AffineExpr> exprs;
      for (unsigned i = 0; i < spatial_; ++i)
        exprs.push_back(kernel(i));
      return exprs;
    }
    SmallVector<Iterator> iterators() const {
      SmallVector<Iterator> kinds(2 + 2 * spatial_, Iterator::parallel);
      for (unsigned i = 0; i < spatial_; ++i)
        kinds[1 + spatial_ + i] = Iterator::reduction;
      return kinds;
    }
    SmallVector<AffineMap>
    maps(ArrayRef<SmallVector<AffineExpr>> accesses) const {
      SmallVector<AffineMap> result;
      for (ArrayRef<AffineExpr> exprs : accesses)
        result.push_back(
            AffineMap::get(2 + 2 * spatial_, 0, exprs, builder_.getContext()));
      return result;
    }
    /// The number of the kernel's position within a linalg.generic.
    Value position(OpBuilder &builder, Location loc, Type type) const {
      Value sum;
      for (unsigned i = 0; i < spatial_; ++i) {
        Value at = builder.create<arith::IndexCastOp>(
            loc, type, builder.create<linalg::IndexOp>(loc, 1 + spatial_ + i));
        if (sum) {
          Value size = scalar(builder, loc, type, kernel_[i]);
          sum = builder.create<arith::MulIOp>(loc, sum, size);
          sum = builder.create<arith::AddIOp>(loc, sum, at);
        } else {
          sum = at;
        }
      }
      return sum;
    }

  private:
    Builder &builder_;
    ArrayRef<int64_t> kernel_;
    unsigned spatial_;
    bool channelsLast_;
  };

  /// Per element of dy, of this shape, the number of the first largest element
  /// of its window of `x`, which windows start at the first element of; none
  /// for NaN.
  static Value firstOfWindows(OpBuilder &builder, nn::MaxPoolBackwardOp op,
                              const WindowLoops &loops, Value x,
                              ArrayRef<int64_t> shape) {
    Location loc = op.getLoc();
    Type element = tensorType(x).getElementType(), index = builder.getI32Type();
    SmallVector<AffineExpr> exprs = loops.places([&](unsigned i) {
      return loops.out(i) * op.getStrides()[i] +
             loops.kernel(i) * op.getDilations()[i];
    });
    SmallVector<AffineExpr> results =
        loops.places([&](unsigned i) { return loops.out(i); });
    Value window = empty(builder, loc, op.getKernel(), element);
    constexpr nn::ReduceKind kind = nn::ReduceKind::Max;
    Value largest = generic(
        builder, loc, {x, window},
        filled(builder, loc, shape, neutral(builder, loc, kind, element)),
        {loops.maps({exprs, loops.kernels(), results}), loops.iterators()},
        [&](OpBuilder &inner, Location location, ValueRange elements) {
          return joined(inner, location, {kind}, elements[0], elements[2]);
        });
    Value last =
        scalar(builder, loc, index, std::numeric_limits<int32_t>::max());
    return generic(
        builder, loc, {x, largest, window}, filled(builder, loc, shape, last),
        {loops.maps({exprs, results, loops.kernels(), results}),
         loops.iterators()},
        [&](OpBuilder &inner, Location location, ValueRange elements) -> Value {
          Value isIt = inner.create<arith::CmpFOp>(
              location, arith::CmpFPredicate::OEQ, elements[0], elements[1]);
          Value here = inner.create<arith::SelectOp>(
              location, isIt, loops.position(inner, location, index), last);
          return inner.create<arith::MinSIOp>(location, elements[3], here);
        });
  }
};
} // namespace

void linalg_lowering::populateGradientPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvBackwardFilterLowering, MaxPoolBackwardLowering>(
      patterns.getContext());
}
