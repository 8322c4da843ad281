//===- Schedule.cpp - Launch orders as block order ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/ScheduleSimulation.h"
#include "soap/Transforms/StrategyIR.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "soap-schedule"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_SCHEDULEPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct SchedulePass : impl::SchedulePassBase<SchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StringRef> names(launchPolicyNames());
    names.append({"simulated", "block"});
    if (!llvm::is_contained(names, StringRef(policy))) {
      emitError(getOperation().getLoc())
          << "expected policy=" << llvm::join(names, ", ")
          << ", got: " << policy;
      return signalPassFailure();
    }
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      LogicalResult result = success();
      if (soapir::isPartitioned(func))
        result = scheduleTasks(func);
      else if (func.getName() == "main" && !func.isDeclaration())
        result = scheduleNodes();
      if (failed(result))
        return signalPassFailure();
    }
  }

private:
  /// The order of nn operations: a decision.
  LogicalResult scheduleNodes() {
    Operation *main = getOperation().lookupSymbol("main");
    Location loc = main->getLoc();
    if (policy == "simulated" || policy == "block")
      return emitError(loc) << "expected policy=program, fifo or critical-path "
                               "before soap-partition, got: "
                            << policy;
    if (policy == "program" &&
        !main->hasAttr(soapir::SOAPDialect::getOrderAttrName()))
      return success();
    FailureOr<ConfiguredProblem> configured =
        readConfigured(getOperation(), cost);
    if (failed(configured))
      return failure();
    auto &[problem, strategy] = *configured;
    strategy.order = launchOrder(policy, problem.get(), strategy);
    LLVM_DEBUG({
      llvm::dbgs() << policy << ":";
      for (int32_t node : strategy.order)
        llvm::dbgs() << ' ' << problem.extracted.graph.node(node).name;
      llvm::dbgs() << "\n";
    });
    writeStrategy(problem.extracted, strategy, problem.topology);
    if (!report)
      return success();
    TaskGraph tasks(problem.get());
    tasks.setStrategy(strategy);
    emitRemark(loc) << "schedule: policy " << policy << ", simulated step time "
                    << FullSimulator(tasks).stepNs() << " ns";
    return success();
  }

  /// The order of tasks and actions, and its proof.
  LogicalResult scheduleTasks(func::FuncOp func) {
    soapir::WaitStatistics waits;
    if (failed(writeOrder(func)) || failed(soapir::verifyWaits(func, waits)))
      return failure();
    numRows += waits.rows;
    numStreamEdges += waits.streamEdges;
    numEvents += waits.events;
    numRendezvous += waits.rendezvous;
    if (report)
      emitRemark(func.getLoc())
          << "schedule: " << waits.rows << " rows, " << waits.streamEdges
          << " waits in streams, " << waits.events << " between streams, "
          << waits.rendezvous << " rendezvous, none circular";
    return success();
  }

  LogicalResult writeOrder(func::FuncOp func) {
    if (policy == "block")
      return success();
    if (policy == "simulated")
      return soapir::writeSimulatedOrder(func);
    SmallVector<StringRef> nodes;
    if (auto order = func->getAttrOfType<ArrayAttr>(
            soapir::SOAPDialect::getOrderAttrName()))
      for (Attribute name : order)
        nodes.push_back(cast<StringAttr>(name).getValue());
    if (failed(soapir::writeLaunchOrder(func, nodes)))
      return failure();
    return policy == "program" ? success() : decideOrder(func);
  }

  /// The order of nodes that a policy makes of the tasks alone.
  LogicalResult decideOrder(func::FuncOp func) {
    FailureOr<Topology> topology = readTopology(getOperation());
    FailureOr<CostModel> costs = readCosts(getOperation(), cost);
    if (failed(topology) || failed(costs))
      return failure();
    FailureOr<SmallVector<StringRef>> order =
        chooseTaskOrder(func, *topology, *costs, policy);
    if (failed(order))
      return failure();
    LLVM_DEBUG(llvm::dbgs()
               << policy << ": " << llvm::join(*order, ", ") << "\n");
    func->removeAttr(soapir::SOAPDialect::getOrderAttrName());
    return soapir::writeLaunchOrder(func, *order);
  }
};

} // namespace
} // namespace soap
