//===- ReceiptGroups.cpp - Who waits for whom
//------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of ReceiptBounds that knows what readers have in common, and what
// they wait for.
//
//===----------------------------------------------------------------------===//

#include "ReceiptBounds.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Who reads the same tiles
//===----------------------------------------------------------------------===//

/// Finds out where the planner certainly transfers piece by piece. That can be
/// said where no device holds two tiles and all uses that receive anything
/// receive the same: then components of the plan are the sets of tiles that
/// readings touch, and transfers of one component are one action.
void ReceiptBounds::formGroups(const Layout &layout) {
  for (int32_t device : grouped_)
    groupOf_[device] = -1;
  grouped_.clear();
  groups_.clear();
  remote_ = nullptr;
  readsOnce_ = true;
  isDistinct_ = layout.parts == 1 && layout.copies == 1 &&
                static_cast<int64_t>(usedDevices_.size()) == layout.numTiles();
  if (!isDistinct_ || onHost_)
    return;
  for (Use &use : llvm::MutableArrayRef<Use>(uses_).take_front(numUses_)) {
    if (!use.isRemote)
      continue;
    if (!remote_) {
      remote_ = &use;
    } else if (use.need.copies != remote_->need.copies ||
               use.need.devices != remote_->need.devices ||
               use.need.ranges != remote_->need.ranges) {
      remote_ = nullptr;
      return;
    }
  }
  if (!remote_)
    return;
  llvm::SmallDenseMap<std::pair<int64_t, int64_t>, int32_t, 64> numbers;
  for (Use &use : llvm::MutableArrayRef<Use>(uses_).take_front(numUses_)) {
    if (!use.isRemote)
      continue;
    findStarts(layout, use);
    for (Reading &reading : use.readings) {
      auto [it, isNew] =
          numbers.try_emplace({reading.firstTile, reading.lastTile},
                              static_cast<int32_t>(groups_.size()));
      reading.group = it->second;
      if (isNew)
        describeGroup(layout, use, reading, groups_.emplace_back());
      if (&use != remote_)
        continue;
      ++groups_[reading.group].readers;
      readsOnce_ &= groupOf_[reading.device] < 0;
      if (groupOf_[reading.device] < 0)
        grouped_.push_back(reading.device);
      groupOf_[reading.device] = reading.group;
    }
  }
  if (!readsOnce_)
    return;
  for (auto [number, group] : llvm::enumerate(groups_)) {
    // One tile that two readers need whole may be broadcast. In an all-gather
    // and in an all-to-all, the holders are the readers.
    if (group.tiles.size() == 1) {
      group.isTransferred = group.pieces[0] < smallestTile_;
      continue;
    }
    group.isTransferred =
        group.readers != static_cast<int32_t>(group.tiles.size()) ||
        llvm::any_of(group.tiles, [&, number = number](int32_t tile) {
          return groupOf_[layout.devices[tile]] != static_cast<int32_t>(number);
        });
  }
  describeChains(layout);
}

/// Per dimension and tile along it, the first range of a use that begins there.
void ReceiptBounds::findStarts(const Layout &layout, const Use &use) {
  size_t rank = layout.cuts.size();
  startsOf_.resize(std::max(startsOf_.size(), rank));
  for (size_t d = 0; d != rank; ++d) {
    ArrayRef<Range> ranges(use.need.ranges[d]);
    startsOf_[d].assign(layout.cuts[d].size(), ranges.size());
    for (size_t index = ranges.size(); index-- != 0;)
      if (!ranges[index].empty())
        startsOf_[d][use.touched[use.firstTouched[d] + index].first] = index;
  }
}

