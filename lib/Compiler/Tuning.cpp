//===- Tuning.cpp - Strategies that are run before one is taken -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Yi et al., "Fast training of deep learning models over multiple GPUs", 2020,
// section 4: strategies run, what their kernels take goes back into the costs,
// another strategy is computed from these, and one that turns out to be slower
// is given up.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <random>

using namespace mlir;
using namespace soap;
using Clock = std::chrono::steady_clock;

/// A step of one model is like another if steps of the same model surround it.
/// Turns of several steps, the first of which does not count, take changes of
/// the machine's speed from one strategy to all.
static constexpr int stepsOfTurn = 4;
static constexpr size_t mostSteps = 60;
/// Without CompilerOptions::tuneSeconds: the share of the budget that trials
/// take at most, how many named strategies run, and what all that is loaded may
/// take of the devices' memory.
static constexpr double shareOfBudget = 1.0 / 6, shareOfMemory = 0.5;
static constexpr size_t mostNamed = 2;

llvm::Error Compilation::load(const ModuleProblem &problem, Trial &trial) {
  const Strategy &strategy = trial.candidate.strategy;
  // What its kernels take is better known with every run.
  auto model =
      options_.tuneSeconds
          ? measurer_->measure(*module_, problem.extracted.graph, strategy)
          : measurer_->load(*module_, strategy);
  if (!model)
    return model.takeError();
  trial.model = std::move(*model);
  // The first step touches the memory.
  return trial.model->step().takeError();
}

llvm::Error Compilation::runInTurn(std::vector<Trial *> trials,
                                   double seconds) {
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::mt19937_64 random(options_.seed);
  size_t leastSteps = options_.tuneSeconds ? 20 : stepsOfTurn;
  auto isEnough = [&] {
    return llvm::all_of(trials, [&](const Trial *trial) {
      return trial->times.size() >= mostSteps ||
             (trial->times.size() >= leastSteps && Clock::now() >= end);
    });
  };
  while (!isEnough()) {
    std::shuffle(trials.begin(), trials.end(), random);
    for (Trial *trial : trials)
      for (int i = 0; i <= stepsOfTurn; ++i) {
        llvm::Expected<int64_t> ns = trial->model->step();
        if (!ns)
          return ns.takeError();
        if (i > 0)
          trial->times.push_back(*ns);
      }
  }
  return llvm::Error::success();
}

llvm::Error Compilation::tryCandidate(const ModuleProblem &problem,
                                      Candidate candidate,
                                      std::vector<Trial> &trials) {
  Trial trial;
  trial.candidate = std::move(candidate);
  if (llvm::Error error = load(problem, trial)) {
    warn("expected to run strategy '" + trial.candidate.name +
         "', got: " + llvm::toString(std::move(error)) + "; going on without");
    return llvm::Error::success();
  }
  trials.push_back(std::move(trial));
  return llvm::Error::success();
}

/// The fastest trial of those that are still loaded: the ones that ran in turn
/// last.
static Trial *fastest(std::vector<Trial> &trials) {
  Trial *best = nullptr;
  for (Trial &trial : trials)
    if (trial.model && !trial.times.empty() &&
        (!best || summarize(trial.times).ns < summarize(best->times).ns))
      best = &trial;
  return best;
}

llvm::Expected<std::optional<Candidate>>
Compilation::searchAfterTrials(ModuleProblem &problem,
                               const std::vector<Trial> &trials, int round) {
  if (llvm::Error error = begin(Stage::Search))
    return std::move(error);
  StrategyRequest request = requestOf("search");
  request.search.budgetSeconds =
      std::min(options_.budgetSeconds / 4, *options_.tuneSeconds / 4);
  request.search.seed += static_cast<uint64_t>(round);
  for (const Trial &trial : trials)
    request.search.starts.push_back(trial.candidate.strategy);
  FailureOr<ChosenStrategy> chosen = searchAgain(problem, request);
  if (failed(chosen) || !chosen->search)
    return std::nullopt;
  searchEnded_ |= chosen->search->stop == StopReason::Cancelled;
  for (const Trial &trial : trials)
    if (trial.candidate.strategy == chosen->strategy)
      return std::nullopt;
  Candidate candidate;
  candidate.name = "found " + std::to_string(round + 1);
  candidate.strategy = std::move(chosen->strategy);
  return candidate;
}

std::vector<Candidate>
Compilation::firstTrials(const ModuleProblem &problem,
                         const std::vector<Candidate> &named) const {
  // Strategies that are simulated to take so much longer than the best one are
  // not run: no cost is wrong by that much once it is measured.
  constexpr double mostTimes = 1.5;
  Candidate found;
  found.name = "found";
  found.strategy = measuredChoice_->strategy;
  simulate(problem, found);
  std::vector<Candidate> challengers;
  for (const Candidate &candidate : named)
    if (candidate.fits && !(candidate.strategy == found.strategy) &&
        static_cast<double>(candidate.stepNs) <=
            mostTimes * static_cast<double>(found.stepNs))
      challengers.push_back(candidate);
  llvm::stable_sort(challengers, [](const Candidate &a, const Candidate &b) {
    return a.stepNs < b.stepNs;
  });
  if (!options_.tuneSeconds && challengers.size() > mostNamed)
    challengers.resize(mostNamed);
  auto [loaded, there] = memoryOf(problem, found.strategy);
  std::vector<Candidate> trials = {std::move(found)};
  for (Candidate &candidate : challengers) {
    loaded += memoryOf(problem, candidate.strategy).first;
    if (options_.tuneSeconds || there == 0 || loaded <= shareOfMemory * there)
      trials.push_back(std::move(candidate));
  }
  return trials;
}

