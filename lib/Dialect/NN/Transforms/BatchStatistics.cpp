//===- BatchStatistics.cpp - Batch norms in training ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// How the values of the channels are touched, by the loops of a batch norm's
/// sum.
static ValueAccess channelsOf(const GradientBuilder &b) {
  ValueAccess access;
  access.dims = {b.operandAccess(0).dims[1]};
  return access;
}

/// A value per channel as `shape`, which broadcasts to the operand.
static Value spread(GradientBuilder &b, Value channels,
                    ArrayRef<int64_t> shape) {
  b.setFrame(channelsOf(b));
  Value result = b.reshape(channels, shape);
  b.setFrame(b.operandAccess(0));
  return result;
}

/// What a running statistic of a batch norm becomes: `momentum` of its old
/// value, and for the rest `current`, a column. A statistic that several batch
/// norms share passes through all of them.
static void updateStatistic(GradientBuilder &b, Value statistic, Value current,
                            double momentum,
                            SmallVectorImpl<NewValue> &values) {
  auto parameter = statistic.getDefiningOp<ParameterOp>();
  if (!parameter)
    return;
  auto *known = llvm::find_if(values, [&](const NewValue &value) {
    return value.parameter == parameter;
  });
  bool isNew = known == values.end();
  Value before = spread(b, isNew ? statistic : known->value, shapeOf(current));
  Value mixed = b.add(b.mul(before, momentum), b.mul(current, 1 - momentum));
  Value after = b.reshape(mixed, shapeOf(statistic));
  if (!isNew) {
    known->value = after;
    return;
  }
  NewValue &value = values.emplace_back();
  value.parameter = parameter;
  value.value = after;
  value.leader = b.leader();
  value.access = channelsOf(b);
}

static void replaceByStatistics(BatchNormOp op, NodeNames &names,
                                std::optional<double> momentum,
                                SmallVectorImpl<NewValue> &values) {
  OpBuilder builder(op);
  Value x = op.getX();
  ArrayRef<int64_t> shape = shapeOf(x);
  auto rank = static_cast<int64_t>(shape.size());
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  SmallVector<int64_t> axes, column(rank - 1, 1);
  column[0] = shape[1];
  double count = 1;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != 1) {
      axes.push_back(dim);
      count *= static_cast<double>(shape[dim]);
    }
  std::string name = getName(op).str();

  // The sum leads the group: it has all loops of x.
  SmallVector<int64_t> kept(rank, 1);
  kept[1] = shape[1];
  auto sum = builder.create<ReduceOp>(
      op.getLoc(), RankedTensorType::get(kept, element), x, ReduceKind::Sum,
      axes, /*keepdims=*/true, llvm::APFloat(1.0f));
  setName(sum, names.unique(name + ".sum"));
  std::string part = name + ".statistics";
  auto unique = [&](StringRef base) { return names.unique(base); };
  GradientBuilder b(builder, sum, part, unique);
  b.setFrame(b.operandAccess(0));
  Value mean = b.mul(sum.getResult(), 1 / count);
  Value centred = b.sub(x, mean);
  Value variance = b.mul(b.sum(b.mul(centred, centred), axes), 1 / count);
  Value inverse =
      b.pow(b.add(variance, op.getEpsilon().convertToDouble()), -0.5);
  Value scale = b.mul(spread(b, op.getScale(), column), inverse);
  Value result = b.add(b.mul(centred, scale), spread(b, op.getBias(), column));
  names.release(getName(result.getDefiningOp()));
  setName(result.getDefiningOp(), name);
  if (momentum) {
    double unbiased = count / std::max(1.0, count - 1);
    updateStatistic(b, op.getMean(), mean, *momentum, values);
    updateStatistic(b, op.getVariance(), b.mul(variance, unbiased), *momentum,
                    values);
  }
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

SmallVector<NewValue>
soap::nn::useBatchStatistics(func::FuncOp function, NodeNames &names,
                             std::optional<double> momentum) {
  SmallVector<NewValue> values;
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (auto norm = dyn_cast<BatchNormOp>(&op))
      replaceByStatistics(norm, names, momentum, values);
  return values;
}
