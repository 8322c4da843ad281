//===- Inference.h - Functions without gradients ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_INFERENCE_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_INFERENCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Dialect/NN/IR/PartitionInterface.h"

namespace soap::nn {

/// Whether operations of a public function may change their types and operands
/// each by itself: none is a gradient or an update, or shares a decision.
inline bool isInference(mlir::func::FuncOp function) {
  return !function.isExternal() && !function.isPrivate() &&
         llvm::none_of(function.front(), [](mlir::Operation &op) {
           return !getGroupLeader(&op).empty() || !getUpdateLeader(&op).empty();
         });
}

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_INFERENCE_H
