//===- Levels.cpp - Models that were decided on before --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Transforms/ScheduleSimulation.h"

using namespace mlir;
using namespace soap;

Compilation::Level Compilation::levelOf(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration())
    return Level::Graph;
  if (soapir::isPartitioned(main))
    return Level::Tasks;
  bool configured = false;
  for (Operation &op : main.getBody().front().without_terminator())
    if (!isa<nn::InputOp, nn::OutputOp, nn::ParameterOp, nn::ConstantOp>(op))
      configured |= bool(soapir::getConfig(&op));
  return configured ? Level::Configured : Level::Graph;
}

llvm::Error Compilation::checkTasks() {
  if (options_.emit == Emit::NN || options_.emit == Emit::Strategy ||
      options_.emit == Emit::Report)
    return badInput("expected --emit=soap, soaprt, llvm or so with '" +
                    source_.path + "', whose operations are tasks already");
  if (!options_.strategy.empty() || !options_.schedule.empty() ||
      options_.devices || !options_.topology.empty() || options_.link ||
      options_.needsStrategy || options_.strategyTable ||
      options_.unrollRNN != 0)
    return badInput(
        "expected no --strategy, --schedule, --devices, --topology, --link, "
        "--export-strategy, --print-strategy and --unroll-rnn with '" +
        source_.path +
        "', whose tasks say all that; leave them out, or compile what "
        "--emit=strategy prints");
  if (llvm::Error error = checkPrecisions())
    return error;
  model_.simulatedNs.clear();
  if (llvm::Error error = checkTasks(*module_, movements_))
    return error;
  if (options_.movements)
    result_.movements = movements_.json();
  result_.simulatedNs = model_.simulatedNs.empty()
                            ? 0
                            : static_cast<int64_t>(model_.simulatedNs.front());
  if (ModuleOp inner = evaluation())
    return checkTasks(inner, evaluationMovements_);
  return llvm::Error::success();
}

llvm::Error Compilation::checkTasks(ModuleOp program, MovementList &movements) {
  FailureOr<func::FuncOp> main = getMainFunction(program);
  soapir::CoverageStatistics coverage;
  soapir::WaitStatistics waits;
  if (failed(main) || failed(soapir::verifyCoverage(*main, coverage)) ||
      failed(soapir::verifyWaits(*main, waits)))
    return emitted(mlir::failure(), Kind::BadInput);
  movements = MovementList::of(*main);
  if (!soapir::getTopology(program))
    return llvm::Error::success();
  FailureOr<Topology> topology = readTopology(program);
  FailureOr<CostModel> costs = readCosts(program, costFile_);
  if (failed(topology) || failed(costs))
    return emitted(mlir::failure(), Kind::BadInput);
  FailureOr<ScheduleTimes> times = simulateSchedule(*main, *topology, *costs);
  if (failed(times))
    return emitted(mlir::failure(), Kind::BadInput);
  model_.simulatedNs.push_back(static_cast<uint64_t>(times->stepNs));
  return llvm::Error::success();
}
