//===- Contractions.cpp - Convolution and matmul to linalg ----------------===//
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

Value linalg_lowering::multiplyAdd(OpBuilder &builder, Location loc, Value a,
                                   Value b, Value sum) {
  if (!isa<FloatType>(a.getType()))
    return builder.create<arith::AddIOp>(
        loc, sum, builder.create<arith::MulIOp>(loc, a, b));
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(), sumFlags);
  Value product = builder.create<arith::MulFOp>(loc, a, b, flags);
  return builder.create<arith::AddFOp>(loc, sum, product, flags);
}

Value linalg_lowering::initialSum(OpBuilder &builder, Location loc,
                                  RankedTensorType type, Value bias,
                                  int64_t dim) {
  if (!bias)
    return filled(builder, loc, type.getShape(),
                  scalar(builder, loc, type.getElementType(), 0));
  SmallVector<int64_t> broadcast;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != dim)
      broadcast.push_back(i);
  Value output = empty(builder, loc, type.getShape(), type.getElementType());
  return builder.create<linalg::BroadcastOp>(loc, bias, output, broadcast)
      .getResult()[0];
}

/// Groups of dims for a reshape: each dim is a group of its own, except that
/// dim `split` becomes two.
static SmallVector<ReassociationIndices> groupDims(unsigned rank,
                                                   unsigned split) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (unsigned dim = 0; dim < rank; ++dim) {
    groups.push_back({next++});
    if (dim == split)
      groups.back().push_back(next++);
  }
  return groups;
}

Value linalg_lowering::splitGroups(OpBuilder &builder, Location loc,
                                   Value value, unsigned dim, int64_t groups) {
  RankedTensorType from = tensorType(value);
  SmallVector<int64_t> shape(from.getShape());
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  return builder.create<tensor::ExpandShapeOp>(
      loc, RankedTensorType::get(shape, from.getElementType()), value,
      groupDims(from.getRank(), dim));
}

Value linalg_lowering::mergeGroups(OpBuilder &builder, Location loc,
                                   RankedTensorType type, Value value,
                                   unsigned dim) {
  return builder.create<tensor::CollapseShapeOp>(
      loc, type, value, groupDims(type.getRank(), dim));
}

Value linalg_lowering::sumOfProducts(PatternRewriter &rewriter, Location loc,
                                     ValueRange inputs, Value sum,
                                     ArrayRef<SmallVector<AffineExpr>> accesses,
                                     ArrayRef<Iterator> iterators) {
  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> exprs : accesses)
    maps.push_back(
        AffineMap::get(iterators.size(), 0, exprs, rewriter.getContext()));
  return generic(
      rewriter, loc, inputs, sum, {maps, iterators},
      [](OpBuilder &builder, Location location, ValueRange elements) {
        return multiplyAdd(builder, location, elements[0], elements[1],
                           elements[2]);
      });
}

namespace {
/// Where elements go along the spatial dimensions: element o of dimension i to
/// `origins[i] + o * strides[i]` of `sizes[i]` elements; those outside are left
/// out.
struct Spread {
  SmallVector<int64_t, 3> sizes, origins;
  ArrayRef<int64_t> strides;
};
} // namespace

/// `fill` with the elements of `value` where `spread` says.
static Value spreadOut(OpBuilder &builder, Location loc, Value value,
                       const Spread &spread, Value fill) {
  RankedTensorType type = tensorType(value);
  auto number = [&](int64_t size) -> OpFoldResult {
    return builder.getIndexAttr(size);
  };
  SmallVector<int64_t> shape(type.getShape());
  size_t rank = shape.size();
  SmallVector<OpFoldResult> from(rank, number(0)), to(rank, number(0)),
      counts = llvm::map_to_vector(shape, number), steps(rank, number(1)),
      ones(rank, number(1));
  bool isEmpty = false;
  for (size_t i = 0; i != spread.strides.size(); ++i) {
    size_t dim = 2 + i;
    int64_t stride = spread.strides[i], origin = spread.origins[i];
    int64_t first = origin < 0 ? (-origin + stride - 1) / stride : 0;
    int64_t end =
        origin >= spread.sizes[i]
            ? 0
            : std::min(shape[dim], (spread.sizes[i] - 1 - origin) / stride + 1);
    shape[dim] = spread.sizes[i];
    isEmpty |= end <= first;
    from[dim] = number(first);
    to[dim] = number(origin + first * stride);
    counts[dim] = number(end - first);
    steps[dim] = number(stride);
  }
  Value result = filled(builder, loc, shape, fill);
  if (isEmpty)
    return result;
  Value read =
      builder.create<tensor::ExtractSliceOp>(loc, value, from, counts, ones);
  return builder.create<tensor::InsertSliceOp>(loc, read, result, to, counts,
                                               steps);
}

