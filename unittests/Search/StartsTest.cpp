//===- StartsTest.cpp - Where chains begin --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Starts.h"
#include "Chain.h"
#include "ExampleGraphs.h"
#include "Spread.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "gtest/gtest.h"
#include <set>

using namespace soap;
using namespace soap::detail;
using namespace soap::test;
using Ints = llvm::SmallVector<int32_t, 8>;

namespace {
int64_t stepOf(const TaskGraph &tasks) { return FullSimulator(tasks).stepNs(); }

/// The parts grow by eight and end with half of the machine and all of it.
TEST(Starts, PartsOfAMachine) {
  auto parts = [](llvm::StringRef name) {
    Topology topology = llvm::cantFail(loadTopology(name));
    llvm::SmallVector<int32_t, 4> sizes = subMachines(topology);
    return Ints(sizes.begin(), sizes.end());
  };
  EXPECT_EQ(parts("p100:nodes=1"), Ints({4}));
  EXPECT_EQ(parts("p100:nodes=2"), Ints({4, 8}));
  EXPECT_EQ(parts("p100:nodes=4"), Ints({4, 8, 16}));
  EXPECT_EQ(parts("p100:nodes=16"), Ints({4, 32, 64}));
  EXPECT_EQ(parts("dgx-h100:nodes=128"), Ints({8, 64, 512, 1024}));
}

/// A matrix product with two samples, then more, on two devices, then eight.
TEST(Starts, StrategiesSpreadOutsideAndInside) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {64, 32});
  int32_t y = builder.matmul("a", x, builder.parameter("w", {32, 48}));
  builder.output("y", y);
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(8);
  ConfigurationSpace space(graph, machine);
  int32_t node = graph.find("a"), group = graph.node(node).group;
  auto loops = [](const Configuration &config) {
    return Ints(config.degrees.loops.begin(), config.degrees.loops.end());
  };
  auto devices = [](const Configuration &config) {
    return Ints(config.devices.begin(), config.devices.end());
  };
  // Features on devices 1 and 0; loops are n, f, k.
  Configuration features = onDevice(graph.node(node), 1);
  features.degrees.loops[1] = 2;
  features.devices = {1, 0};
  Spread how;
  how.span = 2;
  how.factor = 4;
  Configuration wide = spread(graph, space, group, features, how);
  EXPECT_EQ(loops(wide), Ints({4, 2, 1}));
  EXPECT_EQ(devices(wide), Ints({1, 0, 3, 2, 5, 4, 7, 6}));
  how.inside = true;
  wide = spread(graph, space, group, features, how);
  EXPECT_EQ(loops(wide), Ints({4, 2, 1}));
  EXPECT_EQ(devices(wide), Ints({4, 0, 5, 1, 6, 2, 7, 3}));
  // The same loop once more: parts of a tile stay with its device.
  how.kind = LoopKind::Parameter;
  wide = spread(graph, space, group, features, how);
  EXPECT_EQ(loops(wide), Ints({1, 8, 1}));
  EXPECT_EQ(devices(wide), Ints({4, 5, 6, 7, 0, 1, 2, 3}));
  how.inside = false;
  wide = spread(graph, space, group, features, how);
  EXPECT_EQ(devices(wide), Ints({1, 0, 3, 2, 5, 4, 7, 6}));
  // There is no attribute: nothing is split.
  how.kind = LoopKind::Attribute;
  EXPECT_EQ(spread(graph, space, group, features, how), features);
}

TEST(Starts, WhatIsSpreadIsValid) {
  CostModel costs;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    OperatorGraph graph = randomGraph(seed);
    Topology machine = plainMachine(seed % 2 ? 16 : 13);
    SearchProblem problem{graph, machine, costs};
    Strategy narrow =
        randomStrategy(graph, machine, seed, /*structured=*/seed % 3 != 0, 4);
    ConfigurationSpace space(graph, machine);
    size_t wider = 0;
    for (const Start &start :
         spreadStarts(problem, narrow, 4, machine.numDevices())) {
      ASSERT_EQ(toString(verify(start.strategy, graph, machine)), "")
          << start.name << ", seed " << seed;
      // Three ways, say, of four devices are no degree of sixteen.
      for (int32_t group : space.groups()) {
        int32_t node = graph.group(group).front();
        const Degrees &degrees = start.strategy.configs[node].degrees;
        EXPECT_TRUE(degrees == narrow.configs[node].degrees ||
                    space.allows(group, degrees))
            << start.name << ", seed " << seed;
      }
      wider += !(start.strategy == narrow);
    }
    EXPECT_GT(wider, 0u) << "seed " << seed;
  }
}

