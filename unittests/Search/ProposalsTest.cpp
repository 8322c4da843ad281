//===- ProposalsTest.cpp - Changes that a search tries --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Change.h"
#include "ExampleGraphs.h"
#include "Lanes.h"
#include "soap/Search/TaskGraph.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::detail;
using namespace soap::test;

namespace {
/// Every kind of proposal leaves a strategy valid, names what it changed, and
/// can be taken back.
TEST(Proposals, AllKindsKeepStrategiesValid) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  std::array<int, numProposalKinds> made{};
  for (uint64_t seed = 0; seed < 7; ++seed) {
    OperatorGraph graph = seed == 0   ? inception(8, 2)
                          : seed == 1 ? updatedProducts()
                                      : randomGraph(seed);
    ConfigurationSpace space(graph, machine);
    ProposalTables tables({graph, machine, costs}, space);
    DegreesCosts taskCosts({graph, machine, costs});
    auto sums = std::make_unique<CostTables>(
        SearchProblem{graph, machine, costs}, space,
        chooseConfigurations({graph, machine, costs}, space, 12, taskCosts),
        taskCosts);
    ASSERT_EQ(sums->fill(1, [] { return false; }), CostTables::Fill::Exactly);
    tables.sums = std::move(sums);
    Strategy other = randomStrategy(graph, machine, seed + 100);
    const Strategy *others = &other;
    ProposalContext context{graph, machine, space, others};
    Strategy strategy = randomStrategy(graph, machine, seed);
    for (uint64_t step = 0; step < 60 * numProposalKinds; ++step) {
      size_t kind = step % numProposalKinds;
      Random random(seed, 0, step);
      Strategy before = strategy;
      Edit edit;
      bool isMade = propose(context, tables, static_cast<ProposalKind>(kind),
                            strategy, random, edit);
      made[kind] += isMade;
      ASSERT_EQ(toString(verify(strategy, graph, machine)), "")
          << "seed " << seed << ", step " << step;
      for (int32_t node = 0; node < graph.numNodes(); ++node)
        ASSERT_EQ(llvm::count(edit.nodes, node),
                  strategy.configs[node] == before.configs[node] ? 0 : 1)
            << "seed " << seed << ", step " << step << ", node " << node;
      if (step % 3 == 0)
        continue;
      edit.takeBack(strategy);
      ASSERT_TRUE(strategy == before);
    }
  }
  for (int count : made)
    EXPECT_GT(count, 0);
}

/// A product whose weights are prepared, two activations and another product:
/// when both products are split by samples, nothing has to move.
TEST(Followers, GoWithWhatChanges) {
  CostModel costs;
  GraphBuilder builder;
  int32_t x = builder.input("x", {16, 32});
  int32_t w = builder.relu("prepared", builder.parameter("w", {32, 32}));
  int32_t y = builder.matmul("a", x, w);
  y = builder.relu("second", builder.relu("first", y));
  y = builder.matmul("b", y, builder.parameter("v", {32, 32}));
  builder.output("y", y);
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(4);
  ConfigurationSpace space(graph, machine);
  Followers followers(graph);
  for (const GraphNode &node : graph.nodes()) {
    int32_t id = graph.find(node.name);
    EXPECT_EQ(followers.isPreparation(id), node.name == "prepared");
    EXPECT_EQ(followers.isLight(id),
              node.name == "first" || node.name == "second");
  }

  auto movedBytes = [&](bool takeAlong) {
    Strategy strategy = singleDevice(graph, machine);
    ProposalContext context{graph, machine, space};
    Edit edit;
    Change change(context, strategy, edit);
    for (const char *name : {"a", "b"}) {
      int32_t node = graph.find(name);
      Configuration config = onDevice(graph.node(node), 0);
      config.degrees.loops[0] = 2;
      config.devices = {3, 1};
      change.set(graph.node(node).group, config);
    }
    if (takeAlong) {
      followers.followProducers(change);
      followers.followReaders(change);
    }
    deriveEnds(context, strategy, edit);
    EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(strategy);
    return tasks.bytes(Phase::Step);
  };
  EXPECT_GT(movedBytes(false), 0);
  EXPECT_EQ(movedBytes(true), 0);
}

