//===- TaskGraphTest.cpp - Plans, movements, memory, changes --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "TaskLevelGraph.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/MemoryUse.h"
#include "soap/Search/Simulator.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
TEST(TaskGraph, PlansOfRandomStrategiesAreSound) {
  OperatorGraph graph = inception(4, 1);
  Topology machine = plainMachine(6);
  int actions = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Strategy strategy = randomStrategy(graph, machine, seed, seed % 3 != 0);
    for (int32_t id = 0; id < graph.numValues(); ++id) {
      ValuePlan plan = planOf(graph, strategy, machine, id);
      llvm::SmallVector<Need, 4> needs;
      for (size_t use = 0; use < graph.value(id).uses.size(); ++use)
        needs.push_back(needOf(graph, strategy, id, use));
      ASSERT_EQ(toString(verify(plan, layoutOf(graph, strategy, id), needs)),
                "")
          << "seed " << seed << " value of "
          << graph.node(graph.value(id).producer).name;
      actions += static_cast<int>(plan.actions.size());
      // Reductions are made of what tasks produced: the task graph launches
      // them right after the producer.
      for (const LocalReduction &reduction : plan.reductions)
        for (int32_t input : reduction.inputs)
          EXPECT_EQ(plan.shards[input].origin, Shard::Origin::Task);
    }
  }
  EXPECT_GT(actions, 100);
}

TEST(TaskGraph, IncrementalEqualsRebuilt) {
  CostModel costs;
  Topology machine = plainMachine(4);
  for (int32_t blocks : {-1, 0, 1}) {
    OperatorGraph graph = blocks < 0    ? trainedProducts()
                          : blocks == 0 ? smallChain(2)
                                        : inception(2, blocks);
    ConfigurationSpace space(graph, machine);
    Strategy strategy = dataParallel(graph, machine);
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(strategy);
    FullSimulator simulator(tasks);
    for (uint64_t step = 0; step < 150; ++step) {
      Random random(3, blocks, step);
      int32_t group = space.groups()[random.below(space.groups().size())];
      space.assign(strategy, group,
                   step % 2 ? space.sample(group, random)
                            : space.sampleStructured(group, random));
      llvm::SmallVector<int32_t, 8> changed;
      for (int32_t node : graph.group(group)) {
        changed.push_back(node);
        deriveEnds(strategy, graph, machine, node, &changed);
      }
      if (step % 5 == 0)
        for (int32_t node : changed)
          tasks.update(strategy, node);
      else
        tasks.update(strategy, changed);
      if (step % 20 == 7) {
        strategy.order = fifoOrder({graph, machine, costs}, strategy);
        tasks.setOrder(strategy.order);
      }
      Strategy derived = strategy;
      deriveEnds(derived, graph, machine);
      ASSERT_EQ(derived, strategy) << "step " << step;

      TaskGraph fresh({graph, machine, costs});
      fresh.setStrategy(strategy);
      ASSERT_EQ(simulator.stepNs(), FullSimulator(fresh).stepNs())
          << "step " << step;
      ASSERT_EQ(simulator.stepNs(), simulator.stepNs());
      ASSERT_EQ(tasks.peakMemory(), fresh.peakMemory());
      ASSERT_EQ(tasks.bytes(Phase::Step), fresh.bytes(Phase::Step));
      ASSERT_EQ(tasks.movements(Phase::Step), fresh.movements(Phase::Step));
    }
    EXPECT_GT(tasks.statistics().reused, 0u);
  }
}

TEST(TaskGraph, TimesRespectStreamsAndDependencies) {
  CostModel costs;
  OperatorGraph graph = inception(2, 1);
  Topology machine = plainMachine(4);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(randomStrategy(graph, machine, seed));
    SimulationResult result = FullSimulator(tasks).run();
    ASSERT_EQ(result.nodes.size(), result.times.size());
    std::vector<int64_t> compute(4), communication(4);
    int64_t last = 0;
    for (size_t i = 0; i < result.nodes.size(); ++i) {
      const TaskNode &node = result.nodes[i];
      std::vector<int64_t> &stream =
          node.kind == TaskNode::Kind::Move ? communication : compute;
      ASSERT_EQ(result.times[i].start.size(), node.devices.size());
      for (size_t k = 0; k < node.devices.size(); ++k) {
        int32_t device = node.devices[k];
        ASSERT_GE(result.times[i].start[k], stream[device]);
        ASSERT_GE(result.times[i].end[k], result.times[i].start[k]);
        stream[device] = result.times[i].end[k];
        last = std::max(last, stream[device]);
      }
    }
    EXPECT_GE(result.stepNs, last);
  }
}

TEST(TaskGraph, MovementsByHand) {
  OperatorGraph graph = smallChain(2);
  Topology machine = plainMachine(2);
  CostModel costs;
  Strategy strategy = dataParallel(graph, machine);
  int32_t pool = graph.find("pool");
  strategy.configs[pool] = onDevice(graph.node(pool), 1);
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(strategy);
  std::vector<Movement> step = tasks.movements(Phase::Step);
  ASSERT_EQ(step.size(), 1u);
  EXPECT_EQ(step[0].kind, ActionKind::Transfer);
  EXPECT_EQ(step[0].devices, (llvm::SmallVector<int32_t, 8>{0, 1}));
  EXPECT_EQ(step[0].bytes, (llvm::SmallVector<int64_t, 8>{8 * 8 * 8 * 4}));
  EXPECT_EQ(tasks.movements(Phase::Feed).size(), 2u);
  EXPECT_EQ(tasks.movements(Phase::Drain).size(), 1u);
}

