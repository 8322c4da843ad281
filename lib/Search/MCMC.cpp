//===- MCMC.cpp - Markov chain Monte Carlo search -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jia et al., "Beyond data and model parallelism", section 6. One chain per
// start; a chain is a function of the problem, the seed and its number, so that
// chains may run on any number of threads.
//
//===----------------------------------------------------------------------===//

#include "Proposals.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/SearchAlgorithm.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

namespace {
/// What the chains of one search share.
struct Search {
  const SearchProblem &problem;
  const SearchOptions &options;
  const ConfigurationSpace &space;
  uint64_t proposalsPerChain;
  Clock::time_point begin = Clock::now();

  std::mutex mutex;
  double lastReport = 0;
  std::atomic<bool> cancelled{false};
  std::atomic<uint64_t> proposals{0};
  std::atomic<int64_t> best{INT64_MAX};

  Search(const SearchProblem &problem, const SearchOptions &options,
         const ConfigurationSpace &space, uint64_t proposalsPerChain)
      : problem(problem), options(options), space(space),
        proposalsPerChain(proposalsPerChain) {}

  void improve(int64_t step) {
    int64_t known = best.load();
    while (step < known && !best.compare_exchange_weak(known, step)) {
    }
  }

  void report() {
    if (!options.progress)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    double now = secondsSince(begin);
    if (now - lastReport < 0.2)
      return;
    lastReport = now;
    if (!options.progress({proposals.load(), now, best.load()}))
      cancelled = true;
  }
};

/// One Markov chain.
class Chain {
public:
  Chain(Search &search, uint64_t number, Strategy start)
      : search_(search), number_(number), current_(std::move(start)),
        tasks_(search.problem.graph, search.problem.topology,
               search.problem.costs),
        simulator_(tasks_) {}

  void run(double budgetSeconds) {
    tasks_.setStrategy(current_);
    int64_t cost = simulator_.stepNs();
    best = current_;
    bestNs = cost;
    search_.improve(bestNs);
    // The acceptance constant has the unit 1/time: it is scaled by the initial
    // cost. Chains differ in how much worse they accept.
    static constexpr double scales[] = {100, 400, 1600};
    double beta =
        scales[number_ % 3] / static_cast<double>(std::max<int64_t>(1, cost));
    Clock::time_point begin = Clock::now();
    uint64_t lastImprovement = 0;
    double improvedAt = 0;
    for (uint64_t step = 0; step < search_.proposalsPerChain; ++step) {
      if (step % 16 == 0) {
        double now = secondsSince(begin);
        if (now > budgetSeconds)
          return finish(StopReason::Budget);
        if (now - improvedAt > budgetSeconds / 2 ||
            step - lastImprovement > search_.proposalsPerChain / 2)
          return finish(StopReason::NoImprovement);
        if (search_.cancelled)
          return finish(StopReason::Cancelled);
        search_.report();
      }
      ++proposals;
      ++search_.proposals;
      Random random(search_.options.seed, number_, step);
      changed_.clear();
      undo_.clear();
      if (!propose(
              {search_.problem.graph, search_.problem.topology, search_.space},
              current_, random, changed_, undo_))
        continue;
      tasks_.update(current_, changed_);
      int64_t changedCost = simulator_.stepNs();
      bool accept =
          changedCost <= cost ||
          random.uniform() <
              std::exp(beta * static_cast<double>(cost - changedCost));
      if (accept && !tasks_.checkMemory().empty())
        accept = false;
      if (!accept) {
        for (auto &[node, config] : llvm::reverse(undo_))
          current_.configs[node] = std::move(config);
        tasks_.update(current_, changed_);
        continue;
      }
      ++accepted;
      cost = changedCost;
      if (cost < bestNs) {
        bestNs = cost;
        best = current_;
        lastImprovement = step;
        improvedAt = secondsSince(begin);
        search_.improve(bestNs);
      }
    }
    finish(StopReason::Proposals);
  }

  Strategy best;
  int64_t bestNs = INT64_MAX;
  uint64_t proposals = 0, accepted = 0;
  StopReason stop = StopReason::Proposals;

private:
  void finish(StopReason reason) { stop = reason; }

  Search &search_;
  uint64_t number_;
  Strategy current_;
  TaskGraph tasks_;
  FullSimulator simulator_;
  SmallVector<int32_t, 32> changed_;
  Undo undo_;
};

class MCMC final : public SearchAlgorithm {
public:
  llvm::StringRef name() const override { return "mcmc"; }
  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;
};
} // namespace

/// How many devices, from device 0 on, sit in the first machine.
static int32_t devicesOfFirstMachine(const Topology &topology) {
  int32_t count = 1;
  while (count < topology.numDevices() &&
         topology.device(count).node == topology.device(0).node)
    ++count;
  return count;
}

