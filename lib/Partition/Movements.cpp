//===- Movements.cpp - Serving needs from complete blocks -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

static bool lessRange(Range a, Range b) {
  return a.lo != b.lo ? a.lo < b.lo : a.hi < b.hi;
}

bool Planner::areDisjoint(ArrayRef<int32_t> boxes, int32_t hull, bool &covers) {
  // Two that are equal stand side by side, sorted.
  auto before = [&](int32_t a, int32_t b) {
    return std::lexicographical_compare(
        box(a).begin(), box(a).end(), box(b).begin(), box(b).end(), lessRange);
  };
  sortedIds_.assign(boxes.begin(), boxes.end());
  if (!llvm::is_sorted(sortedIds_, before))
    llvm::sort(sortedIds_, before);
  for (size_t i = 1, e = sortedIds_.size(); i < e; ++i)
    if (sameBox(sortedIds_[i - 1], sortedIds_[i]))
      return false;
  size_t gridSize = 1;
  covers = true;
  auto &ranges = sortedRanges_;
  for (size_t d = 0; d != plan_.rank; ++d) {
    ranges.clear();
    for (int32_t id : boxes)
      if (ranges.empty() || ranges.back() != box(id)[d])
        ranges.push_back(box(id)[d]);
    if (!llvm::is_sorted(ranges, lessRange))
      llvm::sort(ranges, lessRange);
    ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
    int64_t total = 0;
    for (size_t i = 0, e = ranges.size(); i != e; ++i) {
      if (i != 0 && ranges[i].lo < ranges[i - 1].hi)
        return false;
      total += ranges[i].size();
    }
    covers &= total == box(hull)[d].size();
    gridSize *= ranges.size();
  }
  covers &= gridSize == boxes.size();
  return true;
}

//===----------------------------------------------------------------------===//
// Joining requests
//===----------------------------------------------------------------------===//

/// If the union of the boxes of two needs is a box, makes it that of `need`.
/// Boxes that merely abut count only if `abutting`.
bool Planner::unite(JoinedNeed &need, const JoinedNeed &other, bool abutting) {
  ArrayRef<Range> a = box(need.box), b = box(other.box);
  size_t rank = a.size(), differing = rank;
  bool aInB = true, bInA = true;
  for (size_t d = 0; d != rank; ++d) {
    if (a[d] == b[d])
      continue;
    aInB &= b[d].contains(a[d]);
    bInA &= a[d].contains(b[d]);
    differing = differing == rank ? d : rank + 1;
  }
  if (bInA)
    return true;
  if (aInB) {
    need.box = other.box;
    need.ownsBox = other.ownsBox;
    return true;
  }
  if (differing >= rank)
    return false;
  Range x = a[differing], y = b[differing];
  int64_t overlap = std::min(x.hi, y.hi) - std::max(x.lo, y.lo);
  if (overlap < 0 || (overlap == 0 && !abutting))
    return false;
  if (!need.ownsBox) {
    int32_t copy = plan_.addBox();
    std::copy_n(plan_.rangesOf(need.box), rank, plan_.rangesOf(copy));
    need.box = copy;
    need.ownsBox = true;
  }
  plan_.rangesOf(need.box)[differing] = {std::min(x.lo, y.lo),
                                         std::max(x.hi, y.hi)};
  plan_.setVolume(need.box);
  return true;
}

void Planner::join(const Request &request) {
  JoinedNeed need;
  need.device = request.device();
  need.box = request.box();
  need.demands = uint64_t(1) << std::min(request.demand->index, 63);
  // A union may reach further needs of the device: start over after each.
  int32_t *head = firstNeed_.find(need.device);
  need.next = head ? *head : -1;
  for (int32_t i = need.next; i != -1;) {
    JoinedNeed &other = needs_[i];
    i = other.next;
    if (other.dead || !unite(need, other, need.demands == other.demands))
      continue;
    need.demands |= other.demands;
    other.dead = true;
    i = need.next;
  }
  while (need.next != -1 && needs_[need.next].dead)
    need.next = needs_[need.next].next;
  firstNeed_.insert(need.device, static_cast<int32_t>(needs_.size()));
  needs_.push_back(need);
}

//===----------------------------------------------------------------------===//
// The rows of the table
//===----------------------------------------------------------------------===//

void Planner::describeSources(const SourceGrid &grid) {
  blocks_.clear();
  blockRanges_.clear();
  ownBlock_.clear();
  distinct_ = true;
  forEachIndex(spans_, grid.blockStrides(),
               [&](ArrayRef<int32_t> at, int32_t block) {
                 ArrayRef<Holder> holders = grid.blockHolders(block);
                 auto index = static_cast<int32_t>(blocks_.size());
                 if (index == 0)
                   copies_ = static_cast<int32_t>(holders.size());
                 else if (copies_ != static_cast<int32_t>(holders.size()))
                   copies_ = 0;
                 for (Holder holder : holders)
                   distinct_ &= ownBlock_.insert(holder.device, index);
                 blocks_.push_back(block);
                 for (size_t d = 0; d != at.size(); ++d)
                   blockRanges_.push_back(grid.blockRange(d, at[d]));
               });
}

