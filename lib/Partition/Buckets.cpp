//===- Buckets.cpp - Values that are reduced together ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Buckets.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace soap;
using llvm::ArrayRef;

std::vector<Bucket> soap::formBuckets(ArrayRef<BucketCandidate> candidates,
                                      int64_t limit) {
  // A change of one value makes its bucket's actions anew: more members would
  // save little and cost every proposal of a search.
  constexpr size_t mostValues = 64;
  std::vector<Bucket> buckets;
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
    if (candidate.bytes > limit)
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
  return buckets;
}

int64_t soap::bytesOfBucket(ArrayRef<int64_t> bytes) {
  int64_t end = 0;
  for (int64_t member : bytes)
    end = static_cast<int64_t>(llvm::alignTo(end, bucketAlignment)) + member;
  return end;
}

/// `forEachInput(visit)` shows every shard that an action reads.
template <typename Plan, typename ForEachInput>
static llvm::SmallVector<int32_t, 2> findActions(const Plan &plan,
                                                 ForEachInput forEachInput) {
  llvm::SmallVector<int32_t, 2> found;
  for (auto [index, action] : llvm::enumerate(plan.actions))
    if (action.kind == ActionKind::AllReduce)
      found.push_back(static_cast<int32_t>(index));
  if (!found.empty() && plan.actions.size() > 1)
    forEachInput([&](const auto &shard) {
      if (shard.origin == Shard::Origin::Action)
        llvm::erase(found, shard.index);
    });
  return found;
}

llvm::SmallVector<int32_t, 2> soap::bucketActions(const FlatPlan &plan) {
  return findActions(plan, [&](auto visit) {
    for (const FlatPlan::Action &action : plan.actions)
      for (const FlatPlan::Port &port : plan.inputsOf(action))
        for (FlatPlan::Piece piece : plan.piecesIn(port.pieces))
          visit(plan.shards[piece.shard]);
  });
}

llvm::SmallVector<int32_t, 2> soap::bucketActions(const ValuePlan &plan) {
  return findActions(plan, [&](auto visit) {
    for (const Action &action : plan.actions)
      for (const Port &port : action.inputs)
        for (const Piece &piece : port.pieces)
          visit(plan.shards[piece.shard]);
  });
}
