//===- SimulatedProgram.cpp - What is simulated is what runs --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Verification/SimulatedProgram.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Transforms/ScheduleSimulation.h"
#include <map>

using namespace mlir;
using namespace soap;

SimulatedProgram::SimulatedProgram(ModuleProblem problem,
                                   const Strategy &strategy)
    : problem_(std::move(problem)), tasks_(problem_.get()) {
  tasks_.setStrategy(strategy);
  result_ = FullSimulator(tasks_).run();
}

LogicalResult SimulatedProgram::compareOrder(func::FuncOp main) const {
  FailureOr<ScheduleTimes> times = simulateSchedule(main, tasks_);
  if (failed(times))
    return failure();
  // When nodes and actions end, by name and number.
  const OperatorGraph &graph = problem_.extracted.graph;
  using Key = std::pair<StringRef, int64_t>;
  constexpr int64_t node = -1;
  std::map<Key, int64_t> expected, got;
  SmallVector<Key> order, launched;
  for (auto [task, at] : llvm::zip(result_.nodes, result_.times)) {
    if (at.end.empty())
      continue;
    int64_t end = *llvm::max_element(at.end);
    if (task.kind == TaskNode::Kind::Compute) {
      expected[{graph.node(task.node).name, node}] = end;
    } else if (task.kind == TaskNode::Kind::Move) {
      order.push_back(
          {graph.node(graph.value(task.value).producer).name, task.action});
      expected[order.back()] = end;
    }
  }
  for (Operation &op : main.getBody().front()) {
    auto time = times->ops.find(&op);
    if (time == times->ops.end())
      continue;
    if (auto task = dyn_cast<soapir::TaskOp>(op); task && !task.getReduce()) {
      int64_t &end = got[{task.getNode(), node}];
      end = std::max(end, time->second.end);
    } else if (auto move = dyn_cast<soapir::CommunicationOpInterface>(op)) {
      if (move.getMovements(tasks_.topology().host()).empty())
        continue; // The first of a bucket counts for all.
      launched.push_back(
          {cast<soapir::ShardOpInterface>(op).getBox(0).getValue(),
           move.getAction()});
      got[launched.back()] = time->second.end;
    }
  }
  if (launched != order)
    return emitError(main.getLoc())
           << "expected the actions in the order of the task graph ("
           << order.size() << "), got another order (" << launched.size()
           << "); this is a defect of the scheduler";
  for (const auto &[key, end] : expected)
    if (auto it = got.find(key); it == got.end() || it->second != end)
      return emitError(main.getLoc())
             << "expected '" << key.first << "' to end at " << end
             << " ns (simulated), got: "
             << (it == got.end() ? std::string("no such task")
                                 : std::to_string(it->second) + " ns")
             << "; this is a defect of the scheduler";
  if (times->stepNs != result_.stepNs)
    return emitError(main.getLoc())
           << "expected a launch order with a simulated step time of "
           << result_.stepNs << " ns, got: " << times->stepNs
           << " ns; this is a defect of the scheduler";
  return success();
}

LogicalResult SimulatedProgram::compareAlgorithms(func::FuncOp main) const {
  const Topology &topology = tasks_.topology();
  for (auto move : main.getOps<soapir::CommunicationOpInterface>()) {
    auto written =
        move->getAttrOfType<soapir::CollectiveAlgorithmAttr>("algorithm");
    SmallVector<Movement, 4> moved = move.getMovements(topology.host());
    if (!written || moved.empty())
      continue;
    CollectiveAlgorithm expected =
        CostModel::collective(move.getActionKind(), move.getGroup(),
                              moved.front().bytes, topology)
            .algorithm;
    if (written.getValue() != expected)
      return move->emitOpError()
             << "expected algorithm " << stringify(expected)
             << ", as simulated, got: " << stringify(written.getValue())
             << "; this is a defect of the partitioner";
  }
  return success();
}

LogicalResult SimulatedProgram::compare(func::FuncOp main) const {
  return failure(failed(movements().compare(main)) ||
                 failed(compareAlgorithms(main)) || failed(compareOrder(main)));
}
