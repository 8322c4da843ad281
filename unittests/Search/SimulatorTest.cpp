//===- SimulatorTest.cpp - Semantics, by hand -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One flop takes one ns; every device takes in one byte per ns, after 10 ns of
// latency. A product of (2, 4) and (4, 4) is 64 flops and makes 32 bytes.
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Simulator.h"
#include "ExampleGraphs.h"
#include "TaskLevelGraph.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/Random.h"
#include "llvm/Support/ErrorHandling.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
using Ints = llvm::SmallVector<int32_t, 8>;
using Times = llvm::SmallVector<int64_t, 8>;

struct Configured {
  const char *node;
  Ints degrees;
  Ints devices;
};

/// The chain a, b of two products.
OperatorGraph twoProducts() {
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 4});
  int32_t wa = builder.parameter("wa", {4, 4});
  int32_t wb = builder.parameter("wb", {4, 4});
  int32_t a = builder.matmul("a", x, wa);
  builder.output("y", builder.matmul("b", a, wb));
  return builder.finish();
}

Strategy configure(const OperatorGraph &graph, const Topology &topology,
                   llvm::ArrayRef<Configured> configs) {
  Strategy strategy = singleDevice(graph, topology);
  for (const Configured &entry : configs) {
    Configuration &config = strategy.configs[graph.find(entry.node)];
    config.degrees.loops.assign(entry.degrees.begin(), entry.degrees.end());
    config.devices = entry.devices;
  }
  deriveEnds(strategy, graph, topology);
  EXPECT_EQ(toString(verify(strategy, graph, topology)), "");
  return strategy;
}

struct Simulated {
  TaskGraph tasks;
  SimulationResult result;

  Simulated(const OperatorGraph &graph, const Topology &topology,
            const CostModel &costs, const Strategy &strategy)
      : tasks({graph, topology, costs}) {
    tasks.setStrategy(strategy);
    FullSimulator simulator(tasks);
    result = simulator.run();
    EXPECT_EQ(result.nodes.size(), result.times.size());
    EXPECT_EQ(simulator.stepNs(), result.stepNs);
  }
  const NodeTimes &times(TaskNode::Kind kind, size_t skip = 0) const {
    for (size_t i = 0; i < result.nodes.size(); ++i)
      if (result.nodes[i].kind == kind && skip-- == 0)
        return result.times[i];
    llvm::report_fatal_error("no such node");
  }
  Ints devices(TaskNode::Kind kind) const {
    for (const TaskNode &node : result.nodes)
      if (node.kind == kind)
        return node.devices;
    return {};
  }
};

class Simulator : public ::testing::Test {
protected:
  OperatorGraph graph = twoProducts();
  Topology machine = plainMachine(3);
  CostModel costs;

  Simulated simulate(llvm::ArrayRef<Configured> configs) {
    return Simulated(graph, machine, costs, configure(graph, machine, configs));
  }
};

TEST_F(Simulator, OneDevice) {
  Simulated run = simulate({});
  EXPECT_EQ(run.result.stepNs, 128);
  EXPECT_EQ(run.result.nodes.size(), 2u);
  EXPECT_EQ(run.times(TaskNode::Kind::Compute, 1).start, Times({64}));
  EXPECT_EQ(run.result.computeNs[0], 128);
  EXPECT_DOUBLE_EQ(run.result.idleShare(), 2.0 / 3);
  EXPECT_EQ(run.tasks.bytes(Phase::Step), 0);
  EXPECT_EQ(run.tasks.bytes(Phase::Feed), 32);
  EXPECT_EQ(run.tasks.bytes(Phase::Drain), 32);
}

TEST_F(Simulator, Transfer) {
  Simulated run = simulate({{"b", {1, 1, 1}, {1}}});
  EXPECT_EQ(run.times(TaskNode::Kind::Move).start[0], 64);
  EXPECT_EQ(run.times(TaskNode::Kind::Move).end, Times({106, 106}));
  EXPECT_EQ(run.result.stepNs, 170);
  EXPECT_EQ(run.result.maxCommunicationNs(), 42);
  EXPECT_EQ(run.tasks.bytes(Phase::Step), 32);
}