/// Two products with one weight, two with what is prepared of another, and one
/// by itself.
TEST(SharedParameters, AreReadByTheSameLayer) {
  GraphBuilder builder;
  int32_t y = builder.input("x", {16, 32});
  int32_t w = builder.parameter("w", {32, 32});
  int32_t v = builder.relu("prepared", builder.parameter("v", {32, 32}));
  y = builder.matmul("a", y, w);
  y = builder.matmul("b", y, v);
  y = builder.matmul("c", y, builder.parameter("u", {32, 32}));
  y = builder.matmul("d", y, w);
  y = builder.matmul("e", y, v);
  builder.output("y", y);
  OperatorGraph graph = builder.finish();
  SharedParameters shared(graph);
  ASSERT_EQ(shared.size(), 2u);
  auto names = [&](size_t set) {
    std::string text;
    for (int32_t group : shared.readers(set))
      text += graph.node(graph.group(group).front()).name;
    return text;
  };
  EXPECT_EQ(names(0), "ad");
  EXPECT_EQ(names(1), "be");
  Topology machine = plainMachine(4);
  CostModel costs;
  ConfigurationSpace space(graph, machine);
  ProposalTables tables({graph, machine, costs}, space);
  Strategy strategy = singleDevice(graph, machine);
  ProposalContext context{graph, machine, space};
  for (uint64_t step = 0; step < 200; ++step) {
    Random random(1, 0, step);
    Edit edit;
    propose(context, tables, ProposalKind::Layer, strategy, random, edit);
    for (const auto &[one, other] : {std::pair("a", "d"), {"b", "e"}})
      ASSERT_EQ(strategy.configs[graph.find(one)],
                strategy.configs[graph.find(other)]);
    ASSERT_EQ(strategy.configs[graph.find("c")],
              onDevice(graph.node(graph.find("c")), 0));
  }
}

/// Operations in a row, and now and then two branches of different lengths.
OperatorGraph forksAndJoins(uint64_t seed) {
  GraphBuilder builder;
  Random random(seed, 0, 0);
  int32_t count = 0;
  auto row = [&](int32_t value, uint64_t length) {
    for (uint64_t i = 0; i < length; ++i)
      value = builder.relu("row" + std::to_string(count++), value);
    return value;
  };
  int32_t value = builder.input("x", {16, 32});
  for (int block = 0; block < 4; ++block) {
    value = row(value, 1 + random.below(2));
    int32_t branch = row(value, 1 + random.below(3));
    value = builder.add("join" + std::to_string(count++), branch,
                        row(value, random.below(3)));
  }
  builder.output("y", value);
  return builder.finish();
}

/// What is alone, by all ways through the graph.
TEST(Lanes, NothingRunsBesideWhatIsAlone) {
  size_t numAlone = 0, numOthers = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    OperatorGraph graph = seed == 0   ? inception(8, 2)
                          : seed < 15 ? randomGraph(seed)
                                      : forksAndJoins(seed);
    Followers followers(graph);
    auto counts = [&](int32_t id) {
      return graph.node(id).role == NodeRole::Compute && graph.isLeader(id) &&
             !followers.isPreparation(id);
    };
    // Operands have lower numbers.
    std::vector<std::vector<bool>> needs;
    for (int32_t id = 0; id < graph.numNodes(); ++id) {
      auto &own = needs.emplace_back(graph.numNodes(), false);
      for (int32_t value : graph.node(id).operands) {
        int32_t producer = graph.value(value).producer;
        own[producer] = true;
        for (int32_t other = 0; other < id; ++other)
          own[other] = own[other] || needs[producer][other];
      }
    }
    std::vector<bool> alone = leadersAlone(
        graph, [&](int32_t id) { return followers.isPreparation(id); });
    for (int32_t id = 0; id < graph.numNodes(); ++id) {
      bool expected = counts(id);
      for (int32_t other = 0; expected && other < graph.numNodes(); ++other)
        expected = other == id || !counts(other) || needs[id][other] ||
                   needs[other][id];
      ASSERT_EQ(alone[id], expected) << "seed " << seed << ", node " << id;
      ++(expected ? numAlone : numOthers);
    }
  }
  EXPECT_GT(numAlone, 30u);
  EXPECT_GT(numOthers, 30u);
}

