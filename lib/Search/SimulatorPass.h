//===- SimulatorPass.h - One pass in launch order ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_SIMULATORPASS_H
#define SOAP_LIB_SEARCH_SIMULATORPASS_H

#include "soap/Search/Simulator.h"
#include <algorithm>

namespace soap::detail {

/// Where a pass keeps its times.
struct SimulatorState {
  std::vector<int64_t> &compute, &communication, &links;
  std::vector<int64_t> &nodeEnds, &slots;
  std::vector<int32_t> &nodeBase, &slotBase;
  std::vector<int64_t> &ready;

  void reset(const TaskGraph &tasks) {
    const Topology &topology = tasks.topology();
    const OperatorGraph &graph = tasks.graph();
    compute.assign(topology.numDevices() + 1, 0);
    communication.assign(topology.numDevices() + 1, 0);
    links.assign(topology.numResources(), 0);
    nodeBase.resize(graph.numNodes());
    slotBase.resize(graph.numValues());
    int32_t base = 0;
    for (int32_t id = 0; id < graph.numNodes(); ++id) {
      nodeBase[id] = base;
      base += static_cast<int32_t>(tasks.nodeTasks(id).devices.size());
    }
    nodeEnds.assign(base, 0);
    base = 0;
    for (int32_t id = 0; id < graph.numValues(); ++id) {
      slotBase[id] = base;
      base += tasks.valueTasks(id).numSlots;
    }
    slots.assign(base, 0);
  }
};

/// One pass in launch order. `Record` sees every node with its times; on the
/// fast path it does nothing.
template <typename Record>
class Pass {
public:
  Pass(const TaskGraph &tasks, SimulatorState &state, Record &record)
      : tasks_(tasks), ready_(state.ready), record_(record) {
    state.reset(tasks);
    compute_ = state.compute.data();
    communication_ = state.communication.data();
    links_ = state.links.data();
    nodeEnds_ = state.nodeEnds.data();
    nodeBase_ = state.nodeBase.data();
    slots_ = state.slots.data();
    slotBase_ = state.slotBase.data();
  }

  void run() {
    llvm::ArrayRef<int32_t> order = tasks_.order();
    for (size_t position = 0; position < order.size(); ++position) {
      for (int32_t value : tasks_.prefetchesAt(static_cast<int32_t>(position)))
        launchValue(value);
      launchNode(order[position]);
      for (int32_t value : tasks_.graph().node(order[position]).results)
        launchValue(value);
    }
  }

  void launchNode(int32_t id) {
    const GraphNode &node = tasks_.graph().node(id);
    const NodeTasks &tasks = tasks_.nodeTasks(id);
    size_t count = tasks.devices.size();
    for (size_t operand = 0; operand < node.operands.size(); ++operand) {
      int32_t value = node.operands[operand];
      const UseTasks &use =
          tasks_.valueTasks(value)
              .uses[tasks_.useIndex(id, static_cast<int32_t>(operand))];
      if (!use.unpackDevices.empty())
        unpack(value, use);
    }
    int64_t *ready = readyFor(count);
    for (size_t i = 0; i < count; ++i)
      ready[i] = compute_[tasks.devices[i]];
    for (size_t operand = 0; operand < node.operands.size(); ++operand) {
      int32_t value = node.operands[operand];
      const UseTasks &use =
          tasks_.valueTasks(value)
              .uses[tasks_.useIndex(id, static_cast<int32_t>(operand))];
      const int64_t *slots = slots_ + slotBase_[value];
      for (const Wait &wait : use.computeWaits)
        ready[wait.at] = std::max(ready[wait.at], slots[wait.slot]);
    }
    int64_t *ends = nodeEnds_ + nodeBase_[id];
    for (size_t i = 0; i < count; ++i) {
      ends[i] = ready[i] + tasks.ns[i];
      compute_[tasks.devices[i]] = ends[i];
    }
    record_.compute(tasks.devices, ready, ends);
  }

  /// When all that a node reads is there.
  int64_t readyTime(int32_t id) const {
    const GraphNode &node = tasks_.graph().node(id);
    int64_t time = 0;
    for (size_t operand = 0; operand < node.operands.size(); ++operand) {
      int32_t value = node.operands[operand];
      int32_t producer = tasks_.graph().value(value).producer;
      for (size_t i = 0; i < tasks_.nodeTasks(producer).devices.size(); ++i)
        time = std::max(time, nodeEnds_[nodeBase_[producer] + i]);
      const UseTasks &use =
          tasks_.valueTasks(value)
              .uses[tasks_.useIndex(id, static_cast<int32_t>(operand))];
      const int64_t *slots = slots_ + slotBase_[value];
      for (const Wait &wait : use.unpackWaits)
        time = std::max(time, slots[wait.slot]);
      for (const Wait &wait : use.computeWaits)
        time = std::max(time, slots[wait.slot]);
    }
    return time;
  }

