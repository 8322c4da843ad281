//===- ReceiptReadings.cpp - What devices hold and read -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of ReceiptBounds that holds what devices read against the tiles that
// they have.
//
//===----------------------------------------------------------------------===//

#include "ReceiptBounds.h"
#include "ValuePlans.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Notes which tiles lie completely, all their parts, on a device and on the
/// devices of a machine together.
void ReceiptBounds::placeTiles(const Layout &layout) {
  for (int32_t device : usedDevices_)
    tilesOn_[device].clear();
  for (int32_t machine : usedMachines_)
    tilesIn_[machine].clear();
  usedDevices_.clear();
  usedMachines_.clear();
  auto note = [](SmallVector<int32_t, 2> &tiles, SmallVector<int32_t, 64> &used,
                 int32_t place, int32_t tile) {
    if (tiles.empty())
      used.push_back(place);
    if (tiles.empty() || tiles.back() != tile)
      tiles.push_back(tile);
  };
  auto tiles = static_cast<int32_t>(layout.numTiles());
  // Every message may have been rounded down by half a nanosecond.
  roundingNs_ = 64 + int64_t(tiles) * layout.parts;
  const int32_t *device = layout.devices.begin();
  if (layout.parts == 1) {
    for (int32_t tile = 0; tile < tiles; ++tile)
      for (int32_t copy = 0; copy < layout.copies; ++copy, ++device) {
        note(tilesOn_[*device], usedDevices_, *device, tile);
        note(tilesIn_[cuts_->machineOf(*device)], usedMachines_,
             cuts_->machineOf(*device), tile);
      }
    return;
  }
  // A place has a tile if it has copies of all parts.
  auto completeAt = [&](int32_t first, auto placeOf, int32_t place) {
    for (int32_t part = 0; part < layout.parts; ++part) {
      bool found = false;
      for (int32_t copy = 0; copy < layout.copies; ++copy)
        found |= placeOf(layout.devices[first + part * layout.copies + copy]) ==
                 place;
      if (!found)
        return false;
    }
    return true;
  };
  auto itself = [](int32_t device) { return device; };
  auto machine = [&](int32_t device) { return cuts_->machineOf(device); };
  for (int32_t tile = 0; tile < tiles; ++tile) {
    int32_t first = tile * layout.parts * layout.copies;
    // Whoever has all parts has part 0.
    for (int32_t copy = 0; copy < layout.copies; ++copy) {
      int32_t place = layout.devices[first + copy];
      if (completeAt(first, itself, place))
        note(tilesOn_[place], usedDevices_, place, tile);
      if (completeAt(first, machine, cuts_->machineOf(place)))
        note(tilesIn_[cuts_->machineOf(place)], usedMachines_,
             cuts_->machineOf(place), tile);
    }
  }
}

/// Elements that a tile and a box share.
double ReceiptBounds::sharedElements(int32_t tile, ArrayRef<Range> box) const {
  double product = 1;
  const Range *range = &tileRanges_[tile * box.size()];
  for (Range needed : box) {
    int64_t size =
        std::min(range->hi, needed.hi) - std::max(range->lo, needed.lo);
    if (size <= 0)
      return 0; // Most tiles lie elsewhere.
    product *= static_cast<double>(size);
    ++range;
  }
  return product;
}

/// The tiles of one dimension that a range touches, by their cuts: the first
/// and the end. Ranges mostly ascend: `first` is where the last one began.
static std::pair<int64_t, int64_t> tilesTouched(ArrayRef<int64_t> cuts,
                                                Range range, int64_t first) {
  if (cuts[first] > range.lo)
    first = 0;
  while (cuts[first + 1] <= range.lo)
    ++first;
  int64_t end = first + 1;
  while (cuts[end] < range.hi)
    ++end;
  return {first, end};
}

/// Fills tileRanges_ with the ranges of all tiles.
void ReceiptBounds::collectTiles(const Layout &layout) {
  size_t rank = layout.cuts.size();
  auto tiles = static_cast<int32_t>(layout.numTiles());
  tileRanges_.resize_for_overwrite(tiles * rank);
  SmallVector<size_t, 5> at(rank, 0);
  for (Range *range = tileRanges_.begin(); range != tileRanges_.end();) {
    for (size_t d = 0; d != rank; ++d)
      *range++ = {layout.cuts[d][at[d]], layout.cuts[d][at[d] + 1]};
    for (size_t d = rank; d-- != 0;) {
      if (++at[d] + 1 != layout.cuts[d].size())
        break;
      at[d] = 0;
    }
  }
}

/// Fills uses_ with what the uses that compute read.
void ReceiptBounds::collect(const Layout &layout, const Strategy &strategy,
                            int32_t id, ArrayRef<int32_t> usesInOrder) {
  const GraphValue &value = graph_.value(id);
  size_t rank = layout.cuts.size();
  collectTiles(layout);
  SmallVector<Range, 5> ranges(rank);
  numUses_ = 0;
  for (int32_t number : usesInOrder) {
    if (graph_.node(value.uses[number].node).role != NodeRole::Compute)
      continue;
    if (numUses_ == uses_.size())
      uses_.emplace_back();
    Use &use = uses_[numUses_];
    needOf(graph_, strategy, id, number, use.need);
    settleParts(layout, use.need);
    if (use.need.parts > 1)
      continue; // Takes what lies where it runs.
    ++numUses_;
    use.number = number;
    use.readings.clear();
    use.isRemote = false;
    use.touched.clear();
    use.firstTouched.resize(rank);
    for (size_t d = 0; d != rank; ++d) {
      use.firstTouched[d] = use.touched.size();
      ArrayRef<int64_t> cuts(layout.cuts[d]);
      int64_t before = 0;
      for (Range range : use.need.ranges[d]) {
        Touched &touched = use.touched.emplace_back();
        if (range.empty())
          continue;
        auto [first, end] = tilesTouched(cuts, range, before);
        before = first;
        touched.elements = static_cast<double>(range.size());
        touched.spanElements = static_cast<double>(cuts[end] - cuts[first]);
        touched.spanTiles = static_cast<double>(end - first);
        touched.first = first;
        touched.last = end - 1;
      }
    }
    const int32_t *device = use.need.devices.begin();
    forEachTile(use.need, [&](int64_t, ArrayRef<int32_t> index) {
      Reading box;
      for (size_t d = 0; d != rank; ++d) {
        const Touched &touched = use.touched[use.firstTouched[d] + index[d]];
        auto count = static_cast<int64_t>(layout.cuts[d].size()) - 1;
        ranges[d] = use.need.ranges[d][index[d]];
        box.elements *= touched.elements;
        box.spanElements *= touched.spanElements;
        box.spanTiles *= touched.spanTiles;
        box.firstTile = box.firstTile * count + touched.first;
        box.lastTile = box.lastTile * count + touched.last;
      }
      if (box.elements == 0) {
        device += use.need.copies;
        return;
      }
      for (int32_t copy = 0; copy < use.need.copies; ++copy, ++device) {
        Reading &reading = use.readings.emplace_back(box);
        reading.device = *device;
        if (isFed_)
          continue;
        reading.lacking = box.elements;
        for (int32_t own : tilesOn_[*device])
          reading.lacking -= sharedElements(own, ranges);
        if (reading.lacking <= 0)
          continue;
        use.isRemote = true;
        reading.far = box.elements;
        for (int32_t near : tilesIn_[cuts_->machineOf(*device)])
          reading.far -= sharedElements(near, ranges);
      }
    });
  }
}
