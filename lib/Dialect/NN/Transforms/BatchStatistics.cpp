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
  /// `sums`: of batch norms that lead groups, by their names.
  BatchStatistics(BatchNormOp op, NodeNames &names,
                  llvm::StringMap<std::string> &sums, int64_t parts,
                  llvm::function_ref<std::string(StringRef)> unique)
      : op_(op), builder_(op), x_(op.getX()), parts_(parts),
        channel_(parts > 1 ? 2 : 1), sum_(createSum(names, sums)),
        b_(builder_, sum_, (getName(op) + ".statistics").str(), unique) {
    b_.setFrame(b_.operandAccess(0));
    column_.assign(shapeOf(op.getX()).size() - 1, 1);
    column_[0] = shapeOf(x_)[channel_];
  }

  void build(NodeNames &names, std::optional<double> momentum,
             SmallVectorImpl<NewValue> &values);

private:
  ReduceOp createSum(NodeNames &names, llvm::StringMap<std::string> &sums);
  ValueAccess channels() const;
  Value spread(Value channels, ArrayRef<int64_t> shape);
  Value meanOfParts(Value statistic);
  Value inShapeOfX(Value result);
  void updateStatistic(Value statistic, Value current, double momentum,
                       SmallVectorImpl<NewValue> &values);

  BatchNormOp op_;
  OpBuilder builder_;
  Value x_; ///< What statistics are made of.
  int64_t parts_;
  unsigned channel_; ///< The dimension of x_ that runs over channels.
  SmallVector<int64_t> axes_, column_;
  double count_ = 1; ///< Elements of a statistic.
  ReduceOp sum_;
  GradientBuilder b_;
};
} // namespace

/// The sum leads the group: it has all loops of x.
ReduceOp BatchStatistics::createSum(NodeNames &names,
                                    llvm::StringMap<std::string> &sums) {
  SmallVector<int64_t> shape(shapeOf(x_));
  Type element = cast<RankedTensorType>(x_.getType()).getElementType();
  if (parts_ > 1) {
    shape[0] /= parts_;
    shape.insert(shape.begin(), parts_);
    x_ = builder_.create<ReshapeOp>(op_.getLoc(),
                                    RankedTensorType::get(shape, element), x_);
  }
  SmallVector<int64_t> kept(shape);
  for (unsigned dim = parts_ > 1 ? 1 : 0; dim < shape.size(); ++dim)
    if (dim != channel_) {
      axes_.push_back(dim);
      kept[dim] = 1;
      count_ *= static_cast<double>(shape[dim]);
    }
  auto sum = builder_.create<ReduceOp>(
      op_.getLoc(), RankedTensorType::get(kept, element), x_, ReduceKind::Sum,
      axes_, /*keepdims=*/true, llvm::APFloat(1.0f));
  setName(sum, names.unique((getName(op_) + ".sum").str()));
  if (StringRef leader = getGroupLeader(op_); leader.empty())
    sums[getName(op_)] = getName(sum).str();
  else
    joinGroup(cast<PartitionOpInterface>(sum.getOperation()), sums[leader]);
  return sum;
}

/// How the values of the channels are touched, by the loops of the sum.
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
  if (parts_ == 1)
    return statistic;
  return b_.mul(b_.sum(statistic, {0}), 1 / static_cast<double>(parts_));
}

/// Joins the samples of all parts.
Value BatchStatistics::inShapeOfX(Value result) {
  if (parts_ == 1)
    return result;
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

/// What a running statistic becomes: `momentum` of its old value, and for the
/// rest `current`. A statistic that several batch norms share passes through
/// all of them.
void BatchStatistics::updateStatistic(Value statistic, Value current,
                                      double momentum,
                                      SmallVectorImpl<NewValue> &values) {
  auto parameter = statistic.getDefiningOp<ParameterOp>();
  if (!parameter)
    return;
  auto *known = llvm::find_if(values, [&](const NewValue &value) {
    return value.parameter == parameter;
  });
  bool isNew = known == values.end();
  Value before = spread(isNew ? statistic : known->value, shapeOf(current));
  Value mixed = b_.add(b_.mul(before, momentum), b_.mul(current, 1 - momentum));
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

void BatchStatistics::build(NodeNames &names, std::optional<double> momentum,
                            SmallVectorImpl<NewValue> &values) {
  std::string name = getName(op_).str();
  Value mean = b_.mul(sum_.getResult(), 1 / count_);
  Value centred = b_.sub(x_, mean);
  Value variance = b_.mul(b_.sum(b_.mul(centred, centred), axes_), 1 / count_);
  Value inverse =
      b_.pow(b_.add(variance, op_.getEpsilon().convertToDouble()), -0.5);
  Value scale = b_.mul(spread(op_.getScale(), column_), inverse);
  Value result = b_.add(b_.mul(centred, scale), spread(op_.getBias(), column_));
  result = inShapeOfX(result);
  names.release(getName(result.getDefiningOp()));
  setName(result.getDefiningOp(), name);
  if (momentum) {
    double unbiased = count_ / std::max(1.0, count_ - 1);
    updateStatistic(op_.getMean(), meanOfParts(mean), *momentum, values);
    updateStatistic(op_.getVariance(), meanOfParts(b_.mul(variance, unbiased)),
                    *momentum, values);
  }
  op_.getResult().replaceAllUsesWith(result);
  op_.erase();
}

FailureOr<SmallVector<NewValue>>
soap::nn::useBatchStatistics(func::FuncOp function, NodeNames &names,
                             int64_t parts, std::optional<double> momentum) {
  SmallVector<NewValue> values;
  llvm::StringMap<std::string> sums;
  auto unique = [&](StringRef base) { return names.unique(base); };
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    auto norm = dyn_cast<BatchNormOp>(&op);
    if (!norm)
      continue;
    int64_t samples = norm.getX().getType().getDimSize(0);
    if (parts < 1 || samples % parts != 0)
      return norm.emitOpError("expected a batch that is a multiple of the ")
             << parts << " parts of batch-norm=local, got: " << samples;
    BatchStatistics(norm, names, sums, parts, unique)
        .build(names, momentum, values);
  }
  return values;
}
