//===- Exact.cpp - The best of a space, proved ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Depth-first search with lower bounds (Jia et al., "Beyond data and model
// parallelism", section 8.4) and dominance between prefixes of a step.
//
//===----------------------------------------------------------------------===//

#include "ExactSearch.h"
#include "StrategyWalk.h"
#include "soap/Search/LowerBound.h"
#include <cmath>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
class Exact final : public SearchAlgorithm {
public:
  explicit Exact(ExactChoices choices) : choices_(choices) {}
  llvm::StringRef name() const override {
    return choices_ == ExactChoices::Layers ? "exact-layers" : "exact";
  }
  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;

private:
  ExactChoices choices_;
};
} // namespace

/// All is decided and launched.
void ExactSearch::evaluate() {
  if (*llvm::max_element(state_.resources) < run_.bestNs() &&
      tasks_.fitsMemory()) {
    run_.noteBest(strategy_);
    run_.countAccepted();
  }
}

std::vector<ExactSearch::Child> ExactSearch::expand(size_t depth) {
  const Decision &decision = decisions_[depth];
  SimulatorState before = state_;
  std::vector<int64_t> endsBefore = ends_;
  std::vector<Child> children;
  auto count = static_cast<int32_t>(space_.choices(decision.group).size());
  for (int32_t choice = 0; choice < count; ++choice) {
    run_.countProposal();
    assign(decision.group, choice);
    state_ = before;
    ends_ = endsBefore;
    launch(decision);
    if (depth + 1 == decisions_.size()) {
      evaluate();
      continue;
    }
    int64_t bound = boundNs(depth);
    if (bound < run_.bestNs() && !isDominated(decision))
      children.push_back({choice, bound, state_, ends_});
  }
  choiceOf_[decision.group] = -1;
  llvm::stable_sort(children, [](const Child &a, const Child &b) {
    return a.boundNs < b.boundNs;
  });
  return children;
}

int64_t ExactSearch::search(size_t depth, int64_t limitNs) {
  std::vector<Child> children = expand(depth);
  for (size_t i = 0; i < children.size(); ++i) {
    Child &child = children[i];
    if (child.boundNs >= run_.bestNs())
      break;
    // What is left here and in front of here.
    int64_t left = std::min(limitNs, child.boundNs);
    run_.proveLowerBound(std::min(left, run_.bestNs()));
    if (run_.isOver())
      return left;
    assign(decisions_[depth].group, child.choice);
    state_ = std::move(child.state);
    ends_ = std::move(child.ends);
    int64_t next =
        i + 1 < children.size() ? children[i + 1].boundNs : INT64_MAX;
    int64_t stopped = search(depth + 1, std::min(limitNs, next));
    choiceOf_[decisions_[depth].group] = -1;
    if (stopped != INT64_MAX)
      return stopped;
  }
  return INT64_MAX;
}

/// Group by group, the best choice is taken, until none is better.
void ExactSearch::descend(ArrayRef<Strategy> starts) {
  StrategyWalk walk(problem_, space_.configurations(), run_.tables());
  auto descendFrom = [&](const Strategy &start) {
    walk.start(start);
    if (!walk.fitsMemory())
      return;
    for (bool changes = true; changes && !run_.isOver();) {
      changes = false;
      for (int32_t group : space_.groups())
        for (size_t choice = 0;
             choice < space_.choices(group).size() && !run_.isOver();
             ++choice) {
          SmallVector<StrategyWalk::GroupChoice, 4> all;
          for (int32_t member : space_.followers(group))
            all.push_back({member, &space_.choices(member)[choice]});
          if (walk.tryGroups(all, walk.stepNs() - 1)) {
            walk.keep();
            changes = true;
          }
        }
    }
    if (walk.stepNs() < run_.bestNs())
      run_.noteBest(walk.current());
  };
  for (const Strategy &start : starts)
    if (!run_.isOver())
      descendFrom(start);
  constexpr uint64_t numRandom = 8;
  for (uint64_t number = 0; number < numRandom && !run_.isOver(); ++number) {
    Random random(run_.options().seed, number, 0);
    Strategy start = singleDevice(graph_, problem_.topology);
    SmallVector<int32_t, 16> changed;
    for (int32_t group : space_.groups())
      space_.assign(
          start, group,
          static_cast<int32_t>(random.below(space_.choices(group).size())),
          changed);
    descendFrom(start);
  }
}

bool ExactSearch::prove(int64_t lowerBoundNs) {
  planDecisions();
  run_.proveLowerBound(std::min(lowerBoundNs, run_.bestNs()));
  if (lowerBoundNs >= run_.bestNs())
    return true;
  int64_t stopped = search(0, INT64_MAX);
  run_.proveLowerBound(
      std::min(run_.bestNs(), std::max(stopped, lowerBoundNs)));
  return stopped == INT64_MAX;
}

llvm::Expected<SearchResult> Exact::run(const SearchProblem &problem,
                                        const SearchOptions &options) {
  auto begun = SearchRun::begin(problem, options);
  if (!begun)
    return begun.takeError();
  SearchRun &run = **begun;
  ExactSpace space(problem, options.maxTasks, choices_);
  if (double pairs = space.numPairs(); pairs > ExactSpace::mostPairs)
    return llvm::createStringError(
        "expected at most " + llvm::Twine(std::lround(ExactSpace::mostPairs)) +
        " pairs of choices of operations that read each other's results, "
        "got: " +
        llvm::Twine(std::lround(pairs)) +
        "; use fewer devices or another search algorithm");
  run.setSpaceSize(space.size());
  run.consider(singleDevice(problem.graph, problem.topology), "single");
  // They are the result if time is over before the tables are known.
  std::vector<Strategy> starts;
  for (const NamedStrategy &named : namedStrategies())
    if (options.namedStarts && named.isListed && !named.isOfUpdates)
      if (Strategy start = named.make(problem, /*devices=*/0, options.seed);
          space.contains(start)) {
        run.consider(start, named.name);
        starts.push_back(std::move(start));
      }
  bool isProved = false;
  if (space.prepare([&] { return run.isOver(); })) {
    ExactSearch search(run, space);
    search.descend(starts);
    isProved = search.prove(lowerBound(problem, options.maxTasks).stepNs);
  }
  return run.finish(isProved ? StopReason::Proved : StopReason::Budget);
}

std::unique_ptr<SearchAlgorithm> soap::createExact(bool layers) {
  return std::make_unique<Exact>(layers ? ExactChoices::Layers
                                        : ExactChoices::Operations);
}