/// Replaces a convolution, in either direction, by sums of products of `input`
/// and the weight. Element `kernel` of its spatial dimension i meets, for
/// element `out` of the result, element `position(i, out, kernel)`. The weight
/// has the channels of the result first, or second if it is `turned`.
template <typename Op>
static void
lowerConvolution(PatternRewriter &rewriter, Op op, Value input, bool turned,
                 llvm::function_ref<AffineExpr(unsigned i, AffineExpr out,
                                               AffineExpr kernel)>
                     position) {
  Location loc = op.getLoc();
  RankedTensorType type = tensorType(op.getResult());
  unsigned spatial = type.getRank() - 2;
  Value weight = op.getWeight();
  Value sum = initialSum(rewriter, loc, type, op.getBias(), 1);

  // Groups become a dim of their own in all three.
  int64_t groups = op.getGroups();
  bool grouped = groups > 1;
  if (grouped) {
    input = splitGroups(rewriter, loc, input, 1, groups);
    weight = splitGroups(rewriter, loc, weight, 0, groups);
    sum = splitGroups(rewriter, loc, sum, 1, groups);
  }

  // Loops: n, (g), channel of the result, rows, channel of the input, kernel,
  // then the columns, which are contiguous.
  SmallVector<Iterator> iterators;
  auto loop = [&](Iterator kind) {
    iterators.push_back(kind);
    return rewriter.getAffineDimExpr(iterators.size() - 1);
  };
  SmallVector<AffineExpr> inputExprs, weightExprs, resultExprs, out, kernel;
  inputExprs.push_back(loop(Iterator::parallel));
  resultExprs.push_back(inputExprs.front());
  if (grouped) {
    AffineExpr g = loop(Iterator::parallel);
    inputExprs.push_back(g);
    weightExprs.push_back(g);
    resultExprs.push_back(g);
  }
  AffineExpr made = loop(Iterator::parallel);
  for (unsigned i = 0; i + 1 < spatial; ++i)
    out.push_back(loop(Iterator::parallel));
  AffineExpr summed = loop(Iterator::reduction);
  for (unsigned i = 0; i < spatial; ++i)
    kernel.push_back(loop(Iterator::reduction));
  out.push_back(loop(Iterator::parallel));
  inputExprs.push_back(summed);
  weightExprs.push_back(turned ? summed : made);
  weightExprs.push_back(turned ? made : summed);
  resultExprs.push_back(made);
  for (unsigned i = 0; i < spatial; ++i) {
    inputExprs.push_back(position(i, out[i], kernel[i]));
    weightExprs.push_back(kernel[i]);
    resultExprs.push_back(out[i]);
  }
  Value result =
      sumOfProducts(rewriter, loc, {input, weight}, sum,
                    {inputExprs, weightExprs, resultExprs}, iterators);
  if (grouped)
    result = mergeGroups(rewriter, loc, type, result, 1);
  rewriter.replaceOp(op, result);
}

namespace {
struct ConvLowering : public OpRewritePattern<nn::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ConvOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = tensorType(op.getResult()).getElementType();
    SmallVector<int64_t> lo(2, 0), hi(2, 0);
    llvm::append_range(lo, op.getPadsLo());
    llvm::append_range(hi, op.getPadsHi());
    Value input = padded(rewriter, loc, op.getInput(), lo, hi,
                         scalar(rewriter, loc, element, 0));
    lowerConvolution(rewriter, op, input, /*turned=*/false,
                     [&](unsigned i, AffineExpr out, AffineExpr kernel) {
                       return out * op.getStrides()[i] +
                              kernel * op.getDilations()[i];
                     });
    return success();
  }
};

