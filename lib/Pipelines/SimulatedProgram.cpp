//===- SimulatedProgram.cpp - What is simulated is what runs --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Pipelines/SimulatedProgram.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace soap;

static std::string describe(const Movement &movement) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << stringify(movement.kind) << " [";
  llvm::interleaveComma(movement.devices, os);
  os << "] of [";
  llvm::interleaveComma(movement.bytes, os);
  os << "] bytes";
  return os.str();
}

static ir::Phase phaseInIR(Phase phase) {
  switch (phase) {
  case Phase::Step:
    return ir::Phase::Step;
  case Phase::Feed:
    return ir::Phase::Feed;
  case Phase::Drain:
    return ir::Phase::Drain;
  }
  llvm_unreachable("unknown phase");
}

SimulatedProgram::SimulatedProgram(ModuleProblem problem,
                                   const Strategy &strategy)
    : problem_(std::move(problem)),
      tasks_(problem_.extracted.graph, problem_.topology, problem_.costs) {
  tasks_.setStrategy(strategy);
  result_ = FullSimulator(tasks_).run();
  for (Phase phase : {Phase::Feed, Phase::Step, Phase::Drain})
    for (Movement &movement : tasks_.movements(phase))
      movements_.push_back({phase, std::move(movement)});
}

//===----------------------------------------------------------------------===//
// The soap operations
//===----------------------------------------------------------------------===//

LogicalResult SimulatedProgram::compareMovements(func::FuncOp main) const {
  auto expected = movements_.begin();
  for (Phase phase : {Phase::Feed, Phase::Step, Phase::Drain})
    for (const Movement &movement : ir::collectMovements(
             main, phaseInIR(phase), problem_.topology.host())) {
      if (expected != movements_.end() && expected->phase == phase &&
          expected->movement == movement) {
        ++expected;
        continue;
      }
      return emitError(main.getLoc())
             << "expected the movements of the task graph, next "
             << (expected == movements_.end() ? "none"
                                              : describe(expected->movement))
             << ", got: " << stringify(phase) << " " << describe(movement)
             << "; this is a defect of the partitioner";
    }
  if (expected != movements_.end())
    return emitError(main.getLoc())
           << "expected the movements of the task graph, next "
           << stringify(expected->phase) << " " << describe(expected->movement)
           << ", got: none; this is a defect of the partitioner";
  return success();
}

LogicalResult SimulatedProgram::compareOrder(func::FuncOp main) {
  const OperatorGraph &graph = problem_.extracted.graph;
  llvm::StringMap<int32_t> nodes;
  for (int32_t id : tasks_.order())
    nodes[graph.node(id).name] = id;

  // The actions of the step, as (value's node, number in its plan), and the
  // nodes by their first task.
  using Move = std::pair<StringRef, int64_t>;
  SmallVector<Move> expected, launched;
  for (const TaskNode &task : tasks_.nodes())
    if (task.kind == TaskNode::Kind::Move)
      expected.push_back(
          {graph.node(graph.value(task.value).producer).name, task.action});
  std::vector<int32_t> order;
  for (Operation &op : main.getBody().front()) {
    if (auto task = dyn_cast<ir::TaskOp>(op)) {
      auto node = nodes.find(task.getNode());
      if (node == nodes.end() || task.getReduce())
        continue;
      order.push_back(node->second);
      nodes.erase(node);
    } else if (auto move = dyn_cast<ir::CommunicationOpInterface>(op);
               move && move.getPhase() == ir::Phase::Step) {
      launched.push_back({cast<ir::ShardOpInterface>(op).getBox(0).getValue(),
                          move.getAction()});
    }
  }
  for (auto [i, move] : llvm::enumerate(launched))
    if (i >= expected.size() || expected[i] != move)
      return emitError(main.getLoc())
             << "expected the actions in the order of the task graph, got: "
                "action "
             << move.second << " of '" << move.first << "' as number " << i
             << "; this is a defect of the scheduler";
  if (launched.size() != expected.size() || !nodes.empty())
    return emitError(main.getLoc())
           << "expected " << expected.size()
           << " actions and all nodes, got: " << launched.size()
           << " actions and " << nodes.size()
           << " nodes without a task; this is a defect of the partitioner";

  // The order of the block, simulated anew.
  std::vector<int32_t> ends, outputs;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    NodeRole role = graph.node(id).role;
    if (role == NodeRole::Output)
      outputs.push_back(id);
    else if (role != NodeRole::Compute)
      ends.push_back(id);
  }
  order.insert(order.begin(), ends.begin(), ends.end());
  order.insert(order.end(), outputs.begin(), outputs.end());
  tasks_.setOrder(order);
  SimulationResult again = FullSimulator(tasks_).run();
  bool same = again.stepNs == result_.stepNs &&
              llvm::equal(again.times, result_.times,
                          [](const NodeTimes &a, const NodeTimes &b) {
                            return a.start == b.start && a.end == b.end;
                          });
  if (!same)
    return emitError(main.getLoc())
           << "expected a launch order with a simulated step time of "
           << result_.stepNs << " ns, got: " << again.stepNs
           << " ns or other times on the way; this is a defect of the "
              "scheduler";
  return success();
}

LogicalResult SimulatedProgram::compare(func::FuncOp main) {
  return failure(failed(compareMovements(main)) || failed(compareOrder(main)));
}

//===----------------------------------------------------------------------===//
// The programs
//===----------------------------------------------------------------------===//

LogicalResult SimulatedProgram::compare(ModuleOp programs) const {
  auto less = [](const Movement &a, const Movement &b) {
    return std::tie(a.kind, a.devices, a.bytes) <
           std::tie(b.kind, b.devices, b.bytes);
  };
  std::vector<Movement> expected;
  for (const PhasedMovement &phased : movements_)
    expected.push_back(phased.movement);
  SmallVector<Movement> got =
      soaprt::collectMovements(programs, problem_.topology.host());
  llvm::sort(expected, less);
  llvm::sort(got, less);
  for (size_t i = 0, e = std::max(expected.size(), got.size()); i < e; ++i) {
    if (i < expected.size() && i < got.size() && expected[i] == got[i])
      continue;
    return emitError(programs.getLoc())
           << "expected the movements of the task graph, "
           << (i < expected.size() ? describe(expected[i]) : "no more")
           << ", got: " << (i < got.size() ? describe(got[i]) : "no more")
           << "; this is a defect of convert-soap-to-soaprt";
  }
  return success();
}

std::string SimulatedProgram::movementsJSON() const {
  llvm::json::Array list;
  for (const PhasedMovement &phased : movements_) {
    llvm::json::Array devices;
    for (int32_t device : phased.movement.devices)
      devices.push_back(device == problem_.topology.host() ? -1 : device);
    list.push_back(llvm::json::Object{
        {"phase", stringify(phased.phase)},
        {"kind", stringify(phased.movement.kind)},
        {"devices", std::move(devices)},
        {"bytes", llvm::json::Array(phased.movement.bytes)}});
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                   {"format", "soap-movements"},
                                   {"movements", std::move(list)}}));
  return os.str();
}