  void launchValue(int32_t value) {
    const ValueTasks &tasks = tasks_.valueTasks(value);
    if (tasks.numSlots == 0)
      return;
    int64_t *slots = slots_ + slotBase_[value];
    const int64_t *producer =
        nodeEnds_ + nodeBase_[tasks_.graph().value(value).producer];
    if (!tasks.reduceDevices.empty())
      copy(tasks.reduceDevices, tasks.reduceNs, nullptr, slots,
           slots + tasks.reduceSlot);
    for (const ActionTasks &action : tasks.actions) {
      if (!action.packDevices.empty())
        copy(action.packDevices, action.packNs, &action.packWaits, slots,
             slots + action.packSlot);
      if (action.devices.empty())
        continue; // The copies for a drain.
      if (action.isCollective)
        collective(action, slots, producer);
      else
        transfers(action, slots, producer);
    }
  }

private:
  int64_t *readyFor(size_t count) {
    if (ready_.size() < count)
      ready_.resize(count);
    return ready_.data();
  }

  /// A compute step on some devices whose ends go to `ends`.
  void copy(const std::vector<int32_t> &devices, const std::vector<int64_t> &ns,
            const std::vector<Wait> *waits, const int64_t *slots,
            int64_t *ends) {
    size_t count = devices.size();
    int64_t *ready = readyFor(count);
    for (size_t i = 0; i < count; ++i)
      ready[i] = compute_[devices[i]];
    if (waits)
      for (const Wait &wait : *waits)
        ready[wait.at] = std::max(ready[wait.at], slots[wait.slot]);
    for (size_t i = 0; i < count; ++i) {
      int64_t end = ready[i] + ns[i];
      compute_[devices[i]] = end;
      if (ends)
        ends[i] = end;
    }
    record_.copy(devices, ready, ns);
  }

  void unpack(int32_t value, const UseTasks &use) {
    copy(use.unpackDevices, use.unpackNs, &use.unpackWaits,
         slots_ + slotBase_[value], nullptr);
  }

  void collective(const ActionTasks &action, int64_t *slots,
                  const int64_t *producer) {
    int64_t start = 0;
    for (int32_t device : action.devices)
      start = std::max(start, communication_[device]);
    for (const Wait &wait : action.moveWaits)
      start = std::max(start, slots[wait.slot]);
    for (const Wait &wait : action.producerWaits)
      start = std::max(start, producer[wait.slot]);
    for (const LinkUse &use : action.links)
      start = std::max(start, links_[use.resource]);
    for (const LinkUse &use : action.links)
      links_[use.resource] = start + use.ns;
    int64_t end = start + action.ns;
    for (size_t i = 0; i < action.devices.size(); ++i) {
      slots[action.slot + i] = end;
      communication_[action.devices[i]] = end;
      compute_[action.devices[i]] += action.occupiesNs;
    }
    record_.collective(action, start, end);
  }

  void transfers(const ActionTasks &action, int64_t *slots,
                 const int64_t *producer) {
    size_t count = action.devices.size();
    int64_t *start = readyFor(count);
    int64_t *end = slots + action.slot;
    for (size_t i = 0; i < count; ++i)
      start[i] = communication_[action.devices[i]];
    // Only a device that sends waits for its inputs; these waits name none but
    // senders.
    for (const Wait &wait : action.moveWaits)
      start[wait.at] = std::max(start[wait.at], slots[wait.slot]);
    for (const Wait &wait : action.producerWaits)
      start[wait.at] = std::max(start[wait.at], producer[wait.slot]);
    for (size_t i = 0; i < count; ++i)
      end[i] = start[i];
    for (const TransferTask &transfer : action.transfers) {
      int64_t begin = std::max(start[transfer.source], start[transfer.target]);
      for (int32_t i = transfer.linkBegin; i < transfer.linkEnd; ++i)
        begin = std::max(begin, links_[action.links[i].resource]);
      for (int32_t i = transfer.linkBegin; i < transfer.linkEnd; ++i)
        links_[action.links[i].resource] = begin + action.links[i].ns;
      int64_t done = begin + transfer.latencyNs + transfer.ns;
      end[transfer.source] = std::max(end[transfer.source], done);
      end[transfer.target] = std::max(end[transfer.target], done);
      compute_[action.devices[transfer.target]] += transfer.occupiesNs;
    }
    for (size_t i = 0; i < count; ++i)
      communication_[action.devices[i]] = end[i];
    record_.transfers(action, start, end);
  }

  const TaskGraph &tasks_;
  int64_t *compute_, *communication_, *links_, *nodeEnds_;
  const int32_t *nodeBase_;
  int64_t *slots_;
  const int32_t *slotBase_;
  std::vector<int64_t> &ready_;
  Record &record_;
};

struct RecordNothing {
  void compute(const std::vector<int32_t> &, const int64_t *, const int64_t *) {
  }
  void copy(const std::vector<int32_t> &, const int64_t *,
            const std::vector<int64_t> &) {}
  void collective(const ActionTasks &, int64_t, int64_t) {}
  void transfers(const ActionTasks &, const int64_t *, const int64_t *) {}
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_SIMULATORPASS_H
