//===- Passes.h - Native kernels of GPUs ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CUDA_PASSES_H
#define SOAP_TARGET_CUDA_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace soap {

namespace cuda {
#define GEN_PASS_DECL
#include "soap/Target/CUDA/Passes.h.inc"

/// On the module, after cuda-distribute-kernels: an array with a dictionary per
/// kernel, which has `name`, `scratch` (bytes) and `launches`, an array of
/// dictionaries with `entry`, `blocks` or `items`, `constants`, and `held` of
/// rows that are in registers; or with `product` and `constants`, the bytes
/// from the start of the buffers of its matrices a, b and c. `products`, if
/// there are any, has a dictionary for each: `sizes` (matrices, rows, columns,
/// sum); `a`, `b` and `c` (the number of the buffer, and the elements from one
/// matrix, row and column to the next); perhaps `adds`. Where factors may be
/// rounded to TF32, there is `tf32`.
inline constexpr llvm::StringLiteral kernelsAttr = "cuda.kernels";
/// On an entry: threads per block.
inline constexpr llvm::StringLiteral threadsAttr = "cuda.threads";
/// Threads of all blocks.
inline constexpr int64_t threadsPerBlock = 256;
/// What cuBLASLt may have for a product: its recommendation for compute
/// capability 9.0.
inline constexpr uint64_t productWorkspaceBytes = uint64_t{32} << 20;
/// LLVM's number of the address space of shared memory.
inline constexpr int64_t sharedMemorySpace = 3;
} // namespace cuda

/// How far `module @kernels` is lowered.
enum class DeviceLevel { Linalg, Buffers, GPU, NVVM };

/// The passes that take `module @kernels` to `level`. Runs on that module.
void buildDeviceKernelPipeline(mlir::OpPassManager &passes,
                               DeviceLevel level = DeviceLevel::NVVM);

/// Registers the passes above and the pipeline `cuda-kernels-to-nvvm`, with an
/// option `level=linalg|buffers|gpu|nvvm`.
void registerDevicePassesAndPipeline();

/// The dialects that device code needs beside those of all native kernels.
void registerDeviceDialects(mlir::DialectRegistry &registry);

namespace cuda {
#define GEN_PASS_REGISTRATION
#include "soap/Target/CUDA/Passes.h.inc"
} // namespace cuda

} // namespace soap

#endif // SOAP_TARGET_CUDA_PASSES_H
