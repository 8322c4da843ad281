//===- DeltaEnds.cpp - What follows a change ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of DeltaSimulator that knows the end of a step without simulating
// it: by tails behind the last change, or because the rest is as before.
//
//===----------------------------------------------------------------------===//

#include "RowsToCheck.h"
#include "StepTails.h"
#include "TimeArrays.h"
#include "soap/Search/DeltaSimulator.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

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
  int64_t end = largestSum(state_.resources.data(), tails, numResources_);
  for (const Crossing &crossing : crossings_[row]) {
    const ValueTasks &value = tasks_.valueTasks(crossing.value);
    if (value.numSlots == 0)
      continue;
    int32_t launched = tasks_.launchPosition(crossing.value);
    bool inRounds = !value.rounds.empty();
    if (!inRounds && launched >= rowPosition(row) &&
        !SOAP_FAULT("tails-of-later-values"))
      continue; // It moves at its first reader, behind the row.
    const int64_t *slots = &state_.times[state_.blocks[crossing.value].begin];
    int64_t shift = state_.shifts[launched];
    LateSlots late = lateSlotsOf(crossing.value, row);
    auto reach = [&](const Wait &wait, int64_t tail) {
      if (LLVM_UNLIKELY(inRounds)) {
        int32_t at = tasks_.slotPosition(crossing.value, wait.slot);
        if (at < rowPosition(row))
          end = std::max(end, slots[wait.slot] + state_.shifts[at] + tail);
        return;
      }
      if (wait.slot >= late.count)
        end = std::max(end, slots[wait.slot] + shift + tail);
      else if (!late.follow)
        end = std::max(end, state_.slotEnd(tasks_, crossing.value, wait.slot) +
                                tail);
    };
    for (int32_t i = crossing.firstUse; i < crossing.lastUse; ++i) {
      const UseTasks &use = value.uses[uses_[i].use];
      for (const Wait &wait : use.computeWaits)
        reach(wait, tails_->ofNode(uses_[i].node)[wait.at]);
      if (use.unpackWaits.empty())
        continue;
      llvm::ArrayRef<int64_t> unpacks = tails_->ofUnpacks(
          tasks_.operandIndex(uses_[i].node, uses_[i].operand));
      for (const Wait &wait : use.unpackWaits)
        reach(wait, unpacks[wait.at]);
    }
  }
  for (int32_t bucket : crossingBuckets_[row])
    for (auto [action, tail] : llvm::zip_equal(
             tasks_.bucketTasks(bucket).actions, tails_->ofBucket(bucket)))
      for (const BucketAction::Member &member : action.members)
        if (int32_t at = tasks_.launchPosition(member.value);
            at < rowPosition(row))
          end = std::max(
              end,
              state_.times[state_.blocks[member.value].begin + member.slot] +
                  state_.shifts[at] + tail);
  return end;
}

/// Goes on where tails ended the simulation, up to where the rest is as before.
void DeltaSimulator::finish() {
  int64_t shift = 0;
  int32_t row = stoppedAt_;
  bool converged = false;
  RowsToCheck toCheck(row - 1);
  while (row < numRows_ - 1) {
    if (toCheck.has(row)) {
      if (converges(row, shift)) {
        converged = true;
        break;
      }
      toCheck.passed(row);
    }
    simulateRow(row++);
  }
  endRegion(stoppedRegion_, row,
            converged ? std::optional(shift) : std::nullopt);
  stoppedAt_ = -1;
}

//===----------------------------------------------------------------------===//
// Is the rest as before?
//===----------------------------------------------------------------------===//

DeltaSimulator::CrossingTimes DeltaSimulator::timesAt(size_t block,
                                                      int32_t launched) const {
  CrossingTimes times;
  times.now = times.old = &state_.times[state_.blocks[block].begin];
  times.nowShift = times.oldShift = state_.shifts[launched];
  if (simulatedAt_[launched] == trial_) {
    times.old = &savedTimes_[savedOffset_[block]];
    times.oldShift = shiftsBefore_[launched];
  } else {
    times.oldShift -= segmentShifts_[launched];
  }
  return times;
}

