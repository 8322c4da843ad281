//===- Spread.cpp - The same on more devices ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

using namespace soap;
using namespace soap::detail;

/// The loop to split, or -1.
static int chooseLoop(const GraphNode &node, const Degrees &degrees,
                      LoopKind kind) {
  int best = -1;
  int64_t room = 1;
  if (node.spec.results.empty())
    return best;
  for (auto [index, loop] : llvm::enumerate(node.spec.loops)) {
    int64_t left = loop.extent / degrees.loops[index];
    if (node.kinds[index] != kind || left <= room ||
        node.spec.isReduction(index))
      continue;
    best = static_cast<int>(index);
    room = left;
    if (kind != LoopKind::Attribute)
      break;
  }
  return best;
}

Configuration detail::spread(const OperatorGraph &graph,
                             const ConfigurationSpace &space, int32_t group,
                             const Configuration &config, const Spread &how) {
  const GraphNode &node = graph.node(graph.group(group).front());
  int loop = chooseLoop(node, config.degrees, how.kind);
  Configuration result;
  int32_t factor = loop < 0 ? 1 : how.factor;
  for (;; factor /= 2) {
    result.degrees = config.degrees;
    if (factor == 1)
      break;
    result.degrees.loops[loop] *= factor;
    if (space.allows(group, result.degrees))
      break;
  }
  int32_t replicate = config.degrees.replicate;
  for (int64_t task = 0; task < result.degrees.numTasks(); ++task) {
    llvm::SmallVector<int32_t, 6> at = taskIndices(result.degrees, task);
    int32_t part = 0;
    if (factor > 1) {
      int32_t &index = at[loop], before = config.degrees.loops[loop];
      part = how.inside ? index % factor : index / before;
      index = how.inside ? index / factor : index % before;
    }
    int64_t tile = 0;
    for (auto [degree, index] : llvm::zip(config.degrees.loops, at))
      tile = tile * degree + index;
    int32_t device = config.devices[tile * replicate + task % replicate];
    result.devices.push_back(how.inside ? device * how.factor + part
                                        : device + part * how.span *
                                                       (how.factor / factor));
  }
  return result;
}
