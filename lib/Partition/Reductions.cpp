//===- Reductions.cpp - Partial results are reduced once ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

/// What became of a block of partial results.
struct Planner::ReducedBlock {
  enum class State : uint8_t {
    Unneeded,  ///< Nobody reads it.
    Complete,  ///< One device had all parts.
    Reduced,   ///< `shards` hold its reduced boxes.
    Scattered, ///< Reduced straight to where it is needed: all served.
    Home,      ///< To be reduced to the home layout.
  };
  State state = State::Unneeded;
  SmallVector<int32_t, 4> shards;
};

/// Devices that hold parts of a block, ascending.
static SmallVector<int32_t, 8> membersOf(const SourceGrid &grid,
                                         int32_t block) {
  SmallVector<int32_t, 8> members;
  for (Holder holder : grid.blockHolders(block))
    members.push_back(holder.device);
  sortGroup(members);
  return members;
}

void Planner::allReduce(const SourceGrid &partials, int32_t block,
                        ReducedBlock &out) {
  int32_t box = partials.addBlockBox(block, plan_);
  SmallVector<int32_t, 8> members = membersOf(partials, block);
  addAction(ActionKind::AllReduce, members, producer_->combine);
  for (int32_t device : members) {
    addInput(partials, device, box);
    out.shards.push_back(addOutput(device, box));
  }
  out.state = ReducedBlock::State::Reduced;
}

void Planner::scatterHome(const SourceGrid &partials, int32_t block, size_t dim,
                          ReducedBlock &out) {
  int32_t whole = partials.addBlockBox(block, plan_);
  SmallVector<int32_t, 8> members = membersOf(partials, block);
  addAction(ActionKind::ReduceScatter, members, producer_->combine);
  for (size_t member = 0; member != members.size(); ++member) {
    addInput(partials, members[member], whole);
    SmallVector<Range, 5> piece(box(whole));
    Range range = tileRange(piece[dim].size(), members.size(), member);
    piece[dim] = {piece[dim].lo + range.lo, piece[dim].lo + range.hi};
    out.shards.push_back(addOutput(members[member], addBox(piece)));
  }
  out.state = ReducedBlock::State::Reduced;
}

/// Decides about a partial block that is a component of its own.
void Planner::reduceBlock(const SourceGrid &partials, int32_t component,
                          int32_t block, ReducedBlock &out) {
  ArrayRef<Request> requests = components_.requests(component);
  int32_t whole = partials.addBlockBox(block, plan_);
  ArrayRef<Holder> holders = partials.blockHolders(block);

  // Every member needs the whole block. Others then take it from a member.
  size_t missing = holders.size();
  seen_.clear();
  for (Holder holder : holders)
    seen_.insert(holder.device, 0);
  bool onMembers = true;
  for (const Request &request : requests) {
    int32_t *state = seen_.find(request.device());
    onMembers &= state != nullptr;
    if (state && *state == 0 && sameBox(request.box(), whole)) {
      *state = 1;
      --missing;
    }
  }
  if (missing == 0)
    return allReduce(partials, block, out);

  // Every member needs a box of its own, and together they are the block.
  out.state = ReducedBlock::State::Home;
  if (!onMembers)
    return;
  boxIds_.clear();
  seen_.clear();
  for (const Request &request : requests) {
    if (int32_t *index = seen_.find(request.device())) {
      if (!sameBox(boxIds_[*index], request.box()))
        return;
      continue;
    }
    seen_.insert(request.device(), static_cast<int32_t>(boxIds_.size()));
    boxIds_.push_back(request.box());
  }
  if (boxIds_.size() != holders.size())
    return;
  bool covers;
  if (!areDisjoint(boxIds_, whole, covers) || !covers)
    return;
  SmallVector<int32_t, 8> members = membersOf(partials, block);
  addAction(ActionKind::ReduceScatter, members, producer_->combine);
  SmallVector<int32_t, 64> shardOf(boxIds_.size());
  for (int32_t device : members) {
    addInput(partials, device, whole);
    int32_t index = *seen_.find(device);
    shardOf[index] = addOutput(device, boxIds_[index]);
  }
  for (const Request &request : requests)
    serve(request,
          addPiece(shardOf[*seen_.find(request.device())], request.box()));
  out.state = ReducedBlock::State::Scattered;
}

/// The dimension that the home layout cuts: the one that the largest consumer
/// cuts, if every block is long enough there, else the outermost such, else the
/// longest.
static size_t homeDimension(ArrayRef<Demand> demands,
                            ArrayRef<int64_t> shortest, int64_t pieces) {
  const Need *largest = nullptr;
  for (const Demand &demand : demands)
    if (!largest || demand.need->devices.size() > largest->devices.size())
      largest = demand.need;
  size_t cut = shortest.size(), degree = 1;
  for (size_t d = 0; d != shortest.size(); ++d)
    if (largest && largest->ranges[d].size() > degree &&
        shortest[d] >= pieces) {
      cut = d;
      degree = largest->ranges[d].size();
    }
  if (cut != shortest.size())
    return cut;
  for (size_t d = 0; d != shortest.size(); ++d)
    if (shortest[d] >= pieces)
      return d;
  return llvm::max_element(shortest) - shortest.begin();
}

