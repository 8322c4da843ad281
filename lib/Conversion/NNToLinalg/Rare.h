//===- Rare.h - Lowerings of operations that few networks have --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_NNTOLINALG_RARE_H
#define SOAP_LIB_CONVERSION_NNTOLINALG_RARE_H

#include "Patterns.h"
#include "soap/Dialect/NN/IR/NNRare.h"

namespace soap {
namespace linalg_lowering {

void populateSuppressionPatterns(mlir::RewritePatternSet &patterns);

/// What nn.bit_cast makes of an element.
mlir::Value sameBits(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value x, mlir::Type to);

} // namespace linalg_lowering
} // namespace soap

#endif // SOAP_LIB_CONVERSION_NNTOLINALG_RARE_H
