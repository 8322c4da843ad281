//===- WindowGradients.cpp - Gradients of pools, sums, norms --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using llvm::BitVector;
using Build = GradientBuilder;

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

static MaybeGradients maxPool(MaxPoolOp op, Build &b, ArrayRef<Value> results,
                              const BitVector &) {
  return Gradients{b.join(
      b.create<MaxPoolBackwardOp>(op.getInput().getType(), op.getInput(),
                                  results[0], op.getKernel(), op.getStrides(),
                                  op.getDilations(), op.getPadsLo(),
                                  /*offsets=*/nullptr),
      b.sameLoops())};
}

/// 1 over the number of positions that the windows along spatial dimension
/// `dim` are divided by; 0 where dilated windows count none.
static SmallVector<double> inverseCounts(AvgPoolOp op, unsigned dim) {
  int64_t first = -op.getCountedLo()[dim];
  int64_t end = shapeOf(op.getInput())[dim + 2] + op.getCountedHi()[dim];
  SmallVector<double> inverse;
  for (int64_t x = 0; x < shapeOf(op.getResult())[dim + 2]; ++x) {
    int64_t count = 0;
    for (int64_t k = 0; k < op.getKernel()[dim]; ++k) {
      int64_t position = x * op.getStrides()[dim] - op.getPadsLo()[dim] +
                         k * op.getDilations()[dim];
      count += position >= first && position < end;
    }
    inverse.push_back(count ? 1.0 / static_cast<double>(count) : 0.0);
  }
  return inverse;
}