/// Broadcast: several devices lack the only source block and need all of it.
bool Planner::tryBroadcast(const SourceGrid &grid, ArrayRef<Request> requests) {
  if (blocks_.size() != 1 || needs_.size() < 2)
    return false;
  for (const JoinedNeed &need : needs_)
    if (box(need.box) != blockBox(0))
      return false;
  // Two readers have copies, so that each destination takes the nearest.
  int32_t root = -1;
  for (const Request &request : requests)
    if (ownBlock_.find(request.device())) {
      if (root != -1 && root != request.device())
        return false;
      root = request.device();
    }
  if (root == -1) {
    int64_t best = INT64_MAX;
    for (Holder holder : grid.blockHolders(blocks_[0])) {
      int64_t total = 0;
      for (const JoinedNeed &need : needs_)
        total += cost(holder.device, need.device);
      if (total < best || (total == best && holder.device < root)) {
        best = total;
        root = holder.device;
      }
    }
  }
  auto byDevice = [](const JoinedNeed &a, const JoinedNeed &b) {
    return a.device < b.device;
  };
  auto onHost = [&](const JoinedNeed &need) { return need.device == host_; };
  if (root == host_ || llvm::any_of(needs_, onHost))
    return false;
  if (!llvm::is_sorted(needs_, byDevice))
    llvm::sort(needs_, byDevice);
  group_.assign(1, root);
  for (const JoinedNeed &need : needs_)
    group_.push_back(need.device);
  addAction(ActionKind::Broadcast, group_);
  addInput(grid, root, needs_[0].box);
  for (JoinedNeed &need : needs_)
    need.shard = addOutput(need.device, need.box);
  return true;
}

/// All-gather: every holder needs the union. Each copy gathers on its own.
bool Planner::tryAllGather(const SourceGrid &grid) {
  if (blocks_.size() < 2 || !distinct_ || copies_ == 0 ||
      needs_.size() != blocks_.size() * copies_)
    return false;
  ArrayRef<Range> first = blockBox(0), last = blockBox(blocks_.size() - 1);
  seen_.clear();
  for (size_t i = 0, e = needs_.size(); i != e; ++i) {
    ArrayRef<Range> whole = box(needs_[i].box);
    for (size_t d = 0; d != whole.size(); ++d)
      if (whole[d] != Range{first[d].lo, last[d].hi})
        return false;
    if (!ownBlock_.find(needs_[i].device) ||
        !seen_.insert(needs_[i].device, static_cast<int32_t>(i)))
      return false;
  }
  for (int32_t copy = 0; copy != copies_; ++copy) {
    group_.clear();
    for (int32_t block : blocks_)
      group_.push_back(grid.blockHolders(block)[copy].device);
    sortGroup(group_);
    addAction(ActionKind::AllGather, group_);
    for (int32_t device : group_) {
      addInput(grid, device, addBox(blockBox(*ownBlock_.find(device))));
      JoinedNeed &need = needs_[*seen_.find(device)];
      need.shard = addOutput(device, need.box);
    }
  }
  return true;
}

/// All-to-all: every holder needs a box of its own, with some of every block.
bool Planner::tryAllToAll(const SourceGrid &grid) {
  if (blocks_.size() < 2 || !distinct_ || copies_ != 1 ||
      needs_.size() != blocks_.size())
    return false;
  boxIds_.clear();
  seen_.clear();
  for (size_t i = 0, e = needs_.size(); i != e; ++i) {
    for (size_t d = 0; d != spans_.size(); ++d)
      if (!(grid.blocksOf(d, box(needs_[i].box)[d]) == spans_[d]))
        return false;
    if (!ownBlock_.find(needs_[i].device) ||
        !seen_.insert(needs_[i].device, static_cast<int32_t>(i)))
      return false;
    boxIds_.push_back(needs_[i].box);
  }
  bool covers;
  if (!areDisjoint(boxIds_, needs_[0].box, covers))
    return false;
  // Members put their whole blocks in. Where nobody needs some of a block (rows
  // behind the last window), transfers move less.
  int64_t needed = 0, held = 0;
  for (int32_t id : boxIds_)
    needed += plan_.volumes[id];
  group_.clear();
  for (const JoinedNeed &need : needs_)
    group_.push_back(need.device);
  sortGroup(group_);
  size_t firstBox = plan_.volumes.size();
  for (int32_t device : group_)
    held += plan_.volumes[addBox(blockBox(*ownBlock_.find(device)))];
  if (needed != held)
    return false;
  addAction(ActionKind::AllToAll, group_);
  for (auto [index, device] : llvm::enumerate(group_)) {
    addInput(grid, device, static_cast<int32_t>(firstBox + index));
    JoinedNeed &need = needs_[*seen_.find(device)];
    need.shard = addOutput(device, need.box);
  }
  return true;
}

