//===- OptCNNTest.cpp - The least sum of costs ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostTables.h"
#include "ExampleGraphs.h"
#include "LeastSums.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::detail;
using namespace soap::test;

namespace {
auto never = [] { return false; };

/// Calls `visit` with every vector of choices.
template <typename Visit>
void forAllChoices(llvm::ArrayRef<int32_t> counts, Visit visit) {
  std::vector<int32_t> choices(counts.size(), 0);
  for (bool more = true; more;) {
    visit(choices);
    more = false;
    for (size_t i = 0; i < counts.size() && !more; ++i) {
      more = ++choices[i] < counts[i];
      if (!more)
        choices[i] = 0;
    }
  }
}

/// Random sums over two to six variables: without edges, trees, circles and
/// complete graphs, and with several costs for one pair.
TEST(MinSum, EqualsTheLeastOfAll) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0);
    MinSum sums;
    std::vector<int32_t> counts;
    std::vector<std::vector<int64_t>> own;
    auto drawCosts = [&](int32_t count) {
      std::vector<int64_t> costs(count);
      for (int64_t &cost : costs)
        cost = static_cast<int64_t>(random.below(100));
      return costs;
    };
    auto number = static_cast<int32_t>(2 + random.below(5));
    for (int32_t i = 0; i < number; ++i) {
      counts.push_back(static_cast<int32_t>(1 + random.below(4)));
      own.push_back(drawCosts(counts.back()));
      EXPECT_EQ(sums.addVariable(own.back()), i);
    }
    struct Pair {
      int32_t a, b;
      std::vector<int64_t> costs;
    };
    std::vector<Pair> pairs;
    uint64_t density = random.below(5);
    for (int32_t a = 0; a < number; ++a)
      for (int32_t b = 0; b < number; ++b) {
        if (a == b || random.below(8) >= density)
          continue;
        pairs.push_back({a, b, drawCosts(counts[a] * counts[b])});
        sums.addPair(a, b, pairs.back().costs);
      }
    sums.add(0, 0, 7);
    own[0][0] += 7;
    auto sumOf = [&](llvm::ArrayRef<int32_t> choices) {
      int64_t sum = 0;
      for (int32_t i = 0; i < number; ++i)
        sum += own[i][choices[i]];
      for (const Pair &pair : pairs)
        sum += pair.costs[choices[pair.a] * counts[pair.b] + choices[pair.b]];
      return sum;
    };
    int64_t least = INT64_MAX;
    forAllChoices(counts, [&](llvm::ArrayRef<int32_t> choices) {
      ASSERT_EQ(sums.sumOf(choices), sumOf(choices));
      least = std::min(least, sumOf(choices));
    });
    MinSum::Result result = sums.minimise(1e6, never);
    ASSERT_EQ(result.end, MinSum::End::Done);
    EXPECT_EQ(result.sum, least);
    EXPECT_EQ(sumOf(result.choices), least);
  }
}

TEST(MinSum, GivesUpWhatIsTooLargeOrStopped) {
  MinSum sums;
  for (int i = 0; i < 4; ++i)
    sums.addVariable({1, 2, 3});
  std::vector<int64_t> costs(9, 1);
  for (int32_t a = 0; a < 4; ++a)
    for (int32_t b = a + 1; b < 4; ++b)
      sums.addPair(a, b, costs);
  EXPECT_EQ(sums.minimise(81, never).end, MinSum::End::Done);
  MinSum::Result tooLarge = sums.minimise(80, never);
  EXPECT_EQ(tooLarge.end, MinSum::End::TooLarge);
  EXPECT_EQ(tooLarge.combinations, 81);
  EXPECT_EQ(sums.minimise(81, [] { return true; }).end, MinSum::End::Stopped);
}

