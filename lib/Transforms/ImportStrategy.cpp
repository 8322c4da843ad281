//===- ImportStrategy.cpp - A strategy from a file ------------------------===//
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

#define GEN_PASS_DEF_IMPORTSTRATEGYPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct ImportStrategyPass : impl::ImportStrategyPassBase<ImportStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    StrategyRequest request;
    request.name = file;
    if (!file.empty() && !StringRef(file).ends_with(".json"))
      emitError(getOperation().getLoc())
          << "expected file=FILE.json, a strategy, got: '" << file << "'";
    else if (file.empty())
      emitError(getOperation().getLoc())
          << "expected file=FILE.json, a strategy, got: none";
    else if (succeeded(configure(getOperation(), request)))
      return;
    signalPassFailure();
  }
};

} // namespace
} // namespace soap
