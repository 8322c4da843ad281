//===- Simulate.cpp - The simulated step time of a module -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/ScheduleSimulation.h"
#include "soap/Transforms/StrategyIR.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_SIMULATEPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct SimulatePass : impl::SimulatePassBase<SimulatePass> {
  using Base::Base;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && soapir::isPartitioned(main)) {
      if (failed(simulateTasks(main)))
        signalPassFailure();
      return;
    }
    FailureOr<ConfiguredProblem> read = readConfigured(getOperation(), cost);
    if (failed(read))
      return signalPassFailure();
    const ModuleProblem &problem = read->problem;
    TaskGraph tasks(problem.get());
    tasks.setStrategy(read->strategy);
    SimulationResult result = FullSimulator(tasks).run();
    Builder builder(&getContext());
    getOperation().lookupSymbol("main")->setAttr(
        "soap.simulated_ns", builder.getI64IntegerAttr(result.stepNs));
    if (times)
      annotate(problem.extracted, result);
    if (report)
      printStrategy(llvm::outs(), problem, read->strategy);
  }

  LogicalResult simulateTasks(func::FuncOp main) {
    FailureOr<Topology> topology = readTopology(getOperation());
    FailureOr<CostModel> costs = readCosts(getOperation(), cost);
    if (failed(topology) || failed(costs))
      return failure();
    FailureOr<ScheduleTimes> simulated =
        simulateSchedule(main, *topology, *costs);
    if (failed(simulated))
      return failure();
    main->setAttr("soap.simulated_ns",
                  Builder(&getContext()).getI64IntegerAttr(simulated->stepNs));
    if (times)
      writeTimes(*simulated);
    if (report)
      llvm::outs() << "simulated step time: "
                   << llvm::formatv("{0:f3}", simulated->stepNs / 1e6)
                   << " ms\n";
    return success();
  }

  /// Sets `soap.times` on operations: [device, start, end] of every device.
  static void annotate(const ExtractedGraph &extracted,
                       const SimulationResult &result) {
    for (auto [node, nodeTimes] : llvm::zip(result.nodes, result.times)) {
      if (node.kind != TaskNode::Kind::Compute)
        continue;
      Operation *op = extracted.ops[node.node];
      Builder builder(op->getContext());
      SmallVector<Attribute> rows;
      for (auto [index, device] : llvm::enumerate(node.devices))
        rows.push_back(builder.getDenseI64ArrayAttr(
            {device, nodeTimes.start[index], nodeTimes.end[index]}));
      op->setAttr("soap.times", builder.getArrayAttr(rows));
    }
  }
};

} // namespace
} // namespace soap
