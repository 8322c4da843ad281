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

SourceGrid::SourceGrid(Cuts cellCuts) : cuts(std::move(cellCuts)) {
  computeStrides(cuts, cellStride);
  size_t numCells = 1;
  for (const auto &points : cuts)
    numCells *= points.size() - 1;
  begin.reserve(numCells + 1);
  holders.reserve(numCells);
  begin.push_back(0);
}

void SourceGrid::addCell(ArrayRef<Holder> cellHolders) {
  holders.append(cellHolders.begin(), cellHolders.end());
  begin.push_back(static_cast<int32_t>(holders.size()));
}

/// True if two shards sum up the same parts, or are both complete.
static bool sameParts(const ValuePlan &plan, int32_t a, int32_t b) {
  auto partsOf = [&](int32_t index) {
    const Shard &shard = plan.shards[index];
    SmallVector<int32_t, 4> parts;
    if (shard.part >= 0 && shard.origin == Shard::Origin::Reduction)
      for (int32_t input : plan.reductions[shard.index].inputs)
        parts.push_back(plan.shards[input].part);
    else
      parts.push_back(shard.part);
    return parts;
  };
  return plan.shards[a].part == plan.shards[b].part &&
         (plan.shards[a].part < 0 || partsOf(a) == partsOf(b));
}

void SourceGrid::formBlocks(const ValuePlan &plan) {
  auto sameHolders = [&](int32_t a, int32_t b) {
    ArrayRef<Holder> x = cellHolders(a), y = cellHolders(b);
    return x.size() == y.size() &&
           std::equal(x.begin(), x.end(), y.begin(), [&](Holder p, Holder q) {
             return p.device == q.device && sameParts(plan, p.shard, q.shard);
           });
  };
  blockCuts.resize(rank());
  blockStart.resize(rank());
  SmallVector<bool, 17> keep;
  for (size_t d = 0; d != rank(); ++d) {
    auto count = static_cast<int32_t>(cuts[d].size()) - 1;
    keep.assign(count, false);
    if (count > 1)
      for (int32_t cell = 0, e = numCells(); cell != e; ++cell) {
        int32_t index = cell / cellStride[d] % count;
        if (index != 0 && !keep[index])
          keep[index] = !sameHolders(cell, cell - cellStride[d]);
      }
    for (int32_t index = 0; index != count; ++index)
      if (index == 0 || keep[index]) {
        blockCuts[d].push_back(cuts[d][index]);
        blockStart[d].push_back(index);
      }
    blockCuts[d].push_back(cuts[d].back());
    blockStart[d].push_back(count);
  }
  computeStrides(blockCuts, blockStride);
  Spans all;
  for (size_t d = 0; d != rank(); ++d)
    all.push_back({0, numBlocks(d)});
  forEachIndex(all, blockStride, [&](ArrayRef<int32_t> index, int32_t) {
    int32_t cell = 0;
    for (size_t d = 0; d != rank(); ++d)
      cell += blockStart[d][index[d]] * cellStride[d];
    firstCell.push_back(cell);
  });
}

Box SourceGrid::blockBox(int32_t block) const {
  Box box(rank());
  for (size_t d = 0; d != rank(); ++d) {
    int32_t index = block / blockStride[d];
    block -= index * blockStride[d];
    box[d] = {blockCuts[d][index], blockCuts[d][index + 1]};
  }
  return box;
}

int32_t SourceGrid::blockOfCell(ArrayRef<int32_t> cellIndex) const {
  int32_t block = 0;
  for (size_t d = 0; d != rank(); ++d)
    block += locate(blockCuts[d], cuts[d][cellIndex[d]]) * blockStride[d];
  return block;
}

Span SourceGrid::blocksOf(size_t d, Range range) const {
  return {locate(blockCuts[d], range.lo),
          locate(blockCuts[d], range.hi - 1) + 1};
}

bool SourceGrid::holds(int32_t block, int32_t device) const {
  for (Holder holder : blockHolders(block))
    if (holder.device == device)
      return true;
  return false;
}

void SourceGrid::assemble(int32_t device, const Box &box,
                          ArrayRef<Shard> shards,
                          SmallVectorImpl<Piece> &pieces) const {
  // Often one shard has it all.
  int32_t corner = 0;
  for (size_t d = 0; d != rank(); ++d)
    corner += locate(cuts[d], box[d].lo) * cellStride[d];
  for (Holder holder : cellHolders(corner))
    if (holder.device == device && contains(shards[holder.shard].box, box)) {
      pieces.push_back({holder.shard, box});
      return;
    }
  Spans span(rank());
  for (size_t d = 0; d != rank(); ++d)
    span[d] = {locate(cuts[d], box[d].lo), locate(cuts[d], box[d].hi - 1) + 1};
  forEachIndex(span, cellStride, [&](ArrayRef<int32_t> index, int32_t cell) {
    for (Holder holder : cellHolders(cell)) {
      if (holder.device != device)
        continue;
      // A shard may span several cells: take it where its part of the box
      // begins.
      Box part = intersect(shards[holder.shard].box, box);
      for (size_t d = 0; d != rank(); ++d)
        if (part[d].lo < cuts[d][index[d]])
          return;
      pieces.push_back({holder.shard, std::move(part)});
      return;
    }
    assert(false && "the device does not hold the box");
  });
}
