//===- EmptyOutputs.h - Outputs without elements ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nobody computes an output of a model that has no elements, so that no
// operation stands for it. The module that is the model has the names and types
// of these outputs as a dictionary, `nn.empty_outputs`.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_EMPTYOUTPUTS_H
#define SOAP_DIALECT_NN_IR_EMPTYOUTPUTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace soap::nn {

/// Adds an output of the module `model`.
void addEmptyOutput(mlir::Operation *model, llvm::StringRef name,
                    mlir::RankedTensorType type);
/// The types (tensors) of all such outputs by name; empty if there are none.
mlir::DictionaryAttr emptyOutputs(mlir::Operation *model);
void removeEmptyOutputs(mlir::Operation *model);

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_EMPTYOUTPUTS_H
