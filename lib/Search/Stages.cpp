//===- Stages.cpp - A search, part by part of the machine -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeastSums.h"
#include "MarkovSearch.h"
#include "soap/Search/LaunchPolicy.h"
#include <algorithm>
#include <cmath>

using namespace soap;
using namespace soap::detail;
using Clock = std::chrono::steady_clock;

/// Every part of the machine but the last has such a share of the time and of
/// the proposals.
static constexpr uint64_t shareOfParts = 20;

/// All chains but the first begin anew on a larger part of the machine if a
/// start takes less than so many times what they have: what is best on a part
/// often is a dead end on a larger one.
static constexpr double slack = 1.25;

/// Puts the chains on the starts of a part of the machine. Those that have come
/// from a smaller part go on from where they are if no start is faster, or, for
/// all but the first, if none is nearly as fast.
void MarkovSearch::beginStage() {
  machine_.reset();
  machine_ =
      std::make_unique<SubMachine>(problem_, options_.maxTasks, parts_[stage_]);
  stageSeconds_ = seconds();
  stageProposals_ = improvedAt_ = proposalsWithoutWindows();
  // Of the time for starts, tables have a quarter; then pairs are planned for
  // least sums, and those end.
  Clock::time_point begin = Clock::now(), end = startsEnd();
  auto until = [&](int percent) {
    return begin + (end - begin) / 100 * percent;
  };
  makeSums(until(25));
  // The most promising ones first: random ones are left out if time is short.
  std::vector<Start> starts;
  if (stage_ > 0 && bestNs_ != INT64_MAX)
    starts = spreadStarts(problem_, best_, parts_[stage_ - 1], parts_[stage_]);
  addLeastSums(starts, until(65), until(72));
  llvm::append_range(starts, drawStarts(problem_, options_, parts_[stage_]));
  StartLimits limits;
  limits.bestNs = bestNs_;
  limits.mustPlan = bestNs_ == INT64_MAX;
  limits.end = end;
  boundStarts(problem_, tables_, limits, starts);
  // What looks best comes first in every chain, so that chains begin in
  // different places. Those with the least sum of costs are much alike: half of
  // the chains begin elsewhere.
  size_t count = chains_.size(), half = count / 2, numSums = 0, numOthers = 0;
  std::vector<llvm::SmallVector<Start *, 4>> shares(count);
  for (Start &start : starts)
    shares[start.isLeastSum ? half + numSums++ % (count - half)
                            : numOthers++ % count]
        .push_back(&start);
  forEachChain([&](size_t number) {
    Chain &chain = *chains_[number];
    chain.forgetBest();
    chain.start(shares[number], limits, number > 0 ? slack : 1);
  });
  llvm::stable_sort(starts, [](const Start &a, const Start &b) {
    return std::tuple(!a.isExact, a.stepNs < 0, a.stepNs) <
           std::tuple(!b.isExact, b.stepNs < 0, b.stepNs);
  });
  for (const Start &start : starts)
    result_.starts.push_back(
        {start.name + (start.isExact ? "" : " (at least)"), start.stepNs});
  stageBegun_ = true;
  round_ = 0;
  note();
  if (bestNs_ == INT64_MAX)
    return;
  // Chains that begin anew begin as a search does.
  if (!options_.onlyKind)
    mixBehind_ = ProposalMix(problem_.graph);
  for (const auto &chain : chains_)
    if (!chain->isStarted())
      chain->start(best_);
}

/// How many configurations of each group tables of costs know. The work of
/// making them grows with the groups, the pairs of choices and the tasks of
/// each, and on a large machine is worth less than the proposals that could be
/// tried meanwhile.
static size_t numChoices(const ConfigurationSpace &space) {
  constexpr double mostWork = 2.5e6, fewest = 8, most = 28;
  auto ofPair = static_cast<double>(space.groups().size()) *
                static_cast<double>(space.numDevices());
  return static_cast<size_t>(
      std::clamp(std::sqrt(mostWork / ofPair), fewest, most));
}

