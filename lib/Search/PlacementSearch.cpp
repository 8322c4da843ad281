//===- PlacementSearch.cpp - Whole operations to devices ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Distributions over placements, one per block of operations, that are learned
// from simulated steps: by proximal policy optimization and the cross-entropy
// method (Gao, Chen, Li, "Post: device placement with cross-entropy
// minimization and proximal policy optimization", 2018) or by a policy gradient
// (Mirhoseini et al., "Device placement optimization with reinforcement
// learning", 2017, and "A hierarchical model for device placement", 2018).
//
//===----------------------------------------------------------------------===//

#include "PlacementBlocks.h"
#include "PlacementLearners.h"
#include "SearchRun.h"
#include "soap/Search/ConfigurationSpace.h"

using namespace soap;
using namespace soap::detail;

namespace {
class PlacementSearch final : public SearchAlgorithm {
public:
  explicit PlacementSearch(PlacementLearner learner) : learner_(learner) {}
  llvm::StringRef name() const override {
    return learner_ == PlacementLearner::CrossEntropy
               ? "placement-cross-entropy"
               : "placement-policy-gradient";
  }
  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;

private:
  PlacementLearner learner_;
};

/// Simulates placements one after the other.
class PlacementSimulator {
public:
  PlacementSimulator(SearchRun &run, const ConfigurationSpace &space)
      : problem_(run.problem()), space_(space), blocks_(problem_),
        tasks_(problem_, &run.tables()), simulator_(tasks_),
        strategy_(singleDevice(problem_.graph, problem_.topology)) {
    tasks_.setStrategy(strategy_);
  }
  size_t numBlocks() const { return blocks_.size(); }
  /// The step when each block is on the device that `places` has for it; -1 if
  /// it does not fit into memory.
  int64_t stepNs(llvm::ArrayRef<int32_t> places);
  /// What was simulated last.
  const Strategy &strategy() const { return strategy_; }

private:
  const SearchProblem &problem_;
  const ConfigurationSpace &space_;
  PlacementBlocks blocks_;
  TaskGraph tasks_;
  FullSimulator simulator_;
  Strategy strategy_;
};
} // namespace

int64_t PlacementSimulator::stepNs(llvm::ArrayRef<int32_t> places) {
  const OperatorGraph &graph = problem_.graph;
  llvm::SmallVector<int32_t, 32> changed;
  for (int32_t group : space_.groups()) {
    llvm::ArrayRef<int32_t> members = graph.group(group);
    int32_t device = places[blocks_.of(group)];
    if (strategy_.configs[members.front()].devices.front() == device)
      continue;
    space_.assign(strategy_, group,
                  onDevice(graph.node(members.front()), device));
    changed.append(members.begin(), members.end());
  }
  deriveEnds(strategy_, graph, problem_.topology, /*node=*/-1, &changed);
  tasks_.update(strategy_, changed);
  return tasks_.fitsMemory() ? simulator_.stepNs() : -1;
}

llvm::Expected<SearchResult>
PlacementSearch::run(const SearchProblem &problem,
                     const SearchOptions &options) {
  auto begun = SearchRun::begin(problem, options);
  if (!begun)
    return begun.takeError();
  SearchRun &run = **begun;
  run.consider(singleDevice(problem.graph, problem.topology), "single");
  if (options.namedStarts)
    run.consider(modelParallel(problem), "model-parallel");
  ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
  PlacementSimulator simulator(run, space);
  constexpr uint64_t mostRounds = 4, mostUpdates = 2000;
  Strategy learned;
  int64_t learnedNs = INT64_MAX;
  bool isOver = false;
  for (uint64_t round = 0; round < mostRounds && !isOver; ++round) {
    PlacementDistribution distribution(simulator.numBlocks(),
                                       space.numDevices());
    std::unique_ptr<PlacementUpdate> update = createPlacementUpdate(learner_);
    for (uint64_t drawn = 0;
         drawn < mostUpdates * PlacementUpdate::numSamples && !isOver &&
         !distribution.isDecided();) {
      std::vector<PlacementSample> samples;
      while (samples.size() < PlacementUpdate::numSamples &&
             !(isOver = run.isOver())) {
        Random random(options.seed, round, drawn++);
        samples.push_back({distribution.draw(random)});
        samples.back().stepNs = simulator.stepNs(samples.back().places);
        run.countProposal();
        if (int64_t step = samples.back().stepNs;
            step >= 0 && step < learnedNs) {
          learned = simulator.strategy();
          learnedNs = step;
          run.noteBest(learned);
          run.countAccepted();
        }
      }
      if (!isOver)
        update->learn(samples, distribution);
    }
  }
  if (learnedNs != INT64_MAX)
    run.considerOrders(learned, "learned");
  if (run.hasBest())
    run.considerOrders(Strategy(run.best()));
  return run.finish(StopReason::NoImprovement);
}

std::unique_ptr<SearchAlgorithm>
soap::createPlacement(PlacementLearner learner) {
  return std::make_unique<PlacementSearch>(learner);
}
