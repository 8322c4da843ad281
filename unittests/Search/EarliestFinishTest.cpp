//===- EarliestFinishTest.cpp - Placement by list scheduling --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EarliestFinish.h"
#include "ExampleGraphs.h"
#include "TaskExpansion.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace soap;
using namespace soap::detail;
using namespace soap::test;

namespace {
/// A task of its own unit, which takes `ns` on every device.
void addTask(ScheduledGraph &graph, int64_t ns,
             llvm::ArrayRef<ScheduledGraph::Input> inputs = {}) {
  ScheduledGraph::Task task;
  task.unit = static_cast<int32_t>(graph.unitBytes.size());
  task.ns = {ns};
  task.inputs.assign(inputs.begin(), inputs.end());
  graph.tasks.push_back(std::move(task));
  graph.unitBytes.push_back(0);
}

/// Two to eight tasks with random edges.
ScheduledGraph randomTasks(Random &random) {
  ScheduledGraph graph;
  auto count = static_cast<int32_t>(2 + random.below(6));
  for (int32_t id = 0; id < count; ++id) {
    llvm::SmallVector<ScheduledGraph::Input, 4> inputs;
    for (int32_t other = 0; other < id; ++other)
      if (random.below(3) == 0)
        inputs.push_back({other, static_cast<int64_t>(random.below(60))});
    addTask(graph, static_cast<int64_t>(1 + random.below(100)), inputs);
  }
  return graph;
}

/// The shortest schedule on equal devices without any time for communication:
/// in an optimal one, tasks taken in the order of their starts begin no later
/// when each goes to the device that is free first. So all orders are tried.
int64_t optimumNs(const ScheduledGraph &graph, int32_t devices) {
  std::vector<int64_t> free(devices, 0), ends(graph.tasks.size(), -1);
  int64_t best = INT64_MAX;
  std::function<void(size_t, int64_t)> extend = [&](size_t done, int64_t end) {
    if (end >= best)
      return;
    if (done == graph.tasks.size()) {
      best = end;
      return;
    }
    for (size_t id = 0; id < graph.tasks.size(); ++id) {
      const ScheduledGraph::Task &task = graph.tasks[id];
      if (ends[id] >= 0 || llvm::any_of(task.inputs, [&](const auto &input) {
            return ends[input.task] < 0;
          }))
        continue;
      auto device = std::min_element(free.begin(), free.end());
      int64_t before = *device, start = before;
      for (const ScheduledGraph::Input &input : task.inputs)
        start = std::max(start, ends[input.task]);
      *device = ends[id] = start + task.ns[0];
      extend(done + 1, std::max(end, ends[id]));
      *device = before;
      ends[id] = -1;
    }
  };
  extend(0, 0);
  return best;
}

/// The longest sum of transmission times along any chain.
int64_t longestTransmission(const ScheduledGraph &graph,
                            const Topology &machine) {
  std::vector<int64_t> until(graph.tasks.size(), 0);
  int64_t longest = 0;
  for (size_t id = 0; id < graph.tasks.size(); ++id) {
    for (const ScheduledGraph::Input &input : graph.tasks[id].inputs)
      until[id] = std::max(
          until[id], until[input.task] + arrivalNs(machine, 0, 1, input.bytes));
    longest = std::max(longest, until[id]);
  }
  return longest;
}

/// No device runs two tasks at once, and all that a task reads is there.
void expectValid(const ScheduledGraph &graph, const Topology &machine,
                 const FinishTimes &times) {
  for (size_t id = 0; id < graph.tasks.size(); ++id) {
    const ScheduledGraph::Task &task = graph.tasks[id];
    int32_t device = times.devices[task.unit];
    EXPECT_EQ(times.ends[id] - times.starts[id],
              task.ns[machine.device(device).kind]);
    EXPECT_LE(times.ends[id], times.finishNs);
    for (const ScheduledGraph::Input &input : task.inputs)
      EXPECT_GE(times.starts[id],
                times.ends[input.task] +
                    arrivalNs(machine,
                              times.devices[graph.tasks[input.task].unit],
                              device, input.bytes));
    for (size_t other = 0; other < id; ++other)
      if (times.devices[graph.tasks[other].unit] == device)
        EXPECT_TRUE(times.ends[other] <= times.starts[id] ||
                    times.ends[id] <= times.starts[other])
            << other << " and " << id;
  }
}

/// Theorem 1: at most twice the optimum without transmission, and the longest
/// transmission along a chain. Devices are equal, memory is no limit, and no
/// task is pinned to the device of the critical path.
TEST(EarliestFinish, KeepsTheoremOne) {
  int64_t reached = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0);
    ScheduledGraph graph = randomTasks(random);
    auto devices = static_cast<int32_t>(2 + random.below(2));
    Topology machine = plainMachine(devices);
    FinishTimes times = scheduleByRank(graph, machine, /*pinsPath=*/false);
    expectValid(graph, machine, times);
    int64_t optimum = optimumNs(graph, devices);
    EXPECT_LE(times.finishNs,
              2 * optimum + longestTransmission(graph, machine));
    // Without transmission nothing is faster than the optimum.
    for (ScheduledGraph::Task &task : graph.tasks)
      for (ScheduledGraph::Input &input : task.inputs)
        input.bytes = 0;
    int64_t free = scheduleByRank(graph, machine, /*pinsPath=*/false).finishNs;
    EXPECT_GE(free, optimum);
    EXPECT_LE(free, 2 * optimum);
    reached += free == optimum;
  }
  EXPECT_GT(reached, 250);
}

