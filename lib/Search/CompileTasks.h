//===- CompileTasks.h - Flat arrays of one value ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_COMPILETASKS_H
#define SOAP_LIB_SEARCH_COMPILETASKS_H

#include "CopyTable.h"
#include "DegreesCosts.h"
#include "Hashing.h"
#include "PlanArena.h"
#include "soap/Partition/Buckets.h"
#include "soap/Search/TaskGraph.h"
#include "llvm/ADT/DenseMap.h"
#include <array>

namespace soap::detail {

/// What the cost model wants to know about one task.
KernelQuery describeTask(const OperatorGraph &graph, int32_t node,
                         const Degrees &degrees, int64_t task,
                         const TaskWork &work);

struct CompileInput {
  /// Its consumer k is launchOrder[k].
  const FlatPlan &plan;
  int64_t elementBytes;
  bool hasPriority; ///< Collectives of the value have.
  const NodeTasks &producer;
  bool producerComputes;
  bool isFixed; ///< The value is the same in every step.
  /// The value may have channels last: only whole samples of it are contiguous
  /// for sure.
  bool mayReorder;
  struct Consumer {
    int32_t node;
    /// Of its tasks; none for outputs of the graph.
    llvm::ArrayRef<int32_t> devices;
    bool computes;
    /// What its tasks cost apart from the producer, which they follow; null:
    /// they do not, by this operand.
    const DegreesCost *apart = nullptr;
  };
  llvm::ArrayRef<Consumer> consumers;
  llvm::ArrayRef<int32_t> launchOrder; ///< Consumers as they are launched.
};

/// Appends a wait unless it was the last one, too: neighbours are often equal.
inline void addWait(llvm::SmallVectorImpl<Wait> &waits, Wait wait) {
  if (waits.empty() || waits.back().at != wait.at ||
      waits.back().slot != wait.slot)
    waits.push_back(wait);
}

/// Turns plans into flat arrays. Keeps its memory from one to the next, and the
/// costs of collectives.
class ValueCompiler {
public:
  explicit ValueCompiler(const Topology &topology);
  /// The lists of the result go to `arena`.
  ValueTasks compile(const CompileInput &input, PlanArena &arena);
  /// What a collective costs. Holds until the next call.
  const CollectiveCost &costOf(ActionKind kind, llvm::ArrayRef<int32_t> group,
                               llvm::ArrayRef<int64_t> memberBytes);
  /// What it takes to copy so many bytes on a device, without what their runs
  /// add.
  int64_t copyNs(int64_t bytes, int32_t device);

private:
  /// Devices in the order in which they come up, and the place of each.
  struct DeviceList {
    std::vector<int32_t> place; ///< Per device, -1 if it is not in the list.
    llvm::SmallVector<int32_t, 64> devices;
    llvm::SmallVector<int64_t, 64> ns;

    int32_t findOrAdd(int32_t device);
    void clear();
  };

  /// How many kinds of devices are remembered.
  static constexpr int32_t mostKinds = 16;
  /// Times for so many bytes, by kind of devices; -1: not known yet.
  struct CopyTimes {
    int64_t bytes = -1;
    std::array<int64_t, mostKinds> ns;
  };
  /// A route, as transfers see it. Routes of one kind have the same latency and
  /// rates, and as many links with the same bandwidths in the same order.
  struct Way {
    const int32_t *resources = nullptr; ///< Null: not looked up yet.
    int32_t numLinks = 0, kind = 0;
  };
  /// Where the cost of transfers of some bytes over a kind of routes stands.
  struct KnownCost {
    int64_t bytes = 0;
    int32_t kind = 0, cost = 0;
    uint64_t action = 0; ///< In which action.
  };

