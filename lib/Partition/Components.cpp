//===- Components.cpp - Independent regions of a value --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Components.h"

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// Finds the block of a position; positions that ascend cost O(1) each.
struct BlockCursor {
  ArrayRef<int64_t> cuts;
  int32_t block = 0;

  int32_t seek(int64_t position) {
    while (position < cuts[block])
      --block;
    while (position >= cuts[block + 1])
      ++block;
    return block;
  }
};
} // namespace

int32_t Components::cluster(const SourceGrid &grid,
                            ArrayRef<const Demand *> demands) {
  size_t rank = grid.rank();
  strides_.assign(rank, 1);
  firstCluster_.assign(rank, 0);
  clusters_.clear();
  // Per demand and dimension, the cluster of each range; all in one array.
  clusterOf_.clear();
  firstRange_.assign(demands.size() * rank, 0);
  int32_t numComponents = 1;
  for (size_t d = rank; d-- != 0;) {
    int32_t numBlocks = grid.numBlocks(d);
    firstCluster_[d] = static_cast<int32_t>(clusters_.size());
    // A range over blocks [a, b] joins them: count the ranges that are open at
    // each boundary.
    opened_.assign(numBlocks + 1, 0);
    BlockCursor low{grid.cutsOfBlocks(d)}, high{grid.cutsOfBlocks(d)};
    size_t base = clusterOf_.size();
    for (size_t i = 0; i != demands.size(); ++i) {
      firstRange_[i * rank + d] = clusterOf_.size();
      for (Range range : demands[i]->need->ranges[d]) {
        if (range.empty()) {
          clusterOf_.push_back(-1);
          continue;
        }
        int32_t a = low.seek(range.lo);
        ++opened_[a];
        --opened_[high.seek(range.hi - 1)];
        clusterOf_.push_back(a);
      }
    }
    clusterOfBlock_.clear();
    int32_t open = 0, numClusters = 0;
    for (int32_t block = 0; block != numBlocks; ++block) {
      if (open == 0) {
        clusters_.push_back(block);
        ++numClusters;
      }
      clusterOfBlock_.push_back(numClusters - 1);
      open += opened_[block];
    }
    clusters_.push_back(numBlocks);
    for (size_t r = base; r != clusterOf_.size(); ++r)
      if (clusterOf_[r] >= 0)
        clusterOf_[r] = clusterOfBlock_[clusterOf_[r]];
    strides_[d] = numComponents;
    numComponents *= numClusters;
  }
  return numComponents;
}

void Components::sortRequests(ArrayRef<const Demand *> demands,
                              int32_t numComponents) {
  size_t rank = strides_.size();
  componentOf_.clear();
  begin_.assign(numComponents + 1, 0);
  SmallVector<int32_t, 5> index(rank);
  for (size_t i = 0; i != demands.size(); ++i) {
    const Need &need = *demands[i]->need;
    index.assign(rank, 0);
    for (int32_t first : demands[i]->firstRead) {
      int32_t component = -1;
      if (first >= 0) {
        component = 0;
        for (size_t d = 0; d != rank; ++d)
          component +=
              clusterOf_[firstRange_[i * rank + d] + index[d]] * strides_[d];
        begin_[component + 1] += need.copies;
      }
      componentOf_.push_back(component);
      for (size_t d = rank; d-- != 0;) {
        if (++index[d] != static_cast<int32_t>(need.ranges[d].size()))
          break;
        index[d] = 0;
      }
    }
  }
  for (int32_t c = 0; c != numComponents; ++c)
    begin_[c + 1] += begin_[c];
  sorted_.resize_for_overwrite(begin_.back());
  next_.assign(begin_.begin(), begin_.end() - 1);
  const int32_t *component = componentOf_.begin();
  for (const Demand *demand : demands)
    for (int32_t tile = 0, e = demand->firstRead.size(); tile != e;
         ++tile, ++component)
      if (*component >= 0)
        for (int32_t copy = 0; copy != demand->need->copies; ++copy)
          sorted_[next_[*component]++] = {demand, tile, copy};
}

void Components::build(const SourceGrid &grid,
                       ArrayRef<const Demand *> demands) {
  sortRequests(demands, cluster(grid, demands));
}

void Components::blocks(int32_t component, Spans &spans) const {
  spans.resize(strides_.size());
  for (size_t d = 0; d != strides_.size(); ++d) {
    int32_t cluster = component / strides_[d];
    component -= cluster * strides_[d];
    const int32_t *blocks = &clusters_[firstCluster_[d] + cluster];
    spans[d] = {blocks[0], blocks[1]};
  }
}
