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

/// True if no two boxes are equal.
static bool areDistinct(ArrayRef<const Box *> boxes) {
  auto before = [](const Box *a, const Box *b) {
    return std::lexicographical_compare(a->begin(), a->end(), b->begin(),
                                        b->end(), lessRange);
  };
  SmallVector<const Box *, 64> sorted(boxes.begin(), boxes.end());
  if (!llvm::is_sorted(sorted, before))
    llvm::sort(sorted, before);
  for (size_t i = 1, e = sorted.size(); i < e; ++i)
    if (*sorted[i - 1] == *sorted[i])
      return false;
  return true;
}

bool soap::detail::areDisjoint(ArrayRef<const Box *> boxes, const Box &hull,
                               bool &covers) {
  if (!areDistinct(boxes))
    return false;
  size_t gridSize = 1;
  covers = true;
  SmallVector<Range, 64> ranges;
  for (size_t d = 0, rank = hull.size(); d != rank; ++d) {
    ranges.clear();
    for (const Box *box : boxes)
      if (ranges.empty() || ranges.back() != (*box)[d])
        ranges.push_back((*box)[d]);
    if (!llvm::is_sorted(ranges, lessRange))
      llvm::sort(ranges, lessRange);
    ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
    int64_t total = 0;
    for (size_t i = 0, e = ranges.size(); i != e; ++i) {
      if (i != 0 && ranges[i].lo < ranges[i - 1].hi)
        return false;
      total += ranges[i].size();
    }
    covers &= total == hull[d].size();
    gridSize *= ranges.size();
  }
  covers &= gridSize == boxes.size();
  return true;
}

//===----------------------------------------------------------------------===//
// Joining requests
//===----------------------------------------------------------------------===//

