//===- SearchAlgorithmTest.cpp - What every search algorithm keeps to -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests are for all algorithms that have a name, and for one that is made
// here by the recipe of docs/Search.md, from public headers alone.
//
//===----------------------------------------------------------------------===//

#include "soap/Search/SearchAlgorithm.h"
#include "ExampleGraphs.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/Random.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace soap;
using namespace soap::test;

namespace {
/// Goes through the groups in random order and gives each the configuration
/// with which a step is shortest, until no group changes any more.
class HillClimbing final : public SearchAlgorithm {
public:
  llvm::StringRef name() const override { return "hill-climbing"; }

  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override {
    if (llvm::Error error = problem.check())
      return std::move(error);
    SearchResult best;
    best.stepNs = INT64_MAX;
    std::vector<Strategy> starts = options.starts;
    starts.push_back(singleDevice(problem.graph, problem.topology));
    for (const Strategy &start : starts)
      climb(problem, options, start, best);
    if (best.stepNs == INT64_MAX)
      return llvm::createStringError(
          "expected a start that fits into memory, got: none");
    return best;
  }

private:
  static void climb(const SearchProblem &problem, const SearchOptions &options,
                    Strategy strategy, SearchResult &best) {
    ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
    TaskGraph tasks(problem);
    auto stepOf = [&](const Strategy &candidate) {
      tasks.setStrategy(candidate);
      return tasks.fitsMemory() ? FullSimulator(tasks).stepNs() : INT64_MAX;
    };
    Random random(options.seed, 0, 0);
    std::vector<int32_t> groups = space.groups().vec();
    int64_t step = stepOf(strategy);
    for (bool changes = true; changes;) {
      changes = false;
      for (size_t i = groups.size(); i > 1; --i)
        std::swap(groups[i - 1], groups[random.below(i)]);
      for (int32_t group : groups)
        for (const Configuration &config : space.all(group)) {
          if (options.proposals && best.proposals >= options.proposals)
            break;
          Strategy candidate = strategy;
          space.assign(candidate, group, config);
          deriveEnds(candidate, problem.graph, problem.topology);
          ++best.proposals;
          if (int64_t shorter = stepOf(candidate); shorter < step) {
            step = shorter;
            strategy = std::move(candidate);
            changes = true;
          }
        }
    }
    if (step < best.stepNs) {
      best.stepNs = step;
      best.strategy = std::move(strategy);
    }
  }
};

/// Makes an algorithm by its name.
std::unique_ptr<SearchAlgorithm> create(llvm::StringRef name) {
  if (name == HillClimbing().name())
    return std::make_unique<HillClimbing>();
  return createSearchAlgorithm(name);
}

std::vector<std::string> allNames() {
  std::vector<std::string> names{HillClimbing().name().str()};
  for (llvm::StringRef name : searchAlgorithmNames())
    names.push_back(name.str());
  names.push_back("best:dpos,local");
  names.push_back("best:placement-cross-entropy,os-dpos,mcmc");
  return names;
}

class Algorithms : public testing::TestWithParam<std::string> {};

TEST_P(Algorithms, FindValidStrategiesNoWorseThanTheirStarts) {
  CostModel costs;
  int tried = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph = randomSmallGraph(seed, 4);
    Topology machine = plainMachine(2);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.seed = seed;
    options.proposals = 400;
    // Few strategies: one of the algorithms tries them all.
    options.maxTasks = fewTasks(graph, machine, 3000);
    if (options.maxTasks == 0)
      continue;
    ++tried;
    Strategy start = singleDevice(graph, machine);
    options.starts = {start};
    auto found = create(GetParam())->run(problem, options);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_EQ(toString(problem.verify(found->strategy)), "");
    TaskGraph tasks(problem);
    tasks.setStrategy(found->strategy);
    EXPECT_EQ(FullSimulator(tasks).stepNs(), found->stepNs);
    tasks.setStrategy(start);
    EXPECT_LE(found->stepNs, FullSimulator(tasks).stepNs());
  }
  EXPECT_GT(tried, 6);
}

// Of training steps and of machines whose devices differ: a step is what a
// simulation from nothing says, and a limit of time keeps something valid.
TEST_P(Algorithms, ReportWhatTheSimulatorConfirms) {
  CostModel costs;
  std::vector<OperatorGraph> graphs;
  graphs.push_back(updatedProducts());
  graphs.push_back(sharedProducts(2, /*oneGroup=*/true));
  graphs.push_back(deepProducts(2, 1 << 12));
  for (uint64_t seed = 0; seed < 6; ++seed)
    graphs.push_back(randomLayers(seed));
  int tried = 0;
  for (auto [index, graph] : llvm::enumerate(graphs)) {
    SCOPED_TRACE("graph " + std::to_string(index));
    Topology machine = randomMachine(index);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.seed = index;
    options.proposals = 300;
    options.maxTasks = fewTasks(graph, machine, 3000);
    if (options.maxTasks == 0)
      continue;
    ++tried;
    auto found = create(GetParam())->run(problem, options);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_EQ(toString(problem.verify(found->strategy)), "");
    TaskGraph tasks(problem);
    tasks.setStrategy(found->strategy);
    EXPECT_EQ(FullSimulator(tasks).stepNs(), found->stepNs);
    if (found->lowerBoundNs)
      EXPECT_LE(*found->lowerBoundNs, found->stepNs);
  }
  EXPECT_GT(tried, 4);
}

