//===- BuildKernels.cpp - Kernels of all operations -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "native-build-kernels"

namespace soap::native {
#define GEN_PASS_DEF_BUILDKERNELSPASS
#include "soap/Conversion/NNToKernels/Passes.h.inc"
} // namespace soap::native

using namespace mlir;
using namespace soap;

namespace {
struct BuildKernelsPass : native::impl::BuildKernelsPassBase<BuildKernelsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }

  void runOnOperation() override {
    NativeKernels kernels(getOperation());
    SmallVector<Operation *> operations;
    ModuleOp existing = kernels.getModule();
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (existing && op == existing)
        return WalkResult::skip();
      if (NativeKernels::supports(op))
        operations.push_back(op);
      return WalkResult::advance();
    });
    for (Operation *op : operations) {
      auto call = kernels.getOrCreate(op);
      if (failed(call))
        return signalPassFailure();
      LLVM_DEBUG(llvm::dbgs() << '\'' << nn::getName(op) << "' calls "
                              << call->symbol << "\n");
    }
    numCalls = operations.size();
    numKernels = kernels.size();
  }
};
} // namespace