TEST(EarliestFinish, SchedulesAreValidWithPinnedPathsAndUnits) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 1, 0);
    ScheduledGraph graph = randomTasks(random);
    Topology machine = plainMachine(3);
    FinishTimes times = scheduleByRank(graph, machine);
    expectValid(graph, machine, times);
    for (int32_t task : times.criticalPath)
      EXPECT_EQ(times.devices[graph.tasks[task].unit],
                times.devices[graph.tasks[times.criticalPath[0]].unit]);
    // Some tasks stay together, wherever the first of them goes.
    for (ScheduledGraph::Task &task : graph.tasks)
      task.unit = static_cast<int32_t>(random.below(graph.unitBytes.size()));
    expectValid(graph, machine, scheduleByRank(graph, machine));
  }
}

// A long task waits for one that comes late; a short one fits in front of it.
TEST(EarliestFinish, InsertsTasksIntoGaps) {
  ScheduledGraph graph;
  addTask(graph, 100);
  addTask(graph, 500, {{0, 1000}});
  addTask(graph, 20);
  Topology machine = plainMachine(1);
  FinishTimes times = scheduleByRank(graph, machine);
  EXPECT_EQ(times.starts, (std::vector<int64_t>{0, 100, 600}));

  // On two devices, of which the second is busy until 1100 with nothing.
  graph.tasks[1].unit = 2;
  graph.tasks[2].unit = 1;
  graph.tasks[2].inputs.clear();
  Topology two = plainMachine(2);
  times = scheduleByRank(graph, two);
  EXPECT_EQ(times.finishNs, 600);
}

TEST(EarliestFinish, TakesTheNextDeviceWhereMemoryIsFull) {
  ScheduledGraph graph;
  for (int i = 0; i < 4; ++i) {
    if (i == 0)
      addTask(graph, 10);
    else
      addTask(graph, 10, {{i - 1, 5}});
    graph.unitBytes[i] = 60;
  }
  MachineDevice device;
  device.kind.name = "d";
  device.kind.peakFlops = 1e9;
  device.kind.memoryBandwidth = 1e9;
  device.copyBandwidth = 1e9;
  device.memoryBytes = 130;
  Topology machine = Topology::machine(2, device);
  FinishTimes times = scheduleByRank(graph, machine);
  EXPECT_EQ(times.devices, (std::vector<int32_t>{0, 0, 1, 1}));
  EXPECT_TRUE(times.fits);
  // More than there is.
  for (int64_t &bytes : graph.unitBytes)
    bytes = 90;
  EXPECT_FALSE(scheduleByRank(graph, machine).fits);
  EXPECT_TRUE(scheduleByRank(graph, machine, /*pinsPath=*/true,
                             /*limitsMemory=*/false)
                  .fits);
}

