//===- BuildTrainingStep.cpp - Loss and gradients -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/Regex.h"

#define DEBUG_TYPE "nn-build-training-step"

namespace soap::nn {
#define GEN_PASS_DEF_BUILDTRAININGSTEPPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

namespace {

/// Builds the gradients of a scalar by the values that depend on parameters, in
/// the reverse order of a function's operations.
class Differentiation {
public:
  Differentiation(func::FuncOp function, OpBuilder &builder, NodeNames &names)
      : function_(function), builder_(builder), names_(names) {}

  /// Marks the values that depend on `parameters` by floating point numbers.
  void followParameters(ArrayRef<ParameterOp> parameters);
  /// Differentiates `loss`. Error: operations without a gradient.
  LogicalResult run(Value loss);

  /// Error: a value on the way that is neither f32 nor f64.
  LogicalResult checkTypes();

  bool dependsOnParameters(Value value) const {
    return dependent_.contains(value);
  }
  /// The gradient by a value; null if the loss does not depend on it.
  Value gradientOf(Value value) const { return gradients_.lookup(value); }

private:
  void accumulate(Value value, Value gradient);
  LogicalResult differentiate(Operation *op);

  func::FuncOp function_;
  OpBuilder &builder_;
  NodeNames &names_;
  llvm::DenseSet<Value> dependent_;
  llvm::DenseSet<Value> weights_; ///< Made of parameters and constants alone.
  llvm::DenseMap<Value, Value> gradients_;
  std::vector<Operation *> withoutGradient_;
};

} // namespace

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

void Differentiation::followParameters(ArrayRef<ParameterOp> parameters) {
  for (ParameterOp parameter : parameters)
    dependent_.insert(parameter.getResult());
  for (Operation &op : function_.front())
    if (isa<ParameterOp, ConstantOp>(op) ||
        (op.getNumOperands() != 0 &&
         llvm::all_of(op.getOperands(),
                      [&](Value value) { return weights_.contains(value); })))
      weights_.insert(op.result_begin(), op.result_end());
  for (Operation &op : function_.front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return dependent_.contains(value); }))
      for (Value result : op.getResults())
        if (isFloat(result))
          dependent_.insert(result);
}

LogicalResult Differentiation::checkTypes() {
  for (Operation &op : function_.front())
    for (Value result : op.getResults())
      if (Type type = cast<RankedTensorType>(result.getType()).getElementType();
          dependent_.contains(result) && !type.isF32() && !type.isF64())
        return op.emitOpError("expected f32 or f64 between parameters and the "
                              "loss, got: ")
               << type << "; convert the model";
  return success();
}

void Differentiation::accumulate(Value value, Value gradient) {
  Value &sum = gradients_[value];
  if (!sum) {
    sum = gradient;
    return;
  }
  // The sum runs where the value is made. That of weights runs where the last
  // gradient is made, of parts that are not reduced yet.
  Operation *producer = value.getDefiningOp();
  bool isEnd = isa<ParameterOp, InputOp, ConstantOp>(producer);
  auto unique = [&](StringRef base) { return names_.unique(base); };
  std::string name = (getName(producer) + ".grad.sum").str();
  GradientBuilder b(builder_, isEnd ? nullptr : producer, name, unique);
  if (!isEnd)
    b.setFrame(b.resultAccess(cast<OpResult>(value).getResultNumber()));
  sum = weights_.contains(value) ? b.addInPlace(sum, gradient)
                                 : b.add(sum, gradient);
}

