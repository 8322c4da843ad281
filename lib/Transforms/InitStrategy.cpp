//===- InitStrategy.cpp - A named strategy for a module -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/StrategyChoice.h"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_INITSTRATEGYPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct InitStrategyPass : impl::InitStrategyPassBase<InitStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    if (llvm::none_of(namedStrategies(), [&](const NamedStrategy &named) {
          return strategy == named.name;
        })) {
      emitError(getOperation().getLoc())
          << "expected a strategy " << namedStrategyNames() << ", got: '"
          << strategy << "'";
      return signalPassFailure();
    }
    StrategyRequest request;
    request.name = strategy;
    request.search.seed = seed;
    if (failed(configure(getOperation(), request)))
      signalPassFailure();
  }
};

} // namespace
} // namespace soap
