//===- NativeCode.h - Native kernels in this process ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_PROPERTY_NATIVECODE_H
#define SOAP_TEST_PROPERTY_NATIVECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "soap/Runtime/Runtime.h"
#include "soap/Target/Host/HostProcessor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <vector>

namespace soap::property {

/// Compiles native kernels to the object code that a compiled model would
/// carry, and links it into this process in place of a shared library. Kernels
/// that were compiled before are reused by their keys.
class NativeCode {
public:
  static llvm::Expected<std::unique_ptr<NativeCode>>
  create(const HostProcessor &target);

  /// The kernels of `module` (soaprt programs), in the order of their indices.
  /// Emits errors.
  mlir::FailureOr<std::vector<soap_native_kernel>>
  kernelsOf(mlir::ModuleOp module);

  size_t compiled() const { return kernels_.size(); }

private:
  NativeCode(const HostProcessor &target,
             std::unique_ptr<llvm::orc::LLJIT> linker)
      : target_(target), linker_(std::move(linker)) {}
  llvm::Expected<llvm::orc::ExecutorAddr> link(const std::string &object);

  HostProcessor target_;
  std::unique_ptr<llvm::orc::LLJIT> linker_;
  llvm::StringMap<soap_native_kernel> kernels_;
  size_t libraries_ = 0;
};

} // namespace soap::property

#endif // SOAP_TEST_PROPERTY_NATIVECODE_H