/// Finds the costs of operations and pairs on the part of the machine until
/// `end`, but for pairs that move much: they take most of the time, and few
/// strategies have them.
void MarkovSearch::makeSums(Clock::time_point end) {
  constexpr int32_t mostDevices = 64;
  constexpr size_t plans = 400'000;
  int32_t devices = parts_[stage_];
  hasTriedSums_ = true;
  if (!options_.leastSums || options_.onlyKind || devices > mostDevices)
    return;
  auto sums = std::make_unique<CostTables>(
      problem_, machine_->space,
      chooseConfigurations(problem_, machine_->space,
                           numChoices(machine_->space), tables_.degreesCosts()),
      tables_.degreesCosts());
  auto stop = [&] { return Clock::now() >= end; };
  if (sums->fill(threads_, stop, plans / devices) != CostTables::Fill::Nothing)
    machine_->tables.sums = std::move(sums);
}

/// Adds strategies with the least sum of costs that are found until `end`;
/// pairs are planned for them until `planEnd`.
void MarkovSearch::addLeastSums(std::vector<Start> &starts,
                                Clock::time_point planEnd,
                                Clock::time_point end) {
  if (!machine_->tables.sums)
    return;
  LeastSumLimits limits;
  limits.threads = threads_;
  // What a part of the machine finds is where the next one begins; the last
  // one gains most.
  limits.rounds = stage_ + 1 == parts_.size() ? 4 : 0;
  limits.planEnd = planEnd;
  limits.end = end;
  for (LeastSum &found :
       leastSums(problem_, *machine_->tables.sums, tables_, limits))
    addStart(starts, {found.name + where(problem_, parts_[stage_]),
                      std::move(found.strategy), /*isOptional=*/true,
                      /*isLeastSum=*/true});
}

/// Starts have at most the time of a part of the machine, and a quarter
/// of the budget on all of it. When a search has to end, the last of its time.
Clock::time_point MarkovSearch::startsEnd() {
  double share = stage_ + 1 == parts_.size() ? 0.25 : 1.0 / shareOfParts;
  auto end =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
          share * std::min(options_.budgetSeconds, 1e9)));
  return std::min(end, deadline_.isOver() ? end_ : deadline_.end);
}

uint64_t MarkovSearch::stageLimit() const {
  return stage_ + 1 == parts_.size() ? limit_
                                     : limit_ / shareOfParts * (stage_ + 1);
}

/// So many proposals without a better strategy end a part of the search.
uint64_t MarkovSearch::patience() const {
  bool isLast = stage_ + 1 == parts_.size();
  if (isLast && options_.stagnation)
    return options_.stagnation;
  if (options_.proposals)
    return isLast ? limit_ / 4 : limit_ / 30;
  // What took long to find may be followed by what takes as long.
  uint64_t least = isLast ? leastPatience_ : leastPatience_ / 8;
  return std::max(least, 2 * (improvedAt_ - stageProposals_));
}

bool MarkovSearch::isStageOver() const {
  if (deadline_.passed || deadline_.cancelled)
    return true;
  if (proposals() >= stageLimit())
    return true;
  if (!looksAtWindows() &&
      proposalsWithoutWindows() - improvedAt_ >= patience())
    return true;
  return stage_ + 1 != parts_.size() &&
         seconds() - stageSeconds_ > options_.budgetSeconds / shareOfParts;
}

/// The launch order is part of the strategy: the chain that is ahead takes a
/// policy's if it is better.
void MarkovSearch::tryOrders() {
  Chain &ahead = **llvm::min_element(chains_, [](const auto &a, const auto &b) {
    return a->currentNs() < b->currentNs();
  });
  if (!deadline_.isOver())
    ahead.tryOrder(fifoOrder(ahead.tasks()));
  if (!deadline_.isOver())
    ahead.tryOrder(criticalPathOrder(ahead.tasks()));
}
