//===- LocalSearchTest.cpp - Neighbours and steepest descent --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "Neighbourhood.h"
#include "soap/Search/LocalOptimality.h"
#include "soap/Search/RandomStrategies.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::detail;
using namespace soap::test;

namespace {
/// The step of a strategy, from nothing; INT64_MAX if it does not fit.
int64_t stepOf(const SearchProblem &problem, const Strategy &strategy) {
  TaskGraph tasks(problem);
  tasks.setStrategy(strategy);
  return tasks.fitsMemory() ? FullSimulator(tasks).stepNs() : INT64_MAX;
}

/// The shortest step among the neighbours, each planned and simulated in full.
int64_t bestNeighbourNs(const SearchProblem &problem, const Strategy &strategy,
                        const ConfigurationSpace &space) {
  int64_t best = INT64_MAX;
  Neighbourhood(problem, space).forEach(strategy, [&](const auto &neighbour) {
    Strategy other = strategy;
    if (neighbour.update >= 0)
      assignUpdate(other, problem.graph, neighbour.update, neighbour.config);
    else
      space.assign(other, neighbour.group, neighbour.config);
    deriveEnds(other, problem.graph, problem.topology);
    EXPECT_EQ(llvm::toString(verify(other, problem.graph, problem.topology)),
              "");
    best = std::min(best, stepOf(problem, other));
    return true;
  });
  return best;
}

std::vector<OperatorGraph> graphs() {
  std::vector<OperatorGraph> result;
  result.push_back(smallChain());
  result.push_back(updatedProducts());
  result.push_back(sharedProducts(2, false));
  result.push_back(deepProducts(3, 1 << 12));
  for (uint64_t seed = 0; seed < 12; ++seed)
    result.push_back(randomSmallGraph(seed, 4));
  return result;
}

/// A random strategy whose parameters are where they are read.
Strategy randomStart(const OperatorGraph &graph, const Topology &machine,
                     uint64_t seed) {
  return randomStrategy(graph, machine, seed, /*structured=*/true);
}

TEST(LocalOptimality, IsWhatAllNeighboursSay) {
  CostModel costs;
  int better = 0;
  for (auto [index, graph] : llvm::enumerate(graphs())) {
    SCOPED_TRACE("graph " + std::to_string(index));
    Topology machine = randomMachine(index);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.maxTasks = 2;
    ConfigurationSpace space(graph, machine, options.maxTasks);
    Strategy strategy = randomStart(graph, machine, index);
    LocalOptimality found = checkLocalOptimality(problem, strategy, options);
    EXPECT_TRUE(found.isFinished);
    EXPECT_EQ(found.completeGroups, found.groups);
    EXPECT_EQ(found.stepNs, stepOf(problem, strategy));
    int64_t expected = bestNeighbourNs(problem, strategy, space);
    ASSERT_EQ(found.better.has_value(), expected < found.stepNs);
    EXPECT_EQ(found.isLocallyOptimal(), expected >= found.stepNs);
    if (found.better) {
      ++better;
      EXPECT_EQ(found.better->stepNs, expected);
    }
  }
  EXPECT_GT(better, 5);
}

TEST(LocalOptimality, HoldsForWhatSteepestDescentFinds) {
  CostModel costs;
  for (auto [index, graph] : llvm::enumerate(graphs())) {
    SCOPED_TRACE("graph " + std::to_string(index));
    Topology machine = randomMachine(index);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.maxTasks = 2;
    options.namedStarts = false;
    options.starts = {randomStart(graph, machine, index)};
    auto found = createLocal()->run(problem, options);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_EQ(found->stop, StopReason::LocalOptimum);
    EXPECT_EQ(found->stepNs, stepOf(problem, found->strategy));
    LocalOptimality local =
        checkLocalOptimality(problem, found->strategy, options);
    EXPECT_TRUE(local.isLocallyOptimal());
  }
}

TEST(LocalOptimality, SaysWhenItWasNotFinished) {
  CostModel costs;
  OperatorGraph graph = randomGraph(1);
  Topology machine = plainMachine(4);
  SearchOptions options;
  options.budgetSeconds = 0;
  LocalOptimality found = checkLocalOptimality(
      {graph, machine, costs}, singleDevice(graph, machine), options);
  EXPECT_FALSE(found.isFinished);
  EXPECT_FALSE(found.isLocallyOptimal());
}

// On eight devices an operation has too many configurations.
TEST(Neighbourhood, TakesRowsWhereThereAreTooMany) {
  OperatorGraph graph = smallChain(16);
  Topology machine = plainMachine(8);
  CostModel costs;
  SearchProblem problem{graph, machine, costs};
  ConfigurationSpace space(graph, machine);
  Neighbourhood neighbourhood(problem, space);
  int64_t rows = 0, others = 0;
  Strategy strategy = dataParallel(graph, machine);
  neighbourhood.forEach(strategy, [&](const auto &neighbour) {
    EXPECT_FALSE(neighbourhood.isComplete(neighbour.group));
    llvm::ArrayRef<int32_t> devices(neighbour.config.devices);
    bool isRow = true;
    for (size_t task = 1; task < devices.size(); ++task)
      isRow &= devices[task] == (devices[task - 1] + 1) % 8;
    (isRow ? rows : others) += 1;
    EXPECT_EQ(llvm::toString(verify(
                  neighbour.config,
                  graph.node(graph.group(neighbour.group).front()), machine)),
              "");
    return true;
  });
  size_t degrees = 0;
  for (int32_t group : space.groups())
    degrees += space.degrees(group).size();
  EXPECT_GE(rows, static_cast<int64_t>(8 * degrees));
  EXPECT_GT(others, 0);
}
} // namespace
