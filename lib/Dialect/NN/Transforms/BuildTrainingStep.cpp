//===- BuildTrainingStep.cpp - Loss and gradients -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Differentiation.h"
#include "TrainingStep.h"
#include "Unread.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace soap::nn {
#define GEN_PASS_DEF_BUILDTRAININGSTEPPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

namespace {
class BuildTrainingStepPass
    : public soap::nn::impl::BuildTrainingStepPassBase<BuildTrainingStepPass> {
public:
  using BuildTrainingStepPassBase::BuildTrainingStepPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<NNDialect>();
    registerGradients(registry);
  }

  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal() && failed(build(function)))
        return signalPassFailure();
  }

private:
  /// Makes the step, and the evaluation program where it is asked for.
  LogicalResult build(func::FuncOp function);
  LogicalResult buildStep();
  FailureOr<Value> differentiate(Differentiation &differentiation,
                                 OpBuilder &builder, NodeNames &names,
                                 const MicroBatches &batches,
                                 ArrayRef<ParameterOp> parameters);
  LogicalResult makeLossScale(NodeNames &names, OutputOp scored,
                              const OptimizerOptions &how);
  OptimizerOptions optimizerOptions() const;
  FailureOr<OutputOp> findOutput();
  LogicalResult joinParameters();
  LogicalResult keepOutput(NodeNames &names, OutputOp scored);
  FailureOr<MicroBatches> makeMicroBatches(NodeNames &names, OutputOp scored);

  func::FuncOp function_; ///< The model, which becomes a step.
  std::optional<LossScale> lossScale_;
};
} // namespace

FailureOr<OutputOp> BuildTrainingStepPass::findOutput() {
  func::FuncOp function = function_;
  SmallVector<OutputOp> outputs(function.getOps<OutputOp>());
  SmallVector<StringRef> known;
  for (OutputOp candidate : outputs) {
    if (nn::getName(candidate) == output)
      return candidate;
    known.push_back(nn::getName(candidate));
  }
  if (output.empty() && outputs.size() == 1)
    return outputs.front();
  return emitError(function.getLoc(), "expected an output of the model (" +
                                          llvm::join(known, ", ") +
                                          ") for the loss, got: '" + output +
                                          "'; name one with 'output' "
                                          "(soap-compile --loss-input)");
}

LogicalResult BuildTrainingStepPass::joinParameters() {
  FailureOr<llvm::Regex> tied =
      parseNames(function_.getLoc(), "tie-weights", tieWeights);
  if (failed(tied))
    return failure();
  NodeNames names(function_);
  size_t numTied =
      joinSharedParameters(function_, names, [&](ParameterOp parameter) {
        return !tieWeights.empty() && tied->match(nn::getName(parameter));
      });
  if (!tieWeights.empty() && numTied == 0)
    return emitError(function_.getLoc(),
                     "expected 'tie-weights' to match several parameters of "
                     "one shape with the same elements of a file, got: '" +
                         tieWeights + "'");
  return success();
}

OptimizerOptions BuildTrainingStepPass::optimizerOptions() const {
  OptimizerOptions how{optimizer, schedule};
  how.rate = lr;
  how.factor = factor;
  how.momentum = momentum;
  how.beta1 = beta1;
  how.beta2 = beta2;
  how.epsilon = epsilon;
  how.weightDecay = weightDecay;
  how.clipNorm = clipNorm;
  how.lossScale = lossScale;
  how.lossScalePeriod = lossScalePeriod;
  how.warmup = warmup;
  how.period = period;
  how.nesterov = nesterov;
  how.decayVectors = decayVectors;
  return how;
}

/// Checks what the loss is of, and erases the other outputs.
LogicalResult BuildTrainingStepPass::keepOutput(NodeNames &names,
                                                OutputOp scored) {
  func::FuncOp function = function_;
  if (!isa<FloatType>(getElementTypeOrSelf(scored.getX())))
    return scored.emitOpError("expected floats for the loss");
  if (accumulate < 1)
    return emitError(function.getLoc())
           << "expected 'accumulate' of 1 or more, got: "
           << accumulate.getValue();
  for (OutputOp op : llvm::make_early_inc_range(function.getOps<OutputOp>()))
    if (op != scored) {
      names.release(nn::getName(op));
      op.erase();
    }
  // Micro-batches are made of what the loss depends on alone.
  if (accumulate > 1)
    eraseUnread(function, names);
  return success();
}

