//===- ScheduleSimulation.cpp - Simulate partitioned IR -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/ScheduleSimulation.h"
#include "TaskCosts.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include <cmath>
#include <map>

using namespace mlir;

namespace soap {
namespace {

class ScheduleSimulation {
public:
  /// With a task graph, costs are those of its nodes, else of `costs`.
  ScheduleSimulation(const Topology &topology, const TaskGraph *tasks,
                     const TaskCosts *costs)
      : tasks_(tasks), costs_(costs), topology_(topology),
        compute_(topology_.numDevices() + 1, 0),
        communication_(topology_.numDevices() + 1, 0),
        links_(topology_.numResources(), 0) {}

  FailureOr<ScheduleTimes> run(Block &block) {
    SmallVector<Operation *> running;
    for (Operation &op : block)
      if (runsInStep(&op))
        running.push_back(&op);
    for (auto it = running.begin(); it != running.end();) {
      // A launch group: the operations that stand together for one purpose.
      auto first = it;
      while (it != running.end() && belongs(*first, *it))
        ++it;
      if (failed(launch(ArrayRef(first, it))))
        return failure();
    }
    for (auto *times : {&compute_, &communication_, &links_})
      for (int64_t time : *times)
        times_.stepNs = std::max(times_.stepNs, time);
    return std::move(times_);
  }

private:
  static bool isCopy(Operation *op) {
    return isa<ir::SliceOp, ir::AssembleOp>(op);
  }
  /// The operation that a copy is made for: the first in the step that reads
  /// it. Null for copies that only drains read: they are no part of a step.
  static Operation *purposeOf(Operation *copy) {
    Operation *first = nullptr;
    for (Operation *user : copy->getUsers()) {
      auto move = dyn_cast<ir::CommunicationOpInterface>(user);
      if (move && move.getPhase() != ir::Phase::Step)
        continue;
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    return first;
  }
  /// Inputs, outputs, parameters, feeds, drains and the copies for them do not.
  static bool runsInStep(Operation *op) {
    if (auto task = dyn_cast<ir::TaskOp>(op))
      return task.getPhase() == ir::Phase::Step &&
             task.getDevice() != ir::kHostDevice;
    if (auto move = dyn_cast<ir::CommunicationOpInterface>(op))
      return move.getPhase() == ir::Phase::Step;
    return isCopy(op) && purposeOf(op);
  }
  /// The tasks of one node, the local reductions of one value, and the copies
  /// of one value for one purpose are launched together.
  static bool belongs(Operation *first, Operation *op) {
    if (first == op)
      return true;
    auto task = dyn_cast<ir::TaskOp>(first), other = dyn_cast<ir::TaskOp>(op);
    if (task && other)
      return task.getNode() == other.getNode() &&
             task.getPhase() == other.getPhase() &&
             task.getReduce() == other.getReduce();
    if (!isCopy(first) || !isCopy(op) ||
        !ir::getBox(first->getResult(0))
             .isSameValue(ir::getBox(op->getResult(0))))
      return false;
    Operation *purpose = purposeOf(first), *otherPurpose = purposeOf(op);
    if (!purpose || !otherPurpose)
      return purpose == otherPurpose;
    auto reader = dyn_cast<ir::TaskOp>(purpose),
         otherReader = dyn_cast<ir::TaskOp>(otherPurpose);
    return purpose == otherPurpose ||
           (reader && otherReader &&
            reader.getNode() == otherReader.getNode() && !reader.getReduce() &&
            !otherReader.getReduce());
  }

  int32_t deviceOf(Value shard) const {
    return ir::deviceToPlan(cast<ir::ShardType>(shard.getType()).getDevice(),
                            topology_.host());
  }
  /// Bytes of a shard; 0 if it is empty.
  static int64_t bytesOf(Value shard) {
    return cast<ir::ShardType>(shard.getType()).getSizeInBytes();
  }

  LogicalResult launch(ArrayRef<Operation *> group) {
    Operation *first = group.front();
    if (auto move = dyn_cast<ir::CommunicationOpInterface>(first)) {
      communicate(move);
      return success();
    }
    auto task = dyn_cast<ir::TaskOp>(first);
    std::map<int32_t, int64_t> cost, start;
    for (Operation *op : group) {
      Value result = op->getResult(0);
      int32_t device = deviceOf(result);
      if (device == topology_.host())
        continue;
      if (isCopy(op) && bytesOf(result) == 0)
        continue;
      FailureOr<int64_t> ns = costOf(op, device);
      if (failed(ns))
        return failure();
      // A node's cost in the task graph is that of all its tasks on the device.
      bool isNode = tasks_ && task && !task.getReduce();
      cost[device] = isNode ? *ns : cost[device] + *ns;
      int64_t &ready =
          start.try_emplace(device, compute_[device]).first->second;
      for (Value operand : op->getOperands())
        ready = std::max(ready, ready_.lookup(operand));
    }
    for (auto [device, ns] : cost)
      compute_[device] = start[device] + ns;
    for (Operation *op : group)
      for (Value result : op->getResults()) {
        int32_t device = deviceOf(result);
        ready_[result] = compute_[device];
        if (start.count(device))
          times_.ops[op] = {start[device], compute_[device]};
      }
    return success();
  }

  FailureOr<int64_t> costOf(Operation *op, int32_t device) const {
    const DeviceKind &kind = topology_.kindOf(device);
    if (isCopy(op) && op->getNumOperands() == 1) {
      int64_t bytes = bytesOf(op->getResult(0));
      Box box = ir::getBox(op->getResult(0)).getBox();
      return CostModel::cutNs(
          box, ir::getBox(op->getOperand(0)).getBox(),
          static_cast<int32_t>(bytes / std::max<int64_t>(1, volume(box))),
          kind);
    }
    if (isCopy(op))
      return CostModel::copyNs(bytesOf(op->getResult(0)), kind);
    auto task = cast<ir::TaskOp>(op);
    if (task.getReduce()) {
      int64_t inputs = task.getInputs().size();
      return CostModel::copyNs(bytesOf(op->getResult(0)) * (inputs + 1) / 2,
                               kind);
    }
    if (!tasks_)
      return costs_->ns(task, kind);
    int32_t node = tasks_->graph().find(task.getNode());
    if (node < 0)
      return emitError(op->getLoc(), "expected a task of an operation of the "
                                     "task graph, got: '")
             << task.getNode() << "'";
    const detail::NodeTasks &costs = tasks_->nodeTasks(node);
    auto at = llvm::find(costs.devices, device);
    if (at == costs.devices.end())
      return emitError(op->getLoc(), "expected '")
             << task.getNode()
             << "' on the devices of its configuration, got: " << device;
    return costs.ns[at - costs.devices.begin()];
  }

  void communicate(ir::CommunicationOpInterface op) {
    bool isCollective = op.getActionKind() != ActionKind::Transfer &&
                        op.getActionKind() != ActionKind::HaloExchange;
    if (isCollective)
      collective(op);
    else
      transfers(op);
  }

  void collective(ir::CommunicationOpInterface op) {
    SmallVector<int32_t> group = op.getGroup();
    Movement moved = op.getMovements(topology_.host()).front();
    CollectiveCost cost = CostModel::collective(op.getActionKind(), group,
                                                moved.bytes, topology_);
    int64_t start = 0;
    for (int32_t device : group)
      start = std::max(start, communication_[device]);
    for (Value operand : op->getOperands())
      if (bytesOf(operand) > 0)
        start = std::max(start, ready_.lookup(operand));
    for (const LinkUse &use : cost.links)
      start = std::max(start, links_[use.resource]);
    for (const LinkUse &use : cost.links)
      links_[use.resource] = start + use.ns;
    int64_t end = start + cost.ns;
    for (int32_t device : group) {
      communication_[device] = end;
      if (cost.occupiesReceiver)
        compute_[device] += cost.ns;
    }
    for (Value result : op->getResults())
      ready_[result] = end;
    times_.ops[op] = {start, end};
  }

  void transfers(ir::CommunicationOpInterface op) {
    std::map<int32_t, int64_t> start;
    for (int32_t device : op.getGroup())
      start[device] = communication_[device];
    for (Value operand : op->getOperands())
      if (bytesOf(operand) > 0) {
        int64_t &ready = start[deviceOf(operand)];
        ready = std::max(ready, ready_.lookup(operand));
      }
    std::map<int32_t, int64_t> end = start;
    for (auto [operand, result] :
         llvm::zip(op->getOperands(), op->getResults())) {
      int64_t bytes = bytesOf(operand);
      if (bytes == 0)
        continue;
      int32_t source = deviceOf(operand), target = deviceOf(result);
      const Route &route = topology_.route(source, target);
      int64_t begin = std::max(start[source], start[target]);
      for (int32_t link : route.links)
        begin = std::max(begin, links_[topology_.links()[link].resource]);
      for (int32_t id : route.links) {
        const Link &link = topology_.links()[id];
        links_[link.resource] =
            begin + std::llround(bytes / link.bandwidth * 1e9);
      }
      int64_t ns = std::llround(bytes / route.bandwidth * 1e9);
      int64_t done = begin + route.latencyNs + ns;
      end[source] = std::max(end[source], done);
      end[target] = std::max(end[target], done);
      if (route.occupiesReceiver && target != topology_.host())
        compute_[target] += ns;
    }
    ScheduledTime time;
    for (auto [device, done] : end) {
      communication_[device] = done;
      time.start = std::max(time.start, start[device]);
      time.end = std::max(time.end, done);
    }
    for (Value result : op->getResults())
      ready_[result] = end[deviceOf(result)];
    times_.ops[op] = time;
  }

  const TaskGraph *tasks_;
  const TaskCosts *costs_;
  const Topology &topology_;
  std::vector<int64_t> compute_, communication_, links_;
  llvm::DenseMap<Value, int64_t> ready_;
  ScheduleTimes times_;
};

} // namespace

FailureOr<ScheduleTimes> simulateSchedule(func::FuncOp main,
                                          const TaskGraph &tasks) {
  return ScheduleSimulation(tasks.topology(), &tasks, nullptr)
      .run(main.getBody().front());
}

FailureOr<ScheduleTimes> simulateSchedule(func::FuncOp main,
                                          const Topology &topology,
                                          const CostModel &costs) {
  Block &block = main.getBody().front();
  TaskCosts taskCosts(block, costs);
  return ScheduleSimulation(topology, nullptr, &taskCosts).run(block);
}

void writeTimes(const ScheduleTimes &times) {
  for (auto [op, time] : times.ops) {
    Builder builder(op->getContext());
    op->setAttr("soap.start", builder.getI64IntegerAttr(time.start));
    op->setAttr("soap.end", builder.getI64IntegerAttr(time.end));
  }
}

} // namespace soap