/// A convolution of dy, spread out by the strides, with the kernel turned
/// round.
struct ConvBackwardDataLowering
    : public OpRewritePattern<nn::ConvBackwardDataOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ConvBackwardDataOp op,
                                PatternRewriter &rewriter) const override {
    lowerConvolution(rewriter, op, spread(rewriter, op), /*turned=*/true,
                     [&](unsigned i, AffineExpr out, AffineExpr kernel) {
                       return out + reach(op, i) -
                              kernel * op.getDilations()[i];
                     });
    return success();
  }

private:
  /// Elements from the first to the last position of the kernel, less one.
  static int64_t reach(nn::ConvBackwardDataOp op, unsigned i) {
    return (tensorType(op.getWeight()).getDimSize(2 + i) - 1) *
           op.getDilations()[i];
  }

  /// Zeros with element o of dy at `o*stride + reach - pad`, as far as the
  /// result reads.
  static Value spread(OpBuilder &builder, nn::ConvBackwardDataOp op) {
    Location loc = op.getLoc();
    Spread spread{{}, {}, op.getStrides()};
    for (unsigned i = 0, e = op.getStrides().size(); i != e; ++i) {
      spread.sizes.push_back(tensorType(op.getResult()).getDimSize(2 + i) +
                             reach(op, i));
      spread.origins.push_back(reach(op, i) - op.getPadsLo()[i]);
    }
    return spreadOut(
        builder, loc, op.getDy(), spread,
        scalar(builder, loc, tensorType(op.getDy()).getElementType(), 0));
  }
};

struct MatMulLowering : public OpRewritePattern<nn::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MatMulOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    unsigned batch = type.getRank() - 2;
    Value sum = initialSum(rewriter, loc, type, op.getBias(), batch + 1);

    // Loops: batch, rows, then what is contiguous in `b` innermost.
    bool columnsLast = !op.getTransposeB();
    SmallVector<Iterator> iterators(batch + 1, Iterator::parallel);
    iterators.push_back(columnsLast ? Iterator::reduction : Iterator::parallel);
    iterators.push_back(columnsLast ? Iterator::parallel : Iterator::reduction);
    AffineExpr row = rewriter.getAffineDimExpr(batch);
    AffineExpr column = rewriter.getAffineDimExpr(batch + 1 + columnsLast);
    AffineExpr k = rewriter.getAffineDimExpr(batch + 2 - columnsLast);

    auto mapOf = [&](Value operand, AffineExpr first, AffineExpr second) {
      ArrayRef<int64_t> shape = tensorType(operand).getShape();
      unsigned offset = type.getRank() - shape.size();
      SmallVector<AffineExpr> exprs;
      for (unsigned i = 0; i + 2 < shape.size(); ++i)
        exprs.push_back(shape[i] == type.getDimSize(i + offset)
                            ? rewriter.getAffineDimExpr(i + offset)
                            : rewriter.getAffineConstantExpr(0));
      exprs.push_back(first);
      exprs.push_back(second);
      return AffineMap::get(iterators.size(), 0, exprs, rewriter.getContext());
    };
    SmallVector<AffineMap> maps = {
        op.getTransposeA() ? mapOf(op.getA(), k, row)
                           : mapOf(op.getA(), row, k),
        op.getTransposeB() ? mapOf(op.getB(), column, k)
                           : mapOf(op.getB(), k, column),
        mapOf(op.getResult(), row, column)};
    double alpha = op.getAlpha().convertToDouble();
    rewriter.replaceOp(
        op,
        generic(
            rewriter, loc, {op.getA(), op.getB()}, sum, {maps, iterators},
            [&](OpBuilder &builder, Location location, ValueRange elements) {
              Value a = elements[0];
              if (alpha != 1)
                a = builder.create<arith::MulFOp>(
                    location, a, scalar(builder, location, a.getType(), alpha));
              return multiplyAdd(builder, location, a, elements[1],
                                 elements[2]);
            }));
    return success();
  }
};
} // namespace

void linalg_lowering::populateContractionPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvLowering, ConvBackwardDataLowering, MatMulLowering>(
      patterns.getContext());
}
