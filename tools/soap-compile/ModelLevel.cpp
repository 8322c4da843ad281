//===- ModelLevel.cpp - Models that were decided on before ----------------===//
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
  if (ir::isPartitioned(main))
    return Level::Tasks;
  bool configured = false;
  for (Operation &op : main.getBody().front().without_terminator())
    if (!isa<nn::InputOp, nn::OutputOp, nn::ParameterOp, nn::ConstantOp>(op))
      configured |= bool(ir::getConfig(&op));
  return configured ? Level::Configured : Level::Graph;
}

int Compilation::checkTasks() {
  if (line.emit == Emit::NN || line.emit == Emit::Strategy ||
      line.emit == Emit::Report) {
    printError("expected --emit=soap, soaprt, llvm or so with '" + line.model +
               "', whose operations are tasks already");
    return BadInput;
  }
  if (!line.strategy.empty() || !line.schedule.empty() || line.devices ||
      !line.topology.empty() || !line.exportStrategy.empty() ||
      line.printStrategy || line.unrollRNN != 0) {
    printError("expected no --strategy, --schedule, --devices, --topology, "
               "--export-strategy, --print-strategy and --unroll-rnn with '" +
               line.model +
               "', whose tasks say all that; leave them out, or compile what "
               "--emit=strategy prints");
    return BadInput;
  }
  FailureOr<func::FuncOp> main = getMainFunction(*module);
  ir::CoverageStatistics coverage;
  ir::WaitStatistics waits;
  if (failed(main) || failed(ir::verifyCoverage(*main, coverage)) ||
      failed(ir::verifyWaits(*main, waits)))
    return BadInput;
  movements = MovementList::of(*main);
  if (ir::getTopology(*module)) {
    FailureOr<Topology> topology = readTopology(*module);
    FailureOr<CostModel> costs = readCosts(*module, line.costFile);
    if (failed(topology) || failed(costs))
      return BadInput;
    FailureOr<ScheduleTimes> times = simulateSchedule(*main, *topology, *costs);
    if (failed(times))
      return BadInput;
    model.simulatedNs = times->stepNs;
  }
  if (!line.exportMovements.empty() &&
      !writeText(line.exportMovements, movements.json() + "\n"))
    return BadInput;
  return Fine;
}