DeltaSimulator::LateSlots DeltaSimulator::lateSlotsOf(int32_t value,
                                                      int32_t row) const {
  int32_t bucket = tasks_.bucketOf(value);
  if (bucket < 0)
    return {};
  int32_t launched = tasks_.bucketPosition(bucket);
  return {tasks_.valueTasks(value).numLateSlots, launched,
          launched >= rowPosition(row)};
}

/// checkCrossings() of what a bucket behind `row` waits for.
template <typename Accept>
bool DeltaSimulator::checkBucket(int32_t row, int32_t bucket,
                                 Accept acceptable) const {
  int32_t launched = tasks_.bucketPosition(bucket);
  if (changedAt_[launched] == trial_)
    return true; // It will be simulated.
  for (const BucketAction &action : tasks_.bucketTasks(bucket).actions)
    for (const BucketAction::Member &member : action.members) {
      int32_t at = tasks_.launchPosition(member.value);
      if (at >= rowPosition(row))
        break;
      CrossingTimes times = timesAt(member.value, at);
      int64_t start =
          state_.slotEnd(tasks_, member.value, member.slot) - action.ns;
      if (!acceptable(times.oldAt(member.slot), times.nowAt(member.slot),
                      start))
        return false;
    }
  return true;
}

/// Calls `each(wait, start)` for every slot of a value that a use of it, which
/// is not simulated, waits for, and when what waits started; false as soon as
/// `each` is.
template <typename Each>
bool DeltaSimulator::forEachWait(const ValueTasks &value, const Use &of,
                                 Each each) const {
  const UseTasks &use = value.uses[of.use];
  if (use.computeWaits.empty() && use.unpackWaits.empty())
    return true;
  const NodeTasks &node = tasks_.nodeTasks(of.node);
  llvm::ArrayRef<int64_t> apart = tasks_.apartNs(of.node);
  auto endsOf = [&](size_t block) {
    return &state_.times[state_.blocks[block].begin];
  };
  const int64_t *nodeEnds = endsOf(state_.nodeBlock(of.node));
  const int64_t *unpackEnds =
      endsOf(state_.useBlock(tasks_.operandIndex(of.node, of.operand)));
  int64_t shift = state_.shifts[of.rank];
  for (const Wait &wait : use.computeWaits)
    if (!each(wait, nodeEnds[wait.at] + shift - node.ns[wait.at] -
                        (apart.empty() ? 0 : apart[wait.at])))
      return false;
  for (const Wait &wait : use.unpackWaits)
    if (!each(wait, unpackEnds[wait.at] + shift - use.unpackNs[wait.at]))
      return false;
  return true;
}

/// The least time between a slot of a value that is not simulated, at `times`,
/// and what waits for it, of these uses; none if one of them is simulated.
std::optional<int64_t> DeltaSimulator::slackOf(const Crossing &crossing,
                                               const CrossingTimes &times) {
  KnownSlack &known = knownSlacks_[crossing.value];
  if (known.accepted != accepted_)
    known = {accepted_, crossing.lastUse};
  const ValueTasks &value = tasks_.valueTasks(crossing.value);
  constexpr int64_t longest = INT64_MAX / 4; // Of what nothing waits for.
  while (known.firstUse > crossing.firstUse) {
    int32_t use = known.firstUse - 1;
    if (changedAt_[uses_[use].rank] == trial_)
      return std::nullopt;
    int64_t slack =
        known.firstUse == crossing.lastUse ? longest : slacks_[known.firstUse];
    forEachWait(value, uses_[use], [&](const Wait &wait, int64_t start) {
      slack = std::min(slack, start - times.oldAt(wait.slot));
      return true;
    });
    slacks_[use] = slack;
    known.firstUse = use;
  }
  return slacks_[crossing.firstUse];
}

