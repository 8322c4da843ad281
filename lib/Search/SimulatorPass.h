//===- SimulatorPass.h - One pass in launch order ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_SIMULATORPASS_H
#define SOAP_LIB_SEARCH_SIMULATORPASS_H

#include "SimulatorRecords.h"
#include "TimeArrays.h"
#include "soap/Search/SimulatorState.h"
#include "soap/Search/TaskGraph.h"
#include "soap/Search/Timeline.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

namespace soap::detail {

/// Launches nodes and values and keeps the times. `Record` sees every launch;
/// on the fast path it does nothing. With `Shifted`, the times of a launch at
/// position p of the order are kept less SimulatorState::shifts[p].
template <typename Record, bool Shifted = false>
class Pass {
public:
  Pass(const TaskGraph &tasks, SimulatorState &state, Record &record)
      : tasks_(tasks), state_(state), record_(record),
        compute_(state.resources.data()),
        communication_(compute_ + state.numEnds), times_(state.times.data()),
        blocks_(state.blocks.data()) {
    timeline_ = Timeline::of(state.resources, tasks.topology());
  }

  void run() {
    for (int32_t position = 0, e = tasks_.order().size(); position != e;
         ++position)
      launch(position);
  }

  /// All that stands at one position of the launch order.
  void launch(int32_t position) {
    int32_t node = tasks_.order()[position];
    for (const TaskGraph::Prefetch &prefetch : tasks_.prefetchesAt(position))
      if (int32_t round = prefetch.roundIn(tasks_.valueTasks(prefetch.value));
          round >= 0)
        launchValue(prefetch.value, round);
    launchNode(node);
    for (int32_t value : tasks_.graph().node(node).results)
      launchValue(value);
    for (int32_t bucket : tasks_.bucketsAt(position))
      launchBucket(bucket);
  }

  void launchNode(int32_t id) {
    const GraphNode &node = tasks_.graph().node(id);
    const NodeTasks &tasks = tasks_.nodeTasks(id);
    size_t count = tasks.devices.size();
    int32_t firstUse = tasks_.operandIndex(id, 0);
    int64_t shift = shiftAt(tasks_.rank(id));
    for (auto [operand, value] : llvm::enumerate(node.operands)) {
      const UseTasks &use =
          tasks_.valueTasks(value)
              .uses[tasks_.useIndex(id, static_cast<int32_t>(operand))];
      if (!use.unpackDevices.empty())
        copy(use.unpackDevices, use.unpackNs, use.unpackWaits, slotsOf(value),
             {times_ + blocks_[state_.useBlock(firstUse + operand)].begin,
              shift});
    }
    int64_t *ready = readyFor(count);
    bool isRow = tasks.isRow();
    if (isRow)
      std::copy_n(compute_ + tasks.devices.front(), count, ready);
    else
      for (size_t i = 0; i < count; ++i)
        ready[i] = compute_[tasks.devices[i]];
    for (auto [operand, value] : llvm::enumerate(node.operands)) {
      const UseTasks &use =
          tasks_.valueTasks(value)
              .uses[tasks_.useIndex(id, static_cast<int32_t>(operand))];
      if (!use.computeWaits.empty())
        wait(use.computeWaits, slotsOf(value), ready);
    }
    int64_t *ends = times_ + blocks_[state_.nodeBlock(id)].begin;
    llvm::ArrayRef<int64_t> ns = tasks.ns, apart = tasks_.apartNs(id);
    if (LLVM_UNLIKELY(!apart.empty()))
      ns = sums(ns, apart);
    if (isRow) {
      record_.useRow(tasks.devices.front(), ready, count);
      endTasks(ready, ns.data(), shift, compute_ + tasks.devices.front(), ends,
               count);
    } else {
      for (size_t i = 0; i < count; ++i) {
        record_.use(tasks.devices[i], ready[i]);
        int64_t end = ready[i] + ns[i];
        ends[i] = end - shift;
        compute_[tasks.devices[i]] = end;
      }
    }
    record_.compute(tasks.devices, ready, ns);
  }