/// Bounds are bounds, and a start that is not taken leaves all as it was.
TEST(Starts, TheFasterOneIsTaken) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  for (uint64_t seed = 0; seed < 5; ++seed) {
    OperatorGraph graph = randomGraph(seed);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.seed = seed;
    options.randomStarts = 4;
    TaskGraph tables({graph, machine, costs}), tasks({graph, machine, costs});
    std::vector<Start> starts = drawStarts(problem, options, 8);
    boundStarts(problem, tables, {}, starts);
    std::reverse(starts.begin(), starts.end());
    tasks.setStrategy(singleDevice(graph, machine));
    int64_t current = stepOf(tasks), best = current;
    StartLimits limits;
    limits.mustPlan = true;
    for (Start &start : starts) {
      int64_t bound = start.stepNs;
      bool taken = tryStart(start, tasks, current, limits);
      ASSERT_TRUE(start.isExact) << start.name;
      EXPECT_LE(bound, start.stepNs) << start.name << ", seed " << seed;
      TaskGraph alone({graph, machine, costs});
      alone.setStrategy(start.strategy);
      EXPECT_EQ(start.stepNs, stepOf(alone)) << start.name;
      EXPECT_EQ(taken, start.stepNs < current) << start.name;
      best = std::min(best, start.stepNs);
      if (taken)
        current = start.stepNs;
      EXPECT_EQ(stepOf(tasks), current) << start.name << ", seed " << seed;
    }
    EXPECT_EQ(current, best);
  }
}

/// With slack, a chain leaves what it has for a start that is a little slower:
/// the fastest of several, and none that is slower by more.
TEST(Starts, ChainsBeginAnew) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  int numSlower = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    OperatorGraph graph = randomGraph(seed);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.seed = seed;
    TaskGraph tables({graph, machine, costs});
    std::vector<Start> starts = drawStarts(problem, options, 8);
    boundStarts(problem, tables, {}, starts);
    std::vector<Start *> others;
    for (Start &start : starts)
      others.push_back(&start);
    Chain fastest(problem, options, tables, /*number=*/0);
    ASSERT_TRUE(fastest.start(others, {}));
    llvm::erase_if(others, [&](Start *start) {
      return start->stepNs <= fastest.currentNs();
    });
    if (others.empty())
      continue;
    ++numSlower;
    Start *next = *llvm::min_element(
        others, [](Start *a, Start *b) { return a->stepNs < b->stepNs; });
    int64_t nextNs = next->stepNs;
    double ratio =
        static_cast<double>(nextNs) / static_cast<double>(fastest.currentNs());
    for (double slack : {1.0, 0.999 * ratio, 1.001 * ratio, 100 * ratio}) {
      Chain chain(problem, options, tables, /*number=*/0);
      chain.start(fastest.current());
      chain.start(others, {}, slack);
      bool leaves = slack > ratio;
      EXPECT_EQ(chain.currentNs(), leaves ? nextNs : fastest.currentNs())
          << "seed " << seed << ", slack " << slack;
      EXPECT_EQ(stepOf(chain.tasks()), chain.currentNs());
      EXPECT_EQ(chain.bestNs(), fastest.currentNs());
    }
  }
  EXPECT_GE(numSlower, 3);
}

/// A chain is given up where it is behind and would not catch up soon.
TEST(Starts, ChainsThatComeNearerAreLeftAlone) {
  CostModel costs;
  Topology machine = plainMachine(2);
  OperatorGraph graph = smallChain(8);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  TaskGraph tables({graph, machine, costs});
  SubMachine part(problem, /*maxTasks=*/0, 2);
  Chain chain(problem, options, tables, /*number=*/0);
  chain.start(singleDevice(graph, machine));
  int64_t now = chain.currentNs();
  // By how much it is behind, in percent, and the part of that which it gained.
  auto isGivenUp = [&](double percent, double gained) {
    part.bestNs =
        static_cast<int64_t>(static_cast<double>(now) / (1 + percent / 100));
    auto behind = static_cast<double>(now - part.bestNs);
    chain.resume(0, now, now + static_cast<int64_t>(gained * behind));
    bool givenUp = chain.hasNoHope(part);
    EXPECT_EQ(chain.askedNs(), now);
    return givenUp;
  };
  EXPECT_FALSE(isGivenUp(0.5, 0));
  EXPECT_TRUE(isGivenUp(2, 0));
  EXPECT_TRUE(isGivenUp(2, 0.03));
  EXPECT_FALSE(isGivenUp(2, 0.05));
  EXPECT_TRUE(isGivenUp(20, -0.5));
  EXPECT_FALSE(isGivenUp(20, 0.5));
  // Whoever starts anew has gained nothing yet.
  chain.resume(0, now, 2 * now);
  chain.start(singleDevice(graph, machine));
  EXPECT_EQ(chain.askedNs(), now);
}

/// Starts on eight devices, two of them random.
struct DrawnStarts : testing::Test {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  OperatorGraph graph = inception(64, 1);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;

  DrawnStarts() { options.randomStarts = 2; }
};

