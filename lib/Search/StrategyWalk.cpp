//===- StrategyWalk.cpp - From one strategy to the next -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrategyWalk.h"
#include "Change.h"

using namespace soap;
using namespace soap::detail;

StrategyWalk::StrategyWalk(const SearchProblem &problem,
                           const ConfigurationSpace &space,
                           const TaskGraph &tables)
    : context_{problem.graph, problem.topology, space},
      tasks_(problem, &tables), delta_(tasks_), memory_(tasks_) {}

void StrategyWalk::start(const Strategy &strategy) {
  current_ = strategy;
  tasks_.setStrategy(current_);
  delta_.reset();
  memory_.reset();
}

std::optional<int64_t> StrategyWalk::tryGroup(int32_t group,
                                              const Configuration &config,
                                              int64_t limit) {
  return tryGroups(GroupChoice(group, &config), limit);
}

std::optional<int64_t>
StrategyWalk::tryGroups(llvm::ArrayRef<GroupChoice> choices, int64_t limit) {
  return tryChange(
      [&](Change &change) {
        for (auto [group, config] : choices)
          change.set(group, *config);
      },
      limit);
}

std::optional<int64_t> StrategyWalk::tryUpdate(int32_t update,
                                               const Configuration &config,
                                               int64_t limit) {
  return tryChange([&](Change &change) { change.setUpdate(update, config); },
                   limit);
}

std::optional<int64_t>
StrategyWalk::tryChange(llvm::function_ref<void(Change &)> make,
                        int64_t limit) {
  edit_.clear();
  Change change(context_, current_, edit_);
  make(change);
  return simulate(limit);
}

/// The step with the change in `edit_`. Parameters follow only where the rest
/// alone is not above the limit.
std::optional<int64_t> StrategyWalk::simulate(int64_t limit) {
  if (edit_.nodes.empty())
    return std::nullopt;
  tasks_.propose(current_, edit_.nodes);
  tasks_.deferEnds();
  auto isAbove = [&] { return delta_.simulate(limit) > limit; };
  auto isBoundAbove = [&] {
    tasks_.bound();
    return isAbove();
  };
  auto isPlanAbove = [&] {
    tasks_.planOnDemand();
    return isAbove();
  };
  if (delta_.loadNs() > limit || isBoundAbove() || isPlanAbove()) {
    drop();
    return std::nullopt;
  }
  size_t numChanged = edit_.nodes.size();
  deriveEnds(context_, current_, edit_);
  tasks_.proposeEnds(current_,
                     llvm::ArrayRef(edit_.nodes).drop_front(numChanged));
  tasks_.plan();
  int64_t step = delta_.simulate(limit);
  if (step > limit || !memory_.fits()) {
    drop();
    return std::nullopt;
  }
  return step;
}

void StrategyWalk::keep() {
  memory_.accept();
  delta_.accept();
  tasks_.accept();
  edit_.clear();
}

void StrategyWalk::drop() {
  delta_.reject();
  tasks_.reject();
  edit_.takeBack(current_);
}
