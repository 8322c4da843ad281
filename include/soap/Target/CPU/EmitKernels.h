//===- EmitKernels.h - Native kernels to machine code -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CPU_EMITKERNELS_H
#define SOAP_TARGET_CPU_EMITKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "soap/Target/Host/HostProcessor.h"
#include <optional>

namespace soap {

/// Compiles `module @kernels` (soap/Conversion/NNToKernels) to an object file
/// that defines all kernels and the table `soap_native_kernels`. `kernels`
/// itself stays as it is. Not to be called from within a pass (it runs its own
/// pass manager and loads dialects). `leastWork`: as of native-split-loops;
/// none: its default.
mlir::FailureOr<std::string>
emitNativeObject(mlir::ModuleOp kernels, const HostProcessor &processor,
                 std::optional<int64_t> leastWork = std::nullopt);

/// The same as assembly, for people and tests.
mlir::FailureOr<std::string> emitNativeAssembly(mlir::ModuleOp kernels,
                                                const HostProcessor &processor);

} // namespace soap

#endif // SOAP_TARGET_CPU_EMITKERNELS_H
