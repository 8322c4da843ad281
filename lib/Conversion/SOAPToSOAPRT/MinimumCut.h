//===- MinimumCut.h - The cheapest of two values per node -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_SOAPTOSOAPRT_MINIMUMCUT_H
#define SOAP_LIB_CONVERSION_SOAPTOSOAPRT_MINIMUMCUT_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace soap {

/// Chooses a value, true or false, for every node, so that the sum of all costs
/// is least. Exact: costs of single values and of differences are the edges of
/// a flow network, and the cheapest choice is its minimum cut (Ford and
/// Fulkerson, 1956; Dinic, 1970).
class MinimumCut {
public:
  /// The cost of what must not be.
  static constexpr int64_t forbidden = int64_t{1} << 50;

  MinimumCut() : edges_(2) {}

  unsigned addNode();
  /// What `node` costs if it has `value`. 0 or larger; costs add up.
  void addCost(unsigned node, bool value, int64_t cost);
  /// What it costs if two nodes have different values.
  void addDifference(unsigned a, unsigned b, int64_t cost);

  /// The value of every node. Of several choices that cost the same, the one
  /// with the fewest nodes that are true. Called once.
  llvm::BitVector solve();

private:
  /// What still fits through an edge, which knows the one back.
  struct Edge {
    unsigned to;
    int64_t room;
    unsigned back; ///< Its number among the edges of `to`.
  };

  void addEdge(unsigned from, unsigned to, int64_t room, int64_t roomBack);
  /// Writes the distance of all nodes from the source.
  void measureLevels();
  int64_t push(unsigned node, int64_t flow);

  /// Nodes that are true stay on the side of the source.
  static constexpr unsigned source = 0, sink = 1, first = 2;
  llvm::SmallVector<llvm::SmallVector<Edge, 4>> edges_;
  llvm::SmallVector<int> levels_;
  llvm::SmallVector<unsigned> next_; ///< The edge to try next, per node.
};

} // namespace soap

#endif // SOAP_LIB_CONVERSION_SOAPTOSOAPRT_MINIMUMCUT_H
