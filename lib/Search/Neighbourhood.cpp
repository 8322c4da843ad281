//===- Neighbourhood.cpp - Strategies with one other decision -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Neighbourhood.h"

using namespace soap;
using namespace soap::detail;
using Visit = llvm::function_ref<bool(const Neighbourhood::Neighbour &)>;

void Neighbourhood::forEach(const Strategy &strategy, Visit visit) const {
  for (int32_t group : space_.groups())
    if (!forEachOfGroup(strategy, group, visit))
      return;
  for (int32_t update = 0; update < problem_.graph.numUpdates(); ++update)
    if (!forEachOfUpdate(strategy, update, visit))
      return;
}

bool Neighbourhood::forEachInRows(int32_t group, Visit visit) const {
  Neighbour neighbour{group, -1, {}};
  Configuration &config = neighbour.config;
  for (const Degrees &degrees : space_.degrees(group)) {
    config.degrees = degrees;
    auto tasks = static_cast<int32_t>(degrees.numTasks());
    for (int32_t first = 0; first < space_.numDevices(); ++first) {
      config.devices.clear();
      for (int32_t task = 0; task < tasks; ++task)
        config.devices.push_back((first + task) % space_.numDevices());
      if (!visit(neighbour))
        return false;
    }
  }
  return true;
}

bool Neighbourhood::forEachOfGroup(const Strategy &strategy, int32_t group,
                                   Visit visit) const {
  if (isComplete(group)) {
    Neighbour neighbour{group, -1, {}};
    for (Configuration &config : space_.all(group)) {
      neighbour.config = std::move(config);
      if (!visit(neighbour))
        return false;
    }
    return true;
  }
  if (!forEachInRows(group, visit))
    return false;
  const Configuration &own =
      strategy.configs[problem_.graph.group(group).front()];
  Neighbour neighbour{group, -1, own};
  neighbour.config.regather.clear();
  TaskDevices &devices = neighbour.config.devices;
  for (size_t task = 0; task < devices.size(); ++task) {
    int32_t before = devices[task];
    for (int32_t device = 0; device < space_.numDevices(); ++device) {
      devices.edit()[task] = device;
      if (!visit(neighbour))
        return false;
    }
    devices.edit()[task] = before;
    for (size_t other = 0; other < task; ++other) {
      auto exchange = [&] {
        llvm::MutableArrayRef<int32_t> list = devices.edit();
        std::swap(list[task], list[other]);
      };
      exchange();
      bool goesOn = visit(neighbour);
      exchange();
      if (!goesOn)
        return false;
    }
  }
  return true;
}

bool Neighbourhood::forEachOfUpdate(const Strategy &strategy, int32_t update,
                                    Visit visit) const {
  const OperatorGraph &graph = problem_.graph;
  Neighbour neighbour{-1, update, followingUpdate(strategy, graph, update)};
  if (!visit(neighbour))
    return false;
  if (std::optional<Configuration> shards =
          shardedUpdate(strategy, graph, update)) {
    neighbour.config = std::move(*shards);
    if (!visit(neighbour))
      return false;
  }
  const GraphNode &leader = graph.node(graph.update(update).front());
  for (int32_t device = 0; device < space_.numDevices(); ++device) {
    neighbour.config = onDevice(leader, device);
    if (!visit(neighbour))
      return false;
  }
  return true;
}
