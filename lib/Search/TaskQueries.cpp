//===- TaskQueries.cpp - What a task graph says of a strategy -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Buckets.h"
#include "soap/Search/BucketActions.h"
#include "soap/Search/TaskGraph.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

std::vector<TaskNode> TaskGraph::nodes() const {
  std::vector<TaskNode> result;
  auto add = [&](TaskNode::Kind kind, int32_t node, int32_t value,
                 int32_t action, llvm::ArrayRef<int32_t> devices) -> auto & {
    TaskNode &task = result.emplace_back();
    task.kind = kind;
    task.node = node;
    task.value = value;
    task.action = action;
    task.devices.assign(devices.begin(), devices.end());
    return task;
  };
  auto addMove = [&](int32_t value, const auto &action,
                     int32_t number) -> TaskNode & {
    TaskNode &move =
        add(TaskNode::Kind::Move, -1, value, number, action.devices);
    move.actionKind = action.kind;
    move.stream = action.hasPriority ? Stream::Priority : Stream::Communication;
    move.bytes = action.bytes;
    return move;
  };
  auto addBucket = [&](int32_t bucket) {
    for (const BucketAction &action : bucketTasks(bucket).actions) {
      const BucketAction::Member &first = action.members.front();
      int32_t number = valueTasks(first.value).actions[first.action].action;
      if (!action.packNs.empty())
        add(TaskNode::Kind::Pack, -1, first.value, number, action.devices);
      addMove(first.value, action, number).numValues =
          static_cast<int32_t>(action.members.size());
    }
  };
  auto addValue = [&](int32_t value, int32_t round) {
    const ValueTasks &tasks = valueTasks(value);
    if (round == 0 && !tasks.reduceDevices.empty())
      add(TaskNode::Kind::Pack, -1, value, -1, tasks.reduceDevices);
    for (const ActionTasks &action : tasks.actionsOf(round)) {
      if (!action.packDevices.empty())
        add(TaskNode::Kind::Pack, -1, value, action.action, action.packDevices);
      if (action.devices.empty() ||
          (action.joinsBuckets && bucketOf(value) >= 0))
        continue;
      addMove(value, action, action.action);
    }
  };
  for (auto [position, node] : llvm::enumerate(order_)) {
    for (const Prefetch &prefetch : prefetches_[position])
      if (int32_t round = prefetch.roundIn(valueTasks(prefetch.value));
          round >= 0)
        addValue(prefetch.value, round);
    for (auto [operand, value] : llvm::enumerate(graph_.node(node).operands)) {
      const UseTasks &use = valueTasks(value).uses[useIndex(node, operand)];
      if (!use.unpackDevices.empty())
        add(TaskNode::Kind::Unpack, node, value, -1, use.unpackDevices);
    }
    add(TaskNode::Kind::Compute, node, -1, -1, nodeTasks(node).devices);
    for (int32_t value : graph_.node(node).results)
      addValue(value, 0);
    for (int32_t bucket : bucketsAt_[position])
      addBucket(bucket);
  }
  return result;
}

/// What one collective of a bucket moves.
static Movement movementOf(const BucketAction &action) {
  Movement movement{action.kind, {}, {}};
  movement.devices.assign(action.devices.begin(), action.devices.end());
  movement.bytes.assign(action.devices.size(), action.memberBytes);
  return movement;
}

std::vector<Movement> TaskGraph::movements(Phase phase) const {
  std::vector<Movement> result;
  auto addValue = [&](int32_t id, int32_t round) {
    const ValueTasks &tasks = valueTasks(id);
    if (tasks.stepBytes + tasks.feedBytes + tasks.drainBytes == 0 &&
        tasks.actions.empty())
      return;
    ValuePlan plan = planOf(graph_, strategy_, topology_, id);
    SmallVector<int32_t, 2> late;
    if (bucketOf(id) >= 0)
      late = joiningActions(plan, graph_.value(id).elementBytes, topology_);
    for (auto [index, action] : llvm::enumerate(plan.actions))
      if (action.round == round &&
          phaseOf(action, plan, topology_.host()) == phase &&
          !llvm::is_contained(late, static_cast<int32_t>(index)))
        for (Movement &movement :
             soap::movements(action, graph_.value(id).elementBytes))
          result.push_back(std::move(movement));
  };
  // Parameters that only outputs read come last.
  std::vector<bool> done(graph_.numValues());
  auto addOnce = [&](int32_t id) {
    if (!done[id])
      addValue(id, 0);
    done[id] = true;
  };
  for (auto [position, node] : llvm::enumerate(order_)) {
    for (const Prefetch &prefetch : prefetches_[position])
      if (prefetch.use < 0)
        addOnce(prefetch.value);
      else if (int32_t round = prefetch.roundIn(valueTasks(prefetch.value));
               round > 0)
        addValue(prefetch.value, round);
    for (int32_t value : graph_.node(node).results)
      addOnce(value);
    if (phase == Phase::Step)
      for (int32_t bucket : bucketsAt_[position])
        for (const BucketAction &action : bucketTasks(bucket).actions)
          result.push_back(movementOf(action));
  }
  for (int32_t id : valuesInOrder())
    addOnce(id);
  return result;
}

int64_t TaskGraph::bytes(Phase phase) const {
  int64_t sum = 0;
  for (const ValueTasks *value : valueTasks_)
    sum += phase == Phase::Step   ? value->stepBytes
           : phase == Phase::Feed ? value->feedBytes
                                  : value->drainBytes;
  return sum;
}

int64_t TaskGraph::nodeNs(int32_t node) const {
  llvm::ArrayRef<int64_t> ns = nodeTasks(node).ns, apart = apartNs(node);
  int64_t longest = 0;
  for (size_t i = 0; i < ns.size(); ++i)
    longest = std::max(longest, ns[i] + (apart.empty() ? 0 : apart[i]));
  return longest;
}

int64_t TaskGraph::totalComputeNs() const {
  int64_t sum = 0;
  for (int32_t node : order_)
    for (llvm::ArrayRef<int64_t> times : {nodeTasks(node).ns, apartNs(node)})
      for (int64_t ns : times)
        sum += ns;
  return sum;
}
