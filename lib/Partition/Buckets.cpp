//===- Buckets.cpp - Values that are reduced together ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Buckets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace soap;
using llvm::ArrayRef;

/// Adds the buckets of those `candidates` that `isOne` is true for.
static void addBuckets(ArrayRef<BucketCandidate> candidates, int64_t limit,
                       llvm::function_ref<bool(const BucketCandidate &)> isOne,
                       std::vector<Bucket> &buckets) {
  // A change of one value makes its bucket's actions anew: more members would
  // save little and cost every proposal of a search.
  constexpr size_t mostValues = 64;
  Bucket open;
  int64_t bytes = 0;
  int32_t firstUse = 0;
  auto close = [&] {
    if (open.size() > 1)
      buckets.push_back(open);
    open.clear();
    bytes = 0;
  };
  for (auto [index, candidate] : llvm::enumerate(candidates)) {
    if (candidate.bytes > limit || !isOne(candidate))
      continue;
    if (!open.empty() &&
        (bytes + candidate.bytes > limit || open.size() == mostValues ||
         candidate.position >= firstUse ||
         candidate.elementBytes != candidates[open.front()].elementBytes))
      close();
    firstUse = open.empty() ? candidate.firstUse
                            : std::min(firstUse, candidate.firstUse);
    open.push_back(static_cast<int32_t>(index));
    bytes += candidate.bytes;
  }
  close();
}

int64_t soap::bytesOfMembers(const Bucket &bucket,
                             ArrayRef<BucketCandidate> candidates) {
  int64_t bytes = 0;
  for (int32_t member : bucket)
    bytes += candidates[member].bytes;
  return bytes;
}

std::vector<Bucket> soap::formBuckets(ArrayRef<BucketCandidate> candidates,
                                      int64_t limit) {
  constexpr int32_t soonNodes = 16;
  auto isReadSoon = [](const BucketCandidate &candidate) {
    return candidate.bytes <= smallSumBytes && !candidate.isUpdatedFirst &&
           candidate.firstUse - candidate.position <= soonNodes;
  };
  std::vector<Bucket> buckets;
  addBuckets(
      candidates, limit,
      [&](const BucketCandidate &candidate) {
        return candidate.isGradient && !isReadSoon(candidate);
      },
      buckets);
  addBuckets(candidates, std::min(limit, smallSumBytes), isReadSoon, buckets);
  // In the order in which they are launched.
  llvm::sort(buckets, [](const Bucket &a, const Bucket &b) {
    return a.back() < b.back();
  });
  return buckets;
}

int64_t soap::chunkOfBucket(ActionKind kind, ArrayRef<int64_t> bytes) {
  auto aligned = [](int64_t end) {
    return static_cast<int64_t>(llvm::alignTo(end, bucketAlignment));
  };
  int64_t end = 0;
  for (int64_t member : bytes)
    end = aligned(end) + member;
  return kind == ActionKind::ReduceScatter ? aligned(end) : end;
}

int64_t soap::bytesOfBucket(ActionKind kind, size_t devices,
                            ArrayRef<int64_t> bytes) {
  int64_t chunk = chunkOfBucket(kind, bytes);
  return kind == ActionKind::ReduceScatter
             ? chunk * static_cast<int64_t>(devices)
             : chunk;
}

/// True if shares of these volumes fill at least half of chunks that have room
/// for the largest.
static bool fillChunks(ArrayRef<int64_t> volumes) {
  int64_t sum = 0, largest = 0;
  for (int64_t volume : volumes) {
    sum += volume;
    largest = std::max(largest, volume);
  }
  return 2 * sum >= largest * static_cast<int64_t>(volumes.size());
}

/// `volumesOf(action)`: those of its outputs. `forEachInput(visit)` shows every
/// shard that an action reads.
template <typename Plan, typename VolumesOf, typename ForEachInput>
static llvm::SmallVector<int32_t, 2>
findActions(const Plan &plan, VolumesOf volumesOf, ForEachInput forEachInput) {
  llvm::SmallVector<int32_t, 2> found;
  for (auto [index, action] : llvm::enumerate(plan.actions))
    if (action.kind == ActionKind::AllReduce ||
        (action.kind == ActionKind::ReduceScatter &&
         fillChunks(volumesOf(action))))
      found.push_back(static_cast<int32_t>(index));
  if (!found.empty() && plan.actions.size() > 1)
    forEachInput([&](const auto &shard) {
      if (shard.origin == Shard::Origin::Action)
        llvm::erase(found, shard.index);
    });
  return found;
}

llvm::SmallVector<int32_t, 2> soap::bucketActions(const FlatPlan &plan) {
  auto volumesOf = [&](const FlatPlan::Action &action) {
    llvm::SmallVector<int64_t, 64> volumes;
    for (int32_t output : plan.outputsOf(action))
      volumes.push_back(plan.volumes[plan.shards[output].box]);
    return volumes;
  };
  return findActions(plan, volumesOf, [&](auto visit) {
    for (const FlatPlan::Action &action : plan.actions)
      for (const FlatPlan::Port &port : plan.inputsOf(action))
        for (FlatPlan::Piece piece : plan.piecesIn(port.pieces))
          visit(plan.shards[piece.shard]);
  });
}

llvm::SmallVector<int32_t, 2> soap::bucketActions(const ValuePlan &plan) {
  auto volumesOf = [&](const Action &action) {
    llvm::SmallVector<int64_t, 64> volumes;
    for (int32_t output : action.outputs)
      volumes.push_back(volume(plan.shards[output].box));
    return volumes;
  };
  return findActions(plan, volumesOf, [&](auto visit) {
    for (const Action &action : plan.actions)
      for (const Port &port : action.inputs)
        for (const Piece &piece : port.pieces)
          visit(plan.shards[piece.shard]);
  });
}
