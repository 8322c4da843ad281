//===- Placement.cpp - Where parameters and constants live ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"
#include "soap/Search/TaskGraph.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/SmallBitVector.h"
#include <algorithm>

using namespace soap;
using llvm::SmallVector;

/// The configuration of a parameter that puts exactly the tiles of `need` where
/// they are read, if those tiles are a grid that degrees can describe.
static std::optional<Configuration> placeLike(const Need &need,
                                              const GraphNode &node,
                                              llvm::ArrayRef<int64_t> shape) {
  Configuration config = onDevice(node, 0);
  if (need.ranges.size() != shape.size())
    return std::nullopt;
  for (auto [dim, ranges] : llvm::enumerate(need.ranges)) {
    int64_t count = static_cast<int64_t>(ranges.size());
    for (int64_t i = 0; i < count; ++i)
      if (ranges[i] != tileRange(shape[dim], count, i))
        return std::nullopt;
    if (count == 1)
      continue;
    // Some tasks read nothing: fewer elements than tiles.
    if (count > shape[dim])
      return std::nullopt;
    int16_t loop = node.spec.results[0].dims[dim].loop;
    if (loop < 0 || node.spec.loops[loop].extent != shape[dim])
      return std::nullopt;
    config.degrees.loops[loop] = static_cast<int32_t>(count);
  }
  // Tiles of a parameter are numbered over its loops, those of the need over
  // the dimensions: the same where loops stand in the order of dimensions.
  int16_t last = -1;
  for (const DimAccess &dim : node.spec.results[0].dims) {
    if (dim.loop < 0)
      continue;
    if (dim.loop < last)
      return std::nullopt;
    last = dim.loop;
  }

  // A tile that several tasks of one device read is stored there once.
  int64_t tiles = need.numTiles();
  if (tiles * need.copies != static_cast<int64_t>(need.devices.size()) ||
      tiles == 0 || config.degrees.numTiles() != tiles)
    return std::nullopt;
  std::vector<SmallVector<int32_t, 4>> distinct(tiles);
  SmallVector<int64_t, 64> lastTile(
      *std::max_element(need.devices.begin(), need.devices.end()) + 1, -1);
  bool equal = true;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    for (int32_t copy = 0; copy < need.copies; ++copy)
      if (int32_t device = need.devices[tile * need.copies + copy];
          std::exchange(lastTile[device], tile) != tile)
        distinct[tile].push_back(device);
    equal &= distinct[tile].size() == distinct[0].size();
  }
  config.devices.clear();
  if (!equal) {
    config.degrees.replicate = need.copies;
    config.devices.assign(need.devices.begin(), need.devices.end());
    return config;
  }
  config.degrees.replicate = static_cast<int32_t>(distinct[0].size());
  for (const auto &devices : distinct)
    config.devices.append(devices.begin(), devices.end());
  return config;
}

/// True if only the tasks at 0 in reduction loops, which follow from results,
/// read a complete value.
static bool isReadByFirst(const ValueAccess &access) {
  return access.firstOnly || access.unreduced;
}

/// True if two nodes read an operand in the same way, tile by tile and device
/// by device.
static bool readAlike(const GraphNode &a, const ValueAccess &accessOfA,
                      const Configuration &configOfA, const GraphNode &b,
                      const ValueAccess &accessOfB,
                      const Configuration &configOfB) {
  auto sameExtent = [](const LoopSpec &x, const LoopSpec &y) {
    return x.extent == y.extent;
  };
  return !isReadByFirst(accessOfA) && !isReadByFirst(accessOfB) &&
         configOfA.degrees == configOfB.degrees &&
         configOfA.devices == configOfB.devices &&
         accessOfA.dims == accessOfB.dims &&
         a.spec.loops.size() == b.spec.loops.size() &&
         std::equal(a.spec.loops.begin(), a.spec.loops.end(),
                    b.spec.loops.begin(), sameExtent);
}

