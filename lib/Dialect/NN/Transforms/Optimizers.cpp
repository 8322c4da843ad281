//===- Optimizers.cpp - Updates of parameters -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

LogicalResult soap::nn::verifyOptimizer(Location loc,
                                        const OptimizerOptions &options) {
  if (!llvm::is_contained({"sgd", "adam", "adamw"}, options.kind))
    return emitError(loc, "expected optimizer=sgd, adam or adamw, got: '" +
                              options.kind + "'");
  if (!symbolizeScheduleKind(options.schedule))
    return emitError(loc, "expected schedule=constant, step, cosine or linear, "
                          "got: '" +
                              options.schedule + "'");
  struct Range {
    StringRef name;
    double value;
    bool isBelowOne = false;
  };
  for (auto [name, value, isBelowOne] :
       {Range{"lr", options.rate}, Range{"factor", options.factor},
        Range{"momentum", options.momentum, /*isBelowOne=*/true},
        Range{"beta1", options.beta1, /*isBelowOne=*/true},
        Range{"beta2", options.beta2, /*isBelowOne=*/true},
        Range{"epsilon", options.epsilon},
        Range{"weight-decay", options.weightDecay},
        Range{"clip-norm", options.clipNorm},
        Range{"loss-scale", options.lossScale}})
    if (!std::isfinite(static_cast<float>(value)) || value < 0 ||
        (isBelowOne && value >= 1))
      return emitError(loc) << "expected '" << name << "' of at least 0"
                            << (isBelowOne  ? " and below 1"
                                : value > 0 ? ", finite as f32"
                                            : "")
                            << ", got: " << value;
  if (options.warmup < 0 || options.period < 1)
    return emitError(loc, "expected a 'warmup' of 0 steps or more and a "
                          "'period' of 1 or more, got: " +
                              Twine(options.warmup) + " and " +
                              Twine(options.period));
  if (options.lossScalePeriod < 1)
    return emitError(loc, "expected a 'loss-scale-period' of 1 or more, got: " +
                              Twine(options.lossScalePeriod));
  if (options.kind != "sgd" && (options.momentum != 0 || options.nesterov))
    return emitError(loc, "expected 'momentum' and 'nesterov' with "
                          "optimizer=sgd, got: optimizer=" +
                              options.kind);
  if (options.nesterov && options.momentum == 0)
    return emitError(loc, "expected a 'momentum' above 0 with 'nesterov', got: "
                          "0");
  return success();
}

namespace {
/// The updates of one step.
class Updates {
public:
  Updates(OpBuilder &builder, const UpdateContext &context)
      : builder_(builder), loc_(context.loc), names_(context.names),
        schedules_(context.schedules), options_(context.options),
        lossScale_(context.lossScale) {}

  Updated build(ArrayRef<TrainedParameter> trained);

private:
  std::string unique(StringRef base) { return names_.unique(base); }
  Value scaleFor(ArrayRef<TrainedParameter> trained);
  Value squareOf(const TrainedParameter &trained, Type element);
  ParameterOp createState(ParameterOp parameter, StringRef suffix);
  void update(const TrainedParameter &trained, Value scale,
              SmallVectorImpl<NewValue> &values);

  OpBuilder &builder_;
  Location loc_;
  NodeNames &names_;
  Schedules &schedules_;
  const OptimizerOptions &options_;
  Value lossScale_, areFinite_;
  /// What computes the square of a parameter's gradient: part of its update.
  llvm::DenseMap<Value, SmallVector<Operation *, 4>> squares_;
};
} // namespace

std::pair<Operation *, ValueAccess> soap::nn::findReader(Value value) {
  OpOperand *first = nullptr;
  for (OpOperand &use : value.getUses())
    if (!first || use.getOwner()->isBeforeInBlock(first->getOwner()))
      first = &use;
  PartitionSpec spec =
      cast<PartitionOpInterface>(first->getOwner()).getPartitionSpec();
  return {first->getOwner(), spec.operands[first->getOperandNumber()]};
}

