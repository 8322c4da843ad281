//===- UpdatesTest.cpp - Updates with configurations of their own ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/LowerBound.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/Simulator.h"
#include "soap/Search/TaskGraph.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
using Ints = llvm::SmallVector<int32_t, 8>;

/// The update of the parameter called `name`.
int32_t updateOf(const OperatorGraph &graph, llvm::StringRef name) {
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    if (graph.node(graph.parameterOf(update)).name == name)
      return update;
  return -1;
}

/// Tasks on devices 0, 1, ....
Configuration inARow(llvm::ArrayRef<int32_t> degrees, int32_t replicate = 1) {
  Configuration config;
  config.degrees.loops.assign(degrees.begin(), degrees.end());
  config.degrees.replicate = replicate;
  for (int32_t task = 0; task < config.degrees.numTasks(); ++task)
    config.devices.push_back(task);
  return config;
}

/// What moves of a value, in the order of its actions.
std::vector<ActionKind> movesOf(const OperatorGraph &graph,
                                const Strategy &strategy,
                                const Topology &machine, const char *node) {
  std::vector<ActionKind> kinds;
  for (const Action &action :
       planOf(graph, strategy, machine, graph.valueOf(graph.find(node)))
           .actions)
    kinds.push_back(action.kind);
  return kinds;
}

TEST(Updates, FollowUnlessTheyAreApart) {
  OperatorGraph graph = updatedProducts();
  Topology machine = plainMachine(4);
  ConfigurationSpace space(graph, machine);
  int32_t update = updateOf(graph, "w2"), w2 = graph.find("w2"),
          write = graph.find("w2.write");
  ASSERT_EQ(graph.numUpdates(), 2);
  EXPECT_EQ(graph.node(graph.update(update).front()).name, "w2.update");
  Strategy strategy = dataParallel(graph, machine);
  EXPECT_FALSE(isUpdateApart(strategy, graph, update));
  EXPECT_EQ(strategy.configs[w2], inARow({1, 1}, 4));

  // The parameter lives where it is updated; so does what writes it.
  assignUpdate(strategy, graph, update, inARow({1, 3}));
  deriveEnds(strategy, graph, machine);
  EXPECT_TRUE(isUpdateApart(strategy, graph, update));
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  EXPECT_EQ(strategy.configs[w2], inARow({1, 3}));
  EXPECT_EQ(strategy.configs[write], inARow({1, 3}));

  // It comes back when it is to follow.
  int32_t group = graph.node(write).group;
  const GraphNode &leader = graph.node(graph.group(group).front());
  Configuration wide = strategy.configs[graph.group(group).front()];
  assignUpdate(strategy, graph, update,
               followingUpdate(strategy, graph, update));
  EXPECT_FALSE(isUpdateApart(strategy, graph, update));

  // It follows when its group goes elsewhere, unless it is sharded.
  assignUpdate(strategy, graph, update, inARow({1, 3}));
  space.assign(strategy, group, onDevice(leader, 3));
  deriveEnds(strategy, graph, machine);
  EXPECT_FALSE(isUpdateApart(strategy, graph, update));
  EXPECT_EQ(strategy.configs[graph.find("fc2.b.grad")].devices, Ints({3}));
  EXPECT_EQ(strategy.configs[w2].devices, Ints({3}));
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  space.assign(strategy, group, wide);
  std::optional<Configuration> shards =
      shardedUpdate(strategy, graph, update, 1);
  ASSERT_TRUE(shards);
  assignUpdate(strategy, graph, update, *shards);
  EXPECT_FALSE(isUpdateSharded(strategy, graph, update));
  EXPECT_TRUE(isUpdateSharded(strategy, graph, update, 1));
}

TEST(Updates, MembersThatDisagreeAreMistakes) {
  OperatorGraph graph = updatedProducts();
  Topology machine = plainMachine(4);
  Strategy strategy = dataParallel(graph, machine);
  assignUpdate(strategy, graph, updateOf(graph, "w2"), inARow({2, 2}));
  deriveEnds(strategy, graph, machine);
  ASSERT_EQ(toString(verify(strategy, graph, machine)), "");
  // What is written elsewhere than it is updated.
  Strategy apart = strategy;
  apart.configs[graph.find("w2.write")] = inARow({1, 4});
  deriveEnds(apart, graph, machine);
  EXPECT_EQ(toString(verify(apart, graph, machine)),
            "node 'w2.write': expected the configuration that follows from "
            "that of its update's leader, 'w2.update'; leave it out, or change "
            "the leader's");
  // A parameter that lives elsewhere: the update would read an old shard.
  Strategy stale = strategy;
  stale.configs[graph.find("w2")] = inARow({1, 1}, 4);
  EXPECT_EQ(toString(verify(stale, graph, machine)),
            "node 'w2': expected a parameter that is written to live where it "
            "is written; leave its configuration out");
}