TEST_P(Algorithms, KeepTheBestWhenTheyAreCancelled) {
  CostModel costs;
  OperatorGraph graph = inception(8, 2);
  Topology machine = plainMachine(4);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.starts = {dataParallel(graph, machine)};
  options.maxTasks = 4;
  options.budgetSeconds = 30;
  options.proposals = 2000;
  options.progress = [](const SearchProgress &) { return false; };
  if (GetParam() == "exhaustive")
    GTEST_SKIP() << "this graph is too large for it";
  auto found = create(GetParam())->run(problem, options);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  TaskGraph tasks(problem);
  tasks.setStrategy(options.starts[0]);
  EXPECT_LE(found->stepNs, FullSimulator(tasks).stepNs());
  tasks.setStrategy(found->strategy);
  EXPECT_EQ(FullSimulator(tasks).stepNs(), found->stepNs);
}

TEST_P(Algorithms, DependOnNothingButTheSeed) {
  CostModel costs;
  OperatorGraph graph = smallChain(1);
  Topology machine = plainMachine(2);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.proposals = 500;
  options.seed = 7;
  auto first = create(GetParam())->run(problem, options);
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  auto second = create(GetParam())->run(problem, options);
  ASSERT_TRUE(bool(second)) << llvm::toString(second.takeError());
  EXPECT_EQ(first->stepNs, second->stepNs);
  EXPECT_EQ(first->proposals, second->proposals);
  EXPECT_TRUE(first->strategy == second->strategy);
}

TEST_P(Algorithms, RefuseAProblemWithoutComputation) {
  CostModel costs;
  GraphBuilder builder;
  builder.output("y", builder.input("x", {4, 8}));
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(2);
  auto found = create(GetParam())->run({graph, machine, costs}, {});
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(llvm::toString(found.takeError()),
            "expected at least one op that computes, got: none");
}

TEST(CombinedSearch, IsNoWorseThanItsPartsAndStarts) {
  CostModel costs;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph = randomLayers(seed);
    Topology machine = randomMachine(seed);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.budgetSeconds = 1000;
    auto stepOf = [&](llvm::StringRef name, llvm::StringRef starts) {
      options.proposals = name == "mcmc" ? 4000 : 0;
      auto found = createSearchAlgorithm(name, starts)->run(problem, options);
      EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
      return found ? found->stepNs : 0;
    };
    int64_t placed = stepOf("dpos", ""), split = stepOf("os-dpos", "");
    EXPECT_EQ(stepOf("best:dpos,os-dpos", ""), std::min(placed, split));
    EXPECT_LE(stepOf("mcmc", "dpos,os-dpos"), std::min(placed, split));
  }
}

TEST(CombinedSearch, KnowsNames) {
  EXPECT_EQ(createSearchAlgorithm("best:"), nullptr);
  EXPECT_EQ(createSearchAlgorithm("best:mcmc,magic"), nullptr);
  EXPECT_EQ(createSearchAlgorithm("mcmc", "magic"), nullptr);
  EXPECT_EQ(createSearchAlgorithm("magic", "mcmc"), nullptr);
  EXPECT_EQ(createSearchAlgorithm("best:mcmc,local")->name(),
            "best:mcmc,local");
  EXPECT_EQ(createSearchAlgorithm("mcmc", "dpos")->name(), "mcmc");
}

// Where one fails, the others count; where all do, their errors do.
TEST(CombinedSearch, FailsWhereAllFail) {
  CostModel costs;
  OperatorGraph graph = inception(8, 2);
  Topology machine = plainMachine(4);
  SearchProblem problem{graph, machine, costs};
  auto found = createSearchAlgorithm("best:exhaustive,dpos")->run(problem, {});
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->stop, StopReason::Placed);
  auto failed = createSearchAlgorithm("best:exhaustive")->run(problem, {});
  ASSERT_FALSE(bool(failed));
  EXPECT_NE(llvm::toString(failed.takeError()).find("strategies to try"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms, testing::ValuesIn(allNames()),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = std::isalnum(c) ? c : '_';
                           return name;
                         });
} // namespace
