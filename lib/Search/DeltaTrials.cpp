//===- DeltaTrials.cpp - What a trial overwrites --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of DeltaSimulator that finds where a change on trial does something
// else than before, keeps the times that its simulation overwrites, and writes
// them back.
//
//===----------------------------------------------------------------------===//

#include "soap/Search/DeltaSimulator.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

/// True if a use does the same under two plans.
static bool doesTheSame(const UseTasks &a, const UseTasks &b) {
  auto sameWait = [](const Wait &x, const Wait &y) {
    return x.at == y.at && x.slot == y.slot;
  };
  auto sameWaits = [&](llvm::ArrayRef<Wait> x, llvm::ArrayRef<Wait> y) {
    return x.size() == y.size() &&
           std::equal(x.begin(), x.end(), y.begin(), sameWait);
  };
  return sameWaits(a.computeWaits, b.computeWaits) &&
         sameWaits(a.unpackWaits, b.unpackWaits) &&
         a.unpackDevices == b.unpackDevices && a.unpackNs == b.unpackNs &&
         a.apartNs == b.apartNs;
}

/// True if rounds begin with the same readers and slots under two plans.
static bool haveSameRounds(const ValueTasks &a, const ValueTasks &b) {
  return a.rounds.size() == b.rounds.size() &&
         std::equal(a.rounds.begin(), a.rounds.end(), b.rounds.begin(),
                    [](const RoundTasks &x, const RoundTasks &y) {
                      return x.use == y.use && x.firstSlot == y.firstSlot;
                    });
}

/// Positions at which something other than before is launched.
void DeltaSimulator::findChanges() {
  const OperatorGraph &graph = tasks_.graph();
  changed_.clear();
  auto add = [&](int32_t position) {
    if (position < 0 || changedAt_[position] == trial_)
      return;
    changedAt_[position] = trial_;
    changed_.push_back(position);
  };
  for (int32_t node : tasks_.proposedNodes())
    add(tasks_.rank(node));
  for (auto [index, value] : llvm::enumerate(tasks_.proposedValues())) {
    int32_t bucket = tasks_.bucketOf(value);
    if (tasks_.isPending(value)) {
      add(tasks_.launchPosition(value));
      // Any of its readers may start a round.
      if (graph.isStored(value) && tasks_.launchPosition(value) >= 0)
        for (auto [index, use] : llvm::enumerate(graph.value(value).uses))
          if (tasks_.rank(use.node) >= 0)
            add(tasks_.roundPosition(value, static_cast<int32_t>(index)));
      if (bucket >= 0)
        add(tasks_.bucketPosition(bucket));
      for (const GraphValue::Use &use : graph.value(value).uses)
        add(tasks_.rank(use.node));
      continue;
    }
    const ValueTasks *before = tasks_.valueBefore(index);
    const ValueTasks &now = tasks_.valueTasks(value);
    if (before == &now)
      continue;
    if (before->numSlots != 0 || now.numSlots != 0)
      add(tasks_.launchPosition(value));
    for (const ValueTasks *tasks : {before, &now})
      for (const RoundTasks &round : tasks->rounds)
        add(tasks_.roundPosition(value, round.use));
    // Times in a block that has to move are no longer known by their slots.
    bool moves = static_cast<size_t>(state_.blocks[value].capacity) <
                 static_cast<size_t>(now.numSlots);
    moves |= !haveSameRounds(*before, now);
    // What a bucket runs depends on each of its values, also on those that have
    // a bound alone.
    if (bucket >= 0 && (before->numLateSlots != 0 || now.numLateSlots != 0 ||
                        before->isBound != now.isBound)) {
      add(tasks_.bucketPosition(bucket));
      moves |=
          before->numLateSlots != now.numLateSlots ||
          static_cast<size_t>(state_.blocks[state_.lateBlock(value)].capacity) <
              static_cast<size_t>(now.numLateSlots);
    }
    for (auto [number, use] : llvm::enumerate(graph.value(value).uses)) {
      const UseTasks &tasks = now.uses[number];
      bool waits = !tasks.computeWaits.empty() || !tasks.unpackWaits.empty();
      if ((moves && waits) || !doesTheSame(before->uses[number], tasks))
        add(tasks_.rank(use.node));
    }
  }
  llvm::sort(changed_);
}

void DeltaSimulator::fitBlock(size_t block, size_t size) {
  SimulatorState::Block before = state_.blocks[block];
  state_.fit(block, size);
  if (state_.blocks[block].begin != before.begin)
    movedBlocks_.push_back({block, before});
}

