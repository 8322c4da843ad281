//===- SearchTest.cpp - Algorithms that choose strategies -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include "ExampleGraphs.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::detail;
using namespace soap::test;

namespace {
/// Two devices on which small tiles, launches and copies cost something.
Topology realistic(int32_t devices, int64_t memory = 0) {
  DeviceKind kind;
  kind.name = "cpu";
  kind.peakFlops = 2e9;
  kind.memoryBandwidth = 5e9;
  kind.launchNs = 500;
  return Topology::machine(
      devices, {kind, 4e9, 800, memory, 1, /*occupiesReceiver=*/true});
}

llvm::Expected<SearchResult> run(std::unique_ptr<SearchAlgorithm> algorithm,
                                 const SearchProblem &problem,
                                 const SearchOptions &options) {
  return algorithm->run(problem, options);
}

TEST(Search, FindsTheOptimumFromTenSeeds) {
  CostModel costs;
  Topology machine = realistic(2);
  OperatorGraph chain = smallChain(1);
  // Two branches that meet.
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 32});
  int32_t a = builder.matmul("a", x, builder.parameter("wa", {32, 64}));
  int32_t b = builder.matmul("b", x, builder.parameter("wb", {32, 64}));
  builder.output("y", builder.add("c", a, b));
  OperatorGraph branches = builder.finish();
  for (const OperatorGraph *graph : {&chain, &branches}) {
    SearchProblem problem{*graph, machine, costs};
    auto optimum = run(createExhaustive(), problem, {});
    ASSERT_TRUE(bool(optimum)) << llvm::toString(optimum.takeError());
    EXPECT_EQ(optimum->stop, StopReason::Exhausted);
    EXPECT_GT(optimum->proposals, 1000u);
    for (uint64_t seed = 0; seed < 10; ++seed) {
      SearchOptions options;
      options.seed = seed;
      options.proposals = 12000;
      auto found = run(createMCMC(), problem, options);
      ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
      EXPECT_EQ(found->stepNs, optimum->stepNs) << "seed " << seed;
      EXPECT_EQ(toString(problem.verify(found->strategy)), "");
      TaskGraph tasks({*graph, machine, costs});
      tasks.setStrategy(found->strategy);
      EXPECT_EQ(FullSimulator(tasks).stepNs(), found->stepNs);
    }
  }
}

/// Ends after so many proposals, and by nothing else.
static SearchOptions limitedTo(uint64_t proposals) {
  SearchOptions options;
  options.proposals = proposals;
  options.stagnation = 2000;
  options.budgetSeconds = 600;
  return options;
}

TEST(Search, DependsOnNothingButTheSeed) {
  CostModel costs;
  Topology machine = realistic(4);
  OperatorGraph graph = inception(1, 1);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options = limitedTo(1501);
  options.seed = 5;
  options.threads = 1;
  auto first = run(createMCMC(), problem, options);
  options.threads = 3;
  auto second = run(createMCMC(), problem, options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->stepNs, second->stepNs);
  EXPECT_EQ(first->strategy, second->strategy);
  EXPECT_EQ(first->proposals, second->proposals);
  // Every chain tries the same number.
  EXPECT_GE(first->proposals, options.proposals);
  EXPECT_LT(first->proposals, options.proposals + 4);
  EXPECT_EQ(first->accepted, second->accepted);
  options.seed = 6;
  auto third = run(createMCMC(), problem, options);
  ASSERT_TRUE(bool(third));
  EXPECT_NE(third->accepted, first->accepted);
}

TEST(Search, HasAsManyChainsAsItIsTold) {
  CostModel costs;
  Topology machine = realistic(4);
  OperatorGraph graph = inception(1, 1);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options = limitedTo(600);
  for (int32_t chains : {1, 3, 6}) {
    options.chains = chains;
    options.threads = 1;
    auto alone = run(createMCMC(), problem, options);
    options.threads = 5;
    auto together = run(createMCMC(), problem, options);
    ASSERT_TRUE(alone && together);
    EXPECT_EQ(alone->strategy, together->strategy);
    EXPECT_EQ(alone->accepted, together->accepted);
    // Every chain tries the same number.
    EXPECT_GE(alone->proposals, options.proposals);
    EXPECT_LT(alone->proposals, options.proposals + chains);
  }
}