/// Some variables free, the others fixed or unknown, pairs counted in part.
TEST(MinSum, PartsEqualTheLeastOfAll) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 1, 0);
    auto draw = [&](size_t count) {
      std::vector<int64_t> costs(count);
      for (int64_t &cost : costs)
        cost = 2 * static_cast<int64_t>(random.below(100));
      return costs;
    };
    MinSum sums;
    for (int32_t i = 0; i < 6; ++i)
      sums.addVariable(draw(1 + random.below(4)));
    std::map<std::pair<int32_t, int32_t>, std::vector<int64_t>> pairs;
    for (int32_t a = 0; a < 6; ++a)
      for (int32_t b = a + 1; b < 6; ++b)
        if (random.below(2) == 0) {
          pairs[{a, b}] = draw(sums.numChoices(a) * sums.numChoices(b));
          // In either direction.
          std::vector<int64_t> turned;
          for (int32_t j = 0; j < sums.numChoices(b); ++j)
            for (int32_t i = 0; i < sums.numChoices(a); ++i)
              turned.push_back(pairs[{a, b}][i * sums.numChoices(b) + j]);
          if (random.below(2) == 0)
            sums.addPair(a, b, pairs[{a, b}]);
          else
            sums.addPair(b, a, turned);
        }
    // Free ones in any order.
    llvm::SmallVector<int32_t> free;
    std::vector<int32_t> fixed(6, -1);
    for (int32_t i : {3, 0, 5, 1, 4, 2})
      if (random.below(2) == 0)
        free.push_back(i);
      else if (random.below(3) != 0)
        fixed[i] = static_cast<int32_t>(random.below(sums.numChoices(i)));
    MinSum::Part part;
    std::vector<int32_t> counts;
    for (int32_t i : free) {
      part.own.push_back(draw(sums.numChoices(i)));
      counts.push_back(sums.numChoices(i));
    }
    auto own = part.own;
    auto sumOf = [&](llvm::ArrayRef<int32_t> choices) {
      std::vector<int32_t> all = fixed;
      int64_t sum = 0;
      for (size_t i = 0; i < free.size(); ++i) {
        all[free[i]] = choices[i];
        sum += own[i][choices[i]];
      }
      for (const auto &[edge, costs] : pairs)
        if ((llvm::is_contained(free, edge.first) ||
             llvm::is_contained(free, edge.second)) &&
            all[edge.first] >= 0 && all[edge.second] >= 0)
          sum += costs[all[edge.first] * sums.numChoices(edge.second) +
                       all[edge.second]] /
                 2;
      return sum;
    };
    part.variables = free;
    auto choiceOf = [&](int32_t variable) { return fixed[variable]; };
    part.fixed = choiceOf;
    part.pairFactor = 0.5;
    MinSum::Result result = sums.minimise(std::move(part), 1e6);
    ASSERT_EQ(result.end, MinSum::End::Done);
    int64_t least = INT64_MAX;
    forAllChoices(counts, [&](llvm::ArrayRef<int32_t> choices) {
      least = std::min(least, sumOf(choices));
    });
    EXPECT_EQ(sumOf(result.choices), least);
  }
}

/// A graph on a machine, and choices for tables of its costs.
struct TableProblem {
  CostModel costs;
  Topology machine;
  OperatorGraph graph;
  SearchProblem problem{graph, machine, costs};
  ConfigurationSpace space{graph, machine};
  DegreesCosts taskCosts{problem};
  std::vector<std::vector<Configuration>> choices;

  TableProblem(llvm::StringRef topology, uint64_t seed, size_t mostChoices)
      : machine(llvm::cantFail(loadTopology(topology))),
        graph(seed == 0 ? inception(16, 1) : randomGraph(seed)),
        choices(chooseConfigurations(problem, space, mostChoices, taskCosts)) {}
  CostTables tables() { return {problem, space, choices, taskCosts}; }
};