void Planner::reduceForReaders(const SourceGrid &partials,
                               llvm::MutableArrayRef<ReducedBlock> reduced) {
  using State = ReducedBlock::State;
  SmallVector<const Demand *, 4> all;
  for (const Demand &demand : allDemands())
    all.push_back(&demand);
  if (all.empty())
    return;
  components_.build(partials, all);
  for (int32_t c = 0, e = components_.size(); c != e; ++c) {
    if (components_.requests(c).empty())
      continue;
    components_.blocks(c, spans_);
    bool single = llvm::all_of(spans_, [](Span s) { return s.size() == 1; });
    if (single) {
      int32_t block = 0;
      for (size_t d = 0; d != partials.rank(); ++d)
        block += spans_[d].begin * partials.blockStrides()[d];
      if (partials.blockHolders(block).size() == 1)
        reduced[block].state = State::Complete;
      else
        reduceBlock(partials, c, block, reduced[block]);
      continue;
    }
    // A component is a product: it may have blocks that nobody reads.
    int32_t last = -1;
    for (const Request &request : components_.requests(c)) {
      if (last == request.box())
        continue;
      last = request.box();
      for (size_t d = 0; d != partials.rank(); ++d)
        spans_[d] = partials.blocksOf(d, box(last)[d]);
      forEachIndex(spans_, partials.blockStrides(),
                   [&](ArrayRef<int32_t>, int32_t block) {
                     bool partial = partials.blockHolders(block).size() > 1;
                     reduced[block].state =
                         partial ? State::Home : State::Complete;
                   });
    }
  }
}

size_t Planner::reduceToHome(const SourceGrid &partials,
                             llvm::MutableArrayRef<ReducedBlock> reduced,
                             SourceGrid::Cuts &cuts) {
  size_t rank = partials.rank(), homeDim = rank;
  size_t pieces = 1;
  SmallVector<int64_t, 5> shortest(rank, INT64_MAX);
  SmallVector<int32_t, 16> homeBlocks;
  for (int32_t block = 0, e = partials.numBlocks(); block != e; ++block) {
    if (reduced[block].state != ReducedBlock::State::Home)
      continue;
    homeBlocks.push_back(block);
    pieces = std::max(pieces, partials.blockHolders(block).size());
    int32_t id = partials.addBlockBox(block, plan_);
    for (size_t d = 0; d != rank; ++d)
      shortest[d] = std::min(shortest[d], box(id)[d].size());
  }
  if (!homeBlocks.empty() && rank != 0)
    homeDim = homeDimension(allDemands(), shortest, pieces);
  for (int32_t block : homeBlocks) {
    // What is too short to be cut is reduced on all its members.
    Range range;
    if (rank != 0)
      range = box(partials.addBlockBox(block, plan_))[homeDim];
    if (range.size() <
        static_cast<int64_t>(partials.blockHolders(block).size())) {
      allReduce(partials, block, reduced[block]);
      continue;
    }
    scatterHome(partials, block, homeDim, reduced[block]);
    for (int32_t shard : reduced[block].shards)
      cuts[homeDim].push_back(box(plan_.shards[shard].box)[homeDim].lo);
  }
  if (homeDim != rank) {
    llvm::sort(cuts[homeDim]);
    cuts[homeDim].erase(std::unique(cuts[homeDim].begin(), cuts[homeDim].end()),
                        cuts[homeDim].end());
  }
  return homeDim;
}

void Planner::refineGrid(const SourceGrid &partials,
                         ArrayRef<ReducedBlock> reduced,
                         const SourceGrid::Cuts &cuts, size_t homeDim,
                         SourceGrid &grid) {
  size_t rank = partials.rank();
  grid.reset(cuts);
  Spans cells;
  SmallVector<int32_t, 5> strides(rank, 1); // Of the cells before refinement.
  for (size_t d = rank; d-- != 0;) {
    if (d + 1 != rank)
      strides[d] =
          strides[d + 1] *
          (static_cast<int32_t>(partials.cellCuts()[d + 1].size()) - 1);
    cells.insert(cells.begin(), {0, static_cast<int32_t>(cuts[d].size()) - 1});
  }
  SmallVector<int32_t, 5> before(rank);
  forEachIndex(cells, strides, [&](ArrayRef<int32_t> index, int32_t) {
    int32_t cell = 0;
    for (size_t d = 0; d != rank; ++d) {
      before[d] = index[d];
      if (d == homeDim) {
        ArrayRef<int64_t> points = partials.cellCuts()[d];
        before[d] = static_cast<int32_t>(std::upper_bound(points.begin() + 1,
                                                          points.end() - 1,
                                                          cuts[d][index[d]]) -
                                         points.begin() - 1);
      }
      cell += before[d] * strides[d];
    }
    const ReducedBlock &block = reduced[partials.blockOfCell(before)];
    holders_.clear();
    if (block.state == ReducedBlock::State::Complete)
      holders_.append(partials.cellHolders(cell).begin(),
                      partials.cellHolders(cell).end());
    for (int32_t shard : block.shards) {
      const FlatPlan::Shard &piece = plan_.shards[shard];
      bool inside = true;
      if (homeDim != rank)
        inside = box(piece.box)[homeDim].contains(
            {cuts[homeDim][index[homeDim]], cuts[homeDim][index[homeDim] + 1]});
      if (inside)
        holders_.push_back({piece.device, shard});
    }
    grid.addCell(holders_);
  });
  grid.formBlocks(plan_);
}

void Planner::reducePartials(const SourceGrid &partials, SourceGrid &grid) {
  SmallVector<ReducedBlock, 16> reduced(partials.numBlocks());
  reduceForReaders(partials, reduced);
  SourceGrid::Cuts cuts = partials.cellCuts();
  size_t homeDim = reduceToHome(partials, reduced, cuts);
  refineGrid(partials, reduced, cuts, homeDim, grid);
}
