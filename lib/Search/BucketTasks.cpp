//===- BucketTasks.cpp - What is reduced together -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of TaskGraph that puts gradients into buckets and joins the actions
// of a bucket's values that have the same devices.
//
//===----------------------------------------------------------------------===//

#include "TaskGraphCaches.h"
#include "soap/Search/BucketActions.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>
#include <map>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

bool soap::gainsFromBucket(ArrayRef<int32_t> devices, int64_t bytes,
                           BucketCosts costs) {
  SmallVector<int64_t, 64> one(devices.size(), bytes),
      two(devices.size(), 2 * bytes);
  int64_t savedNs = 2 * costs.reduceScatterNs(one) - costs.reduceScatterNs(two);
  return llvm::all_of(devices, [&](int32_t device) {
    return costs.copyNs(bytes, device) <= savedNs;
  });
}

SmallVector<int32_t, 2> soap::joiningActions(const ValuePlan &plan,
                                             int64_t elementBytes,
                                             const Topology &topology) {
  SmallVector<int32_t, 2> found = bucketActions(plan);
  llvm::erase_if(found, [&](int32_t index) {
    const Action &action = plan.actions[index];
    auto reduceScatterNs = [&](ArrayRef<int64_t> bytes) {
      return CostModel::collective(action.kind, action.group, bytes, topology)
          .ns;
    };
    auto copyNs = [&](int64_t bytes, int32_t device) {
      return CostModel::copyNs(bytes, topology.kindOf(device));
    };
    return action.kind == ActionKind::ReduceScatter &&
           !gainsFromBucket(action.group,
                            volume(action.inputs.front().box) * elementBytes,
                            {reduceScatterNs, copyNs});
  });
  return found;
}

llvm::BitVector OperatorGraph::updatingNodes() const {
  llvm::BitVector found(nodes_.size());
  for (const GraphNode &write : nodes_)
    if (write.writtenOperand >= 0)
      for (auto [operand, written] : llvm::enumerate(write.operands)) {
        int32_t update = values_[written].producer;
        if (static_cast<int32_t>(operand) != write.writtenOperand &&
            nodes_[update].role == NodeRole::Compute)
          found.set(update);
      }
  return found;
}

std::vector<OperatorGraph::Sum> OperatorGraph::sums() const {
  llvm::BitVector updates = updatingNodes();
  std::vector<Sum> found;
  for (auto [id, value] : llvm::enumerate(values_)) {
    const GraphNode &producer = nodes_[value.producer];
    if (producer.role != NodeRole::Compute ||
        producer.spec.results[value.result].combine != Combine::Sum)
      continue;
    bool isGradient = llvm::any_of(value.uses, [&](const GraphValue::Use &use) {
      return updates.test(use.node);
    });
    if (isGradient || value.bytes() <= smallSumBytes)
      found.push_back({static_cast<int32_t>(id), isGradient});
  }
  return found;
}

void TaskGraph::updateBuckets() {
  buckets_.clear();
  bucketHasPriority_.clear();
  bucketsAt_.assign(order_.size(), {});
  bucketOf_.assign(graph_.numValues(), -1);
  caches_->buckets.clear();
  int64_t limit = bucketBytesOf(strategy_, graph_);
  if (limit <= 0)
    return;
  llvm::BitVector updates = graph_.updatingNodes();
  std::vector<OperatorGraph::Sum> sums = graph_.sums();
  llvm::stable_sort(sums, [&](const auto &a, const auto &b) {
    return launchAt_[a.value] < launchAt_[b.value];
  });
  std::vector<int32_t> values;
  std::vector<BucketCandidate> candidates;
  for (auto [id, isGradient] : sums) {
    const GraphValue &value = graph_.value(id);
    values.push_back(id);
    BucketCandidate &candidate = candidates.emplace_back();
    candidate.position = launchAt_[id];
    candidate.firstUse = INT32_MAX;
    candidate.isGradient = isGradient;
    for (const GraphValue::Use &use : value.uses)
      if (int32_t rank = rank_[use.node];
          rank >= 0 && rank < candidate.firstUse) {
        candidate.firstUse = rank;
        candidate.isUpdatedFirst = updates.test(use.node);
      }
    candidate.bytes = value.bytes();
    candidate.elementBytes = value.elementBytes;
  }
  for (const Bucket &bucket : formBuckets(candidates, limit)) {
    auto &members = buckets_.emplace_back();
    for (int32_t candidate : bucket) {
      members.push_back(values[candidate]);
      bucketOf_[values[candidate]] = numBuckets() - 1;
    }
    bucketsAt_[bucketPosition(numBuckets() - 1)].push_back(numBuckets() - 1);
    bucketHasPriority_.push_back(
        topology_.prioritizes(bytesOfMembers(bucket, candidates)));
  }
  caches_->buckets.resize(buckets_.size());
}