ScheduleOp Schedules::get(OpBuilder &builder, Type element) {
  ScheduleOp &schedule = schedules_[element];
  if (schedule)
    return schedule;
  auto scalar = RankedTensorType::get({}, element);
  auto number = RankedTensorType::get({}, builder.getI64Type());
  schedule = builder.create<ScheduleOp>(
      loc_, number, scalar, scalar, scalar, /*before=*/Value(),
      *symbolizeScheduleKind(options_.schedule), APFloat(options_.rate),
      options_.warmup, options_.period, APFloat(options_.factor),
      APFloat(options_.beta1), APFloat(options_.beta2));
  setName(schedule, names_.unique("schedule"));
  return schedule;
}

/// The sum of the squares of a gradient, of shape [1].
Value Updates::squareOf(const TrainedParameter &trained, Type element) {
  auto [parameter, gradient] = trained;
  auto makeUnique = [&](StringRef base) { return unique(base); };
  auto [reader, access] = findReader(parameter.getResult());
  GradientBuilder b(builder_, reader, (getName(parameter) + ".square").str(),
                    makeUnique);
  b.setFrame(access);
  SmallVector<int64_t> axes(
      llvm::to_vector(llvm::seq<int64_t>(typeOf(gradient).getRank())));
  Value squares = b.mul(gradient, gradient);
  Value sum = b.convert(b.reshape(b.sum(squares, axes), {1}), element);
  for (Operation *op = squares.getDefiningOp();; op = op->getNextNode()) {
    squares_[parameter.getResult()].push_back(op);
    if (op == sum.getDefiningOp())
      return sum;
  }
}

/// The factor of all gradients; null: 1. With a clip-norm,
/// min(1, clip-norm / (norm + 1e-6)); with a scale of the loss, over that, or 0
/// where the norm is not finite.
Value Updates::scaleFor(ArrayRef<TrainedParameter> trained) {
  bool clips = options_.clipNorm != 0;
  if ((!clips && !lossScale_) || trained.empty())
    return {};
  StringRef name = clips ? "clip" : "unscale";
  auto makeUnique = [&](StringRef base) { return unique(base); };
  // Partial sums of squares, each in the group of its parameter, one behind the
  // other, and then their sum.
  Type element = typeOf(trained.front().gradient).getElementType();
  SmallVector<Value> squares;
  for (const TrainedParameter &each : trained)
    squares.push_back(squareOf(each, element));
  auto count = static_cast<int64_t>(squares.size());
  auto all = builder_.create<ConcatOp>(
      loc_, RankedTensorType::get({count}, element), squares, 0);
  setName(all, unique((name + ".squares").str()));
  GradientBuilder b(builder_, all, name, makeUnique);
  Value square = b.reshape(b.sum(all, {0}), {}), factor;
  Value one = b.scalar(element, 1), inverse;
  if (lossScale_)
    inverse = b.div(one, lossScale_);
  if (clips) {
    Value norm = b.pow(square, 0.5);
    if (lossScale_)
      norm = b.mul(norm, inverse);
    factor = b.min(
        b.div(b.scalar(element, options_.clipNorm), b.add(norm, 1e-6)), one);
  }
  if (!lossScale_)
    return factor;
  factor = factor ? b.mul(factor, inverse) : inverse;
  Value infinite = b.scalar(element, std::numeric_limits<double>::infinity());
  areFinite_ = b.compare(Predicate::Lt, square, infinite); // NaN is not.
  return b.where(areFinite_, factor, b.scalar(element, 0));
}

ParameterOp Updates::createState(ParameterOp parameter, StringRef suffix) {
  RankedTensorType type = typeOf(parameter.getResult());
  auto zero = cast<TypedAttr>(builder_.getZeroAttr(type.getElementType()));
  auto state = builder_.create<ParameterOp>(
      loc_, type, SplatAttr::get(builder_.getContext(), zero));
  setName(state, unique((getName(parameter) + "." + suffix).str()));
  // A part of a tensor has a part of its state.
  state.setOffsetsAttr(parameter.getOffsetsAttr());
  state.setGlobalShapeAttr(parameter.getGlobalShapeAttr());
  if (parameter.getTensor())
    state.setTensor((*parameter.getTensor() + "." + suffix).str());
  return state;
}