/// The starts that fit, by name, each once.
static std::vector<std::pair<std::string, Strategy>>
collectStarts(const SearchProblem &problem, const SearchOptions &options,
              SearchResult &result) {
  std::vector<std::pair<std::string, Strategy>> candidates, starts;
  const OperatorGraph &graph = problem.graph;
  const Topology &topology = problem.topology;
  for (const Strategy &strategy : options.starts)
    candidates.push_back({"given", strategy});
  candidates.push_back({"single", singleDevice(graph, topology)});
  candidates.push_back({"data-parallel", dataParallel(graph, topology)});
  candidates.push_back(
      {"model-parallel", modelParallel(graph, topology, problem.costs)});
  candidates.push_back({"tensor-parallel", tensorParallel(graph, topology)});
  candidates.push_back({"spatial", spatial(graph, topology)});
  // What moves much may be fastest inside one machine of a cluster.
  if (int32_t devices = devicesOfFirstMachine(topology);
      devices > 1 && devices < topology.numDevices()) {
    candidates.push_back({"tensor-parallel, one machine",
                          tensorParallel(graph, topology, devices)});
    candidates.push_back(
        {"spatial, one machine", spatial(graph, topology, devices)});
  }
  candidates.push_back(
      {"random", randomStrategy(graph, topology, options.seed)});
  TaskGraph tasks(graph, topology, problem.costs);
  FullSimulator simulator(tasks);
  for (auto &[name, strategy] : candidates) {
    if (llvm::any_of(starts, [&, &strategy = strategy](const auto &known) {
          return known.second == strategy;
        }))
      continue;
    tasks.setStrategy(strategy);
    bool fits = tasks.checkMemory().empty();
    result.starts.push_back({name, fits ? simulator.stepNs() : -1});
    if (fits)
      starts.push_back({name, std::move(strategy)});
  }
  return starts;
}

llvm::Expected<SearchResult> MCMC::run(const SearchProblem &problem,
                                       const SearchOptions &options) {
  if (std::string error = problem.check(); !error.empty())
    return llvm::createStringError(error);
  for (const Strategy &strategy : options.starts)
    if (std::string error =
            soap::verify(strategy, problem.graph, problem.topology);
        !error.empty())
      return llvm::createStringError(error);

  SearchResult result;
  auto starts = collectStarts(problem, options, result);
  if (starts.empty())
    return llvm::createStringError(
        "expected a start that fits into memory, got: none; use more devices, "
        "devices with more memory or a smaller batch");

  ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
  uint64_t total = options.proposals;
  if (total == 0)
    total = std::clamp<uint64_t>(1000 * space.groups().size(), 10000, 200000);
  uint64_t perChain = std::max<uint64_t>(1, total / starts.size());
  Search search(problem, options, space, perChain);

  std::vector<std::unique_ptr<Chain>> chains;
  for (auto [number, start] : llvm::enumerate(starts))
    chains.push_back(
        std::make_unique<Chain>(search, number, std::move(start.second)));
  unsigned threads = options.threads > 0
                         ? static_cast<unsigned>(options.threads)
                         : std::max(1u, std::thread::hardware_concurrency());
  threads = std::min<unsigned>(threads, chains.size());
  double budget = options.budgetSeconds * threads / chains.size();
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t chain; (chain = next++) < chains.size();)
      chains[chain]->run(budget);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();

  // The best; among equals the first chain's.
  result.stepNs = INT64_MAX;
  for (const auto &chain : chains) {
    result.proposals += chain->proposals;
    result.accepted += chain->accepted;
    if (chain->bestNs < result.stepNs) {
      result.stepNs = chain->bestNs;
      result.strategy = chain->best;
      result.stop = chain->stop;
    }
  }

  simplify({problem.graph, problem.topology, space}, problem.costs,
           result.strategy);

  // The order is part of the strategy: keep a policy's where it is better.
  TaskGraph tasks(problem.graph, problem.topology, problem.costs);
  tasks.setStrategy(result.strategy);
  result.stepNs = FullSimulator(tasks).stepNs();
  Strategy found = result.strategy;
  for (llvm::StringRef policy : launchPolicyNames()) {
    tasks.setOrder(launchOrder(policy, problem.graph, found, problem.topology,
                               problem.costs));
    if (int64_t step = FullSimulator(tasks).stepNs();
        step < result.stepNs && tasks.checkMemory().empty()) {
      result.stepNs = step;
      result.strategy = tasks.strategy();
    }
  }
  result.seconds = secondsSince(search.begin);
  return result;
}

std::unique_ptr<SearchAlgorithm> soap::createMCMC() {
  return std::make_unique<MCMC>();
}