/// Erases the output, too, if there are several.
FailureOr<MicroBatches>
BuildTrainingStepPass::makeMicroBatches(NodeNames &names, OutputOp scored) {
  func::FuncOp function = function_;
  if (accumulate == 1) {
    MicroBatches whole;
    whole.firsts = {&function.front().front()};
    whole.outputs = {scored};
    return whole;
  }
  Value x = scored.getX();
  names.release(nn::getName(scored));
  scored.erase();
  return splitBatch(function, names, x, accumulate,
                    /*takesSums=*/loss == "output");
}

/// Builds the loss and its gradients, one micro-batch after the other. Returns
/// the loss.
FailureOr<Value> BuildTrainingStepPass::differentiate(
    Differentiation &differentiation, OpBuilder &builder, NodeNames &names,
    const MicroBatches &batches, ArrayRef<ParameterOp> parameters) {
  Location loc = function_.getLoc();
  LossOptions options{loss, label, classAxis, std::nullopt, labelSmoothing};
  if (ignoreIndex != std::numeric_limits<int64_t>::min())
    options.ignoreIndex = ignoreIndex;
  LossBuilder losses(builder, loc, names,
                     {static_cast<int64_t>(batches.firsts.size()), batches.dim},
                     options);
  auto unique = [&](StringRef base) { return names.unique(base); };
  // They stood for the values, which batch norms may have replaced.
  SmallVector<Value> outputs;
  for (OutputOp output : batches.outputs) {
    outputs.push_back(output.getX());
    names.release(nn::getName(output));
    output.erase();
  }
  Value total;
  bool depends = false;
  for (size_t i = 0; i != batches.firsts.size(); ++i) {
    // What is made for a micro-batch stands before the next one.
    Operation *next = i + 1 < batches.firsts.size()
                          ? batches.firsts[i + 1]
                          : function_.front().getTerminator();
    builder.setInsertionPoint(next);
    FailureOr<Value> part = losses.build(outputs[i], static_cast<int64_t>(i));
    if (failed(part))
      return failure();
    differentiation.followParameters(parameters);
    if (failed(differentiation.checkTypes()))
      return failure();
    // Samples of one micro-batch may all be ones that no parameter changes.
    if (differentiation.dependsOnParameters(*part)) {
      depends = true;
      SmallVector<Operation *> forward;
      for (Operation *op = batches.firsts[i]; op != next;
           op = op->getNextNode())
        forward.push_back(op);
      differentiation.begin(*part, lossScale_ ? lossScale_->get() : Value());
      if (failed(differentiation.run(forward)))
        return failure();
    }
    GradientBuilder b(builder, nullptr, "loss.sum", unique);
    total = total ? b.add(total, *part) : *part;
  }
  if (!depends)
    return emitError(loc, "expected a loss that depends on a parameter that is "
                          "trained, got: none");
  if (failed(differentiation.run(batches.shared)) ||
      failed(differentiation.finish()))
    return failure();
  return total;
}

/// Error: a scale of a loss that is neither f32 nor f64, or without updates.
LogicalResult
BuildTrainingStepPass::makeLossScale(NodeNames &names, OutputOp scored,
                                     const OptimizerOptions &how) {
  lossScale_.reset();
  if (how.lossScale == 0)
    return success();
  Type element = getElementTypeOrSelf(scored.getX());
  if (how.kind.empty() || (!element.isF32() && !element.isF64()))
    return emitError(function_.getLoc())
           << "expected an optimizer and a loss of f32 or f64 with "
              "'loss-scale', got: "
           << (how.kind.empty() ? "no optimizer" : "another type");
  auto builder = OpBuilder::atBlockBegin(&function_.front());
  lossScale_.emplace(builder, function_.getLoc(), names, element, how);
  return success();
}

