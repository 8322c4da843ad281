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
#include "soap/Transforms/ScheduleSimulation.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <map>

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
    if (auto task = dyn_cast<ir::TaskOp>(op); task && !task.getReduce()) {
      int64_t &end = got[{task.getNode(), node}];
      end = std::max(end, time->second.end);
    } else if (auto move = dyn_cast<ir::CommunicationOpInterface>(op)) {
      launched.push_back({cast<ir::ShardOpInterface>(op).getBox(0).getValue(),
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

LogicalResult SimulatedProgram::compare(func::FuncOp main) const {
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
  soaprt::ProgramMovements all =
      soaprt::collectMovements(programs, problem_.topology.host());
  std::pair<Phase, SmallVector<Movement> *> phases[] = {
      {Phase::Feed, &all.feed},
      {Phase::Step, &all.step},
      {Phase::Drain, &all.drain}};
  for (auto [phase, got] : phases) {
    SmallVector<Movement> expected;
    for (const PhasedMovement &phased : movements_)
      if (phased.phase == phase)
        expected.push_back(phased.movement);
    llvm::sort(expected, less);
    llvm::sort(*got, less);
    for (size_t i = 0, e = std::max(expected.size(), got->size()); i < e; ++i)
      if (i >= expected.size() || i >= got->size() ||
          !(expected[i] == (*got)[i]))
        return emitError(programs.getLoc())
               << "expected the movements of the task graph, in phase "
               << stringify(phase) << " "
               << (i < expected.size() ? describe(expected[i]) : "no more")
               << ", got: "
               << (i < got->size() ? describe((*got)[i]) : "no more")
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