llvm::Error Compilation::tune(ModuleProblem &problem,
                              const std::vector<Candidate> &named) {
  double seconds =
      options_.tuneSeconds.value_or(options_.budgetSeconds * shareOfBudget);
  std::vector<Candidate> next = firstTrials(problem, named);
  if (!options_.tuneSeconds) {
    // As many as can be compiled and take one turn in time.
    const KernelMeasurer::Statistics &done = measurer_->statistics();
    double compiling = done.compiling / std::max(1, done.programs), sum = 0;
    auto late = llvm::find_if(next, [&](const Candidate &candidate) {
      sum += compiling +
             (stepsOfTurn + 2) * 1e-9 * static_cast<double>(candidate.stepNs);
      return sum > seconds;
    });
    next.erase(late, next.end());
    if (next.size() < 2)
      return llvm::Error::success();
  }
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  auto left = [&] {
    return std::chrono::duration<double>(end - Clock::now()).count();
  };
  if (llvm::Error error = begin(Stage::Measure))
    return error;
  std::vector<Trial> trials;
  for (int round = 0; !next.empty(); ++round) {
    Trial *before = fastest(trials);
    std::optional<std::string> leader;
    if (before)
      leader = before->candidate.name;
    size_t first = trials.size();
    for (Candidate &candidate : next)
      if (llvm::Error error =
              tryCandidate(problem, std::move(candidate), trials))
        return error;
    next.clear();
    std::vector<Trial *> turns;
    for (Trial &trial : trials)
      if (&trial >= trials.data() + first || trial.candidate.name == leader)
        turns.push_back(&trial);
    // The leader runs again beside those that challenge it.
    for (Trial *trial : turns)
      trial->times.clear();
    // What is left serves a search and what comes of it.
    double share = options_.tuneSeconds ? 0.5 : 1;
    if (llvm::Error error = runInTurn(turns, share * left()))
      return error;
    for (Trial *trial : turns)
      trial->rounds.emplace_back(round + 1, summarize(trial->times));
    if (llvm::Error error = takeMeasuredCosts(problem))
      return error;
    for (Trial &trial : trials)
      simulate(problem, trial.candidate);
    Trial *now = fastest(trials);
    bool isBetter = now && now->candidate.name != leader;
    // Only the fastest one runs again.
    for (Trial &trial : trials)
      if (&trial != now)
        trial.model.reset();
    if (!options_.tuneSeconds || !isBetter || left() <= 0 || searchEnded_)
      break;
    auto again = searchAfterTrials(problem, trials, round);
    if (!again)
      return again.takeError();
    if (*again)
      next.push_back(std::move(**again));
    if (llvm::Error error = begin(Stage::Measure))
      return error;
  }
  describeTrials(trials);
  if (Trial *winner = fastest(trials)) {
    measuredChoice_->strategy = winner->candidate.strategy;
    if (std::optional<SearchResult> &search = measuredChoice_->search) {
      search->strategy = winner->candidate.strategy;
      search->stepNs = winner->candidate.stepNs;
    }
  }
  return llvm::Error::success();
}

void Compilation::describeTrials(std::vector<Trial> &trials) {
  auto ms = [](int64_t ns) { return static_cast<double>(ns) / 1e6; };
  const Trial *winner = fastest(trials);
  int last = 0;
  for (const Trial &trial : trials)
    for (const auto &[round, step] : trial.rounds)
      last = std::max(last, round);
  llvm::json::Array rows;
  auto describe = [&](const Trial &trial, int round, const TimeSummary &step) {
    const Candidate &candidate = trial.candidate;
    bool isTaken = &trial == winner && round == last;
    // Times of different rounds are those of different moments.
    std::string turn =
        last > 1 ? llvm::formatv("round {0}: ", round).str() : "";
    remark(llvm::formatv("tune: {0}{1}: simulated {2:f3} ms, measured {3:f3} "
                         "ms ({4:f3} to {5:f3}, {6} steps){7}",
                         turn, candidate.name, ms(candidate.stepNs),
                         ms(step.ns), ms(step.low), ms(step.high), step.samples,
                         isTaken ? ", taken" : ""));
    rows.push_back(
        llvm::json::Object{{"round", round},
                           {"name", candidate.name},
                           {"simulated_ns", candidate.stepNs},
                           {"measured_ns", step.ns},
                           {"low_ns", step.low},
                           {"high_ns", step.high},
                           {"steps", static_cast<int64_t>(step.samples)},
                           {"taken", isTaken}});
  };
  for (int round = 1; round <= last; ++round)
    for (const Trial &trial : trials)
      for (const auto &[turn, step] : trial.rounds)
        if (turn == round)
          describe(trial, turn, step);
  result_.tuning = std::move(rows);
}
