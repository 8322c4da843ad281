//===- DeltaSimulatorTest.cpp - Delta equals full -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/DeltaSimulator.h"
#include "DeltaComparison.h"
#include "ExampleGraphs.h"
#include "soap/Search/LaunchPolicy.h"
#include "gtest/gtest.h"
#include <array>

using namespace soap;
using namespace soap::test;

namespace {
/// `proposals` random changes of a random strategy, compared with full
/// simulations.
void compare(const OperatorGraph &graph, Topology topology, uint64_t seed,
             uint64_t proposals, DeltaComparison::Tally &tally,
             const DeltaComparison::Options &options = {}) {
  CostModel costs;
  // All collectives of small graphs, some, or none.
  if (topology.hasPriorityStreams())
    topology.priorityBytes =
        std::array<int64_t, 3>{topology.priorityBytes, 2000, 0}[seed % 3];
  for (llvm::StringRef start : {"data-parallel", "random", "random-uniform"})
    for (llvm::StringRef policy : {"program", "critical-path"}) {
      Strategy strategy =
          llvm::cantFail(expertStrategy(start, {graph, topology, costs}, seed));
      strategy.order = launchOrder(policy, {graph, topology, costs}, strategy);
      DeltaComparison comparison(graph, topology, costs, strategy, seed,
                                 options);
      std::string error = comparison.run(proposals);
      ASSERT_EQ(error, "") << "seed " << seed << ", " << start.str() << ", "
                           << policy.str();
      tally.add(comparison.tally());
    }
}

Topology load(const char *name) {
  return llvm::cantFail(
      Topology::load(std::string(SOAP_TOPOLOGIES "/") + name + ".json"));
}

/// A machine of cores, on which copies of boxes cost what was measured.
Topology calibrated(int32_t devices) {
  DeviceKind kind;
  kind.name = "cpu";
  kind.boxBandwidth = 14e9;
  kind.boxRunSeconds = 2e-9;
  kind.boxLaunchNs = 600;
  return Topology::machine(devices, {kind, 6e9, 20000, 0, 1,
                                     /*occupiesReceiver=*/true,
                                     /*sharesMemory=*/true});
}

TEST(DeltaSimulator, EqualsFullOnRandomGraphs) {
  DeltaComparison::Tally tally;
  Topology machines[] = {plainMachine(2), plainMachine(5), load("p100-node"),
                         load("v100-8"),  calibrated(2),   calibrated(4)};
  for (uint64_t seed = 0; seed < 24; ++seed) {
    OperatorGraph graph = randomGraph(seed, /*followers=*/seed % 4 == 1);
    compare(graph, machines[seed % std::size(machines)], seed, 60, tally);
    if (HasFatalFailure())
      return;
  }
  tally.print();
  EXPECT_GT(tally.tails, tally.simulations / 20);
  EXPECT_GT(tally.accepted, tally.proposals / 20);
  EXPECT_GT(tally.boundsThatRejected, 0u);
}

TEST(DeltaSimulator, EqualsFullOnSmallGraphs) {
  // Tensors of all sizes, and nothing that would hide a bound which is too
  // high.
  DeltaComparison::Tally tally;
  DeltaComparison::Options options;
  options.boundsPerProposal = 2;
  Topology machines[] = {load("p100-cluster"), plainBus(4), load("k80-cluster"),
                         load("v100-8"), calibrated(3)};
  for (uint64_t seed = 0; seed < 60; ++seed) {
    OperatorGraph graph = randomSmallGraph(seed, int64_t(1) << (2 * (seed % 4)),
                                           /*followers=*/seed % 3 == 0);
    compare(graph, machines[seed / 4 % std::size(machines)], seed, 40, tally,
            options);
    if (HasFatalFailure())
      return;
  }
  tally.print();
  EXPECT_GT(tally.boundsThatRejected, tally.bounds / 4);
}

TEST(DeltaSimulator, EqualsFullOnRandomMachines) {
  // Unequal devices, buses, and networks that all machines share.
  DeltaComparison::Tally tally;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    compare(seed % 2 ? randomGraph(seed) : randomSmallGraph(seed, 16),
            randomMachine(seed), seed, 30, tally);
    if (HasFatalFailure())
      return;
  }
  tally.print();
  EXPECT_GT(tally.boundsThatRejected, 0u);
}

TEST(DeltaSimulator, EqualsFullFromConvergedStrategies) {
  DeltaComparison::Tally tally;
  DeltaComparison::Options options;
  options.temperature = 1. / 4000;
  CostModel costs;
  for (const char *name : {"p100-node", "p100-cluster"}) {
    OperatorGraph graph = inception(64, 3);
    Topology topology = load(name);
    Strategy start = randomStrategy(graph, topology, 5);
    Strategy strategy = converge(graph, topology, costs, start, 5, 1500);
    auto stepOf = [&](const Strategy &strategy) {
      TaskGraph tasks({graph, topology, costs});
      tasks.setStrategy(strategy);
      return FullSimulator(tasks).stepNs();
    };
    EXPECT_LT(stepOf(strategy), stepOf(start));
    DeltaComparison comparison(graph, topology, costs, strategy, 5, options);
    ASSERT_EQ(comparison.run(200), "") << name;
    tally.add(comparison.tally());
  }
  tally.print();
  EXPECT_GT(tally.accepted, 0u);
}

