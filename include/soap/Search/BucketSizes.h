//===- BucketSizes.h - How large buckets of gradients are -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few large buckets pay few latencies, many small ones are reduced earlier,
// beside the backward pass. Which is better depends on links, devices and
// strategy, so it is simulated.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_BUCKETSIZES_H
#define SOAP_SEARCH_BUCKETSIZES_H

#include "soap/Search/SearchProblem.h"
#include "soap/Search/Strategy.h"

namespace soap {

class TaskGraph;

/// OperatorGraph::bucketBytes where nothing else is said or better.
inline constexpr int64_t defaultBucketBytes = int64_t(4) << 20;

/// Gives the strategy of `tasks` the limit of its buckets with which its step
/// is shortest: a power of two from 1 to 64 MiB with which it fits into memory;
/// defaultBucketBytes where that is as good. It keeps what it has, and false is
/// returned, if no step is below `stepNs`, which becomes the shortest one.
/// Simulates once per limit, and plans nothing.
bool shortenByBuckets(TaskGraph &tasks, int64_t &stepNs);

/// Gives `graph` the limit of its buckets with which the step of `strategy` is
/// shortest, likewise; defaultBucketBytes if it never fits. A graph without
/// updates of parameters, or a machine of one device, has nothing to choose.
void chooseBucketBytes(OperatorGraph &graph, const Topology &topology,
                       const CostModel &costs, const Strategy &strategy);

} // namespace soap

#endif // SOAP_SEARCH_BUCKETSIZES_H
