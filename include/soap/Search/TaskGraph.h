//===- TaskGraph.h - Tasks and communication of a strategy ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The task graph T of Jia et al., "Beyond data and model parallelism",
// section 5.1. One node is an operation (all its tasks) or one action of a
// communication plan; its times are arrays over devices. What a value
// contributes is compiled once into flat arrays and shared by all values of the
// same shape, accesses and configurations.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_TASKGRAPH_H
#define SOAP_SEARCH_TASKGRAPH_H

#include "soap/Search/CompiledTasks.h"
#include "soap/Search/Strategy.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace soap {

namespace detail {
class DegreesCosts;
struct Key;
} // namespace detail

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
/// The same where the uses of the value in launch order are known.
ValuePlan planOf(const OperatorGraph &graph, const Strategy &strategy,
                 const Topology &topology, int32_t value,
                 llvm::ArrayRef<int32_t> usesInOrder);

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
  Stream stream = Stream::Compute;
  llvm::SmallVector<int32_t, 8> devices;
  int64_t bytes = 0; ///< Move: bytes over links, all members together.
  /// Move of a bucket: how many values it reduces; `value` and `action` are of
  /// the first of them.
  int32_t numValues = 1;
};

class TaskGraph {
public:
  /// Keeps references to the parts of `problem`. `tables`: a task graph of the
  /// same problem, with which this one shares what tasks cost; they may be used
  /// by different threads.
  explicit TaskGraph(const SearchProblem &problem,
                     const TaskGraph *tables = nullptr);
  ~TaskGraph();

  /// Plans everything. The strategy must be valid (verify()).
  void setStrategy(const Strategy &strategy);
  /// Takes over the configurations of some nodes from `strategy`; replans only
  /// the values at those nodes.
  void update(const Strategy &strategy, llvm::ArrayRef<int32_t> nodes);
  /// Changes the launch order.
  void setOrder(llvm::ArrayRef<int32_t> order);
  /// Changes the size of buckets; 0: that of the graph. Plans stay.
  void setBucketBytes(int64_t bytes);

  /// @{ A change on trial: propose(), then bound() or plan() or both in turn,
  /// with simulations behind each, then accept() or reject(). Rejecting costs
  /// no plan and no look-up.
  /// Takes over the configurations of some nodes, each named once. The values
  /// at them, proposedValues(), have no tasks until bound() or plan().
  void propose(const Strategy &strategy, llvm::ArrayRef<int32_t> nodes);
  /// More nodes of the same change: parameters and constants that follow what
  /// reads them. bound() and plan() may have been called before.
  void proposeEnds(const Strategy &strategy, llvm::ArrayRef<int32_t> nodes);
  /// Gives the proposed values tasks that are never later than those of their
  /// plans, without planning. Values whose plan is known get that. Returns true
  /// if all do: then the tasks are those of plan(). A bound is made when
  /// valueTasks() asks for it.
  bool bound();
  /// Says that parameters and constants will be proposed later. Until then,
  /// bound() and plan() let what moves and copies their values take no time.
  /// Behind propose().
  void deferEnds();
  /// After deferEnds(), proposeEnds() and plan(): true if these values take no
  /// time indeed, so that a simulation would find what it found without them.
  bool areEndsFree() const;
  /// Like plan(), but a value is planned when valueTasks() asks for it: a
  /// simulation that ends early needs no plans of what it did not come to.
  /// plan() has to follow before accept().
  void planOnDemand();
  /// True if valueTasks() of a value is a bound or a plan that was not made
  /// yet.
  bool isPending(int32_t value) const { return !valueTasks_[value]; }
  /// Plans the proposed values that have no plan yet, in the order of the
  /// graph, parameters and constants last. `stop` sees the tasks of each and
  /// may end that: then the values behind keep what bound() gave them; if that
  /// was not called, reject() must follow. Returns true if all have plans.
  bool
  plan(llvm::function_ref<bool(const detail::ValueTasks &)> stop = nullptr);
  void accept();
  void reject();
  /// The number of the change: propose() was called so many times.
  uint64_t changeNumber() const { return changeNumber_; }
  llvm::ArrayRef<int32_t> proposedNodes() const { return proposedNodes_; }
  llvm::ArrayRef<int32_t> proposedValues() const { return proposedValues_; }
  /// What the tasks of proposedNodes()[index] were before the change.
  detail::NodeTasks nodeBefore(size_t index) const;
  /// What proposedValues()[index] was before the change.
  const detail::ValueTasks *valueBefore(size_t index) const {
    return valuesBefore_[index];
  }
  /// @}

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