/// The tiles of a group, and the least that a reader takes from each.
void ReceiptBounds::describeGroup(const Layout &layout, const Use &use,
                                  const Reading &reading, Group &group) const {
  group.tiles.assign(1, 0);
  group.pieces.assign(1, 1.0);
  size_t rank = layout.cuts.size();
  SmallVector<int64_t, 6> first(rank), end(rank);
  int64_t lowest = reading.firstTile, highest = reading.lastTile;
  for (size_t d = rank; d-- != 0;) {
    auto count = static_cast<int64_t>(layout.cuts[d].size()) - 1;
    first[d] = lowest % count;
    end[d] = highest % count + 1;
    lowest /= count;
    highest /= count;
  }
  for (size_t d = 0; d != rank; ++d) {
    ArrayRef<int64_t> cuts(layout.cuts[d]);
    SmallVector<int64_t, 64> least(end[d] - first[d], INT64_MAX);
    // Ranges ascend.
    ArrayRef<Range> ranges(use.need.ranges[d]);
    for (size_t index = startsOf_[d][first[d]]; index < ranges.size();
         ++index) {
      Range range = ranges[index];
      const Touched &touched = use.touched[use.firstTouched[d] + index];
      if (range.empty())
        continue;
      if (touched.first != first[d])
        break;
      if (touched.last + 1 != end[d])
        continue;
      for (int64_t i = first[d]; i != end[d]; ++i)
        least[i - first[d]] =
            std::min(least[i - first[d]], std::min(cuts[i + 1], range.hi) -
                                              std::max(cuts[i], range.lo));
    }
    auto count = static_cast<int32_t>(cuts.size()) - 1;
    SmallVector<int32_t, 8> tiles;
    SmallVector<double, 8> pieces;
    for (auto [tile, piece] : llvm::zip_equal(group.tiles, group.pieces))
      for (int64_t i = first[d]; i != end[d]; ++i) {
        tiles.push_back(static_cast<int32_t>(tile * count + i));
        pieces.push_back(piece * static_cast<double>(least[i - first[d]]));
      }
    group.tiles = std::move(tiles);
    group.pieces = std::move(pieces);
  }
}