  /// When all that a node reads is there.
  int64_t readyTime(int32_t id) const {
    const GraphNode &node = tasks_.graph().node(id);
    int64_t time = 0;
    for (auto [operand, value] : llvm::enumerate(node.operands)) {
      int32_t producer = tasks_.graph().value(value).producer;
      if (tasks_.rank(producer) >= 0) {
        const int64_t *ends =
            times_ + blocks_[state_.nodeBlock(producer)].begin;
        for (size_t i = 0; i < tasks_.nodeTasks(producer).devices.size(); ++i)
          time = std::max(time, ends[i] + shiftAt(tasks_.rank(producer)));
      }
      const UseTasks &use =
          tasks_.valueTasks(value)
              .uses[tasks_.useIndex(id, static_cast<int32_t>(operand))];
      Slots slots = slotsOf(value);
      for (llvm::ArrayRef<Wait> waits : {use.unpackWaits, use.computeWaits})
        for (const Wait &wait : waits)
          time = std::max(time, slots.at(wait.slot));
    }
    return time;
  }

  /// A round of a value.
  void launchValue(int32_t value, int32_t round = 0) {
    const ValueTasks &tasks = tasks_.valueTasks(value);
    if (tasks.numSlots == 0)
      return;
    int64_t *slots = timesOf(value);
    // A value is launched with its producer, or its producer does not compute.
    int32_t node = tasks_.graph().value(value).producer;
    const int64_t *producer = times_ + blocks_[state_.nodeBlock(node)].begin;
    int64_t shift = shiftOfRound(value, round);
    bool inBucket = tasks_.bucketOf(value) >= 0;
    if (round == 0 && !tasks.reduceDevices.empty())
      copy(tasks.reduceDevices, tasks.reduceNs, {}, Slots(slots, shift),
           {slots + tasks.reduceSlot, shift});
    for (const ActionTasks &action : tasks.actionsOf(round)) {
      if (!action.packDevices.empty())
        copy(action.packDevices, action.packNs, action.packWaits,
             Slots(slots, shift), {slots + action.packSlot, shift});
      if (action.devices.empty())
        continue; // The copies for a drain.
      if (inBucket && action.joinsBuckets) {
        slots[action.slot] = inputsOf(action, slots, producer, shift) - shift;
        continue;
      }
      // A round is not gathered ahead of its place: there, memory is free.
      bool held = round > 0;
      switch (action.form) {
      case ActionTasks::Form::Collective:
        collective(action, slots, producer, shift, held);
        break;
      case ActionTasks::Form::Transfers:
        transfers(action, slots, producer, shift, held);
        break;
      case ActionTasks::Form::Receipt:
        receipt(action, slots, producer, tasks_.nodeTasks(node),
                tasks_.rank(node) >= 0, shift, /*holds=*/!inBucket);
        break;
      }
    }
  }

  /// Every collective starts when the inputs of all its members are there, and
  /// lie where it reads them.
  void launchBucket(int32_t bucket) {
    int64_t shift = shiftAt(tasks_.bucketPosition(bucket));
    for (const BucketAction &action : tasks_.bucketTasks(bucket).actions) {
      int64_t ready = 0;
      for (auto [index, member] : llvm::enumerate(action.members)) {
        if (SOAP_FAULT("bucket-too-early") && index > 0 &&
            index + 1 == action.members.size())
          continue;
        ready = std::max(ready, timesOf(member.value)[member.slot] +
                                    shiftOfRound(member.value, 0));
      }
      if (!action.packNs.empty())
        ready = std::max(ready, pack(action));
      int64_t end = hold(action.devices, action.links, ready, action.ns,
                         action.occupiesNs, action.hasPriority);
      for (const BucketAction::Member &member : action.members)
        std::fill_n(times_ + blocks_[state_.lateBlock(member.value)].begin +
                        member.slot,
                    action.devices.size(), end - shift);
    }
  }

private:
  /// Slots of a value. Those before `numLate` stand in its late block.
  struct Slots {
    Slots(const int64_t *times, int64_t shift) : times(times), shift(shift) {}
    int64_t at(int32_t slot) const {
      if (LLVM_UNLIKELY(slot < numLate))
        return late[slot] + lateShift;
      if (LLVM_UNLIKELY(slot >= laterRounds))
        return times[slot] + pass->shiftOfSlot(value, slot);
      return times[slot] + shift;
    }
    const int64_t *times, *late = nullptr;
    int64_t shift, lateShift = 0;
    int32_t numLate = 0, laterRounds = INT32_MAX;
    /// @{ Of slots from `laterRounds` on.
    int32_t value = -1;
    const Pass *pass = nullptr;
    /// @}
  };
  Slots slotsOf(int32_t value) const {
    Slots slots(timesOf(value), shiftOfRound(value, 0));
    if (Shifted) {
      llvm::ArrayRef<RoundTasks> rounds = tasks_.valueTasks(value).rounds;
      if (LLVM_UNLIKELY(!rounds.empty())) {
        slots.laterRounds = rounds.front().firstSlot;
        slots.value = value;
        slots.pass = this;
      }
    }
    if (int32_t bucket = tasks_.bucketOf(value); LLVM_UNLIKELY(bucket >= 0)) {
      slots.numLate = tasks_.valueTasks(value).numLateSlots;
      slots.late = times_ + blocks_[state_.lateBlock(value)].begin;
      slots.lateShift = shiftAt(tasks_.bucketPosition(bucket));
    }
    return slots;
  }

