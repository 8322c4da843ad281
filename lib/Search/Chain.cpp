//===- Chain.cpp - One Markov chain ---------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include "soap/Search/BucketSizes.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Testing/PlantedFault.h"
#include <cmath>

using namespace soap;
using namespace soap::detail;
using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

/// Adds up where the time goes; does nothing unless `timed`.
class Chain::Laps {
public:
  explicit Laps(bool timed) : timed_(timed) {
    if (timed_)
      last_ = Clock::now();
  }
  void lap(double &sum) {
    if (!timed_)
      return;
    Clock::time_point now = Clock::now();
    sum += sampled * std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  static constexpr int sampled = 16; ///< One of so many is timed.

private:
  bool timed_;
  Clock::time_point last_;
};

Chain::Chain(const SearchProblem &problem, const SearchOptions &options,
             const TaskGraph &tables, uint64_t number)
    : problem_(problem), options_(options), number_(number),
      tasks_(problem, &tables), delta_(tasks_), full_(tasks_), memory_(tasks_),
      mix_(options.onlyKind ? ProposalMix(*options.onlyKind)
                            : ProposalMix(problem.graph)) {}

void Chain::start(const Strategy &strategy) {
  current_ = strategy;
  tasks_.setStrategy(current_);
  noteCurrent();
  askedNs_ = currentNs_;
}

bool Chain::start(llvm::ArrayRef<Start *> starts, const StartLimits &limits,
                  double slack) {
  // What a start has to stay below.
  int64_t mostNs = currentNs_;
  if (isStarted())
    mostNs = static_cast<int64_t>(slack * static_cast<double>(currentNs_));
  else
    tasks_.setStrategy(singleDevice(problem_.graph, problem_.topology));
  StartLimits own = limits;
  for (Start *start : starts) {
    own.mustPlan = limits.mustPlan && !isStarted();
    if (!tryStart(*start, tasks_, mostNs, own))
      continue;
    current_ = start->strategy;
    currentNs_ = mostNs = start->stepNs;
  }
  if (isStarted())
    noteCurrent();
  askedNs_ = currentNs_;
  return isStarted();
}

bool Chain::hasNoHope(const SubMachine &machine) {
  // So many exchanges a chain may take to catch up, at the pace of the last.
  constexpr double mostExchanges = 25;
  auto behind = static_cast<double>(currentNs_ - machine.bestNs);
  auto gained = static_cast<double>(askedNs_ - currentNs_);
  askedNs_ = currentNs_;
  return machine.isBehind(currentNs_) && gained * mostExchanges < behind;
}

void Chain::tryOrder(llvm::ArrayRef<int32_t> order) {
  tasks_.setOrder(order);
  if (full_.stepNs() >= currentNs_ || !tasks_.fitsMemory())
    tasks_.setOrder(current_.order);
  else
    current_.order.assign(order.begin(), order.end());
  noteCurrent();
}

void Chain::tryBuckets() {
  int64_t stepNs = currentNs_;
  shortenByBuckets(tasks_, stepNs);
  current_.bucketBytes = tasks_.strategy().bucketBytes;
  noteCurrent();
}

/// After `tasks_` was given current_.
void Chain::noteCurrent() {
  currentNs_ = delta_.reset();
  memory_.reset();
  if (currentNs_ < bestNs_) {
    bestNs_ = currentNs_;
    best_ = current_;
  }
}

SearchStatistics Chain::statistics() const {
  SearchStatistics result = statistics_;
  result.planned = tasks_.statistics().planned;
  result.reused = tasks_.statistics().reused;
  result.simulations = delta_.statistics().simulations;
  result.positions = delta_.statistics().positions;
  return result;
}

void Chain::run(const SubMachine &machine, uint64_t count, double beta,
                Deadline &deadline) {
  // On small machines many draws come out as what is there already.
  uint64_t draws = 8 * count;
  for (uint64_t proposed = 0; proposed < count && draws > 0; --draws) {
    if (draws % 16 == 0 && deadline.isOver())
      return;
    proposed += propose(machine, beta, step_ % Laps::sampled == 0) !=
                Verdict::Unchanged;
  }
}

/// A change that is being decided on.
struct Chain::Trial {
  const ProposalContext &context;
  ProposalKind kind;
  double work;          ///< How long deciding takes, about.
  Decisions &decisions; ///< Of its kind.
  int64_t threshold;    ///< A longer step is rejected.
  int64_t limit;        ///< A longer one is not looked at any further.
  bool isBounded;       ///< Bounds are made before plans.
  int64_t stepNs;       ///< What was simulated last.
  Laps &laps;
};

/// True if loads or bounds say that the step is above the threshold.
bool Chain::isBoundAbove(Trial &trial) {
  if (!options_.fullSimulation && delta_.loadNs() > trial.limit) {
    ++statistics_.bounded;
    return true;
  }
  if (!trial.isBounded)
    return false;
  tasks_.bound();
  trial.stepNs = delta_.simulate(trial.limit);
  bool above = trial.stepNs > trial.limit;
  trial.decisions.boundsReject.add(above);
  statistics_.bounded += above;
  trial.laps.lap(statistics_.bounding);
  return above;
}

/// Plans and simulates the change: true if the step is above the threshold.
bool Chain::isPlanAbove(Trial &trial) {
  ++statistics_.simulated;
  auto isAbove = [&] {
    trial.laps.lap(statistics_.planning);
    trial.stepNs =
        options_.fullSimulation ? full_.stepNs() : delta_.simulate(trial.limit);
    trial.laps.lap(statistics_.simulating);
    return trial.stepNs > trial.limit;
  };
  // Where most proposals are rejected, a simulation that knows the first plans
  // alone, and one that knows no parameters, save the others.
  Decisions &decisions = trial.decisions;
  bool inTurn = !options_.fullSimulation &&
                decisions.plansReject.value() > 0.5 &&
                decisions.isAsked(decisions.withoutEnds, 0.5);
  bool above = false, isDecided = false;
  if (inTurn) {
    uint64_t share = std::max<uint64_t>(1, tasks_.proposedValues().size() / 4);
    uint64_t most = tasks_.statistics().planned + share;
    if (trial.isBounded && decisions.isAsked(decisions.partRejects, 1.0 / 3) &&
        !tasks_.plan([&](const ValueTasks &) {
          return tasks_.statistics().planned >= most;
        })) {
      above = isAbove();
      decisions.partRejects.add(above);
    }
    if (!above) {
      // Of the others, those that the simulation comes to.
      tasks_.planOnDemand();
      above = isAbove();
    }
    isDecided = above;
  }
  if (!above) {
    size_t numChanged = edit_.nodes.size();
    deriveEnds(trial.context, current_, edit_);
    tasks_.proposeEnds(current_,
                       llvm::ArrayRef(edit_.nodes).drop_front(numChanged));
    trial.laps.lap(statistics_.proposing);
    tasks_.plan();
    isDecided = inTurn && tasks_.areEndsFree();
    if (!isDecided)
      above = isAbove();
  }
  if (inTurn)
    decisions.withoutEnds.add(isDecided);
  decisions.plansReject.add(above);
  return above;
}

/// Gives the change up.
void Chain::takeBack() {
  delta_.reject();
  tasks_.reject();
  edit_.takeBack(current_);
}

/// Whether a change that was simulated, and was too slow, is accepted in the
/// launch order of a policy. If so, `tasks_` and current_ have both, and
/// `trial` the step; else neither.
bool Chain::isFasterReordered(Trial &trial, bool byPath) {
  // What a device computes takes as long in any order.
  if (!options_.fullSimulation && delta_.loadNs() > trial.threshold) {
    takeBack();
    return false;
  }
  std::vector<int32_t> order =
      byPath ? criticalPathOrder(tasks_) : fifoOrder(tasks_);
  if (order == current_.order) {
    takeBack();
    return false;
  }
  delta_.reject();
  tasks_.accept();
  tasks_.setOrder(order);
  trial.stepNs = full_.stepNs();
  bool isFaster = trial.stepNs <= trial.threshold;
  if (isFaster && !tasks_.fitsMemory()) {
    isFaster = false;
    ++statistics_.tooLarge;
  }
  if (isFaster) {
    current_.order = std::move(order);
    delta_.reset();
    memory_.reset();
  } else {
    // The plans are known: the tasks are what they were.
    tasks_.setOrder(current_.order);
    llvm::SmallVector<int32_t, 32> nodes = edit_.nodes;
    edit_.takeBack(current_);
    tasks_.update(current_, nodes);
  }
  trial.laps.lap(statistics_.simulating);
  return isFaster;
}

/// Counts a change of current_ that was accepted.
void Chain::noteAccepted(const SubMachine &machine, const Trial &trial) {
  int64_t before = currentNs_, stepNs = trial.stepNs;
  currentNs_ = stepNs;
  ++statistics_.accepted;
  double gain = 0;
  if (stepNs < bestNs_) {
    // What another chain has already is no gain, but for a chain that has not
    // come as far by itself.
    bool isOwn = machine.isBehind(before) && trial.kind != ProposalKind::Cross;
    int64_t bestBefore = isOwn ? bestNs_ : std::min(bestNs_, machine.bestNs);
    if (bestBefore != INT64_MAX)
      gain = std::max(0.0, static_cast<double>(bestBefore - stepNs) /
                               static_cast<double>(stepNs));
    bestNs_ = stepNs;
    best_ = current_;
  }
  mix_.count(trial.kind, trial.work, gain);
}

/// Proposals that change several operations, which may then run side by side.
static bool mayWantAnotherOrder(ProposalKind kind, const Edit &edit) {
  constexpr size_t fewest = 4;
  switch (kind) {
  case ProposalKind::Stretch:
  case ProposalKind::Repeat:
  case ProposalKind::Lanes:
  case ProposalKind::Cross:
  case ProposalKind::Sums:
    return edit.nodes.size() >= fewest;
  default:
    return false;
  }
}

Chain::Verdict Chain::propose(const SubMachine &machine, double beta,
                              bool timed) {
  Laps laps(timed);
  Random random(options_.seed, number_, step_++);
  // What decides is drawn first: a proposal that is known to be above the
  // threshold needs no more.
  int64_t threshold =
      currentNs_ + static_cast<int64_t>(-std::log(1 - random.uniform()) / beta);
  ProposalKind kind = mix_.draw(random);
  edit_.clear();
  llvm::SmallVector<const Strategy *, 4> others;
  for (auto [number, other] : llvm::enumerate(machine.currents))
    if (number != number_)
      others.push_back(&other);
  ProposalContext context{problem_.graph, problem_.topology, machine.space,
                          others};
  if (!drawProposal(context, machine.tables, kind, current_, random, edit_))
    return Verdict::Unchanged;
  ++statistics_.proposals;
  tasks_.propose(current_, edit_.nodes);
  tasks_.deferEnds();
  laps.lap(statistics_.proposing);

  // What is slower by up to 2% may be faster in another launch order.
  int64_t limit = threshold;
  if (mayWantAnotherOrder(kind, edit_))
    limit = std::max(threshold, currentNs_ + currentNs_ / 50);
  // Bounds and simulations of a part of the plans decide nothing that plans do
  // not. They pay only where they reject, so there must be a chance.
  Decisions &decisions = decisions_[static_cast<size_t>(kind)];
  ++decisions.proposals;
  Trial trial{context,
              kind,
              workOf(edit_.nodes.size(), problem_.graph),
              decisions,
              threshold,
              limit,
              /*isBounded=*/false,
              /*stepNs=*/0,
              laps};
  trial.isBounded = !options_.fullSimulation &&
                    decisions.isAsked(decisions.boundsReject, 0.2);
  bool rejected = isBoundAbove(trial) || isPlanAbove(trial);
  bool isReordered = !rejected && trial.stepNs > threshold;
  if (isReordered) {
    // All of the step is simulated.
    trial.work += workOf(problem_.graph.numNodes(), problem_.graph);
    rejected = !isFasterReordered(trial, random.below(2) == 0);
  } else if (!rejected && !memory_.fits()) {
    rejected = true;
    ++statistics_.tooLarge;
  }
  if (rejected) {
    if (!isReordered)
      takeBack();
    mix_.count(kind, trial.work, /*gain=*/0);
    laps.lap(statistics_.proposing);
    return Verdict::Rejected;
  }
  if (!isReordered) {
    memory_.accept();
    if (!options_.fullSimulation)
      delta_.accept();
    tasks_.accept();
  }
  noteAccepted(machine, trial);
  laps.lap(statistics_.accepting);
  return Verdict::Accepted;
}
