//===- MoveTimes.h - What moving one value takes ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_MOVETIMES_H
#define SOAP_LIB_SEARCH_MOVETIMES_H

#include "CompileTasks.h"

namespace soap::detail {

/// Times what one use of a value costs where nothing else happens: the plan
/// that the planner makes for this use alone is compiled and simulated as in a
/// step, with the tasks of the producer done at 0 on all of its devices, and
/// all streams and links free.
class MoveTimes {
public:
  explicit MoveTimes(const Topology &topology);

  /// Nanoseconds until the last device that reads can start: local reductions,
  /// packs, actions and unpacks. 0 if every device has what it reads in one
  /// shard. Where the host reads (an output of the graph), until all that the
  /// step does for it is done; moving it there takes no time.
  int64_t ns(const Layout &layout, const Need &need, int64_t elementBytes);

private:
  int64_t simulate(const ValueTasks &tasks, llvm::ArrayRef<int32_t> readers);
  void copy(llvm::ArrayRef<int32_t> devices, llvm::ArrayRef<int64_t> ns,
            llvm::ArrayRef<Wait> waits, llvm::MutableArrayRef<int64_t> ends);

  const Topology &topology_;
  ValuePlanner planner_;
  ValueCompiler compiler_;
  SlabPool pool_;
  PlanArena arena_{pool_};
  std::vector<int64_t> resources_, slots_, start_, end_;
};

/// Layouts and needs, each once, and how long each pair of them takes.
class MoveTable {
public:
  /// @{ The number of a layout, of a value with elements of so many bytes, and
  /// of a need.
  uint32_t add(const Layout &layout, int64_t elementBytes);
  uint32_t add(const Need &need);
  /// @}
  /// The time of this pair will be asked for.
  void want(uint32_t layout, uint32_t need) {
    places_.try_emplace(keyOf(layout, need), places_.size());
  }
  size_t numWanted() const { return places_.size(); }
  /// Finds the times of all pairs that are wanted, on `threads` threads. Plans
  /// those first that move least, and no more than `mostPlanned`, until `stop`,
  /// which one thread at a time asks, says so. The others are given a high
  /// time: a millisecond, and all that readers lack over the slowest link.
  /// False if there are such.
  bool fill(const Topology &topology, unsigned threads, size_t mostPlanned,
            llvm::function_ref<bool()> stop);
  size_t numPlanned() const { return numPlanned_; }
  int64_t ns(uint32_t layout, uint32_t need) const {
    return ns_[places_.lookup(keyOf(layout, need))];
  }

private:
  static uint64_t keyOf(uint32_t layout, uint32_t need) {
    return uint64_t(layout) << 32 | need;
  }

  llvm::DenseMap<Key, uint32_t> layoutKeys_, needKeys_;
  std::vector<std::pair<Layout, int64_t>> layouts_; ///< With bytes.
  std::vector<Need> needs_;
  llvm::DenseMap<uint64_t, size_t> places_;
  std::vector<int64_t> ns_;
  size_t numPlanned_ = 0;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_MOVETIMES_H
