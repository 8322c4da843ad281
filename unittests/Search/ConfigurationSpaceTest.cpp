//===- ConfigurationSpaceTest.cpp - What a search may choose from ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/ConfigurationSpace.h"
#include "ExampleGraphs.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
using Ints = llvm::SmallVector<int32_t, 8>;

TEST(ConfigurationSpace, CountsAndDraws) {
  OperatorGraph graph = smallChain(1);
  Topology machine = plainMachine(2);
  ConfigurationSpace space(graph, machine);
  int32_t group = graph.node(graph.find("conv1")).group;
  // No split (2 placements); f, h, w, c or copies in two (4 placements each);
  // n cannot be split.
  EXPECT_EQ(space.size(group), 2 + 5 * 4);
  std::vector<Configuration> all = space.all(group);
  EXPECT_EQ(all.size(), 22u);
  std::vector<bool> drawn(all.size());
  for (uint64_t step = 0; step < 2000; ++step) {
    Random random(1, 2, step);
    Configuration config = step % 2 ? space.sample(group, random)
                                    : space.sampleStructured(group, random);
    auto it = llvm::find(all, config);
    ASSERT_NE(it, all.end());
    drawn[it - all.begin()] = true;
  }
  EXPECT_EQ(llvm::count(drawn, true), 22);
  // Many devices: the space stays small enough to list.
  OperatorGraph network = inception(64, 1);
  Topology cluster = plainMachine(64);
  ConfigurationSpace large(network, cluster);
  EXPECT_LT(large.degrees(large.groups()[0]).size(), 3000u);
}

TEST(ConfigurationSpace, FollowsOperands) {
  OperatorGraph graph = smallChain();
  Topology machine = plainMachine(4);
  Strategy strategy = singleDevice(graph, machine);
  int32_t conv = graph.find("conv1"), relu = graph.find("relu1");
  Configuration &config = strategy.configs[conv];
  config.degrees.loops[1] = 2;
  config.degrees.loops[4] = 2; // Partial results stay behind.
  config.devices = {3, 2, 1, 0};
  Configuration follower = followOperand(graph, strategy, relu, 0);
  EXPECT_EQ(follower.degrees.loops,
            (llvm::SmallVector<int32_t, 6>{1, 2, 1, 1}));
  EXPECT_EQ(follower.devices, Ints({3, 1}));
  EXPECT_EQ(mainOperand(graph, graph.find("conv2")), 0);
  EXPECT_EQ(mainOperand(graph, conv), -1);
}

/// Degrees are allowed if they are listed.
TEST(ConfigurationSpace, AllowsWhatItLists) {
  for (int32_t devices : {1, 3, 8, 12}) {
    Topology machine = plainMachine(devices);
    OperatorGraph graph = smallChain(4);
    ConfigurationSpace space(graph, machine);
    uint64_t allowed = 0;
    for (int32_t group : space.groups()) {
      for (const Degrees &degrees : space.degrees(group))
        EXPECT_TRUE(space.allows(group, degrees));
      Random random(7, devices, group);
      for (int i = 0; i < 2000; ++i) {
        Degrees degrees = space.degrees(group)[0];
        for (int32_t &degree : degrees.loops)
          degree = static_cast<int32_t>(random.below(3) ? 1 : random.below(14));
        degrees.replicate = static_cast<int32_t>(1 + random.below(3));
        bool listed = llvm::is_contained(space.degrees(group), degrees);
        EXPECT_EQ(space.allows(group, degrees), listed);
        allowed += listed;
      }
    }
    EXPECT_GT(allowed, 0u);
  }
}
} // namespace