LogicalResult BuildTrainingStepPass::buildStep() {
  func::FuncOp function = function_;
  for (auto write : function.getOps<WriteOp>())
    return write.emitOpError("expected a model that is not a training step "
                             "already");
  NodeNames names(function);
  if (!llvm::is_contained({"global", "local", "frozen"}, batchNorm.getValue()))
    return emitError(function.getLoc(),
                     "expected batch-norm=global, local or frozen, got: '" +
                         batchNorm + "'");
  if (!llvm::is_contained({"two-pass", "shifted"},
                          batchNormVariance.getValue()))
    return emitError(
        function.getLoc(),
        "expected batch-norm-variance=two-pass or shifted, got: '" +
            batchNormVariance + "'");
  FailureOr<OutputOp> scored = findOutput();
  if (failed(scored))
    return failure();
  OptimizerOptions how = optimizerOptions();
  bool updates = !optimizer.empty();
  if (!updates)
    how.schedule = "constant";
  if (updates && failed(verifyOptimizer(function.getLoc(), how)))
    return failure();
  if (failed(keepOutput(names, *scored)) ||
      failed(makeLossScale(names, *scored, how)))
    return failure();
  Schedules schedules(function.getLoc(), names, how);
  if (failed(useDropout(function, schedules, dropout, seed)))
    return failure();
  double kept = batchNormMomentum;
  if (!(kept >= 0 && kept <= 1))
    return emitError(function.getLoc())
           << "expected 'batch-norm-momentum' from 0 to 1, got: " << kept;
  FailureOr<MicroBatches> batches = makeMicroBatches(names, *scored);
  if (failed(batches))
    return failure();
  // What only outputs without a loss read has been erased.
  FailureOr<SmallVector<ParameterOp>> parameters =
      findTrained(function, freeze);
  if (failed(parameters))
    return failure();
  FailureOr<SmallVector<NewValue>> values = SmallVector<NewValue>();
  if (batchNorm != "frozen")
    values = useBatchStatistics(function, names,
                                {batchNorm == "local" ? batchNormParts : 1,
                                 batchNormVariance == "shifted",
                                 updates ? std::optional(kept) : std::nullopt});
  if (failed(values))
    return failure();
  int64_t before =
      std::distance(function.front().begin(), function.front().end());
  auto builder = OpBuilder::atBlockTerminator(&function.front());
  Differentiation differentiation(function, builder, names);
  FailureOr<Value> value =
      differentiate(differentiation, builder, names, *batches, *parameters);
  if (failed(value))
    return failure();
  auto addOutput = [&](Value result, const Twine &name) {
    auto op = builder.create<OutputOp>(function.getLoc(), result);
    setName(op, names.unique(name.str()));
  };
  SmallVector<TrainedParameter> trained;
  for (ParameterOp parameter : *parameters)
    if (Value gradient = differentiation.gradientOf(parameter.getResult()))
      trained.push_back({parameter, gradient});
  numParameters += trained.size();
  Value nextScale, skipped;
  if (updates) {
    Updated updated = buildUpdates(builder,
                                   {function.getLoc(), names, schedules, how,
                                    lossScale_ ? lossScale_->get() : Value()},
                                   trained);
    values->append(updated.values);
    if (updated.areFinite)
      std::tie(nextScale, skipped) =
          lossScale_->update(builder, updated.areFinite, *values);
  }
  buildWrites(builder, names, *values);
  addOutput(*value, "loss");
  if (nextScale) {
    addOutput(nextScale, "loss_scale");
    addOutput(skipped, "skipped_steps");
  }
  if (!updates)
    for (auto [parameter, gradient] : trained)
      addOutput(gradient, nn::getName(parameter) + ".grad");
  numGradientOps +=
      std::distance(function.front().begin(), function.front().end()) - before;
  return success();
}

LogicalResult BuildTrainingStepPass::build(func::FuncOp function) {
  function_ = function;
  if (!evaluation)
    return failure(failed(joinParameters()) || failed(buildStep()));
  ModuleOp module = getOperation();
  if (function.getName() != "main")
    return emitError(function.getLoc())
           << "expected a model in @main for an evaluation program, got: @"
           << function.getName();
  if (findEvaluation(module))
    return emitError(module.getLoc())
           << "expected a module without @" << evaluationName << ", got: one";
  // Both programs have the same parameters.
  if (failed(joinParameters()))
    return failure();
  OwningOpRef<ModuleOp> made = createEvaluation(function);
  if (failed(buildStep()))
    return failure();
  markState(*made, function);
  module.push_back(made.release());
  return success();
}