  /// The bytes a device needs, per device, by liveness in launch order:
  /// parameters and inputs all the time, a value with all its copies from its
  /// producer to its last consumer. As much as is planned in the end, or more,
  /// but for gaps between buffers (docs/Search.md).
  std::vector<int64_t> peakMemory() const;
  /// True if peakMemory() is at most what each device has; checkMemory() says
  /// what does not fit.
  bool fitsMemory() const;

  /// Time of all tasks of a node on the slowest device, for reports and for
  /// proposals.
  int64_t nodeNs(int32_t node) const;
  /// Sum of the compute times of all tasks, in device-nanoseconds.
  int64_t totalComputeNs() const;

  /// @{ For simulators: compiled tasks of the current strategy.
  const detail::NodeTasks &nodeTasks(int32_t node) const {
    return nodeTasks_[node];
  }
  const detail::ValueTasks &valueTasks(int32_t value) const {
    const detail::ValueTasks *tasks = valueTasks_[value];
    return tasks ? *tasks : makeTasks(value);
  }
  /// What the tasks of a node take beside nodeTasks(), per device, since they
  /// are apart from what they follow; empty: nothing.
  llvm::ArrayRef<int64_t> apartNs(int32_t node) const {
    int32_t operand = graph_.node(node).followedOperand;
    if (LLVM_LIKELY(operand < 0))
      return {};
    return valueTasks(graph_.node(node).operands[operand])
        .uses[useIndex(node, operand)]
        .apartNs;
  }
  /// Compute nodes in launch order.
  llvm::ArrayRef<int32_t> order() const { return order_; }
  /// Packs and moves of a parameter or constant that are launched before a
  /// compute node.
  struct Prefetch {
    int32_t value;
    /// The use that may start the round in question; -1: it is round 0.
    int32_t use;

    /// The round under the tasks of the value, or -1: the use starts none.
    int32_t roundIn(const detail::ValueTasks &tasks) const;
  };
  /// What is launched before the compute node at `position` of order(), in the
  /// order of the first consumers: round 0 of a value one node before its first
  /// consumer, others at their roundPosition().
  llvm::ArrayRef<Prefetch> prefetchesAt(int32_t position) const {
    return prefetches_[position];
  }
  /// Where a value's moves are launched, as an index into order(): with its
  /// producer or as a prefetch; -1 if no compute node reads or makes it. Those
  /// of a round behind round 0 are launched at roundPosition().
  int32_t launchPosition(int32_t value) const { return launchAt_[value]; }
  /// Where the round is launched that a use starts: prefetchPositions() of the
  /// bytes of parameters that nodes read, but for updates, which read shards.
  int32_t roundPosition(int32_t value, int32_t use) const {
    return roundAt_[rank_[graph_.value(value).uses[use].node]];
  }
  /// The first place where any round of a value may be launched; -1 as for
  /// launchPosition().
  int32_t earliestPosition(int32_t value) const { return earliestAt_[value]; }
  /// Where what ends at a slot of valueTasks() is launched, but for the late
  /// slots of a bucket.
  int32_t slotPosition(int32_t value, int32_t slot) const {
    const detail::ValueTasks &tasks = valueTasks(value);
    int32_t round = tasks.roundOfSlot(slot);
    return round == 0 ? launchAt_[value]
                      : roundPosition(value, tasks.rounds[round - 1].use);
  }
  /// @{ Buckets (soap/Partition/Buckets.h) of the gradients of parameters, by
  /// number in launch order: the one of a value, or -1; its values as they are
  /// launched; those that are launched at `position` of order(), behind the
  /// values of the node there; where a bucket is; and what it runs.
  int32_t numBuckets() const { return static_cast<int32_t>(buckets_.size()); }
  int32_t bucketOf(int32_t value) const { return bucketOf_[value]; }
  llvm::ArrayRef<int32_t> bucketValues(int32_t bucket) const {
    return buckets_[bucket];
  }
  llvm::ArrayRef<int32_t> bucketsAt(int32_t position) const {
    return bucketsAt_[position];
  }
  int32_t bucketPosition(int32_t bucket) const {
    return launchAt_[buckets_[bucket].back()];
  }
  const detail::BucketTasks &bucketTasks(int32_t bucket) const;
  /// @}
  /// The index of a compute node in order(), else -1.
  int32_t rank(int32_t node) const { return rank_[node]; }
  /// The operands of all nodes, numbered in a row. `node` may be the number of
  /// nodes: then it is how many there are.
  int32_t operandIndex(int32_t node, int32_t operand) const {
    return useBase_[node] + operand;
  }
  /// Which use of operand `operand`'s value a node's operand is.
  int32_t useIndex(int32_t node, int32_t operand) const {
    return useIndex_[useBase_[node] + operand];
  }
  /// Memory that compiled plans take, in bytes.
  size_t cacheBytes() const;
  /// What tasks cost, shared with the task graphs that were made with this one.
  detail::DegreesCosts &degreesCosts() const;
  /// @}