/// Halo exchange: every device keeps its own block and needs some around it.
bool Planner::isHaloExchange(ArrayRef<Request> requests) {
  if (blocks_.size() < 2 || !distinct_)
    return false;
  for (const JoinedNeed &need : needs_) {
    int32_t *own = ownBlock_.find(need.device);
    if (!own || !contains(box(need.box), blockBox(*own)))
      return false;
  }
  SmallVector<bool, 64> kept(blocks_.size(), false);
  size_t missing = blocks_.size();
  for (const Request &request : requests) {
    int32_t *own = ownBlock_.find(request.device());
    if (own && !kept[*own] && contains(box(request.box()), blockBox(*own))) {
      kept[*own] = true;
      --missing;
    }
  }
  return missing == 0;
}

//===----------------------------------------------------------------------===//
// One round
//===----------------------------------------------------------------------===//

/// True if the device of a request holds all of its box.
bool Planner::isLocal(const SourceGrid &grid, const Request &request) {
  int32_t device = request.device();
  int32_t *own = ownBlock_.find(device);
  if (!own)
    return false;
  ArrayRef<Range> needed = box(request.box());
  if (distinct_)
    return contains(blockBox(*own), needed);
  Spans touched(grid.rank());
  for (size_t d = 0; d != grid.rank(); ++d)
    touched[d] = grid.blocksOf(d, needed[d]);
  bool local = true;
  forEachIndex(touched, grid.blockStrides(),
               [&](ArrayRef<int32_t>, int32_t block) {
                 local = local && grid.holds(block, device);
               });
  return local;
}

/// Serves the remote requests from what their devices get.
void Planner::serveRemote() {
  // Joining and sorting have moved the needs: the chains are made again.
  firstNeed_.clear();
  for (size_t i = needs_.size(); i-- != 0;) {
    int32_t *head = firstNeed_.find(needs_[i].device);
    needs_[i].next = head ? *head : -1;
    firstNeed_.insert(needs_[i].device, static_cast<int32_t>(i));
  }
  for (const Request &request : remote_) {
    int32_t id = request.box(), i = *firstNeed_.find(request.device());
    while (needs_[i].box != id && !contains(box(needs_[i].box), box(id)))
      i = needs_[i].next;
    const JoinedNeed &need = needs_[i];
    if (need.shard != -1) {
      serve(request, addPiece(need.shard, id));
      continue;
    }
    if (sameBox(need.box, id)) {
      serve(request, need.pieces);
      continue;
    }
    FlatPlan::Slice parts;
    parts.begin = static_cast<int32_t>(plan_.pieces.size());
    for (int32_t k = need.pieces.begin; k != need.pieces.end; ++k) {
      FlatPlan::Piece piece = plan_.pieces[k];
      int32_t part = plan_.addBox();
      Range *ranges = plan_.rangesOf(part);
      bool empty = false;
      for (size_t d = 0; d != plan_.rank; ++d) {
        ranges[d] = intersect(box(piece.box)[d], box(id)[d]);
        empty |= ranges[d].empty();
      }
      plan_.setVolume(part);
      if (!empty)
        plan_.pieces.push_back({piece.shard, part});
    }
    parts.end = static_cast<int32_t>(plan_.pieces.size());
    serve(request, parts);
  }
}

void Planner::moveComponent(const SourceGrid &grid, int32_t component) {
  ArrayRef<Request> requests = components_.requests(component);
  if (requests.empty())
    return;
  components_.blocks(component, spans_);
  describeSources(grid);
  // The reduction may have served this request.
  int32_t first = 0;
  for (size_t d = 0; d != grid.rank(); ++d)
    first += grid.blocksOf(d, box(requests[0].box())[d]).begin *
             grid.blockStrides()[d];
  if (grid.blockHolders(first).empty())
    return;

  // What the device has needs no action and waits for none.
  remote_.clear();
  for (const Request &request : requests) {
    if (!isLocal(grid, request)) {
      remote_.push_back(request);
      continue;
    }
    FlatPlan::Slice pieces;
    pieces.begin = static_cast<int32_t>(plan_.pieces.size());
    grid.assemble(request.device(), request.box(), plan_);
    pieces.end = static_cast<int32_t>(plan_.pieces.size());
    serve(request, pieces);
  }
  if (remote_.empty())
    return;

  needs_.clear();
  firstNeed_.clear();
  for (const Request &request : remote_)
    join(request);
  llvm::erase_if(needs_, [](const JoinedNeed &need) { return need.dead; });
  if (!tryBroadcast(grid, requests) && !tryAllGather(grid) &&
      !tryAllToAll(grid))
    transfer(grid, isHaloExchange(requests));
  serveRemote();
}

void Planner::moveAll(const SourceGrid &grid,
                      ArrayRef<const Demand *> demandsOfRound) {
  components_.build(grid, demandsOfRound);
  for (int32_t c = 0, e = components_.size(); c != e; ++c)
    moveComponent(grid, c);
  emitTransfers(grid);
}
