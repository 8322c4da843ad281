//===- MCMC.cpp - Markov chain Monte Carlo search -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jia et al., "Beyond data and model parallelism", section 6.
//
//===----------------------------------------------------------------------===//

#include "MarkovSearch.h"
#include "soap/Search/BucketSizes.h"
#include "soap/Search/LaunchPolicy.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <thread>

using namespace soap;
using namespace soap::detail;
using Clock = std::chrono::steady_clock;

void SearchStatistics::add(const SearchStatistics &other) {
  proposals += other.proposals;
  bounded += other.bounded;
  simulated += other.simulated;
  accepted += other.accepted;
  tooLarge += other.tooLarge;
  planned += other.planned;
  reused += other.reused;
  simulations += other.simulations;
  positions += other.positions;
  proposing += other.proposing;
  bounding += other.bounding;
  planning += other.planning;
  simulating += other.simulating;
  accepting += other.accepting;
}

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

MarkovSearch::MarkovSearch(const SearchProblem &problem,
                           const SearchOptions &options)
    : problem_(problem), options_(options), tables_(problem),
      parts_(subMachines(problem.topology)), begin_(Clock::now()),
      mix_(options.onlyKind ? ProposalMix(*options.onlyKind)
                            : ProposalMix(problem.graph)),
      mixBehind_(mix_) {
  auto count = static_cast<size_t>(std::max(options.chains, 1));
  if (!options.namedStarts)
    count = std::clamp<size_t>(options.randomStarts + options.starts.size(), 1,
                               count);
  for (size_t number = 0; number < count; ++number)
    chains_.push_back(
        std::make_unique<Chain>(problem_, options_, tables_, number));
  threads_ = options.threads > 0
                 ? static_cast<unsigned>(options.threads)
                 : std::max(1u, std::thread::hardware_concurrency());
  threads_ = std::min<unsigned>(threads_, chains_.size());
  size_t groups = llvm::count_if(problem.graph.nodes(), [](const auto &node) {
    return node.role == NodeRole::Compute;
  });
  // By what there is to choose from.
  unsigned doublings = llvm::Log2_32_Ceil(problem.topology.numDevices());
  leastPatience_ =
      std::clamp<uint64_t>(2000 * groups * doublings, 20000, 200000);
  // For as long as four chains look for it.
  leastPatience_ = leastPatience_ * std::max<size_t>(chains_.size(), 4) / 4;
  limit_ = options.proposals ? options.proposals : UINT64_MAX;
}

double MarkovSearch::seconds() const {
  return secondsBefore_ +
         std::chrono::duration<double>(Clock::now() - begin_).count();
}

uint64_t MarkovSearch::proposals() const {
  uint64_t sum = proposalsBefore_;
  for (const auto &chain : chains_)
    sum += chain->statistics().proposals;
  return sum;
}

llvm::Error MarkovSearch::prepare() {
  if (llvm::Error error = load())
    return error;
  // The last tenth is for what finish() does.
  auto after = [&](double seconds) {
    double left = std::clamp(seconds - secondsBefore_, 0.0, 1e9);
    return begin_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(left));
  };
  deadline_.end = after(options_.budgetSeconds * 0.9);
  end_ = after(options_.budgetSeconds);
  // Something must fit before long work begins.
  if (foundNs_ == INT64_MAX)
    beginAttempt();
  if (foundNs_ == INT64_MAX)
    return llvm::createStringError(
        "expected a start that fits into memory, got: none; use more "
        "devices, devices with more memory or a smaller batch");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// The constant of acceptance has the unit 1/time: it is scaled by the best
/// step. Not all chains accept equally much that is worse.
double MarkovSearch::beta(size_t chain) const {
  static constexpr double scales[] = {400, 1600, 1600, 6400};
  return scales[chain % std::size(scales)] /
         static_cast<double>(std::max<int64_t>(1, bestNs_));
}

