//===- DeltaLoads.cpp - What is still to be computed ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compute stream that is free at some time has all tasks of its device before
// it that are launched later: a step does not end earlier than they do. So a
// change that makes devices work longer is known to be too slow long before its
// simulation reaches the end of the step.
//
//===----------------------------------------------------------------------===//

#include "StepTails.h"
#include "TimeArrays.h"
#include "soap/Search/DeltaSimulator.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

/// Adds the tasks of a node to the loads of devices, or takes them away.
static void addTasks(int64_t *loads, const NodeTasks &tasks, bool takesAway) {
  if (tasks.isRow()) {
    auto change = takesAway ? subtractFrom : addTo;
    change(loads + tasks.devices.front(), tasks.ns.data(), tasks.ns.size());
    return;
  }
  for (auto [device, ns] : llvm::zip_equal(tasks.devices, tasks.ns))
    loads[device] += takesAway ? -ns : ns;
}

/// Adds to `loads` what a change adds to the load of devices by a node, its
/// tasks less those it had, or takes it away.
static void addChange(std::vector<int64_t> &loads, const TaskGraph &tasks,
                      size_t index, bool takesAway) {
  int32_t node = tasks.proposedNodes()[index];
  addTasks(loads.data(), tasks.nodeTasks(node), takesAway);
  addTasks(loads.data(), tasks.nodeBefore(index), !takesAway);
}

/// Loads of the tasks that were accepted.
void DeltaSimulator::resetLoads() {
  size_t width = state_.numEnds;
  loads_.assign(numRows_ * width, 0);
  for (int32_t row = numRows_ - 1; row-- > 0;) {
    int64_t *loads = &loads_[row * width];
    std::copy_n(loads + width, width, loads);
    for (int32_t p = rowPosition(row); p < rowPosition(row + 1); ++p) {
      addTasks(loads, tasks_.nodeTasks(tasks_.order()[p]), false);
    }
  }
}

/// The change on trial becomes permanent.
void DeltaSimulator::acceptLoads() {
  size_t width = state_.numEnds;
  beginChangedLoads();
  // From the last change to the first row, what was passed adds up.
  loadsAhead_.assign(width, 0);
  for (size_t i = changedNodes_.size(); i-- > 0;) {
    addChange(loadsAhead_, tasks_, changedNodes_[i].second, false);
    int32_t before = i == 0 ? -1 : changedNodes_[i - 1].first / interval_;
    for (int32_t row = changedNodes_[i].first / interval_; row > before;
         --row) {
      int64_t *loads = &loads_[row * width];
      addTo(loads, loadsAhead_.data(), width);
    }
  }
}

/// Nodes that changed by their positions, and what they add in all. Parameters
/// that follow later compute nothing.
void DeltaSimulator::findChangedLoads() {
  if (loadsKnownOf_ == tasks_.changeNumber() && !changedNodes_.empty())
    return;
  loadsKnownOf_ = tasks_.changeNumber();
  changedNodes_.clear();
  loadsOfChange_.assign(state_.numEnds, 0);
  for (auto [index, node] : llvm::enumerate(tasks_.proposedNodes())) {
    int32_t rank = tasks_.rank(node);
    if (rank < 0)
      continue;
    changedNodes_.push_back({rank, static_cast<int32_t>(index)});
    addChange(loadsOfChange_, tasks_, index, false);
  }
  if (!llvm::is_sorted(changedNodes_))
    llvm::sort(changedNodes_);
}

/// Nothing of the change has been simulated.
void DeltaSimulator::beginChangedLoads() {
  findChangedLoads();
  loadsAhead_ = loadsOfChange_;
  nextChangedNode_ = 0;
}

/// The changed nodes before `position` have been simulated.
void DeltaSimulator::passChangedLoads(int32_t position) {
  for (; nextChangedNode_ < changedNodes_.size() &&
         changedNodes_[nextChangedNode_].first < position;
       ++nextChangedNode_)
    addChange(loadsAhead_, tasks_, changedNodes_[nextChangedNode_].second,
              true);
}

/// True if the step is certain to end above the limit: what a device computes
/// from `row` on does not fit, or, where the tails behind the last change are
/// known, it does not fit in front of them. No resource is free earlier at a
/// later row, whatever is launched in between.
bool DeltaSimulator::isOverloaded(int32_t row, int64_t limit) const {
  size_t width = state_.numEnds;
  const int64_t *now = state_.resources.data();
  const int64_t *loads = &loads_[row * width], *ahead = loadsAhead_.data();
  int32_t last =
      SOAP_FAULT("tails-of-first-change") ? changed_.front() : changed_.back();
  int32_t behind = last / interval_ + 1;
  if (tails_->firstKnown() > behind)
    return largestSum(now, loads, ahead, width) > limit;
  const int64_t *tails = tails_->ofResources(behind);
  return largestSum(now + width, tails + width, numResources_ - width) >
             limit ||
         latestEnd(now, loads, ahead, &loads_[behind * width], tails, width) >
             limit;
}

int64_t DeltaSimulator::loadNs() {
  findChangedLoads();
  return largestSum(loads_.data(), loadsOfChange_.data(), state_.numEnds);
}
