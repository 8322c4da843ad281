//===- ScheduleSimulation.cpp - Simulate partitioned IR -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/ScheduleSimulation.h"
#include "BlockSimulation.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Partition/Buckets.h"
#include "soap/Testing/PlantedFault.h"
#include <map>

using namespace mlir;
using namespace soap;

/// Bytes of a shard; 0 if it is empty.
static int64_t bytesOf(Value shard) {
  return cast<soapir::ShardType>(shard.getType()).getSizeInBytes();
}

FailureOr<ScheduleTimes> BlockSimulation::run(Block &block) {
  for (ArrayRef<Operation *> group : launchGroupsOf(block))
    if (failed(launch(group)))
      return failure();
  times_.stepNs = stepNs();
  return std::move(times_);
}

int64_t BlockSimulation::stepNs() const {
  return *llvm::max_element(resources_);
}

int32_t BlockSimulation::deviceOf(Value shard) const {
  return soapir::deviceToPlan(
      cast<soapir::ShardType>(shard.getType()).getDevice(), topology_.host());
}

LogicalResult BlockSimulation::launch(ArrayRef<Operation *> group) {
  assert(!group.empty() && "a group of launchGroupsOf()");
  Operation *first = group.front();
  if (isa<soapir::CommunicationOpInterface>(first))
    return communicate(group);
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
        start.try_emplace(device, timeline_.compute[device]).first->second;
    for (Value operand : op->getOperands())
      ready = std::max(ready, ready_.lookup(operand));
  }
  for (auto [device, ns] : cost)
    timeline_.compute[device] = start[device] + ns;
  for (Operation *op : group)
    for (Value result : op->getResults()) {
      int32_t device = deviceOf(result);
      ready_[result] = timeline_.compute[device];
      if (start.count(device))
        times_.ops[op] = {start[device], timeline_.compute[device]};
    }
  return success();
}

/// Bytes of an element of a shard.
static int64_t elementBytesOf(Value shard) {
  return nn::elementBytes(
      cast<soapir::ShardType>(shard.getType()).getElementType());
}

/// What it takes to slice or to assemble.
static int64_t copyNs(Operation *op, const DeviceKind &kind) {
  Value result = op->getResult(0);
  Box box = soapir::getBox(result).getBox();
  int64_t elementBytes = elementBytesOf(result);
  if (op->getNumOperands() == 1)
    return CostModel::cutNs(box, soapir::getBox(op->getOperand(0)).getBox(),
                            static_cast<int32_t>(elementBytes), kind);
  BoxCopies copies;
  auto assemble = cast<soapir::AssembleOp>(op);
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    copies.add(assemble.getPiece(index), soapir::getBox(operand).getBox(), box,
               elementBytes);
  return CostModel::copyNs(copies, kind);
}

FailureOr<int64_t> BlockSimulation::costOf(Operation *op,
                                           int32_t device) const {
  const DeviceKind &kind = topology_.kindOf(device);
  if (isCopy(op))
    return isMadeOnce(op) && !SOAP_FAULT("init-copies-cost") ? 0
                                                             : copyNs(op, kind);
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
  size_t index = at - costs.devices.begin();
  ArrayRef<int64_t> apart = tasks_->apartNs(node);
  return costs.ns[index] + (apart.empty() ? 0 : apart[index]);
}

LogicalResult BlockSimulation::communicate(ArrayRef<Operation *> group) {
  auto op = cast<soapir::CommunicationOpInterface>(group.front());
  bool isCollective = op.getActionKind() != ActionKind::Transfer &&
                      op.getActionKind() != ActionKind::HaloExchange;
  if (isCollective)
    return collective(group);
  transfers(op);
  return success();
}

/// What the operation says: it may have been edited.
static CollectiveAlgorithm algorithmOf(Operation *op) {
  auto algorithm =
      op->getAttrOfType<soapir::CollectiveAlgorithmAttr>("algorithm");
  return algorithm ? algorithm.getValue() : CollectiveAlgorithm::Direct;
}

/// True for what is not launched ahead of its place.
static bool isHeld(Operation *op) {
  return op->hasAttr(soapir::SOAPDialect::getBeforeAttrName());
}

/// What the members of a collective copy beside it; none where nobody does.
static SmallVector<MemberCopies> copiesOf(soapir::CommunicationOpInterface op,
                                          const Topology &topology) {
  SmallVector<MemberCopies> copies;
  ActionKind kind = op.getActionKind();
  if (kind != ActionKind::AllToAll && kind != ActionKind::AllGather)
    return copies;
  SmallVector<Box> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(soapir::getBox(operand).getBox());
  for (Value result : op->getResults())
    results.push_back(soapir::getBox(result).getBox());
  CollectiveBoxes boxes{kind, {}, {}, elementBytesOf(op->getOperand(0))};
  boxes.operands.assign(operands.begin(), operands.end());
  boxes.results.assign(results.begin(), results.end());
  for (auto [member, device] : llvm::enumerate(op.getGroup()))
    copies.push_back(
        CostModel::copiesOfMember(boxes, member, topology.kindOf(device)));
  return copies;
}

