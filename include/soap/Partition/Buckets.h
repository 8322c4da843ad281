//===- Buckets.h - Values that are reduced together -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of parameters that become ready near each other are reduced by one
// collective, so that its latencies are paid once (Li et al., 2020, "PyTorch
// Distributed", section 3.2.3). Which values stand in one bucket follows from
// the launch order alone; which of them are reduced by one action follows from
// their plans. Task graphs and the partitioner both ask the functions here.
//
// A device puts one buffer into such an action. For an all-reduce, the values
// lie there one behind the other. For a reduce-scatter it has one chunk per
// device: in chunk i lie the shares that device i gets of all values. All
// chunks look alike: a value has room for its largest share in each of them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_BUCKETS_H
#define SOAP_PARTITION_BUCKETS_H

#include "soap/Partition/FlatPlan.h"

namespace soap {

/// Members of a bucket start at multiples of so many bytes on each device,
/// where kernels can write and read them.
inline constexpr int64_t bucketAlignment = 64;

/// A value that may be reduced together with others: a gradient of a parameter,
/// or another sum of at most smallSumBytes.
struct BucketCandidate {
  int32_t position = 0; ///< Of its producer in the launch order.
  int32_t firstUse = 0; ///< Of the first node that reads it: behind `position`.
  int64_t bytes = 0;    ///< Of the whole value.
  int32_t elementBytes = 4;
  bool isGradient = true; ///< An update of a parameter reads it.
  /// An update reads it before anything else does.
  bool isUpdatedFirst = true;
};

/// What counts as a small sum: little beside the latency of a collective across
/// nodes. Not tuned.
inline constexpr int64_t smallSumBytes = 64 << 10;

/// Values that follow each other in the launch order; indices of candidates.
using Bucket = llvm::SmallVector<int32_t, 8>;

/// The buckets of candidates that stand in launch order, each of two values or
/// more and of at most `limit` bytes. A bucket is reduced behind the producer
/// of its last value: no value of it is read before that. Candidates above the
/// limit are in no bucket. A limit of 0 or less makes none.
///
/// Small sums that are soon read by something else than an update, as the two
/// in the gradient of a batch norm, are in buckets of their own, of at most
/// smallSumBytes; in those of gradients, they would end them. Other sums that
/// are no gradients are in none.
std::vector<Bucket> formBuckets(llvm::ArrayRef<BucketCandidate> candidates,
                                int64_t limit);

/// Bytes of the whole values of a bucket.
int64_t bytesOfMembers(const Bucket &bucket,
                       llvm::ArrayRef<BucketCandidate> candidates);

/// Bytes that each device puts into an action of `kind` over `devices` devices
/// that reduces several values: of each, `bytes` lie in a chunk.
int64_t bytesOfBucket(ActionKind kind, size_t devices,
                      llvm::ArrayRef<int64_t> bytes);
/// Bytes of one chunk.
int64_t chunkOfBucket(ActionKind kind, llvm::ArrayRef<int64_t> bytes);

/// True if what an action of `kind` reduces for so many values is copied into
/// the buffer of the bucket: shares of one value lie in different chunks, while
/// a kernel writes its result as one dense tensor.
inline bool isPackedBucket(ActionKind kind, size_t values) {
  return kind == ActionKind::ReduceScatter && values > 1;
}

/// @{ The actions of a plan that may run later, together with those of other
/// values: all-reduces and reduce-scatters for which no other action of the
/// plan waits. Not reduce-scatters whose shares would leave more than half of
/// their room in chunks empty.
llvm::SmallVector<int32_t, 2> bucketActions(const FlatPlan &plan);
llvm::SmallVector<int32_t, 2> bucketActions(const ValuePlan &plan);
/// @}

} // namespace soap

#endif // SOAP_PARTITION_BUCKETS_H
