//===- DeltaSimulator.cpp - What a change does to a step ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/DeltaSimulator.h"
#include "SimulatorPass.h"
#include "StepTails.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

DeltaSimulator::DeltaSimulator(const TaskGraph &tasks, int32_t interval)
    : tasks_(tasks), interval_(interval),
      tails_(std::make_unique<StepTails>(tasks)) {}

DeltaSimulator::~DeltaSimulator() = default;

int32_t DeltaSimulator::rowPosition(int32_t row) const {
  return std::min(row * interval_, numPositions_);
}

size_t DeltaSimulator::snapshotBytes() const {
  return (rows_.size() + nextStarts_.size()) * sizeof(int64_t) +
         tails_->bytes();
}

//===----------------------------------------------------------------------===//
// Everything
//===----------------------------------------------------------------------===//

void DeltaSimulator::prepare() {
  state_.reset(tasks_);
  numPositions_ = static_cast<int32_t>(tasks_.order().size());
  numResources_ = state_.resources.size();
  if (interval_ == 0)
    interval_ = 4;
  // Snapshots of a large machine take at most some 100 MB.
  constexpr size_t mostWords = size_t(1) << 23;
  while (numResources_ * (numPositions_ / interval_ + 2) > mostWords &&
         interval_ < 64)
    interval_ *= 2;
  numRows_ = (numPositions_ + interval_ - 1) / interval_ + 1;
  rows_.assign(numRows_ * numResources_, 0);
  nextStarts_.assign(numRows_ * numResources_, INT64_MAX);
  rowShifts_.assign(numRows_, 0);
  changedAt_.assign(numPositions_, 0);
  simulatedAt_.assign(numPositions_, 0);
  segmentShifts_.assign(numPositions_, 0);
  savedIn_.assign(state_.blocks.size(), 0);
  savedOffset_.resize(state_.blocks.size());
  shiftsBefore_.assign(numPositions_, 0);
  trial_ = 0;
  describeOrder();
  tails_->reset(interval_, numRows_, numResources_);
}

/// Uses of values that reach over rows.
void DeltaSimulator::describeOrder() {
  uses_.clear();
  crossings_.assign(numRows_, {});
  const OperatorGraph &graph = tasks_.graph();
  for (int32_t value = 0; value < graph.numValues(); ++value) {
    int32_t launched = tasks_.launchPosition(value);
    if (launched < 0)
      continue;
    auto first = static_cast<int32_t>(uses_.size());
    for (auto [index, use] : llvm::enumerate(graph.value(value).uses))
      if (int32_t reader = tasks_.rank(use.node); reader >= 0)
        uses_.push_back(
            {reader, static_cast<int32_t>(index), use.node, use.operand});
    std::stable_sort(
        uses_.begin() + first, uses_.end(),
        [](const Use &a, const Use &b) { return a.rank < b.rank; });
    auto last = static_cast<int32_t>(uses_.size());
    for (int32_t row = launched / interval_ + 1; row < numRows_; ++row) {
      while (first < last && uses_[first].rank < rowPosition(row))
        ++first;
      if (first == last)
        break;
      crossings_[row].push_back({value, first, last});
    }
  }
}

int64_t DeltaSimulator::reset() {
  assert(!open_ && "a change is on trial");
  prepare();
  commit({0, numRows_ - 1, false, 0, -1}, 0);
  resetLoads();
  sizeAtReset_ = state_.times.size();
  accepted_ = 0;
  ++statistics_.resets;
  return stepNs_;
}

//===----------------------------------------------------------------------===//
// A change
//===----------------------------------------------------------------------===//

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
         a.unpackDevices == b.unpackDevices && a.unpackNs == b.unpackNs;
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
    if (tasks_.isPending(value)) {
      add(tasks_.launchPosition(value));
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
    // Times in a block that has to move are no longer known by their slots.
    bool moves = static_cast<size_t>(state_.blocks[value].capacity) <
                 static_cast<size_t>(now.numSlots);
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
  hasPending_ = false;
  for (int32_t value : tasks_.proposedValues())
    if (tasks_.isPending(value))
      hasPending_ = true;
    else
      fitBlocksOf(value);
}

