//===- CompiledTasks.h - What simulators walk over --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node's tasks and a value's communication, compiled. All lists are ranges in
// the arena of the task graph; nothing owns memory. Times that later entries
// wait for stand in slots: places in the block of times of a value.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_COMPILEDTASKS_H
#define SOAP_SEARCH_COMPILEDTASKS_H

#include "soap/CostModel/CostModel.h"

namespace soap::detail {

/// The tasks of one configuration of one node.
struct NodeTasks {
  llvm::ArrayRef<int32_t> devices; ///< Sorted, each once.
  llvm::ArrayRef<int64_t> ns;      ///< Sum of the task costs per device.
  /// What else runs on a device slows a task of one class down like one of
  /// another. All tasks are of class 0 until costs tell them apart.
  uint8_t loadClass = 0;

  /// True if many devices follow each other: what is known per device of a
  /// machine can be looked at as one array then.
  bool isRow() const {
    constexpr size_t fewest = 8;
    return devices.size() >= fewest &&
           static_cast<size_t>(devices.back() - devices.front()) + 1 ==
               devices.size();
  }
};

/// "Entry `at` waits for time `slot`".
struct Wait {
  int32_t at, slot;
};

/// One transfer of an action. What it costs stands in the action's list of
/// costs, where transfers of equal sizes over equal routes share an entry: how
/// long it takes, latencies included; how long it holds the target's compute
/// stream; and for each link of its route, in order, how long it holds that.
struct TransferTask {
  int32_t source, target;   ///< Indices into the action's devices.
  int32_t cost;             ///< Where its entry begins.
  int32_t numLinks;         ///< Of its route.
  const int32_t *resources; ///< Of these links, in order. Not owned.
};

/// One action in phase Step, with its pack.
struct ActionTasks {
  /// Receipt: no action of a plan, but a lower bound of what any plan does. A
  /// member has what it lacks not before `receiptNs[member]` after its
  /// communication stream is free (unless actions may have priority) and the
  /// producer has computed somewhere, nor before `chainNs[member]` after the
  /// latter.
  enum class Form : uint8_t { Collective, Transfers, Receipt };
  Form form = Form::Transfers;
  ActionKind kind = ActionKind::Transfer;
  int32_t action = 0; ///< Index into the plan.
  /// May run later, in a bucket: bucketActions().
  bool joinsBuckets = false;
  /// It runs on the priority streams (Topology::priorityBytes), unless it joins
  /// a bucket, which says for itself. A Receipt: the actions may.
  bool hasPriority = false;
  /// Members. None: only the copies for a drain that the step uses too.
  llvm::ArrayRef<int32_t> devices;
  int32_t slot = 0; ///< Of the end on devices[0].
  int64_t bytes = 0;
  int64_t memberBytes = 0; ///< Of the first input.
  /// Of buffers that a member of a collective needs while it runs, at most, for
  /// pieces that are not contiguous in what it puts in or gets.
  int64_t stagingBytes = 0;
  /// Of an action that may run in a bucket: the bytes that it has in one chunk
  /// (soap/Partition/Buckets.h).
  int64_t chunkBytes = 0;
  /// Pack: devices, cost, slot of the end on the first, and waits for earlier
  /// actions (at: index into packDevices).
  llvm::ArrayRef<int32_t> packDevices;
  llvm::ArrayRef<int64_t> packNs;
  int32_t packSlot = 0;
  llvm::ArrayRef<Wait> packWaits;
  /// What a member's input waits for (at: member): slots of packs, reductions
  /// or earlier actions; or places in the producer's devices.
  llvm::ArrayRef<Wait> moveWaits, producerWaits;
  /// Collectives: cost and links.
  int64_t ns = 0, occupiesNs = 0;
  llvm::ArrayRef<LinkUse> links;
  /// Transfers: one entry each, and what they cost.
  llvm::ArrayRef<TransferTask> transfers;
  llvm::ArrayRef<int64_t> costs;
  llvm::ArrayRef<int64_t> receiptNs, chainNs;
};

/// What one use of a value does before its consumer.
struct UseTasks {
  llvm::ArrayRef<int32_t> unpackDevices;
  llvm::ArrayRef<int64_t> unpackNs;
  llvm::ArrayRef<Wait> unpackWaits;  ///< at: index into unpackDevices.
  llvm::ArrayRef<Wait> computeWaits; ///< at: index into the consumer's devices.
  /// What tasks of the consumer, which follows the producer, take because they
  /// are kernels of their own, per device of the consumer; empty: nothing.
  llvm::ArrayRef<int64_t> apartNs;
  /// Some task reads what the plan makes, no shard of the producer as it is.
  bool readsPlan = false;
  int32_t round = 0; ///< 0: ValueTasks' own; k: ValueTasks::rounds[k - 1].
};

/// Bytes on a device.
struct DeviceBytes {
  int32_t device;
  int64_t bytes;
};

/// What readers of a parameter gather again, from one of them on: a round of
/// its plan behind round 0. It is launched by itself, and shares nothing with
/// other rounds.
struct RoundTasks {
  int32_t use = 0; ///< Of the reader that starts it, among the value's uses.
  int32_t firstAction = 0, firstSlot = 0;
  llvm::ArrayRef<DeviceBytes> planBytes; ///< As ValueTasks::planBytes.
};

/// Everything about one value under given configurations.
struct ValueTasks {
  /// Local reductions, right after the producer.
  llvm::ArrayRef<int32_t> reduceDevices;
  llvm::ArrayRef<int64_t> reduceNs;
  int32_t reduceSlot = 0;
  llvm::ArrayRef<ActionTasks> actions;
  llvm::ArrayRef<UseTasks> uses;
  int32_t numSlots = 0;
  /// The first slots are those of the actions that may run in a bucket. If the
  /// value stands in one, its block has at the first slot of each such action
  /// when all that the action reads is there, and a block of its own when the
  /// action ends (SimulatorState::lateBlock()).
  int32_t numLateSlots = 0;
  bool isBound = false; ///< No plan, but a lower bound of any.
  int64_t stepBytes = 0, feedBytes = 0, drainBytes = 0;
  /// Memory (host left out): of the producer's shards, with copies of them that
  /// are made once, before the first step; and of all that the plan adds to
  /// them in round 0.
  llvm::ArrayRef<DeviceBytes> shardBytes, planBytes;
  /// Rounds behind round 0, as they are launched. Round 0 has the actions and
  /// the slots in front of theirs.
  llvm::ArrayRef<RoundTasks> rounds;

