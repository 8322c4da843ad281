//===- RandomStrategies.cpp - Any valid strategy --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/RandomStrategies.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/LaunchPolicy.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <numeric>

using namespace soap;
using llvm::SmallVector;

/// Streams of random numbers, one per kind of decision.
enum Chain : uint64_t {
  Team = 0x7465616d,
  Groups,
  Ends,
  Regather,
  Order,
  Updates
};

static void shuffle(llvm::MutableArrayRef<int32_t> list, Random &random) {
  for (size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[random.below(i)]);
}

static std::vector<int32_t> anyOrder(const OperatorGraph &graph,
                                     Random &random) {
  std::vector<int32_t> ready;
  return dependencyOrder(
      graph, [&](int32_t id) { ready.push_back(id); },
      [&] {
        std::swap(ready[random.below(ready.size())], ready.back());
        int32_t id = ready.back();
        ready.pop_back();
        return id;
      });
}

/// Any degrees of a node with at most `maxTasks` tasks.
static Degrees anyDegrees(const GraphNode &node, int64_t maxTasks,
                          Random &random) {
  Degrees degrees;
  degrees.loops.assign(node.spec.loops.size(), 1);
  SmallVector<int32_t> loops(node.spec.loops.size() + 1);
  std::iota(loops.begin(), loops.end(), 0);
  shuffle(loops, random);
  int64_t left = maxTasks;
  for (int32_t loop : loops) {
    bool copies = loop == static_cast<int32_t>(node.spec.loops.size());
    int64_t limit =
        copies ? left
               : std::min<int64_t>(
                     left, std::max<int64_t>(1, node.spec.loops[loop].extent));
    int32_t degree = static_cast<int32_t>(1 + random.below(limit));
    (copies ? degrees.replicate : degrees.loops[loop]) = degree;
    left /= degree;
  }
  return degrees;
}

/// Marks operands of compute nodes to be gathered again, one in `rarity`.
static void regatherSome(Strategy &strategy, const OperatorGraph &graph,
                         uint64_t rarity, Random &random) {
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (graph.node(id).role == NodeRole::Compute)
      for (size_t i = 0; i < graph.node(id).operands.size(); ++i)
        if (auto &operands = strategy.configs[id].regather;
            random.below(rarity) == 0 &&
            graph.node(id).writtenOperand != static_cast<int32_t>(i) &&
            !llvm::is_contained(operands, static_cast<int32_t>(i)))
          operands.insert(llvm::lower_bound(operands, static_cast<int32_t>(i)),
                          static_cast<int32_t>(i));
}

/// Parameters and constants, but for those that are written, which live where
/// they are written.
static bool livesAnywhere(const OperatorGraph &graph, int32_t id) {
  const GraphNode &node = graph.node(id);
  return (node.role == NodeRole::Parameter ||
          node.role == NodeRole::Constant) &&
         llvm::none_of(node.results, [&](int32_t value) {
           return graph.findWrite(value) != nullptr;
         });
}

/// Gives every second update a configuration of its own, on devices that
/// `place` chooses.
static void moveUpdates(Strategy &strategy, const OperatorGraph &graph,
                        uint64_t seed, int64_t maxTasks,
                        llvm::function_ref<int32_t(int64_t, Random &)> place) {
  for (int32_t update = 0; update < graph.numUpdates(); ++update) {
    Random random(seed, Updates, update);
    if (random.below(2))
      continue;
    const GraphNode &node = graph.node(graph.update(update).front());
    Configuration config;
    config.degrees = anyDegrees(node, maxTasks, random);
    for (int64_t task = 0; task < config.degrees.numTasks(); ++task)
      config.devices.push_back(place(task, random));
    assignUpdate(strategy, graph, update, config);
    setRegathered(strategy, graph, update, random.below(2) == 0);
  }
}

