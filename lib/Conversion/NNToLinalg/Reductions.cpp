//===- Reductions.cpp - Reductions and softmax to linalg ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Dialect/NN/IR/NNFused.h"

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

namespace {
/// An operand of a reduction, which broadcasts to what is reduced.
struct Read {
  Value value;
  llvm::SmallBitVector varies; ///< Per dim; those of size 1 do.
};

/// Loops over what is reduced, of dims in the order in which elements lie.
/// Neighbours that are both summed, or both kept, and along which every operand
/// varies or none, are one loop: a long one.
class ReductionLoops {
public:
  ReductionLoops(ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
                 ArrayRef<int64_t> axes, ArrayRef<Read> reads);

  unsigned size() const { return extents.size(); }
  /// The loops, of those in `iterators`, that the result has.
  AffineMap resultMap(OpBuilder &builder) const {
    return mapOf(builder, [&](unsigned loop) {
      return iterators[loop] == Iterator::parallel;
    });
  }
  SmallVector<int64_t> resultShape() const {
    return shapeOf(
        [&](unsigned loop) { return iterators[loop] == Iterator::parallel; });
  }
  /// How an operand lies along the loops, and in which shape.
  AffineMap map(OpBuilder &builder, const Read &read) const {
    return mapOf(builder, [&](unsigned loop) {
      return read.varies.test(firstDims[loop]);
    });
  }
  SmallVector<int64_t> shape(const Read &read) const {
    return shapeOf(
        [&](unsigned loop) { return read.varies.test(firstDims[loop]); });
  }

  /// Where threads would find few parts of a long reduction to share, splits
  /// its first loop that sums in two, of which the outer one is kept: its
  /// number in the result, which has to be summed along it.
  std::optional<unsigned> keepParts();

  SmallVector<Iterator> iterators;
  SmallVector<int64_t> extents;

private:
  AffineMap mapOf(OpBuilder &builder,
                  llvm::function_ref<bool(unsigned)> has) const {
    SmallVector<AffineExpr> exprs;
    for (unsigned loop = 0; loop < size(); ++loop)
      if (has(loop))
        exprs.push_back(builder.getAffineDimExpr(loop));
    return AffineMap::get(size(), 0, exprs, builder.getContext());
  }
  SmallVector<int64_t> shapeOf(llvm::function_ref<bool(unsigned)> has) const {
    SmallVector<int64_t> shape;
    for (unsigned loop = 0; loop < size(); ++loop)
      if (has(loop))
        shape.push_back(extents[loop]);
    return shape;
  }

  SmallVector<unsigned> firstDims; ///< Per loop, one that is not of size 1.
};
} // namespace

ReductionLoops::ReductionLoops(ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
                               ArrayRef<int64_t> axes, ArrayRef<Read> reads) {
  for (int64_t dim : order) {
    int64_t size = shape[dim];
    Iterator iterator = llvm::is_contained(axes, dim) ? Iterator::reduction
                                                      : Iterator::parallel;
    bool joins = !iterators.empty() && iterators.back() == iterator;
    if (joins && size != 1 && extents.back() != 1)
      joins = llvm::all_of(reads, [&](const Read &read) {
        return read.varies.test(dim) == read.varies.test(firstDims.back());
      });
    if (!joins) {
      iterators.push_back(iterator);
      extents.push_back(size);
      firstDims.push_back(dim);
      continue;
    }
    if (extents.back() == 1)
      firstDims.back() = dim;
    extents.back() *= size;
  }
}

std::optional<unsigned> ReductionLoops::keepParts() {
  constexpr int64_t longReduction = int64_t{1} << 17;
  constexpr int64_t fewParts = enoughPieces / 2;
  int64_t all = 1, kept = 1;
  for (unsigned loop = 0; loop < size(); ++loop) {
    all *= extents[loop];
    if (iterators[loop] == Iterator::reduction)
      continue;
    kept *= extents[loop];
    if (extents[loop] / (loop + 1 == size() ? elementsOfPiece : 1) >= fewParts)
      return std::nullopt;
  }
  unsigned first =
      llvm::find(iterators, Iterator::reduction) - iterators.begin();
  if (all < longReduction || first == size())
    return std::nullopt;
  int64_t parts = std::min(enoughPieces, extents[first]);
  while (extents[first] % parts != 0)
    ++parts;
  if (kept * parts > all / enoughPieces)
    return std::nullopt;
  extents[first] /= parts;
  extents.insert(extents.begin() + first, parts);
  iterators.insert(iterators.begin() + first, Iterator::parallel);
  firstDims.insert(firstDims.begin() + first, firstDims[first]);
  return first;
}