LogicalResult Differentiation::differentiate(Operation *op) {
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(gradients_.lookup(result));
  if (llvm::none_of(results, [](Value value) { return bool(value); }))
    return success();
  llvm::BitVector isNeeded(op->getNumOperands());
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    isNeeded[index] = dependent_.contains(operand);
  if (isNeeded.none())
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable) {
    withoutGradient_.push_back(op);
    return success();
  }
  auto unique = [&](StringRef base) { return names_.unique(base); };
  std::string name = (nn::getName(op) + ".grad").str();
  GradientBuilder b(builder_, op, name, unique);
  LLVM_DEBUG({
    llvm::dbgs() << "gradient of '" << nn::getName(op) << "' by operands";
    for (unsigned index : isNeeded.set_bits())
      llvm::dbgs() << " " << index;
    llvm::dbgs() << "\n";
  });
  Operation *before = builder_.getInsertionPoint()->getPrevNode();
  auto gradients = differentiable.buildGradients(b, results, isNeeded);
  if (failed(gradients))
    return failure();
  // What an operation makes of weights alone does not need the whole gradient.
  if (llvm::all_of(op->getResults(),
                   [&](Value value) { return weights_.contains(value); }))
    for (Operation *made = before->getNextNode();
         made != &*builder_.getInsertionPoint(); made = made->getNextNode())
      b.followMaker(made);
  for (auto [index, operand, gradient] :
       llvm::enumerate(op->getOperands(), *gradients))
    if (gradient && isNeeded[index])
      accumulate(operand, gradient);
  return success();
}

LogicalResult Differentiation::run(Value loss) {
  SmallVector<Operation *> forward;
  for (Operation &op : function_.front().without_terminator())
    forward.push_back(&op);
  auto unique = [&](StringRef base) { return names_.unique(base); };
  GradientBuilder b(builder_, nullptr, "loss.grad", unique);
  gradients_[loss] = b.splat(loss.getType(), 1);
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();
  if (withoutGradient_.empty())
    return success();
  std::string list;
  for (Operation *op : llvm::reverse(withoutGradient_))
    list +=
        ("\n  " + op->getName().getStringRef() + " '" + nn::getName(op) + "'")
            .str();
  return emitError(function_.getLoc(),
                   "expected operations that have a gradient between "
                   "parameters and the loss; freeze the parameters before "
                   "them, or take another output; without a gradient:" +
                       list);
}

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
    if (!getOperation().isExternal() && failed(build()))
      signalPassFailure();
  }

private:
  LogicalResult build();
  OptimizerOptions optimizerOptions() const;
  FailureOr<OutputOp> findOutput();
  LogicalResult joinParameters(NodeNames &names);
  FailureOr<SmallVector<ParameterOp>> findParameters();
};
} // namespace

FailureOr<OutputOp> BuildTrainingStepPass::findOutput() {
  func::FuncOp function = getOperation();
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
                                          "'; name one with 'output'");
}

/// A mean or variance of batch norms, and nothing else.
static bool isStatistic(ParameterOp parameter) {
  return !parameter->use_empty() &&
         llvm::all_of(parameter->getUses(), [](OpOperand &use) {
           return isa<BatchNormOp>(use.getOwner()) &&
                  use.getOperandNumber() >= 3;
         });
}

/// Whether an operation takes this operand for weights or a bias, or another
/// shape or a part of it.
static bool isWeight(OpOperand &use) {
  if (isa<ReshapeOp, SliceOp>(use.getOwner()))
    return llvm::any_of(use.getOwner()->getUses(), isWeight);
  unsigned index = use.getOperandNumber();
  Value value = use.get();
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case<ConvOp, ConvBackwardDataOp, MatMulOp>(
          [&](auto) { return index > 0; })
      .Case<BatchNormOp, LayerNormOp>(
          [&](auto) { return index == 1 || index == 2; })
      .Case<LSTMOp, GRUOp, RNNOp>(
          [&](auto) { return index >= 1 && index <= 3; })
      .Case<GatherOp>([&](auto) { return index == 0; })
      .Case<AddOp>([&](auto) {
        return cast<RankedTensorType>(value.getType()).getRank() == 1;
      })
      .Default(false);
}

/// What nodes of the model make is trained only as weights: other such values
/// are masks, or the first states of recurrent layers.
static bool isConstant(ParameterOp parameter) {
  return parameter->hasAttr(constantAttrName) &&
         llvm::none_of(parameter->getUses(), isWeight);
}

/// The regular expression of whole names that an option is.
static FailureOr<llvm::Regex> parseNames(Location loc, StringRef option,
                                         StringRef text) {
  llvm::Regex names(("^(" + text + ")$").str());
  std::string problem;
  if (!names.isValid(problem))
    return emitError(loc, "expected a regular expression for '" + option +
                              "', got: '" + text + "': " + problem);
  return names;
}