Configuration detail::placeWhereRead(const OperatorGraph &graph,
                                     const Strategy &strategy, int32_t id) {
  const GraphNode &node = graph.node(id);
  std::optional<Configuration> common;
  bool agree = true;
  llvm::SmallBitVector used;
  auto use = [&](llvm::ArrayRef<int32_t> devices) {
    for (int32_t device : devices) {
      if (static_cast<size_t>(device) >= used.size())
        used.resize(device + 1);
      used.set(device);
    }
  };
  for (int32_t valueId : node.results) {
    const GraphValue &value = graph.value(valueId);
    // What is written lives where it is written, and moves from there.
    if (const GraphValue::Use *write = graph.findWrite(valueId);
        write && !SOAP_FAULT("lives-where-read")) {
      Need need = needOf(graph, strategy, valueId, write - value.uses.begin());
      settleParts(need);
      if (std::optional<Configuration> place =
              placeLike(need, node, value.shape))
        return *place;
      use(need.devices);
      agree = false;
      break;
    }
    const GraphValue::Use *before = nullptr;
    auto accessOf = [&](const GraphValue::Use &use) -> const ValueAccess & {
      return graph.node(use.node).spec.operands[use.operand];
    };
    for (auto [index, reader] : llvm::enumerate(value.uses)) {
      if (graph.node(reader.node).role != NodeRole::Compute)
        continue;
      const Configuration &config = strategy.configs[reader.node];
      // Some values are read by every layer, and most layers do the same.
      const GraphValue::Use *last = std::exchange(before, &reader);
      if (last && readAlike(graph.node(last->node), accessOf(*last),
                            strategy.configs[last->node],
                            graph.node(reader.node), accessOf(reader), config))
        continue;
      if (!agree && !isReadByFirst(accessOf(reader))) {
        use(config.devices);
        continue;
      }
      Need need = needOf(graph, strategy, valueId, index);
      settleParts(need);
      use(need.devices);
      std::optional<Configuration> place = placeLike(need, node, value.shape);
      agree &= place.has_value() && (!common || *common == *place);
      if (!common)
        common = std::move(place);
    }
  }
  if (used.none())
    return onDevice(node, 0);
  if (agree)
    return *common;
  // Consumers that read different tiles: a whole copy for each device.
  Configuration config = onDevice(node, 0);
  config.degrees.replicate = static_cast<int32_t>(used.count());
  config.devices.clear();
  for (unsigned device : used.set_bits())
    config.devices.push_back(static_cast<int32_t>(device));
  return config;
}

std::optional<Configuration> soap::deriveEnd(const Strategy &strategy,
                                             const OperatorGraph &graph,
                                             const Topology &topology,
                                             int32_t id) {
  Configuration config;
  switch (graph.node(id).role) {
  case NodeRole::Compute:
    return std::nullopt;
  case NodeRole::Input:
  case NodeRole::Output:
    config = onDevice(graph.node(id), topology.host());
    break;
  case NodeRole::Parameter:
  case NodeRole::Constant:
    config = detail::placeWhereRead(graph, strategy, id);
    break;
  }
  if (config == strategy.configs[id])
    return std::nullopt;
  return config;
}

void soap::deriveEnds(Strategy &strategy, const OperatorGraph &graph,
                      const Topology &topology, int32_t node,
                      llvm::SmallVectorImpl<int32_t> *changed) {
  strategy.configs.resize(graph.numNodes());
  auto derive = [&](int32_t id) {
    std::optional<Configuration> config =
        deriveEnd(strategy, graph, topology, id);
    if (!config)
      return;
    strategy.configs[id] = std::move(*config);
    if (changed)
      changed->push_back(id);
  };
  if (node < 0) {
    for (int32_t id = 0; id < graph.numNodes(); ++id)
      derive(id);
    return;
  }
  for (int32_t value : graph.node(node).operands)
    derive(graph.value(value).producer);
}

void soap::deriveMissingEnds(Strategy &strategy, const std::vector<bool> &given,
                             const OperatorGraph &graph,
                             const Topology &topology) {
  // Needs are computed from all consumers, outputs included.
  Strategy derived = strategy;
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (graph.node(id).role == NodeRole::Output)
      derived.configs[id] = onDevice(graph.node(id), topology.host());
  deriveEnds(derived, graph, topology);
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (!given[id])
      strategy.configs[id] = std::move(derived.configs[id]);
}
