//===- TaskLevelChain.cpp - A chain on the paper's simulation -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskLevelChain.h"
#include <cmath>

using namespace soap;
using Clock = std::chrono::steady_clock;

TaskLevelChain::TaskLevelChain(const SearchProblem &problem,
                               const SearchOptions &options,
                               Algorithm algorithm)
    : problem_(problem), options_(options), algorithm_(algorithm),
      tasks_(problem.graph, problem.topology, problem.costs),
      mix_(options.onlyKind ? detail::ProposalMix(*options.onlyKind)
                            : detail::ProposalMix(problem.graph)) {}

void TaskLevelChain::start(const Strategy &strategy) {
  current_ = strategy;
  int64_t before = tasks_.statistics().simulated;
  tasks_.build(current_);
  currentNs_ = tasks_.simulateFull();
  bestNs_ = std::min(bestNs_, currentNs_);
  simulatedAtStart_ += tasks_.statistics().simulated - before;
}

SearchStatistics TaskLevelChain::statistics() const {
  SearchStatistics result = statistics_;
  result.simulated = result.simulations = result.proposals;
  result.positions = tasks_.statistics().simulated - simulatedAtStart_;
  return result;
}

void TaskLevelChain::run(const detail::SubMachine &machine, uint64_t count,
                         double beta, detail::Deadline &deadline) {
  // As many draws as detail::Chain takes at most. A proposal may take a tenth
  // of a second here, so every one looks at the clock.
  uint64_t draws = 8 * count;
  for (uint64_t proposed = 0; proposed < count && draws > 0; --draws) {
    if (deadline.isOver())
      return;
    proposed += propose(machine, beta);
  }
}

/// False if nothing would change.
bool TaskLevelChain::propose(const detail::SubMachine &machine, double beta) {
  Clock::time_point last = Clock::now();
  auto lap = [&](double &sum) {
    Clock::time_point now = Clock::now();
    sum += std::chrono::duration<double>(now - last).count();
    last = now;
  };
  // The same numbers in the same order as in detail::Chain.
  Random random(options_.seed, /*chain=*/0, step_++);
  int64_t threshold =
      currentNs_ + static_cast<int64_t>(-std::log(1 - random.uniform()) / beta);
  ProposalKind kind = mix_.draw(random);
  detail::Edit edit;
  if (!detail::propose({problem_.graph, problem_.topology, machine.space},
                       machine.tables, kind, current_, random, edit))
    return false;
  ++statistics_.proposals;
  double work = detail::workOf(edit.nodes.size(), problem_.graph);
  lap(statistics_.proposing);

  bool isDelta = algorithm_ == Algorithm::Delta;
  if (isDelta)
    tasks_.update(current_, edit.nodes);
  else
    tasks_.build(current_);
  lap(statistics_.planning);
  int64_t step = isDelta ? tasks_.simulateDelta() : tasks_.simulateFull();
  lap(statistics_.simulating);

  if (step > threshold) {
    llvm::SmallVector<int32_t, 32> changed = edit.nodes;
    edit.takeBack(current_);
    mix_.count(kind, work, /*gain=*/0);
    lap(statistics_.proposing);
    if (isDelta)
      tasks_.update(current_, changed);
    lap(statistics_.planning);
    return true;
  }
  double gain = step < bestNs_ ? static_cast<double>(bestNs_ - step) /
                                     static_cast<double>(step)
                               : 0;
  currentNs_ = step;
  bestNs_ = std::min(bestNs_, step);
  ++statistics_.accepted;
  mix_.count(kind, work, gain);
  lap(statistics_.accepting);
  return true;
}
