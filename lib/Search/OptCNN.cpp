//===- OptCNN.cpp - The least sum of costs --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jia, Lin, Qi, Aiken, "Exploring hidden dimensions in parallelizing
// convolutional neural networks", 2018, section 5.
//
//===----------------------------------------------------------------------===//

#include "CostTables.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/SearchAlgorithm.h"
#include "llvm/ADT/Twine.h"
#include <chrono>
#include <cmath>
#include <thread>

using namespace soap;
using namespace soap::detail;
using Clock = std::chrono::steady_clock;

namespace {
/// Says when a search has to end, and reports where it is.
class Watch {
public:
  Watch(const SearchOptions &options, const SearchResult &result)
      : options_(options), result_(result) {}

  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  /// From one thread at a time.
  bool isOver() {
    double now = seconds();
    isLate_ |= now > options_.budgetSeconds;
    if (options_.progress && !isCancelled_ && now - reported_ > 0.2) {
      reported_ = now;
      isCancelled_ =
          !options_.progress({result_.proposals, now, result_.stepNs});
    }
    return isLate_ || isCancelled_;
  }
  bool isCancelled() const { return isCancelled_; }

private:
  const SearchOptions &options_;
  const SearchResult &result_;
  Clock::time_point begin_ = Clock::now();
  double reported_ = -1;
  bool isLate_ = false, isCancelled_ = false;
};

class OptCNN final : public SearchAlgorithm {
public:
  OptCNN(size_t mostChoices, double mostCombinations)
      : mostChoices_(mostChoices), mostCombinations_(mostCombinations) {}
  llvm::StringRef name() const override { return "optcnn"; }

  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;

private:
  llvm::Expected<std::optional<Strategy>> minimise(const SearchProblem &problem,
                                                   const SearchOptions &options,
                                                   Watch &watch,
                                                   SearchResult &result) const;

  size_t mostChoices_;
  double mostCombinations_;
};
} // namespace

/// The strategy with the least sum; nothing if time was over before it was
/// found.
llvm::Expected<std::optional<Strategy>>
OptCNN::minimise(const SearchProblem &problem, const SearchOptions &options,
                 Watch &watch, SearchResult &result) const {
  ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
  DegreesCosts costs(problem);
  CostTables tables(problem, space,
                    chooseConfigurations(problem, space, mostChoices_, costs),
                    costs);
  unsigned threads = options.threads > 0
                         ? static_cast<unsigned>(options.threads)
                         : std::max(1u, std::thread::hardware_concurrency());
  auto stop = [&] { return watch.isOver(); };
  // Pairs are planned when a sum has them; in the beginning, none.
  if (tables.fill(threads, stop, /*mostPlanned=*/0) ==
      CostTables::Fill::Nothing)
    return std::nullopt;
  std::vector<double> shares(tables.sums().numEdges(), 1);
  MinSum::Result found = tables.leastSum(shares, CostTables::Pairs::Bounded,
                                         threads, mostCombinations_, stop);
  result.statistics.planned = tables.numPlanned();
  switch (found.end) {
  case MinSum::End::Stopped:
    return std::nullopt;
  case MinSum::End::TooLarge:
    return llvm::createStringError(
        "expected a graph in which eliminating an operation looks at no more "
        "than 10^" +
        llvm::Twine(std::lround(std::log10(mostCombinations_))) +
        " combinations of its neighbours' choices, got: 10^" +
        llvm::Twine(std::lround(std::log10(found.combinations))) +
        "; use another search algorithm");
  case MinSum::End::Done:
    break;
  }
  result.sumNs = found.sum;
  return tables.strategyOf(found.choices);
}

llvm::Expected<SearchResult> OptCNN::run(const SearchProblem &problem,
                                         const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return std::move(error);
  for (const Strategy &strategy : options.starts)
    if (llvm::Error error = verify(strategy, problem.graph, problem.topology))
      return std::move(error);
  SearchResult result;
  result.stepNs = INT64_MAX;
  Watch watch(options, result);
  TaskGraph tasks(problem);
  FullSimulator simulator(tasks);
  // What tasks has now, if it is the fastest that fits.
  auto note = [&] {
    int64_t step = simulator.stepNs();
    bool fits = tasks.fitsMemory();
    ++result.proposals;
    if (fits && step < result.stepNs) {
      result.stepNs = step;
      result.strategy = tasks.strategy();
      result.history.push_back({result.proposals, watch.seconds(), step});
    }
    return fits ? step : -1;
  };
  for (const Strategy &start : options.starts) {
    tasks.setStrategy(start);
    result.starts.push_back({"given", note()});
  }

  auto found = minimise(problem, options, watch, result);
  if (!found)
    return found.takeError();
  result.stop = *found                ? StopReason::LeastSum
                : watch.isCancelled() ? StopReason::Cancelled
                                      : StopReason::Budget;
  // Without it, something valid at least.
  Strategy last = *found ? std::move(**found)
                         : singleDevice(problem.graph, problem.topology);
  tasks.setStrategy(last);
  result.starts.push_back({*found ? "optcnn" : "single", note()});
  // The sum knows no order: keep a policy's where it is better.
  for (llvm::StringRef policy : launchPolicyNames())
    if (*found && policy != "program" && !watch.isOver()) {
      tasks.setOrder(launchOrder(policy, problem, last));
      note();
    }
  result.seconds = watch.seconds();
  if (result.stepNs == INT64_MAX)
    return llvm::createStringError(
        "expected a strategy that fits into memory, got: one with the least "
        "sum of costs that does not; use --search=mcmc, more devices, devices "
        "with more memory or a smaller batch");
  return result;
}

std::unique_ptr<SearchAlgorithm> soap::createOptCNN(size_t mostChoices,
                                                    double mostCombinations) {
  return std::make_unique<OptCNN>(mostChoices, mostCombinations);
}
