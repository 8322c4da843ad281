//===- SimulatorState.h - Times of a simulation -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_SIMULATORSTATE_H
#define SOAP_SEARCH_SIMULATORSTATE_H

#include "soap/Search/TaskGraph.h"

namespace soap::detail {

/// Where a simulation keeps its times, in nanoseconds. Ends that others wait
/// for stand in blocks: one per value (the slots of its tasks), per operand
/// (its unpacks), per node (its tasks) and per value of a bucket (the slots of
/// what the bucket runs). A block keeps its place while others
/// change; one that has become too small gets a new place at the end.
struct SimulatorState {
  struct Block {
    int32_t begin = 0, capacity = 0;
  };

  /// When resources are free: compute streams, communication streams (devices,
  /// then the host), link resources, priority streams (Timeline).
  std::vector<int64_t> resources;
  int32_t numEnds = 0;       ///< Devices and the host.
  int32_t firstPriority = 0; ///< Resource of the first priority stream.
  std::vector<Block> blocks;
  std::vector<int64_t> times;
  /// Per position of the launch order, what its times are kept less of; for
  /// passes that ask for it.
  std::vector<int64_t> shifts;
  std::vector<int64_t> ready, sums; ///< Scratch.
  int32_t numValues = 0, numOperands = 0, numNodes = 0;

  size_t useBlock(size_t operandIndex) const {
    return numValues + operandIndex;
  }
  size_t nodeBlock(int32_t node) const {
    return static_cast<size_t>(numValues + numOperands) + node;
  }
  size_t lateBlock(int32_t value) const {
    return static_cast<size_t>(numValues + numOperands) + numNodes + value;
  }

  /// All times 0, and a block for everything.
  void reset(const TaskGraph &tasks);
  /// @{ Sees to it that blocks are large enough. Times in them are kept only if
  /// they are.
  void fit(size_t block, size_t size) {
    if (static_cast<size_t>(blocks[block].capacity) < size)
      grow(block, size);
  }
  void fitNode(const TaskGraph &tasks, int32_t node);
  void fitValue(const TaskGraph &tasks, int32_t value);
  /// How many slots the late block of a value has.
  static size_t numLateSlots(const TaskGraph &tasks, int32_t value) {
    return tasks.bucketOf(value) < 0 ? 0 : tasks.valueTasks(value).numLateSlots;
  }
  /// @}
  /// @{ When entry `index` of a node, of the slots of a value and of what an
  /// operand unpacks ended.
  int64_t nodeEnd(const TaskGraph &tasks, int32_t node, size_t index) const;
  int64_t slotEnd(const TaskGraph &tasks, int32_t value, size_t slot) const;
  int64_t unpackEnd(const TaskGraph &tasks, int32_t node, int32_t operand,
                    size_t index) const;
  /// @}

private:
  void grow(size_t block, size_t size);
};

} // namespace soap::detail

#endif // SOAP_SEARCH_SIMULATORSTATE_H