TEST(Search, BeatsItsStartsAtBatchOne) {
  // Where data parallelism cannot help, convolutions are split otherwise.
  CostModel costs;
  DeviceKind kind;
  kind.name = "cpu";
  kind.peakFlops = 100e9;
  Topology machine =
      Topology::machine(2, {kind, 5e9, 2000, 0, 1, /*occupiesReceiver=*/true});
  OperatorGraph graph = inception(1, 2);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.proposals = 6000;
  int64_t lastBest = INT64_MAX;
  options.progress = [&](const SearchProgress &progress) {
    EXPECT_LE(progress.bestNs, lastBest);
    lastBest = progress.bestNs;
    return true;
  };
  auto found = run(createMCMC(), problem, options);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  int64_t single = 0;
  for (const auto &[name, step] : found->starts) {
    EXPECT_LE(found->stepNs, step) << name;
    if (name == "single")
      single = step;
  }
  EXPECT_LT(found->stepNs, 0.7 * single);
  bool splits = false;
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    splits |= graph.node(id).op == "nn.conv" &&
              found->strategy.configs[id].degrees.numTiles() > 1;
  EXPECT_TRUE(splits);
}

/// A cluster is no worse than one of its machines: chains also start in one.
TEST(Search, ClustersHaveStartsInOneMachine) {
  llvm::Expected<Topology> cluster =
      Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  CostModel costs;
  OperatorGraph graph = inception(1, 2);
  SearchOptions options;
  options.proposals = 800;
  auto found = run(createMCMC(), {graph, *cluster, costs}, options);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  llvm::StringMap<int64_t> starts;
  for (const auto &[name, step] : found->starts)
    starts[name] = step;
  ASSERT_TRUE(starts.count("spatial, 4 devices"));
  ASSERT_TRUE(starts.count("tensor-parallel, 4 devices"));
  EXPECT_LT(starts["spatial, 4 devices"], starts["spatial"]);
  EXPECT_LE(found->stepNs, starts["spatial, 4 devices"]);
  Strategy within = spatial(graph, *cluster, 4);
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (graph.node(id).role == NodeRole::Compute)
      for (int32_t device : within.configs[id].devices)
        EXPECT_LT(device, 4);

  auto alone = run(createMCMC(), {graph, realistic(4), costs}, options);
  ASSERT_TRUE(bool(alone)) << llvm::toString(alone.takeError());
  for (const auto &[name, step] : alone->starts)
    EXPECT_FALSE(llvm::StringRef(name).contains(", ")) << name;
}

TEST(Search, MemoryIsAConstraint) {
  CostModel costs;
  OperatorGraph graph = smallChain(8);
  auto largest = [&](const Strategy &strategy, const Topology &machine) {
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(strategy);
    std::vector<int64_t> peak = tasks.peakMemory();
    return *std::max_element(peak.begin(), peak.end());
  };
  Topology unlimited = realistic(2);
  int64_t single = largest(singleDevice(graph, unlimited), unlimited);
  int64_t data = largest(dataParallel(graph, unlimited), unlimited);
  ASSERT_LT(data, single);
  Topology limited = realistic(2, data + (single - data) / 4);
  SearchProblem problem{graph, limited, costs};
  SearchOptions options;
  options.proposals = 2000;
  auto found = run(createMCMC(), problem, options);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(toString(problem.verify(found->strategy)), "");
  EXPECT_NE(toString(problem.verify(singleDevice(graph, limited))), "");
  auto start = llvm::find_if(
      found->starts, [](const auto &entry) { return entry.first == "single"; });
  ASSERT_NE(start, found->starts.end());
  EXPECT_EQ(start->second, -1);

  Topology tiny = realistic(2, 100);
  auto none = run(createMCMC(), {graph, tiny, costs}, options);
  ASSERT_FALSE(bool(none));
  EXPECT_NE(llvm::toString(none.takeError()).find("fits into memory"),
            std::string::npos);
}