  /// What was done so far.
  struct Statistics {
    uint64_t planned = 0; ///< Plans made,
    uint64_t reused = 0;  ///< found in the cache,
    uint64_t bounded = 0; ///< and bounds made in place of them.
  };
  const Statistics &statistics() const { return statistics_; }

private:
  struct Caches;
  void updateOrder();
  void placeRounds();
  void placePrefetches();
  void updateBuckets();
  void forgetPlans();
  std::vector<int32_t> inOrder(llvm::ArrayRef<int32_t> values) const;
  std::vector<int32_t> valuesInOrder() const;
  void takeOver(const Strategy &strategy, llvm::ArrayRef<int32_t> nodes);
  void compileNode(int32_t node);
  void planValue(int32_t value) const;
  size_t endOfPlans() const;
  const detail::ValueTasks &makeTasks(int32_t value) const;
  const detail::ValueTasks &makeBound(int32_t value) const;
  const detail::ValueTasks *noTasksOf(int32_t value) const;

  const OperatorGraph &graph_;
  const Topology &topology_;
  const CostModel &costs_;
  Strategy strategy_;
  std::vector<detail::NodeTasks> nodeTasks_;
  /// Null: a bound, or a plan, that is made when it is asked for.
  mutable std::vector<const detail::ValueTasks *> valueTasks_;
  std::vector<int32_t> order_, position_, rank_, launchAt_, useIndex_, useBase_;
  std::vector<int32_t> earliestAt_; ///< Per value.
  std::vector<int32_t> roundAt_;    ///< Per position of a round's first reader.
  std::vector<llvm::SmallVector<Prefetch, 1>> prefetches_;
  std::vector<llvm::SmallVector<int32_t, 8>> buckets_;
  llvm::SmallVector<bool, 0> bucketHasPriority_;
  std::vector<llvm::SmallVector<int32_t, 1>> bucketsAt_;
  std::vector<int32_t> bucketOf_;
  /// Per value, its uses in launch order.
  std::vector<llvm::SmallVector<int32_t, 2>> usesInOrder_;
  llvm::SmallVector<int32_t, 32> proposedNodes_, proposedValues_;
  llvm::SmallVector<const detail::ValueTasks *, 32> valuesBefore_;
  /// Of proposedValues_: those before have plans; the first of a parameter or
  /// constant.
  size_t nextToPlan_ = 0, firstStored_ = 0;
  uint64_t changeNumber_ = 0;
  bool endsFollow_ = false, plansOnDemand_ = false;
  std::unique_ptr<Caches> caches_;
  mutable Statistics statistics_;
};

} // namespace soap

#endif // SOAP_SEARCH_TASKGRAPH_H
