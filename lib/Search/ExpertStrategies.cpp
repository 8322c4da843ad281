//===- ExpertStrategies.cpp - Strategies by rule --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/ConfigurationSpace.h"
#include "llvm/ADT/STLFunctionalExtras.h"
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

namespace {
/// What a rule says of one node.
struct LoopRule {
  int loop = -1; ///< To split; -1: follow the main operand.
  /// Split only if following the main operand leaves the node one task.
  bool followsFirst = false;
};
} // namespace

/// Splits, in the first member of every compute group, the loop that `choose`
/// names.
static Strategy
splitEach(const OperatorGraph &graph, const Topology &topology, int32_t devices,
          llvm::function_ref<LoopRule(int32_t, const GraphNode &)> choose) {
  if (devices <= 0 || devices > topology.numDevices())
    devices = topology.numDevices();
  Strategy strategy = emptyStrategy(graph);
  ConfigurationSpace space(graph, topology);
  for (int32_t group : space.groups()) {
    int32_t id = graph.group(group).front();
    const GraphNode &node = graph.node(id);
    Configuration config = onDevice(node, 0);
    if (int32_t operand = mainOperand(graph, id); operand >= 0)
      config = followOperand(graph, strategy, id, operand);
    if (!space.fits(group, config.degrees))
      config = onDevice(node, config.devices.front());
    LoopRule choice = choose(id, node);
    if (choice.loop >= 0 &&
        !(choice.followsFirst && config.degrees.numTiles() > 1))
      config = splitLoop(
          node, choice.loop,
          std::min<int64_t>(devices, space.extents(group)[choice.loop]));
    space.assign(strategy, group, config);
  }
  deriveEnds(strategy, graph, topology);
  return strategy;
}

/// The first sample loop, or -1.
static int firstSampleLoop(const GraphNode &node) {
  const LoopKind *found = llvm::find(node.kinds, LoopKind::Sample);
  return found == node.kinds.end()
             ? -1
             : static_cast<int>(found - node.kinds.begin());
}

/// The first parameter loop that indexes the result, or -1.
static int firstChannelLoop(const GraphNode &node) {
  for (auto [loop, kind] : llvm::enumerate(node.kinds))
    if (kind == LoopKind::Parameter && node.spec.loops[loop].extent > 1 &&
        !node.spec.results.empty() && !node.spec.isReduction(loop))
      return static_cast<int>(loop);
  return -1;
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
                            const Topology &topology, int32_t devices) {
  return splitEach(graph, topology, devices,
                   [](int32_t, const GraphNode &node) {
                     return LoopRule{firstSampleLoop(node)};
                   });
}

/// Whether an update moves fewer bytes than its parameter has: it changes some
/// slices. Who shards it has to gather the whole parameter in every step.
static bool changesSlices(const Strategy &strategy, const OperatorGraph &graph,
                          int32_t update) {
  int32_t id = graph.update(update).front();
  const GraphNode &node = graph.node(id);
  const Degrees &degrees = strategy.configs[id].degrees;
  const GraphValue &value = graph.value(node.results[0]);
  Box box = resultBox(node.spec, 0, degrees, /*task=*/0, value.shape);
  std::optional<double> moved = graph.taskWork(id, degrees, /*task=*/0).bytes;
  return moved && *moved < static_cast<double>(volume(box)) *
                               static_cast<double>(value.elementBytes);
}

/// Data parallel with sharded updates. `all`: also of those that change slices.
static Strategy shardUpdates(const OperatorGraph &graph,
                             const Topology &topology, int32_t devices,
                             bool all) {
  Strategy strategy = dataParallel(graph, topology, devices);
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    if (auto config = shardedUpdate(strategy, graph, update);
        config && (all || !changesSlices(strategy, graph, update)))
      assignUpdate(strategy, graph, update, *config);
  deriveEnds(strategy, graph, topology);
  return strategy;
}

Strategy soap::zero(const OperatorGraph &graph, const Topology &topology,
                    int32_t devices) {
  return shardUpdates(graph, topology, devices, /*all=*/false);
}

Strategy soap::fullySharded(const OperatorGraph &graph,
                            const Topology &topology, int32_t devices) {
  Strategy strategy = shardUpdates(graph, topology, devices, /*all=*/true);
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    if (isUpdateApart(strategy, graph, update))
      setRegathered(strategy, graph, update, true);
  return strategy;
}

Strategy soap::tensorParallel(const OperatorGraph &graph,
                              const Topology &topology, int32_t devices) {
  return splitEach(graph, topology, devices,
                   [](int32_t, const GraphNode &node) {
                     return LoopRule{firstChannelLoop(node)};
                   });
}

Strategy soap::spatial(const OperatorGraph &graph, const Topology &topology,
                       int32_t devices) {
  auto largestLoop = [](int32_t, const GraphNode &node) {
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
    return LoopRule{best, !llvm::is_contained(node.kinds, LoopKind::Parameter)};
  };
  return splitEach(graph, topology, devices, largestLoop);
}

Strategy soap::oneWeirdTrick(const OperatorGraph &graph,
                             const Topology &topology, int32_t devices) {
  return splitEach(graph, topology, devices,
                   [&](int32_t id, const GraphNode &node) {
                     if (isFullyConnected(graph, id))
                       return LoopRule{firstChannelLoop(node)};
                     return LoopRule{firstSampleLoop(node),
                                     weightOperands(graph, id).empty()};
                   });
}

Strategy soap::randomStrategy(const OperatorGraph &graph,
                              const Topology &topology, uint64_t seed,
                              bool structured, int32_t devices) {
  Strategy strategy = emptyStrategy(graph);
  ConfigurationSpace space(graph, topology, /*maxTasks=*/0, devices);
  for (int32_t group : space.groups()) {
    Random random(seed, 0x7265676e /* a chain of its own */, group);
    space.assign(strategy, group,
                 structured ? space.sampleStructured(group, random)
                            : space.sample(group, random));
  }
  deriveEnds(strategy, graph, topology);
  return strategy;
}