namespace {
/// Actions that are one: their devices and kind.
struct JointKey {
  ArrayRef<int32_t> devices;
  ActionKind kind;

  bool operator<(const JointKey &other) const {
    if (devices != other.devices)
      return std::lexicographical_compare(devices.begin(), devices.end(),
                                          other.devices.begin(),
                                          other.devices.end());
    return kind < other.kind;
  }
};
} // namespace

/// What each device puts in, and how long it takes to put that together.
static void addSizes(BucketAction &action, int64_t ofSingleValue,
                     ValueCompiler &compiler) {
  SmallVector<int64_t, 8> sizes;
  for (const BucketAction::Member &member : action.members)
    sizes.push_back(member.bytes);
  size_t numDevices = action.devices.size();
  action.memberBytes = sizes.size() == 1
                           ? ofSingleValue
                           : bytesOfBucket(action.kind, numDevices, sizes);
  action.bytes = static_cast<int64_t>(numDevices - 1) * action.memberBytes;
  if (action.kind == ActionKind::AllReduce)
    action.bytes *= 2;
  if (!isPackedBucket(action.kind, sizes.size()) ||
      SOAP_FAULT("bucket-packed-free"))
    return;
  for (int32_t device : action.devices)
    action.packNs.push_back(compiler.copyNs(action.memberBytes, device));
}

const BucketTasks &TaskGraph::bucketTasks(int32_t number) const {
  Caches &caches = *caches_;
  Caches::Bucket &bucket = caches.buckets[number];
  ArrayRef<int32_t> values = buckets_[number];
  bool isKnown = bucket.generation == caches.generation;
  bucket.values.resize(values.size());
  for (auto [id, known] : llvm::zip_equal(values, bucket.values))
    if (const ValueTasks *now = &valueTasks(id); now != known) {
      known = now;
      isKnown = false;
    }
  if (isKnown)
    return bucket.tasks;
  bucket.generation = caches.generation;
  auto &actions = bucket.tasks.actions;
  actions.clear();
  // By their devices, so that their order does not depend on which of several
  // values there are: a bucket with fewer ends no later.
  std::map<JointKey, BucketAction> joint;
  for (auto [id, value] : llvm::zip_equal(values, bucket.values))
    for (auto [index, action] : llvm::enumerate(value->actions)) {
      if (!action.joinsBuckets)
        continue;
      joint[{action.devices, action.kind}].members.push_back(
          {id, static_cast<int32_t>(index), action.slot, action.chunkBytes});
    }
  // A value that has only a bound may bring another algorithm with it, which
  // holds other links.
  bool isBound = llvm::any_of(
      bucket.values, [](const ValueTasks *value) { return value->isBound; });
  for (auto &[key, members] : joint) {
    BucketAction &action = actions.emplace_back(std::move(members));
    action.devices = key.devices;
    action.kind = key.kind;
    action.hasPriority = bucketHasPriority_[number];
    const BucketAction::Member &first = action.members.front();
    addSizes(action, valueTasks(first.value).actions[first.action].memberBytes,
             caches.compiler);
    SmallVector<int64_t, 64> memberBytes(key.devices.size(),
                                         action.memberBytes);
    const CollectiveCost &cost =
        caches.compiler.costOf(action.kind, action.devices, memberBytes);
    action.ns = cost.ns;
    if (isBound)
      continue;
    action.occupiesNs = cost.occupiesNs;
    action.links.assign(cost.links.begin(), cost.links.end());
  }
  return bucket.tasks;
}
