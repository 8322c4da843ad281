//===- EarliestFinish.h - Tasks to devices, one after the other -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// List scheduling by upward ranks, earliest finish times and a critical path:
// DPOS (Yi et al., "Fast training of deep learning models over multiple GPUs",
// 2020, Algorithm 1), on a graph of tasks that knows no tensors.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_EARLIESTFINISH_H
#define SOAP_LIB_SEARCH_EARLIESTFINISH_H

#include "soap/Topology/Topology.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace soap::detail {

/// Tasks in topological order. Each runs on one device, all of one unit on the
/// same (FastT: operations that are colocated).
struct ScheduledGraph {
  struct Input {
    int32_t task; ///< One with a smaller number.
    int64_t bytes;
  };
  struct Task {
    int32_t unit = 0;
    llvm::SmallVector<int64_t, 2> ns; ///< Per kind of device.
    llvm::SmallVector<Input, 4> inputs;
  };
  std::vector<Task> tasks;
  std::vector<int64_t> unitBytes; ///< Memory that a unit takes on its device.
};

struct FinishTimes {
  std::vector<int32_t> devices;      ///< Per unit.
  std::vector<int64_t> starts, ends; ///< Per task, nanoseconds.
  std::vector<int32_t> criticalPath; ///< Tasks, from an entry to an exit.
  int64_t finishNs = 0;              ///< The latest end.
  bool fits = true;                  ///< No device has too little memory.
};

/// Algorithm 1. A task that sends b bytes to another device is heard there
/// after the latency of the route and b over its bandwidth; routes are used by
/// any number of tasks at once. Tasks are taken by falling rank, ties by
/// number; of devices that finish alike the first is taken. `pinsPath`: tasks
/// of the critical path go to a device of their own as long as it has memory,
/// which Theorem 1 does not allow for. `limitsMemory`: unitBytes count.
FinishTimes scheduleByRank(const ScheduledGraph &graph,
                           const Topology &topology, bool pinsPath = true,
                           bool limitsMemory = true);

/// When the bytes are there; 0 on the same device.
int64_t arrivalNs(const Topology &topology, int32_t from, int32_t to,
                  int64_t bytes);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_EARLIESTFINISH_H
