//===- LocalSearch.cpp - Steepest descent ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Neighbourhood.h"
#include "SearchRun.h"
#include "soap/Search/LocalOptimality.h"

using namespace soap;
using namespace soap::detail;
using Neighbour = Neighbourhood::Neighbour;

namespace {
/// The neighbour with the shortest step.
struct Best {
  std::optional<Neighbour> neighbour; ///< Nothing: none has a shorter step.
  int64_t stepNs = 0;
};
} // namespace

static std::optional<int64_t>
tryNeighbour(StrategyWalk &walk, const Neighbour &neighbour, int64_t limit) {
  if (neighbour.update >= 0)
    return walk.tryUpdate(neighbour.update, neighbour.config, limit);
  return walk.tryGroup(neighbour.group, neighbour.config, limit);
}

/// Looks at the neighbours until `stop`, which is asked before each. Of those
/// with equal steps the first counts.
static Best findBest(const Neighbourhood &neighbourhood, StrategyWalk &walk,
                     llvm::function_ref<bool()> stop) {
  Best best;
  best.stepNs = walk.stepNs();
  // Neighbours are of what was there before they were tried.
  Strategy current = walk.current();
  neighbourhood.forEach(current, [&](const Neighbour &neighbour) {
    if (stop())
      return false;
    if (std::optional<int64_t> step =
            tryNeighbour(walk, neighbour, best.stepNs - 1)) {
      best.stepNs = *step;
      best.neighbour = neighbour;
      walk.drop();
    }
    return true;
  });
  return best;
}

LocalOptimality soap::checkLocalOptimality(const SearchProblem &problem,
                                           const Strategy &strategy,
                                           const SearchOptions &options) {
  const OperatorGraph &graph = problem.graph;
  ConfigurationSpace space(graph, problem.topology, options.maxTasks);
  Neighbourhood neighbourhood(problem, space);
  SearchOptions limits = options;
  limits.proposals = 0;
  SearchRun run(problem, limits);
  StrategyWalk walk(problem, space, run.tables());
  walk.start(strategy);
  run.consider(strategy);
  LocalOptimality result;
  result.stepNs = walk.stepNs();
  for (int32_t group : space.groups()) {
    ++result.groups;
    result.completeGroups += neighbourhood.isComplete(group);
  }
  Best best = findBest(neighbourhood, walk, [&] {
    if (result.neighbours % 64 == 0)
      result.isFinished = !run.isOver();
    run.countProposal();
    result.neighbours += result.isFinished;
    return !result.isFinished;
  });
  if (best.neighbour) {
    const Neighbour &found = *best.neighbour;
    bool isUpdate = found.update >= 0;
    int32_t node = isUpdate ? graph.parameterOf(found.update)
                            : graph.group(found.group).front();
    result.better = LocalOptimality::Better{graph.node(node).name, isUpdate,
                                            found.config, best.stepNs};
  }
  result.seconds = run.seconds();
  return result;
}

namespace {
class LocalSearch final : public SearchAlgorithm {
public:
  llvm::StringRef name() const override { return "local"; }
  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;
};
} // namespace

llvm::Expected<SearchResult> LocalSearch::run(const SearchProblem &problem,
                                              const SearchOptions &options) {
  auto begun = SearchRun::begin(problem, options);
  if (!begun)
    return begun.takeError();
  SearchRun &run = **begun;
  run.considerNamed();
  if (!run.hasBest())
    run.consider(singleDevice(problem.graph, problem.topology), "single");
  if (!run.hasBest())
    return run.finish(StopReason::LocalOptimum);
  ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
  Neighbourhood neighbourhood(problem, space);
  StrategyWalk walk(problem, space, run.tables());
  walk.start(run.best());
  bool isOver = false;
  for (uint64_t looked = 0; !isOver;) {
    Best best = findBest(neighbourhood, walk, [&] {
      // A limit on proposals counts every one.
      if (options.proposals || ++looked % 64 == 0)
        isOver = run.isOver();
      if (!isOver)
        run.countProposal();
      return isOver;
    });
    if (!best.neighbour)
      break;
    tryNeighbour(walk, *best.neighbour, best.stepNs);
    walk.keep();
    run.countAccepted();
    run.noteBest(walk.current());
  }
  return run.finish(StopReason::LocalOptimum);
}

std::unique_ptr<SearchAlgorithm> soap::createLocal() {
  return std::make_unique<LocalSearch>();
}
