//===- LaunchedLate.h - Operations that wait for a gradient -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes of training steps that make values again for the backward pass.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_LAUNCHEDLATE_H
#define SOAP_DIALECT_NN_IR_LAUNCHEDLATE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace soap::nn {

/// The attribute of an operation that is launched late: the name of an
/// operation before it in the block, behind which it stands in every launch
/// order, although it does not read its results. Operations that make values
/// again for the backward pass have it: all that they read is there long
/// before.
constexpr llvm::StringLiteral afterAttrName("nn.after");
/// The name that `nn.after` has; empty without.
inline llvm::StringRef getAfter(mlir::Operation *op) {
  auto name = op->getAttrOfType<mlir::StringAttr>(afterAttrName);
  return name ? name.getValue() : llvm::StringRef();
}

/// The attribute, without a value, of the constant that all gradients of a step
/// follow from: the gradient of the loss by itself.
constexpr llvm::StringLiteral lossGradientAttrName("nn.loss_gradient");

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_LAUNCHEDLATE_H