void MarkovSearch::playRound() {
  // No more than the limit leaves, even if that is less than one per chain.
  uint64_t end = stageLimit(), done = proposals();
  uint64_t left = end > done ? end - done : 0;
  uint64_t length = std::clamp<uint64_t>(left / chains_.size(), 1, roundLength);
  machine_->currents.clear();
  machine_->bestNs = bestNs_;
  for (const auto &chain : chains_) {
    machine_->currents.push_back(chain->current());
    chain->mix().restore(mixOf(*chain).weights(), {});
  }
  if (recombinedAt_ > 0)
    llvm::append_range(machine_->currents, ends_);
  auto play = [&](size_t number) {
    chains_[number]->run(*machine_, length, beta(number), deadline_);
    report();
  };
  if (left >= chains_.size())
    return forEachChain(play);
  // Draws that change nothing do not count, so one chain after the other plays.
  for (size_t number = 0; number != chains_.size() && proposals() < end;
       ++number)
    play(number);
}

/// Tells of progress now and then, from any thread.
void MarkovSearch::report() {
  if (!options_.progress)
    return;
  std::lock_guard<std::mutex> lock(mutex_);
  double now = seconds();
  // Who has cancelled is not asked again.
  if (deadline_.cancelled || now - lastReport_ < 0.2)
    return;
  lastReport_ = now;
  // The others go on: their numbers are those of the last round.
  if (!options_.progress({result_.proposals, now, foundNs_}))
    deadline_.cancelled = true;
}

void MarkovSearch::forEachChain(llvm::function_ref<void(size_t)> work) {
  if (threads_ == 1) {
    for (size_t number = 0; number < chains_.size(); ++number)
      work(number);
    return;
  }
  std::atomic<size_t> next{0};
  auto loop = [&] {
    for (size_t number; (number = next++) < chains_.size();)
      work(number);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads_; ++i)
    workers.emplace_back(loop);
  loop();
  for (std::thread &worker : workers)
    worker.join();
}

/// Takes over what the chains found; among equals the first chain's.
void MarkovSearch::note() {
  result_.proposals = proposals();
  // Small gains count when they have added up.
  auto noteGain = [&](int64_t ns, int64_t &notedNs, uint64_t &notedAt) {
    if (static_cast<double>(ns) >= 0.999 * static_cast<double>(notedNs))
      return;
    notedNs = ns;
    notedAt = proposalsWithoutWindows();
  };
  for (const auto &chain : chains_) {
    if (chain->bestNs() >= bestNs_)
      continue;
    bestNs_ = chain->bestNs();
    best_ = chain->best();
    noteGain(bestNs_, notedNs_, improvedAt_);
    if (bestNs_ >= foundNs_)
      continue;
    foundNs_ = bestNs_;
    found_ = best_;
    noteGain(foundNs_, notedFoundNs_, foundAt_);
    result_.history.push_back({result_.proposals, seconds(), foundNs_});
  }
}

ProposalMix &MarkovSearch::mixOf(const Chain &chain) {
  return machine_->isBehind(chain.currentNs()) ? mixBehind_ : mix_;
}

/// Sets weights by what the chains counted since the last exchange, in their
/// order: those that are behind by what they counted themselves.
void MarkovSearch::adaptMixes() {
  for (ProposalMix *mix : {&mix_, &mixBehind_}) {
    auto tallies = mix->tallies();
    for (const auto &chain : chains_) {
      if (&mixOf(*chain) != mix)
        continue;
      for (auto [sum, own] : llvm::zip_equal(tallies, chain->mix().tallies())) {
        sum.work += own.work;
        sum.gain += own.gain;
      }
    }
    mix->restore(mix->weights(), tallies);
    mix->adapt();
  }
}

void MarkovSearch::exchange() {
  note();
  machine_->bestNs = bestNs_;
  ++round_;
  if (!options_.onlyKind)
    adaptMixes();
  // After 8, 16, 32, ... rounds, later and later.
  if (round_ >= 8 && llvm::isPowerOf2_64(round_)) {
    tryOrders();
    tryBuckets();
  }
  // Now and then the chain that is furthest behind goes on from the best.
  if (round_ % 16 != 0)
    return;
  Chain *worst = nullptr;
  for (const auto &chain : chains_)
    if (chain->hasNoHope(*machine_) &&
        (!worst || chain->currentNs() > worst->currentNs()))
      worst = chain.get();
  if (worst)
    worst->start(best_);
}

