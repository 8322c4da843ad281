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
#include <algorithm>
#include <map>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

std::vector<int32_t> OperatorGraph::gradients() const {
  std::vector<int32_t> found;
  auto isSum = [&](int32_t id) {
    const GraphValue &value = values_[id];
    const GraphNode &producer = nodes_[value.producer];
    return producer.role == NodeRole::Compute &&
           producer.spec.results[value.result].combine == Combine::Sum;
  };
  for (const GraphNode &write : nodes_) {
    if (write.writtenOperand < 0)
      continue;
    for (auto [operand, written] : llvm::enumerate(write.operands)) {
      const GraphNode &update = nodes_[values_[written].producer];
      if (static_cast<int32_t>(operand) != write.writtenOperand &&
          update.role == NodeRole::Compute)
        llvm::copy_if(update.operands, std::back_inserter(found), isSum);
    }
  }
  llvm::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void TaskGraph::updateBuckets() {
  buckets_.clear();
  bucketsAt_.assign(order_.size(), {});
  bucketOf_.assign(graph_.numValues(), -1);
  caches_->buckets.clear();
  if (graph_.bucketBytes <= 0)
    return;
  std::vector<int32_t> values = graph_.gradients();
  llvm::stable_sort(values, [&](int32_t a, int32_t b) {
    return launchAt_[a] < launchAt_[b];
  });
  std::vector<BucketCandidate> candidates;
  for (int32_t id : values) {
    const GraphValue &value = graph_.value(id);
    BucketCandidate &candidate = candidates.emplace_back();
    candidate.position = launchAt_[id];
    candidate.firstUse = INT32_MAX;
    for (const GraphValue::Use &use : value.uses)
      if (rank_[use.node] >= 0)
        candidate.firstUse = std::min(candidate.firstUse, rank_[use.node]);
    candidate.bytes = value.bytes();
    candidate.elementBytes = value.elementBytes;
  }
  for (const Bucket &bucket : formBuckets(candidates, graph_.bucketBytes)) {
    auto &members = buckets_.emplace_back();
    for (int32_t candidate : bucket) {
      members.push_back(values[candidate]);
      bucketOf_[values[candidate]] = numBuckets() - 1;
    }
    bucketsAt_[bucketPosition(numBuckets() - 1)].push_back(numBuckets() - 1);
  }
  caches_->buckets.resize(buckets_.size());
}

namespace {
struct LessDevices {
  bool operator()(ArrayRef<int32_t> a, ArrayRef<int32_t> b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};
} // namespace

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
  std::map<ArrayRef<int32_t>, BucketAction, LessDevices> byDevices;
  for (auto [id, value] : llvm::zip_equal(values, bucket.values))
    for (auto [index, action] : llvm::enumerate(value->actions)) {
      if (!action.joinsBuckets)
        continue;
      byDevices[action.devices].members.push_back(
          {id, static_cast<int32_t>(index), action.slot, action.memberBytes});
    }
  // A value that has only a bound may bring another algorithm with it, which
  // holds other links.
  bool isBound = llvm::any_of(
      bucket.values, [](const ValueTasks *value) { return value->isBound; });
  for (auto &[devices, joint] : byDevices) {
    BucketAction &action = actions.emplace_back(std::move(joint));
    action.devices = devices;
    auto numDevices = static_cast<int64_t>(devices.size());
    SmallVector<int64_t, 8> sizes;
    for (const BucketAction::Member &member : action.members)
      sizes.push_back(member.bytes);
    SmallVector<int64_t, 64> memberBytes(numDevices, bytesOfBucket(sizes));
    action.memberBytes = memberBytes.front();
    action.bytes = 2 * (numDevices - 1) * action.memberBytes;
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