/// `element` of elements of the operands, joined along `axes` of `shape`; the
/// result has its other dims. All dims are in `order`.
static Value reduceElements(OpBuilder &builder, Location loc,
                            ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
                            ArrayRef<Read> reads, ArrayRef<int64_t> axes,
                            Join how, Value start, ElementBuilder element) {
  ReductionLoops loops(shape, order, axes, reads);
  std::optional<unsigned> parts = loops.keepParts();
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (const Read &read : reads) {
    maps.push_back(loops.map(builder, read));
    inputs.push_back(reshaped(builder, loc, read.value, loops.shape(read)));
  }
  maps.push_back(loops.resultMap(builder));
  Value result = generic(
      builder, loc, inputs, filled(builder, loc, loops.resultShape(), start),
      {maps, loops.iterators},
      [&](OpBuilder &nested, Location location, ValueRange elements) {
        return joined(nested, location, how,
                      element(nested, location, elements.drop_back()),
                      elements.back());
      });
  if (parts)
    result = reduce(builder, loc, result, {*parts}, how.kind, how.isUnsigned);
  SmallVector<int64_t> kept;
  for (int64_t dim : order)
    if (!llvm::is_contained(axes, dim))
      kept.push_back(shape[dim]);
  return reshaped(builder, loc, result, kept);
}

/// The same along axes that include all spatial dims, with channels last. The
/// pixels of each line are joined first, then all lines: along one long loop,
/// sums of floats would lose more.
static Value reduceChannelsLast(OpBuilder &builder, Location loc,
                                ArrayRef<int64_t> shape, ArrayRef<Read> reads,
                                ArrayRef<int64_t> axes, Join how, Value start,
                                ElementBuilder element) {
  auto rank = static_cast<int64_t>(shape.size());
  Value lines = reduceElements(builder, loc, shape, channelsLastOrder(rank),
                               reads, rank - 1, how, start, element);
  // Of samples, the other spatial dims, and channels.
  SmallVector<int64_t> others;
  if (llvm::is_contained(axes, 0))
    others.push_back(0);
  llvm::append_range(others, llvm::seq<int64_t>(1, rank - 2));
  if (llvm::is_contained(axes, 1))
    others.push_back(rank - 2);
  return others.empty()
             ? lines
             : reduce(builder, loc, lines, others, how.kind, how.isUnsigned);
}

/// The element that joins of `element` start with.
static Value startOf(OpBuilder &builder, Location loc, nn::ReduceKind kind,
                     Type element, bool isUnsigned) {
  if (auto integer = dyn_cast<IntegerType>(element);
      integer && isUnsigned && integer.getWidth() > 1)
    element = IntegerType::get(builder.getContext(), integer.getWidth(),
                               IntegerType::Unsigned);
  return neutral(builder, loc, kind, element);
}

Value linalg_lowering::reduce(OpBuilder &builder, Location loc, Value input,
                              ArrayRef<int64_t> axes, nn::ReduceKind kind,
                              bool isUnsigned) {
  RankedTensorType type = tensorType(input);
  Read read{input, llvm::SmallBitVector(type.getRank(), true)};
  return reduceElements(
      builder, loc, type.getShape(),
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())), read, axes,
      {kind, isUnsigned, sumFlags},
      startOf(builder, loc, kind, type.getElementType(), isUnsigned),
      [](OpBuilder &, Location, ValueRange elements) { return elements[0]; });
}

/// The result of `op`, given its reduction without scale and kept dims of size
/// 1.
static Value finishReduction(OpBuilder &builder, nn::ReduceOp op,
                             Value result) {
  Location loc = op.getLoc();
  RankedTensorType type = tensorType(op.getResult());
  if (double scale = op.getScale().convertToDouble(); scale != 1)
    result = elementwise(
        builder, loc, {}, result,
        [&](OpBuilder &nested, Location location,
            ValueRange elements) -> Value {
          return nested.create<arith::MulFOp>(
              location, elements[0],
              scalar(nested, location, type.getElementType(), scale));
        });
  return reshaped(builder, loc, result, type.getShape());
}

