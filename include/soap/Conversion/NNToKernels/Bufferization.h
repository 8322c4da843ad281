//===- Bufferization.h - Kernels from tensors to buffers --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a target's kernel pipeline that all targets share: from linalg on
// tensors to linalg on the buffers of the caller.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOKERNELS_BUFFERIZATION_H
#define SOAP_CONVERSION_NNTOKERNELS_BUFFERIZATION_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace soap {

/// The dialects that kernels use, with what one-shot bufferisation must know
/// about them.
void registerNativeDialects(mlir::DialectRegistry &registry);

/// Canonicalisation and CSE of every kernel.
void addCleanup(mlir::OpPassManager &passes);

/// From linalg on tensors to linalg on buffers: results are written where the
/// caller wants them. `onStack`: buffers of at most 1 KiB that a kernel makes
/// become allocas of the function; else all are allocated.
void addBufferization(mlir::OpPassManager &passes, bool onStack);

/// A memref of the dense elements at `pointer`, an LLVM pointer; `sizeOf` makes
/// the size of each dimension (an i64), last ones first, if one is not static.
mlir::Value buildMemRefAt(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::MemRefType type, mlir::Value pointer,
                          llvm::function_ref<mlir::Value(int64_t dim)> sizeOf);

/// How many arguments one of type `type` becomes in the LLVM dialect: two
/// pointers, of which the second is used, an offset, sizes and strides.
inline int64_t convertedArguments(mlir::MemRefType type) {
  return 3 + 2 * type.getRank();
}

} // namespace soap

#endif // SOAP_CONVERSION_NNTOKERNELS_BUFFERIZATION_H
