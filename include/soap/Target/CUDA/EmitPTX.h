//===- EmitPTX.h - Native kernels to device code ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CUDA_EMITPTX_H
#define SOAP_TARGET_CUDA_EMITPTX_H

#include "mlir/IR/BuiltinOps.h"
#include "soap/Target/Target.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace soap {

/// What PTX is made for: a compute capability, times 10.
struct GPUArchitecture {
  unsigned capability = 80;

  /// From "sm_80", or "" for the default. Fails for names that LLVM does not
  /// know, and below sm_80.
  static llvm::Expected<GPUArchitecture> find(llvm::StringRef name);
  std::string name() const { return "sm_" + std::to_string(capability); }
};

/// What the kernels of `module @kernels` launch; no text. `kernels` itself
/// stays as it is. Emits errors. Runs a pass manager of its own and loads
/// dialects, so it is not to be called from within a pass.
mlir::FailureOr<KernelCode> planDeviceKernels(mlir::ModuleOp kernels);

/// The same with the code as an LLVM module for NVPTX, not optimised.
mlir::FailureOr<KernelCode>
translateDeviceKernels(mlir::ModuleOp kernels, llvm::LLVMContext &context,
                       std::unique_ptr<llvm::Module> &module);

/// The same with PTX text.
mlir::FailureOr<KernelCode>
emitDeviceKernels(mlir::ModuleOp kernels, const GPUArchitecture &architecture);

} // namespace soap

#endif // SOAP_TARGET_CUDA_EMITPTX_H
