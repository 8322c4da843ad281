//===- TrainingStep.h - Parts of a training step ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_TRAININGSTEP_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_TRAININGSTEP_H

#include "NodeNames.h"
#include "soap/Dialect/NN/Gradients/Gradients.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Regex.h"
#include <functional>

namespace soap::nn {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// What the loss of a training step is.
struct LossOptions {
  llvm::StringRef kind, label;
  int64_t classAxis = 1;
  std::optional<int64_t> ignoreIndex;
  double labelSmoothing = 0;
};

/// The kinds of losses, for messages.
llvm::ArrayRef<llvm::StringRef> lossKinds();

/// An output of the model in equal parts along `dim`, the samples: one per
/// micro-batch.
struct OutputParts {
  int64_t count = 1;
  unsigned dim = 0;
};

/// Builds the loss of an output: a scalar of the output's element type.
class LossBuilder {
public:
  LossBuilder(mlir::OpBuilder &builder, mlir::Location loc, NodeNames &names,
              OutputParts parts, const LossOptions &options);

  /// What part `number`, x, adds to the loss, at the insertion point of the
  /// builder. The first part comes first, behind a new input for the labels of
  /// all. Errors, at `loc`: an unknown kind, a shape that the kind does not
  /// take, a label name in use.
  mlir::FailureOr<mlir::Value> build(mlir::Value x, int64_t number);

private:
  llvm::LogicalResult fail(const llvm::Twine &text);
  mlir::FailureOr<mlir::Value> labelOf(mlir::RankedTensorType part,
                                       unsigned dim, int64_t number);
  mlir::FailureOr<mlir::Value> meanOf(mlir::Value values);
  mlir::FailureOr<mlir::Value> ofClasses(mlir::Value x, int64_t number,
                                         bool areLogs);
  mlir::Value weighted(mlir::Value logs, mlir::Value label, int64_t axis);
  mlir::Value countingOf(mlir::Value label);
  mlir::Value sumOf(mlir::Value x);
  template <typename Op>
  mlir::Value named(Op op);

  mlir::OpBuilder &builder_;
  mlir::Location loc_;
  NodeNames &names_;
  OutputParts parts_;
  const LossOptions &options_;
  mlir::Type element_; ///< Of the output.
  mlir::Value label_;  ///< Of all parts.
  mlir::Value number_; ///< Of labels that count, of all parts.
  std::function<std::string(llvm::StringRef)> unique_;
  GradientBuilder b_;
};

/// Makes `op` a member of the group that an operation with the same loops
/// leads.
void joinGroup(PartitionOpInterface op, llvm::StringRef leader);

/// A model once per part of the batch.
struct MicroBatches {
  /// The first operation of each. Those of one stand together, in the order of
  /// the model; the micro-batches follow one another, at the end of the block.
  llvm::SmallVector<mlir::Operation *> firsts;
  /// What the loss is of, at the end of each.
  llvm::SmallVector<OutputOp> outputs;
  unsigned dim = 0; ///< The dimension of an output that runs over samples.
  /// What does not depend on samples, before all micro-batches.
  llvm::SmallVector<mlir::Operation *> shared;
};

/// Cuts `x` and what it is made of, which is all that there is (eraseUnread),
/// in `count` parts along the samples. Operations of the first part keep their
/// names and lead groups of all parts; the others are called after them, with
/// `#` and a number. With `takesSums`, sums of samples may be made in the end,
/// and what is linear of them: the outputs are shares of x that add up to it.
/// Errors: a batch that is no multiple of `count`; another operation that does
/// not compute each sample by itself.
mlir::FailureOr<MicroBatches> splitBatch(mlir::func::FuncOp function,
                                         NodeNames &names, mlir::Value x,
                                         int64_t count, bool takesSums);

/// The first operation that reads a value, which has to have one, and how.
std::pair<mlir::Operation *, ValueAccess> findReader(mlir::Value value);

/// Makes one parameter of those that share elements of a tensor of the model:
/// parts and other shapes of it become slices and reshapes of the whole, so
/// that it is trained as one, in the shape and under the name of the tensor.
/// Whole tensors of one shape whose elements are the same ones of a file are
/// made one if `isTied` holds for both. Returns how many parameters that
/// replaces.
using IsTied = llvm::function_ref<bool(ParameterOp)>;
size_t joinSharedParameters(mlir::func::FuncOp function, NodeNames &names,
                            IsTied isTied);

/// The regular expression of whole names that the option `option` is. Error: it
/// is none.
mlir::FailureOr<llvm::Regex>
parseNames(mlir::Location loc, llvm::StringRef option, llvm::StringRef text);

/// The parameters that a training step changes: of floats, no statistics of
/// batch norms, no constants, and not those whose whole name the regular
/// expression `freeze` matches. Error: no regular expression.
mlir::FailureOr<llvm::SmallVector<ParameterOp>>
findTrained(mlir::func::FuncOp function, llvm::StringRef freeze);

/// A parameter's value of the next step, to be written, and the operation whose
/// group it belongs to, which touches the parameter by `access`.
struct NewValue {
  ParameterOp parameter;
  mlir::Value value;
  mlir::Operation *leader = nullptr;
  ValueAccess access;
  /// Leads the update of the parameter, if a strategy may decide about that.
  mlir::Operation *update = nullptr;
};

/// What batch norms normalise by.
struct StatisticsOptions {
  int64_t parts = 1; ///< Equal parts of the batch, each with its own.
  /// Of one part: the variance is the mean of squares of differences from the
  /// running mean as it was before the step, less the square of that of the
  /// mean (Chan, Golub, LeVeque, "Algorithms for Computing the Sample
  /// Variance", 1983: the shifted data algorithm). So no sum waits for another.
  /// Else it is that of squares of differences from the mean.
  bool isShifted = false;
  std::optional<double> momentum; ///< Share of running ones that is kept.
};

/// Lets every nn.batch_norm of `function` read the statistics of the whole
/// batch, or replaces it by operations that normalise each of several parts.
/// All of these operations are one group, led by `<name>.mean`; the last one
/// has the batch norm's name. With a momentum, returns the running statistics
/// after the step, to which those of the parts add as their mean. Error: a
/// batch that cannot be split so.
mlir::FailureOr<llvm::SmallVector<NewValue>>
useBatchStatistics(mlir::func::FuncOp function, NodeNames &names,
                   const StatisticsOptions &how);

/// How parameters are updated.
struct OptimizerOptions {
  llvm::StringRef kind, schedule;
  double rate = 0, factor = 0, momentum = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  double weightDecay = 0, clipNorm = 0;
  double lossScale = 0; ///< The first one; 0: none.
  int64_t lossScalePeriod = 2000;
  int64_t warmup = 0, period = 1;
  bool nesterov = false, decayVectors = true;
};
/// Error, at `loc`: an unknown kind or schedule, numbers outside of their
/// range.
llvm::LogicalResult verifyOptimizer(mlir::Location loc,
                                    const OptimizerOptions &options);

/// The nn.schedule operations of a step, one per element type, each made where
/// it is asked for first.
class Schedules {
public:
  Schedules(mlir::Location loc, NodeNames &names,
            const OptimizerOptions &options)
      : loc_(loc), names_(names), options_(options) {}

