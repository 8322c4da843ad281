//===- Chain.h - One Markov chain -------------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_CHAIN_H
#define SOAP_LIB_SEARCH_CHAIN_H

#include "Proposals.h"
#include "Starts.h"
#include "soap/Search/DeltaSimulator.h"
#include <atomic>

namespace soap::detail {

/// The part of the machine that a search looks at: devices 0 to n-1.
struct SubMachine {
  ConfigurationSpace space;
  ProposalTables tables;
  /// What the chains had when the round began.
  std::vector<Strategy> currents;
  /// The best step of all of them by then.
  int64_t bestNs = INT64_MAX;
  /// True of a chain with such a step that has its own way to go, from a start
  /// that the others do not have: what helps them need not help it.
  bool isBehind(int64_t stepNs) const {
    return static_cast<double>(stepNs) > 1.01 * static_cast<double>(bestNs);
  }

  SubMachine(const SearchProblem &problem, int32_t maxTasks, int32_t devices)
      : space(problem.graph, problem.topology, maxTasks, devices),
        tables(problem, space) {}
};

/// When to stop. Time stops a search in the middle of a round. Who cancels it
/// waits for the end of the round: what is kept in a file then goes on as if
/// nothing had happened.
struct Deadline {
  std::chrono::steady_clock::time_point end;
  std::atomic<bool> passed{false}; ///< Set by whoever sees it first.
  std::atomic<bool> cancelled{false};

  bool isOver() {
    if (!passed && std::chrono::steady_clock::now() >= end)
      passed = true;
    return passed;
  }
};

/// Answers whether a change on trial fits into memory:
/// TaskGraph::fitsMemory(), mostly at the cost of what changed.
class MemoryGuard {
public:
  explicit MemoryGuard(const TaskGraph &tasks) : tasks_(tasks) {}
  void reset();
  bool fits();
  /// After fits() said yes.
  void accept();
  /// How often fits() had to go through the whole step.
  uint64_t numWalks() const { return numWalks_; }

private:
  void addChanges();
  bool isTooMuch(llvm::ArrayRef<int64_t> peaks,
                 llvm::ArrayRef<int64_t> added) const;

  const TaskGraph &tasks_;
  bool isLimited_ = false;
  /// The launch order in parts of so many positions.
  int32_t positionsPerPart_ = 1;
  uint64_t numWalks_ = 0;
  /// Per part and device, no less than what it needs there when it needs most;
  /// and what the change adds to that at most, or, if it was looked up, what it
  /// then is.
  std::vector<int64_t> peaks_, added_, exact_;
};

/// One Markov chain. What it does is a function of the problem, the seed, its
/// number and what it was started from.
class Chain {
  /// How often something happened lately; at first, always.
  class Frequency {
  public:
    void add(bool happened) { value_ += (happened - value_) / 32; }
    double value() const { return value_; }

  private:
    double value_ = 1;
  };

public:
  /// Shares the costs of tasks with `tables`.
  Chain(const SearchProblem &problem, const SearchOptions &options,
        const TaskGraph &tables, uint64_t number);

  /// As if it had never been started, but for the random numbers it has drawn.
  void reset() { currentNs_ = bestNs_ = askedNs_ = INT64_MAX; }
  /// Goes on from a strategy that is valid and fits into memory.
  void start(const Strategy &strategy);
  /// Goes on from the fastest of these starts, which come in ascending order of
  /// their bounds, or from what it has if every start takes at least `slack`
  /// times as long. False if it has nothing: no start fits.
  bool start(llvm::ArrayRef<Start *> starts, const StartLimits &limits,
             double slack = 1);
  /// Takes another launch order if it is better.
  void tryOrder(llvm::ArrayRef<int32_t> order);
  /// Takes the size of buckets with which the step is shortest.
  void tryBuckets();
  /// True if it is behind and has hardly come nearer to the best of all chains
  /// since it was asked last, so that it should go on from that.
  bool hasNoHope(const SubMachine &machine);
  /// The step when that was asked last, or the chain was started.
  int64_t askedNs() const { return askedNs_; }
  /// Tries `count` proposals that change something, unless it is told to stop
  /// or the machine leaves nothing to change. Accepts what is worse by d with
  /// probability exp(-beta d).
  void run(const SubMachine &machine, uint64_t count, double beta,
           Deadline &deadline);

  /// False until it was started.
  bool isStarted() const { return currentNs_ != INT64_MAX; }
  const Strategy &current() const { return current_; }
  int64_t currentNs() const { return currentNs_; }
  /// The best since forgetBest().
  const Strategy &best() const { return best_; }
  int64_t bestNs() const { return bestNs_; }
  void forgetBest() { bestNs_ = INT64_MAX; }

  /// Counts changes of windows (WindowDescent) as proposals.
  void countTried(uint64_t changes) { statistics_.proposals += changes; }
  uint64_t step() const { return step_; }
  /// After start(): as far as the chain had come when it was kept in a file.
  void resume(uint64_t step, int64_t bestNs, int64_t askedNs) {
    step_ = step;
    bestNs_ = bestNs;
    askedNs_ = askedNs;
  }
  ProposalMix &mix() { return mix_; }
  /// The tasks of current().
  TaskGraph &tasks() { return tasks_; }
  SearchStatistics statistics() const;

private:
  void noteCurrent();
  enum class Verdict : uint8_t { Unchanged, Rejected, Accepted };
  Verdict propose(const SubMachine &machine, double beta, bool timed);
  class Laps;
  struct Trial;
  bool isBoundAbove(Trial &trial);
  bool isPlanAbove(Trial &trial);
  bool isFasterReordered(Trial &trial, bool byPath);
  void takeBack();
  void noteAccepted(const SubMachine &machine, const Trial &trial);

  const SearchProblem &problem_;
  const SearchOptions &options_;
  uint64_t number_, step_ = 0;
  Strategy current_, best_;
  int64_t currentNs_ = INT64_MAX, bestNs_ = INT64_MAX, askedNs_ = INT64_MAX;
  TaskGraph tasks_;
  DeltaSimulator delta_;
  FullSimulator full_;
  MemoryGuard memory_;
  ProposalMix mix_;
  SearchStatistics statistics_;
  /// Of proposals of a kind: what each step towards a decision is worth.
  struct Decisions {
    Frequency boundsReject; ///< By bounds.
    Frequency partRejects;  ///< By a simulation that knows some plans.
    Frequency withoutEnds;  ///< Before parameters are placed.
    Frequency plansReject;  ///< By plans.
    uint64_t proposals = 0;
    /// What hardly ever decides is asked now and then: that may change.
    bool isAsked(const Frequency &frequency, double least) const {
      return frequency.value() > least || proposals % 8 == 0;
    }
  };
  std::array<Decisions, numProposalKinds> decisions_;
  Edit edit_; ///< Of the proposal at hand.
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_CHAIN_H
