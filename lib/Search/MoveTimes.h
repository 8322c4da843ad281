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

  /// No task starts later because of this.
  static constexpr int64_t never = -(int64_t(1) << 50);
  /// How much later than the producer has ended on a device the readers can
  /// start, at the least, wherever else it has ended before: row i is about
  /// the i-th of the different devices of the layout, ascending, and has an
  /// entry for each of the different devices of the need, ascending. Entries
  /// far below 0 (`never` and a few seconds) say that nothing follows. The need
  /// is one of a node that computes.
  std::vector<llvm::SmallVector<int64_t, 8>>
  delays(const Layout &layout, const Need &need, int64_t elementBytes);

private:
  ValueTasks compile(const Layout &layout, const Need &need,
                     int64_t elementBytes, llvm::ArrayRef<int32_t> writers,
                     llvm::ArrayRef<int32_t> readers);
  void simulate(const ValueTasks &tasks, llvm::ArrayRef<int32_t> writers,
                llvm::ArrayRef<int64_t> writerEnds,
                llvm::ArrayRef<int32_t> readers);
  void copy(llvm::ArrayRef<int32_t> devices, llvm::ArrayRef<int64_t> ns,
            llvm::ArrayRef<Wait> waits, llvm::MutableArrayRef<int64_t> ends);

  const Topology &topology_;
  ValuePlanner planner_;
  ValueCompiler compiler_;
  SlabPool pool_;
  PlanArena arena_{pool_};
  std::vector<int64_t> resources_, slots_, start_, end_;
  std::vector<int64_t> ready_; ///< Per reader, when it can start.
};

/// Layouts and needs, each once, and how long each pair of them takes.
class MoveTable {
public:
  /// @{ The number of a layout, of a value with elements of so many bytes, and
  /// of a need.
  uint32_t add(const Layout &layout, int64_t elementBytes);
  uint32_t add(const Need &need);
  /// @}
  /// The place of a pair whose time may be asked for.
  uint32_t want(uint32_t layout, uint32_t need) {
    return places_
        .try_emplace(uint64_t(layout) << 32 | need,
                     static_cast<uint32_t>(places_.size()))
        .first->second;
  }
  size_t size() const { return places_.size(); }

  /// Behind all want(): finds for every pair a time that its plan takes at
  /// least.
  void bound(const Topology &topology);
  /// Plans pairs that are not planned yet, each named once, on `threads`
  /// threads, until `stop`, which one thread at a time asks, says so. False if
  /// it did.
  bool plan(const Topology &topology, unsigned threads,
            llvm::ArrayRef<uint32_t> places, llvm::function_ref<bool()> stop);
  bool isPlanned(uint32_t place) const { return ns_[place] >= 0; }
  size_t numPlanned() const { return numPlanned_; }
  int64_t leastNs(uint32_t place) const { return leastNs_[place]; }
  /// Of a pair that is planned.
  int64_t ns(uint32_t place) const { return ns_[place]; }

private:
  llvm::DenseMap<Key, uint32_t> layoutKeys_, needKeys_;
  std::vector<std::pair<Layout, int64_t>> layouts_; ///< With bytes.
  std::vector<Need> needs_;
  llvm::DenseMap<uint64_t, uint32_t> places_; ///< By layout and need.
  std::vector<uint64_t> keys_;                ///< Per place.
  std::vector<int64_t> leastNs_, ns_; ///< Per place; ns_ -1: not planned.
  size_t numPlanned_ = 0;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_MOVETIMES_H
