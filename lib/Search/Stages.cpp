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
  hasTriedSums_ = isWhole() && whole_;
  machine_ = hasTriedSums_ ? std::move(whole_)
                           : std::make_unique<SubMachine>(
                                 problem_, options_.maxTasks, parts_[stage_]);
  stageSeconds_ = seconds();
  stageProposals_ = improvedAt_ = proposalsWithoutWindows();
  if (attempt_ == 0)
    wholeAt_ = foundAt_ = stageProposals_;
  Clock::time_point end = startsEnd();
  // The most promising ones first: random ones are left out if time is short.
  std::vector<Start> starts;
  if (stage_ > 0 && bestNs_ != INT64_MAX)
    starts = spreadStarts(problem_, best_, parts_[stage_ - 1], parts_[stage_]);
  if (hasSums() && !hasTriedSums_)
    makeTables(end, attempt_ == 0 ? &starts : nullptr);
  llvm::append_range(starts,
                     drawStarts(problem_, options_, parts_[stage_], attempt_));
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
  tryBuckets();
  llvm::stable_sort(starts, [](const Start &a, const Start &b) {
    return std::tuple(!a.isExact, a.stepNs < 0, a.stepNs) <
           std::tuple(!b.isExact, b.stepNs < 0, b.stepNs);
  });
  if (attempt_ == 0)
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

/// Later attempts have no tables for parts of the machine, which take a while.
bool MarkovSearch::hasSums() const {
  constexpr int32_t mostDevices = 64;
  return options_.leastSums && !options_.onlyKind &&
         parts_[stage_] <= mostDevices && (attempt_ == 0 || isWhole());
}

/// Makes tables of costs until `end`, plans pairs of them for least sums, and
/// adds strategies with these to `starts`. (A search that goes on from a file
/// has no tables. What is planned counts in proposals, too, so it needs the
/// same plans.)
void MarkovSearch::makeTables(Clock::time_point end,
                              std::vector<Start> *starts) {
  Clock::time_point begin = Clock::now();
  auto until = [&](int percent) {
    return begin + (end - begin) / 100 * percent;
  };
  makeSums(until(25));
  hasTriedSums_ = true;
  if (!machine_->tables.sums)
    return;
  std::vector<Start> known;
  addLeastSums(starts ? *starts : known, until(65), until(72));
}

/// Finds the costs of operations and pairs on the part of the machine until
/// `end`, but for pairs that move much: they take most of the time, and few
/// strategies have them.
void MarkovSearch::makeSums(Clock::time_point end) {
  constexpr size_t plans = 400'000;
  int32_t devices = parts_[stage_];
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
  LeastSumLimits limits;
  limits.threads = threads_;
  // What a part of the machine finds is where the next one begins; the last
  // one gains most.
  limits.rounds = isWhole() ? 4 : 0;
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
  double share = isWhole() ? 0.25 : 1.0 / shareOfParts;
  auto end =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
          share * std::min(options_.budgetSeconds, 1e9)));
  return std::min(end, deadline_.isOver() ? end_ : deadline_.end);
}

/// So many proposals of the search end the stage.
uint64_t MarkovSearch::stageLimit() const {
  if (isWhole())
    return limit_;
  if (attempt_ == 0)
    return limit_ / shareOfParts * (stage_ + 1);
  return std::min(limit_,
                  attemptAt_ + firstLength_ / shareOfParts * (stage_ + 1));
}

/// So many proposals without a better strategy end the stage.
uint64_t MarkovSearch::stagePatience() const {
  if (isWhole())
    return attemptPatience();
  if (options_.proposals)
    return limit_ / 30;
  // What took long to find may be followed by what takes as long.
  return std::max(leastPatience_ / 8, 2 * (improvedAt_ - stageProposals_));
}

bool MarkovSearch::isStageOver() const {
  if (isEnded() || proposals() >= stageLimit())
    return true;
  if (!descents_.empty())
    return false;
  if (proposalsWithoutWindows() - std::max(improvedAt_, recombinedAt_) >=
      stagePatience())
    return true;
  if (isWhole())
    return options_.stagnation && sinceFound() >= options_.stagnation;
  return seconds() - stageSeconds_ > options_.budgetSeconds / shareOfParts;
}

bool MarkovSearch::hasBuckets() const {
  return options_.choosesBuckets && problem_.graph.updatingNodes().any() &&
         problem_.topology.numDevices() > 1;
}

/// Few large buckets suit one strategy, many small ones another.
void MarkovSearch::tryBuckets() {
  if (hasBuckets())
    forEachChain([&](size_t number) {
      if (chains_[number]->isStarted())
        chains_[number]->tryBuckets();
    });
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
