//===- MinimumCut.cpp - The cheapest of two values per node ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MinimumCut.h"
#include <algorithm>
#include <limits>

using namespace soap;

unsigned MinimumCut::addNode() {
  edges_.emplace_back();
  return edges_.size() - 1 - first;
}

void MinimumCut::addEdge(unsigned from, unsigned to, int64_t room,
                         int64_t roomBack) {
  edges_[from].push_back({to, room, static_cast<unsigned>(edges_[to].size())});
  edges_[to].push_back(
      {from, roomBack, static_cast<unsigned>(edges_[from].size() - 1)});
}

void MinimumCut::addCost(unsigned node, bool value, int64_t cost) {
  if (value)
    addEdge(first + node, sink, cost, 0);
  else
    addEdge(source, first + node, cost, 0);
}

void MinimumCut::addDifference(unsigned a, unsigned b, int64_t cost) {
  if (a != b)
    addEdge(first + a, first + b, cost, cost);
}

void MinimumCut::measureLevels() {
  levels_.assign(edges_.size(), -1);
  levels_[source] = 0;
  llvm::SmallVector<unsigned> queue = {source};
  for (size_t i = 0; i != queue.size(); ++i)
    for (const Edge &edge : edges_[queue[i]])
      if (edge.room > 0 && levels_[edge.to] < 0) {
        levels_[edge.to] = levels_[queue[i]] + 1;
        queue.push_back(edge.to);
      }
}

int64_t MinimumCut::push(unsigned node, int64_t flow) {
  if (node == sink)
    return flow;
  for (unsigned &i = next_[node]; i != edges_[node].size(); ++i) {
    Edge &edge = edges_[node][i];
    if (edge.room == 0 || levels_[edge.to] != levels_[node] + 1)
      continue;
    int64_t pushed = push(edge.to, std::min(flow, edge.room));
    if (pushed == 0)
      continue;
    edge.room -= pushed;
    edges_[edge.to][edge.back].room += pushed;
    return pushed;
  }
  return 0;
}

llvm::BitVector MinimumCut::solve() {
  for (measureLevels(); levels_[sink] >= 0; measureLevels()) {
    next_.assign(edges_.size(), 0);
    while (push(source, std::numeric_limits<int64_t>::max()) > 0) {
    }
  }
  llvm::BitVector values(edges_.size() - first);
  for (unsigned node = first; node != edges_.size(); ++node)
    values[node - first] = levels_[node] >= 0;
  return values;
}
