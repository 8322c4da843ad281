//===- TaskLevelSimulator.cpp - The paper's Algorithm 1 -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jia et al., "Beyond data and model parallelism", sections 5.1 and 5.2. It
// shares neither plans nor compiled tasks with the simulator that it checks.
//
//===----------------------------------------------------------------------===//

#include "CompileTasks.h"
#include "soap/Search/Simulator.h"
#include <cmath>
#include <map>
#include <queue>

using namespace soap;

namespace {
struct Task {
  int64_t exeTime = 0;
  int32_t device = 0; ///< A device, or a connection behind the devices.
  int64_t readyTime = 0, endTime = 0;
  int32_t missing = 0;
  std::vector<int32_t> next;
};
} // namespace

int64_t soap::simulateTaskLevel(const OperatorGraph &graph,
                                const Strategy &strategy,
                                const Topology &topology,
                                const CostModel &costs) {
  std::vector<Task> tasks;
  std::map<std::pair<int32_t, int32_t>, int32_t> connections;
  auto addEdge = [&](int32_t from, int32_t to) {
    tasks[from].next.push_back(to);
    ++tasks[to].missing;
  };

  // Tasks of operations, then of communication.
  std::vector<int32_t> firstTask(graph.numNodes(), -1);
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    if (node.role == NodeRole::Input || node.role == NodeRole::Output)
      continue;
    const Configuration &config = strategy.configs[id];
    firstTask[id] = static_cast<int32_t>(tasks.size());
    for (auto [index, device] : llvm::enumerate(config.devices)) {
      Task task;
      task.device = device;
      if (node.role == NodeRole::Compute) {
        int64_t number = static_cast<int64_t>(index);
        TaskWork work = graph.taskWork(id, config.degrees, number);
        task.exeTime = costs.kernelNs(
            detail::describeTask(graph, id, config.degrees, number, work),
            topology.kindOf(device));
      }
      tasks.push_back(std::move(task));
    }
  }
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    if (node.role != NodeRole::Compute)
      continue;
    const Configuration &config = strategy.configs[id];
    for (auto [operand, valueId] : llvm::enumerate(node.operands)) {
      const GraphValue &value = graph.value(valueId);
      if (firstTask[value.producer] < 0)
        continue;
      const GraphNode &source = graph.node(value.producer);
      const Configuration &from = strategy.configs[value.producer];
      int64_t copies = from.degrees.replicate;
      for (size_t reader = 0; reader < config.devices.size(); ++reader) {
        Box needed = operandBox(node.spec, operand, config.degrees,
                                static_cast<int64_t>(reader), value.shape);
        if (isEmpty(needed))
          continue;
        int32_t target = firstTask[id] + static_cast<int32_t>(reader);
        for (size_t writer = 0; writer < from.devices.size();
             writer += copies) {
          Box written = resultBox(source.spec, value.result, from.degrees,
                                  static_cast<int64_t>(writer), value.shape);
          Box shared = intersect(written, needed);
          if (isEmpty(shared))
            continue;
          // Its own copy if the reader's device has one, else the nearest.
          size_t best = writer;
          auto distance = [&](size_t task) {
            return topology.routeCost(from.devices[task],
                                      config.devices[reader]);
          };
          for (size_t copy = 1; copy < static_cast<size_t>(copies); ++copy)
            if (distance(writer + copy) < distance(best))
              best = writer + copy;
          int32_t producer =
              firstTask[value.producer] + static_cast<int32_t>(best);
          int32_t sender = from.devices[best],
                  receiver = config.devices[reader];
          if (sender == receiver) {
            addEdge(producer, target);
            continue;
          }
          const Route &route = topology.route(sender, receiver);
          Task transfer;
          transfer.device =
              connections
                  .try_emplace({sender, receiver},
                               topology.numDevices() +
                                   static_cast<int32_t>(connections.size()))
                  .first->second;
          transfer.exeTime = route.latencyNs +
                             std::llround(volume(shared) * value.elementBytes /
                                          route.bandwidth * 1e9);
          int32_t between = static_cast<int32_t>(tasks.size());
          tasks.push_back(std::move(transfer));
          addEdge(producer, between);
          addEdge(between, target);
        }
      }
    }
  }

  // Algorithm 1, with ties broken by the order of construction.
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (size_t id = 0; id < tasks.size(); ++id)
    if (tasks[id].missing == 0)
      queue.push({0, static_cast<int32_t>(id)});
  std::vector<int64_t> last(topology.numDevices() + connections.size(), 0);
  int64_t makespan = 0;
  while (!queue.empty()) {
    Task &task = tasks[queue.top().second];
    queue.pop();
    int64_t startTime = std::max(task.readyTime, last[task.device]);
    task.endTime = startTime + task.exeTime;
    last[task.device] = task.endTime;
    makespan = std::max(makespan, task.endTime);
    for (int32_t next : task.next) {
      tasks[next].readyTime = std::max(tasks[next].readyTime, task.endTime);
      if (--tasks[next].missing == 0)
        queue.push({tasks[next].readyTime, next});
    }
  }
  return makespan;
}
