//===- MemoryUse.h - What fills the memory of a device ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_MEMORYUSE_H
#define SOAP_SEARCH_MEMORYUSE_H

#include "soap/Search/TaskGraph.h"

namespace soap {

/// What a device holds when it holds most, as TaskGraph::peakMemory() counts
/// it.
struct MemoryPeak {
  int64_t bytes = 0;
  int32_t node = -1; ///< The node that runs then; -1: none is needed for it.
  /// Values and their bytes on the device, copies included, largest first.
  std::vector<std::pair<int32_t, int64_t>> values;
};

/// The peak of `device`.
MemoryPeak memoryPeak(const TaskGraph &tasks, int32_t device);

/// Fails unless TaskGraph::fitsMemory(). The message names each device that has
/// less memory than it needs, and below, indented, when it needs most and what
/// for.
llvm::Error checkMemory(const TaskGraph &tasks);

/// TaskGraph::peakMemory() of each part of the launch order, of `positions`
/// positions (at least 1): row-major by part and device. There is at least one
/// part.
std::vector<int64_t> peakMemoryOfParts(const TaskGraph &tasks,
                                       int32_t positions);

} // namespace soap

#endif // SOAP_SEARCH_MEMORYUSE_H