  /// Actions of a round.
  llvm::ArrayRef<ActionTasks> actionsOf(int32_t round) const {
    if (LLVM_LIKELY(rounds.empty()))
      return actions;
    size_t begin = round == 0 ? 0 : rounds[round - 1].firstAction;
    size_t end = static_cast<size_t>(round) == rounds.size()
                     ? actions.size()
                     : rounds[round].firstAction;
    return actions.slice(begin, end - begin);
  }
  /// The round whose slot this is.
  int32_t roundOfSlot(int32_t slot) const {
    auto round = static_cast<int32_t>(rounds.size());
    while (round > 0 && slot < rounds[round - 1].firstSlot)
      --round;
    return round;
  }
};

/// One collective of a bucket, over the devices of its members.
struct BucketAction {
  ActionKind kind = ActionKind::AllReduce;
  bool hasPriority = false;
  llvm::ArrayRef<int32_t> devices;
  int64_t bytes = 0;       ///< Over links, all devices together.
  int64_t memberBytes = 0; ///< That each device puts in.
  int64_t ns = 0, occupiesNs = 0;
  llvm::SmallVector<LinkUse, 16> links;
  /// Per device, what it takes to copy its shares to their chunks first; empty
  /// if they lie there (isPackedBucket()).
  llvm::SmallVector<int64_t, 16> packNs;
  /// Action `action` of the compiled tasks of a value; its slots begin at
  /// `slot`, and it has `bytes` in a chunk.
  struct Member {
    int32_t value, action, slot;
    int64_t bytes;
  };
  llvm::SmallVector<Member, 8> members;
};

/// What a bucket runs, in this order: that of the lists of devices, then of the
/// kinds.
struct BucketTasks {
  llvm::SmallVector<BucketAction, 2> actions;
};

} // namespace soap::detail

#endif // SOAP_SEARCH_COMPILEDTASKS_H
