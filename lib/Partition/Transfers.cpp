//===- Transfers.cpp - Pieces from the nearest holders --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last row of the table, of which a search makes some million pieces per
// second: the loops over pieces allocate nothing and write each number once.
//
//===----------------------------------------------------------------------===//

#include "Planner.h"
#include "llvm/ADT/STLExtras.h"

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

TransferGroup &Planner::groupFor(ActionKind kind, uint64_t demandSet) {
  for (size_t i = numTransfers_; i-- != 0;)
    if (transfers_[i].kind == kind && transfers_[i].demands == demandSet)
      return transfers_[i];
  if (numTransfers_ == transfers_.size())
    transfers_.emplace_back();
  TransferGroup &group = transfers_[numTransfers_++];
  group.kind = kind;
  group.demands = demandSet;
  group.items.clear();
  return group;
}

/// Cuts a box into its parts of the blocks that it touches; leaves the blocks
/// in `touched`. Returns the first part, the others follow.
int32_t Planner::cutByBlocks(const SourceGrid &grid, int32_t id) {
  size_t rank = grid.rank();
  Spans touchedSpans(rank);
  SmallVector<int32_t, 5> firstOverlap(rank);
  overlaps_.clear();
  touched_.clear();
  for (size_t d = 0; d != rank; ++d) {
    Range range = box(id)[d];
    Span span = touchedSpans[d] = grid.blocksOf(d, range);
    firstOverlap[d] = static_cast<int32_t>(overlaps_.size()) - span.begin;
    for (int32_t i = span.begin; i < span.end; ++i)
      overlaps_.push_back(intersect(grid.blockRange(d, i), range));
  }
  auto first = static_cast<int32_t>(plan_.volumes.size());
  forEachIndex(touchedSpans, grid.blockStrides(),
               [&](ArrayRef<int32_t> at, int32_t block) {
                 touched_.push_back(block);
                 int32_t part = plan_.addBox();
                 Range *ranges = plan_.rangesOf(part);
                 int64_t elements = 1;
                 for (size_t d = 0; d != rank; ++d) {
                   ranges[d] = overlaps_[firstOverlap[d] + at[d]];
                   elements *= ranges[d].size();
                 }
                 plan_.volumes[part] = elements;
               });
  return first;
}

/// The holder with the cheapest route to a device, of those the lowest.
Holder Planner::nearest(ArrayRef<Holder> holders, int32_t device) const {
  Holder source = holders.front();
  if (holders.size() == 1)
    return source;
  int64_t best = cost(source.device, device);
  for (Holder holder : holders.drop_front()) {
    int64_t distance = cost(holder.device, device);
    if (distance < best ||
        (distance == best && holder.device < source.device)) {
      best = distance;
      source = holder;
    }
  }
  return source;
}

/// What a device lacks of its need comes from the nearest holder of each block.
void Planner::transfer(const SourceGrid &grid, bool halo) {
  ActionKind kind = halo ? ActionKind::HaloExchange : ActionKind::Transfer;
  int32_t lastBox = -1, firstPart = 0;
  for (JoinedNeed &need : needs_) {
    TransferGroup &group = groupFor(kind, need.demands);
    // Copies of a tile stand side by side and need the same parts.
    if (need.box != lastBox)
      firstPart = cutByBlocks(grid, need.box);
    lastBox = need.box;
    bool holdsSome = ownBlock_.find(need.device) != nullptr;
    need.pieces.begin = static_cast<int32_t>(plan_.pieces.size());
    int32_t part = firstPart;
    for (int32_t block : touched_) {
      if (holdsSome && grid.holds(block, need.device)) {
        grid.assemble(need.device, part++, plan_);
        continue;
      }
      Holder source = nearest(grid.blockHolders(block), need.device);
      bool whole = contains(box(plan_.shards[source.shard].box), box(part));
      // Action and position follow once the group is complete.
      int32_t shard = addShard(need.device, part, -1, 0);
      TransferGroup::Item &item = FlatPlan::append(group.items);
      item.source = source.device;
      item.destination = need.device;
      item.shard = shard;
      item.whole = whole ? source.shard : -1;
      addPiece(shard, part++);
    }
    need.pieces.end = static_cast<int32_t>(plan_.pieces.size());
  }
}

/// Sorts by source, destination and offset. Items come in the order of their
/// shards.
void Planner::sortItems(TransferGroup &group) {
  using Item = TransferGroup::Item;
  auto &items = group.items;
  // Two passes of a counting sort keep that order among equal pairs.
  sortedItems_.resize_for_overwrite(items.size());
  auto countingSort = [&](ArrayRef<Item> from, Item *to, auto deviceOf) {
    counts_.assign(highestDevice_ - lowestDevice_ + 2, 0);
    for (const Item &item : from)
      ++counts_[deviceOf(item) - lowestDevice_ + 1];
    for (size_t i = 1; i < counts_.size(); ++i)
      counts_[i] += counts_[i - 1];
    for (const Item &item : from)
      to[counts_[deviceOf(item) - lowestDevice_]++] = item;
  };
  countingSort(items, sortedItems_.data(),
               [](const Item &item) { return item.destination; });
  countingSort(sortedItems_, items.data(),
               [](const Item &item) { return item.source; });
  auto before = [&](const Item &a, const Item &b) {
    ArrayRef<Range> x = box(plan_.shards[a.shard].box),
                    y = box(plan_.shards[b.shard].box);
    for (size_t d = 0; d != x.size(); ++d)
      if (x[d].lo != y[d].lo)
        return x[d].lo < y[d].lo;
    return a.shard < b.shard;
  };
  for (size_t i = 0, e = items.size(), end; i != e; i = end) {
    for (end = i + 1; end != e && items[end].source == items[i].source &&
                      items[end].destination == items[i].destination;)
      ++end;
    if (end - i > 1 &&
        !std::is_sorted(&items[i], &items[i] + (end - i), before))
      std::sort(&items[i], &items[i] + (end - i), before);
  }
}

void Planner::emitTransfers(const SourceGrid &grid) {
  for (TransferGroup &transfer :
       llvm::MutableArrayRef<TransferGroup>(transfers_)
           .take_front(numTransfers_)) {
    sortItems(transfer);
    group_.clear();
    seen_.clear();
    for (const TransferGroup::Item &item : transfer.items)
      for (int32_t device : {item.source, item.destination})
        if (seen_.insert(device, 0))
          group_.push_back(device);
    sortGroup(group_);
    int32_t index = addAction(transfer.kind, group_);
    plan_.ports.reserve(plan_.ports.size() + transfer.items.size());
    plan_.pieces.reserve(plan_.pieces.size() + transfer.items.size());
    plan_.outputs.reserve(plan_.outputs.size() + transfer.items.size());
    for (const TransferGroup::Item &item : transfer.items) {
      FlatPlan::Shard &shard = plan_.shards[item.shard];
      FlatPlan::Action &action = plan_.actions.back();
      shard.index = index;
      shard.position = action.outputs.size();
      if (item.whole < 0) {
        addInput(grid, item.source, shard.box);
      } else {
        FlatPlan::Port &port = FlatPlan::append(plan_.ports);
        port.device = item.source;
        port.box = shard.box;
        port.pieces = addPiece(item.whole, shard.box);
        ++action.inputs.end;
      }
      plan_.outputs.push_back(item.shard);
      ++action.outputs.end;
    }
  }
  numTransfers_ = 0;
}