/// Pairs that are not planned count no more than they take, so that a least sum
/// which has none of them is exact; and it needs few plans.
TEST(CostTables, LeastSumsNeedFewPlans) {
  int64_t moves = 0;
  for (llvm::StringRef name :
       {"p100:nodes=2", "k80:nodes=4", "dgx-h100", "p100:nodes=1"})
    for (uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE((name + ", graph " + llvm::Twine(seed)).str());
      TableProblem problem(name, seed, 16);
      CostTables exact = problem.tables(), few = problem.tables();
      ASSERT_EQ(exact.fill(2, never), CostTables::Fill::Exactly);
      ASSERT_EQ(exact.numPlanned(), exact.moves().size());
      for (uint32_t place = 0; place < exact.moves().size(); ++place) {
        ASSERT_LE(exact.moves().leastNs(place), exact.moves().ns(place));
        moves += exact.moves().leastNs(place) > 0;
      }
      few.fill(1, never, 0);
      ASSERT_EQ(few.numPlanned(), 0u);
      for (double share : {1.0, 0.3}) {
        std::vector<double> shares(exact.sums().numEdges(), share);
        auto least = [&](CostTables &tables) {
          return tables
              .leastSum(shares, CostTables::Pairs::Bounded, 1, 1e9, never)
              .choices;
        };
        // Of several, another may be found.
        auto sumOf = [&](llvm::ArrayRef<int32_t> found) {
          const MinSum &sums = exact.sums();
          double sum = 0;
          for (int32_t i = 0; i < sums.numVariables(); ++i)
            sum += static_cast<double>(sums.own(i)[found[i]]);
          for (size_t edge = 0; edge < sums.numEdges(); ++edge)
            sum += share * static_cast<double>(sums.pairCost(
                               static_cast<int32_t>(edge), found));
          return sum;
        };
        // Every pair is rounded.
        EXPECT_NEAR(sumOf(least(few)), sumOf(least(exact)),
                    static_cast<double>(shares.size()));
      }
      if (seed == 0)
        EXPECT_LT(2 * few.numPlanned(), exact.numPlanned());
    }
  EXPECT_GT(moves, 1000);
}

/// When nothing more can be planned, what was planned is enough for better sums
/// than guesses give.
TEST(CostTables, LeastSumsAvoidGuesses) {
  double avoiding = 0, guessing = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    TableProblem problem("p100:nodes=4", seed, 12);
    CostTables exact = problem.tables(), some = problem.tables();
    ASSERT_EQ(exact.fill(2, never), CostTables::Fill::Exactly);
    some.fill(1, never, exact.moves().size() / 4);
    uint64_t planned = some.numPlanned();
    std::vector<double> shares(exact.sums().numEdges(), 1);
    MinSum::Result avoided = some.leastSum(shares, CostTables::Pairs::Guessed,
                                           1, 1e9, [] { return true; }),
                   guessed = some.sums().minimise(1e9, never);
    ASSERT_EQ(avoided.end, MinSum::End::Done);
    ASSERT_EQ(guessed.end, MinSum::End::Done);
    EXPECT_EQ(some.numPlanned(), planned);
    avoiding += static_cast<double>(exact.sums().sumOf(avoided.choices));
    guessing += static_cast<double>(exact.sums().sumOf(guessed.choices));
  }
  EXPECT_LT(avoiding, guessing);
}

std::vector<LeastSum> leastSumsOf(const OperatorGraph &graph, int rounds) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  SearchProblem problem{graph, machine, costs};
  ConfigurationSpace space(graph, machine);
  TaskGraph tasks(problem);
  DegreesCosts &taskCosts = tasks.degreesCosts();
  CostTables tables(problem, space,
                    chooseConfigurations(problem, space, 28, taskCosts),
                    taskCosts);
  tables.fill(1, never, 50);
  LeastSumLimits limits;
  limits.rounds = rounds;
  std::vector<LeastSum> found = leastSums(problem, tables, tasks, limits);
  for (const LeastSum &entry : found) {
    EXPECT_EQ(toString(verify(entry.strategy, graph, machine)), "");
    tasks.setStrategy(entry.strategy);
    EXPECT_EQ(FullSimulator(tasks).stepNs(), entry.stepNs);
  }
  EXPECT_TRUE(llvm::is_sorted(found, [](const LeastSum &a, const LeastSum &b) {
    return a.stepNs < b.stepNs;
  }));
  return found;
}

