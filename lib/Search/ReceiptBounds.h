//===- ReceiptBounds.h - What devices have to receive at least --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lower bound of what any plan of a value makes a simulation wait for,
// computed from the layout and the needs alone. A device that reads elements
// which it does not hold receives each of them at least once, over links into
// it, and its communication stream takes part. Where the planner certainly does
// not find a collective, every reader gets pieces of its own from the tiles'
// holders, in a fixed order: who comes last waits until those before it have
// passed the same network card. Holders cut out what is not contiguous, and
// readers put their boxes together. A simulation in a fixed order knows only
// sums and maxima, so with these times in place of a plan's it ends no later.
// docs/Search.md, "Bounds", has the reasoning in full.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_RECEIPTBOUNDS_H
#define SOAP_LIB_SEARCH_RECEIPTBOUNDS_H

#include "LinkCuts.h"
#include "PlanArena.h"
#include "soap/Search/TaskGraph.h"
#include "llvm/ADT/DenseMap.h"

namespace soap::detail {

/// Calls `fn(tile, index)` for all tiles of a need, row-major.
template <typename Fn>
void forEachTile(const Need &need, Fn fn) {
  llvm::SmallVector<int32_t, 6> index(need.ranges.size(), 0);
  for (int64_t tile = 0, e = need.numTiles(); tile != e; ++tile) {
    fn(tile, llvm::ArrayRef<int32_t>(index));
    for (size_t d = index.size(); d-- != 0;) {
      if (++index[d] != static_cast<int32_t>(need.ranges[d].size()))
        break;
      index[d] = 0;
    }
  }
}

class ReceiptBounds {
public:
  ReceiptBounds(const OperatorGraph &graph, const Topology &topology,
                std::shared_ptr<const LinkCuts> cuts);
  /// Tasks of a value with a Receipt in place of its actions.
  ValueTasks compile(const Strategy &strategy,
                     llvm::ArrayRef<NodeTasks> nodeTasks, int32_t value,
                     llvm::ArrayRef<int32_t> usesInOrder, PlanArena &arena);

private:
  /// A box that a device reads, held against the tiles that it touches.
  struct Reading {
    int32_t device = 0;
    double elements = 1, spanElements = 1, spanTiles = 1;
    int64_t firstTile = 0, lastTile = 0;
    double lacking = 0; ///< Elements that the device does not hold,
    double far = 0;     ///< and that no device of its machine holds.
    int32_t group = -1;
  };
  /// What a range of one dimension touches.
  struct Touched {
    double elements = 0, spanElements = 1, spanTiles = 1;
    int64_t first = 0, last = 0; ///< Tiles along the dimension.
  };
  /// What one use of the value reads.
  struct Use {
    int32_t number = 0;
    Need need;
    llvm::SmallVector<Touched, 64> touched;    ///< Per dimension and range.
    llvm::SmallVector<size_t, 5> firstTouched; ///< Per dimension.
    llvm::SmallVector<Reading, 64> readings;
    bool isRemote = false;
  };
  /// Readings that touch the same tiles.
  struct Group {
    int32_t readers = 0;
    bool isTransferred = false; ///< Certainly piece by piece.
    llvm::SmallVector<int32_t, 8> tiles;
    llvm::SmallVector<double, 8> pieces; ///< Per tile, elements at least.
    /// @{ Where it is transferred: holders by their ids, what a reader takes
    /// from each and from those before it together; and what the devices of a
    /// machine hold and how many of them read.
    struct Source {
      int32_t device;
      double piece, before;
    };
    llvm::SmallVector<Source, 8> sources;
    int32_t lastElsewhere = -1; ///< The last on another machine than the last.
    struct Machine {
      double held = 0;
      int32_t readers = 0;
    };
    llvm::SmallDenseMap<int32_t, Machine, 8> machines;
    /// @}
  };

  void placeTiles(const Layout &layout);
  double sharedElements(int32_t tile, llvm::ArrayRef<Range> box) const;
  void collectTiles(const Layout &layout);
  void collect(const Layout &layout, const Strategy &strategy, int32_t value,
               llvm::ArrayRef<int32_t> usesInOrder);
  void formGroups(const Layout &layout);
  void findStarts(const Layout &layout, const Use &use);
  void describeGroup(const Layout &layout, const Use &use,
                     const Reading &reading, Group &group) const;
  void describeChains(const Layout &layout);
  double modelled(const Layout &layout, const Reading &reading,
                  double lacking) const;
  bool isTransferred(const Layout &layout, const Reading &reading) const;
  int64_t ns(double bytes, const LinkCut &cut) const;
  int64_t ownNs(const Layout &layout, const Reading &reading) const;
  int64_t farNs(const Layout &layout, const Reading &reading) const;
  int64_t chainNs(const Layout &layout, const Reading &reading) const;
  int64_t cutNs(const Layout &layout, const Use &use, size_t reading) const;
  void addPacks(const Layout &layout, ActionTasks &receipt, PlanArena &arena);
  UseTasks addReads(const Layout &layout, const Use &use,
                    llvm::ArrayRef<int32_t> readers, int32_t firstSlot,
                    bool cutsLocally, PlanArena &arena);

  const OperatorGraph &graph_;
  const Topology &topology_;
  std::shared_ptr<const LinkCuts> cuts_;

  /// @{ Of the value at hand. Tiles that are complete on a device, and on the
  /// devices of a machine together.
  std::vector<llvm::SmallVector<int32_t, 2>> tilesOn_, tilesIn_;
  Layout layout_;
  llvm::SmallVector<Range, 0> tileRanges_; ///< Per tile and dimension.
  llvm::SmallVector<int32_t, 64> usedDevices_, usedMachines_;
  std::vector<Use> uses_;
  size_t numUses_ = 0;
  const Use *remote_ = nullptr; ///< What all uses that receive have in common.
  llvm::SmallVector<Group, 8> groups_;
  std::vector<llvm::SmallVector<size_t, 0>> startsOf_; ///< findStarts().
  std::vector<int32_t> groupOf_; ///< Per device, of what it reads; -1: nothing.
  std::vector<int32_t> rankOf_;  ///< Per reader, its place in its group.
  llvm::SmallVector<int32_t, 64> grouped_;
  int64_t roundingNs_ = 0;
  double elementBytes_ = 0, smallestTile_ = 0;
  bool hasPriority_ = false; ///< Its collectives have.
  bool isFed_ = false, isDistinct_ = false, readsOnce_ = false, onHost_ = false;
  /// @}
  /// @{ Lists that grow.
  llvm::SmallVector<int32_t, 64> receiptsOf_, unpackOf_, copying_;
  llvm::SmallVector<int64_t, 64> receipts_, chains_, unpackNs_;
  llvm::SmallVector<Wait, 64> waits_, unpackWaits_;
  /// Per device its place among those that copy for the consumer that copies
  /// first; -1: none.
  std::vector<int32_t> copyOf_;
  /// @}
  /// Some devices write what they reduce to each other.
  bool sharesMemory_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_RECEIPTBOUNDS_H
