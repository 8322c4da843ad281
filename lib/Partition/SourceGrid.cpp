//===- SourceGrid.cpp - Where a value can be read from --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceGrid.h"
#include <algorithm>
#include <cassert>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

/// Row-major strides of a grid with the given cut points.
static void computeStrides(const SourceGrid::Cuts &cuts,
                           SmallVectorImpl<int32_t> &strides) {
  strides.assign(cuts.size(), 1);
  for (size_t d = cuts.size(); d-- > 1;)
    strides[d - 1] = strides[d] * (static_cast<int32_t>(cuts[d].size()) - 1);
}

/// The interval between cut points that holds `position`.
static int32_t locate(ArrayRef<int64_t> cuts, int64_t position) {
  if (cuts.size() == 2)
    return 0;
  return static_cast<int32_t>(
      std::upper_bound(cuts.begin() + 1, cuts.end() - 1, position) -
      cuts.begin() - 1);
}

void SourceGrid::reset(const Cuts &cellCuts) {
  cuts_ = cellCuts;
  computeStrides(cuts_, cellStride_);
  begin_.assign(1, 0);
  holders_.clear();
}

void SourceGrid::addCell(ArrayRef<Holder> cellHolders) {
  holders_.append(cellHolders.begin(), cellHolders.end());
  begin_.push_back(static_cast<int32_t>(holders_.size()));
}

/// The parts that a shard sums up.
static SmallVector<int32_t, 4> partsOf(const FlatPlan &plan,
                                       const FlatPlan::Shard &shard) {
  SmallVector<int32_t, 4> parts;
  if (shard.part >= 0 && shard.origin == Shard::Origin::Reduction)
    for (int32_t input : plan.inputsOf(plan.reductions[shard.index]))
      parts.push_back(plan.shards[input].part);
  else
    parts.push_back(shard.part);
  return parts;
}

/// True if two shards sum up the same parts, or are both complete.
static bool sameParts(const FlatPlan &plan, int32_t a, int32_t b) {
  const FlatPlan::Shard &x = plan.shards[a], &y = plan.shards[b];
  return x.part == y.part &&
         (x.part < 0 || partsOf(plan, x) == partsOf(plan, y));
}

void SourceGrid::formBlocks(const FlatPlan &plan) {
  auto sameHolders = [&](int32_t a, int32_t b) {
    ArrayRef<Holder> x = cellHolders(a), y = cellHolders(b);
    return x.size() == y.size() &&
           std::equal(x.begin(), x.end(), y.begin(), [&](Holder p, Holder q) {
             return p.device == q.device && sameParts(plan, p.shard, q.shard);
           });
  };
  blockCuts_.resize(rank());
  blockStart_.resize(rank());
  SmallVector<bool, 17> keep;
  for (size_t d = 0; d != rank(); ++d) {
    blockCuts_[d].clear();
    blockStart_[d].clear();
    auto count = static_cast<int32_t>(cuts_[d].size()) - 1;
    keep.assign(count, false);
    if (count > 1)
      for (int32_t cell = 0, e = numCells(); cell != e; ++cell) {
        int32_t index = cell / cellStride_[d] % count;
        if (index != 0 && !keep[index])
          keep[index] = !sameHolders(cell, cell - cellStride_[d]);
      }
    for (int32_t index = 0; index != count; ++index)
      if (index == 0 || keep[index]) {
        blockCuts_[d].push_back(cuts_[d][index]);
        blockStart_[d].push_back(index);
      }
    blockCuts_[d].push_back(cuts_[d].back());
    blockStart_[d].push_back(count);
  }
  computeStrides(blockCuts_, blockStride_);
  Spans all;
  for (size_t d = 0; d != rank(); ++d)
    all.push_back({0, numBlocks(d)});
  firstCell_.clear();
  forEachIndex(all, blockStride_, [&](ArrayRef<int32_t> index, int32_t) {
    int32_t cell = 0;
    for (size_t d = 0; d != rank(); ++d)
      cell += blockStart_[d][index[d]] * cellStride_[d];
    firstCell_.push_back(cell);
  });
}

int32_t SourceGrid::addBlockBox(int32_t block, FlatPlan &plan) const {
  int32_t id = plan.addBox();
  Range *ranges = plan.rangesOf(id);
  for (size_t d = 0; d != rank(); ++d) {
    int32_t index = block / blockStride_[d];
    block -= index * blockStride_[d];
    ranges[d] = blockRange(d, index);
  }
  plan.setVolume(id);
  return id;
}

int32_t SourceGrid::blockOfCell(ArrayRef<int32_t> cellIndex) const {
  int32_t block = 0;
  for (size_t d = 0; d != rank(); ++d)
    block += locate(blockCuts_[d], cuts_[d][cellIndex[d]]) * blockStride_[d];
  return block;
}

Span SourceGrid::blocksOf(size_t d, Range range) const {
  return {locate(blockCuts_[d], range.lo),
          locate(blockCuts_[d], range.hi - 1) + 1};
}

bool SourceGrid::holds(int32_t block, int32_t device) const {
  for (Holder holder : blockHolders(block))
    if (holder.device == device)
      return true;
  return false;
}

void SourceGrid::assemble(int32_t device, int32_t id, FlatPlan &plan) const {
  // Often one shard has it all.
  ArrayRef<Range> box = plan.box(id);
  int32_t corner = 0;
  for (size_t d = 0; d != rank(); ++d)
    corner += locate(cuts_[d], box[d].lo) * cellStride_[d];
  for (Holder holder : cellHolders(corner))
    if (holder.device == device &&
        contains(plan.box(plan.shards[holder.shard].box), box)) {
      plan.pieces.push_back({holder.shard, id});
      return;
    }
  Spans span(rank());
  for (size_t d = 0; d != rank(); ++d)
    span[d] = {locate(cuts_[d], box[d].lo),
               locate(cuts_[d], box[d].hi - 1) + 1};
  forEachIndex(span, cellStride_, [&](ArrayRef<int32_t> index, int32_t cell) {
    for (Holder holder : cellHolders(cell)) {
      if (holder.device != device)
        continue;
      // A shard may span several cells: take it where its part of the box
      // begins.
      int32_t shard = plan.shards[holder.shard].box;
      for (size_t d = 0; d != rank(); ++d)
        if (std::max(plan.box(shard)[d].lo, plan.box(id)[d].lo) <
            cuts_[d][index[d]])
          return;
      int32_t part = plan.addBox();
      for (size_t d = 0; d != rank(); ++d)
        plan.rangesOf(part)[d] = intersect(plan.box(shard)[d], plan.box(id)[d]);
      plan.setVolume(part);
      plan.pieces.push_back({holder.shard, part});
      return;
    }
    assert(false && "the device does not hold the box");
  });
}
