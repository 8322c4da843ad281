//===- BatchStatistics.cpp - Batch norms in training ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"
#include "TrainingStep.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

namespace {
/// One batch norm: of x, or of x with its samples in parts, [parts, samples of
/// a part, channels, ...].
class BatchStatistics {
public:
  /// `means`: of batch norms that lead groups, by their names.
  BatchStatistics(BatchNormOp op, NodeNames &names,
                  llvm::StringMap<std::string> &means,
                  const StatisticsOptions &how,
                  llvm::function_ref<std::string(StringRef)> unique)
      : op_(op), builder_(op), names_(names), how_(how), x_(op.getX()),
        channel_(how.parts > 1 ? 2 : 1), sums_(createMean(means)),
        b_(builder_, sums_, (getName(op) + ".statistics").str(), unique) {
    b_.setFrame(b_.operandAccess(0));
    mean_ = finishMean(sums_);
    column_.assign(shapeOf(op.getX()).size() - 1, 1);
    column_[0] = shapeOf(x_)[channel_];
  }

  /// With a momentum, adds what running statistics become to `values`.
  void build(SmallVectorImpl<NewValue> &values);

private:
  ReduceOp createMean(llvm::StringMap<std::string> &means);
  ReduceOp beginMean(Value x);
  ReduceOp sumSquares(Value differences);
  Value shiftedVariance(Value shift);
  Value finishMean(ReduceOp sums);
  ValueAccess channels() const;
  Value spread(Value channels, ArrayRef<int64_t> shape);
  Value meanOfParts(Value statistic);
  void normalise(Value variance);
  void normaliseParts(Value centred, Value variance);
  Value inShapeOfX(Value result);
  void takeName(Operation *result, StringRef name);
  void updateStatistic(Value statistic, Value current, double momentum,
                       double factor, SmallVectorImpl<NewValue> &values);

  BatchNormOp op_;
  OpBuilder builder_;
  NodeNames &names_;
  const StatisticsOptions &how_;
  Value x_;          ///< What statistics are made of.
  unsigned channel_; ///< The dimension of x_ that runs over channels.
  SmallVector<int64_t> axes_, column_;
  double count_ = 1; ///< Elements of a statistic.
  ReduceOp sums_;    ///< Leads the group.
  GradientBuilder b_;
  Value mean_;
};
} // namespace

/// Per channel; of x in parts, in the shape of x, where dimensions that are
/// gone have size 1. Scales of reductions are of f32, so that means of f64 are
/// divided behind them.
ReduceOp BatchStatistics::beginMean(Value x) {
  auto type = cast<RankedTensorType>(x_.getType());
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(axes_, static_cast<int64_t>(dim)))
      kept.push_back(size);
    else if (how_.parts > 1)
      kept.push_back(1);
  double scale = type.getElementType().isF32() ? 1 / count_ : 1;
  return builder_.create<ReduceOp>(
      op_.getLoc(), type.clone(kept), x, ReduceKind::Sum, axes_,
      /*keepdims=*/how_.parts > 1, llvm::APFloat(static_cast<float>(scale)));
}

Value BatchStatistics::finishMean(ReduceOp sums) {
  if (getElementTypeOrSelf(sums.getResult()).isF32())
    return sums;
  b_.setFrame(how_.parts > 1 ? b_.operandAccess(0) : channels());
  Value mean = b_.mul(sums, 1 / count_);
  b_.setFrame(b_.operandAccess(0));
  return mean;
}

/// Of differences in the shape of x, as `beginMean`.
ReduceOp BatchStatistics::sumSquares(Value differences) {
  return b_.join(beginMean(b_.mul(differences, differences)),
                 b_.operandAccess(0));
}

/// From squares of differences to `shift`, a value per channel: the mean of
/// these, less the square of what the mean differs from it.
Value BatchStatistics::shiftedVariance(Value shift) {
  Value squares = finishMean(sumSquares(b_.sub(x_, spread(shift, column_))));
  b_.setFrame(channels());
  Value difference = b_.sub(mean_, shift),
        square = b_.mul(difference, difference);
  // At least zero, whatever was rounded.
  Value variance = b_.sub(b_.max(squares, square), square);
  b_.setFrame(b_.operandAccess(0));
  return variance;
}

/// It leads the group: it has all loops of x.
ReduceOp BatchStatistics::createMean(llvm::StringMap<std::string> &means) {
  if (how_.parts > 1) {
    SmallVector<int64_t> shape(shapeOf(x_));
    shape[0] /= how_.parts;
    shape.insert(shape.begin(), how_.parts);
    x_ = builder_.create<ReshapeOp>(
        op_.getLoc(),
        RankedTensorType::get(
            shape, cast<RankedTensorType>(x_.getType()).getElementType()),
        x_);
  }
  ArrayRef<int64_t> shape = shapeOf(x_);
  for (unsigned dim = how_.parts > 1 ? 1 : 0; dim < shape.size(); ++dim)
    if (dim != channel_) {
      axes_.push_back(dim);
      count_ *= static_cast<double>(shape[dim]);
    }
  ReduceOp mean = beginMean(x_);
  setName(mean, names_.unique((getName(op_) + ".mean").str()));
  if (StringRef leader = getGroupLeader(op_); leader.empty())
    means[getName(op_)] = getName(mean).str();
  else
    joinGroup(cast<PartitionOpInterface>(mean.getOperation()), means[leader]);
  return mean;
}

/// How the values of the channels are touched, by the loops of the mean.
ValueAccess BatchStatistics::channels() const {
  ValueAccess access;
  access.dims = {b_.operandAccess(0).dims[channel_]};
  return access;
}