/// True if a reader certainly gets its box piece by piece.
bool ReceiptBounds::isTransferred(const Layout &layout,
                                  const Reading &reading) const {
  if (layout.parts != 1)
    return false;
  if (tilesOn_[reading.device].empty() && reading.spanTiles > 1)
    return true;
  return remote_ && reading.group >= 0 && groups_[reading.group].isTransferred;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

int64_t ReceiptBounds::ns(double bytes, const LinkCut &cut) const {
  if (cut.latencyNs == INT64_MAX)
    return 0;
  // Collectives with priority wait for no link: several pass it at once.
  double ns = hasPriority_ ? 0 : bytes / cut.bytesPerNs * (1 - 1e-9);
  if (SOAP_FAULT("bound-twice"))
    return 2 * (cut.latencyNs + static_cast<int64_t>(ns));
  return cut.latencyNs +
         std::max<int64_t>(0, static_cast<int64_t>(ns) - roundingNs_);
}

/// What the cost model lets a reader wait for at least, of `lacking` elements
/// that its place does not have. The model knows uneven exchanges only by their
/// averages.
double ReceiptBounds::modelled(const Layout &layout, const Reading &reading,
                               double lacking) const {
  if (lacking <= 0)
    return 0;
  if (layout.parts > 1) {
    // A reduction in full goes around the ring at least once, or every member
    // reads all but one of the equal slices. A scattered one moves all but one
    // of the members' equal shares.
    if (reading.elements < reading.spanElements)
      return std::min(lacking, smallestTile_ / 2);
    return sharesMemory_ ? lacking / 2 : lacking;
  }
  if (reading.spanTiles < 2 || isTransferred(layout, reading))
    return lacking;
  // In an all-to-all, every member has a part of every tile.
  if (reading.elements < reading.spanElements)
    return std::min(lacking, smallestTile_ * (reading.spanTiles - 1) /
                                 reading.spanTiles);
  // The others are all-gathers, at best in a large ring.
  return lacking * 32 / 33;
}

/// What a device's own communication stream is busy for.
int64_t ReceiptBounds::ownNs(const Layout &layout,
                             const Reading &reading) const {
  int64_t own = ns(modelled(layout, reading, reading.lacking) * elementBytes_,
                   cuts_->into(reading.device));
  bool reduced = layout.parts > 1 && !SOAP_FAULT("bound-reader-waits");
  if (reading.far <= 0 || reduced)
    return own;
  return std::max(own, farNs(layout, reading));
}

/// What comes from other machines. In collectives, it may come through a near
/// member.
int64_t ReceiptBounds::farNs(const Layout &layout,
                             const Reading &reading) const {
  double far = modelled(layout, reading, reading.far) * elementBytes_;
  return ns(far, isTransferred(layout, reading)
                     ? cuts_->intoFromFar(reading.device)
                     : cuts_->intoMachine(cuts_->machineOf(reading.device)));
}

/// How long the transfers before a reader's last one, and that, take to pass
/// the card of its machine, and the card of the machine where it comes from.
/// Transfers are ordered by source, then destination. Nothing is known of them
/// where a device reads twice: it receives once what its boxes share.
int64_t ReceiptBounds::chainNs(const Layout &layout,
                               const Reading &reading) const {
  // Partial results are reduced first, which may bring them to its machine
  // while the reader is busy otherwise.
  if (layout.parts > 1 && reading.far > 0)
    return farNs(layout, reading);
  if (reading.far <= 0 || !remote_ || reading.group < 0 ||
      !groups_[reading.group].isTransferred)
    return 0;
  const Group &group = groups_[reading.group];
  int32_t machine = cuts_->machineOf(reading.device);
  // `last` is the last source that is on another machine.
  const Group::Source *last = &group.sources.back();
  if (cuts_->machineOf(last->device) == machine) {
    if (group.lastElsewhere < 0)
      return 0;
    last = &group.sources[group.lastElsewhere];
  }
  int32_t source = cuts_->machineOf(last->device);
  const Group::Machine &here = group.machines.at(machine),
                       &there = group.machines.at(source);
  // What comes here from sources before the last, and this reader's last piece.
  double in = last->piece + (last->before - here.held) * here.readers;
  // What leaves that machine from sources before the last, and of the last what
  // readers before this one get.
  double before = rankOf_[reading.device] - there.readers;
  double out = last->piece * (1 + std::max(0.0, before)) +
               (there.held - last->piece) * (group.readers - there.readers);
  int64_t longest = 0;
  const LinkCut &into = cuts_->intoMachine(machine),
                &outOf = cuts_->outOfMachine(source);
  // Every message may have been rounded down.
  auto messages = static_cast<int64_t>(group.tiles.size()) * group.readers;
  if (into.isSingle)
    longest = std::max(longest, ns(in * elementBytes_, into) - messages);
  if (outOf.isSingle)
    longest = std::max(longest, ns(out * elementBytes_, outOf) - messages);
  return longest;
}

/// Adds up what chainNs() asks for again and again.
void ReceiptBounds::describeChains(const Layout &layout) {
  for (Group &group : groups_) {
    group.sources.clear();
    group.machines.clear();
    group.lastElsewhere = -1;
    if (!group.isTransferred)
      continue;
    for (auto [tile, piece] : llvm::zip_equal(group.tiles, group.pieces)) {
      int32_t device = layout.devices[tile];
      group.sources.push_back({device, piece, 0});
      group.machines[cuts_->machineOf(device)].held += piece;
    }
    llvm::sort(group.sources, [](const auto &a, const auto &b) {
      return a.device < b.device;
    });
    double sum = 0;
    int32_t lastMachine = cuts_->machineOf(group.sources.back().device);
    for (auto [index, source] : llvm::enumerate(group.sources)) {
      source.before = sum;
      sum += source.piece;
      if (cuts_->machineOf(source.device) != lastMachine)
        group.lastElsewhere = static_cast<int32_t>(index);
    }
  }
  // Ranks of readers by their devices, within a group.
  SmallVector<std::pair<int32_t, int32_t>, 64> readers; // Device, reading.
  for (auto [index, reading] : llvm::enumerate(remote_->readings))
    readers.push_back({reading.device, static_cast<int32_t>(index)});
  llvm::sort(readers);
  SmallVector<int32_t, 64> ranks(groups_.size(), 0);
  for (auto [device, index] : readers) {
    const Reading &reading = remote_->readings[index];
    Group &group = groups_[reading.group];
    ++group.machines[cuts_->machineOf(device)].readers;
    rankOf_[device] = ranks[reading.group]++;
  }
}
