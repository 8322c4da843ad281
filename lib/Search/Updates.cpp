//===- Updates.cpp - Where parameters are updated -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Strategy.h"
#include "soap/Testing/PlantedFault.h"

using namespace soap;
using llvm::SmallVector;

bool soap::isUpdateApart(const Strategy &strategy, const OperatorGraph &graph,
                         int32_t update) {
  const Configuration &config = strategy.configs[graph.update(update).front()];
  Configuration following = followingUpdate(strategy, graph, update);
  return !(config.degrees == following.degrees) ||
         config.devices != following.devices;
}

Configuration soap::followingUpdate(const Strategy &strategy,
                                    const OperatorGraph &graph,
                                    int32_t update) {
  const GraphNode &node = graph.node(graph.update(update).front());
  int32_t leader = graph.group(node.group).front();
  return memberConfiguration(graph.node(leader), strategy.configs[leader],
                             node);
}

void soap::assignUpdate(Strategy &strategy, const OperatorGraph &graph,
                        int32_t update, const Configuration &config) {
  llvm::ArrayRef<int32_t> members = graph.update(update);
  const GraphNode &leader = graph.node(members.front());
  strategy.configs[members.front()] = config;
  // Where the update follows its group, so does every member: devices of their
  // copies may stand in another order.
  bool isApart = isUpdateApart(strategy, graph, update);
  int32_t group = graph.group(leader.group).front();
  if (SOAP_FAULT("state-apart"))
    members = members.drop_back();
  for (int32_t id : members.drop_front())
    strategy.configs[id] =
        isApart ? updateConfiguration(leader, config, graph.node(id))
                : memberConfiguration(graph.node(group),
                                      strategy.configs[group], graph.node(id));
}

/// `config` with the copies of every task split along `loop` instead.
static Configuration splitCopies(const Configuration &config, size_t loop) {
  Configuration result;
  result.degrees.loops = config.degrees.loops;
  int32_t copies = config.degrees.replicate;
  result.degrees.loops[loop] *= copies;
  for (int64_t task = 0; task < result.degrees.numTasks(); ++task) {
    auto at = taskIndices(result.degrees, task);
    int32_t copy = at[loop] % copies;
    at[loop] /= copies;
    int64_t tile = 0;
    for (auto [degree, index] : llvm::zip(config.degrees.loops, at))
      tile = tile * degree + index;
    result.devices.push_back(config.devices[tile * copies + copy]);
  }
  return result;
}

std::optional<Configuration> soap::shardedUpdate(const Strategy &strategy,
                                                 const OperatorGraph &graph,
                                                 int32_t update,
                                                 int64_t leastElements) {
  Configuration following = followingUpdate(strategy, graph, update);
  int32_t copies = following.degrees.replicate;
  if (copies == 1)
    return std::nullopt;
  llvm::ArrayRef<int32_t> devices(following.devices);
  for (size_t tile = 0; tile < devices.size(); tile += copies) {
    SmallVector<int32_t, 8> distinct(devices.slice(tile, copies));
    llvm::sort(distinct);
    if (std::unique(distinct.begin(), distinct.end()) != distinct.end())
      return std::nullopt;
  }
  const GraphNode &node = graph.node(graph.update(update).front());
  int64_t elements = 1;
  for (const LoopSpec &loop : node.spec.loops)
    elements *= loop.extent;
  if (elements / following.degrees.numTasks() < leastElements)
    return std::nullopt;
  for (auto [index, loop] : llvm::enumerate(node.spec.loops))
    if (loop.extent % (int64_t(following.degrees.loops[index]) * copies) == 0)
      return splitCopies(following, index);
  return std::nullopt;
}

bool soap::isUpdateSharded(const Strategy &strategy, const OperatorGraph &graph,
                           int32_t update, int64_t leastElements) {
  if (!isUpdateApart(strategy, graph, update))
    return false;
  const Configuration &config = strategy.configs[graph.update(update).front()];
  std::optional<Configuration> shards =
      shardedUpdate(strategy, graph, update, leastElements);
  return shards && shards->degrees == config.degrees &&
         shards->devices == config.devices;
}
