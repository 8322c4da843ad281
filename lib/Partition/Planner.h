//===- Planner.h - State of one planValue() call ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the library. A plan is made in three steps:
//  1. CommPlan.cpp: shards of the tasks, local reductions, equal needs merged;
//  2. Reductions.cpp: partial blocks are reduced, each once;
//  3. Movements.cpp: every need is served from complete blocks, all needs
//     together, except that each `regather` need is served on its own.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_PARTITION_PLANNER_H
#define SOAP_LIB_PARTITION_PLANNER_H

#include "Components.h"

namespace soap::detail {

/// A table over devices that is emptied in O(1).
template <typename T>
class DeviceTable {
public:
  DeviceTable(int32_t lowest, int32_t highest)
      : lowest(lowest), entries(highest - lowest + 1) {}
  void clear() { ++round; }
  /// The entry of a device, or null.
  T *find(int32_t device) {
    Entry &entry = entries[device - lowest];
    return entry.round == round ? &entry.value : nullptr;
  }
  /// Sets an entry that may exist; false if it did.
  bool insert(int32_t device, T value) {
    Entry &entry = entries[device - lowest];
    bool isNew = entry.round != round;
    entry = {round, value};
    return isNew;
  }

private:
  struct Entry {
    uint32_t round = 0;
    T value{};
  };
  int32_t lowest;
  uint32_t round = 1;
  llvm::SmallVector<Entry, 64> entries;
};

/// What one device needs of a component, with requests of several tasks and
/// consumers joined.
struct JoinedNeed {
  int32_t device = 0;
  Box box;
  uint64_t demands = 0; ///< Bit set; the last bit stands for all further ones.
  int32_t next = -1;    ///< Another need of the same device.
  bool dead = false;    ///< Joined with another.
  /// Where it is, once planned: in one shard, or in these pieces of the pool.
  int32_t shard = -1;
  size_t firstPiece = 0, endPiece = 0;
};

/// Transfers that become one action.
struct TransferGroup {
  ActionKind kind;
  uint64_t demands;
  struct Item {
    int32_t source, destination;
    int32_t shard; ///< The output.
  };
  llvm::SmallVector<Item, 8> items;
};

class Planner {
public:
  Planner(const Layout &producer, llvm::ArrayRef<Need> consumers,
          RouteCost route, int32_t host);
  ValuePlan run();

private:
  // CommPlan.cpp
  void collectDemands();
  void createTaskShards();
  /// The cells of the producer; of a partial value, the devices that have parts
  /// of a cell after local reduction (one device: the cell is complete).
  SourceGrid reduceLocally();
  int32_t addShard(int32_t device, Box box, int32_t action, int32_t position);
  /// Appends an action with its inputs still missing; returns its index.
  int32_t addAction(ActionKind kind, llvm::SmallVector<int32_t, 8> group);
  /// Adds the port of the next input: `box` on `device`, from `grid`.
  void addInput(const SourceGrid &grid, int32_t action, int32_t device,
                const Box &box);
  /// Says where a request finds its box.
  void serve(const Request &request, llvm::ArrayRef<Piece> pieces);
  void findConsumersOfActions();
  /// True if the demand's grid is the producer's and all of it is local.
  bool isAligned(const Demand &demand) const;
  void serveAligned(const Demand &demand);
  /// The first task that has tile `tile` of a complete value on `device`, or
  /// -1.
  int32_t taskWith(size_t tile, int32_t device) const;

  // Reductions.cpp
  struct ReducedBlock;
  SourceGrid reducePartials(const SourceGrid &partials);
  void reduceBlock(const SourceGrid &partials, const Components &components,
                   int32_t component, int32_t block, ReducedBlock &out);
  void allReduce(const SourceGrid &partials, int32_t block, ReducedBlock &out);
  void scatterHome(const SourceGrid &partials, int32_t block, size_t dim,
                   ReducedBlock &out);

  // Movements.cpp
  void moveAll(const SourceGrid &grid, llvm::ArrayRef<const Demand *> demands);
  void moveComponent(const SourceGrid &grid, const Components &components,
                     int32_t component);
  void join(const Request &request);
  void describeSources(const SourceGrid &grid, const Spans &spans);
  bool tryBroadcast(const SourceGrid &grid, llvm::ArrayRef<Request> requests);
  bool tryAllGather(const SourceGrid &grid);
  bool tryAllToAll(const SourceGrid &grid, const Spans &spans);
  bool isHaloExchange(llvm::ArrayRef<Request> requests);
  void transfer(const SourceGrid &grid, bool halo);
  void emitTransfers(const SourceGrid &grid);
  int64_t cost(int32_t from, int32_t to) const {
    return route ? route(from, to) : int64_t(from != to);
  }

  const Layout &producer;
  llvm::ArrayRef<Need> consumers;
  RouteCost route;
  int32_t host; ///< Takes part in transfers only.
  ValuePlan plan;
  llvm::SmallVector<Demand, 4> demands;
  int32_t lowestDevice = 0, highestDevice = 0;

  /// @{ Of the component that is being planned.
  llvm::SmallVector<JoinedNeed, 8> needs;
  llvm::SmallVector<Request, 16> remote;
  llvm::SmallVector<int32_t, 16> blocks;
  llvm::SmallVector<Box, 8> blockBoxes;
  llvm::SmallVector<Piece, 4> pieces; ///< The pool.
  int32_t copies = 0;    ///< Holders of every block, 0 if they differ.
  bool distinct = false; ///< No device holds two blocks.
  /// @}
  llvm::SmallVector<TransferGroup, 2> transfers;
  DeviceTable<int32_t> firstNeed; ///< Chain of needs per device.
  DeviceTable<int32_t> ownBlock;  ///< Index into `blocks`.
  DeviceTable<int32_t> seen;
};

/// Sorts a group; most are sorted already.
void sortGroup(llvm::SmallVectorImpl<int32_t> &group);

/// True if the boxes are distinct and pairwise disjoint because in every
/// dimension their ranges are equal or disjoint. `covers` then says whether
/// they form a grid that fills `hull`.
bool areDisjoint(llvm::ArrayRef<const Box *> boxes, const Box &hull,
                 bool &covers);

} // namespace soap::detail

#endif // SOAP_LIB_PARTITION_PLANNER_H