TEST(Search, StopsWhenToldTo) {
  CostModel costs;
  Topology machine = realistic(4);
  OperatorGraph graph = inception(1, 2);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.proposals = 10'000'000;
  options.budgetSeconds = 0.5;
  auto limited = run(createMCMC(), problem, options);
  ASSERT_TRUE(bool(limited));
  EXPECT_LT(limited->seconds, 5);
  EXPECT_TRUE(limited->stop == StopReason::Budget ||
              limited->stop == StopReason::NoImprovement);
  options.budgetSeconds = 60;
  options.progress = [](const SearchProgress &) { return false; };
  auto cancelled = run(createMCMC(), problem, options);
  ASSERT_TRUE(bool(cancelled));
  EXPECT_EQ(cancelled->stop, StopReason::Cancelled);
}

/// Of a file that does not exist yet, for --search-state.
static llvm::SmallString<64> freshPath() {
  llvm::SmallString<64> path;
  llvm::cantFail(llvm::errorCodeToError(
      llvm::sys::fs::createTemporaryFile("search-state", "json", path)));
  llvm::sys::fs::remove(path);
  return path;
}

/// What --search-state keeps.
static llvm::json::Value readState(llvm::StringRef path) {
  auto text = llvm::cantFail(
      llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)));
  return llvm::cantFail(llvm::json::parse(text->getBuffer()));
}

/// Searches in parts, each of which ends at its report number `reports` and is
/// kept in the file. A search that was cancelled and goes on from its file
/// finds what one that was not interrupted finds.
static void expectSameInParts(const SearchProblem &problem,
                              SearchOptions options, llvm::StringRef path,
                              int reports) {
  auto whole = run(createMCMC(), problem, options);
  ASSERT_TRUE(bool(whole)) << llvm::toString(whole.takeError());
  options.stateFile = path.str();
  uint64_t interruptions = 0;
  std::optional<SearchResult> found;
  while (!found || found->stop == StopReason::Cancelled) {
    ASSERT_LT(interruptions++, 100u);
    int left = reports;
    options.progress = [&](const SearchProgress &) { return --left > 0; };
    auto part = run(createMCMC(), problem, options);
    ASSERT_TRUE(bool(part)) << llvm::toString(part.takeError());
    EXPECT_EQ(part->stateError, "");
    found = std::move(*part);
  }
  EXPECT_EQ(found->stepNs, whole->stepNs);
  EXPECT_EQ(found->strategy, whole->strategy);
  EXPECT_EQ(found->proposals, whole->proposals);
  EXPECT_EQ(found->accepted, whole->accepted);
  EXPECT_EQ(found->starts, whole->starts);
  // Not what bounds rejected: a plan that is known takes their place, and files
  // keep no plans.
  EXPECT_EQ(found->statistics.proposals, whole->statistics.proposals);
}

TEST(Search, GoesOnFromAFile) {
  CostModel costs;
  Topology machine =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json"));
  OperatorGraph graph = inception(1, 1);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.proposals = 6000;
  options.stagnation = 6000;
  options.budgetSeconds = 600;
  llvm::SmallString<64> path = freshPath();
  llvm::FileRemover remover(path);
  expectSameInParts(problem, options, path, /*reports=*/2);
  options.stateFile = std::string(path);

  // The file of another search is refused.
  options.seed = 9;
  auto other = run(createMCMC(), problem, options);
  ASSERT_FALSE(bool(other));
  std::string error = llvm::toString(other.takeError());
  EXPECT_NE(error.find("expected the search of"), std::string::npos) << error;
  // So is one of before chains that are behind had weights of their own.
  options.seed = 0;
  llvm::json::Value state = readState(path);
  ASSERT_TRUE(state.getAsObject()->erase("mix_behind"));
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << state;
  auto older = run(createMCMC(), problem, options);
  ASSERT_FALSE(bool(older));
  error = llvm::toString(older.takeError());
  EXPECT_NE(error.find("expected 'mix_behind'"), std::string::npos) << error;
  llvm::raw_fd_ostream(path, code) << "{\"format\": \"soap-strategy\"}";
  auto wrong = run(createMCMC(), problem, options);
  ASSERT_FALSE(bool(wrong));
  error = llvm::toString(wrong.takeError());
  EXPECT_NE(error.find("--search-state"), std::string::npos) << error;
}

