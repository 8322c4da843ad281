//===- HostProcessor.h - Code for the host's processor ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_HOST_HOSTPROCESSOR_H
#define SOAP_TARGET_HOST_HOSTPROCESSOR_H

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

/// A processor that LLVM makes host code for. A compiled model is a library of
/// the host, whatever its target is.
struct HostProcessor {
  std::string triple;   ///< "x86_64-pc-linux-gnu"
  std::string name;     ///< LLVM's name: "sapphirerapids"
  std::string features; ///< "+avx2,-avx512f", on top of what `name` has.
  int optLevel = 3;     ///< 0 to 3.

  /// This machine, with the features that it really has (a virtual machine may
  /// hide some).
  static HostProcessor host();

  /// The processor `name` (`native`: this machine) of this machine's
  /// architecture. Fails if LLVM does not know the name.
  static llvm::Expected<HostProcessor> find(llvm::StringRef name);

  /// LLVM's description, for code that may lie anywhere in a shared library.
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
  createTargetMachine() const;

  /// The instruction sets that generated code may use, named as the flags in
  /// /proc/cpuinfo ("avx2", "avx512f", "sse4_2", "abm", ...), in a fixed order.
  llvm::Expected<std::vector<std::string>> requiredFeatures() const;

  /// Whether the processor has what LLVM calls `feature` ("amx-bf16"). False if
  /// there is no such processor.
  bool hasFeature(llvm::StringRef feature) const;
};

/// Optimises `module` and makes an ELF object file of it (relocatable, position
/// independent). Sets the module's triple and data layout.
llvm::Expected<std::string> emitObject(llvm::Module &module,
                                       const HostProcessor &processor);

/// Optimises `module` and prints its assembly, as emitObject would encode it.
llvm::Expected<std::string> emitAssembly(llvm::Module &module,
                                         const HostProcessor &processor);

} // namespace soap

#endif // SOAP_TARGET_HOST_HOSTPROCESSOR_H
