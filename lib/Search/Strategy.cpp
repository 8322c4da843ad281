//===- Strategy.cpp - One configuration per operation ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Strategy.h"
#include "Placement.h"
#include "soap/Search/TaskGraph.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace soap;
using llvm::SmallVector;

Configuration soap::onDevice(const GraphNode &node, int32_t device) {
  Configuration config;
  config.degrees.loops.assign(node.spec.loops.size(), 1);
  config.devices.push_back(device);
  return config;
}

Configuration soap::memberConfiguration(const GraphNode &leader,
                                        const Configuration &config,
                                        const GraphNode &member) {
  const Degrees &degrees = config.degrees;
  // How far tasks of the leader are apart along each of its loops.
  SmallVector<int64_t, 6> strides(degrees.loops.size());
  int64_t stride = degrees.replicate;
  for (size_t loop = degrees.loops.size(); loop-- != 0;) {
    strides[loop] = stride;
    stride *= degrees.loops[loop];
  }
  // The leader's task at a task of the member: a sum over the member's loops,
  // then over the leader's other loops, then over the leader's copies.
  Configuration result;
  SmallVector<std::pair<int32_t, int64_t>, 8> axes; // Degree, stride.
  llvm::SmallBitVector isOther(degrees.loops.size(), true);
  for (int16_t loop : member.leaderLoops) {
    axes.push_back(loop < 0 ? std::pair(1, int64_t(0))
                            : std::pair(degrees.loops[loop], strides[loop]));
    if (loop >= 0)
      isOther.reset(loop);
    result.degrees.loops.push_back(axes.back().first);
  }
  for (unsigned loop : isOther.set_bits()) {
    axes.push_back({degrees.loops[loop], strides[loop]});
    result.degrees.replicate *= degrees.loops[loop];
  }
  axes.push_back({degrees.replicate, 1});
  result.degrees.replicate *= degrees.replicate;

  int64_t numTasks = result.degrees.numTasks();
  result.devices.reserve(numTasks);
  for (int64_t task = 0; task < numTasks; ++task) {
    int64_t rest = task, source = 0;
    for (auto [degree, stride] : llvm::reverse(axes)) {
      source += rest % degree * stride;
      rest /= degree;
    }
    result.devices.push_back(
        config.devices[SOAP_FAULT("member-order") ? task : source]);
  }
  return result;
}

llvm::Error soap::verify(const Configuration &config, const GraphNode &node,
                         const Topology &topology) {
  auto fail = [&](const llvm::Twine &text) {
    return llvm::createStringError("node '" + node.name + "': " + text);
  };
  const Degrees &degrees = config.degrees;
  if (degrees.loops.size() != node.spec.loops.size())
    return fail("expected a degree for each of " +
                llvm::Twine(node.spec.loops.size()) +
                " loops, got: " + llvm::Twine(degrees.loops.size()));
  for (auto [loop, degree] : llvm::zip(node.spec.loops, degrees.loops))
    if (degree < 1 || degree > std::max<int64_t>(1, loop.extent))
      return fail("expected a degree of loop '" + loop.name + "' from 1 to " +
                  llvm::Twine(loop.extent) + ", got: " + llvm::Twine(degree));
  if (degrees.replicate < 1)
    return fail("expected replicate of 1 or more, got: " +
                llvm::Twine(degrees.replicate));
  if (static_cast<int64_t>(config.devices.size()) != degrees.numTasks())
    return fail("expected " + llvm::Twine(degrees.numTasks()) +
                " devices (product of degrees and replicate), got: " +
                llvm::Twine(config.devices.size()));
  bool onHost = node.role == NodeRole::Input || node.role == NodeRole::Output;
  for (int32_t device : config.devices) {
    if (onHost && device != topology.host())
      return fail("expected an " + stringify(node.role) +
                  " on the host, got: device " + llvm::Twine(device));
    if (!onHost && device == topology.host())
      return fail("expected devices that compute, got: the host");
    if (device < 0 || device > topology.host())
      return fail("expected devices from 0 to " +
                  llvm::Twine(topology.numDevices() - 1) + " of topology '" +
                  topology.name + "', got: " + llvm::Twine(device) +
                  "; use a topology with more devices or another strategy");
  }
  if (onHost && config.devices.size() != 1)
    return fail("expected one task on the host, got: " +
                llvm::Twine(config.devices.size()));
  for (auto [index, operand] : llvm::enumerate(config.regather)) {
    if (operand < 0 || operand >= static_cast<int32_t>(node.operands.size()))
      return fail("expected operand numbers below " +
                  llvm::Twine(node.operands.size()) +
                  " in regather, got: " + llvm::Twine(operand));
    if (index && config.regather[index - 1] >= operand)
      return fail("expected ascending operand numbers in regather");
  }
  return llvm::Error::success();
}

