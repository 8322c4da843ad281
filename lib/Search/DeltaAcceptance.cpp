//===- DeltaAcceptance.cpp - A change becomes permanent -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of DeltaSimulator that writes what later trials start from: when
// resources are free at the rows of the launch order, and when they are used
// next.
//
//===----------------------------------------------------------------------===//

#include "SimulatorPass.h"
#include "StepTails.h"
#include "soap/Search/DeltaSimulator.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

namespace {
/// Notes when resources are used first behind a row.
struct RecordUses : RecordNothing {
  int64_t *nextStarts = nullptr;
  void use(int32_t resource, int64_t start) {
    nextStarts[resource] = std::min(nextStarts[resource], start);
  }
};
} // namespace

/// Makes the lower bounds before `row` no higher than those at it: a resource
/// is used behind an earlier row no later than behind a later one.
void DeltaSimulator::lowerNextStarts(int32_t row) {
  if (SOAP_FAULT("slack-stale"))
    return;
  for (; row > 0; --row) {
    const int64_t *later = &nextStarts_[rowBegin(row)];
    int64_t *earlier = &nextStarts_[rowBegin(row - 1)];
    int64_t between = rowShifts_[row] - rowShifts_[row - 1];
    int64_t lowered = 0;
    for (size_t r = 0; r < numResources_; ++r) {
      int64_t bound = later[r] + between;
      lowered |= bound < earlier[r];
      earlier[r] = std::min(earlier[r], bound);
    }
    if (!lowered)
      return;
  }
}

/// Simulates a region once more and keeps what later trials start from.
/// `shiftBefore` is what the regions before have shifted the rows by.
void DeltaSimulator::commit(const Region &region, int64_t shiftBefore) {
  load(region.firstRow, 0, -1);
  RecordUses record;
  Pass<RecordUses, true> pass(tasks_, state_, record);
  for (int32_t row = region.firstRow; row < region.endRow; ++row) {
    if (!SOAP_FAULT("snapshot-stale") || row == 0 || accepted_ == 0)
      std::copy(state_.resources.begin(), state_.resources.end(),
                rows_.begin() + rowBegin(row));
    rowShifts_[row] = 0;
    record.nextStarts = &nextStarts_[rowBegin(row)];
    std::fill_n(record.nextStarts, numResources_, INT64_MAX);
    for (int32_t p = rowPosition(row); p < rowPosition(row + 1); ++p)
      pass.launch(p);
  }
  int32_t end = region.endRow;
  const int64_t *now = state_.resources.data();
  if (!region.converged) {
    std::copy_n(now, numResources_, rows_.begin() + rowBegin(end));
    rowShifts_[end] = 0;
    stepNs_ = *std::max_element(now, now + numResources_);
    std::fill_n(nextStarts_.begin() + rowBegin(end), numResources_, stepNs_);
  } else {
    int64_t c = region.shift - shiftBefore;
    int64_t base = rowShifts_[end];
    // Until it is used, a resource that is not later by c stays what it is.
    unused_.clear();
    for (size_t r = 0; r < numResources_; ++r)
      if (int64_t was = rows_[rowBegin(end) + r] + base; now[r] - was != c)
        unused_.push_back({r, was});
    for (int32_t row = end; row < numRows_ && !unused_.empty(); ++row) {
      int64_t *free = &rows_[rowBegin(row)];
      llvm::erase_if(unused_, [&](const auto &entry) {
        auto [r, was] = entry;
        if (free[r] + rowShifts_[row] != was)
          return true;
        free[r] = now[r] - c - rowShifts_[row];
        return false;
      });
    }
    for (int32_t row = end; row < numRows_; ++row)
      rowShifts_[row] += c;
    stepNs_ += c;
  }
  // Within the region every row has its own first uses, or the next row's.
  for (int32_t row = end; row > region.firstRow; --row) {
    int64_t between = rowShifts_[row] - rowShifts_[row - 1];
    const int64_t *later = &nextStarts_[rowBegin(row)];
    int64_t *earlier = &nextStarts_[rowBegin(row - 1)];
    for (size_t r = 0; r < numResources_; ++r)
      earlier[r] = std::min(earlier[r], later[r] + between);
  }
  lowerNextStarts(region.firstRow);
}

void DeltaSimulator::accept() {
  assert(open_ && "no change on trial");
  if (stoppedAt_ >= 0)
    finish();
  if (!changed_.empty())
    tails_->forgetBefore(changed_.back() + 1);
  int64_t shift = 0;
  for (const Region &region : regions_) {
    commit(region, shift);
    shift = region.shift;
  }
  if (!regions_.empty() && regions_.back().converged)
    for (int32_t p = rowPosition(regions_.back().endRow); p < numPositions_;
         ++p)
      state_.shifts[p] += regions_.back().shift;
  for (const Segment &segment : segments_)
    std::fill(segmentShifts_.begin() + segment.begin,
              segmentShifts_.begin() + segment.end, 0);
  assert(stepNs_ == trialNs_ && "accepted as simulated");
  acceptLoads();
  segments_.clear();
  regions_.clear();
  savedBlocks_.clear();
  savedTimes_.clear();
  simulated_.clear();
  movedBlocks_.clear();
  open_ = false;
  // Lower bounds have become too low, and moved blocks have left holes.
  if (++accepted_ % 512 == 0 || state_.times.size() > 2 * sizeAtReset_ + 65536)
    reset();
}