TEST_F(Simulator, TransfersIntoOneDeviceTakeTurns) {
  // Tasks of 32 ns each make 16 bytes; device 2 takes in one after the other.
  Simulated run = simulate({{"a", {2, 1, 1}, {0, 1}}, {"b", {1, 1, 1}, {2}}});
  EXPECT_EQ(run.devices(TaskNode::Kind::Move), Ints({0, 1, 2}));
  EXPECT_EQ(run.times(TaskNode::Kind::Move).end,
            Times({32 + 26, 48 + 26, 48 + 26}));
  // Two pieces are put together, for free here.
  EXPECT_EQ(run.times(TaskNode::Kind::Unpack).end, Times({74}));
  EXPECT_EQ(run.result.stepNs, 74 + 64);
}

TEST_F(Simulator, AllGather) {
  Simulated run =
      simulate({{"a", {2, 1, 1}, {0, 1}}, {"b", {1, 2, 1}, {0, 1}}});
  EXPECT_EQ(run.times(TaskNode::Kind::Move).start, Times({32, 32}));
  EXPECT_EQ(run.times(TaskNode::Kind::Move).end, Times({58, 58}));
  EXPECT_EQ(run.result.stepNs, 58 + 32);
}

TEST_F(Simulator, AllReduce) {
  Simulated run =
      simulate({{"a", {1, 1, 2}, {0, 1}}, {"b", {1, 2, 1}, {0, 1}}});
  // Two steps of 16 bytes.
  EXPECT_EQ(run.times(TaskNode::Kind::Move).end, Times({84, 84}));
  EXPECT_EQ(run.result.stepNs, 84 + 32);
}

TEST_F(Simulator, CollectivesHoldTheirLinks) {
  // Two chains on devices of their own gather over one bus. Both are ready at
  // 32. The second waits until the bus has carried the two messages of 16 bytes
  // of the first, but not for the latency of the last one.
  GraphBuilder builder;
  for (std::string chain : {"1", "2"}) {
    int32_t x = builder.input("x" + chain, {2, 4});
    int32_t wa = builder.parameter("wa" + chain, {4, 4});
    int32_t wb = builder.parameter("wb" + chain, {4, 4});
    builder.matmul("b" + chain, builder.matmul("a" + chain, x, wa), wb);
  }
  OperatorGraph chains = builder.finish();
  Topology bus = plainBus(4);
  Simulated run(chains, bus, costs,
                configure(chains, bus,
                          {{"a1", {2, 1, 1}, {0, 1}},
                           {"b1", {1, 2, 1}, {0, 1}},
                           {"a2", {2, 1, 1}, {2, 3}},
                           {"b2", {1, 2, 1}, {2, 3}}}));
  const NodeTimes &first = run.times(TaskNode::Kind::Move, 0);
  const NodeTimes &second = run.times(TaskNode::Kind::Move, 1);
  EXPECT_EQ(first.start, Times({32, 32}));
  EXPECT_EQ(first.end, Times({74, 74}));
  EXPECT_EQ(second.start, Times({64, 64}));
  EXPECT_EQ(second.end, Times({106, 106}));
  EXPECT_EQ(run.result.stepNs, 106 + 32);
}

TEST_F(Simulator, SeveralTasksOfADeviceAreOneNode) {
  Simulated run = simulate({{"a", {2, 2, 1}, {0, 0, 0, 1}}});
  EXPECT_EQ(run.times(TaskNode::Kind::Compute).end, Times({48, 16}));
}

