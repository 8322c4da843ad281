//===- Training.h - Optimizers on scalars -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_NNTOLINALG_TRAINING_H
#define SOAP_LIB_CONVERSION_NNTOLINALG_TRAINING_H

#include "Patterns.h"

namespace soap::linalg_lowering {

/// The result elements of an optimizer's operation, of a schedule or of a
/// write; empty for another operation.
llvm::SmallVector<mlir::Value> computeUpdate(mlir::OpBuilder &builder,
                                             mlir::Location loc,
                                             mlir::Operation *op,
                                             mlir::ValueRange elements);

} // namespace soap::linalg_lowering

#endif // SOAP_LIB_CONVERSION_NNTOLINALG_TRAINING_H