/// A value per channel as `shape`, which broadcasts to x.
Value BatchStatistics::spread(Value channels, ArrayRef<int64_t> shape) {
  b_.setFrame(this->channels());
  Value result = b_.reshape(channels, shape);
  b_.setFrame(b_.operandAccess(0));
  return result;
}

Value BatchStatistics::meanOfParts(Value statistic) {
  if (how_.parts == 1)
    return statistic;
  return b_.mul(b_.sum(statistic, {0}), 1 / static_cast<double>(how_.parts));
}

/// Joins the samples of all parts.
Value BatchStatistics::inShapeOfX(Value result) {
  // Loops are called after dimensions, of which x has one less.
  auto loop = [](unsigned dim) { return ("d" + Twine(dim)).str(); };
  LoopNames split{{loop(0), loop(0)}}, joined = split;
  for (unsigned dim = channel_; dim < shapeOf(x_).size(); ++dim) {
    split.push_back({loop(dim), loop(dim)});
    joined.push_back({loop(dim - 1), loop(dim)});
  }
  b_.join(x_.getDefiningOp<ReshapeOp>(), split);
  return b_.join(b_.create<ReshapeOp>(op_.getX().getType(), result), joined);
}

/// Gives an operation that was named after the statistics the batch norm's
/// name.
void BatchStatistics::takeName(Operation *result, StringRef name) {
  names_.release(getName(result));
  setName(result, name);
}

/// What a running statistic becomes: `momentum` of its old value, and for the
/// rest `factor` times `current`. A statistic that several batch norms share
/// passes through all of them.
void BatchStatistics::updateStatistic(Value statistic, Value current,
                                      double momentum, double factor,
                                      SmallVectorImpl<NewValue> &values) {
  auto parameter = statistic.getDefiningOp<ParameterOp>();
  if (!parameter)
    return;
  auto *known = llvm::find_if(values, [&](const NewValue &value) {
    return value.parameter == parameter;
  });
  bool isNew = known == values.end();
  Value before = spread(isNew ? statistic : known->value, shapeOf(current));
  b_.setFrame(how_.parts > 1 ? b_.operandAccess(0) : channels());
  Value mixed = b_.add(b_.mul(before, momentum),
                       b_.mul(current, (1 - momentum) * factor));
  b_.setFrame(b_.operandAccess(0));
  Value after = b_.reshape(mixed, shapeOf(statistic));
  if (!isNew) {
    known->value = after;
    return;
  }
  NewValue &value = values.emplace_back();
  value.parameter = parameter;
  value.value = after;
  value.leader = b_.leader();
  value.access = channels();
}

/// Lets the batch norm read these statistics.
void BatchStatistics::normalise(Value variance) {
  op_.getMeanMutable().assign(mean_);
  op_.getVarianceMutable().assign(variance);
  op_.setOfBatch(true);
  LoopNames loops;
  PartitionSpec spec = op_.getPartitionSpec();
  for (auto [loop, same] : llvm::zip_equal(spec.loops, b_.spec().loops))
    loops.push_back({loop.name.str(), same.name.str()});
  std::string name = getName(op_).str();
  b_.join(op_, loops);
  takeName(op_, name);
}

/// Replaces the batch norm by (x - mean) / sqrt(variance + epsilon) * scale +
/// bias, of x in parts.
void BatchStatistics::normaliseParts(Value centred, Value variance) {
  Value inverse =
      b_.pow(b_.add(variance, op_.getEpsilon().convertToDouble()), -0.5);
  Value scale = b_.mul(spread(op_.getScale(), column_), inverse);
  Value result = inShapeOfX(
      b_.add(b_.mul(centred, scale), spread(op_.getBias(), column_)));
  takeName(result.getDefiningOp(), getName(op_));
  op_.getResult().replaceAllUsesWith(result);
}

void BatchStatistics::build(SmallVectorImpl<NewValue> &values) {
  Value runningMean = op_.getMean(), runningVariance = op_.getVariance();
  Value variance;
  if (how_.parts == 1 && how_.isShifted) {
    variance = shiftedVariance(runningMean);
    normalise(variance);
  } else {
    Value centred = b_.sub(x_, how_.parts > 1 ? mean_ : spread(mean_, column_));
    variance = finishMean(sumSquares(centred));
    if (how_.parts > 1)
      normaliseParts(centred, variance);
    else
      normalise(variance);
  }
  if (how_.momentum) {
    double unbiased = count_ / std::max(1.0, count_ - 1);
    updateStatistic(runningMean, meanOfParts(mean_), *how_.momentum, 1, values);
    updateStatistic(runningVariance, meanOfParts(variance), *how_.momentum,
                    unbiased, values);
  }
  if (how_.parts > 1)
    op_.erase();
}

FailureOr<SmallVector<NewValue>>
soap::nn::useBatchStatistics(func::FuncOp function, NodeNames &names,
                             const StatisticsOptions &how) {
  SmallVector<NewValue> values;
  llvm::StringMap<std::string> means;
  auto unique = [&](StringRef base) { return names.unique(base); };
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    auto norm = dyn_cast<BatchNormOp>(&op);
    if (!norm)
      continue;
    int64_t samples = norm.getX().getType().getDimSize(0);
    if (how.parts < 1 || samples % how.parts != 0)
      return norm.emitOpError("expected a batch that is a multiple of the ")
             << how.parts << " parts of batch-norm=local, got: " << samples;
    BatchStatistics(norm, names, means, how, unique).build(values);
  }
  return values;
}
