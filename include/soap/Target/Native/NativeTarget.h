//===- NativeTarget.h - The machine that native code is for -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_NATIVE_NATIVETARGET_H
#define SOAP_TARGET_NATIVE_NATIVETARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace soap {

/// A processor that LLVM makes code for.
struct NativeTarget {
  std::string triple;   ///< "x86_64-pc-linux-gnu"
  std::string cpu;      ///< LLVM's name: "sapphirerapids"
  std::string features; ///< "+avx2,-avx512f", on top of what `cpu` has.
  int optLevel = 3;     ///< 0 to 3.

  /// This machine, with the features that it really has (a virtual machine may
  /// hide some).
  static NativeTarget host();

  /// The processor `cpu` (`native`: this machine) of this machine's
  /// architecture. Fails if LLVM does not know the name.
  static llvm::Expected<NativeTarget> forCPU(llvm::StringRef cpu);

  /// LLVM's description, for code that may lie anywhere in a shared library.
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
  createTargetMachine() const;

  /// The instruction sets that generated code may use, named as the flags in
  /// /proc/cpuinfo ("avx2", "avx512f", "sse4_2", "abm", ...), in a fixed order.
  llvm::Expected<std::vector<std::string>> requiredCPUFeatures() const;
};

/// Optimises `module` and makes an ELF object file of it (relocatable, position
/// independent). Sets the module's triple and data layout.
llvm::Expected<std::string> emitObject(llvm::Module &module,
                                       const NativeTarget &target);

/// Optimises `module` and prints its assembly, as emitObject would encode it.
llvm::Expected<std::string> emitAssembly(llvm::Module &module,
                                         const NativeTarget &target);

} // namespace soap

#endif // SOAP_TARGET_NATIVE_NATIVETARGET_H
