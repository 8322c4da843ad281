//===- BucketActions.h - Which actions join buckets -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduce-scatter in a bucket saves a latency and costs a copy
// (soap/Partition/Buckets.h). Task graphs and the partitioner both ask here
// whether that pays.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_BUCKETACTIONS_H
#define SOAP_SEARCH_BUCKETACTIONS_H

#include "soap/Partition/CommPlan.h"
#include "soap/Topology/Topology.h"

namespace soap {

/// What some costs are, in nanoseconds, as CostModel has them: of a reduce-
/// scatter over the devices at hand, by the bytes that each puts in, and of a
/// copy of so many bytes on a device.
struct BucketCosts {
  llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> reduceScatterNs;
  llvm::function_ref<int64_t(int64_t, int32_t)> copyNs;
};

/// True if a reduce-scatter of `bytes` over `devices` may run in a bucket: to
/// copy them takes no longer than what two of them save as one.
bool gainsFromBucket(llvm::ArrayRef<int32_t> devices, int64_t bytes,
                     BucketCosts costs);

/// bucketActions() of a plan, but for reduce-scatters that do not gain.
llvm::SmallVector<int32_t, 2> joiningActions(const ValuePlan &plan,
                                             int64_t elementBytes,
                                             const Topology &topology);

} // namespace soap

#endif // SOAP_SEARCH_BUCKETACTIONS_H