TEST(TaskGraph, MemoryByHand) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {4, 8});     // 128 bytes
  int32_t w = builder.parameter("w", {8, 8}); // 256
  int32_t a = builder.matmul("a", x, w);      // 128
  int32_t b = builder.relu("b", a);           // 128
  builder.output("y", builder.relu("c", b));  // 128
  OperatorGraph graph = builder.finish();
  CostModel costs;
  DeviceKind kind = plainMachine(1).kinds()[0];
  auto peakOn = [&](int32_t devices, int64_t memory, bool fits = true) {
    Topology machine = Topology::machine(
        devices, {kind, 1e9, 0, memory, 1, /*occupiesReceiver=*/false});
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(dataParallel(graph, machine));
    EXPECT_EQ(tasks.fitsMemory(), fits);
    return tasks.peakMemory();
  };
  // The input and the parameter stay; two of a, b, c are alive at once.
  EXPECT_EQ(peakOn(1, 0), std::vector<int64_t>({128 + 256 + 256}));
  EXPECT_EQ(peakOn(2, 0),
            std::vector<int64_t>({64 + 256 + 128, 64 + 256 + 128}));
  peakOn(1, 640);
  peakOn(1, 639, /*fits=*/false);
  // What fills it, and when.
  Topology machine =
      Topology::machine(1, {kind, 1e9, 0, 639, 1, /*occupiesReceiver=*/false});
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(dataParallel(graph, machine));
  MemoryPeak peak = memoryPeak(tasks, 0);
  EXPECT_EQ(peak.bytes, 640);
  EXPECT_EQ(graph.node(peak.node).name, "b");
  ASSERT_EQ(peak.values.size(), 4u);
  EXPECT_EQ(peak.values[0], (std::pair<int32_t, int64_t>(w, 256)));
  EXPECT_EQ(toString(checkMemory(tasks)),
            "device 0: expected at most 639 bytes of memory, got: 640 in use; "
            "use more devices, a smaller batch or another strategy"
            "\n  when 'b' runs:"
            "\n    256 bytes of 'w' (parameter)"
            "\n    128 bytes of 'x' (input)"
            "\n    128 bytes of 'a' (nn.matmul)"
            "\n    128 bytes of 'b' (nn.relu)");
}

TEST(TaskGraph, WorkIsAskedOncePerTileShape) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {10, 8});
  builder.matmul("a", x, builder.parameter("w", {8, 8}));
  builder.matmul("b", x, builder.parameter("v", {8, 8}));
  OperatorGraph graph = builder.finish();
  int calls = 0;
  graph.setTaskWork([&](int32_t, const Degrees &, int64_t) {
    ++calls;
    return TaskWork{"key", 100};
  });
  Topology machine = plainMachine(4);
  CostModel costs;
  costs.addMeasured("plain", "key", 7);
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(dataParallel(graph, machine));
  // 10 rows on 4 devices: tiles of 2 and of 3. Both nodes are asked once for
  // their kernel: it is the same.
  EXPECT_EQ(calls, 2 + 2);
  EXPECT_EQ(FullSimulator(tasks).stepNs(), 14);
  Strategy moved = dataParallel(graph, machine);
  llvm::MutableArrayRef<int32_t> places =
      moved.configs[graph.find("a")].devices.edit();
  std::reverse(places.begin(), places.end());
  deriveEnds(moved, graph, machine);
  tasks.setStrategy(moved);
  EXPECT_EQ(calls, 4);
}

TEST(TaskGraph, NodesWithOtherKernelsHaveTheirOwnCosts) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {10, 8});
  builder.relu("a", x);
  builder.relu("b", x);
  builder.relu("c", x);
  OperatorGraph graph = builder.finish();
  graph.setTaskWork([&](int32_t node, const Degrees &, int64_t) {
    return TaskWork{node == graph.find("b") ? "slow" : "fast", 100};
  });
  Topology machine = plainMachine(2);
  CostModel costs;
  costs.addMeasured("plain", "fast", 7);
  costs.addMeasured("plain", "slow", 100);
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(singleDevice(graph, machine, 0));
  EXPECT_EQ(tasks.nodeNs(graph.find("a")), 7);
  EXPECT_EQ(tasks.nodeNs(graph.find("b")), 100);
  EXPECT_EQ(tasks.nodeNs(graph.find("c")), 7);
}

TEST(TaskGraph, CostsTheBytesThatAnOperationStates) {
  DeviceKind kind;
  kind.name = "plain";
  kind.peakFlops = 1e18;
  kind.memoryBandwidth = 1e9;
  kind.launchNs = 7;
  Topology machine =
      Topology::machine(2, {kind, 1e9, 10, 0, 1, /*occupiesReceiver=*/false});
  for (auto [flops, bytes, ns] : {std::tuple(1.0, std::optional<double>(), 647),
                                  std::tuple(1.0, std::optional(100.0), 107),
                                  std::tuple(1.0, std::optional(1000.0), 1007),
                                  // A view.
                                  std::tuple(0.0, std::optional(0.0), 0)}) {
    GraphBuilder builder;
    builder.relu("a", builder.input("x", {10, 8}));
    OperatorGraph graph = builder.finish();
    graph.setTaskWork(
        [&, flops = flops, bytes = bytes](int32_t, const Degrees &, int64_t) {
          return TaskWork{"", flops, bytes};
        });
    Strategy strategy = singleDevice(graph, machine, 0);
    CostModel costs;
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(strategy);
    EXPECT_EQ(FullSimulator(tasks).stepNs(), ns);
    EXPECT_EQ(simulateTaskLevel(graph, strategy, machine, costs), ns);
  }
}
} // namespace