LogicalResult BuildTrainingStepPass::joinParameters(NodeNames &names) {
  func::FuncOp function = getOperation();
  FailureOr<llvm::Regex> tied =
      parseNames(function.getLoc(), "tie-weights", tieWeights);
  if (failed(tied))
    return failure();
  size_t numTied =
      joinSharedParameters(function, names, [&](ParameterOp parameter) {
        return !tieWeights.empty() && tied->match(nn::getName(parameter));
      });
  if (!tieWeights.empty() && numTied == 0)
    return emitError(function.getLoc(),
                     "expected 'tie-weights' to match several parameters of "
                     "one shape with the same elements of a file, got: '" +
                         tieWeights + "'");
  return success();
}

FailureOr<SmallVector<ParameterOp>> BuildTrainingStepPass::findParameters() {
  func::FuncOp function = getOperation();
  FailureOr<llvm::Regex> frozen =
      parseNames(function.getLoc(), "freeze", freeze);
  if (failed(frozen))
    return failure();
  SmallVector<ParameterOp> parameters;
  for (auto parameter : function.getOps<ParameterOp>())
    if (isFloat(parameter.getResult()) && !isStatistic(parameter) &&
        !isConstant(parameter) &&
        (freeze.empty() || !frozen->match(parameter.getTensorName())))
      parameters.push_back(parameter);
  return parameters;
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
  how.warmup = warmup;
  how.period = period;
  how.nesterov = nesterov;
  how.decayVectors = decayVectors;
  return how;
}

LogicalResult BuildTrainingStepPass::build() {
  func::FuncOp function = getOperation();
  for (auto write : function.getOps<WriteOp>())
    return write.emitOpError("expected a model that is not a training step "
                             "already");
  NodeNames names(function);
  if (failed(joinParameters(names)))
    return failure();
  if (batchNorm != "global" && batchNorm != "frozen")
    return emitError(function.getLoc(),
                     "expected batch-norm=global or frozen, got: '" +
                         batchNorm + "'");
  FailureOr<OutputOp> scored = findOutput();
  FailureOr<SmallVector<ParameterOp>> parameters = findParameters();
  if (failed(scored) || failed(parameters))
    return failure();
  OptimizerOptions how = optimizerOptions();
  bool updates = !optimizer.empty();
  if (updates && failed(verifyOptimizer(function.getLoc(), how)))
    return failure();
  double kept = batchNormMomentum;
  if (!(kept >= 0 && kept <= 1))
    return emitError(function.getLoc())
           << "expected 'batch-norm-momentum' from 0 to 1, got: " << kept;
  SmallVector<NewValue> values;
  if (batchNorm == "global")
    values = useBatchStatistics(function, names,
                                updates ? std::optional(kept) : std::nullopt);

  Value x = scored->getX();
  if (!isFloat(x))
    return scored->emitOpError("expected floats for the loss");
  for (OutputOp op : llvm::make_early_inc_range(function.getOps<OutputOp>())) {
    names.release(nn::getName(op));
    op.erase();
  }
  int64_t before =
      std::distance(function.front().begin(), function.front().end());
  auto builder = OpBuilder::atBlockTerminator(&function.front());
  LossOptions options{loss, label, classAxis, std::nullopt, labelSmoothing};
  if (ignoreIndex != std::numeric_limits<int64_t>::min())
    options.ignoreIndex = ignoreIndex;
  FailureOr<Value> value =
      buildLoss(builder, function.getLoc(), names, x, options);
  if (failed(value))
    return failure();

  Differentiation differentiation(function, builder, names);
  differentiation.followParameters(*parameters);
  if (failed(differentiation.checkTypes()))
    return failure();
  if (!differentiation.dependsOnParameters(*value))
    return emitError(function.getLoc(),
                     "expected a loss that depends on a parameter that is "
                     "trained, got: none");
  if (failed(differentiation.run(*value)))
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
  if (updates)
    values.append(
        buildUpdates(builder, function.getLoc(), names, trained, how));
  buildWrites(builder, names, values);
  addOutput(*value, "loss");
  if (!updates)
    for (auto [parameter, gradient] : trained)
      addOutput(gradient, nn::getName(parameter) + ".grad");
  numGradientOps +=
      std::distance(function.front().begin(), function.front().end()) - before;
  return success();
}