void DeltaSimulator::fitBlocksOf(int32_t value) {
  const ValueTasks &now = tasks_.valueTasks(value);
  fitBlock(value, now.numSlots);
  fitBlock(state_.lateBlock(value),
           SimulatorState::numLateSlots(tasks_, value));
  for (auto [use, place] :
       llvm::zip_equal(now.uses, tasks_.graph().value(value).uses))
    fitBlock(state_.useBlock(tasks_.operandIndex(place.node, place.operand)),
             use.unpackDevices.size());
}

/// Room for the times of the change on trial. Values whose bounds were not made
/// yet follow when the simulation comes to them.
void DeltaSimulator::fitBlocks() {
  for (int32_t node : tasks_.proposedNodes())
    fitBlock(state_.nodeBlock(node), tasks_.nodeTasks(node).devices.size());
  numPending_ = 0;
  for (int32_t value : tasks_.proposedValues())
    if (tasks_.isPending(value))
      ++numPending_;
    else
      fitBlocksOf(value);
}

/// Makes the bounds that are asked for at some positions.
void DeltaSimulator::makeBounds(int32_t begin, int32_t end) {
  auto make = [&](int32_t value) {
    if (!tasks_.isPending(value))
      return;
    fitBlocksOf(value);
    --numPending_;
  };
  for (int32_t position = begin; position < end; ++position) {
    const GraphNode &node = tasks_.graph().node(tasks_.order()[position]);
    for (const TaskGraph::Prefetch &prefetch : tasks_.prefetchesAt(position))
      make(prefetch.value);
    llvm::for_each(node.operands, make);
    llvm::for_each(node.results, make);
  }
}

void DeltaSimulator::saveBlock(size_t block) {
  const SimulatorState::Block &place = state_.blocks[block];
  if (place.capacity == 0)
    return;
  size_t offset = savedTimes_.size();
  savedBlocks_.push_back({block, offset});
  savedIn_[block] = trial_;
  savedOffset_[block] = offset;
  savedTimes_.resize_for_overwrite(offset + place.capacity);
  std::copy_n(state_.times.begin() + place.begin, place.capacity,
              savedTimes_.begin() + offset);
}

/// Keeps what a launch at `position` overwrites.
void DeltaSimulator::save(int32_t position) {
  int32_t node = tasks_.order()[position];
  const GraphNode &op = tasks_.graph().node(node);
  saveBlock(state_.nodeBlock(node));
  for (size_t operand = 0; operand < op.operands.size(); ++operand)
    saveBlock(state_.useBlock(
        tasks_.operandIndex(node, static_cast<int32_t>(operand))));
  for (int32_t value : op.results)
    saveBlock(value);
  // Of several rounds of a value, the first that is launched saves them all.
  for (const TaskGraph::Prefetch &prefetch : tasks_.prefetchesAt(position))
    if (savedIn_[prefetch.value] != trial_)
      saveBlock(prefetch.value);
  for (int32_t bucket : tasks_.bucketsAt(position))
    for (int32_t value : tasks_.bucketValues(bucket))
      saveBlock(state_.lateBlock(value));
  shiftsBefore_[position] = state_.shifts[position];
  simulated_.push_back(position);
  state_.shifts[position] = 0;
  simulatedAt_[position] = trial_;
}

void DeltaSimulator::undo() {
  for (const Segment &segment : segments_)
    for (int32_t p = segment.begin; p < segment.end; ++p) {
      state_.shifts[p] -= segment.shift;
      segmentShifts_[p] = 0;
    }
  if (SOAP_FAULT("undo-forgets-block") && !savedBlocks_.empty())
    savedBlocks_.pop_back();
  for (const SavedBlock &saved : savedBlocks_) {
    const SimulatorState::Block &place = state_.blocks[saved.block];
    std::copy_n(savedTimes_.begin() + saved.offset, place.capacity,
                state_.times.begin() + place.begin);
  }
  for (int32_t position : simulated_)
    state_.shifts[position] = shiftsBefore_[position];
  for (const MovedBlock &moved : llvm::reverse(movedBlocks_))
    state_.blocks[moved.block] = moved.before;
  state_.times.resize(sizeBefore_);
  close();
}

void DeltaSimulator::close() {
  segments_.clear();
  regions_.clear();
  savedBlocks_.clear();
  savedTimes_.clear();
  simulated_.clear();
  movedBlocks_.clear();
  open_ = false;
}

void DeltaSimulator::reject() {
  if (!open_)
    return;
  undo();
  acceptance_ -= acceptance_ / 32;
}
