//===- Exhaustive.cpp - Every strategy of a tiny graph --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/SearchAlgorithm.h"
#include "llvm/ADT/Twine.h"
#include <chrono>
#include <cmath>

using namespace soap;
using llvm::SmallVector;

namespace {
class Exhaustive final : public SearchAlgorithm {
public:
  explicit Exhaustive(uint64_t limit) : limit_(limit) {}
  llvm::StringRef name() const override { return "exhaustive"; }

  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;

private:
  uint64_t limit_;
};
} // namespace

llvm::Expected<SearchResult> Exhaustive::run(const SearchProblem &problem,
                                             const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return std::move(error);
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  };
  ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
  double total = 1;
  for (int32_t group : space.groups())
    total *= space.size(group);
  if (total > static_cast<double>(limit_))
    return llvm::createStringError(
        "expected at most " + llvm::Twine(limit_) +
        " strategies to try, got: about 10^" +
        llvm::Twine(static_cast<int>(std::log10(total))) +
        "; use another search algorithm");

  std::vector<std::vector<Configuration>> choices;
  for (int32_t group : space.groups())
    choices.push_back(space.all(group));
  Strategy strategy = singleDevice(problem.graph, problem.topology);
  for (size_t i = 0; i < choices.size(); ++i)
    space.assign(strategy, space.groups()[i], choices[i][0]);
  deriveEnds(strategy, problem.graph, problem.topology);
  TaskGraph tasks(problem);
  tasks.setStrategy(strategy);
  FullSimulator simulator(tasks);

  SearchResult result;
  result.stepNs = INT64_MAX;
  result.stop = StopReason::Exhausted;
  std::vector<size_t> at(choices.size(), 0);
  for (bool more = true; more;) {
    ++result.proposals;
    int64_t step = simulator.stepNs();
    if (step < result.stepNs && tasks.fitsMemory()) {
      result.stepNs = step;
      result.strategy = strategy;
      ++result.accepted;
    }
    if (result.proposals == options.proposals) {
      result.stop = StopReason::Proposals;
      break;
    }
    constexpr uint64_t atATime = 1024;
    if (result.proposals % atATime == 0) {
      if (seconds() >= options.budgetSeconds) {
        result.stop = StopReason::Budget;
        break;
      }
      SearchProgress progress{result.proposals, seconds(), result.stepNs};
      if (options.progress && !options.progress(progress)) {
        result.stop = StopReason::Cancelled;
        break;
      }
    }
    // The next one: an odometer whose first group turns fastest.
    more = false;
    for (size_t i = 0; i < at.size() && !more; ++i) {
      more = ++at[i] < choices[i].size();
      if (!more)
        at[i] = 0;
      space.assign(strategy, space.groups()[i], choices[i][at[i]]);
      SmallVector<int32_t, 8> changed;
      for (int32_t node : problem.graph.group(space.groups()[i])) {
        changed.push_back(node);
        deriveEnds(strategy, problem.graph, problem.topology, node, &changed);
      }
      tasks.update(strategy, changed);
    }
  }
  result.seconds = seconds();
  if (result.stepNs == INT64_MAX)
    return llvm::createStringError(
        "expected a strategy that fits into memory, got: none; use more "
        "devices, devices with more memory or a smaller batch");
  return result;
}

std::unique_ptr<SearchAlgorithm> soap::createExhaustive(uint64_t limit) {
  return std::make_unique<Exhaustive>(limit);
}
