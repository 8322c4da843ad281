//===- AllTargets.cpp - All targets of SOAP -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Registration/AllTargets.h"
#include "soap/Target/CPU/CPUTarget.h"
#include "soap/Target/CUDA/CUDATarget.h"

void soap::registerAllTargets() {
  registerCPUTarget();
  registerCUDATarget();
}
