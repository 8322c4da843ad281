//===- Precision.h - What products multiply ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_PRECISION_H
#define SOAP_DIALECT_NN_IR_PRECISION_H

#include "mlir/IR/Operation.h"
#include "soap/Partition/Vocabulary.h"

namespace soap::nn {

/// True for sums of products of two operands, the first ones: convolutions,
/// transposed ones, their gradients and matrix products. A third operand is a
/// bias.
bool isProduct(mlir::Operation *op);

/// True for recurrent layers and their gradients, whose products are inside.
bool isRecurrentLayer(mlir::Operation *op);

/// True for f16 and bf16.
bool isFloatOf16Bits(mlir::Type element);

/// True for a tensor of integers of 8 bits, with a sign or without one.
bool isByteTensor(mlir::Value value);

/// True for an nn.conv or nn.matmul whose factors are integers of 8 bits, with
/// a sign or without one, and whose result is i32.
bool multipliesBytes(mlir::Operation *op);

/// What a product multiplies, or a recurrent layer that may round to TF32, or
/// an attention that may round to bf16. Nothing for other operations, and for
/// products of other types, as i32 and f64, of which there is one kind each.
std::optional<Precision> precisionOf(mlir::Operation *op);

/// How many products in the body of `op` multiply what, in the order of the
/// enumerators; none that there is nothing of.
llvm::SmallVector<std::pair<Precision, int64_t>, 5>
countPrecisions(mlir::Operation *op);

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_PRECISION_H
