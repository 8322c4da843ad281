//===- ExportStrategy.cpp - A strategy to a file --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Support/FileUtilities.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/StrategyIR.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_EXPORTSTRATEGYPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct ExportStrategyPass : impl::ExportStrategyPassBase<ExportStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<ConfiguredProblem> read = readConfigured(getOperation());
    if (failed(read) || failed(write(read->problem, read->strategy)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult write(const ModuleProblem &problem, const Strategy &strategy) {
    StrategyInfo info;
    info.fingerprint = problem.extracted.graph.fingerprint;
    info.topology = problem.topology.name;
    TaskGraph tasks(problem.get());
    tasks.setStrategy(strategy);
    info.simulatedNs = FullSimulator(tasks).stepNs();
    if (file.empty())
      return emitError(getOperation().getLoc(),
                       "expected file=FILE.json to write, got: none");
    std::string message;
    auto output = mlir::openOutputFile(file, &message);
    if (!output)
      return emitError(getOperation().getLoc(), message);
    output->os() << toJSON(strategy, problem.extracted.graph, info) << '\n';
    output->os().flush();
    if (std::error_code error = output->os().error()) {
      output->os().clear_error();
      return emitError(getOperation().getLoc())
             << "cannot write '" << file << "': " << error.message();
    }
    output->keep();
    return success();
  }
};

} // namespace
} // namespace soap
