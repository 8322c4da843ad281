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
#include "TimeArrays.h"
#include "soap/Search/DeltaSimulator.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

/// Makes the lower bounds before `row` no higher than those at it: a resource
/// is used behind an earlier row no later than behind a later one.
void DeltaSimulator::lowerNextStarts(int32_t row) {
  if (SOAP_FAULT("slack-stale"))
    return;
  for (; row > 0; --row) {
    const int64_t *later = &nextStarts_[rowBegin(row)];
    int64_t *earlier = &nextStarts_[rowBegin(row - 1)];
    int64_t between = rowShifts_[row] - rowShifts_[row - 1];
    if (!lowerTo(earlier, later, between, numResources_))
      return;
  }
}

/// Writes when resources are free before the rows of a region, and when they
/// are used first at these rows: as the trial recorded it, or by a simulation.
/// Returns when resources are free behind the region.
const int64_t *DeltaSimulator::writeRows(const Region &region) {
  auto keep = [&](int32_t row, const int64_t *free) {
    if (!SOAP_FAULT("snapshot-stale") || row == 0 || accepted_ == 0)
      std::copy_n(free, numResources_, rows_.begin() + rowBegin(row));
    rowShifts_[row] = 0;
  };
  if (region.recordedAt >= 0) {
    const int64_t *recorded = &recordedRows_[region.recordedAt];
    for (int32_t row = region.firstRow; row < region.endRow; ++row) {
      keep(row, recorded);
      std::copy_n(recorded + numResources_, numResources_,
                  nextStarts_.begin() + rowBegin(row));
      recorded += 2 * numResources_;
    }
    return recorded;
  }
  load(region.firstRow, 0, -1);
  RecordUses record;
  Pass<RecordUses, true> pass(tasks_, state_, record);
  for (int32_t row = region.firstRow; row < region.endRow; ++row) {
    keep(row, state_.resources.data());
    record.nextStarts = &nextStarts_[rowBegin(row)];
    std::fill_n(record.nextStarts, numResources_, INT64_MAX);
    for (int32_t p = rowPosition(row); p < rowPosition(row + 1); ++p)
      pass.launch(p);
  }
  return state_.resources.data();
}

/// Keeps what later trials start from. `shiftBefore` is what the regions before
/// have shifted the rows by.
void DeltaSimulator::commit(const Region &region, int64_t shiftBefore) {
  const int64_t *now = writeRows(region);
  int32_t end = region.endRow;
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
    lowerTo(earlier, later, between, numResources_);
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
  close();
  acceptance_ += (1 - acceptance_) / 32;
  // Lower bounds have become too low, and moved blocks have left holes.
  if (++accepted_ % 512 == 0 || state_.times.size() > 2 * sizeAtReset_ + 65536)
    reset();
}
