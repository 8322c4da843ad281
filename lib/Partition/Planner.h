//===- Planner.h - State of the planner -------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the library. A plan is made in three steps:
//  1. CommPlan.cpp: shards of the tasks, local reductions, equal needs merged;
//  2. Reductions.cpp: partial blocks are reduced, each once;
//  3. Movements.cpp, Transfers.cpp: every need is served from complete blocks,
//     all needs together, except that each `regather` need is served on its
//     own; the needs of a value that lies in memory round by round.
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
  /// Empties the table, for devices in [lowest, highest].
  void reset(int32_t newLowest, int32_t highest) {
    lowest_ = newLowest;
    size_t size = highest < lowest_ ? 0 : highest - lowest_ + 1;
    if (entries_.size() < size)
      entries_.resize(size);
    clear();
  }
  void clear() {
    if (++round_ != 0)
      return;
    for (Entry &entry : entries_)
      entry.round = 0;
    round_ = 1;
  }
  /// The entry of a device, or null.
  T *find(int32_t device) {
    Entry &entry = entries_[device - lowest_];
    return entry.round == round_ ? &entry.value : nullptr;
  }
  /// Sets an entry that may exist; false if it did.
  bool insert(int32_t device, T value) {
    Entry &entry = entries_[device - lowest_];
    bool isNew = entry.round != round_;
    entry = {round_, value};
    return isNew;
  }

private:
  struct Entry {
    uint32_t round = 0;
    T value{};
  };
  int32_t lowest_ = 0;
  uint32_t round_ = 0;
  llvm::SmallVector<Entry, 0> entries_;
};

/// What one device needs of a component, with requests of several tasks and
/// consumers joined.
struct JoinedNeed {
  int32_t device = 0, box = 0;
  uint64_t demands = 0; ///< Bit set; the last bit stands for all further ones.
  int32_t next = -1;    ///< Another need of the same device.
  bool ownsBox = false; ///< The box is a union, and no request's.
  bool dead = false;    ///< Joined with another.
  /// Where it is, once planned: in one shard, or in these pieces of the plan.
  int32_t shard = -1;
  FlatPlan::Slice pieces;
};

/// Transfers that become one action.
struct TransferGroup {
  ActionKind kind;
  uint64_t demands;
  struct Item {
    int32_t source, destination;
    int32_t shard; ///< The output.
    int32_t whole; ///< A shard of the source that has it all, or -1.
  };
  llvm::SmallVector<Item, 0> items;
};

/// Keeps its memory from one plan to the next.
class Planner {
public:
  const FlatPlan &run(const Layout &producer, llvm::ArrayRef<Need> consumers,
                      RouteCost route, int32_t host);

private:
  // CommPlan.cpp
  void reset(const Layout &producer, llvm::ArrayRef<Need> consumers,
             RouteCost route, int32_t host);
  void collectDemands();
  void createTaskShards();
  /// Gives consumers that take parts theirs.
  void serveParts(); // Parts.cpp
  /// Fills `grid` with the cells of the producer; of a partial value, with the
  /// devices that have parts of a cell after local reduction (one device: the
  /// cell is complete).
  void reduceLocally(SourceGrid &grid);
  int32_t addShard(int32_t device, int32_t box, int32_t action,
                   int32_t position) {
    FlatPlan::Shard &shard = FlatPlan::append(plan_.shards);
    shard.device = device;
    shard.box = box;
    shard.part = -1;
    shard.origin = Shard::Origin::Action;
    shard.index = action;
    shard.position = position;
    return static_cast<int32_t>(plan_.shards.size()) - 1;
  }
  /// Appends an action, whose inputs and outputs must follow.
  int32_t addAction(ActionKind kind, llvm::ArrayRef<int32_t> group,
                    Combine combine = Combine::None);
  /// Adds the next input of the last action: `box` on `device`, from `grid`.
  void addInput(const SourceGrid &grid, int32_t device, int32_t box);
  /// Adds the next output of the last action: a new shard.
  int32_t addOutput(int32_t device, int32_t box);
  /// Says where a request finds its box.
  void serve(const Request &request, FlatPlan::Slice pieces);
  /// One new piece.
  FlatPlan::Slice addPiece(int32_t shard, int32_t box) {
    auto index = static_cast<int32_t>(plan_.pieces.size());
    FlatPlan::Piece &piece = FlatPlan::append(plan_.pieces);
    piece.shard = shard;
    piece.box = box;
    return {index, index + 1};
  }
  /// True if the demand's grid is the producer's and all of it is local.
  bool isAligned(const Demand &demand) const;
  void serveAligned(const Demand &demand);
  /// The first task that has tile `tile` of a complete value on `device`, or
  /// -1.
  int32_t taskWith(size_t tile, int32_t device) const;
  llvm::ArrayRef<Demand> allDemands() const {
    return llvm::ArrayRef<Demand>(demands_).take_front(numDemands_);
  }
  /// True if the boxes are distinct and pairwise disjoint because in every
  /// dimension their ranges are equal or disjoint. `covers` then says whether
  /// they form a grid that fills `hull`.
  bool areDisjoint(llvm::ArrayRef<int32_t> boxes, int32_t hull, bool &covers);

