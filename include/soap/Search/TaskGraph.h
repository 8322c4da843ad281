//===- TaskGraph.h - Tasks and communication of a strategy ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The task graph T of Jia et al., "Beyond data and model parallelism",
// section 5.1. One node is an operation (all its tasks) or one action of a
// communication plan; its times are arrays over devices. What a configuration
// or a value contributes is compiled once into flat arrays and cached, so that
// a changed configuration costs a few look-ups.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_TASKGRAPH_H
#define SOAP_SEARCH_TASKGRAPH_H

#include "soap/Search/Strategy.h"
#include <memory>
#include <unordered_map>

namespace soap {

/// When an action runs. Feeds bring inputs from the host, drains bring outputs
/// there: both are counted but are not part of the step time.
enum class Phase : uint8_t { Step, Feed, Drain };
llvm::StringRef stringify(Phase phase);

/// Feed if all that `action` reads is on the host, Drain if all that it writes
/// is, else Step.
Phase phaseOf(const Action &action, const ValuePlan &plan, int32_t host);

/// The layout of a value under a strategy, and what use `use` of it needs.
Layout layoutOf(const OperatorGraph &graph, const Strategy &strategy,
                int32_t value);
Need needOf(const OperatorGraph &graph, const Strategy &strategy, int32_t value,
            int32_t use);

/// The plan of a value. Consumer k of the plan is use k of the value. The one
/// way from a strategy to a plan: the simulator and the partitioner both call
/// it.
ValuePlan planOf(const OperatorGraph &graph, const Strategy &strategy,
                 const Topology &topology, int32_t value);

/// True if a read or a port is one whole shard, so that nothing is copied.
bool isWholeShard(llvm::ArrayRef<Piece> pieces, const Box &box,
                  const ValuePlan &plan);

/// One node of the task graph, in the form reports and schedules want.
struct TaskNode {
  enum class Kind : uint8_t { Compute, Pack, Move, Unpack };
  Kind kind = Kind::Compute;
  int32_t node = -1;   ///< Compute: the operation. Unpack: the consumer.
  int32_t value = -1;  ///< Pack, Move, Unpack.
  int32_t action = -1; ///< Pack, Move: index into the value's plan; -1: the
                       ///< pack is the value's local reductions.
  ActionKind actionKind = ActionKind::Transfer; ///< Move.
  llvm::SmallVector<int32_t, 8> devices;
  int64_t bytes = 0; ///< Move: bytes over links, all members together.
};

namespace detail {
/// Compiled: the tasks of one configuration of one node.
struct NodeTasks {
  std::vector<int32_t> devices; ///< Sorted, each once.
  std::vector<int64_t> ns;      ///< Sum of the task costs per device.
};

/// "Entry `at` waits for time `slot`" of the value's block of times.
struct Wait {
  int32_t at, slot;
};

struct TransferTask {
  int32_t source, target; ///< Indices into the action's devices.
  int64_t latencyNs, ns;  ///< ns: bytes / smallest bandwidth.
  int32_t linkBegin, linkEnd;
  int64_t occupiesNs; ///< How long it holds the target's compute stream.
};

/// Compiled: one action in phase Step, with its pack. Slots are places in the
/// value's block of times.
struct ActionTasks {
  int32_t action = 0; ///< Index into the plan.
  ActionKind kind = ActionKind::Transfer;
  /// Members. None: only the copies for a drain that the step uses too.
  std::vector<int32_t> devices;
  int32_t slot = 0; ///< Of the end on devices[0].
  int64_t bytes = 0;
  /// Pack: devices, cost, slot of the end on the first, and waits for earlier
  /// actions (at: index into packDevices).
  std::vector<int32_t> packDevices;
  std::vector<int64_t> packNs;
  int32_t packSlot = 0;
  std::vector<Wait> packWaits;
  /// What a member's input waits for (at: member): slots of packs, reductions
  /// or earlier actions; or places in the producer's devices.
  std::vector<Wait> moveWaits, producerWaits;
  std::vector<char> sends; ///< Per member: does it put something in?
  /// Collectives: cost and links. Transfers: one entry each.
  bool isCollective = false;
  int64_t ns = 0, occupiesNs = 0;
  std::vector<LinkUse> links;
  std::vector<TransferTask> transfers;
};

/// Compiled: what one use of a value does before its consumer.
struct UseTasks {
  std::vector<int32_t> unpackDevices;
  std::vector<int64_t> unpackNs;
  std::vector<Wait> unpackWaits;  ///< at: index into unpackDevices.
  std::vector<Wait> computeWaits; ///< at: index into the consumer's devices.
};

/// Compiled: everything about one value under given configurations.
struct ValueTasks {
  /// Local reductions, right after the producer.
  std::vector<int32_t> reduceDevices;
  std::vector<int64_t> reduceNs;
  int32_t reduceSlot = 0;
  std::vector<ActionTasks> actions;
  std::vector<UseTasks> uses;
  int32_t numSlots = 0;
  int64_t stepBytes = 0, feedBytes = 0, drainBytes = 0;
  /// Memory per device (host left out): of the producer's shards, and of all
  /// that the plan adds to them.
  std::vector<std::pair<int32_t, int64_t>> shardBytes, planBytes;
};
} // namespace detail

class TaskGraph {
public:
  /// Keeps references to its arguments.
  TaskGraph(const OperatorGraph &graph, const Topology &topology,
            const CostModel &costs);
  ~TaskGraph();