  /// `element`: f32 or f64.
  ScheduleOp get(mlir::OpBuilder &builder, mlir::Type element);

private:
  mlir::Location loc_;
  NodeNames &names_;
  const OptimizerOptions &options_;
  llvm::SmallDenseMap<mlir::Type, ScheduleOp> schedules_;
};

/// Gives every nn.dropout of `function` the number of the step, made at the
/// start of the function, and a seed that follows from `seed` and its name.
/// `ratio`: "model" (every operation has its own), "none" (all go), or a ratio
/// for all. Errors: another text; a ratio for a model without dropout.
llvm::LogicalResult useDropout(mlir::func::FuncOp function,
                               Schedules &schedules, llvm::StringRef ratio,
                               uint64_t seed);
/// Takes out every nn.dropout without the number of a step, and counts them.
unsigned removeDropout(mlir::func::FuncOp function);

/// The factor of the loss that a step has and changes for the next one. All
/// values are scalars of one type of floats.
class LossScale {
public:
  /// Makes the parameters: loss.scale, loss.good, loss.skipped.
  LossScale(mlir::OpBuilder &builder, mlir::Location loc, NodeNames &names,
            mlir::Type element, const OptimizerOptions &options);

  mlir::Value get() { return scale_.getResult(); }
  /// Says whether the gradients are finite (i1): builds the values of the next
  /// step, at the insertion point of `builder`, and adds them to `values`.
  /// Those of scale and skipped steps are returned.
  std::pair<mlir::Value, mlir::Value>
  update(mlir::OpBuilder &builder, mlir::Value areFinite,
         llvm::SmallVectorImpl<NewValue> &values);

private:
  mlir::Location loc_;
  NodeNames &names_;
  int64_t period_;
  ParameterOp scale_, good_, skipped_;
};

/// A trained parameter, and the gradient of the loss by it.
struct TrainedParameter {
  ParameterOp parameter;
  mlir::Value gradient;
};
/// What updates of a step need beside parameters.
struct UpdateContext {
  mlir::Location loc;
  NodeNames &names;
  Schedules &schedules;
  const OptimizerOptions &options;
  mlir::Value lossScale; ///< By which gradients are too large; null: 1.
};
/// New values of parameters and of what else lasts.
struct Updated {
  llvm::SmallVector<NewValue> values;
  mlir::Value areFinite; ///< With a scale of the loss: all gradients, i1.
};
/// Builds the updates of parameters at the insertion point of `builder`.
Updated buildUpdates(mlir::OpBuilder &builder, const UpdateContext &context,
                     llvm::ArrayRef<TrainedParameter> trained);
/// Writes new values, at the insertion point of `builder`, behind all that
/// reads the old ones.
void buildWrites(mlir::OpBuilder &builder, NodeNames &names,
                 llvm::ArrayRef<NewValue> values);

/// A module @eval with a copy of a model, from which no step has been made yet.
mlir::OwningOpRef<mlir::ModuleOp> createEvaluation(mlir::func::FuncOp model);
/// Marks its parameters that the step writes.
void markState(mlir::ModuleOp evaluation, mlir::func::FuncOp step);

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_TRAININGSTEP_H
