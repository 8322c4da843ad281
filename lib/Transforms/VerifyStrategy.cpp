//===- VerifyStrategy.cpp - Is a strategy valid? --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/Passes.h"
#include "soap/Transforms/StrategyIR.h"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_VERIFYSTRATEGYPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct VerifyStrategyPass : impl::VerifyStrategyPassBase<VerifyStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<ConfiguredProblem> read = readConfigured(getOperation(), cost);
    if (failed(read))
      return signalPassFailure();
    if (llvm::Error error = read->problem.get().verify(read->strategy)) {
      emitError(getOperation().getLoc(), toString(std::move(error)));
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace soap