  /// Plans everything. The strategy must be valid (verify()).
  void setStrategy(const Strategy &strategy);
  /// Takes over the configurations of some nodes from `strategy`; replans only
  /// the values at those nodes.
  void update(const Strategy &strategy, llvm::ArrayRef<int32_t> nodes);
  /// Changes the launch order.
  void setOrder(llvm::ArrayRef<int32_t> order);

  const OperatorGraph &graph() const { return graph_; }
  const Topology &topology() const { return topology_; }
  const CostModel &costs() const { return costs_; }
  const Strategy &strategy() const { return strategy_; }

  /// All nodes in launch order.
  std::vector<TaskNode> nodes() const;

  /// What moves in each phase, in launch order of the producers and order of
  /// the plans: the form that IR and runtime are compared with.
  std::vector<Movement> movements(Phase phase) const;
  /// Bytes over links in a phase. In a collective, every member's input counts
  /// once per other member that gets it; a reduction as a ring does.
  int64_t bytes(Phase phase) const;

  /// Upper bound of the bytes a device needs, per device, by liveness in launch
  /// order: parameters and inputs all the time, a value with all its copies
  /// from its producer to its last consumer.
  std::vector<int64_t> peakMemory() const;
  /// The first device whose memory does not suffice, as an error text, or an
  /// empty string.
  std::string checkMemory() const;

  /// Time of all tasks of a node on the slowest device, for reports and for
  /// proposals.
  int64_t nodeNs(int32_t node) const;
  /// Sum of the compute times of all tasks, in device-nanoseconds.
  int64_t totalComputeNs() const;

  /// @{ For simulators: compiled tasks of the current strategy.
  const detail::NodeTasks &nodeTasks(int32_t node) const {
    return *nodeTasks_[node];
  }
  const detail::ValueTasks &valueTasks(int32_t value) const {
    return *valueTasks_[value];
  }
  /// Compute nodes in launch order.
  llvm::ArrayRef<int32_t> order() const { return order_; }
  /// Values of parameters and constants whose packs and moves are launched
  /// before the compute node at `position` of order(): one node before their
  /// first consumer.
  llvm::ArrayRef<int32_t> prefetchesAt(int32_t position) const {
    return prefetches_[position];
  }
  /// Which use of operand `operand`'s value a node's operand is.
  int32_t useIndex(int32_t node, int32_t operand) const {
    return useIndex_[useBase_[node] + operand];
  }
  /// @}

  /// Plans made and plans found in the cache, so far.
  struct Statistics {
    uint64_t planned = 0, reused = 0;
  };
  const Statistics &statistics() const { return statistics_; }

private:
  struct Cache;
  void updateOrder();
  std::vector<int32_t> valuesInOrder() const;
  void updateNode(int32_t node);
  void updateValue(int32_t value);
  detail::NodeTasks compileNode(int32_t node) const;
  detail::ValueTasks compileValue(int32_t value) const;

  const OperatorGraph &graph_;
  const Topology &topology_;
  const CostModel &costs_;
  Strategy strategy_;
  std::vector<int32_t> configIds_; ///< Per node, in the cache's numbering.
  std::vector<std::shared_ptr<const detail::NodeTasks>> nodeTasks_;
  std::vector<std::shared_ptr<const detail::ValueTasks>> valueTasks_;
  std::vector<int32_t> order_, position_, useIndex_, useBase_;
  std::vector<llvm::SmallVector<int32_t, 1>> prefetches_;
  std::unique_ptr<Cache> cache_;
  Statistics statistics_;
};

} // namespace soap

#endif // SOAP_SEARCH_TASKGRAPH_H