  const Way &wayOf(int32_t from, int32_t to);
  int32_t transferCost(int64_t bytes, const Way &way, int32_t from, int32_t to);
  int64_t bytesOf(int32_t box) const {
    return plan_->volumes[box] * in_->elementBytes;
  }
  bool isView(int32_t box, FlatPlan::Slice pieces, int32_t device) const;
  int64_t assembleNs(int32_t box, FlatPlan::Slice pieces, int32_t device);
  int32_t producerIndex(int32_t device) const;
  Phase phaseOf(const FlatPlan::Action &action) const;
  bool isRead(const FlatPlan::Port &port) const;
  void findLateSlots();
  void beginRounds(int32_t round);
  llvm::MutableArrayRef<int64_t> planBytesOf(int32_t round) {
    return llvm::MutableArrayRef<int64_t>(planBytes_)
        .slice(round * shardBytes_.size(), shardBytes_.size());
  }
  void reduce();
  void addAction(int32_t index);
  void addDrainPacks(int32_t index);
  void addPacks(ActionTasks &tasks, const FlatPlan::Action &action, bool drain);
  void keepPacks(ActionTasks &tasks);
  void findMemberCopies(const FlatPlan::Action &action);
  int64_t stagingBytesOf(const FlatPlan::Action &action) const;
  void packPieces(ActionTasks &tasks, const FlatPlan::Action &action);
  void unpackPieces(int32_t index, const FlatPlan::Action &action);
  void addMembers(ActionTasks &tasks, const FlatPlan::Action &action);
  int64_t chunkBytesOf(const FlatPlan::Action &action) const;
  void addTransfers(ActionTasks &tasks, const FlatPlan::Action &action);
  const CollectiveCost &costOf(const FlatPlan::Action &action);
  void addUses();
  void addApart(const CompileInput::Consumer &reader,
                llvm::ArrayRef<FlatPlan::Read> reads, UseTasks &use);
  void addMemory();
  template <typename T>
  llvm::ArrayRef<T> keep(llvm::ArrayRef<T> list) const {
    return list.copy(*arena_);
  }
  llvm::ArrayRef<Wait> keepUnique(llvm::SmallVectorImpl<Wait> &waits) const;

  const Topology &topology_;
  bool knowsBoxes_; ///< What copies of boxes take, of some kind of devices.
  llvm::DenseMap<Key, CollectiveCost> collectives_;
  std::vector<CopyTimes> copyTimes_; ///< By a hash of the bytes; forgetful.
  std::vector<Way> ways_;            ///< Of (source, target).
  llvm::BumpPtrAllocator resources_; ///< That ways refer to.
  llvm::DenseMap<Key, int32_t> kindsOfWays_;
  std::array<KnownCost, 64> knownCosts_; ///< By a hash; forgetful.
  uint64_t numActions_ = 0;              ///< With transfers, so far.

  /// @{ Of the plan that is being compiled.
  const CompileInput *in_ = nullptr;
  const FlatPlan *plan_ = nullptr;
  PlanArena *arena_ = nullptr;
  ValueTasks out_;
  llvm::SmallVector<ActionTasks, 8> actions_;
  llvm::SmallVector<UseTasks, 8> uses_;
  llvm::SmallVector<RoundTasks, 2> rounds_;
  /// Per shard: the slot that says when it exists, or -1 for one that the
  /// producer's task or a feed made.
  llvm::SmallVector<int32_t, 0> shardSlot_;
  DeviceList members_, packed_;
  llvm::SmallVector<int32_t, 64> packSlots_; ///< Per input; -1: not copied.
  llvm::SmallVector<int32_t, 8> lateSlots_;  ///< Per action, -1: not late.
  llvm::SmallVector<Wait, 64> waits_, moveWaits_, producerWaits_;
  llvm::SmallVector<int64_t, 0> costs_;
  llvm::SmallVector<int64_t, 64> memberBytes_;
  llvm::SmallVector<MemberCopies, 8> memberCopies_; ///< Of a collective.
  CopyTable copies_;
  std::vector<int64_t> shardBytes_; ///< Per device.
  std::vector<int64_t> planBytes_;  ///< Per round and device; 0 in between.
  /// @}
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_COMPILETASKS_H
