//===- NNFused.h - Several operations as one --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of the nn dialect that several others are fused into.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNFUSED_H
#define SOAP_DIALECT_NN_IR_NNFUSED_H

#include "soap/Dialect/NN/IR/NN.h"

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNFusedOps.h.inc"

namespace soap::nn {

/// The region's block of an nn.fused or nn.fused_reduce; null of another
/// operation, or none.
mlir::Block *getFusedBody(mlir::Operation *op);
/// What such a block computes, as one line without names and shapes: two
/// operations with equal lines and operands have equal results.
void printParts(llvm::raw_ostream &os, mlir::Block &body);

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_NNFUSED_H
