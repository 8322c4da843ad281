//===- RegisterTargets.cpp - Targets of soap-compile-emulated -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedTarget.h"
#include "soap/Target/CUDA/CUDATarget.h"
#include "soap/Target/Registration/AllTargets.h"

void soap::registerAllTargets() {
  registerCPUTarget();
  registerCUDATarget();
  test::registerEmulatedTarget();
}
