//===- LayerStrategies.cpp - Strategies that place whole layers -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DegreesCosts.h"
#include "soap/Search/ConfigurationSpace.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>

using namespace soap;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

SmallVector<int32_t, 2> soap::weightOperands(const OperatorGraph &graph,
                                             int32_t id) {
  const GraphNode &node = graph.node(id);
  SmallVector<int32_t, 2> weights;
  if (node.spec.results.empty() ||
      llvm::all_of(node.operands, [&](int32_t value) {
        return graph.value(value).traits.parameterOnly;
      }))
    return weights;
  for (auto [operand, id] : llvm::enumerate(node.operands)) {
    const GraphValue &value = graph.value(id);
    if (!value.traits.parameterOnly)
      continue;
    bool contracted = false, ofSamples = false;
    for (auto [dim, size] :
         llvm::zip_equal(node.spec.operands[operand].dims, value.shape)) {
      ofSamples |= dim.loop >= 0 && node.kinds[dim.loop] == LoopKind::Sample;
      contracted |=
          size > 1 && (dim.loop < 0 || node.spec.isReduction(dim.loop));
    }
    if (contracted && !ofSamples)
      weights.push_back(static_cast<int32_t>(operand));
  }
  return weights;
}

bool soap::isFullyConnected(const OperatorGraph &graph, int32_t id) {
  const GraphNode &node = graph.node(id);
  return llvm::any_of(weightOperands(graph, id), [&](int32_t operand) {
    bool makesChannels = false;
    for (const DimAccess &dim : node.spec.operands[operand].dims) {
      if (dim.loop < 0)
        return false;
      makesChannels |= node.kinds[dim.loop] == LoopKind::Parameter &&
                       node.spec.loops[dim.loop].extent > 1 &&
                       !node.spec.isReduction(dim.loop);
    }
    return makesChannels;
  });
}

std::vector<int32_t> soap::layerDepths(const OperatorGraph &graph) {
  // The parameters that a value of parameters alone comes from.
  std::vector<SmallVector<int32_t, 1>> roots(graph.numValues());
  for (const GraphNode &node : graph.nodes())
    for (int32_t result : node.results) {
      if (node.role == NodeRole::Parameter)
        roots[result].push_back(graph.value(result).producer);
      else if (graph.value(result).traits.parameterOnly)
        for (int32_t operand : node.operands)
          roots[result].append(roots[operand]);
    }
  llvm::EquivalenceClasses<int32_t> layers;
  std::vector<int32_t> weightOf(graph.numNodes(), -1);
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    for (int32_t operand : weightOperands(graph, id))
      for (int32_t root : roots[graph.node(id).operands[operand]])
        weightOf[id] =
            *layers.unionSets(weightOf[id] < 0 ? root : weightOf[id], root);

  std::vector<int32_t> depths(graph.numNodes(), 0);
  llvm::DenseMap<int32_t, int32_t> depthOf;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    int32_t depth = 0;
    for (int32_t operand : graph.node(id).operands)
      depth = std::max(depth, depths[graph.value(operand).producer]);
    if (weightOf[id] >= 0)
      depth =
          depthOf.try_emplace(layers.getLeaderValue(weightOf[id]), depth + 1)
              .first->second;
    depths[id] = depth;
  }
  return depths;
}

//===----------------------------------------------------------------------===//
// Balanced cuts
//===----------------------------------------------------------------------===//

/// Cuts items 0 to `items`-1 into one block per place, in order, so that the
/// largest sum of a block is as small as it can be; `cost` is that of an item
/// at a place. Returns the place of each item. Blocks take as many items as
/// fit: if there is a cut with this largest sum, that one is.
static std::vector<int32_t>
balancedCut(size_t items, int32_t places,
            llvm::function_ref<int64_t(size_t item, int32_t place)> cost) {
  auto cut = [&](int64_t limit) {
    std::vector<int32_t> placeOf;
    int32_t place = 0;
    int64_t sum = 0;
    while (placeOf.size() < items) {
      int64_t more = cost(placeOf.size(), place);
      if (sum + more <= limit) {
        sum += more;
        placeOf.push_back(place);
        continue;
      }
      sum = 0;
      if (++place == places)
        break;
    }
    return placeOf;
  };
  // Everything fits into a block at place 0 that is long enough.
  int64_t low = 0, high = 0;
  for (size_t item = 0; item < items; ++item)
    high += cost(item, 0);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (cut(middle).size() == items)
      high = middle;
    else
      low = middle + 1;
  }
  return cut(high);
}