Strategy soap::uniformStrategy(const OperatorGraph &graph,
                               const Topology &topology, uint64_t seed,
                               int32_t devices) {
  if (devices <= 0 || devices > topology.numDevices())
    devices = topology.numDevices();
  Strategy strategy;
  for (const GraphNode &node : graph.nodes())
    strategy.configs.push_back(onDevice(node, 0));
  // Now and then more tasks than devices.
  Random draw(seed, Team, 0);
  ConfigurationSpace space(graph, topology,
                           draw.below(4) ? devices : devices + 4, devices);
  for (int32_t group : space.groups()) {
    Random random(seed, Groups, group);
    space.assign(strategy, group, space.sample(group, random));
  }
  moveUpdates(strategy, graph, seed, devices, [&](int64_t, Random &random) {
    return static_cast<int32_t>(random.below(devices));
  });
  deriveEnds(strategy, graph, topology);
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    Random random(seed, Ends, id);
    if (!livesAnywhere(graph, id) || random.below(2))
      continue;
    Configuration &config = strategy.configs[id];
    config.degrees = anyDegrees(graph.node(id), devices, random);
    config.devices.resize(config.degrees.numTasks());
    for (int32_t &device : config.devices.edit())
      device = static_cast<int32_t>(random.below(devices));
  }
  Random regather(seed, Regather, 0), order(seed, Order, 0);
  regatherSome(strategy, graph, 4, regather);
  if (order.below(2))
    strategy.order = anyOrder(graph, order);
  return strategy;
}

//===----------------------------------------------------------------------===//
// One set of devices
//===----------------------------------------------------------------------===//

/// Degrees with as many tasks as the team has devices, split along one loop
/// only if `single`; if there are none, any that the team can hold.
static Degrees teamDegrees(llvm::ArrayRef<Degrees> choices, int64_t size,
                           bool single, Random &random) {
  auto isSingle = [](const Degrees &degrees) {
    return (degrees.replicate > 1) +
               llvm::count_if(degrees.loops,
                              [](int32_t degree) { return degree > 1; }) ==
           1;
  };
  SmallVector<const Degrees *> whole, fits;
  for (const Degrees &degrees : choices) {
    if (degrees.numTasks() > size)
      continue;
    fits.push_back(&degrees);
    if (degrees.numTasks() == size && (!single || isSingle(degrees)))
      whole.push_back(&degrees);
  }
  SmallVector<const Degrees *> &from = whole.empty() ? fits : whole;
  return *from[random.below(from.size())];
}

Strategy soap::teamStrategy(const OperatorGraph &graph,
                            const Topology &topology, uint64_t seed,
                            int32_t devices) {
  if (devices <= 0 || devices > topology.numDevices())
    devices = topology.numDevices();
  Random draw(seed, Team, 0);
  SmallVector<int32_t> team(devices);
  std::iota(team.begin(), team.end(), 0);
  shuffle(team, draw);
  size_t least = std::min<size_t>(2, team.size());
  team.resize(least + draw.below(team.size() - least + 1));

  Strategy strategy;
  for (const GraphNode &node : graph.nodes())
    strategy.configs.push_back(onDevice(node, team[0]));
  ConfigurationSpace space(graph, topology, /*maxTasks=*/0, devices);
  for (int32_t group : space.groups()) {
    Random random(seed, Groups, group);
    int32_t id = graph.group(group).front();
    int32_t operand = mainOperand(graph, id);
    Configuration config;
    if (operand >= 0 && random.below(3) == 0) {
      config = followOperand(graph, strategy, id, operand);
      if (!space.fits(group, config.degrees))
        config = onDevice(graph.node(id), config.devices.front());
    } else {
      bool all = random.below(4) != 0;
      size_t size = all ? team.size() : 1 + random.below(team.size());
      config.degrees =
          teamDegrees(space.degrees(group), size, random.below(2) == 0, random);
      config.devices.assign(team.begin(),
                            team.begin() + config.degrees.numTasks());
      if (random.below(8) == 0)
        shuffle(config.devices.edit(), random);
    }
    space.assign(strategy, group, config);
  }
  moveUpdates(strategy, graph, seed, static_cast<int64_t>(team.size()),
              [&](int64_t task, Random &) { return team[task]; });
  deriveEnds(strategy, graph, topology);
  bool moves = draw.below(2) == 0;
  for (int32_t id = 0; moves && id < graph.numNodes(); ++id) {
    Random random(seed, Ends, id);
    if (!livesAnywhere(graph, id) || random.below(2))
      continue;
    Configuration &config = strategy.configs[id];
    config.degrees = anyDegrees(graph.node(id), team.size(), random);
    config.devices.assign(team.begin(),
                          team.begin() + config.degrees.numTasks());
  }
  Random regather(seed, Regather, 0), order(seed, Order, 0);
  if (draw.below(2))
    regatherSome(strategy, graph, 8, regather);
  if (order.below(4) == 0)
    strategy.order = anyOrder(graph, order);
  return strategy;
}