llvm::Error soap::verify(const Strategy &strategy, const OperatorGraph &graph,
                         const Topology &topology) {
  if (static_cast<int32_t>(strategy.configs.size()) != graph.numNodes())
    return llvm::createStringError(
        "expected a configuration for each of " +
        llvm::Twine(graph.numNodes()) +
        " nodes, got: " + llvm::Twine(strategy.configs.size()));
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (llvm::Error error =
            verify(strategy.configs[id], graph.node(id), topology))
      return error;

  for (int32_t group = 0; group < graph.numGroups(); ++group) {
    llvm::ArrayRef<int32_t> members = graph.group(group);
    const GraphNode &leader = graph.node(members.front());
    for (int32_t id : members.drop_front()) {
      Configuration expected = memberConfiguration(
          leader, strategy.configs[members.front()], graph.node(id));
      expected.regather = strategy.configs[id].regather;
      if (expected != strategy.configs[id])
        return llvm::createStringError(
            "node '" + graph.node(id).name +
            "': expected the configuration that follows from that of its "
            "group's leader, '" +
            leader.name + "'; leave it out, or change the leader's");
    }
  }

  for (int32_t value = 0; value < graph.numValues(); ++value) {
    int32_t id = graph.value(value).producer;
    const GraphValue::Use *write = graph.findWrite(value);
    if (write && llvm::is_contained(strategy.configs[write->node].regather,
                                    write->operand))
      return llvm::createStringError(
          "node '" + graph.node(write->node).name +
          "': expected what is written not to be gathered again, got: "
          "operand " +
          std::to_string(write->operand));
    if (!write ||
        strategy.configs[id] == detail::placeWhereRead(graph, strategy, id))
      continue;
    return llvm::createStringError(
        "node '" + graph.node(id).name +
        "': expected a parameter that is written to live where it is "
        "written; leave its configuration out");
  }

  if (strategy.order.empty())
    return llvm::Error::success();
  std::vector<int32_t> position(graph.numNodes(), -1);
  for (auto [index, id] : llvm::enumerate(strategy.order)) {
    if (id < 0 || id >= graph.numNodes() || position[id] >= 0)
      return llvm::createStringError(
          "expected a launch order that names every node once");
    position[id] = static_cast<int32_t>(index);
  }
  if (static_cast<int32_t>(strategy.order.size()) != graph.numNodes())
    return llvm::createStringError(
        "expected a launch order that names every node once");
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    for (int32_t value : graph.node(id).operands)
      if (int32_t producer = graph.value(value).producer;
          position[producer] > position[id])
        return llvm::createStringError(
            "node '" + graph.node(id).name +
            "': expected a launch order in which operands come first, got: "
            "'" +
            graph.node(producer).name + "' later");
  for (int32_t value = 0; value < graph.numValues(); ++value)
    if (const GraphValue::Use *write = graph.findWrite(value))
      for (const GraphValue::Use &use : graph.value(value).uses)
        if (position[use.node] > position[write->node])
          return llvm::createStringError(
              "node '" + graph.node(write->node).name +
              "': expected a launch order in which it stands behind all "
              "that reads what it writes, got: '" +
              graph.node(use.node).name + "' later");
  return llvm::Error::success();
}

void soap::deriveMembers(Strategy &strategy, std::vector<bool> &given,
                         const OperatorGraph &graph) {
  for (int32_t group = 0; group < graph.numGroups(); ++group) {
    int32_t leader = graph.group(group).front();
    for (int32_t id : graph.group(group).drop_front()) {
      if (given[id] || !given[leader])
        continue;
      strategy.configs[id] = memberConfiguration(
          graph.node(leader), strategy.configs[leader], graph.node(id));
      given[id] = true;
    }
  }
}

//===----------------------------------------------------------------------===//
// Ends of the graph
//===----------------------------------------------------------------------===//

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
    if (const GraphValue::Use *write = graph.findWrite(valueId)) {
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
