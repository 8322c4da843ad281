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

bool soap::shortenByBuckets(TaskGraph &tasks, int64_t &stepNs) {
  constexpr int64_t MiB = int64_t(1) << 20;
  static constexpr int64_t sizes[] = {
      defaultBucketBytes, 1 * MiB,  2 * MiB, 8 * MiB,
      16 * MiB,           32 * MiB, 64 * MiB};
  int64_t before = stepNs, best = tasks.strategy().bucketBytes;
  for (int64_t bytes : sizes) {
    tasks.setBucketBytes(bytes);
    if (int64_t ns = FullSimulator(tasks).stepNs();
        ns < stepNs && tasks.fitsMemory()) {
      stepNs = ns;
      best = bytes;
    }
  }
  tasks.setBucketBytes(best);
  return stepNs < before;
}

void soap::chooseBucketBytes(OperatorGraph &graph, const Topology &topology,
                             const CostModel &costs, const Strategy &strategy) {
  graph.bucketBytes = defaultBucketBytes;
  if (topology.numDevices() == 1 || graph.updatingNodes().none())
    return;
  TaskGraph tasks({graph, topology, costs});
  tasks.setStrategy(strategy);
  int64_t stepNs = INT64_MAX;
  if (shortenByBuckets(tasks, stepNs))
    graph.bucketBytes = tasks.strategy().bucketBytes;
}
