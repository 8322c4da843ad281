//===- BucketSizes.cpp - How large buckets of gradients are ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/BucketSizes.h"
#include "soap/Search/Simulator.h"
#include "soap/Search/TaskGraph.h"

using namespace soap;

void soap::chooseBucketBytes(OperatorGraph &graph, const Topology &topology,
                             const CostModel &costs, const Strategy &strategy) {
  graph.bucketBytes = defaultBucketBytes;
  if (topology.numDevices() == 1 || graph.updatingNodes().none())
    return;
  TaskGraph tasks({graph, topology, costs});
  tasks.setStrategy(strategy);
  auto stepWith = [&](int64_t bytes) {
    graph.bucketBytes = bytes;
    // Buckets follow from the launch order. Plans stay.
    tasks.setOrder(strategy.order);
    return tasks.fitsMemory() ? FullSimulator(tasks).stepNs() : INT64_MAX;
  };
  int64_t best = defaultBucketBytes, usualNs = stepWith(best),
          bestNs = usualNs - usualNs / 100;
  for (int64_t bytes = int64_t(1) << 20; bytes <= int64_t(64) << 20; bytes *= 2)
    if (int64_t ns = bytes == defaultBucketBytes ? usualNs : stepWith(bytes);
        ns < bestNs) {
      best = bytes;
      bestNs = ns;
    }
  graph.bucketBytes = best;
}