  // Reductions.cpp
  struct ReducedBlock;
  void reducePartials(const SourceGrid &partials, SourceGrid &grid);
  /// Reduces the blocks whose readers allow it, and says what is left to do
  /// with the others.
  void reduceForReaders(const SourceGrid &partials,
                        llvm::MutableArrayRef<ReducedBlock> reduced);
  /// Reduces what is left into one home layout for the whole value, and adds
  /// its borders to `cuts`. Returns the dimension that it cuts; the rank: none.
  size_t reduceToHome(const SourceGrid &partials,
                      llvm::MutableArrayRef<ReducedBlock> reduced,
                      SourceGrid::Cuts &cuts);
  /// Sets `grid` to the cells between `cuts`, and who holds each of them.
  void refineGrid(const SourceGrid &partials,
                  llvm::ArrayRef<ReducedBlock> reduced,
                  const SourceGrid::Cuts &cuts, size_t homeDim,
                  SourceGrid &grid);
  void reduceBlock(const SourceGrid &partials, int32_t component, int32_t block,
                   ReducedBlock &out);
  void allReduce(const SourceGrid &partials, int32_t block, ReducedBlock &out);
  void scatterHome(const SourceGrid &partials, int32_t block, size_t dim,
                   ReducedBlock &out);

  // Movements.cpp
  void moveAll(const SourceGrid &grid, llvm::ArrayRef<const Demand *> demands);
  void moveComponent(const SourceGrid &grid, int32_t component);
  void join(const Request &request);
  bool unite(JoinedNeed &need, const JoinedNeed &other, bool abutting);
  void describeSources(const SourceGrid &grid);
  bool isLocal(const SourceGrid &grid, const Request &request);
  bool tryBroadcast(const SourceGrid &grid, llvm::ArrayRef<Request> requests);
  bool tryAllGather(const SourceGrid &grid);
  bool tryAllToAll(const SourceGrid &grid);
  bool isHaloExchange(llvm::ArrayRef<Request> requests);
  void serveRemote();
  // Transfers.cpp
  void transfer(const SourceGrid &grid, bool halo);
  int32_t cutByBlocks(const SourceGrid &grid, int32_t box);
  Holder nearest(llvm::ArrayRef<Holder> holders, int32_t device) const;
  TransferGroup &groupFor(ActionKind kind, uint64_t demands);
  void sortItems(TransferGroup &group);
  void emitTransfers(const SourceGrid &grid);

  int64_t cost(int32_t from, int32_t to) const {
    return route_ ? route_(from, to) : int64_t(from != to);
  }
  llvm::ArrayRef<Range> box(int32_t id) const { return plan_.box(id); }
  bool sameBox(int32_t a, int32_t b) const {
    return a == b || box(a) == box(b);
  }
  /// Block `index` of `blocks_`.
  llvm::ArrayRef<Range> blockBox(int32_t index) const {
    return {blockRanges_.data() + index * plan_.rank, plan_.rank};
  }
  int32_t addBox(llvm::ArrayRef<Range> ranges);

  /// @{ Input.
  const Layout *producer_ = nullptr;
  llvm::ArrayRef<Need> consumers_; ///< As settleParts() leaves them.
  RouteCost route_ = nullptr;
  int32_t host_ = kNoHost; ///< Takes part in transfers only.
  /// @}
  llvm::SmallVector<Need, 0> settled_; ///< Consumers, if some may take parts.
  /// A consumer that takes parts, and its first read.
  struct PartReader {
    int32_t consumer, firstRead;
  };
  llvm::SmallVector<PartReader, 2> partReaders_;
  FlatPlan plan_;
  llvm::SmallVector<Demand, 4> demands_;
  size_t numDemands_ = 0; ///< Entries behind keep their memory.
  int32_t numRounds_ = 0; ///< Behind round 0.
  int32_t round_ = 0;     ///< Whose actions are being added.
  int32_t lowestDevice_ = 0, highestDevice_ = 0;
  int32_t firstTileBox_ = 0;
  SourceGrid taskGrid_, homeGrid_;
  Components components_;

  /// @{ Of the component that is being planned.
  llvm::SmallVector<JoinedNeed, 0> needs_;
  llvm::SmallVector<Request, 0> remote_;
  Spans spans_;
  llvm::SmallVector<int32_t, 0> blocks_;
  llvm::SmallVector<Range, 0> blockRanges_;
  int32_t copies_ = 0;    ///< Holders of every block, 0 if they differ.
  bool distinct_ = false; ///< No device holds two blocks.
  /// @}
  llvm::SmallVector<TransferGroup, 2> transfers_;
  size_t numTransfers_ = 0;
  DeviceTable<int32_t> firstNeed_; ///< Chain of needs per device.
  DeviceTable<int32_t> ownBlock_;  ///< Index into `blocks_`.
  DeviceTable<int32_t> seen_;

  /// @{ Scratch memory.
  llvm::SmallVector<Holder, 0> holders_;
  llvm::SmallVector<int32_t, 0> group_, boxIds_, sortedIds_, counts_, touched_;
  llvm::SmallVector<Range, 0> sortedRanges_, overlaps_;
  llvm::SmallVector<TransferGroup::Item, 0> sortedItems_;
  /// @}
};

/// Sorts a group; most are sorted already.
void sortGroup(llvm::SmallVectorImpl<int32_t> &group);

} // namespace soap::detail

#endif // SOAP_LIB_PARTITION_PLANNER_H
