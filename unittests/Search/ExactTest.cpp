//===- ExactTest.cpp - Depth-first search with bounds ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactSearch.h"
#include "ExampleGraphs.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::detail;
using namespace soap::test;

namespace {
/// Runs both on a problem; returns the optimum.
int64_t expectExhaustive(const SearchProblem &problem, int32_t maxTasks) {
  SearchOptions options;
  options.maxTasks = maxTasks;
  // Nothing is prescribed but the space.
  auto all = createExhaustive()->run(problem, options);
  auto found = createExact()->run(problem, options);
  if (!all || !found) {
    ADD_FAILURE() << llvm::toString(
        llvm::joinErrors(all.takeError(), found.takeError()));
    return 0;
  }
  EXPECT_EQ(found->stop, StopReason::Proved);
  EXPECT_EQ(found->stepNs, all->stepNs);
  EXPECT_EQ(found->lowerBoundNs, all->stepNs);
  EXPECT_EQ(llvm::toString(problem.verify(found->strategy)), "");
  return all->stepNs;
}

TEST(Exact, EqualsExhaustiveSearch) {
  CostModel costs;
  int tried = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph =
        seed % 2 ? randomSmallGraph(seed, 4) : randomLayers(seed);
    Topology machine = randomMachine(seed);
    int32_t maxTasks = fewTasks(graph, machine, 20000);
    if (maxTasks == 0)
      continue;
    ++tried;
    expectExhaustive({graph, machine, costs}, maxTasks);
  }
  EXPECT_GT(tried, 30);
}

TEST(Exact, EqualsExhaustiveSearchOfTrainingSteps) {
  CostModel costs;
  std::vector<OperatorGraph> graphs;
  graphs.push_back(trainedProducts());
  graphs.push_back(updatedProducts());
  graphs.push_back(sharedProducts(2, /*oneGroup=*/true));
  graphs.push_back(sharedProducts(2, /*oneGroup=*/false));
  graphs.push_back(deepProducts(3, 1 << 12));
  for (auto [index, graph] : llvm::enumerate(graphs)) {
    SCOPED_TRACE("graph " + std::to_string(index));
    Topology machine = plainMachine(2);
    int32_t maxTasks = fewTasks(graph, machine, 50000);
    ASSERT_GT(maxTasks, 0);
    expectExhaustive({graph, machine, costs}, maxTasks);
  }
}

// Where memory is short, prefixes that are faster may not lead to what fits.
TEST(Exact, EqualsExhaustiveSearchWhereMemoryIsShort) {
  CostModel costs;
  int tight = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph = randomSmallGraph(seed, 4);
    Topology machine = plainMachine(2);
    int32_t maxTasks = fewTasks(graph, machine, 5000);
    if (maxTasks == 0)
      continue;
    int64_t free = expectExhaustive({graph, machine, costs}, maxTasks);
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(singleDevice(graph, machine));
    int64_t peak = tasks.peakMemory()[0];
    MachineDevice device;
    device.kind = machine.kindOf(0);
    device.copyBandwidth = 1e9;
    device.memoryBytes = peak - peak / 4;
    Topology small = Topology::machine(2, device);
    SearchOptions options;
    options.maxTasks = maxTasks;
    auto all = createExhaustive()->run({graph, small, costs}, options);
    if (!all) {
      llvm::consumeError(all.takeError());
      continue;
    }
    tight += all->stepNs > free;
    expectExhaustive({graph, small, costs}, maxTasks);
  }
  EXPECT_GT(tight, 0);
}

// What is said when time is over holds for the optimum.
TEST(Exact, SaysHowLongAStepIsAtLeast) {
  CostModel costs;
  int unfinished = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph = randomLayers(seed);
    Topology machine = randomMachine(seed);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.maxTasks = fewTasks(graph, machine, 20000);
    if (options.maxTasks == 0)
      continue;
    auto all = createExhaustive()->run(problem, options);
    ASSERT_TRUE(bool(all)) << llvm::toString(all.takeError());
    options.proposals = 20 + seed;
    auto found = createExact()->run(problem, options);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    ASSERT_TRUE(found->lowerBoundNs.has_value());
    EXPECT_LE(*found->lowerBoundNs, all->stepNs);
    EXPECT_GE(found->stepNs, all->stepNs);
    unfinished += found->stop == StopReason::Proposals;
  }
  EXPECT_GT(unfinished, 5);
}

