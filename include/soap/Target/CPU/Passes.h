//===- Passes.h - Native kernels of CPUs ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CPU_PASSES_H
#define SOAP_TARGET_CPU_PASSES_H

#include "mlir/Pass/Pass.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include <optional>

namespace soap {

namespace native {
#define GEN_PASS_DECL
#include "soap/Target/CPU/Passes.h.inc"
} // namespace native

/// How far `module @kernels` is lowered.
enum class NativeLevel { Linalg, Buffers, Loops, LLVM };

/// The passes that take `module @kernels` to `level`. Runs on that module.
/// `leastWork`: as of native-split-loops; none: its default.
void buildNativeKernelPipeline(mlir::OpPassManager &passes,
                               NativeLevel level = NativeLevel::LLVM,
                               std::optional<int64_t> leastWork = std::nullopt);

/// Registers the passes above and the pipeline `native-kernels-to-llvm`, with
/// options `level=linalg|buffers|loops|llvm` and `least-work`.
void registerNativePassesAndPipeline();

namespace native {
#define GEN_PASS_REGISTRATION
#include "soap/Target/CPU/Passes.h.inc"
} // namespace native

} // namespace soap

#endif // SOAP_TARGET_CPU_PASSES_H
