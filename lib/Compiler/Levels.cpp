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
  if (options.emit == Emit::NN || options.emit == Emit::Strategy ||
      options.emit == Emit::Report)
    return badInput("expected --emit=soap, soaprt, llvm or so with '" +
                    source.path + "', whose operations are tasks already");
  if (!options.strategy.empty() || !options.schedule.empty() ||
      options.devices || !options.topology.empty() || options.needsStrategy ||
      options.strategyTable || options.unrollRNN != 0)
    return badInput(
        "expected no --strategy, --schedule, --devices, --topology, "
        "--export-strategy, --print-strategy and --unroll-rnn with '" +
        source.path +
        "', whose tasks say all that; leave them out, or compile what "
        "--emit=strategy prints");
  FailureOr<func::FuncOp> main = getMainFunction(*module);
  soapir::CoverageStatistics coverage;
  soapir::WaitStatistics waits;
  if (failed(main) || failed(soapir::verifyCoverage(*main, coverage)) ||
      failed(soapir::verifyWaits(*main, waits)))
    return emitted(mlir::failure(), Kind::BadInput);
  movements = MovementList::of(*main);
  result.movements = movements.json();
  if (!soapir::getTopology(*module))
    return llvm::Error::success();
  FailureOr<Topology> topology = readTopology(*module);
  FailureOr<CostModel> costs = readCosts(*module, options.costFile);
  if (failed(topology) || failed(costs))
    return emitted(mlir::failure(), Kind::BadInput);
  FailureOr<ScheduleTimes> times = simulateSchedule(*main, *topology, *costs);
  if (failed(times))
    return emitted(mlir::failure(), Kind::BadInput);
  model.simulatedNs = static_cast<uint64_t>(times->stepNs);
  result.simulatedNs = times->stepNs;
  return llvm::Error::success();
}