TEST(Updates, GraphsAreChecked) {
  auto mistake = [](llvm::function_ref<void(GraphNode &)> change) {
    OperatorGraph good = updatedProducts(), graph;
    for (GraphNode node : good.nodes()) {
      llvm::SmallVector<Shape> shapes;
      for (int32_t value : node.results)
        shapes.emplace_back(good.value(value).shape);
      change(node);
      graph.addNode(node, shapes, {});
    }
    return toString(graph.finish());
  };
  EXPECT_EQ(mistake([](GraphNode &) {}), "");
  EXPECT_EQ(mistake([](GraphNode &node) { node.leadsUpdate = false; }),
            "node 'w1.update': expected a leader of its update, got: none");
  EXPECT_EQ(mistake([](GraphNode &node) {
              node.leadsUpdate |= node.name == "w2.write";
            }),
            "node 'w2.write': expected one leader of its update, got also: "
            "'w2.update'");
  EXPECT_EQ(mistake([](GraphNode &node) {
              if (node.name == "w1.write")
                node.update = 1;
              if (node.name == "w2.write")
                node.update = 0;
            }),
            "node 'w2.write': expected to be in the group of its update's "
            "leader, 'w1.update'");
  EXPECT_EQ(mistake([](GraphNode &node) {
              if (node.name == "w1.write")
                node.update = -1;
            }),
            "node 'w1.update': expected an update to read a parameter that it "
            "writes, got: none");
}

TEST(Updates, AreShardedAlongWhatCopiesDivide) {
  OperatorGraph graph = updatedProducts(); // w1: 6x10, w2: 10x12.
  Topology machine = plainMachine(12);
  ConfigurationSpace space(graph, machine);
  int32_t w1 = updateOf(graph, "w1"), w2 = updateOf(graph, "w2");
  auto sharded = [&](int32_t devices, int32_t update, int64_t least = 1) {
    return shardedUpdate(dataParallel(graph, machine, devices), graph, update,
                         least);
  };
  // The first dimension that they divide.
  EXPECT_EQ(sharded(2, w1), inARow({2, 1}));
  EXPECT_EQ(sharded(5, w1), inARow({1, 5}));
  EXPECT_EQ(sharded(4, w2), inARow({1, 4}));
  EXPECT_EQ(sharded(4, w1), std::nullopt);
  EXPECT_EQ(sharded(1, w1), std::nullopt);
  // Shards that would be too small.
  EXPECT_EQ(sharded(2, w1, 30), inARow({2, 1}));
  EXPECT_EQ(sharded(2, w1, 31), std::nullopt);
  // n = 2 and f = 3, which splits the second dimension of w2 in three tiles of
  // two copies each.
  Strategy grid = singleDevice(graph, machine);
  Configuration config;
  config.degrees.loops = {2, 3, 1};
  config.devices = {6, 7, 8, 9, 10, 11};
  space.assign(grid, graph.node(graph.find("fc2")).group, config);
  std::optional<Configuration> shards = shardedUpdate(grid, graph, w2, 1);
  ASSERT_TRUE(shards);
  EXPECT_EQ(shards->degrees.loops, (llvm::SmallVector<int32_t, 6>{2, 3}));
  EXPECT_EQ(shards->degrees.replicate, 1);
  // Tile j of three is on device 6 + j and, as a copy, on 9 + j.
  EXPECT_EQ(shards->devices, Ints({6, 7, 8, 9, 10, 11}));
  // Copies that share a device cannot be told apart.
  config.devices = {6, 7, 8, 6, 7, 8};
  space.assign(grid, graph.node(graph.find("fc2")).group, config);
  EXPECT_EQ(shardedUpdate(grid, graph, w2, 1), std::nullopt);
}