/// Random starts are left out beyond their time and above what is known; named
/// ones are not.
TEST_F(DrawnStarts, OptionalOnesAreLimited) {
  TaskGraph tables({graph, machine, costs}), tasks({graph, machine, costs});
  std::vector<Start> starts = drawStarts(problem, options, 8);
  boundStarts(problem, tables, {}, starts);
  tasks.setStrategy(singleDevice(graph, machine));
  int64_t single = stepOf(tasks);
  StartLimits late;
  late.end = std::chrono::steady_clock::now();
  std::vector<Start> inTime = starts;
  boundStarts(problem, tables, late, inTime);
  EXPECT_EQ(inTime.size() + 2, starts.size());
  for (const Start &start : inTime)
    EXPECT_FALSE(start.isOptional) << start.name;
  int optional = 0;
  for (Start start : starts) {
    optional += start.isOptional;
    int64_t bound = start.stepNs;
    tryStart(start, tasks, /*currentNs=*/INT64_MAX, late);
    EXPECT_NE(start.isExact, start.isOptional) << start.name;
    if (start.isOptional) {
      EXPECT_EQ(start.stepNs, bound);
      // In time, but nothing to gain.
      tryStart(start, tasks, /*currentNs=*/bound, {});
      EXPECT_FALSE(start.isExact);
      tryStart(start, tasks, /*currentNs=*/bound + single, {});
      EXPECT_TRUE(start.isExact);
    }
    tasks.setStrategy(singleDevice(graph, machine));
  }
  EXPECT_EQ(optional, 2);
}

/// A start brings the size of its buckets with it, or leaves what was there.
TEST(Starts, HaveTheirBuckets) {
  CostModel costs;
  OperatorGraph graph = deepProducts(9, 64 << 20, 0, 160);
  Topology machine =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json"));
  TaskGraph tables({graph, machine, costs}), tasks({graph, machine, costs});
  tasks.setStrategy(singleDevice(graph, machine));
  StartLimits limits;
  limits.mustPlan = true;
  std::set<int64_t> steps;
  for (int64_t bytes : {1 << 20, 16 << 20, 64 << 20}) {
    Start start{"given", dataParallel(graph, machine)};
    start.strategy.bucketBytes = bytes;
    std::vector<Start> starts = {start};
    boundStarts({graph, machine, costs}, tables, limits, starts);
    int64_t bound = starts.front().stepNs;
    EXPECT_TRUE(tryStart(starts.front(), tasks, INT64_MAX, limits));
    EXPECT_LE(bound, starts.front().stepNs) << bytes;
    EXPECT_EQ(tasks.strategy(), start.strategy) << bytes;
    TaskGraph alone({graph, machine, costs});
    alone.setStrategy(start.strategy);
    EXPECT_EQ(stepOf(tasks), stepOf(alone)) << bytes;
    EXPECT_EQ(starts.front().stepNs, stepOf(alone)) << bytes;
    steps.insert(stepOf(alone));
    // Too slow.
    Start other = start;
    other.strategy.bucketBytes = 2 << 20;
    EXPECT_FALSE(tryStart(other, tasks, /*currentNs=*/1, limits));
    EXPECT_EQ(tasks.strategy(), start.strategy) << bytes;
    EXPECT_EQ(stepOf(tasks), stepOf(alone)) << bytes;
  }
  EXPECT_GT(steps.size(), 1u);
}

/// Random starts are others in every attempt, named ones are the same.
TEST_F(DrawnStarts, RandomOnesDifferByAttempt) {
  std::vector<Start> first = drawStarts(problem, options, 8),
                     second = drawStarts(problem, options, 8, /*attempt=*/1);
  ASSERT_EQ(first.size(), second.size());
  for (auto [a, b] : llvm::zip(first, second)) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_NE(a.strategy == b.strategy, a.isOptional) << a.name;
  }
  for (const Start &start : first)
    EXPECT_FALSE(start.isOptional &&
                 llvm::any_of(second, [&](const Start &other) {
                   return other.strategy == start.strategy;
                 }));
}

TEST_F(DrawnStarts, SomeAttemptsBeginAtRandomOnesAlone) {
  options.starts = {singleDevice(graph, machine)};
  auto count = [&](uint64_t attempt, bool isOptional) {
    std::vector<Start> starts = drawStarts(problem, options, 8, attempt);
    return llvm::count_if(starts, [&](const Start &start) {
      return start.isOptional == isOptional;
    });
  };
  auto named = count(0, false);
  EXPECT_GT(named, 4);
  for (uint64_t attempt : {0, 1, 4, 7}) {
    EXPECT_EQ(count(attempt, false), named) << attempt;
    EXPECT_EQ(count(attempt, true), 2) << attempt;
  }
  for (uint64_t attempt : {2, 3, 5, 6, 8}) {
    EXPECT_EQ(count(attempt, false), 0) << attempt;
    EXPECT_EQ(count(attempt, true), 10) << attempt;
  }
  // Who wants no random ones gets none.
  options.randomStarts = 0;
  for (uint64_t attempt : {1, 2}) {
    EXPECT_EQ(count(attempt, false), named);
    EXPECT_EQ(count(attempt, true), 0);
  }
}
} // namespace
