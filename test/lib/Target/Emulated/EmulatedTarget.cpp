//===- EmulatedTarget.cpp - A second target, for tests --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedTarget.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Target/TargetRegistry.h"

using namespace mlir;
using namespace soap;
using namespace soap::test;

bool EmulatedTarget::isLibraryKernel(Operation *op) const {
  return !isa<nn::MaxPoolOp, nn::AvgPoolOp, nn::SoftmaxOp, nn::AttentionOp>(
             op) &&
         CPUTarget::isLibraryKernel(op);
}

static llvm::Expected<std::unique_ptr<Target>> create(const TargetOptions &) {
  return std::make_unique<EmulatedTarget>(HostProcessor::host());
}

void test::registerEmulatedTarget() {
  registerTarget({"emulated", "an accelerator without hardware, for tests",
                  /*processors=*/"", create});
}