static Strategy onFirstDevice(const OperatorGraph &graph) {
  Strategy strategy;
  for (const GraphNode &node : graph.nodes())
    strategy.configs.push_back(onDevice(node, 0));
  return strategy;
}

Strategy soap::modelParallel(const SearchProblem &problem, int32_t devices) {
  const OperatorGraph &graph = problem.graph;
  const Topology &topology = problem.topology;
  if (devices <= 0 || devices > topology.numDevices())
    devices = topology.numDevices();
  ConfigurationSpace space(graph, topology);
  auto nodeNs = detail::nodeCosts(problem);
  std::vector<std::vector<int64_t>> groupNs;
  for (int32_t group : space.groups()) {
    auto &sum = groupNs.emplace_back(topology.kinds().size(), 0);
    for (int32_t id : graph.group(group))
      for (auto [total, ns] : llvm::zip_equal(sum, nodeNs[id]))
        total += ns;
  }
  std::vector<int32_t> deviceOf =
      balancedCut(groupNs.size(), devices, [&](size_t item, int32_t device) {
        return groupNs[item][topology.device(device).kind];
      });
  Strategy strategy = onFirstDevice(graph);
  for (auto [group, device] : llvm::zip_equal(space.groups(), deviceOf))
    space.assign(strategy, group,
                 onDevice(graph.node(graph.group(group).front()), device));
  deriveEnds(strategy, graph, topology);
  return strategy;
}

Strategy soap::expertRNN(const SearchProblem &problem, int32_t devices) {
  const OperatorGraph &graph = problem.graph;
  const Topology &topology = problem.topology;
  if (devices <= 0 || devices > topology.numDevices())
    devices = topology.numDevices();
  std::vector<std::vector<int32_t>> machines;
  llvm::DenseMap<int32_t, size_t> machineOf;
  for (int32_t device = 0; device < devices; ++device) {
    auto [it, isNew] =
        machineOf.try_emplace(topology.device(device).node, machines.size());
    if (isNew)
      machines.emplace_back();
    machines[it->second].push_back(device);
  }
  size_t width = machines.front().size();
  for (const auto &machine : machines)
    width = std::min(width, machine.size());
  // What has no weights before it goes with the first layer.
  std::vector<int32_t> blockOf = layerDepths(graph);
  for (int32_t &depth : blockOf)
    depth = std::max(depth - 1, 0);
  size_t depths = *llvm::max_element(blockOf) + 1;
  auto place = [&](size_t machine, int32_t block) {
    return machines[machine][block * machines[machine].size() / width];
  };
  if (depths > width) {
    auto nodeNs = detail::nodeCosts(problem);
    std::vector<std::vector<int64_t>> depthNs(
        depths, std::vector<int64_t>(topology.kinds().size(), 0));
    for (int32_t id = 0; id < graph.numNodes(); ++id)
      for (auto [total, ns] : llvm::zip_equal(depthNs[blockOf[id]], nodeNs[id]))
        total += ns;
    std::vector<int32_t> blockOfDepth = balancedCut(
        depths, static_cast<int32_t>(width), [&](size_t depth, int32_t block) {
          return depthNs[depth][topology.device(place(0, block)).kind];
        });
    for (int32_t &block : blockOf)
      block = blockOfDepth[block];
  }

  ConfigurationSpace space(graph, topology);
  Strategy strategy = onFirstDevice(graph);
  for (int32_t group : space.groups()) {
    int32_t id = graph.group(group).front();
    const GraphNode &node = graph.node(id);
    Configuration config = onDevice(node, place(0, blockOf[id]));
    const LoopKind *sample = llvm::find(node.kinds, LoopKind::Sample);
    if (sample != node.kinds.end()) {
      auto loop = sample - node.kinds.begin();
      size_t parts = std::min<size_t>(
          machines.size(), std::max<int64_t>(1, space.extents(group)[loop]));
      config.degrees.loops[loop] = static_cast<int32_t>(parts);
      for (size_t machine = 1; machine < parts; ++machine)
        config.devices.push_back(place(machine, blockOf[id]));
    }
    space.assign(strategy, group, config);
  }
  deriveEnds(strategy, graph, topology);
  return strategy;
}