void Updates::update(const TrainedParameter &trained, Value scale,
                     SmallVectorImpl<NewValue> &values) {
  ParameterOp parameter = trained.parameter;
  RankedTensorType type = typeOf(parameter.getResult());
  Type element = type.getElementType();
  ScheduleOp schedule = schedules_.get(builder_, element);
  bool isAdam = options_.kind != "sgd";
  SmallVector<ParameterOp> state;
  if (isAdam)
    state = {createState(parameter, "mean"),
             createState(parameter, "variance")};
  else if (options_.momentum != 0)
    state = {createState(parameter, "velocity")};

  double decay = options_.weightDecay;
  if (!options_.decayVectors && type.getRank() <= 1)
    decay = 0;
  SmallVector<NamedAttribute> attributes;
  auto set = [&](StringRef name, Attribute value) {
    attributes.push_back(builder_.getNamedAttr(name, value));
  };
  auto setReal = [&](StringRef name, double value) {
    set(name, builder_.getF64FloatAttr(value));
  };
  setReal("weight_decay", decay);
  StringRef name = SGDOp::getOperationName();
  SmallVector<Value> operands{parameter.getResult(), trained.gradient};
  for (ParameterOp each : state)
    operands.push_back(each.getResult());
  operands.push_back(schedule.getLearningRate());
  if (isAdam) {
    name = AdamOp::getOperationName();
    operands.append({schedule.getCorrection1(), schedule.getCorrection2()});
    setReal("beta1", options_.beta1);
    setReal("beta2", options_.beta2);
    setReal("epsilon", options_.epsilon);
    if (options_.kind == "adamw")
      set("decoupled", builder_.getUnitAttr());
  } else if (!state.empty()) {
    name = MomentumOp::getOperationName();
    setReal("momentum", options_.momentum);
    if (options_.nesterov)
      set("nesterov", builder_.getUnitAttr());
  }
  auto [reader, access] = findReader(parameter.getResult());
  auto makeUnique = [&](StringRef base) { return unique(base); };
  GradientBuilder b(builder_, reader, (getName(parameter) + ".update").str(),
                    makeUnique);
  b.setFrame(access);
  if (scale)
    operands.push_back(b.convert(scale, element));
  OperationState made(loc_, name, operands,
                      SmallVector<Type>(1 + state.size(), type), attributes);
  Operation *op = builder_.create(made);
  b.join(cast<PartitionOpInterface>(op), access);
  for (Operation *square : squares_.lookup(parameter.getResult()))
    joinUpdate(square, op);
  values.push_back({parameter, op->getResult(0), reader, access, op});
  for (auto [index, each] : llvm::enumerate(state))
    values.push_back({each, op->getResult(1 + index), reader, access, op});
}

Updated Updates::build(ArrayRef<TrainedParameter> trained) {
  Updated updated;
  Value scale = scaleFor(trained);
  for (const TrainedParameter &each : trained)
    update(each, scale, updated.values);
  updated.areFinite = areFinite_;
  return updated;
}

Updated soap::nn::buildUpdates(OpBuilder &builder, const UpdateContext &context,
                               ArrayRef<TrainedParameter> trained) {
  return Updates(builder, context).build(trained);
}

void soap::nn::buildWrites(OpBuilder &builder, NodeNames &names,
                           ArrayRef<NewValue> values) {
  auto unique = [&](StringRef base) { return names.unique(base); };
  for (NewValue each : values) {
    GradientBuilder b(builder, each.leader,
                      (getName(each.parameter) + ".write").str(), unique);
    auto write = b.join(b.create<WriteOp>(each.value.getType(), each.value,
                                          each.parameter.getResult()),
                        each.access);
    if (each.update)
      joinUpdate(write, each.update);
  }
}