/// What two branches read is split over all devices, and each branch has every
/// second one: nothing comes from further away than the next device.
TEST(Lanes, TakeTurnsBehindWhatIsAlone) {
  GraphBuilder builder;
  int32_t x = builder.matmul("stem", builder.input("x", {64, 32}),
                             builder.parameter("w", {32, 32}));
  int32_t a = builder.matmul("a", x, builder.parameter("v", {32, 32}));
  int32_t b = builder.matmul("b", x, builder.parameter("u", {32, 32}));
  builder.output("y", builder.add("sum", a, b));
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(4);
  CostModel costs;
  ConfigurationSpace space(graph, machine);
  ProposalTables tables({graph, machine, costs}, space);
  ProposalContext context{graph, machine, space};
  size_t found = 0;
  for (uint64_t step = 0; step < 2000; ++step) {
    Strategy strategy = singleDevice(graph, machine);
    Random random(1, 0, step);
    Edit edit;
    if (!propose(context, tables, ProposalKind::Lanes, strategy, random, edit))
      continue;
    auto has = [&](const char *name, llvm::ArrayRef<int32_t> devices) {
      return llvm::ArrayRef<int32_t>(
                 strategy.configs[graph.find(name)].devices) == devices;
    };
    found +=
        has("stem", {0, 1, 2, 3}) && ((has("a", {0, 2}) && has("b", {1, 3})) ||
                                      (has("a", {1, 3}) && has("b", {0, 2})));
  }
  EXPECT_GT(found, 5u);
}

TEST(Lanes, AreDisjointAndCoverTheMachine) {
  for (int32_t devices : {6, 16})
    for (int32_t width = 1; width <= devices; ++width)
      for (int32_t block = 1; block <= width; ++block) {
        if (devices % width || width % block)
          continue;
        Lanes lanes(devices, width, block);
        ASSERT_EQ(lanes.count() * lanes.width(), devices);
        std::vector<int> taken(devices, 0);
        for (int32_t lane = 0; lane < lanes.count(); ++lane) {
          Configuration config;
          for (int32_t place = 0; place < width; ++place) {
            config.devices.push_back(lanes.device(lane, place));
            ++taken[config.devices.back()];
          }
          ASSERT_EQ(lanes.laneOf(config.devices), lane);
          for (int32_t other = 0; other < lanes.count(); ++other) {
            Configuration moved = config;
            lanes.move(moved, lane, other);
            for (int32_t place = 0; place < width; ++place)
              ASSERT_EQ(moved.devices[place], lanes.device(other, place));
          }
        }
        ASSERT_EQ(taken, std::vector<int>(devices, 1));
        if (lanes.count() > 1)
          EXPECT_EQ(lanes.laneOf({lanes.device(0, 0), lanes.device(1, 0)}), -1);
      }
}

/// Two chains that do not depend on each other: each has a lane of its own.
TEST(Lanes, ChainsRunSideBySide) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {16, 32});
  int32_t a = builder.relu("a1", x), b = builder.relu("b1", x);
  a = builder.relu("a2", a);
  b = builder.relu("b2", b);
  builder.output("y", builder.add("sum", a, b));
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(4);
  Lanes lanes(4, 2, 1);
  LaneSchedule schedule(graph, machine, lanes, /*moveFactor=*/1);
  Strategy strategy = singleDevice(graph, machine);
  auto laneOf = [&](const char *name) {
    int32_t node = graph.find(name);
    Configuration config = onDevice(graph.node(node), 0);
    config.degrees.loops[0] = 2;
    config.devices = {0, 2};
    schedule.place(strategy, node, /*nodeNs=*/1000000, config);
    strategy.configs[node] = config;
    return lanes.laneOf(config.devices);
  };
  int32_t first = laneOf("a1"), second = laneOf("b1");
  EXPECT_NE(first, second);
  EXPECT_EQ(laneOf("a2"), first);
  EXPECT_EQ(laneOf("b2"), second);
  EXPECT_GE(laneOf("sum"), 0);
}
} // namespace
