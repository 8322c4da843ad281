//===- ExactBounds.cpp - What is left takes so long at least --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactSearch.h"
#include "SimulatorPass.h"

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

bool Prefixes::add(ArrayRef<int32_t> choices, ArrayRef<int64_t> times) {
  std::vector<int32_t> key(choices.begin(), choices.end());
  auto found = known_.find(key);
  if (found != known_.end())
    for (const std::vector<int64_t> &other : found->second)
      if (llvm::all_of(llvm::zip_equal(other, times), [](auto pair) {
            return std::get<0>(pair) <= std::get<1>(pair);
          }))
        return false;
  if (words_ > mostWords)
    return true;
  auto &list = found != known_.end() ? found->second : known_[std::move(key)];
  if (list.size() >= mostOfKey)
    return true;
  words_ += times.size() + 8;
  list.emplace_back(times.begin(), times.end());
  return true;
}

/// Launches what a decision makes known, and notes when nodes end.
void ExactSearch::launch(const Decision &decision) {
  for (int32_t position : decision.positions) {
    int32_t node = tasks_.order()[position];
    state_.fitNode(tasks_, node);
    auto fit = [&](int32_t value) { state_.fitValue(tasks_, value); };
    for (const TaskGraph::Prefetch &prefetch : tasks_.prefetchesAt(position))
      fit(prefetch.value);
    llvm::for_each(graph_.node(node).results, fit);
    for (int32_t bucket : tasks_.bucketsAt(position))
      llvm::for_each(tasks_.bucketValues(bucket), fit);
    RecordNothing record;
    Pass(tasks_, state_, record).launch(position);
    const NodeTasks &tasks = tasks_.nodeTasks(node);
    int64_t end = 0;
    for (const auto &copies : space_.tiles(node, choiceOf(node))) {
      int64_t first = INT64_MAX;
      for (int32_t device : copies)
        first =
            std::min(first, state_.nodeEnd(tasks_, node,
                                           llvm::find(tasks.devices, device) -
                                               tasks.devices.begin()));
      end = std::max(end, first);
    }
    ends_[node] = end;
  }
}

/// What a step takes at least whose first decisions are made.
int64_t ExactSearch::boundNs(size_t depth) {
  int32_t devices = problem_.topology.numDevices();
  SmallVector<int64_t, 16> loads(state_.resources.begin(),
                                 state_.resources.begin() + devices);
  int64_t work = 0;
  for (int32_t node : tasks_.order()) {
    if (launchedBy_[tasks_.rank(node)] <= static_cast<int32_t>(depth))
      continue;
    int32_t choice = choiceOf(node);
    if (choice < 0)
      work += space_.leastWorkNs(node);
    else
      for (auto [device, ns] : space_.loads(node, choice))
        loads[device] += ns;
  }
  int64_t bound = *llvm::max_element(state_.resources);
  for (int64_t load : loads) {
    bound = std::max(bound, load);
    work += load;
  }
  bound = std::max(bound, (work + devices - 1) / devices);
  return std::max(bound, pathNs(depth));
}

/// The longest way to the end from what was launched or decided; the tails know
/// the best that may follow.
int64_t ExactSearch::pathNs(size_t depth) {
  int64_t bound = 0;
  for (int32_t node : tasks_.order()) {
    int32_t choice = choiceOf(node);
    if (choice < 0)
      continue;
    // Launched nodes keep their exact ends, those before them are in these.
    if (launchedBy_[tasks_.rank(node)] > static_cast<int32_t>(depth)) {
      ends_[node] = 0;
      for (int32_t number : space_.edgesInto(node)) {
        const ExactSpace::Edge &edge = space_.edges()[number];
        int32_t from = choiceOf(edge.from);
        int64_t delay =
            from < 0 ? -1 : space_.plannedDelay(number, from, choice);
        if (delay >= 0)
          ends_[node] = std::max(ends_[node], ends_[edge.from] + delay);
      }
    }
    bound = std::max(bound, ends_[node] + space_.tailNs(node, choice));
  }
  return bound;
}

bool ExactSearch::isDominated(const Decision &decision) {
  if (!dominates_)
    return false;
  SmallVector<int32_t, 16> choices{decision.group};
  for (int32_t group : decision.liveGroups)
    choices.push_back(choiceOf_[group]);
  std::vector<int64_t> times(state_.resources);
  auto add = [&](size_t block, size_t count) {
    auto first = state_.times.begin() + state_.blocks[block].begin;
    times.insert(times.end(), first, first + count);
  };
  for (int32_t value : decision.liveValues) {
    add(value, tasks_.valueTasks(value).numSlots);
    add(state_.lateBlock(value), SimulatorState::numLateSlots(tasks_, value));
  }
  return !prefixes_.add(choices, times);
}