/// If the union of two boxes is a box, makes `a` that union. Boxes that merely
/// abut count only if `abutting`.
static bool unite(Box &a, const Box &b, bool abutting) {
  size_t differing = a.size();
  bool aInB = true, bInA = true;
  for (size_t d = 0, rank = a.size(); d != rank; ++d) {
    if (a[d] == b[d])
      continue;
    aInB &= b[d].contains(a[d]);
    bInA &= a[d].contains(b[d]);
    differing = differing == rank ? d : rank + 1;
  }
  if (bInA)
    return true;
  if (aInB) {
    a = b;
    return true;
  }
  if (differing >= a.size())
    return false;
  Range &x = a[differing], y = b[differing];
  int64_t overlap = std::min(x.hi, y.hi) - std::max(x.lo, y.lo);
  if (overlap < 0 || (overlap == 0 && !abutting))
    return false;
  x = {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
  return true;
}

void Planner::join(const Request &request) {
  JoinedNeed need;
  need.device = request.device();
  need.box = request.box();
  need.demands = uint64_t(1) << std::min(request.demand->index, 63);
  // A union may reach further needs of the device: start over after each.
  int32_t *head = firstNeed.find(need.device);
  need.next = head ? *head : -1;
  for (int32_t i = need.next; i != -1;) {
    JoinedNeed &other = needs[i];
    i = other.next;
    if (other.dead ||
        !unite(need.box, other.box, need.demands == other.demands))
      continue;
    need.demands |= other.demands;
    other.dead = true;
    i = need.next;
  }
  while (need.next != -1 && needs[need.next].dead)
    need.next = needs[need.next].next;
  firstNeed.insert(need.device, static_cast<int32_t>(needs.size()));
  needs.push_back(std::move(need));
}

//===----------------------------------------------------------------------===//
// The rows of the table
//===----------------------------------------------------------------------===//

void Planner::describeSources(const SourceGrid &grid, const Spans &spans) {
  blocks.clear();
  blockBoxes.clear();
  ownBlock.clear();
  distinct = true;
  forEachIndex(spans, grid.blockStrides(),
               [&](ArrayRef<int32_t>, int32_t block) {
                 ArrayRef<Holder> holders = grid.blockHolders(block);
                 auto index = static_cast<int32_t>(blocks.size());
                 if (index == 0)
                   copies = static_cast<int32_t>(holders.size());
                 else if (copies != static_cast<int32_t>(holders.size()))
                   copies = 0;
                 for (Holder holder : holders)
                   distinct &= ownBlock.insert(holder.device, index);
                 blocks.push_back(block);
                 blockBoxes.push_back(grid.blockBox(block));
               });
}

/// One source block, needed whole by several devices that do not have it.
bool Planner::tryBroadcast(const SourceGrid &grid, ArrayRef<Request> requests) {
  if (blocks.size() != 1 || needs.size() < 2)
    return false;
  const Box &box = blockBoxes[0];
  for (const JoinedNeed &need : needs)
    if (need.box != box)
      return false;
  // Two copies among the readers: each destination takes the nearest.
  int32_t root = -1;
  for (const Request &request : requests)
    if (ownBlock.find(request.device())) {
      if (root != -1 && root != request.device())
        return false;
      root = request.device();
    }
  if (root == -1) {
    int64_t best = INT64_MAX;
    for (Holder holder : grid.blockHolders(blocks[0])) {
      int64_t total = 0;
      for (const JoinedNeed &need : needs)
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
  auto onHost = [&](const JoinedNeed &need) { return need.device == host; };
  if (root == host || llvm::any_of(needs, onHost))
    return false;
  if (!llvm::is_sorted(needs, byDevice))
    llvm::sort(needs, byDevice);
  SmallVector<int32_t, 8> group{root};
  for (const JoinedNeed &need : needs)
    group.push_back(need.device);
  int32_t action = addAction(ActionKind::Broadcast, std::move(group));
  addInput(grid, action, root, box);
  for (JoinedNeed &need : needs) {
    auto position = static_cast<int32_t>(plan.actions[action].outputs.size());
    int32_t shard = addShard(need.device, box, action, position);
    plan.actions[action].outputs.push_back(shard);
    need.shard = shard;
  }
  return true;
}

/// Every holder needs the union. With copies, each copy gathers on its own.
bool Planner::tryAllGather(const SourceGrid &grid) {
  if (blocks.size() < 2 || !distinct || copies == 0 ||
      needs.size() != blocks.size() * copies)
    return false;
  Box whole = blockBoxes.front();
  for (size_t d = 0; d != whole.size(); ++d)
    whole[d].hi = blockBoxes.back()[d].hi;
  seen.clear();
  for (size_t i = 0, e = needs.size(); i != e; ++i)
    if (needs[i].box != whole || !ownBlock.find(needs[i].device) ||
        !seen.insert(needs[i].device, static_cast<int32_t>(i)))
      return false;
  for (int32_t copy = 0; copy != copies; ++copy) {
    SmallVector<int32_t, 8> group;
    for (int32_t block : blocks)
      group.push_back(grid.blockHolders(block)[copy].device);
    sortGroup(group);
    int32_t action = addAction(ActionKind::AllGather, group);
    for (int32_t device : group) {
      addInput(grid, action, device, blockBoxes[*ownBlock.find(device)]);
      auto position = static_cast<int32_t>(plan.actions[action].outputs.size());
      int32_t shard = addShard(device, whole, action, position);
      plan.actions[action].outputs.push_back(shard);
      needs[*seen.find(device)].shard = shard;
    }
  }
  return true;
}

/// Every holder needs a box of its own, with something from every block.
bool Planner::tryAllToAll(const SourceGrid &grid, const Spans &spans) {
  if (blocks.size() < 2 || !distinct || copies != 1 ||
      needs.size() != blocks.size())
    return false;
  SmallVector<const Box *, 64> boxes;
  seen.clear();
  for (size_t i = 0, e = needs.size(); i != e; ++i) {
    for (size_t d = 0; d != spans.size(); ++d)
      if (!(grid.blocksOf(d, needs[i].box[d]) == spans[d]))
        return false;
    if (!ownBlock.find(needs[i].device) ||
        !seen.insert(needs[i].device, static_cast<int32_t>(i)))
      return false;
    boxes.push_back(&needs[i].box);
  }
  bool covers;
  if (!areDisjoint(boxes, needs[0].box, covers))
    return false;
  // Members put their whole blocks in: where some of it is needed by none (rows
  // behind the last window), transfers move less.
  int64_t needed = 0, held = 0;
  for (const Box *box : boxes)
    needed += volume(*box);
  for (const Box &box : blockBoxes)
    held += volume(box);
  if (needed != held)
    return false;
  SmallVector<int32_t, 8> group;
  for (const JoinedNeed &need : needs)
    group.push_back(need.device);
  sortGroup(group);
  int32_t action = addAction(ActionKind::AllToAll, group);
  for (int32_t device : group) {
    addInput(grid, action, device, blockBoxes[*ownBlock.find(device)]);
    JoinedNeed &need = needs[*seen.find(device)];
    auto position = static_cast<int32_t>(plan.actions[action].outputs.size());
    int32_t shard = addShard(device, need.box, action, position);
    plan.actions[action].outputs.push_back(shard);
    need.shard = shard;
  }
  return true;
}

/// Every device keeps its own block and needs something around it.
bool Planner::isHaloExchange(ArrayRef<Request> requests) {
  if (blocks.size() < 2 || !distinct)
    return false;
  for (const JoinedNeed &need : needs) {
    int32_t *own = ownBlock.find(need.device);
    if (!own || !contains(need.box, blockBoxes[*own]))
      return false;
  }
  SmallVector<bool, 64> kept(blocks.size(), false);
  size_t missing = blocks.size();
  for (const Request &request : requests) {
    int32_t *own = ownBlock.find(request.device());
    if (own && !kept[*own] && contains(request.box(), blockBoxes[*own])) {
      kept[*own] = true;
      --missing;
    }
  }
  return missing == 0;
}

/// What a device lacks of its need comes from the nearest holder of each block.
void Planner::transfer(const SourceGrid &grid, bool halo) {
  ActionKind kind = halo ? ActionKind::HaloExchange : ActionKind::Transfer;
  for (JoinedNeed &need : needs) {
    TransferGroup *group = nullptr;
    for (TransferGroup &other : transfers)
      if (other.kind == kind && other.demands == need.demands)
        group = &other;
    if (!group) {
      group = &transfers.emplace_back();
      group->kind = kind;
      group->demands = need.demands;
    }
    Spans spans(grid.rank());
    for (size_t d = 0; d != grid.rank(); ++d)
      spans[d] = grid.blocksOf(d, need.box[d]);
    need.firstPiece = pieces.size();
    forEachIndex(spans, grid.blockStrides(),
                 [&](ArrayRef<int32_t>, int32_t block) {
                   Box part = intersect(grid.blockBox(block), need.box);
                   if (grid.holds(block, need.device)) {
                     grid.assemble(need.device, part, plan.shards, pieces);
                     return;
                   }
                   int32_t source = -1;
                   int64_t best = 0;
                   for (Holder holder : grid.blockHolders(block)) {
                     int64_t distance = cost(holder.device, need.device);
                     if (source == -1 || distance < best ||
                         (distance == best && holder.device < source)) {
                       best = distance;
                       source = holder.device;
                     }
                   }
                   // Action and position follow once the group is complete.
                   int32_t shard = addShard(need.device, part, -1, 0);
                   group->items.push_back({source, need.device, shard});
                   pieces.push_back({shard, std::move(part)});
                 });
    need.endPiece = pieces.size();
  }
}

void Planner::emitTransfers(const SourceGrid &grid) {
  using Item = TransferGroup::Item;
  for (TransferGroup &group : transfers) {
    auto before = [&](const Item &a, const Item &b) {
      if (a.source != b.source)
        return a.source < b.source;
      if (a.destination != b.destination)
        return a.destination < b.destination;
      const Box &x = plan.shards[a.shard].box, &y = plan.shards[b.shard].box;
      for (size_t d = 0, rank = x.size(); d != rank; ++d)
        if (x[d].lo != y[d].lo)
          return x[d].lo < y[d].lo;
      return a.shard < b.shard;
    };
    if (!llvm::is_sorted(group.items, before))
      llvm::sort(group.items, before);
    SmallVector<int32_t, 8> members;
    seen.clear();
    for (const Item &item : group.items)
      for (int32_t device : {item.source, item.destination})
        if (seen.insert(device, 0))
          members.push_back(device);
    sortGroup(members);
    int32_t index = addAction(group.kind, std::move(members));
    Action &action = plan.actions[index];
    action.inputs.reserve(group.items.size());
    action.outputs.reserve(group.items.size());
    action.destinations.reserve(group.items.size());
    for (const Item &item : group.items) {
      Shard &shard = plan.shards[item.shard];
      shard.index = index;
      shard.position = static_cast<int32_t>(action.outputs.size());
      addInput(grid, index, item.source, shard.box);
      action.outputs.push_back(item.shard);
      action.destinations.push_back(item.destination);
    }
  }
  transfers.clear();
}

//===----------------------------------------------------------------------===//
// One round
//===----------------------------------------------------------------------===//

void Planner::moveComponent(const SourceGrid &grid,
                            const Components &components, int32_t component) {
  ArrayRef<Request> requests = components.requests(component);
  if (requests.empty())
    return;
  Spans spans = components.blocks(component);
  describeSources(grid, spans);
  // Served when it was reduced?
  int32_t first = 0;
  for (size_t d = 0; d != grid.rank(); ++d)
    first +=
        grid.blocksOf(d, requests[0].box()[d]).begin * grid.blockStrides()[d];
  if (grid.blockHolders(first).empty())
    return;

  // Row 1: what is there needs no action and waits for none.
  remote.clear();
  for (const Request &request : requests) {
    int32_t device = request.device();
    int32_t *own = ownBlock.find(device);
    bool local = own;
    if (local && distinct) {
      local = contains(blockBoxes[*own], request.box());
    } else if (local) {
      Spans touched(grid.rank());
      for (size_t d = 0; d != grid.rank(); ++d)
        touched[d] = grid.blocksOf(d, request.box()[d]);
      forEachIndex(touched, grid.blockStrides(),
                   [&](ArrayRef<int32_t>, int32_t block) {
                     local = local && grid.holds(block, device);
                   });
    }
    if (!local) {
      remote.push_back(request);
      continue;
    }
    pieces.clear();
    grid.assemble(device, request.box(), plan.shards, pieces);
    serve(request, pieces);
  }
  if (remote.empty())
    return;

  needs.clear();
  needs.reserve(remote.size());
  firstNeed.clear();
  pieces.clear();
  for (const Request &request : remote)
    join(request);
  llvm::erase_if(needs, [](const JoinedNeed &need) { return need.dead; });
  if (!tryBroadcast(grid, requests) && !tryAllGather(grid) &&
      !tryAllToAll(grid, spans))
    transfer(grid, isHaloExchange(requests));

  // Chains again: joining and sorting moved the needs.
  firstNeed.clear();
  for (size_t i = needs.size(); i-- != 0;) {
    int32_t *head = firstNeed.find(needs[i].device);
    needs[i].next = head ? *head : -1;
    firstNeed.insert(needs[i].device, static_cast<int32_t>(i));
  }
  SmallVector<Piece, 4> parts;
  for (const Request &request : remote) {
    int32_t i = *firstNeed.find(request.device());
    while (!contains(needs[i].box, request.box()))
      i = needs[i].next;
    const JoinedNeed &need = needs[i];
    if (need.shard != -1) {
      serve(request, Piece{need.shard, request.box()});
      continue;
    }
    parts.clear();
    for (size_t k = need.firstPiece; k != need.endPiece; ++k) {
      Box part = intersect(pieces[k].box, request.box());
      if (!isEmpty(part))
        parts.push_back({pieces[k].shard, std::move(part)});
    }
    serve(request, parts);
  }
}

void Planner::moveAll(const SourceGrid &grid,
                      ArrayRef<const Demand *> demands) {
  Components components(grid, demands);
  for (int32_t c = 0, e = components.size(); c != e; ++c)
    moveComponent(grid, components, c);
  emitTransfers(grid);
}
