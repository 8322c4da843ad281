//===- KernelBuffers.h - What the parts of a kernel touch -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_KERNELBUFFERS_H
#define SOAP_LIB_TARGET_CUDA_KERNELBUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "soap/Conversion/NNToKernels/LoopNests.h"
#include "llvm/ADT/DenseSet.h"

namespace soap::cuda {

using native::bufferOf;

/// Buffers that a kernel writes. Its operands are not among them: nothing that
/// it writes overlaps one that it reads elements of by itself.
llvm::DenseSet<mlir::Value> writtenBuffers(mlir::func::FuncOp kernel);

/// Puts buffers that a kernel makes at its start: what they hold is undefined
/// where they are made, and nobody else has them. Those that a thread has for
/// itself, in the body of a linalg operation, become its own memory.
void hoistBuffers(mlir::func::FuncOp kernel);

/// Makes linalg operations of the copies of a kernel.
void shareCopies(mlir::func::FuncOp kernel);

/// The value that fills the only output of `op` right before it, if `op` then
/// replaces every element.
mlir::linalg::FillOp fillBefore(mlir::linalg::LinalgOp op);

/// True if `op` is a fill that the next operation begins with, and that is no
/// part of its own.
bool isTakenUp(mlir::Operation &op);

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_KERNELBUFFERS_H
