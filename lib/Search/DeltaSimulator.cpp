//===- DeltaSimulator.cpp - What a change does to a step ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/DeltaSimulator.h"
#include "RowsToCheck.h"
#include "SimulatorPass.h"
#include "StepTails.h"
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
    int32_t launched = tasks_.earliestPosition(value);
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
  knownSlacks_.assign(graph.numValues(), {});
  slacks_.resize(uses_.size());
  crossingBuckets_.assign(numRows_, {});
  for (int32_t bucket = 0; bucket < tasks_.numBuckets(); ++bucket) {
    int32_t first = tasks_.launchPosition(tasks_.bucketValues(bucket).front());
    for (int32_t row = first / interval_ + 1;
         row <= tasks_.bucketPosition(bucket) / interval_; ++row)
      crossingBuckets_[row].push_back(bucket);
  }
}

int64_t DeltaSimulator::reset() {
  assert(!open_ && "a change is on trial");
  prepare();
  commit({0, numRows_ - 1, /*converged=*/false, /*shift=*/0,
          /*recordedAt=*/-1},
         0);
  resetLoads();
  sizeAtReset_ = state_.times.size();
  accepted_ = 0;
  ++statistics_.resets;
  return stepNs_;
}

//===----------------------------------------------------------------------===//
// A change
//===----------------------------------------------------------------------===//

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
    beginChangedLoads();

  int64_t shift = 0;
  int32_t convergedAt = -1;
  for (size_t next = 0; next < changed_.size();) {
    int32_t firstRow = changed_[next] / interval_;
    if (convergedAt >= 0)
      shiftPositions(rowPosition(convergedAt), rowPosition(firstRow), shift);
    load(firstRow, shift, convergedAt);
    if (limit != INT64_MAX && isOverloaded(firstRow, limit))
      return cutAbove(limit);
    ++statistics_.regions;
    regionRecord_ = recordedRows_.size();
    convergedAt = -1;
    int32_t row = firstRow;
    RowsToCheck toCheck(row);
    while (convergedAt < 0) {
      if (row == numRows_ - 1) {
        endRegion(firstRow, row, std::nullopt);
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
      if (row == numRows_ - 1 || !toCheck.has(row) ||
          (!last && changed_[next] / interval_ == row))
        continue;
      if (converges(row, shift)) {
        convergedAt = row;
        break;
      }
      if (last && limit != INT64_MAX && staysAbove(row, limit - stepNs_ + 1))
        return cutAbove(limit);
      toCheck.passed(row);
    }
    endRegion(firstRow, convergedAt, shift);
  }
  trialNs_ = stepNs_ + shift;
  return trialNs_;
}

void DeltaSimulator::simulateRow(int32_t row) {
  int32_t begin = rowPosition(row), end = rowPosition(row + 1);
  if (numPending_ != 0)
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

void DeltaSimulator::endRegion(int32_t firstRow, int32_t endRow,
                               std::optional<int64_t> shift) {
  if (isRecorded_)
    recordedRows_.append(state_.resources.begin(), state_.resources.end());
  regions_.push_back({firstRow, endRow, shift.has_value(), shift.value_or(0),
                      isRecorded_ ? static_cast<int64_t>(regionRecord_) : -1});
}