/// Every element of dy, divided by the positions of its window, goes to all of
/// them: a transposed convolution of each channel with ones.
static MaybeGradients avgPool(AvgPoolOp op, Build &b, ArrayRef<Value> results,
                              const BitVector &) {
  Value dy = results[0];
  Type element = elementType(dy);
  size_t rank = shapeOf(dy).size();
  for (unsigned dim = 0; dim + 2 < rank; ++dim) {
    SmallVector<double> inverse = inverseCounts(op, dim);
    Shape shape(rank, 1);
    shape[2 + dim] = static_cast<int64_t>(inverse.size());
    dy = llvm::all_equal(inverse)
             ? b.mul(dy, inverse.front())
             : b.mul(dy, b.numbers(shape, element, inverse));
  }
  int64_t channels = shapeOf(dy)[1];
  Shape kernel{channels, 1};
  kernel.append(op.getKernel().begin(), op.getKernel().end());
  Value ones = b.splat(RankedTensorType::get(kernel, element), 1);
  LoopNames loops = b.sameLoops();
  // Channels are groups.
  loops[1].first = channels == 1 ? "c" : "g";
  return Gradients{b.join(
      b.create<ConvBackwardDataOp>(op.getInput().getType(), dy, ones, Value(),
                                   op.getStrides(), op.getDilations(),
                                   op.getPadsLo(), channels),
      loops)};
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static MaybeGradients reduce(ReduceOp op, Build &b, ArrayRef<Value> results,
                             const BitVector &) {
  Value x = op.getInput(), dy = results[0];
  b.setFrame(b.operandAccess(0));
  Shape kept(shapeOf(x));
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  dy = b.convert(b.reshape(dy, kept), elementType(x));
  switch (op.getKind()) {
  case ReduceKind::Sum:
    return Gradients{
        b.expand(b.mul(dy, op.getScale().convertToDouble()), shapeOf(x))};
  case ReduceKind::Max:
  case ReduceKind::Min: {
    // Elements that are equal share it.
    Type element = elementType(x);
    Value y = b.reshape(op.getResult(), kept);
    Value zero = b.scalar(element, 0), one = b.scalar(element, 1);
    Value isIt = b.where(b.compare(Predicate::Eq, x, y), one, zero);
    Value share = b.div(dy, b.sum(isIt, op.getAxes()));
    return Gradients{b.mul(isIt, share)};
  }
  case ReduceKind::Prod:
    break;
  }
  // The product of all others: 0 if there is a zero among them.
  Type element = elementType(x);
  Value zero = b.scalar(element, 0), one = b.scalar(element, 1);
  Value isZero = b.compare(Predicate::Eq, x, zero);
  Value filled = b.where(isZero, one, x);
  Value zeros = b.where(isZero, one, zero);
  Value product =
      b.join(b.create<ReduceOp>(RankedTensorType::get(kept, element), filled,
                                ReduceKind::Prod, op.getAxes(),
                                /*keepdims=*/true, llvm::APFloat(1.0f)),
             b.operandAccess(0));
  Value others = b.sub(b.sum(zeros, op.getAxes()), zeros);
  Value factor = b.where(b.compare(Predicate::Eq, others, zero),
                         b.div(product, filled), zero);
  return Gradients{b.mul(dy, factor)};
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

static MaybeGradients softmax(SoftmaxOp op, Build &b, ArrayRef<Value> results,
                              const BitVector &) {
  Value dy = results[0], y = op.getResult();
  int64_t axis = op.getAxis();
  if (op.getLog())
    return Gradients{b.sub(dy, b.mul(b.unary<ExpOp>(y), b.sum(dy, axis)))};
  return Gradients{b.mul(y, b.sub(dy, b.sum(b.mul(dy, y), axis)))};
}

/// With g = dy * scale and z = (x - mean) / deviation:
/// dx = (g - mean(g) - z * mean(g * z)) / deviation.
static MaybeGradients layerNorm(LayerNormOp op, Build &b,
                                ArrayRef<Value> results,
                                const BitVector &isNeeded) {
  Value x = op.getX(), dy = results[0];
  ArrayRef<int64_t> shape = shapeOf(x);
  auto axis = static_cast<size_t>(op.getAxis());
  SmallVector<int64_t> inner, outer;
  double count = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    (dim < axis ? outer : inner).push_back(static_cast<int64_t>(dim));
    if (dim >= axis)
      count *= static_cast<double>(shape[dim]);
  }
  auto mean = [&](Value value) {
    return b.mul(b.sum(value, inner), 1 / count);
  };
  Value centred = b.sub(x, mean(x));
  Value variance = mean(b.mul(centred, centred));
  Value inverse =
      b.pow(b.add(variance, op.getEpsilon().convertToDouble()), -0.5);
  Value z = b.mul(centred, inverse);
  Gradients gradients(op->getNumOperands());
  if (isNeeded[0]) {
    Value g = b.mul(dy, op.getScale());
    Value flat = b.sub(b.sub(g, mean(g)), b.mul(z, mean(b.mul(g, z))));
    gradients[0] = b.mul(flat, inverse);
  }
  if (isNeeded[1])
    gradients[1] =
        b.reshape(b.sum(b.mul(dy, z), outer), shapeOf(op.getScale()));
  if (op.getBias() && isNeeded[2])
    gradients[2] = b.reshape(b.sum(dy, outer), shapeOf(op.getBias()));
  return gradients;
}

/// The mean over channels c - before .. c + behind of `x`, with zeros outside:
/// an average pool along the channels, the other dimensions in one.
static Value meanOverChannels(Build &b, Value x, int64_t before,
                              int64_t behind) {
  ArrayRef<int64_t> shape = shapeOf(x);
  Type element = elementType(x);
  int64_t rest = 1;
  for (int64_t size : shape.drop_front(2))
    rest *= size;
  auto type = RankedTensorType::get({shape[0], 1, shape[1], rest}, element);
  bool isSpatial = shape.size() > 2;
  LoopNames flat{{"d0", "n"}, {"d2", "c"}}, pooled{{"n", "n"}, {"h", "c"}};
  LoopNames back{{"d0", "n"}, {"d1", "c"}};
  if (isSpatial) {
    std::string first = b.spec().loops[2].name.str();
    flat.push_back({"d3", first});
    pooled.push_back({"w", first});
    back.push_back({"d2", first});
  }
  Value columns = b.join(b.create<ReshapeOp>(type, x), flat);
  SmallVector<int64_t> lo{before, 0}, hi{behind, 0}, ones{1, 1};
  Value mean =
      b.join(b.create<AvgPoolOp>(type, columns,
                                 SmallVector<int64_t>{before + behind + 1, 1},
                                 ones, ones, lo, hi, lo, hi),
             pooled);
  return b.join(b.create<ReshapeOp>(x.getType(), mean), back);
}

/// With u = bias + alpha * mean(x^2): dx = dy u^-beta - 2 alpha beta x
/// mean'(dy x u^(-beta-1)), where mean' is over the channels whose windows have
/// this one.
static MaybeGradients lrn(LRNOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &) {
  Value x = op.getX(), dy = results[0];
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  auto size = static_cast<int64_t>(op.getSize());
  int64_t before = (size - 1) / 2, behind = size / 2;
  Value squares = meanOverChannels(b, b.mul(x, x), before, behind);
  Value scale = b.add(b.mul(squares, alpha), op.getBias().convertToDouble());
  Value direct = b.mul(dy, b.pow(scale, -beta));
  Value terms = b.mul(b.mul(dy, x), b.pow(scale, -beta - 1));
  Value shared = meanOverChannels(b, terms, behind, before);
  return Gradients{b.sub(direct, b.mul(b.mul(x, shared), 2 * alpha * beta))};
}

/// All dimensions but the channels.
static SmallVector<int64_t> axesOfChannels(size_t rank) {
  SmallVector<int64_t> axes;
  for (size_t dim = 0; dim < rank; ++dim)
    if (dim != 1)
      axes.push_back(static_cast<int64_t>(dim));
  return axes;
}

namespace {
/// The gradients of a batch norm, with z = (x - mean) / sqrt(variance +
/// epsilon).
class BatchNormGradients {
public:
  BatchNormGradients(BatchNormOp op, Build &b, Value dy)
      : op_(op), b_(b), dy_(dy), axes_(axesOfChannels(shapeOf(dy).size())) {}

  /// Of x, with given statistics.
  Value ofX();
  /// Of x, whose statistics the batch norm has: with means over the N elements
  /// of a channel, scale / sqrt(variance + epsilon) * (dy - mean(dy) - z *
  /// mean(dy * z)) (Ioffe and Szegedy, 2015, section 3). Batch norms of its own
  /// say that, all per element, so that it becomes one operation.
  Value ofBatch();
  /// The sum of dy * z.
  Value ofScale();
  /// The sum of dy.
  Value ofBias();

private:
  Value sum(Value x);
  Value norm(Value x, Value scale, Value bias, Value mean);
  Value perChannel(double number);

  BatchNormOp op_;
  Build &b_;
  Value dy_;
  SmallVector<int64_t> axes_;
  Value ofScale_, ofBias_; ///< Once they are built.
};
} // namespace

/// Over all but the channels.
Value BatchNormGradients::sum(Value x) {
  return b_.join(b_.create<ReduceOp>(op_.getScale().getType(), x,
                                     ReduceKind::Sum, axes_,
                                     /*keepdims=*/false, llvm::APFloat(1.0f)),
                 b_.resultAccess());
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias.
Value BatchNormGradients::norm(Value x, Value scale, Value bias, Value mean) {
  return b_
      .join(b_.create<BatchNormOp>(x, scale, bias, mean, op_.getVariance(),
                                   op_.getEpsilon(), /*of_batch=*/false),
            b_.sameLoops())
      .getResult();
}

Value BatchNormGradients::perChannel(double number) {
  return b_.numbers(shapeOf(op_.getScale()), elementType(dy_), number);
}

Value BatchNormGradients::ofX() {
  Value zero = perChannel(0);
  return norm(dy_, op_.getScale(), zero, zero);
}

Value BatchNormGradients::ofBatch() {
  double count = 1;
  for (int64_t axis : axes_)
    count *= static_cast<double>(shapeOf(dy_)[axis]);
  Value sums = norm(op_.getX(), ofScale(), ofBias(), op_.getMean());
  Value zero = perChannel(0);
  return norm(b_.sub(dy_, b_.mul(sums, 1 / count)), op_.getScale(), zero, zero);
}

Value BatchNormGradients::ofScale() {
  if (!ofScale_)
    ofScale_ = sum(b_.mul(
        dy_, norm(op_.getX(), perChannel(1), perChannel(0), op_.getMean())));
  return ofScale_;
}

Value BatchNormGradients::ofBias() {
  if (!ofBias_)
    ofBias_ = sum(dy_);
  return ofBias_;
}

static MaybeGradients batchNorm(BatchNormOp op, Build &b,
                                ArrayRef<Value> results,
                                const BitVector &isNeeded) {
  if (!op.getOfBatch() && (isNeeded[3] || isNeeded[4])) {
    op->emitOpError() << "expected statistics that are no parameters";
    return failure();
  }
  BatchNormGradients norm(op, b, results[0]);
  Gradients gradients(op->getNumOperands());
  if (isNeeded[2])
    gradients[2] = norm.ofBias();
  if (isNeeded[1])
    gradients[1] = norm.ofScale();
  if (isNeeded[0])
    gradients[0] = op.getOfBatch() ? norm.ofBatch() : norm.ofX();
  return gradients;
}

void soap::nn::attachWindowGradients(MLIRContext *context) {
  MaxPoolOp::attachInterface<GradientModel<MaxPoolOp, maxPool>>(*context);
  AvgPoolOp::attachInterface<GradientModel<AvgPoolOp, avgPool>>(*context);
  ReduceOp::attachInterface<GradientModel<ReduceOp, reduce>>(*context);
  SoftmaxOp::attachInterface<GradientModel<SoftmaxOp, softmax>>(*context);
  LayerNormOp::attachInterface<GradientModel<LayerNormOp, layerNorm>>(*context);
  LRNOp::attachInterface<GradientModel<LRNOp, lrn>>(*context);
  BatchNormOp::attachInterface<GradientModel<BatchNormOp, batchNorm>>(*context);
}