/// Makes the bounds that are asked for at some positions.
void DeltaSimulator::makeBounds(int32_t begin, int32_t end) {
  auto make = [&](int32_t value) {
    if (tasks_.isPending(value))
      fitBlocksOf(value);
  };
  for (int32_t position = begin; position < end; ++position) {
    const GraphNode &node = tasks_.graph().node(tasks_.order()[position]);
    llvm::for_each(tasks_.prefetchesAt(position), make);
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
  auto begin = state_.times.begin() + place.begin;
  savedTimes_.insert(savedTimes_.end(), begin, begin + place.capacity);
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
  for (int32_t value : tasks_.prefetchesAt(position))
    saveBlock(value);
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

void DeltaSimulator::shiftPositions(int32_t begin, int32_t end, int64_t shift) {
  for (int32_t p = begin; p < end; ++p) {
    state_.shifts[p] += shift;
    segmentShifts_[p] = shift;
  }
  segments_.push_back({begin, end, shift});
}

/// The resources at `row` when all that is launched from row `unusedSince` to
/// it is later by `shift`: those that are not used in between stay what they
/// are. The first region of a trial starts with unusedSince = -1.
void DeltaSimulator::load(int32_t row, int64_t shift, int32_t unusedSince) {
  const int64_t *now = &rows_[rowBegin(row)];
  int64_t *free = state_.resources.data();
  int64_t add = rowShifts_[row] + shift;
  if (unusedSince < 0) {
    for (size_t r = 0; r < numResources_; ++r)
      free[r] = now[r] + add;
    return;
  }
  const int64_t *then = &rows_[rowBegin(unusedSince)];
  int64_t between = rowShifts_[unusedSince] - rowShifts_[row];
  for (size_t r = 0; r < numResources_; ++r)
    if (now[r] != then[r] + between)
      free[r] = now[r] + add;
}

int64_t DeltaSimulator::cutAbove(int64_t limit) {
  ++statistics_.cut;
  trialNs_ = limit + 1;
  return trialNs_;
}

int64_t DeltaSimulator::simulate(int64_t limit) {
  if (open_)
    undo();
  if (++trial_ == 0) {
    // Numbers of trials start over: nothing may look like this one's.
    std::fill(changedAt_.begin(), changedAt_.end(), 0);
    std::fill(simulatedAt_.begin(), simulatedAt_.end(), 0);
    std::fill(savedIn_.begin(), savedIn_.end(), 0);
    trial_ = 1;
  }
  open_ = true;
  stoppedAt_ = -1;
  ++statistics_.simulations;
  sizeBefore_ = state_.times.size();
  findChanges();
  fitBlocks();
  // Recording costs a third of a simulation, and saves one if it is accepted.
  isRecorded_ = acceptance_ > 0.25;
  recordedRows_.clear();
  if (limit != INT64_MAX)
    findChangedLoads();

  int64_t shift = 0;
  int32_t convergedAt = -1;
  for (size_t next = 0; next < changed_.size();) {
    int32_t firstRow = changed_[next] / interval_;
    if (convergedAt >= 0)
      shiftPositions(rowPosition(convergedAt), rowPosition(firstRow), shift);
    load(firstRow, shift, convergedAt);
    ++statistics_.regions;
    regionRecord_ = recordedRows_.size();
    convergedAt = -1;
    int32_t row = firstRow;
    while (convergedAt < 0) {
      if (row == numRows_ - 1) {
        endRegion(firstRow, row, false, 0);
        trialNs_ =
            *std::max_element(state_.resources.begin(), state_.resources.end());
        return trialNs_;
      }
      simulateRow(row++);
      int32_t end = rowPosition(row);
      while (next < changed_.size() && changed_[next] < end)
        ++next;
      bool last = next == changed_.size();
      if (last && knowsTails(row)) {
        ++statistics_.tails;
        stoppedAt_ = row;
        stoppedRegion_ = firstRow;
        trialNs_ = endNs(row);
        return trialNs_;
      }
      if (limit != INT64_MAX) {
        passChangedLoads(end);
        if (isOverloaded(row, limit))
          return cutAbove(limit);
      }
      if (row == numRows_ - 1 || (!last && changed_[next] / interval_ == row))
        continue;
      if (converges(row, shift)) {
        convergedAt = row;
        break;
      }
      if (last && limit != INT64_MAX && staysAbove(row, limit - stepNs_ + 1))
        return cutAbove(limit);
    }
    endRegion(firstRow, convergedAt, true, shift);
  }
  trialNs_ = stepNs_ + shift;
  return trialNs_;
}

void DeltaSimulator::simulateRow(int32_t row) {
  int32_t begin = rowPosition(row), end = rowPosition(row + 1);
  if (hasPending_)
    makeBounds(begin, end);
  for (int32_t position = begin; position < end; ++position)
    save(position);
  auto launch = [&](auto &record) {
    Pass<std::decay_t<decltype(record)>, true> pass(tasks_, state_, record);
    for (int32_t position = begin; position < end; ++position)
      pass.launch(position);
  };
  if (isRecorded_) {
    size_t offset = recordedRows_.size();
    recordedRows_.append(state_.resources.begin(), state_.resources.end());
    recordedRows_.append(numResources_, INT64_MAX);
    RecordUses record;
    record.nextStarts = &recordedRows_[offset + numResources_];
    launch(record);
    // Not more memory than the rows themselves take.
    isRecorded_ = recordedRows_.size() < mostRecorded;
  } else {
    RecordNothing record;
    launch(record);
  }
  statistics_.positions += end - begin;
}

void DeltaSimulator::endRegion(int32_t firstRow, int32_t endRow, bool converged,
                               int64_t shift) {
  if (isRecorded_)
    recordedRows_.append(state_.resources.begin(), state_.resources.end());
  regions_.push_back({firstRow, endRow, converged, shift,
                      isRecorded_ ? static_cast<int64_t>(regionRecord_) : -1});
}

//===----------------------------------------------------------------------===//
// What follows the last change
//===----------------------------------------------------------------------===//

/// True if the tails of `row` are known. They are computed once simulations
/// have gone on for as many rows as that takes.
bool DeltaSimulator::knowsTails(int32_t row) {
  int32_t missing = tails_->firstKnown() - row;
  if (missing <= 0)
    return true;
  if (++rowsWithoutTails_ < missing)
    return false;
  rowsWithoutTails_ = 0;
  statistics_.tailRows += missing;
  tails_->extendTo(row);
  return true;
}

/// The step time, from the times at `row`, of which the tails are known.
int64_t DeltaSimulator::endNs(int32_t row) const {
  const int64_t *tails = tails_->ofResources(row);
  const int64_t *now = state_.resources.data();
  int64_t end = 0;
  for (size_t r = 0; r < numResources_; ++r)
    end = std::max(end, now[r] + tails[r]);
  for (const Crossing &crossing : crossings_[row]) {
    const ValueTasks &value = tasks_.valueTasks(crossing.value);
    if (value.numSlots == 0)
      continue;
    const int64_t *slots = &state_.times[state_.blocks[crossing.value].begin];
    int64_t shift = state_.shifts[tasks_.launchPosition(crossing.value)];
    for (int32_t i = crossing.firstUse; i < crossing.lastUse; ++i) {
      const UseTasks &use = value.uses[uses_[i].use];
      for (const Wait &wait : use.computeWaits)
        end = std::max(end, slots[wait.slot] + shift +
                                tails_->ofNode(uses_[i].node)[wait.at]);
      if (use.unpackWaits.empty())
        continue;
      llvm::ArrayRef<int64_t> unpacks = tails_->ofUnpacks(
          tasks_.operandIndex(uses_[i].node, uses_[i].operand));
      for (const Wait &wait : use.unpackWaits)
        end = std::max(end, slots[wait.slot] + shift + unpacks[wait.at]);
    }
  }
  return end;
}

/// Goes on where tails ended the simulation, up to where the rest is as before.
void DeltaSimulator::finish() {
  int64_t shift = 0;
  int32_t row = stoppedAt_;
  bool converged = false;
  while (row < numRows_ - 1 && !(converged = converges(row, shift)))
    simulateRow(row++);
  endRegion(stoppedRegion_, row, converged, converged ? shift : 0);
  stoppedAt_ = -1;
}

//===----------------------------------------------------------------------===//
// Is the rest as before?
//===----------------------------------------------------------------------===//

/// Calls `acceptable(old, now, start)` for every time of a value that was
/// launched before `row` and that something at or behind it waits for: when it
/// was, when it is with the change, and when what waits started. Stops at the
/// first that is not.
template <typename Accept>
bool DeltaSimulator::checkCrossings(int32_t row, Accept acceptable) const {
  for (const Crossing &crossing : crossings_[row]) {
    const ValueTasks &value = tasks_.valueTasks(crossing.value);
    if (value.numSlots == 0)
      continue;
    int32_t launched = tasks_.launchPosition(crossing.value);
    bool simulated = simulatedAt_[launched] == trial_;
    const SimulatorState::Block &block = state_.blocks[crossing.value];
    const int64_t *now = &state_.times[block.begin];
    const int64_t *old =
        simulated ? &savedTimes_[savedOffset_[crossing.value]] : now;
    int64_t nowShift = state_.shifts[launched], oldShift = nowShift;
    if (simulated)
      oldShift = shiftsBefore_[launched];
    else
      oldShift -= segmentShifts_[launched];
    for (int32_t i = crossing.firstUse; i < crossing.lastUse; ++i) {
      const auto [reader, number, id, operand] = uses_[i];
      const UseTasks &use = value.uses[number];
      if (use.computeWaits.empty() && use.unpackWaits.empty())
        continue;
      if (changedAt_[reader] == trial_)
        continue; // It will be simulated.
      const NodeTasks &node = tasks_.nodeTasks(id);
      const int64_t *nodeEnds =
          &state_.times[state_.blocks[state_.nodeBlock(id)].begin];
      const int64_t *unpackEnds =
          &state_.times
               [state_.blocks[state_.useBlock(tasks_.operandIndex(id, operand))]
                    .begin];
      int64_t readerShift = state_.shifts[reader];
      for (const Wait &wait : use.computeWaits)
        if (!acceptable(old[wait.slot] + oldShift, now[wait.slot] + nowShift,
                        nodeEnds[wait.at] + readerShift - node.ns[wait.at]))
          return false;
      for (const Wait &wait : use.unpackWaits)
        if (!acceptable(old[wait.slot] + oldShift, now[wait.slot] + nowShift,
                        unpackEnds[wait.at] + readerShift -
                            use.unpackNs[wait.at]))
          return false;
    }
  }
  return true;
}

/// True if all that is launched from `row` to the next change, or to the end,
/// is later than before by one constant.
bool DeltaSimulator::converges(int32_t row, int64_t &shift) const {
  const int64_t *old = &rows_[rowBegin(row)];
  const int64_t *next = &nextStarts_[rowBegin(row)];
  const int64_t *now = state_.resources.data();
  int64_t base = rowShifts_[row];
  size_t latest = std::max_element(now, now + numResources_) - now;
  int64_t c = now[latest] - base - old[latest];
  // What is not later by c must not have been waited for, and must not be now.
  // Most rows fail, and at the first resources.
  size_t begin = SOAP_FAULT("shift-ignores-compute") ? state_.numEnds : 0;
  for (size_t r = begin; r < numResources_;) {
    int64_t bad = 0;
    for (size_t end = std::min(numResources_, r + 16); r < end; ++r) {
      int64_t later = now[r] - base - old[r];
      bool fine =
          later == c || (old[r] < next[r] && later + old[r] - c <= next[r]);
      bad |= !fine;
    }
    if (bad)
      return false;
  }
  if (SOAP_FAULT("shift-ignores-values")) {
    shift = c;
    return true;
  }
  bool fine = checkCrossings(row, [&](int64_t was, int64_t is, int64_t start) {
    return is - was == c || (was < start && is <= start + c);
  });
  if (fine)
    shift = c;
  return fine;
}

/// True if all that is launched from `row` on is later by at least `gain`.
bool DeltaSimulator::staysAbove(int32_t row, int64_t gain) const {
  const int64_t *old = &rows_[rowBegin(row)];
  const int64_t *next = &nextStarts_[rowBegin(row)];
  const int64_t *now = state_.resources.data();
  int64_t base = rowShifts_[row];
  for (size_t r = 0; r < numResources_;) {
    int64_t bad = 0;
    for (size_t end = std::min(numResources_, r + 16); r < end; ++r)
      bad |= now[r] - base - old[r] < gain && old[r] >= next[r];
    if (bad)
      return false;
  }
  return checkCrossings(row, [&](int64_t was, int64_t is, int64_t start) {
    return is - was >= gain || was < start;
  });
}