namespace {
struct ReduceLowering : public OpRewritePattern<nn::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getInput());
    Read read{op.getInput(), llvm::SmallBitVector(type.getRank(), true)};
    Value result = op->hasAttr(channelsLastAttr)
                       ? reduceChannelsLast(
                             rewriter, loc, type.getShape(), read, op.getAxes(),
                             {op.getKind(), isUnsigned(op), sumFlags},
                             startOf(rewriter, loc, op.getKind(),
                                     type.getElementType(), isUnsigned(op)),
                             [](OpBuilder &, Location, ValueRange elements) {
                               return elements[0];
                             })
                       : reduce(rewriter, loc, op.getInput(), op.getAxes(),
                                op.getKind(), isUnsigned(op));
    rewriter.replaceOp(op, finishReduction(rewriter, op, result));
    return success();
  }
};

struct FusedReduceLowering : public OpRewritePattern<nn::FusedReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::FusedReduceOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    nn::ReduceOp reduction = op.getReduce();
    RankedTensorType type = tensorType(reduction.getInput());
    SmallVector<Read> reads;
    for (auto [argument, operand] :
         llvm::zip_equal(op.getBody().getArguments(), op.getInputs())) {
      OpOperand &use = *argument.use_begin();
      reads.push_back(
          {operand, elementwiseAccess(use.getOwner(), use.getOperandNumber())});
    }
    Join how{reduction.getKind(), /*isUnsigned=*/false, sumFlags};
    Value start = neutral(rewriter, loc, how.kind, type.getElementType());
    bool channelsLast = op->hasAttr(channelsLastAttr);
    SmallVector<nn::BatchNormOp> norms;
    if (channelsLast)
      norms = normsOfArguments(op.getParts());
    for (nn::BatchNormOp norm : norms)
      reads.push_back(factorOf(rewriter, norm, reads));
    auto element = [&](OpBuilder &builder, Location location,
                       ValueRange elements) {
      return buildPartScalars(builder, location, op.getBody().getArguments(),
                              op.getParts(), elements, norms);
    };
    Value result =
        channelsLast
            ? reduceChannelsLast(rewriter, loc, type.getShape(), reads,
                                 reduction.getAxes(), how, start, element)
            : reduceElements(
                  rewriter, loc, type.getShape(),
                  llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())), reads,
                  reduction.getAxes(), how, start, element);
    rewriter.replaceOp(op, finishReduction(rewriter, reduction, result));
    return success();
  }

private:
  /// The factors of a batch norm, whose operands are among `reads`.
  static Read factorOf(OpBuilder &builder, nn::BatchNormOp norm,
                       ArrayRef<Read> reads) {
    auto readOf = [&](Value argument) {
      return reads[cast<BlockArgument>(argument).getArgNumber()];
    };
    Read scale = readOf(norm.getScale()), variance = readOf(norm.getVariance());
    RankedTensorType type = tensorType(scale.value);
    Value factor = elementwise(
        builder, norm.getLoc(), {scale.value, variance.value},
        empty(builder, norm.getLoc(), type.getShape(), type.getElementType()),
        [&](OpBuilder &nested, Location location, ValueRange elements) {
          return batchNormFactor(nested, location, norm, elements[0],
                                 elements[1]);
        });
    return {factor, scale.varies};
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
      // x - maximum - log(sum), with one logarithm per sum.
      RankedTensorType perRow = tensorType(sums);
      Value logarithms = elementwise(
          rewriter, loc, sums,
          empty(rewriter, loc, perRow.getShape(), perRow.getElementType()),
          [](OpBuilder &builder, Location location,
             ValueRange elements) -> Value {
            return builder.create<math::LogOp>(location, elements[0]);
          });
      rewriter.replaceOp(op, generic(rewriter, loc, logarithms, mapped(shift),
                                     {{rows, identity}, iterators},
                                     [](OpBuilder &builder, Location location,
                                        ValueRange elements) -> Value {
                                       return builder.create<arith::SubFOp>(
                                           location, elements[1], elements[0]);
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
  patterns.add<FusedReduceLowering, ReduceLowering, SoftmaxLowering,
               LayerNormLowering>(patterns.getContext());
}
