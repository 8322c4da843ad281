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

TEST(Prefixes, ForgetsWhatIsNoBetter) {
  Prefixes prefixes;
  EXPECT_TRUE(prefixes.add({1, 2}, {10, 20}));
  EXPECT_FALSE(prefixes.add({1, 2}, {10, 20}));
  EXPECT_FALSE(prefixes.add({1, 2}, {11, 20}));
  EXPECT_TRUE(prefixes.add({1, 2}, {11, 19}));
  EXPECT_TRUE(prefixes.add({1, 3}, {11, 20}));
}
} // namespace