bool MarkovSearch::playStage() {
  while (!isStageOver()) {
    uint64_t before = proposals();
    if (!descents_.empty()) {
      playDescents();
    } else {
      playRound();
      exchange();
    }
    if (!options_.stateFile.empty() && seconds() - lastSave_ > 5)
      save();
    // One op on one device, say.
    if (proposals() == before)
      return false;
  }
  return true;
}

void MarkovSearch::run() {
  for (;;) {
    if (!stageBegun_)
      beginStage();
    else if (hasSums() && !hasTriedSums_)
      makeTables(startsEnd(), nullptr);
    bool isStuck = !playStage();
    if (isEnded())
      break;
    if (!isWhole()) {
      ++stage_;
      stageBegun_ = false;
    } else if (isStuck || (!beginRecombination() && !beginDescents() &&
                           !beginNextAttempt())) {
      break;
    }
  }
  if (!options_.stateFile.empty())
    save();
  // A machine is never found slower than a part of it, nor than its starts.
  while (attempt_ == 0 && !isWhole()) {
    ++stage_;
    beginStage();
  }
}

SearchResult MarkovSearch::finish() {
  SearchResult result = std::move(result_);
  result.proposals = proposals();
  result.statistics = statisticsBefore_;
  for (const auto &chain : chains_)
    result.statistics.add(chain->statistics());
  result.accepted = result.statistics.accepted;
  if (deadline_.cancelled)
    result.stop = StopReason::Cancelled;
  else if (deadline_.passed)
    result.stop = StopReason::Budget;
  else if (result.proposals >= limit_)
    result.stop = StopReason::Proposals;
  else
    result.stop = StopReason::NoImprovement;

  result.strategy = found_;
  result.attempts = attempt_ + 1;
  // Chains have plans of what they found; those of one are enough.
  chains_.resize(1);
  TaskGraph &tasks = chains_.front()->tasks();
  ConfigurationSpace space(problem_.graph, problem_.topology,
                           options_.maxTasks);
  simplify({problem_.graph, problem_.topology, space}, tasks, result.strategy,
           [&] { return deadline_.cancelled || Clock::now() >= end_; });

  // The order is part of the strategy: keep a policy's where it is better.
  FullSimulator simulator(tasks);
  result.stepNs = simulator.stepNs();
  Strategy found = result.strategy;
  for (llvm::StringRef policy : launchPolicyNames()) {
    if (policy == "program")
      continue;
    tasks.setOrder(launchOrder(policy, problem_, found));
    if (int64_t step = simulator.stepNs();
        step < result.stepNs && tasks.fitsMemory()) {
      result.stepNs = step;
      result.strategy = tasks.strategy();
    }
  }
  if (hasBuckets()) {
    tasks.setOrder(result.strategy.order);
    shortenByBuckets(tasks, result.stepNs);
    result.strategy.bucketBytes = tasks.strategy().bucketBytes;
  }
  result.seconds = seconds();
  if (result.stepNs < foundNs_)
    result.history.push_back({result.proposals, result.seconds, result.stepNs});
  return result;
}

namespace {
class MCMC final : public SearchAlgorithm {
public:
  llvm::StringRef name() const override { return "mcmc"; }
  bool keepsState() const override { return true; }
  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override {
    if (llvm::Error error = problem.check())
      return std::move(error);
    for (const Strategy &strategy : options.starts)
      if (llvm::Error error =
              soap::verify(strategy, problem.graph, problem.topology))
        return std::move(error);
    MarkovSearch search(problem, options);
    if (llvm::Error error = search.prepare())
      return std::move(error);
    search.run();
    return search.finish();
  }
};
} // namespace

std::unique_ptr<SearchAlgorithm> soap::createMCMC() {
  return std::make_unique<MCMC>();
}