TEST_F(Simulator, ReceiversWithoutASpareCoreLoseTime) {
  DeviceKind kind = machine.kinds()[0];
  Topology busy =
      Topology::machine(3, {kind, 1e9, 10, 0, 1, /*occupiesReceiver=*/true});
  Simulated run(graph, busy, costs,
                configure(graph, busy, {{"b", {1, 1, 1}, {1}}}));
  // The receiver had nothing else to do.
  EXPECT_EQ(run.result.stepNs, 170);
  // Two branches: device 1 computes 64 ns of its own and takes in 32 bytes.
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 4});
  int32_t wa = builder.parameter("wa", {4, 4});
  int32_t wb = builder.parameter("wb", {8, 8});
  int32_t z = builder.input("z", {2, 8});
  int32_t a = builder.matmul("a", x, wa);
  int32_t b = builder.matmul("b", z, wb);
  builder.relu("ra", a);
  builder.relu("rb", b);
  OperatorGraph branches = builder.finish();
  std::vector<Configured> configs = {
      {"b", {1, 1, 1}, {1}}, {"ra", {1, 1}, {1}}, {"rb", {1, 1}, {1}}};
  Simulated free(branches, machine, costs,
                 configure(branches, machine, configs));
  Simulated held(branches, busy, costs, configure(branches, busy, configs));
  // After b its device still has the 8 and 16 flops of the last two.
  EXPECT_EQ(free.result.stepNs, 256 + 24);
  EXPECT_EQ(held.result.stepNs, 256 + 24 + 32);
}

TEST_F(Simulator, FifoLaunchesWhatIsReady) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 4});
  int32_t w = builder.parameter("w", {4, 4});
  int32_t p = builder.matmul("p", x, w);
  builder.matmul("q", p, w);
  builder.matmul("r", x, w);
  OperatorGraph three = builder.finish();
  Strategy strategy = configure(three, machine, {{"p", {1, 1, 1}, {1}}});
  // In graph order, r waits behind q, which waits for p on the other device.
  Simulated before(three, machine, costs, strategy);
  EXPECT_EQ(before.result.stepNs, 106 + 64 + 64);
  strategy.order = fifoOrder({three, machine, costs}, strategy);
  EXPECT_EQ(toString(verify(strategy, three, machine)), "");
  Simulated after(three, machine, costs, strategy);
  EXPECT_EQ(after.result.stepNs, 106 + 64);
  EXPECT_EQ(simulateTaskLevel(three, strategy, machine, costs), 106 + 64);
}

TEST_F(Simulator, CriticalPathLaunchesWhatMostWaitsFor) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 4});
  int32_t w = builder.parameter("w", {4, 4});
  builder.matmul("leaf", x, w);
  int32_t p = builder.matmul("p", x, w);
  int32_t q = builder.matmul("q", p, w);
  builder.matmul("r", q, w);
  OperatorGraph graph = builder.finish();
  Strategy strategy =
      configure(graph, machine, {{"q", {1, 1, 1}, {1}}, {"r", {1, 1, 1}, {1}}});
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(strategy);
  std::vector<int64_t> toEnd = timeToEnd(tasks);
  int64_t leaf = toEnd[graph.find("leaf")];
  EXPECT_EQ(leaf, tasks.nodeNs(graph.find("leaf")));
  EXPECT_EQ(toEnd[graph.find("r")], leaf);
  EXPECT_EQ(toEnd[graph.find("q")], 2 * leaf);
  // The way from p to the other device takes time as well.
  EXPECT_GT(toEnd[graph.find("p")], 3 * leaf);

  // Both are ready; fifo takes the first in the graph, and r ends one later.
  Strategy fifo = strategy;
  fifo.order = fifoOrder({graph, machine, costs}, strategy);
  strategy.order = criticalPathOrder({graph, machine, costs}, strategy);
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  int64_t late = Simulated(graph, machine, costs, fifo).result.stepNs;
  int64_t early = Simulated(graph, machine, costs, strategy).result.stepNs;
  EXPECT_EQ(early, toEnd[graph.find("p")]);
  EXPECT_EQ(late, early + leaf);
}