TEST(Updates, ShardsReduceScatterGradientsAndGatherParameters) {
  OperatorGraph graph = updatedProducts();
  Topology machine = plainMachine(2);
  Strategy data = dataParallel(graph, machine), sharded = data;
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    assignUpdate(sharded, graph, update,
                 *shardedUpdate(data, graph, update, 1));
  deriveEnds(sharded, graph, machine);
  ASSERT_EQ(toString(verify(sharded, graph, machine)), "");
  using Kinds = std::vector<ActionKind>;
  for (const char *gradient : {"fc1.b.grad", "fc2.b.grad"}) {
    EXPECT_EQ(movesOf(graph, data, machine, gradient),
              Kinds({ActionKind::AllReduce}));
    EXPECT_EQ(movesOf(graph, sharded, machine, gradient),
              Kinds({ActionKind::ReduceScatter}));
  }
  // w2 is read forwards and backwards, and gathered once.
  for (const char *weights : {"w1", "w2"}) {
    EXPECT_EQ(movesOf(graph, data, machine, weights), Kinds());
    EXPECT_EQ(movesOf(graph, sharded, machine, weights),
              Kinds({ActionKind::AllGather}));
  }
}

/// Where gradients wait for the updates at the end, shards of them are less.
TEST(Updates, ShardsNeedLessMemory) {
  OperatorGraph graph = deepProducts(6, /*bucketBytes=*/0, /*prefetchBytes=*/0,
                                     /*scale=*/8);
  Topology machine = plainMachine(4);
  CostModel costs;
  Strategy data = dataParallel(graph, machine), sharded = data;
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    if (auto shards = shardedUpdate(data, graph, update, 1))
      assignUpdate(sharded, graph, update, *shards);
  deriveEnds(sharded, graph, machine);
  ASSERT_EQ(toString(verify(sharded, graph, machine)), "");
  TaskGraph tasks({graph, machine, costs});
  auto peak = [&](const Strategy &strategy) {
    tasks.setStrategy(strategy);
    return tasks.peakMemory()[0];
  };
  EXPECT_LT(peak(sharded), peak(data));
}

/// Files say which updates do not follow, and no others.
TEST(Updates, FilesNameParameters) {
  OperatorGraph graph = updatedProducts();
  Topology machine = plainMachine(4);
  CostModel costs;
  SearchProblem problem{graph, machine, costs};
  int apart = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Strategy strategy = seed % 2 ? uniformStrategy(graph, machine, seed, 0)
                                 : teamStrategy(graph, machine, seed, 0);
    ASSERT_EQ(toString(verify(strategy, graph, machine)), "") << seed;
    bool any = false;
    for (int32_t update = 0; update < graph.numUpdates(); ++update)
      any |= isUpdateApart(strategy, graph, update);
    apart += any;
    std::string text = toJSON(strategy, graph, StrategyInfo());
    EXPECT_EQ(text.find("\"parameters\"") != std::string::npos, any);
    llvm::Expected<Strategy> again = parseStrategy(text, problem);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(again->configs, strategy.configs) << "seed " << seed;
  }
  EXPECT_GT(apart, 15);
  EXPECT_LT(apart, 60);
}

/// No strategy in which updates do not follow is faster than the bound.
TEST(Updates, LowerBoundHolds) {
  CostModel costs;
  for (double flops : {1e9, 1e12}) {
    OperatorGraph graph = updatedProducts();
    Topology machine = plainMachine(4, flops);
    LowerBound bound = lowerBound({graph, machine, costs});
    TaskGraph tasks({graph, machine, costs});
    FullSimulator simulator(tasks);
    ConfigurationSpace space(graph, machine);
    for (uint64_t seed = 0; seed < 400; ++seed) {
      Random random(seed, 0, 0);
      Strategy strategy = randomStrategy(graph, machine, seed, seed % 2);
      for (int32_t update = 0; update < graph.numUpdates(); ++update) {
        auto choices = space.updateDegrees(update);
        Configuration config;
        config.degrees = choices[random.below(choices.size())];
        EXPECT_TRUE(space.allowsUpdate(update, config.degrees));
        for (int64_t i = 0; i < config.degrees.numTasks(); ++i)
          config.devices.push_back(static_cast<int32_t>(random.below(4)));
        assignUpdate(strategy, graph, update, config);
      }
      deriveEnds(strategy, graph, machine);
      ASSERT_EQ(toString(verify(strategy, graph, machine)), "") << seed;
      tasks.setStrategy(strategy);
      EXPECT_LE(bound.stepNs, simulator.stepNs()) << "seed " << seed;
    }
  }
}
} // namespace
