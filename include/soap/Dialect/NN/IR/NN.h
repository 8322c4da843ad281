//===- NN.h - The nn dialect ------------------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NN_H
#define SOAP_DIALECT_NN_IR_NN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "soap/Dialect/NN/IR/PartitionInterface.h"

#include "soap/Dialect/NN/IR/NNDialect.h.inc"
#include "soap/Dialect/NN/IR/NNEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "soap/Dialect/NN/IR/NNAttrs.h.inc"

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNOps.h.inc"

namespace soap::nn {
/// What a reduction starts with: joined with it an element stays as it is. Zero
/// without a kind.
mlir::TypedAttr neutralElement(std::optional<ReduceKind> kind,
                               mlir::Type element);

/// Bytes of one element in memory; those of fewer than 8 bits take one.
int64_t elementBytes(mlir::Type element);

/// The type in which sums and products of elements of this type are made: f32
/// for floats of 16 bits, else the type itself. An operation whose partial
/// results are summed has results of this type, so that they are rounded once,
/// behind the sum, whatever the strategy.
mlir::Type accumulatorType(mlir::Type element);

/// Whether integers of this type have no sign; booleans have none.
bool isUnsigned(mlir::Type element);
} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_NN_H