/// checkCrossings() of the uses of one value.
template <typename Accept>
bool DeltaSimulator::checkUses(int32_t row, const Crossing &crossing,
                               Accept acceptable) {
  const ValueTasks &value = tasks_.valueTasks(crossing.value);
  if (value.numSlots == 0)
    return true;
  int32_t launched = tasks_.launchPosition(crossing.value);
  bool inRounds = !value.rounds.empty();
  if (!inRounds && launched >= rowPosition(row))
    return true; // It moves at its first reader, behind the row.
  CrossingTimes early = timesAt(crossing.value, launched);
  LateSlots late = lateSlotsOf(crossing.value, row);
  // All slots of what is not simulated are as much later.

  if (simulatedAt_[launched] != trial_ && !inRounds && late.count == 0)
    if (std::optional<int64_t> slack = slackOf(crossing, early);
        slack &&
        acceptable(-*slack, early.nowShift - early.oldShift - *slack, 0))
      return true;
  CrossingTimes ended;
  if (late.count != 0 && !late.follow)
    ended = timesAt(state_.lateBlock(crossing.value), late.launched);
  auto accepts = [&](const Wait &wait, int64_t start) {
    if (LLVM_UNLIKELY(inRounds)) {
      int32_t at = tasks_.slotPosition(crossing.value, wait.slot);
      if (at >= rowPosition(row))
        return true; // It will be gathered, and waits for nothing else.
      CrossingTimes times = timesAt(crossing.value, at);
      return acceptable(times.oldAt(wait.slot), times.nowAt(wait.slot), start);
    }
    if (wait.slot < late.count)
      return late.follow ||
             acceptable(ended.oldAt(wait.slot), ended.nowAt(wait.slot), start);
    return acceptable(early.oldAt(wait.slot), early.nowAt(wait.slot), start);
  };
  for (int32_t i = crossing.firstUse; i < crossing.lastUse; ++i)
    if (changedAt_[uses_[i].rank] != trial_ && // Else it will be simulated.
        !forEachWait(value, uses_[i], accepts))
      return false;
  return true;
}

/// Calls `acceptable(old, now, start)` for times of values that were launched
/// before `row` and that something at or behind it waits for: when it was, when
/// it is with the change, and when what waits started. Where all slots of a
/// value are as much later, it is asked about the one that is waited for
/// soonest. False if it is for one; it stops there. What was launched last
/// comes first: changes of long ago are what everything behind follows.
template <typename Accept>
bool DeltaSimulator::checkCrossings(int32_t row, Accept acceptable) {
  return llvm::all_of(llvm::reverse(crossings_[row]),
                      [&](const Crossing &crossing) {
                        return checkUses(row, crossing, acceptable);
                      }) &&
         llvm::all_of(crossingBuckets_[row], [&](int32_t bucket) {
           return checkBucket(row, bucket, acceptable);
         });
}

/// True if all that is launched from `row` to the next change, or to the end,
/// is later than before by one constant.
bool DeltaSimulator::converges(int32_t row, int64_t &shift) {
  const int64_t *old = &rows_[rowBegin(row)];
  const int64_t *next = &nextStarts_[rowBegin(row)];
  const int64_t *now = state_.resources.data();
  int64_t base = rowShifts_[row];
  // Several resources may be free last: this is the first of them.
  int64_t last = largest(now, numResources_);
  size_t latest = std::find(now, now + numResources_, last) - now;
  int64_t c = last - base - old[latest];
  // What is not later by c must not have been waited for, and must not be now.
  size_t begin = SOAP_FAULT("shift-ignores-compute") ? state_.numEnds : 0;
  if (!areShifted({old, next, now, base}, c, begin, numResources_))
    return false;
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
bool DeltaSimulator::staysAbove(int32_t row, int64_t gain) {
  const int64_t *old = &rows_[rowBegin(row)];
  const int64_t *next = &nextStarts_[rowBegin(row)];
  const int64_t *now = state_.resources.data();
  int64_t base = rowShifts_[row];
  if (!areLater({old, next, now, base}, gain, numResources_))
    return false;
  return checkCrossings(row, [&](int64_t was, int64_t is, int64_t start) {
    return is - was >= gain || was < start;
  });
}