/// Also where some chains are behind, which have weights of their own and are
/// given up or not, by what they gained since the last exchange. Once a fifth
/// of a second is over, every round ends a part.
TEST(Search, GoesOnFromAFileWithChainsBehind) {
  CostModel costs;
  Topology machine =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json"));
  OperatorGraph graph = inception(8, 4);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.proposals = 30000;
  options.stagnation = 30000;
  options.namedStarts = false;
  options.randomStarts = 4;
  options.leastSums = false;
  options.seed = 1;
  llvm::SmallString<64> path = freshPath();
  llvm::FileRemover remover(path);
  expectSameInParts(problem, options, path, /*reports=*/1);
}

/// Also between two rounds in which windows are looked at: every report ends a
/// part once a fifth of a second is over, which windows take several times.
TEST(Search, GoesOnFromAFileBetweenWindows) {
  CostModel costs;
  Topology machine =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/p100-node.json"));
  OperatorGraph graph = inception(8, 1);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.proposals = 60000;
  options.stagnation = 1000;
  llvm::SmallString<64> path = freshPath();
  llvm::FileRemover remover(path);
  expectSameInParts(problem, options, path, /*reports=*/1);
}

/// Also where chains have begun anew, on parts of the machine, too.
TEST(Search, GoesOnFromAFileWithAttempts) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  OperatorGraph graph = inception(1, 1);
  SearchProblem problem{graph, machine, costs};
  SearchOptions options;
  options.proposals = 40000;
  llvm::SmallString<64> path = freshPath();
  llvm::FileRemover remover(path);
  expectSameInParts(problem, options, path, /*reports=*/1);
  options.stateFile = std::string(path);
  auto again = run(createMCMC(), problem, options);
  ASSERT_TRUE(bool(again));
  EXPECT_GE(again->attempts, 2u);
  // A file of before there were attempts is refused.
  llvm::json::Value state = readState(path);
  ASSERT_TRUE(state.getAsObject()->erase("found"));
  ASSERT_TRUE(state.getAsObject()->erase("found_ns"));
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << state;
  auto older = run(createMCMC(), problem, options);
  ASSERT_FALSE(bool(older));
  std::string error = llvm::toString(older.takeError());
  EXPECT_NE(error.find("expected 'found_ns'"), std::string::npos) << error;
}

