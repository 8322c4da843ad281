//===- LibraryTables.h - Tables of library kernels --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_LIBRARYTABLES_H
#define SOAP_TARGET_LIBRARYTABLES_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

namespace soap {

namespace fb {
struct KernelT;
} // namespace fb

/// Sets `kernel.op` to the table of `op` (Model.fbs), of the operations that
/// have one: convolution and its gradients, matrix product, pooling, softmax,
/// local response and layer normalisation. Emits an error on others.
mlir::LogicalResult buildLibraryTable(mlir::Operation *op, fb::KernelT &kernel);

/// True for the gradient of a convolution whose windows start at or before the
/// start of x, and end less than a stride before its end: for others the table
/// has no pads.
bool hasLibraryPads(mlir::Operation *op);

} // namespace soap

#endif // SOAP_TARGET_LIBRARYTABLES_H