  NumberedUses<Record> uses() {
    return {record_, state_.numEnds, state_.firstPriority};
  }
  int64_t shiftAt(int32_t position) const {
    if constexpr (Shifted)
      return state_.shifts[position];
    return 0;
  }
  int64_t shiftOfRound(int32_t value, int32_t round) const {
    if constexpr (Shifted) {
      if (LLVM_UNLIKELY(round > 0))
        return state_.shifts[tasks_.roundPosition(
            value, tasks_.valueTasks(value).rounds[round - 1].use)];
      if (int32_t position = tasks_.launchPosition(value); position >= 0)
        return state_.shifts[position];
    }
    return 0;
  }
  int64_t shiftOfSlot(int32_t value, int32_t slot) const {
    return shiftOfRound(value, tasks_.valueTasks(value).roundOfSlot(slot));
  }
  int64_t *timesOf(int32_t value) const {
    return times_ + blocks_[value].begin;
  }
  int64_t *readyFor(size_t count) {
    if (state_.ready.size() < count)
      state_.ready.resize(count);
    return state_.ready.data();
  }
  llvm::ArrayRef<int64_t> sums(llvm::ArrayRef<int64_t> a,
                               llvm::ArrayRef<int64_t> b) {
    state_.sums.resize(a.size());
    for (size_t i = 0; i < a.size(); ++i)
      state_.sums[i] = a[i] + b[i];
    return state_.sums;
  }
  static void wait(llvm::ArrayRef<Wait> waits, const Slots &slots,
                   int64_t *ready) {
    for (const Wait &wait : waits)
      ready[wait.at] = std::max(ready[wait.at], slots.at(wait.slot));
  }

  /// Times as they are stored, `shift` too early.
  struct Stored {
    int64_t *times;
    int64_t shift;
  };
  /// A compute step on some devices that waits for `slots` and whose ends go to
  /// `ends`.
  void copy(llvm::ArrayRef<int32_t> devices, llvm::ArrayRef<int64_t> ns,
            llvm::ArrayRef<Wait> waits, const Slots &slots, Stored ends) {
    size_t count = devices.size();
    int64_t *ready = readyFor(count);
    for (size_t i = 0; i < count; ++i)
      ready[i] = compute_[devices[i]];
    wait(waits, slots, ready);
    for (size_t i = 0; i < count; ++i) {
      record_.use(devices[i], ready[i]);
      int64_t end = ready[i] + ns[i];
      compute_[devices[i]] = end;
      ends.times[i] = end - ends.shift;
    }
    record_.copy(devices, ready, ns);
  }

  /// Copies the shares of a bucket to their chunks; returns when all devices
  /// have. They were made on the compute streams that copy them.
  int64_t pack(const BucketAction &action) {
    size_t count = action.devices.size();
    int64_t *start = readyFor(count), end = 0;
    for (size_t i = 0; i < count; ++i) {
      int64_t &stream = compute_[action.devices[i]];
      record_.use(action.devices[i], start[i] = stream);
      stream += action.packNs[i];
      end = std::max(end, stream);
    }
    record_.copy(action.devices, start, action.packNs);
    return end;
  }