TEST(DeltaSimulator, EqualsFullOnGroups) {
  DeltaComparison::Tally tally;
  for (const char *name : {"p100-node", "p100-cluster"}) {
    compare(trainedProducts(), load(name), 11, 200, tally);
    compare(updatedProducts(), load(name), 13, 200, tally);
    if (HasFatalFailure())
      return;
  }
  tally.print();
}

TEST(DeltaSimulator, EqualsFullOnParts) {
  DeltaComparison::Tally tally;
  for (const char *name : {"p100-node", "p100-cluster"})
    for (bool oneGroup : {false, true}) {
      compare(sharedProducts(4, oneGroup), load(name), 15, 150, tally);
      if (HasFatalFailure())
        return;
    }
  tally.print();
}

TEST(DeltaSimulator, EqualsFullOnBuckets) {
  DeltaComparison::Tally tally;
  DeltaComparison::Options options;
  options.boundsPerProposal = 3;
  for (const char *name : {"p100-node", "p100-cluster"})
    for (int64_t bytes : {600, 2000, 100000})
      for (uint64_t seed : {17, 18}) {
        OperatorGraph graph = deepProducts(9, bytes);
        compare(graph, load(name), seed, 120, tally, options);
        if (HasFatalFailure())
          return;
      }
  for (uint64_t seed = 0; seed < 12; ++seed) {
    compare(deepProducts(4 + seed % 4, 100000), randomMachine(seed), seed, 60,
            tally, options);
    if (HasFatalFailure())
      return;
  }
  tally.print();
  EXPECT_GT(tally.boundsThatRejected, 0u);
  EXPECT_GT(tally.tails, 0u);
}

/// Gradients whose shares are copied together before they are reduced.
TEST(DeltaSimulator, EqualsFullOnBucketsOfShares) {
  DeltaComparison::Tally tally;
  DeltaComparison::Options options;
  options.boundsPerProposal = 3;
  CostModel costs;
  for (const char *name : {"p100-cluster", "k80-cluster"})
    for (int64_t bytes : {2000, 100000})
      for (uint64_t seed : {21, 22}) {
        OperatorGraph graph = deepProducts(9, bytes);
        Topology topology = load(name);
        Strategy strategy = shardedProducts(graph, topology);
        TaskGraph tasks({graph, topology, costs});
        tasks.setStrategy(strategy);
        ASSERT_FALSE(tasks.bucketTasks(0).actions[0].packNs.empty());
        DeltaComparison comparison(graph, topology, costs, strategy, seed,
                                   options);
        ASSERT_EQ(comparison.run(120), "") << name << ", " << bytes;
        tally.add(comparison.tally());
      }
  tally.print();
  EXPECT_GT(tally.boundsThatRejected, 0u);
  EXPECT_GT(tally.accepted, 0u);
  EXPECT_GT(tally.tails, 0u);
}

/// Weights that are gathered again, ahead of their readers.
TEST(DeltaSimulator, EqualsFullOnPrefetches) {
  DeltaComparison::Tally tally;
  DeltaComparison::Options options;
  options.boundsPerProposal = 3;
  CostModel costs;
  for (const char *name : {"p100-node", "p100-cluster"})
    for (int64_t bytes : {500, 1500, 100000}) {
      OperatorGraph graph = deepProducts(9, /*bucketBytes=*/2000, bytes);
      compare(graph, load(name), bytes, 60, tally, options);
      Topology topology = load(name);
      Strategy strategy =
          llvm::cantFail(expertStrategy("fsdp", {graph, topology, costs}, 0));
      for (int32_t update = 0; update < graph.numUpdates(); ++update) {
        if (auto shards = shardedUpdate(strategy, graph, update, 1))
          assignUpdate(strategy, graph, update, *shards);
        setRegathered(strategy, graph, update, true);
      }
      deriveEnds(strategy, graph, topology);
      DeltaComparison comparison(graph, topology, costs, strategy, 19, options);
      ASSERT_EQ(comparison.run(150), "") << name << ", " << bytes;
      tally.add(comparison.tally());
      if (HasFatalFailure())
        return;
    }
  tally.print();
  EXPECT_GT(tally.tails, 0u);
  EXPECT_GT(tally.accepted, 0u);
}

/// Weights that may be gathered again far ahead, but move where they are read
/// first.
TEST(DeltaSimulator, EqualsFullOnWeightsThatMoveLate) {
  DeltaComparison::Tally tally;
  DeltaComparison::Options options;
  options.boundsPerProposal = 3;
  OperatorGraph graph = productsInARow(24, /*prefetchBytes=*/1 << 20);
  for (const char *name : {"p100-node", "p100-cluster"})
    for (uint64_t seed : {23, 24}) {
      compare(graph, load(name), seed, 100, tally, options);
      if (HasFatalFailure())
        return;
    }
  tally.print();
  EXPECT_GT(tally.tails, 0u);
  EXPECT_GT(tally.accepted, 0u);
}

TEST(DeltaSimulator, EqualsFullOnInception) {
  DeltaComparison::Tally tally;
  OperatorGraph graph = inception(64, 6);
  for (const char *name : {"p100-node", "p100-cluster", "k80-cluster"}) {
    compare(graph, load(name), 7, 40, tally);
    if (HasFatalFailure())
      return;
  }
  tally.print();
  // Not every change moves the whole rest of the step.
  EXPECT_LT(tally.positions, tally.simulations * graph.numNodes() / 2);
}
} // namespace