/// Chains begin anew where they find nothing any more, and find other
/// strategies then; the best of all is taken, whatever the number of threads.
TEST(Search, BeginsAnew) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  OperatorGraph graph = deepProducts(3, 0);
  SearchProblem problem{graph, machine, costs};
  int64_t once = 0, often = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SearchOptions options;
    options.seed = seed;
    options.namedStarts = false;
    options.leastSums = false;
    options.proposals = 60000;
    options.stagnation = 1000;
    auto first = run(createMCMC(), problem, options);
    options.stagnation = 0;
    options.threads = 1;
    auto all = run(createMCMC(), problem, options);
    options.threads = 3;
    auto same = run(createMCMC(), problem, options);
    ASSERT_TRUE(first && all && same);
    EXPECT_EQ(first->attempts, 1u);
    EXPECT_GE(all->attempts, 2u);
    EXPECT_LE(all->stepNs, first->stepNs);
    TaskGraph tasks(problem);
    tasks.setStrategy(all->strategy);
    EXPECT_EQ(all->stepNs, FullSimulator(tasks).stepNs());
    EXPECT_EQ(all->strategy, same->strategy);
    EXPECT_EQ(all->proposals, same->proposals);
    EXPECT_EQ(all->attempts, same->attempts);
    // Also as the search behind others.
    auto behind =
        run(createSearchAlgorithm("best:local,mcmc"), problem, options);
    ASSERT_TRUE(bool(behind));
    EXPECT_GE(behind->attempts, 2u);
    once += first->stepNs;
    often += all->stepNs;
  }
  EXPECT_LT(often, once);
  // Wherever it ends, be it at the beginning of an attempt, which is slower
  // then than those before.
  double slowest = 0;
  for (uint64_t proposals = 6000; proposals <= 14000; proposals += 1000) {
    llvm::SmallString<64> path = freshPath();
    llvm::FileRemover remover(path);
    SearchOptions options;
    options.proposals = options.stagnation = proposals;
    options.stateFile = std::string(path);
    auto found = run(createMCMC(), problem, options);
    ASSERT_TRUE(bool(found));
    EXPECT_LE(found->stepNs, found->history.back().bestNs) << proposals;
    llvm::json::Value state = readState(path);
    const llvm::json::Object &root = *state.getAsObject();
    EXPECT_LE(root.getArray("ends")->size(), 8u);
    EXPECT_LE(static_cast<int64_t>(root.getArray("ends")->size()),
              *root.getInteger("attempt"));
    if (*root.getInteger("attempt") > 0)
      slowest = std::max(slowest, *root.getNumber("best_ns") /
                                      *root.getNumber("found_ns"));
  }
  EXPECT_GT(slowest, 1);
}

/// A single chain has nothing to cross with but what earlier attempts have
/// ended with, and does so at the end of an attempt.
TEST(Search, TakesOverWhatAttemptsEndWith) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  OperatorGraph graph = deepProducts(3, 0);
  int numWith = 0, numWithout = 0;
  for (uint64_t proposals = 4000; proposals <= 24000; proposals += 2000) {
    llvm::SmallString<64> path = freshPath();
    llvm::FileRemover remover(path);
    SearchOptions options;
    options.chains = 1;
    options.proposals = options.stagnation = proposals;
    options.stateFile = std::string(path);
    ASSERT_TRUE(bool(run(createMCMC(), {graph, machine, costs}, options)));
    llvm::json::Value state = readState(path);
    const llvm::json::Object &root = *state.getAsObject();
    if (*root.getInteger("attempt") == 0)
      continue;
    bool isRecombining = *root.getInteger("recombined_at") > 0;
    double crossed = *(*(*root.getObject("mix")->getArray(
        "tallies"))[static_cast<size_t>(ProposalKind::Cross)]
                            .getAsArray())[0]
                          .getAsNumber();
    EXPECT_EQ(crossed > 0, isRecombining) << proposals;
    EXPECT_FALSE(root.getArray("ends")->empty());
    ++(isRecombining ? numWith : numWithout);
  }
  EXPECT_GT(numWith, 0);
  EXPECT_GT(numWithout, 0);
}

/// Bounds and delta simulation decide nothing: a search that simulates all in
/// full goes the same way.
TEST(Search, BoundsAndDeltaDecideNothing) {
  CostModel costs;
  Topology machine =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/p100-node.json"));
  OperatorGraph graph = inception(8, 2);
  SearchOptions options;
  options.proposals = 3000;
  auto delta = run(createMCMC(), {graph, machine, costs}, options);
  options.fullSimulation = true;
  auto full = run(createMCMC(), {graph, machine, costs}, options);
  ASSERT_TRUE(delta && full);
  EXPECT_EQ(delta->stepNs, full->stepNs);
  EXPECT_EQ(delta->strategy, full->strategy);
  EXPECT_EQ(delta->accepted, full->accepted);
  EXPECT_GT(delta->statistics.bounded, 0u);
  EXPECT_EQ(full->statistics.bounded, 0u);
}