/// Least sums are strategies with their simulated steps, the fastest first; a
/// graph that is too tangled has none.
TEST(LeastSums, StrategiesOrNone) {
  OperatorGraph branches = inception(16, 2);
  auto few = leastSumsOf(branches, 0), more = leastSumsOf(branches, 4);
  ASSERT_FALSE(few.empty());
  ASSERT_GE(more.size(), few.size());
  EXPECT_LE(more.front().stepNs, few.front().stepNs);

  // Every pair of seven convolutions meets.
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 16, 16, 16});
  std::vector<int32_t> all;
  for (int i = 0; i < 7; ++i)
    all.push_back(builder.conv("c" + std::to_string(i), x, 16, 1, 1, 0));
  for (size_t a = 0; a < all.size(); ++a)
    for (size_t b = a + 1; b < all.size(); ++b) {
      std::string name = std::to_string(a) + "." + std::to_string(b);
      builder.output("y" + name, builder.add("a" + name, all[a], all[b]));
    }
  EXPECT_TRUE(leastSumsOf(builder.finish(), 4).empty());
}

/// Two operations in a row whose tasks all take as long: the simulated step is
/// the sum, whatever moves in between.
TEST(CostTables, SumOfTwoOperationsIsTheSimulatedStep) {
  CostModel costs;
  int compared = 0, moved = 0;
  for (llvm::StringRef name : {"p100:nodes=2", "k80:nodes=2", "dgx-h100"}) {
    Topology machine = llvm::cantFail(loadTopology(name));
    for (int64_t pad : {0, 1}) {
      GraphBuilder builder;
      int32_t x = builder.input("x", {16, 16, 32, 32});
      int32_t y = builder.conv("a", x, 16, 3, 1, 1);
      builder.output("y", builder.conv("b", y, 32, 1 + 2 * pad, 1, pad));
      OperatorGraph graph = builder.finish();
      SearchProblem problem{graph, machine, costs};
      ConfigurationSpace space(graph, machine);
      DegreesCosts taskCosts(problem);
      CostTables tables(problem, space,
                        chooseConfigurations(problem, space, 40, taskCosts),
                        taskCosts);
      ASSERT_EQ(tables.fill(1, never), CostTables::Fill::Exactly);
      TaskGraph tasks(problem);
      FullSimulator simulator(tasks);
      forAllChoices(
          {tables.sums().numChoices(0), tables.sums().numChoices(1)},
          [&](llvm::ArrayRef<int32_t> choices) {
            Strategy strategy = tables.strategyOf(choices);
            tasks.setStrategy(strategy);
            int64_t sum = tables.sums().sumOf(choices);
            ASSERT_EQ(sum, sumOfCosts(problem, strategy));
            for (int32_t id : tasks.order())
              if (llvm::any_of(tasks.nodeTasks(id).ns, [&](int64_t ns) {
                    return ns != tasks.nodeTasks(id).ns[0];
                  }))
                return;
            ++compared;
            moved += tasks.bytes(Phase::Step) > 0;
            EXPECT_EQ(simulator.stepNs(), sum);
          });
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(moved, 500);
}

/// Every combination of choices, each priced from the strategy itself.
void compareWithAll(const OperatorGraph &graph, const Topology &machine,
                    double limit, int &compared) {
  CostModel costs;
  SearchProblem problem{graph, machine, costs};
  ConfigurationSpace space(graph, machine);
  DegreesCosts taskCosts(problem);
  size_t most = 16;
  auto count = [&] {
    double product = 1;
    for (const auto &choices :
         chooseConfigurations(problem, space, most, taskCosts))
      product *= static_cast<double>(choices.size());
    return product;
  };
  while (most > 1 && count() > limit)
    --most;
  if (most == 1)
    return;
  CostTables tables(problem, space,
                    chooseConfigurations(problem, space, most, taskCosts),
                    taskCosts);
  ASSERT_EQ(tables.fill(2, never), CostTables::Fill::Exactly);
  std::vector<int32_t> counts;
  for (int32_t i = 0; i < tables.sums().numVariables(); ++i)
    counts.push_back(tables.sums().numChoices(i));
  int64_t least = INT64_MAX;
  forAllChoices(counts, [&](llvm::ArrayRef<int32_t> choices) {
    Strategy strategy = tables.strategyOf(choices);
    ASSERT_EQ(toString(verify(strategy, graph, machine)), "");
    int64_t sum = sumOfCosts(problem, strategy);
    ASSERT_EQ(tables.sums().sumOf(choices), sum);
    least = std::min(least, sum);
  });
  auto found = createOptCNN(most)->run(problem, {});
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->stop, StopReason::LeastSum);
  EXPECT_EQ(found->sumNs, least);
  compared += least > 0;
}

TEST(OptCNN, EqualsTheLeastOfAllSums) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compareWithAll(randomSmallGraph(seed, 4), randomMachine(seed), 1500,
                   compared);
    compareWithAll(randomLayers(seed), plainBus(4), 1500, compared);
  }
  // Groups of an operation and its gradients, and parameters that are written.
  compareWithAll(trainedProducts(), plainMachine(4), 4000, compared);
  compareWithAll(updatedProducts(), plainMachine(4), 4000, compared);
  EXPECT_GT(compared, 20);
}