/// The shortest step of all choices of a space.
int64_t shortestStep(const SearchProblem &problem, const ExactSpace &space) {
  Strategy strategy = singleDevice(problem.graph, problem.topology);
  TaskGraph tasks(problem);
  FullSimulator simulator(tasks);
  std::vector<size_t> choices(space.groups().size(), 0);
  for (int64_t shortest = INT64_MAX;;) {
    llvm::SmallVector<int32_t, 16> changed;
    for (auto [group, choice] : llvm::zip_equal(space.groups(), choices))
      space.assign(strategy, group, static_cast<int32_t>(choice), changed);
    tasks.setStrategy(strategy);
    shortest = std::min(shortest, simulator.stepNs());
    size_t digit = 0;
    while (digit < choices.size() &&
           ++choices[digit] == space.choices(space.groups()[digit]).size())
      choices[digit++] = 0;
    if (digit == choices.size())
      return shortest;
  }
}

TEST(ExactLayers, EqualsEnumeration) {
  CostModel costs;
  int tried = 0, smaller = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph =
        seed % 2 ? randomSmallGraph(seed, 4) : randomLayers(seed);
    Topology machine = randomMachine(seed);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.namedStarts = false;
    options.maxTasks = fewTasks(graph, machine, 20000);
    if (options.maxTasks == 0)
      continue;
    ExactSpace space(problem, options.maxTasks, ExactChoices::Layers);
    smaller += space.size() < ExactSpace(problem, options.maxTasks).size();
    ASSERT_LE(space.size(), 20000);
    ++tried;
    auto found = createExact(/*layers=*/true)->run(problem, options);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_EQ(found->stop, StopReason::Proved);
    EXPECT_EQ(found->stepNs, shortestStep(problem, space));
    EXPECT_EQ(llvm::toString(problem.verify(found->strategy)), "");
  }
  EXPECT_GT(tried, 30);
  EXPECT_GT(smaller, 5);
}

// What follows the end of one device is no later than what follows the ends of
// all of them.
TEST(MoveTimes, DelaysAreNoLongerThanTheWholeMove) {
  int positive = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph = randomSmallGraph(seed, 4);
    Topology machine = randomMachine(seed);
    ConfigurationSpace space(graph, machine);
    MoveTimes times(machine);
    Random random(seed, 0, 0);
    Strategy strategy = singleDevice(graph, machine);
    for (int32_t group : space.groups())
      space.assign(strategy, group, space.sample(group, random));
    for (int32_t id = 0; id < graph.numValues(); ++id) {
      const GraphValue &value = graph.value(id);
      if (graph.node(value.producer).role != NodeRole::Compute ||
          value.uses.empty() ||
          graph.node(value.uses[0].node).role != NodeRole::Compute)
        continue;
      Layout layout = layoutOf(graph, strategy, id);
      Need need = needOf(graph, strategy, id, 0);
      if (need.parts > 1 || need.devices.empty())
        continue;
      int64_t whole = times.ns(layout, need, value.elementBytes);
      for (const auto &row : times.delays(layout, need, value.elementBytes))
        for (int64_t delay : row) {
          EXPECT_LE(delay, whole);
          positive += delay > 0;
        }
    }
  }
  EXPECT_GT(positive, 20);
}

TEST(Prefixes, ForgetsWhatIsNoBetter) {
  Prefixes prefixes;
  EXPECT_TRUE(prefixes.add({1, 2}, {10, 20}));
  EXPECT_FALSE(prefixes.add({1, 2}, {10, 20}));
  EXPECT_FALSE(prefixes.add({1, 2}, {11, 20}));
  EXPECT_TRUE(prefixes.add({1, 2}, {11, 19}));
  EXPECT_TRUE(prefixes.add({1, 3}, {11, 20}));
}
} // namespace
