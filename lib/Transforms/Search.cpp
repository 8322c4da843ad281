//===- Search.cpp - A searched strategy for a module ----------------------===//
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

#define GEN_PASS_DEF_SEARCHPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct SearchPass : impl::SearchPassBase<SearchPass> {
  using Base::Base;

  void runOnOperation() override {
    if (int32_t count = chains; count < 1 || count > maxChains) {
      getOperation().emitError("expected 1 to ")
          << maxChains << " Markov chains, got: " << count;
      return signalPassFailure();
    }
    StrategyRequest request;
    request.name = "search";
    request.algorithm = algorithm;
    request.search.budgetSeconds = budget;
    request.search.proposals = proposals;
    request.search.seed = seed;
    request.search.chains = chains;
    FailureOr<ChosenStrategy> chosen = configure(getOperation(), request, cost);
    if (failed(chosen))
      return signalPassFailure();
    if (!chosen->search)
      return;
    numProposals += chosen->search->proposals;
    numAccepted += chosen->search->accepted;
  }
};

} // namespace
} // namespace soap