  /// When all that a collective reads is there.
  static int64_t inputsOf(const ActionTasks &action, const int64_t *slots,
                          const int64_t *producer, int64_t shift) {
    int64_t time = 0;
    for (const Wait &wait : action.moveWaits)
      time = std::max(time, slots[wait.slot] + shift);
    for (const Wait &wait : action.producerWaits)
      time = std::max(time, producer[wait.slot] + shift);
    return time;
  }

  /// Runs a collective whose inputs are there at `ready`; returns its end.
  int64_t hold(llvm::ArrayRef<int32_t> devices, llvm::ArrayRef<LinkUse> links,
               int64_t ready, int64_t ns, int64_t occupiesNs,
               bool hasPriority) {
    int64_t start =
        startCollective(timeline_, devices, links, ready, hasPriority);
    if (!SOAP_FAULT("collective-links-free"))
      holdLinks(timeline_, links, start, uses());
    int64_t end = start + ns;
    holdMembers(timeline_, devices, start, end, occupiesNs, hasPriority,
                uses());
    record_.collective(devices, start, end);
    return end;
  }

  void collective(const ActionTasks &action, int64_t *slots,
                  const int64_t *producer, int64_t shift, bool held) {
    int64_t ready = inputsOf(action, slots, producer, shift);
    for (size_t i = 0; held && i < action.devices.size(); ++i)
      ready = std::max(ready, compute_[action.devices[i]]);
    for (size_t i = 0; held && i < action.devices.size(); ++i)
      record_.use(action.devices[i], ready);
    int64_t end = hold(action.devices, action.links, ready, action.ns,
                       action.occupiesNs, action.hasPriority);
    std::fill_n(slots + action.slot, action.devices.size(), end - shift);
  }

  void transfers(const ActionTasks &action, int64_t *slots,
                 const int64_t *producer, int64_t shift, bool held) {
    size_t count = action.devices.size();
    int64_t *start = readyFor(2 * count), *end = start + count;
    for (size_t i = 0; i < count; ++i) {
      int32_t device = action.devices[i];
      start[i] = communication_[device];
      if (held) {
        start[i] = std::max(start[i], compute_[device]);
        record_.use(device, start[i]);
      }
    }
    // Only a device that sends waits for its inputs; these waits name none but
    // senders.
    wait(action.moveWaits, Slots(slots, shift), start);
    wait(action.producerWaits, Slots(producer, shift), start);
    runTransfers(timeline_, action.devices, action.transfers, action.costs,
                 {start, count}, {end, count}, uses());
    for (size_t i = 0; i < count; ++i)
      slots[action.slot + i] = end[i] - shift;
    record_.transfers(action, start, end);
  }

  /// Members appear once per receipt: what one receives for several readers may
  /// be the same. What may come in a bucket comes later and with others, so
  /// that it does not hold streams; nor does what may come with priority, which
  /// does not wait for them either.
  void receipt(const ActionTasks &action, int64_t *slots,
               const int64_t *producer, const NodeTasks &producerTasks,
               bool producerComputes, int64_t shift, bool holds) {
    int64_t source = 0;
    if (producerComputes) {
      source = INT64_MAX;
      for (size_t i = 0; i < producerTasks.devices.size(); ++i)
        source = std::min(source, producer[i] + shift);
    }
    size_t count = action.devices.size();
    int64_t *end = readyFor(count);
    for (size_t i = 0; i < count; ++i) {
      int32_t device = action.devices[i];
      int64_t start = source;
      if (!action.hasPriority) {
        start = std::max(start, communication_[device]);
        record_.use(state_.numEnds + device, start);
      }
      end[i] =
          std::max(start + action.receiptNs[i], source + action.chainNs[i]);
      slots[action.slot + i] = end[i] - shift;
    }
    for (size_t i = 0; holds && !action.hasPriority && i < count; ++i) {
      int64_t &free = communication_[action.devices[i]];
      free = std::max(free, end[i]);
    }
  }

  const TaskGraph &tasks_;
  SimulatorState &state_;
  Record &record_;
  int64_t *compute_, *communication_, *times_;
  Timeline timeline_;
  const SimulatorState::Block *blocks_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_SIMULATORPASS_H
