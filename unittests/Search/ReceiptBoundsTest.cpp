//===- ReceiptBoundsTest.cpp - Bounds that were wrong once ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small graphs for what soap-bench-delta found. The random walks of
// DeltaSimulatorTest.cpp compare many more.
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/Simulator.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
/// A graph on a machine, built up node by node.
struct ReceiptBoundsTest : public ::testing::Test {
  GraphBuilder builder;
  OperatorGraph graph;
  Topology machine;
  CostModel costs;
  Strategy strategy;

  void build(Topology topology) {
    graph = builder.finish();
    machine = std::move(topology);
    strategy = singleDevice(graph, machine);
  }
  static Topology cluster() {
    return llvm::cantFail(generateTopology("p100:nodes=2"));
  }
  void place(llvm::StringRef name, llvm::ArrayRef<int32_t> loops,
             int32_t replicate, llvm::ArrayRef<int32_t> devices) {
    Configuration &config = strategy.configs[graph.find(name)];
    config.degrees.loops.assign(loops.begin(), loops.end());
    config.degrees.replicate = replicate;
    config.devices.assign(devices.begin(), devices.end());
    deriveEnds(strategy, graph, machine, graph.find(name));
  }
  /// The step with bounds for all values that `before` had other plans for, and
  /// with their plans.
  std::pair<int64_t, int64_t> boundAndStep(Strategy before) {
    EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
    before.order = strategy.order;
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(before);
    std::vector<int32_t> changed;
    for (int32_t id = 0; id < graph.numNodes(); ++id)
      if (before.configs[id] != strategy.configs[id])
        changed.push_back(id);
    tasks.propose(strategy, changed);
    EXPECT_FALSE(tasks.bound());
    int64_t bound = FullSimulator(tasks).stepNs();
    tasks.plan();
    return {bound, FullSimulator(tasks).stepNs()};
  }
};

TEST_F(ReceiptBoundsTest, ADeviceThatReadsTwiceReceivesOnce) {
  // Readers on another machine, two of them on one device: it is not two that
  // wait for the network card.
  int32_t x = builder.input("x", {64, 4096});
  x = builder.relu("a", x);
  builder.output("y", builder.relu("b", x));
  build(cluster());
  Strategy before = strategy;
  place("a", {2, 2}, 1, {0, 1, 2, 3});
  place("b", {1, 1}, 4, {4, 4, 5, 4});
  auto [bound, step] = boundAndStep(before);
  EXPECT_LE(bound, step);
  EXPECT_GT(bound, step / 2);
}

TEST_F(ReceiptBoundsTest, ReductionsNeedNotWaitForReaders) {
  // Device 5 is busy with what comes from device 4, while devices 3 and 6
  // reduce; then it gets the sum from device 6, next to it.
  int32_t x = builder.input("x", {2048, 4096});
  int32_t z = builder.input("z", {1024, 1024});
  int32_t sum = builder.matmul("sum", z, builder.parameter("w", {1024, 1024}));
  x = builder.relu("b", x);
  builder.output("y", builder.relu("c", x));
  builder.output("u", builder.relu("d", sum));
  build(cluster());
  place("b", {1, 1}, 1, {4});
  place("c", {1, 1}, 1, {5});
  place("sum", {1, 1, 2}, 1, {3, 6});
  Strategy before = strategy;
  place("d", {1, 1}, 3, {3, 5, 6});
  for (const char *name : {"x", "z", "w", "b", "sum", "c", "d", "y", "u"})
    strategy.order.push_back(graph.find(name));
  auto [bound, step] = boundAndStep(before);
  EXPECT_LE(bound, step);
  EXPECT_GT(bound, step / 2);
}
TEST_F(ReceiptBoundsTest, CopiesOnOneDeviceMakeNoBlocks) {
  // Devices 1 and 2 have both tiles. Device 1 puts them together while device 3
  // receives something else, and device 3 copies nothing.
  int32_t x = builder.input("x", {64, 4096});
  int32_t z = builder.input("z", {64, 65536});
  int32_t p = builder.relu("p", z);
  int32_t a = builder.relu("a", x);
  builder.output("y", builder.relu("b", a));
  builder.output("u", builder.relu("q", p));
  DeviceKind kind = plainMachine(1).kinds()[0];
  kind.memoryBandwidth = 1e10;
  build(
      Topology::machine(4, {kind, 1e9, 10, 0, 1, /*occupiesReceiver=*/false}));
  place("p", {1, 1}, 1, {0});
  place("q", {1, 1}, 1, {3});
  place("a", {2, 1}, 3, {1, 2, 1, 1, 2, 2});
  Strategy before = strategy;
  place("b", {1, 1}, 1, {3});
  auto [bound, step] = boundAndStep(before);
  EXPECT_LE(bound, step);
  EXPECT_GT(bound, step / 2);
}
} // namespace
