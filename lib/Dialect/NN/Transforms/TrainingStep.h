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

/// Replaces every nn.batch_norm of `function` by operations that compute the
/// statistics of the whole batch, in two passes: the mean, then the mean of
/// squared deviations. All of them are one group, led by `<name>.sum`; the
/// last one has the batch norm's name.
void useBatchStatistics(mlir::func::FuncOp function, NodeNames &names);

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_TRAININGSTEP_H
