//===- ScheduleSimulation.cpp - Simulate partitioned IR -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/ScheduleSimulation.h"
#include "TaskCosts.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Search/Timeline.h"
#include "soap/Testing/PlantedFault.h"
#include <map>
#include <set>

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
    for (ArrayRef<Operation *> group : groupsOf(block))
      if (failed(launch(group)))
        return failure();
    times_.stepNs = stepNs();
    return std::move(times_);
  }

  using Group = SmallVector<Operation *>;
  /// The launch groups of a step in block order: operations that stand together
  /// for one purpose.
  static std::vector<Group> groupsOf(Block &block) {
    std::vector<Group> groups;
    for (Operation &op : block) {
      if (!runsInStep(&op))
        continue;
      if (groups.empty() || !belongs(groups.back().front(), &op))
        groups.emplace_back();
      groups.back().push_back(&op);
    }
    return groups;
  }

  /// When the last resource is free.
  int64_t stepNs() const {
    int64_t last = 0;
    for (auto *times : {&compute_, &communication_, &links_})
      for (int64_t time : *times)
        last = std::max(last, time);
    return last;
  }
  /// When a shard is there; 0 if nothing made it yet.
  int64_t readyTime(Value shard) const { return ready_.lookup(shard); }
  /// When the compute stream of a device is free.
  int64_t computeTime(int32_t device) const { return compute_[device]; }

  /// Tasks of the strategy, as opposed to copies, actions and reductions.
  static bool isNode(Operation *op) {
    auto task = dyn_cast<soapir::TaskOp>(op);
    return task && !task.getReduce();
  }
  /// True for copies that a task reads.
  static bool isUnpack(Operation *op) {
    Operation *purpose = isCopy(op) ? purposeOf(op) : nullptr;
    return purpose && isNode(purpose);
  }

  static bool isCopy(Operation *op) {
    return isa<soapir::SliceOp, soapir::AssembleOp>(op);
  }
  /// The operation that a copy is made for: the first in the step that reads
  /// it. Null for copies that only drains read: they are no part of a step.
  static Operation *purposeOf(Operation *copy) {
    Operation *first = nullptr;
    for (Operation *user : copy->getUsers()) {
      auto move = dyn_cast<soapir::CommunicationOpInterface>(user);
      if (move && move.getPhase() != Phase::Step)
        continue;
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    return first;
  }
  /// Inputs, outputs, parameters, feeds, drains and the copies for them do not.
  static bool runsInStep(Operation *op) {
    if (auto task = dyn_cast<soapir::TaskOp>(op))
      return task.getPhase() == Phase::Step && task.getDevice() != kHostDevice;
    if (auto move = dyn_cast<soapir::CommunicationOpInterface>(op))
      return move.getPhase() == Phase::Step;
    return isCopy(op) && purposeOf(op);
  }
  /// The tasks of one node, the local reductions of one value, and the copies
  /// of one value for one purpose are launched together.
  static bool belongs(Operation *first, Operation *op) {
    if (first == op)
      return true;
    auto task = dyn_cast<soapir::TaskOp>(first),
         other = dyn_cast<soapir::TaskOp>(op);
    if (task && other)
      return task.getNode() == other.getNode() &&
             task.getPhase() == other.getPhase() &&
             task.getReduce() == other.getReduce();
    if (!isCopy(first) || !isCopy(op) ||
        !soapir::getBox(first->getResult(0))
             .isSameValue(soapir::getBox(op->getResult(0))))
      return false;
    Operation *purpose = purposeOf(first), *otherPurpose = purposeOf(op);
    if (!purpose || !otherPurpose)
      return purpose == otherPurpose;
    auto reader = dyn_cast<soapir::TaskOp>(purpose),
         otherReader = dyn_cast<soapir::TaskOp>(otherPurpose);
    return purpose == otherPurpose ||
           (reader && otherReader &&
            reader.getNode() == otherReader.getNode() && !reader.getReduce() &&
            !otherReader.getReduce());
  }

  int32_t deviceOf(Value shard) const {
    return soapir::deviceToPlan(
        cast<soapir::ShardType>(shard.getType()).getDevice(), topology_.host());
  }
  /// Bytes of a shard; 0 if it is empty.
  static int64_t bytesOf(Value shard) {
    return cast<soapir::ShardType>(shard.getType()).getSizeInBytes();
  }

  /// Launches a group behind all that was launched before.
  LogicalResult launch(ArrayRef<Operation *> group) {
    Operation *first = group.front();
    if (auto move = dyn_cast<soapir::CommunicationOpInterface>(first)) {
      communicate(move);
      return success();
    }
    auto task = dyn_cast<soapir::TaskOp>(first);
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

private:
  FailureOr<int64_t> costOf(Operation *op, int32_t device) const {
    const DeviceKind &kind = topology_.kindOf(device);
    if (isCopy(op) && op->getNumOperands() == 1) {
      int64_t bytes = bytesOf(op->getResult(0));
      Box box = soapir::getBox(op->getResult(0)).getBox();
      return CostModel::cutNs(
          box, soapir::getBox(op->getOperand(0)).getBox(),
          static_cast<int32_t>(bytes / std::max<int64_t>(1, volume(box))),
          kind);
    }
    if (isCopy(op))
      return CostModel::copyNs(bytesOf(op->getResult(0)), kind);
    auto task = cast<soapir::TaskOp>(op);
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

  void communicate(soapir::CommunicationOpInterface op) {
    bool isCollective = op.getActionKind() != ActionKind::Transfer &&
                        op.getActionKind() != ActionKind::HaloExchange;
    if (isCollective)
      collective(op);
    else
      transfers(op);
  }

  void collective(soapir::CommunicationOpInterface op) {
    SmallVector<int32_t> group = op.getGroup();
    Movement moved = op.getMovements(topology_.host()).front();
    CollectiveCost cost = CostModel::collective(
        op.getActionKind(), group, moved.bytes, algorithmOf(op), topology_);
    int64_t ready = 0;
    for (Value operand : op->getOperands())
      if (bytesOf(operand) > 0)
        ready = std::max(ready, ready_.lookup(operand));
    int64_t start = startCollective(timeline(), group, cost.links, ready);
    if (!SOAP_FAULT("links-free"))
      holdLinks(timeline(), cost.links, start);
    int64_t end = start + cost.ns;
    holdMembers(timeline(), group, start, end, cost.occupiesNs);
    for (Value result : op->getResults())
      ready_[result] = end;
    times_.ops[op] = {start, end};
  }

  /// What the operation says: it may have been edited.
  static CollectiveAlgorithm algorithmOf(Operation *op) {
    auto algorithm =
        op->getAttrOfType<soapir::CollectiveAlgorithmAttr>("algorithm");
    return algorithm ? algorithm.getValue() : CollectiveAlgorithm::Direct;
  }

  void transfers(soapir::CommunicationOpInterface op) {
    SmallVector<int32_t> members;
    for (int32_t device : op.getGroup())
      members.push_back(soapir::deviceToPlan(device, topology_.host()));
    auto indexOf = [&](Value shard) {
      return static_cast<int32_t>(llvm::find(members, deviceOf(shard)) -
                                  members.begin());
    };
    SmallVector<int64_t> start, end(members.size());
    for (int32_t device : members)
      start.push_back(communication_[device]);
    SmallVector<detail::TransferTask> transfers;
    SmallVector<int64_t> costs;
    SmallVector<int32_t> resources;
    for (auto [operand, result] :
         llvm::zip(op->getOperands(), op->getResults())) {
      int64_t bytes = bytesOf(operand);
      if (bytes == 0)
        continue;
      detail::TransferTask &transfer = transfers.emplace_back();
      transfer.source = indexOf(operand);
      transfer.target = indexOf(result);
      int64_t &ready = start[transfer.source];
      ready = std::max(ready, ready_.lookup(operand));
      int32_t target = deviceOf(result);
      const Route &route = topology_.route(deviceOf(operand), target);
      transfer.cost = static_cast<int32_t>(costs.size());
      costs.push_back(route.latencyNs + route.ns(static_cast<double>(bytes)));
      costs.push_back(target == topology_.host()
                          ? 0
                          : route.copyNs(static_cast<double>(bytes)));
      transfer.numLinks = static_cast<int32_t>(route.links.size());
      for (int32_t id : route.links) {
        const Link &link = topology_.links()[id];
        resources.push_back(link.resource);
        costs.push_back(link.ns(static_cast<double>(bytes)));
      }
    }
    const int32_t *next = resources.begin();
    for (detail::TransferTask &transfer : transfers)
      transfer.resources = std::exchange(next, next + transfer.numLinks);
    runTransfers(timeline(), members, transfers, costs, start, end);
    for (Value result : op->getResults())
      ready_[result] = end[indexOf(result)];
    ScheduledTime time;
    for (auto [first, last] : llvm::zip_equal(start, end)) {
      time.start = std::max(time.start, first);
      time.end = std::max(time.end, last);
    }
    times_.ops[op] = time;
  }

  Timeline timeline() { return {compute_, communication_, links_}; }

  const TaskGraph *tasks_;
  const TaskCosts *costs_;
  const Topology &topology_;
  std::vector<int64_t> compute_, communication_, links_;
  llvm::DenseMap<Value, int64_t> ready_;
  ScheduleTimes times_;
};

/// Launches nodes one after the other and simulates as it goes. Copies that a
/// node reads are launched before it, what moves its results behind it.
class TaskListScheduler {
public:
  TaskListScheduler(Block &block, const Topology &topology,
                    const TaskCosts &costs)
      : topology_(topology), costs_(costs),
        groups_(ScheduleSimulation::groupsOf(block)), sources_(groups_.size()),
        launched_(groups_.size(), false),
        simulation_(topology, nullptr, &costs) {
    for (auto [id, group] : llvm::enumerate(groups_))
      for (Operation *op : group)
        groupOf_[op] = id;
    for (auto [id, group] : llvm::enumerate(groups_))
      for (Operation *op : group)
        for (Value operand : op->getOperands())
          if (auto it = groupOf_.find(operand.getDefiningOp());
              it != groupOf_.end() && it->second != id)
            sources_[id].insert(it->second);
  }

  FailureOr<SmallVector<StringRef>> run(bool byCriticalPath) {
    std::vector<int64_t> toEnd(groups_.size(), 0);
    if (byCriticalPath && failed(findWaysToEnd(toEnd)))
      return failure();
    std::vector<std::set<size_t>> missing(groups_.size());
    SmallVector<size_t> waiting;
    for (size_t id = 0; id < groups_.size(); ++id)
      if (isNode(id)) {
        findNodes(id, missing[id]);
        waiting.push_back(id);
      }
    // What writes parameters stands behind all that may read them.
    for (size_t id : waiting)
      if (isWrite(id))
        for (size_t other : waiting)
          if (!isWrite(other))
            missing[id].insert(other);
    SmallVector<StringRef> order;
    while (!waiting.empty()) {
      using Key = std::tuple<int64_t, int64_t, size_t>;
      std::optional<Key> best;
      for (size_t id : waiting) {
        if (!missing[id].empty())
          continue;
        int64_t start = readyTime(id);
        if (byCriticalPath)
          for (Operation *op : groups_[id])
            start = std::max(start, simulation_.computeTime(
                                        cast<soapir::TaskOp>(op).getDevice()));
        Key key{start, -toEnd[id], id};
        if (!best || key < *best)
          best = key;
      }
      size_t id = std::get<2>(*best);
      if (failed(launch(id)))
        return failure();
      order.push_back(cast<soapir::TaskOp>(groups_[id].front()).getNode());
      llvm::erase(waiting, id);
      for (size_t other : waiting)
        missing[other].erase(id);
    }
    return order;
  }

private:
  bool isNode(size_t id) const {
    return ScheduleSimulation::isNode(groups_[id].front());
  }

  bool isWrite(size_t id) const {
    auto task = cast<soapir::TaskOp>(groups_[id].front());
    return !task.getBlock().getOps<nn::WriteOp>().empty();
  }

  /// Nodes that a group reads of, through copies and actions.
  void findNodes(size_t id, std::set<size_t> &nodes) const {
    for (size_t source : sources_[id]) {
      if (isNode(source))
        nodes.insert(source);
      else
        findNodes(source, nodes);
    }
  }

  /// When all that a node reads is there, but for the copies before it.
  int64_t readyTime(size_t id) const {
    int64_t time = 0;
    for (Operation *op : groups_[id])
      for (Value operand : op->getOperands())
        time = std::max(time, simulation_.readyTime(operand));
    for (size_t source : sources_[id])
      if (!launched_[source])
        time = std::max(time, readyTime(source));
    return time;
  }

  /// A node, what it needs that is no node, and what moves its results.
  LogicalResult launch(size_t id) {
    if (launched_[id])
      return success();
    launched_[id] = true;
    for (size_t source : sources_[id])
      if (failed(launch(source)))
        return failure();
    if (failed(simulation_.launch(groups_[id])))
      return failure();
    if (!isNode(id))
      return success();
    StringRef node = cast<soapir::TaskOp>(groups_[id].front()).getNode();
    for (size_t other = 0; other < groups_.size(); ++other) {
      Operation *first = groups_[other].front();
      auto shards = dyn_cast<soapir::ShardOpInterface>(first);
      if (!launched_[other] && !isNode(other) && shards &&
          !ScheduleSimulation::isUnpack(first) &&
          shards.getBox(0).getValue() == node && failed(launch(other)))
        return failure();
    }
    return success();
  }

  /// The longest way from the start of every group to the end of the step, were
  /// all resources free.
  LogicalResult findWaysToEnd(std::vector<int64_t> &toEnd) {
    for (size_t id = groups_.size(); id-- > 0;) {
      ScheduleSimulation alone(topology_, nullptr, &costs_);
      if (failed(alone.launch(groups_[id])))
        return failure();
      toEnd[id] += alone.stepNs();
      // Groups stand behind what they read.
      for (size_t source : sources_[id])
        toEnd[source] = std::max(toEnd[source], toEnd[id]);
    }
    return success();
  }

  const Topology &topology_;
  const TaskCosts &costs_;
  std::vector<ScheduleSimulation::Group> groups_;
  std::vector<std::set<size_t>> sources_; ///< Groups that a group reads of.
  llvm::DenseMap<Operation *, size_t> groupOf_;
  std::vector<bool> launched_;
  ScheduleSimulation simulation_;
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

FailureOr<SmallVector<StringRef>> chooseTaskOrder(func::FuncOp main,
                                                  const Topology &topology,
                                                  const CostModel &costs,
                                                  StringRef policy) {
  assert((policy == "fifo" || policy == "critical-path") && "no such policy");
  Block &block = main.getBody().front();
  TaskCosts taskCosts(block, costs);
  return TaskListScheduler(block, topology, taskCosts)
      .run(policy == "critical-path");
}

void writeTimes(const ScheduleTimes &times) {
  for (auto [op, time] : times.ops) {
    Builder builder(op->getContext());
    op->setAttr("soap.start", builder.getI64IntegerAttr(time.start));
    op->setAttr("soap.end", builder.getI64IntegerAttr(time.end));
  }
}

} // namespace soap