/// The members pack on their compute streams; returns when all have.
int64_t BlockSimulation::pack(soapir::CommunicationOpInterface op,
                              ArrayRef<MemberCopies> copies) {
  int64_t ready = 0;
  for (auto [device, operand, copy] :
       llvm::zip(op.getGroup(), op->getOperands(), copies)) {
    if (copy.packNs == 0)
      continue;
    timeline_.compute[device] =
        std::max(timeline_.compute[device], ready_.lookup(operand)) +
        copy.packNs;
    ready = std::max(ready, timeline_.compute[device]);
  }
  return ready;
}

LogicalResult BlockSimulation::collective(ArrayRef<Operation *> ops) {
  auto op = cast<soapir::CommunicationOpInterface>(ops.front());
  bool hasPriority = op.getPriority();
  if (hasPriority && !topology_.hasPriorityStreams())
    return op->emitOpError("expected no 'priority', as the devices have no "
                           "priority streams; remove it, or add "
                           "'priority_bytes' to soap.topology");
  SmallVector<int32_t> group = op.getGroup();
  Movement moved = op.getMovements(topology_.host()).front();
  CollectiveCost cost = CostModel::collective(
      op.getActionKind(), group, moved.bytes, algorithmOf(op), topology_);
  SmallVector<MemberCopies> copies = copiesOf(op, topology_);
  int64_t ready = pack(op, copies);
  for (Operation *member : ops)
    for (Value operand : member->getOperands())
      if (bytesOf(operand) > 0)
        ready = std::max(ready, ready_.lookup(operand));
  // What a bucket reduces was made on the compute streams that copy it.
  if (isPackedBucket(op.getActionKind(), ops.size()) &&
      !SOAP_FAULT("shares-copied-free"))
    for (auto [member, bytes] : llvm::zip_equal(group, moved.bytes)) {
      timeline_.compute[member] +=
          CostModel::copyNs(bytes, topology_.kindOf(member));
      ready = std::max(ready, timeline_.compute[member]);
    }
  for (int32_t member : group)
    if (isHeld(op))
      ready = std::max(ready, timeline_.compute[member]);
  int64_t start =
      startCollective(timeline_, group, cost.links, ready, hasPriority);
  if (!SOAP_FAULT("links-free"))
    holdLinks(timeline_, cost.links, start);
  int64_t end = start + cost.ns;
  holdMembers(timeline_, group, start, end, cost.occupiesNs, hasPriority);
  for (Operation *member : ops) {
    for (Value result : member->getResults())
      ready_[result] = end;
    times_.ops[member] = {start, end};
  }
  for (auto [device, result, copy] : llvm::zip(group, op->getResults(), copies))
    if (copy.unpackNs > 0)
      ready_[result] = timeline_.compute[device] =
          std::max(timeline_.compute[device], end) + copy.unpackNs;
  return success();
}

void BlockSimulation::transfers(soapir::CommunicationOpInterface op) {
  SmallVector<int32_t> members;
  for (int32_t device : op.getGroup())
    members.push_back(soapir::deviceToPlan(device, topology_.host()));
  auto indexOf = [&](Value shard) {
    return static_cast<int32_t>(llvm::find(members, deviceOf(shard)) -
                                members.begin());
  };
  SmallVector<int64_t> start, end(members.size());
  for (int32_t device : members)
    start.push_back(isHeld(op) ? std::max(timeline_.communication[device],
                                          timeline_.compute[device])
                               : timeline_.communication[device]);
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
  runTransfers(timeline_, members, transfers, costs, start, end);
  for (Value result : op->getResults())
    ready_[result] = end[indexOf(result)];
  ScheduledTime time;
  for (auto [first, last] : llvm::zip_equal(start, end)) {
    time.start = std::max(time.start, first);
    time.end = std::max(time.end, last);
  }
  times_.ops[op] = time;
}

FailureOr<ScheduleTimes> soap::simulateSchedule(func::FuncOp main,
                                                const TaskGraph &tasks) {
  return BlockSimulation(tasks.topology(), &tasks, nullptr)
      .run(main.getBody().front());
}

FailureOr<ScheduleTimes> soap::simulateSchedule(func::FuncOp main,
                                                const Topology &topology,
                                                const CostModel &costs) {
  Block &block = main.getBody().front();
  TaskCosts taskCosts(block, costs);
  return BlockSimulation(topology, nullptr, &taskCosts).run(block);
}

void soap::writeTimes(const ScheduleTimes &times) {
  for (auto [op, time] : times.ops) {
    Builder builder(op->getContext());
    op->setAttr("soap.start", builder.getI64IntegerAttr(time.start));
    op->setAttr("soap.end", builder.getI64IntegerAttr(time.end));
  }
}