/// Launch orders change with proposals, accepted or not. What a chain knows is
/// what its strategy takes.
TEST(Search, ChainsKnowTheirStepInEveryOrder) {
  CostModel costs;
  Topology machine = llvm::cantFail(loadTopology("p100:nodes=2"));
  OperatorGraph graph = inception(1, 4);
  SearchProblem problem{graph, machine, costs};
  TaskGraph tables(problem);
  SubMachine part(problem, /*maxTasks=*/0, machine.numDevices());
  Deadline deadline;
  deadline.end = std::chrono::steady_clock::time_point::max();
  int numOrders = 0;
  for (bool fullSimulation : {false, true})
    for (uint64_t seed = 0; seed < 3; ++seed) {
      SearchOptions options;
      options.seed = seed;
      options.fullSimulation = fullSimulation;
      Chain chain(problem, options, tables, /*number=*/0);
      chain.start(randomStrategy(graph, machine, seed));
      for (int round = 0; round < 40; ++round) {
        std::vector<int32_t> order = chain.current().order;
        chain.run(part, 25, 400 / static_cast<double>(chain.currentNs()),
                  deadline);
        numOrders += chain.current().order != order;
        ASSERT_EQ(toString(problem.verify(chain.current())), "");
        TaskGraph tasks(problem);
        tasks.setStrategy(chain.current());
        ASSERT_EQ(chain.currentNs(), FullSimulator(tasks).stepNs())
            << "seed " << seed << ", round " << round;
        ASSERT_TRUE(chain.tasks().strategy() == chain.current());
      }
    }
  EXPECT_GT(numOrders, 0);
}

/// From random strategies alone, and with the paper's proposal alone.
TEST(Search, FindsItsWayWithoutNamedStarts) {
  CostModel costs;
  Topology machine =
      llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json"));
  OperatorGraph graph = inception(64, 2);
  SearchOptions options;
  options.proposals = 20000;
  options.namedStarts = false;
  options.randomStarts = 4;
  auto found = run(createMCMC(), {graph, machine, costs}, options);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  for (const auto &[name, step] : found->starts)
    EXPECT_TRUE(llvm::StringRef(name).starts_with("random") ||
                llvm::StringRef(name).starts_with("least sum") ||
                llvm::StringRef(name).starts_with("spread"))
        << name;
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(dataParallel(graph, machine));
  EXPECT_LT(found->stepNs, FullSimulator(tasks).stepNs() * 1.1);
  for (size_t i = 1; i < found->history.size(); ++i)
    EXPECT_LT(found->history[i].bestNs, found->history[i - 1].bestNs);
}

TEST(Search, Errors) {
  CostModel costs;
  Topology machine = realistic(2), nothing;
  OperatorGraph graph = smallChain(), empty;
  EXPECT_EQ(toString(SearchProblem{graph, machine, costs}.check()), "");
  EXPECT_NE(toString(SearchProblem{graph, nothing, costs}.check()), "");
  EXPECT_NE(toString(SearchProblem{empty, machine, costs}.check()), "");
  auto tooMany = run(createExhaustive(100), {graph, machine, costs}, {});
  ASSERT_FALSE(bool(tooMany));
  EXPECT_NE(llvm::toString(tooMany.takeError()).find("at most 100 strategies"),
            std::string::npos);
  SearchOptions options;
  options.starts.push_back(singleDevice(graph, machine));
  options.starts[0].configs[2].devices.edit()[0] = 9;
  auto wrong = run(createMCMC(), {graph, machine, costs}, options);
  ASSERT_FALSE(bool(wrong));
  llvm::consumeError(wrong.takeError());
  EXPECT_EQ(createSearchAlgorithm("oracle"), nullptr);
  for (llvm::StringRef name : searchAlgorithmNames())
    EXPECT_EQ(createSearchAlgorithm(name)->name(), name);
}
} // namespace
