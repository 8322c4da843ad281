//===- Rare.h - Importers of operators that few networks have ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_RARE_H
#define SOAP_LIB_TARGET_ONNX_RARE_H

#include "Operators.h"

namespace soap::onnx_import {

// Bits.cpp
mlir::LogicalResult importBitShift(NodeContext &);
mlir::LogicalResult importBitCast(NodeContext &);

// Ngrams.cpp, Suppression.cpp
mlir::LogicalResult importTfIdfVectorizer(NodeContext &);
mlir::LogicalResult importNonMaxSuppression(NodeContext &);

/// A parameter of integers of 4 bits, `type`, whose bytes are at `source`. Two
/// elements share a byte. `nameOf` makes a name that is unique from a suffix;
/// the result has that of the empty one. (Bits.cpp)
mlir::Value
unpackedParameter(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::RankedTensorType type, mlir::Attribute source,
                  llvm::function_ref<std::string(llvm::StringRef)> nameOf);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_RARE_H
