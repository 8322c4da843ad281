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

namespace soap::nn {

/// What the loss of a training step is.
struct LossOptions {
  llvm::StringRef kind, label;
  int64_t classAxis = 1;
  std::optional<int64_t> ignoreIndex;
  double labelSmoothing = 0;
};

/// The kinds of losses, for messages.
llvm::ArrayRef<llvm::StringRef> lossKinds();

/// Builds the loss of `x` at the insertion point of `builder`, behind a new
/// input for the labels: a scalar of x's element type. Errors, at `loc`: an
/// unknown kind, a shape that the kind does not take, a label name in use.
mlir::FailureOr<mlir::Value> buildLoss(mlir::OpBuilder &builder,
                                       mlir::Location loc, NodeNames &names,
                                       mlir::Value x,
                                       const LossOptions &options);

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

/// A parameter's value of the next step, to be written, and the operation whose
/// group it belongs to, which touches the parameter by `access`.
struct NewValue {
  ParameterOp parameter;
  mlir::Value value;
  mlir::Operation *leader = nullptr;
  ValueAccess access;
};

/// Replaces every nn.batch_norm of `function` by operations that compute the
/// statistics of the whole batch, in two passes: the mean, then the mean of
/// squared deviations. All of them are one group, led by `<name>.sum`; the
/// last one has the batch norm's name. With a `momentum`, returns the running
/// statistics after the step.
llvm::SmallVector<NewValue> useBatchStatistics(mlir::func::FuncOp function,
                                               NodeNames &names,
                                               std::optional<double> momentum);

/// How parameters are updated.
struct OptimizerOptions {
  llvm::StringRef kind, schedule;
  double rate = 0, factor = 0, momentum = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  double weightDecay = 0, clipNorm = 0;
  int64_t warmup = 0, period = 1;
  bool nesterov = false, decayVectors = true;
};
/// Error, at `loc`: an unknown kind or schedule, numbers outside of their
/// range.
llvm::LogicalResult verifyOptimizer(mlir::Location loc,
                                    const OptimizerOptions &options);
/// A trained parameter, and the gradient of the loss by it.
struct TrainedParameter {
  ParameterOp parameter;
  mlir::Value gradient;
};
/// Builds the updates of parameters at the insertion point of `builder`.
llvm::SmallVector<NewValue>
buildUpdates(mlir::OpBuilder &builder, mlir::Location loc, NodeNames &names,
             llvm::ArrayRef<TrainedParameter> trained,
             const OptimizerOptions &options);
/// Writes new values, at the insertion point of `builder`, behind all that
/// reads the old ones.
void buildWrites(mlir::OpBuilder &builder, NodeNames &names,
                 llvm::ArrayRef<NewValue> values);

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_TRAININGSTEP_H