// An operation and its gradients have one decision; what the tasks say is a
// valid strategy, whatever the graph.
TEST(TaskExpansion, MakesValidStrategies) {
  CostModel costs;
  std::vector<OperatorGraph> graphs;
  graphs.push_back(smallChain());
  graphs.push_back(trainedProducts());
  graphs.push_back(updatedProducts());
  graphs.push_back(sharedProducts(3, true));
  graphs.push_back(sharedProducts(3, false));
  graphs.push_back(deepProducts(4, 1 << 12));
  for (uint64_t seed = 0; seed < 20; ++seed)
    graphs.push_back(randomGraph(seed));
  for (const auto &[index, graph] : llvm::enumerate(graphs)) {
    SCOPED_TRACE("graph " + std::to_string(index));
    Topology machine = randomMachine(index);
    SearchProblem problem{graph, machine, costs};
    TaskExpansion expansion(problem);
    ConfigurationSpace space(graph, machine);
    Random random(index, 0, 0);
    std::vector<Degrees> degrees(graph.numGroups());
    for (int32_t group : space.groups())
      degrees[group] = space.sample(group, random).degrees;
    ScheduledGraph tasks = expansion.expand(degrees, MemoryAccount::Everything);
    FinishTimes times = scheduleByRank(tasks, machine);
    expectValid(tasks, machine, times);
    Strategy strategy = expansion.strategyOf(degrees, times);
    EXPECT_EQ(llvm::toString(verify(strategy, graph, machine)), "");
    for (int32_t group : space.groups())
      EXPECT_TRUE(strategy.configs[graph.group(group).front()].degrees ==
                  degrees[group]);
  }
}

// A product by samples reads the tiles of its own number, and the gradient of
// its weights is summed up from all of them.
TEST(TaskExpansion, ReadsWhatOverlaps) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 4});
  int32_t a = builder.matmul("a", x, builder.parameter("v", {4, 6}));
  builder.output("y", builder.matmul("b", a, builder.parameter("w", {6, 2})));
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(2);
  CostModel costs;
  TaskExpansion expansion({graph, machine, costs});
  int32_t first = graph.node(graph.find("a")).group,
          second = graph.node(graph.find("b")).group;
  std::vector<Degrees> degrees(graph.numGroups());
  degrees[first] = {{2, 1, 1}, 1};  // n
  degrees[second] = {{1, 2, 1}, 1}; // f
  ScheduledGraph tasks = expansion.expand(degrees, MemoryAccount::Parameters);
  ASSERT_EQ(tasks.tasks.size(), 4u);
  for (int32_t reader : {2, 3}) {
    ASSERT_EQ(tasks.tasks[reader].inputs.size(), 2u);
    EXPECT_EQ(tasks.tasks[reader].inputs[0].bytes, 4 * 6 * 4);
  }
  // The weights of each task, whole and by half.
  EXPECT_EQ(tasks.unitBytes, (std::vector<int64_t>{96, 96, 6 * 4, 6 * 4}));
  degrees[second] = {{2, 1, 1}, 1};
  tasks = expansion.expand(degrees, MemoryAccount::Parameters);
  for (int32_t reader : {2, 3}) {
    ASSERT_EQ(tasks.tasks[reader].inputs.size(), 1u);
    EXPECT_EQ(tasks.tasks[reader].inputs[0].task, reader - 2);
  }
}
} // namespace
