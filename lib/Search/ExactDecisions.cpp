//===- ExactDecisions.cpp - In which turn groups are decided --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactSearch.h"

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

ExactSearch::ExactSearch(SearchRun &run, ExactSpace &space)
    : run_(run), problem_(run.problem()), graph_(problem_.graph), space_(space),
      strategy_(singleDevice(graph_, problem_.topology)),
      tasks_(problem_, &run.tables()), choiceOf_(graph_.numGroups(), -1),
      ends_(graph_.numNodes(), 0) {
  tasks_.setStrategy(strategy_);
  state_.reset(tasks_);
  dominates_ = isMemoryAmple();
}

/// Dominance knows times alone. It counts where no strategy of the space could
/// need more memory than there is: every task of a node may hold each of its
/// values as a whole, and every reader a copy.
bool ExactSearch::isMemoryAmple() const {
  double bytes = 0;
  for (const GraphValue &value : graph_.values()) {
    double holders = 1;
    auto count = [&](int32_t node) {
      size_t most = 1;
      if (graph_.node(node).role == NodeRole::Compute)
        for (const Configuration &config :
             space_.choices(graph_.node(node).group))
          most = std::max(most, config.devices.size());
      holders += static_cast<double>(most);
    };
    count(value.producer);
    for (const GraphValue::Use &use : value.uses)
      count(use.node);
    bytes += 2 * holders * static_cast<double>(value.bytes());
  }
  return llvm::all_of(problem_.topology.devices(), [&](const Device &device) {
    return device.memoryBytes == 0 ||
           bytes <= static_cast<double>(device.memoryBytes);
  });
}

/// The groups that have to be known before a position can be launched: the
/// node's own, and all that read or make what stands there.
SmallVector<int32_t, 8> ExactSearch::neededAt(int32_t position) const {
  SmallVector<int32_t, 8> groups;
  auto add = [&](int32_t node) {
    if (graph_.node(node).role == NodeRole::Compute)
      groups.push_back(space_.ownerOf(node));
  };
  auto addReaders = [&](int32_t value) {
    for (const GraphValue::Use &use : graph_.value(value).uses)
      add(use.node);
  };
  int32_t node = tasks_.order()[position];
  add(node);
  for (const TaskGraph::Prefetch &prefetch : tasks_.prefetchesAt(position))
    addReaders(prefetch.value);
  llvm::for_each(graph_.node(node).operands, addReaders);
  llvm::for_each(graph_.node(node).results, addReaders);
  for (int32_t bucket : tasks_.bucketsAt(position))
    llvm::for_each(tasks_.bucketValues(bucket), addReaders);
  return groups;
}

void ExactSearch::planDecisions() {
  std::vector<bool> isPlanned(graph_.numGroups(), false);
  for (int32_t position = 0, e = tasks_.order().size(); position != e;
       ++position) {
    for (int32_t group : neededAt(position))
      if (!isPlanned[group]) {
        isPlanned[group] = true;
        decisions_.push_back({group, {}, {}, {}});
      }
    decisions_.back().positions.push_back(position);
    launchedBy_.push_back(static_cast<int32_t>(decisions_.size()) - 1);
  }
  findLive();
}

/// What is launched behind a decision depends on the choices of the groups that
/// a later position needs, and on those at values with a later reader.
void ExactSearch::findLive() {
  for (auto [depth, decision] : llvm::enumerate(decisions_)) {
    std::vector<bool> isLive(graph_.numGroups(), false);
    auto isLater = [&, depth = static_cast<int32_t>(depth)](int32_t position) {
      return position >= 0 && launchedBy_[position] > depth;
    };
    for (int32_t id = 0; id < graph_.numValues(); ++id) {
      const GraphValue &value = graph_.value(id);
      bool isRead = llvm::any_of(value.uses, [&](const GraphValue::Use &use) {
        return isLater(tasks_.rank(use.node));
      });
      int32_t bucket = tasks_.bucketOf(id), at = tasks_.earliestPosition(id);
      bool isPending = bucket >= 0 && isLater(tasks_.bucketPosition(bucket));
      if (!isRead && !isPending && !isLater(at))
        continue;
      if (at >= 0 && !isLater(at))
        decision.liveValues.push_back(id);
      if (graph_.node(value.producer).role == NodeRole::Compute)
        isLive[space_.ownerOf(value.producer)] = true;
      for (const GraphValue::Use &use : value.uses)
        if (graph_.node(use.node).role == NodeRole::Compute)
          isLive[space_.ownerOf(use.node)] = true;
    }
    for (const Decision &earlier : ArrayRef(decisions_).take_front(depth + 1))
      if (isLive[earlier.group])
        decision.liveGroups.push_back(earlier.group);
  }
}

void ExactSearch::assign(int32_t group, int32_t choice) {
  SmallVector<int32_t, 16> changed;
  space_.assign(strategy_, group, choice, changed);
  tasks_.update(strategy_, changed);
  choiceOf_[group] = choice;
}
