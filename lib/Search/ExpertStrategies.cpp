//===- ExpertStrategies.cpp - Strategies by rule --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/TaskGraph.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace soap;

static Strategy emptyStrategy(const OperatorGraph &graph) {
  Strategy strategy;
  strategy.configs.resize(graph.numNodes());
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    strategy.configs[id] = onDevice(graph.node(id), 0);
  return strategy;
}

/// `degree` tasks along one loop, on devices 0, 1, ....
static Configuration splitLoop(const GraphNode &node, int loop,
                               int64_t degree) {
  Configuration config = onDevice(node, 0);
  config.degrees.loops[loop] = static_cast<int32_t>(degree);
  for (int32_t device = 1; device < degree; ++device)
    config.devices.push_back(device);
  return config;
}

/// Splits, in the first member of every compute group, the loop that `choose`
/// names (-1: follow the main operand) over devices 0 to `devices`-1 (0: all).
/// With `followFirst`, nodes without parameter loops choose only if following
/// leaves them one task.
template <typename Choose>
static Strategy splitEach(const OperatorGraph &graph, const Topology &topology,
                          int32_t devices, Choose choose,
                          bool followFirst = false) {
  if (devices <= 0)
    devices = topology.numDevices();
  Strategy strategy = emptyStrategy(graph);
  ConfigurationSpace space(graph, topology);
  for (int32_t group : space.groups()) {
    int32_t id = graph.group(group).front();
    const GraphNode &node = graph.node(id);
    Configuration follower = onDevice(node, 0);
    if (int32_t operand = mainOperand(graph, id); operand >= 0)
      follower = followOperand(graph, strategy, id, operand);
    int loop = choose(node);
    bool follow =
        loop < 0 || (followFirst && follower.degrees.numTiles() > 1 &&
                     !llvm::is_contained(node.kinds, LoopKind::Parameter));
    space.assign(strategy, group,
                 follow
                     ? follower
                     : splitLoop(node, loop,
                                 std::min<int64_t>(
                                     devices, node.spec.loops[loop].extent)));
  }
  deriveEnds(strategy, graph, topology);
  return strategy;
}

Strategy soap::singleDevice(const OperatorGraph &graph,
                            const Topology &topology, int32_t device) {
  Strategy strategy = emptyStrategy(graph);
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    strategy.configs[id] = onDevice(graph.node(id), device);
  deriveEnds(strategy, graph, topology);
  return strategy;
}

Strategy soap::dataParallel(const OperatorGraph &graph,
                            const Topology &topology) {
  return splitEach(graph, topology, 0, [](const GraphNode &node) {
    for (auto [loop, kind] : llvm::enumerate(node.kinds))
      if (kind == LoopKind::Sample)
        return static_cast<int>(loop);
    return -1;
  });
}

Strategy soap::tensorParallel(const OperatorGraph &graph,
                              const Topology &topology, int32_t devices) {
  return splitEach(graph, topology, devices, [](const GraphNode &node) {
    for (auto [loop, kind] : llvm::enumerate(node.kinds))
      if (kind == LoopKind::Parameter && node.spec.loops[loop].extent > 1 &&
          !node.spec.results.empty() && !node.spec.isReduction(loop))
        return static_cast<int>(loop);
    return -1;
  });
}

Strategy soap::spatial(const OperatorGraph &graph, const Topology &topology,
                       int32_t devices) {
  auto largestLoop = [](const GraphNode &node) {
    int best = -1;
    auto largest = [&](LoopKind wanted) {
      for (auto [loop, kind] : llvm::enumerate(node.kinds))
        if (kind == wanted && node.spec.loops[loop].extent > 1 &&
            !node.spec.results.empty() && !node.spec.isReduction(loop) &&
            (best < 0 ||
             node.spec.loops[loop].extent > node.spec.loops[best].extent))
          best = static_cast<int>(loop);
    };
    // Split by parameter where nothing is left of space.
    largest(LoopKind::Attribute);
    if (best < 0)
      largest(LoopKind::Parameter);
    return best;
  };
  return splitEach(graph, topology, devices, largestLoop,
                   /*followFirst=*/true);
}

Strategy soap::modelParallel(const OperatorGraph &graph,
                             const Topology &topology, const CostModel &costs) {
  Strategy strategy = singleDevice(graph, topology);
  TaskGraph tasks(graph, topology, costs);
  tasks.setStrategy(strategy);
  int64_t total = 0, before = 0;
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    total += tasks.nodeNs(id);
  ConfigurationSpace space(graph, topology);
  for (int32_t group : space.groups()) {
    int64_t cost = 0;
    for (int32_t id : graph.group(group))
      cost += tasks.nodeNs(id);
    // The block that the middle of the group's work falls into.
    int64_t block =
        total > 0 ? (before + cost / 2) * topology.numDevices() / total : 0;
    int32_t device = static_cast<int32_t>(
        std::min<int64_t>(block, topology.numDevices() - 1));
    space.assign(strategy, group,
                 onDevice(graph.node(graph.group(group).front()), device));
    before += cost;
  }
  deriveEnds(strategy, graph, topology);
  return strategy;
}

Strategy soap::randomStrategy(const OperatorGraph &graph,
                              const Topology &topology, uint64_t seed,
                              bool structured) {
  Strategy strategy = emptyStrategy(graph);
  ConfigurationSpace space(graph, topology);
  for (int32_t group : space.groups()) {
    Random random(seed, 0x7265676e /* a chain of its own */, group);
    space.assign(strategy, group,
                 structured ? space.sampleStructured(group, random)
                            : space.sample(group, random));
  }
  deriveEnds(strategy, graph, topology);
  return strategy;
}

llvm::Expected<Strategy> soap::expertStrategy(llvm::StringRef name,
                                              const OperatorGraph &graph,
                                              const Topology &topology,
                                              const CostModel &costs,
                                              uint64_t seed) {
  if (name == "single")
    return singleDevice(graph, topology);
  if (name == "data-parallel")
    return dataParallel(graph, topology);
  if (name == "model-parallel")
    return modelParallel(graph, topology, costs);
  if (name == "tensor-parallel")
    return tensorParallel(graph, topology);
  if (name == "spatial")
    return spatial(graph, topology);
  if (name == "random")
    return randomStrategy(graph, topology, seed);
  if (name == "random-uniform")
    return uniformStrategy(graph, topology, seed);
  if (name == "random-team")
    return teamStrategy(graph, topology, seed);
  return llvm::createStringError(
      "expected a strategy single, data-parallel, model-parallel, "
      "tensor-parallel, spatial, random, random-uniform or random-team, got: "
      "'" +
      name + "'");
}