TEST(OptCNN, KeepsAStartThatIsFasterInSimulation) {
  // Branches run side by side in a step, one after the other in the sum: what a
  // Markov search finds there is faster.
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=1"));
  OperatorGraph graph = inception(1, 2);
  SearchProblem problem{graph, machine, costs};
  auto sum = createOptCNN()->run(problem, {});
  ASSERT_TRUE(bool(sum)) << llvm::toString(sum.takeError());
  SearchOptions options;
  options.proposals = 4000;
  options.starts = {sum->strategy};
  auto better = createMCMC()->run(problem, options);
  ASSERT_TRUE(bool(better)) << llvm::toString(better.takeError());
  ASSERT_LT(better->stepNs, sum->stepNs);
  options.starts = {better->strategy};
  auto kept = createOptCNN()->run(problem, options);
  ASSERT_TRUE(bool(kept)) << llvm::toString(kept.takeError());
  EXPECT_EQ(kept->stepNs, better->stepNs);
  EXPECT_EQ(kept->sumNs, sum->sumNs);
  ASSERT_EQ(kept->starts.size(), 2u);
  EXPECT_EQ(kept->starts[0].first, "given");
  EXPECT_EQ(kept->starts[1].first, "optcnn");
}

TEST(OptCNN, StopsWhenToldTo) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=4"));
  OperatorGraph graph = inception(64, 2);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.budgetSeconds = 0;
  auto late = createOptCNN()->run(problem, options);
  ASSERT_TRUE(bool(late)) << llvm::toString(late.takeError());
  EXPECT_EQ(late->stop, StopReason::Budget);
  EXPECT_EQ(late->sumNs, std::nullopt);
  EXPECT_EQ(toString(problem.verify(late->strategy)), "");
  options.budgetSeconds = 600;
  options.progress = [](const SearchProgress &) { return false; };
  auto cancelled = createOptCNN()->run(problem, options);
  ASSERT_TRUE(bool(cancelled)) << llvm::toString(cancelled.takeError());
  EXPECT_EQ(cancelled->stop, StopReason::Cancelled);
}

TEST(OptCNN, Errors) {
  CostModel costs;
  OperatorGraph graph = inception(8, 1);
  Topology machine = plainMachine(4);
  auto large = createOptCNN(16, 100)->run({graph, machine, costs}, {});
  ASSERT_FALSE(bool(large));
  EXPECT_NE(
      llvm::toString(large.takeError()).find("no more than 10^2 combinations"),
      std::string::npos);
  Topology tiny = Topology::machine(
      2, {DeviceKind(), 1e9, 0, /*memoryBytes=*/100, 1, false});
  auto none = createOptCNN()->run({graph, tiny, costs}, {});
  ASSERT_FALSE(bool(none));
  EXPECT_NE(llvm::toString(none.takeError()).find("fits into memory"),
            std::string::npos);
}
} // namespace