TEST(SimulatorPolicies, OrdersAreValidAndTimedAsTheyRun) {
  OperatorGraph graph = smallChain();
  Topology machine = plainMachine(3);
  CostModel costs;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Strategy strategy = randomStrategy(graph, machine, seed);
    int64_t longest = 0;
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(strategy);
    for (int64_t time : timeToEnd(tasks))
      longest = std::max(longest, time);
    for (const PolicyTime &time :
         simulatePolicies({graph, machine, costs}, strategy)) {
      Strategy ordered = strategy;
      ordered.order =
          launchOrder(time.policy, {graph, machine, costs}, strategy);
      EXPECT_EQ(toString(verify(ordered, graph, machine)), "")
          << time.policy.str();
      Simulated simulated(graph, machine, costs, ordered);
      EXPECT_EQ(simulated.result.stepNs, time.stepNs);
    }
    EXPECT_GT(longest, 0);
  }
}

TEST(SimulatorCluster, SharedLinksAreUsedOneAtATime) {
  llvm::Expected<Topology> k80 =
      Topology::load(SOAP_TOPOLOGIES "/k80-cluster.json");
  ASSERT_TRUE(bool(k80)) << llvm::toString(k80.takeError());
  CostModel costs;
  GraphBuilder builder;
  int32_t x = builder.input("x", {1024, 1024});
  int32_t a = builder.relu("a", x), b = builder.relu("b", x);
  builder.relu("c", a);
  builder.relu("d", b);
  OperatorGraph graph = builder.finish();
  auto lastArrival = [&](int32_t from0, int32_t to0, int32_t from1,
                         int32_t to1) {
    Simulated run(graph, *k80, costs,
                  configure(graph, *k80,
                            {{"a", {1, 1}, {from0}},
                             {"b", {1, 1}, {from1}},
                             {"c", {1, 1}, {to0}},
                             {"d", {1, 1}, {to1}}}));
    return std::max(run.times(TaskNode::Kind::Move, 0).end[0],
                    run.times(TaskNode::Kind::Move, 1).end[0]) -
           run.times(TaskNode::Kind::Move, 0).start[0];
  };
  // 4 MiB over 10 GB/s inside a pair, over 7 GB/s between nodes.
  int64_t pair = 419430 + 6000, nodes = 599186 + 16000;
  EXPECT_EQ(lastArrival(0, 1, 4, 5), pair);
  EXPECT_EQ(lastArrival(0, 4, 8, 12), nodes);
  // The way out of node 0 is shared: one after the other.
  EXPECT_EQ(lastArrival(0, 4, 1, 8), nodes + 599186);
}

TEST(SimulatorReference, EqualWhereNothingContends) {
  // Algorithm 1 knows no collectives, packs or streams for communication. On
  // chains of unsplit ops, and where nothing moves, both must agree.
  CostModel costs;
  Topology machine = plainMachine(4);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    GraphBuilder builder;
    Random random(seed, 0, 0);
    int32_t x = builder.input("x", {4, 4});
    int32_t last = x;
    std::vector<int32_t> all;
    bool chain = seed % 2;
    for (int i = 0; i < 12; ++i) {
      std::string name = "n" + std::to_string(i);
      int32_t from =
          chain || all.empty() ? last : all[random.below(all.size())];
      int32_t w = builder.parameter("w" + std::to_string(i), {4, 4});
      last = builder.matmul(name, from, w);
      all.push_back(last);
    }
    OperatorGraph graph = builder.finish();
    Strategy strategy = singleDevice(graph, machine);
    for (int32_t id = 0; id < graph.numNodes(); ++id)
      if (graph.node(id).role == NodeRole::Compute) {
        if (chain)
          strategy.configs[id].devices.edit()[0] =
              static_cast<int32_t>(random.below(4));
        else {
          strategy.configs[id].degrees.loops[0] = 4;
          strategy.configs[id].devices = {0, 1, 2, 3};
        }
      }
    deriveEnds(strategy, graph, machine);
    strategy.order = fifoOrder({graph, machine, costs}, strategy);
    Simulated run(graph, machine, costs, strategy);
    EXPECT_EQ(run.result.stepNs,
              simulateTaskLevel(graph, strategy, machine, costs))
        << "seed " << seed;
  }
}
} // namespace
