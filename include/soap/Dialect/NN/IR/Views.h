//===- Views.h - Results that may lie where operands do ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_VIEWS_H
#define SOAP_DIALECT_NN_IR_VIEWS_H

#include "soap/Dialect/NN/IR/NN.h"

namespace soap::nn {

/// True for operations whose result may be a view of their operand: no kernel,
/// and no memory of its own.
inline bool mayBeView(mlir::Operation *op) {
  return mlir::isa<ReshapeOp, SliceOp>(op);
}

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_VIEWS_H
