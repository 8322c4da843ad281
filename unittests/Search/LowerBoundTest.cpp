//===- LowerBoundTest.cpp - No strategy beats the bound -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/LowerBound.h"
#include "ExampleGraphs.h"
#include "soap/Search/Random.h"
#include "soap/Search/SearchAlgorithm.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
void expectConsistent(const LowerBound &bound) {
  EXPECT_GT(bound.stepNs, 0);
  EXPECT_GT(bound.workNs, 0);
  EXPECT_GE(bound.communicationNs, bound.pathNs);
  EXPECT_EQ(bound.stepNs, std::max({bound.workNs, bound.pathNs,
                                    bound.communicationNs, bound.mixedNs}));
}

/// Measured kernels need not get faster as they get smaller.
void measureAnything(OperatorGraph &graph, uint64_t seed) {
  graph.setTaskWork([seed](int32_t node, const Degrees &degrees, int64_t task) {
    uint64_t chain = seed;
    for (int32_t degree : degrees.loops)
      chain = chain * 31 + static_cast<uint64_t>(degree);
    Random random(chain, static_cast<uint64_t>(node),
                  static_cast<uint64_t>(task));
    return TaskWork{"", static_cast<double>(1000 + random.below(100'000)), 0.0};
  });
}

TEST(LowerBound, NeverExceedsTheOptimum) {
  CostModel costs;
  int split = 0, reached = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    OperatorGraph graph =
        seed % 20 == 19  ? sharedProducts(2, /*oneGroup=*/seed % 40 == 19)
        : seed % 20 == 9 ? deepProducts(2, /*bucketBytes=*/100000)
                         : randomLayers(seed);
    if (seed % 3 == 2)
      measureAnything(graph, seed);
    Topology machine = randomMachine(seed);
    int32_t maxTasks = fewTasks(graph, machine, 10'000);
    if (maxTasks == 0)
      continue;
    SearchOptions options;
    options.maxTasks = maxTasks;
    auto optimum = createExhaustive()->run({graph, machine, costs}, options);
    ASSERT_TRUE(bool(optimum)) << llvm::toString(optimum.takeError());
    LowerBound bound = lowerBound({graph, machine, costs}, maxTasks);
    expectConsistent(bound);
    ASSERT_LE(bound.stepNs, optimum->stepNs)
        << "seed " << seed << ", tasks " << maxTasks;
    split += maxTasks > 1;
    reached += maxTasks > 1 && bound.stepNs == optimum->stepNs;
  }
  EXPECT_GT(split, 100);
  EXPECT_GT(reached, 30);
}

TEST(LowerBound, IsTheOptimumOfOneDevice) {
  CostModel costs;
  Topology machine = plainMachine(1, 3e9);
  for (const OperatorGraph &graph :
       {smallChain(3), inception(2, 2), randomLayers(1), randomLayers(2)}) {
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(singleDevice(graph, machine));
    LowerBound bound = lowerBound({graph, machine, costs});
    expectConsistent(bound);
    EXPECT_EQ(bound.stepNs, FullSimulator(tasks).stepNs());
    EXPECT_EQ(bound.gap(bound.stepNs), 0);
  }
}

/// Samples of a chain need nothing of each other: data parallel is the optimum,
/// and the bound knows.
TEST(LowerBound, IsReachedByDataParallel) {
  CostModel costs;
  GraphBuilder builder;
  int32_t x = builder.input("x", {16, 64});
  for (int layer = 0; layer < 5; ++layer) {
    std::string name = "m" + std::to_string(layer);
    x = builder.matmul(name, x, builder.parameter(name + ".w", {64, 64}));
  }
  builder.output("y", x);
  OperatorGraph graph = builder.finish();
  for (int32_t devices : {2, 4, 16}) {
    Topology machine = plainMachine(devices);
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(dataParallel(graph, machine));
    EXPECT_EQ(lowerBound({graph, machine, costs}).stepNs,
              FullSimulator(tasks).stepNs());
  }
}

/// Where links are too slow for anything to move, the bound knows that a layer
/// that reads all channels has to find them on its device.
TEST(LowerBound, KnowsWhatHasToMove) {
  CostModel costs;
  GraphBuilder builder;
  int32_t x = builder.input("x", {1, 64});
  for (int layer = 0; layer < 4; ++layer) {
    std::string name = "m" + std::to_string(layer);
    x = builder.matmul(name, x, builder.parameter(name + ".w", {64, 64}));
  }
  builder.output("y", x);
  OperatorGraph graph = builder.finish();
  auto machine = [](int64_t latencyNs) {
    DeviceKind kind;
    kind.memoryBandwidth = 1e18;
    kind.peakFlops = 1e9;
    kind.halfRows = kind.halfColumns = kind.halfDepth = 0;
    kind.launchNs = 0;
    return Topology::machine(
        2, {kind, 1e9, latencyNs, 0, 1, /*occupiesReceiver=*/false});
  };
  constexpr int64_t layerNs = 2 * 64 * 64;
  LowerBound fast = lowerBound({graph, machine(0), costs});
  LowerBound slow = lowerBound({graph, machine(1'000'000), costs});
  EXPECT_EQ(fast.pathNs, 4 * layerNs / 2);
  EXPECT_EQ(slow.pathNs, fast.pathNs);
  // The last two layers may be split, by outputs and by inputs: nobody waits
  // for the parts of the sums. Each device computes what is before them.
  EXPECT_EQ(slow.communicationNs, 3 * layerNs);
  EXPECT_LT(fast.communicationNs, slow.communicationNs);
}

/// What a machine does not make comes over the network, however fast the links
/// between its devices are.
TEST(LowerBound, KnowsTheNetwork) {
  CostModel costs;
  // Layers all of whose results read all of the operand.
  GraphBuilder builder;
  int32_t x = builder.input("x", {256});
  for (int layer = 0; layer < 3; ++layer) {
    GraphNode node;
    node.name = "m" + std::to_string(layer);
    node.op = "nn.mix";
    node.operands = {x};
    node.spec.loops = {{"f", 256}};
    node.spec.operands.resize(1);
    node.spec.operands[0].dims = {DimAccess::whole(256)};
    node.spec.results.resize(1);
    node.spec.results[0].dims = {DimAccess::identity(0)};
    x = builder.graph.valueOf(
        builder.graph.addNode(std::move(node), {Shape{256}}, {4}));
  }
  builder.output("y", x);
  OperatorGraph graph = builder.finish();
  constexpr int64_t layerNs = 2 * 256 * 256;
  // Two machines of two devices.
  auto bound = [&](int64_t networkNs) {
    Topology topology;
    DeviceKind kind;
    kind.memoryBandwidth = 1e18;
    kind.peakFlops = 1e9;
    kind.halfRows = kind.halfColumns = kind.halfDepth = 0;
    kind.launchNs = 0;
    topology.addKind(kind);
    for (int32_t device = 0; device < 4; ++device)
      topology.addDevice(0, /*node=*/device / 2);
    Link link;
    link.bandwidth = 1e12;
    for (link.from = 0; link.from < 4; ++link.from)
      for (link.to = link.from + 1; link.to < 4; ++link.to) {
        link.latencyNs = link.from / 2 == link.to / 2 ? 0 : networkNs;
        topology.addDuplexLink(link);
      }
    link.from = Topology::hostVertex;
    for (link.to = 0; link.to < 4; ++link.to)
      topology.addDuplexLink(link);
    EXPECT_EQ(toString(topology.finish()), "");
    return lowerBound({graph, topology, costs});
  };
  LowerBound near = bound(0), far = bound(10'000'000);
  EXPECT_EQ(near.pathNs, far.pathNs);
  EXPECT_EQ(near.pathNs, 3 * layerNs / 4);
  EXPECT_LT(near.communicationNs, layerNs);
  // The first two layers take two devices, the last one may take all: 5/4 of a
  // layer, or a little less where three tiles are not equal.
  EXPECT_GT(far.communicationNs, 6 * layerNs / 5);
  EXPECT_LE(far.communicationNs, 5 * layerNs / 4);
}

/// Every named strategy, on any part of a cluster, takes at least as long.
TEST(LowerBound, HoldsForNamedStrategies) {
  CostModel costs;
  for (const char *file : {"/p100-node.json", "/p100-cluster.json"}) {
    llvm::Expected<Topology> machine =
        Topology::load(SOAP_TOPOLOGIES + std::string(file));
    ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());
    for (const OperatorGraph &graph :
         {inception(1, 3), inception(3, 1), inception(64, 2), smallChain(6)}) {
      LowerBound bound = lowerBound({graph, *machine, costs});
      expectConsistent(bound);
      for (const NamedStrategy &named : namedStrategies())
        for (int32_t devices : {1, 3, 4, 16}) {
          if (!named.isListed)
            continue;
          TaskGraph tasks({graph, *machine, costs});
          tasks.setStrategy(named.make({graph, *machine, costs}, devices, 1));
          EXPECT_LE(bound.stepNs, FullSimulator(tasks).stepNs())
              << named.name.str() << " on " << devices;
        }
    }
  }
}
} // namespace
