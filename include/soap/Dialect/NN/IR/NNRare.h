//===- NNRare.h - Operations that few networks have -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of the nn dialect on bits and on boxes, and outputs that no
// operation stands for.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNRARE_H
#define SOAP_DIALECT_NN_IR_NNRARE_H

#include "soap/Dialect/NN/IR/NN.h"

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNRareOps.h.inc"

namespace soap::nn {

/// Outputs of a model without elements: nobody computes them, so that no op
/// stands for them. The module `model` has their names and types (tensors) as a
/// dictionary, `nn.empty_outputs`.
void addEmptyOutput(mlir::Operation *model, llvm::StringRef name,
                    mlir::RankedTensorType type);
/// This dictionary; empty without such outputs.
mlir::DictionaryAttr emptyOutputs(mlir::Operation *model);
void removeEmptyOutputs(mlir::Operation *model);

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_NNRARE_H
