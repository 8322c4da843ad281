//===- EmulatedTarget.h - A second target, for tests ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target `emulated`: the compiler's half of an accelerator that needs no
// other hardware. Its code is the CPU's. Its library has no pooling, no
// softmax and no attention, and its kernels read from multiples of 256 bytes,
// so its tables differ from the CPU's wherever a target may decide.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_TARGET_EMULATEDTARGET_H
#define SOAP_TEST_TARGET_EMULATEDTARGET_H

#include "soap/Target/CPU/CPUTarget.h"

namespace soap::test {

class EmulatedTarget final : public CPUTarget {
public:
  explicit EmulatedTarget(HostProcessor processor)
      : CPUTarget(std::move(processor), "emulated") {}

  bool isLibraryKernel(mlir::Operation *op) const override;
  int64_t getAlignment() const override { return 256; }
};

/// Registers the target `emulated`.
void registerEmulatedTarget();

} // namespace soap::test

#endif // SOAP_TEST_TARGET_EMULATEDTARGET_H
