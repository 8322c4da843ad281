//===- SearchRun.cpp - What all algorithms do while they search -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchRun.h"
#include "soap/Search/LaunchPolicy.h"

using namespace soap;
using namespace soap::detail;
using Clock = std::chrono::steady_clock;

SearchRun::SearchRun(const SearchProblem &problem, const SearchOptions &options)
    : problem_(problem), options_(options), begin_(Clock::now()),
      tasks_(problem), simulator_(tasks_) {
  result_.stepNs = INT64_MAX;
}

llvm::Expected<std::unique_ptr<SearchRun>>
SearchRun::begin(const SearchProblem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return std::move(error);
  for (const Strategy &start : options.starts)
    if (llvm::Error error = verify(start, problem.graph, problem.topology))
      return std::move(error);
  auto run = std::make_unique<SearchRun>(problem, options);
  for (const Strategy &start : options.starts)
    run->consider(start, "given");
  return run;
}

double SearchRun::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

bool SearchRun::isOver() {
  if (limit_)
    return true;
  double now = seconds();
  if (options_.progress && now - reported_ > 0.2) {
    reported_ = now;
    SearchProgress progress{result_.proposals, now, result_.stepNs};
    progress.lowerBoundNs = result_.lowerBoundNs.value_or(0);
    if (!options_.progress(progress))
      limit_ = StopReason::Cancelled;
  }
  if (!limit_ && now > options_.budgetSeconds)
    limit_ = StopReason::Budget;
  if (!limit_ && options_.proposals && result_.proposals >= options_.proposals)
    limit_ = StopReason::Proposals;
  return limit_.has_value();
}

/// What tasks_ has now.
int64_t SearchRun::note(llvm::StringRef name) {
  int64_t step = simulator_.stepNs();
  bool fits = tasks_.fitsMemory();
  if (!name.empty())
    result_.starts.push_back({name.str(), fits ? step : -1});
  if (!fits)
    return -1;
  if (step < result_.stepNs) {
    result_.stepNs = step;
    result_.strategy = tasks_.strategy();
    result_.history.push_back({result_.proposals, seconds(), step});
  }
  return step;
}

int64_t SearchRun::consider(const Strategy &strategy, llvm::StringRef name) {
  ++result_.proposals;
  tasks_.setStrategy(strategy);
  return note(name);
}

void SearchRun::noteBest(const Strategy &strategy) {
  tasks_.setStrategy(strategy);
  note("");
}

int64_t SearchRun::considerOrders(Strategy strategy, llvm::StringRef name) {
  int64_t best = consider(strategy, name);
  auto tryOrder = [&](llvm::StringRef policy, std::vector<int32_t> order) {
    if (order == strategy.order)
      return;
    tasks_.setOrder(order);
    int64_t step =
        note(name.empty() ? "" : (name + " in order of " + policy).str());
    if (step >= 0 && (best < 0 || step < best))
      best = step;
  };
  if (!strategy.order.empty())
    tryOrder("the graph", {});
  for (llvm::StringRef policy : launchPolicyNames())
    if (policy != "program")
      tryOrder(policy, launchOrder(policy, problem_, strategy));
  return best;
}

void SearchRun::considerNamed() {
  if (!options_.namedStarts)
    return;
  for (const NamedStrategy &named : namedStrategies())
    if (named.isListed && named.name != "random" &&
        (!named.isOfUpdates || problem_.graph.numUpdates() > 0) &&
        !(hasBest() && isOver()))
      consider(named.make(problem_, /*devices=*/0, options_.seed), named.name);
}

llvm::Expected<SearchResult> SearchRun::finish(StopReason stop) {
  result_.stop = limit_.value_or(stop);
  result_.seconds = seconds();
  result_.statistics.proposals = result_.proposals;
  result_.statistics.accepted = result_.accepted;
  if (!hasBest())
    return llvm::createStringError(
        "expected a strategy that fits into memory, got: none; use "
        "--search=mcmc, more devices, devices with more memory or a smaller "
        "batch");
  return std::move(result_);
}
