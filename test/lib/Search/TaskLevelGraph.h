//===- TaskLevelGraph.h - The paper's own simulation ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jia et al., "Beyond data and model parallelism for deep neural networks",
// sections 5.1 to 5.3: a task graph of tasks and transfers between pairs of
// tasks, Algorithm 1 (full simulation) and Algorithm 2 (delta simulation). It
// shares neither plans nor compiled tasks with the simulator of soap/Search, so
// tests compare the two where nothing contends, and benchmarks measure both.
//
// Where the paper leaves a choice:
// - Inputs, outputs, parameters and constants are no tasks. A parameter lies
//   where its configuration says from time 0, and is transferred from there.
// - A reader takes a copy (`replicate`) from its own device, else from the
//   nearest one.
// - A transfer takes latency + bytes / bandwidth of the route.
// - Of tasks with the same ready time, the one of lower rank is first. Ranks do
//   not depend on how a graph came about, and rise along dependencies, so the
//   tasks of a device are in the order of (ready time, rank), also where tasks
//   take no time. Hence there is one timeline, and both algorithms find it.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_SEARCH_TASKLEVELGRAPH_H
#define SOAP_TEST_LIB_SEARCH_TASKLEVELGRAPH_H

#include "soap/Search/Strategy.h"
#include <cstdint>
#include <map>
#include <queue>
#include <tuple>

namespace soap::test {

/// A task of an operation or a transfer, with its times: Table 2 of the paper.
struct TaskTimes {
  /// Operation, operand, task that reads, task that writes. A task of an
  /// operation has operand -1 and is its own reader and writer.
  int32_t node, operand, reader, writer;
  /// Where it runs. Transfers: where from, and where to; else both the same.
  int32_t device, target;
  int64_t readyNs, startNs, endNs;

  bool operator==(const TaskTimes &o) const {
    return node == o.node && operand == o.operand && reader == o.reader &&
           writer == o.writer && device == o.device && target == o.target &&
           readyNs == o.readyNs && startNs == o.startNs && endNs == o.endNs;
  }
};

/// The task graph of one strategy, its timeline, and both algorithms.
class TaskLevelGraph {
public:
  /// Keeps references to its arguments. There are no tasks before build().
  TaskLevelGraph(const OperatorGraph &graph, const Topology &topology,
                 const CostModel &costs);

  /// BUILDTASKGRAPH: all tasks and transfers of a valid strategy, without
  /// times. Its launch order plays no role: devices take what is ready first.
  void build(const Strategy &strategy);

  /// UPDATETASKGRAPH: replaces the tasks of `nodes`, whose configurations in
  /// `strategy` are new, and all transfers from and to them. A proposal is
  /// taken back by an update to the configurations of before. Updates add up
  /// until the next simulation.
  void update(const Strategy &strategy, llvm::ArrayRef<int32_t> nodes);

  /// Algorithm 1 without its line 2: finds all times. Returns the time of a
  /// step in nanoseconds.
  int64_t simulateFull();

  /// Algorithm 2 without its line 4: starts from the tasks that updates changed
  /// since the last simulation (after build(): all), and goes on until nothing
  /// changes. Returns what simulateFull() would.
  int64_t simulateDelta();

  /// All tasks by rank, with the times of the last simulation.
  std::vector<TaskTimes> timeline() const;

  int64_t numTasks() const { return numTasks_; }

  struct Statistics {
    int64_t simulated = 0; ///< How often a task got a start.
  };
  const Statistics &statistics() const { return statistics_; }

private:
  static constexpr int32_t none = -1;
  /// The time of what has no time yet.
  static constexpr int64_t never = INT64_MAX;

  /// Operations, operands, readers and writers in one number: bits 44, 32, 16
  /// and 0 upwards. Transfers to an operation are before its tasks.
  using Rank = uint64_t;
  static Rank rankOf(int32_t node, int32_t operand, int32_t reader,
                     int32_t writer);

  struct Task {
    Rank rank = 0;
    int32_t queue = 0; ///< The device or connection, in `first_` and `last_`.
    int32_t previous = none, next = none; ///< On the same, in execution order.
    int64_t exeNs = 0;
    int64_t readyNs = never;  ///< The latest end of its predecessors.
    int64_t placedNs = never; ///< The ready time by which it has its place.
    int64_t startNs = never, endNs = never;
    int64_t queuedNs = never; ///< The time at which it is in the queue.
    bool exists = false;
    bool isChanged = false; ///< In `changed_`.
  };

  /// One reader's piece of an operand: a dependency between two tasks, through
  /// a transfer if they are on different devices.
  struct Dependency {
    int32_t producer; ///< None: a parameter.
    int32_t transfer; ///< None: both are on one device.
    int32_t reader;
  };
  /// The dependencies of one operand of one operation, grouped by readers, and
  /// the same grouped by writers (indices).
  struct Connection {
    std::vector<Dependency> dependencies;
    std::vector<int32_t> readerBegin, writerBegin, byWriter;
  };
  /// The tasks of one node and what each of them touches.
  struct NodeState {
    std::vector<int32_t> tasks; ///< Empty if it does not compute.
    std::vector<std::vector<Box>> operands, results; ///< Per value, per task.
  };

  /// @{ TaskLevelGraph.cpp
  void setNode(int32_t node);
  void connect(int32_t node, size_t operand);
  void removeTransfers(Connection &connection);
  /// A new task without a place.
  int32_t addTask(Rank rank, int32_t queue, int64_t exeNs);
  void removeTask(int32_t task);
  void markChanged(int32_t task);
  /// Costs of the tasks of a node under its degrees, per kind of device: cached
  /// as the paper says.
  const std::vector<std::vector<int64_t>> &exeTimes(int32_t node);
  Connection &connectionOf(int32_t node, size_t operand) {
    return connections_[firstConnection_[node] + operand];
  }
  const Connection &connectionOf(int32_t node, size_t operand) const {
    return connections_[firstConnection_[node] + operand];
  }
  /// @}

  /// @{ I(t), O(t): calls `visit` with each task.
  template <typename Fn>
  void forPredecessors(int32_t task, Fn visit) const;
  template <typename Fn>
  void forSuccessors(int32_t task, Fn visit) const;
  /// @}

  /// @{ Execution orders.
  void unlink(int32_t task);
  /// Puts a task between `before` and what follows it; none: in front.
  void linkBehind(int32_t task, int32_t before);
  int64_t stepNs() const;
  /// @}

  /// @{ Algorithm 2.
  int64_t readyTime(int32_t task) const;
  int64_t startTime(int32_t task) const;
  void place(int32_t task);
  void leavePlace(int32_t task);
  void push(int32_t task);
  void pushIfStartChanges(int32_t task); ///< Or none.
  void setEnd(int32_t task, int64_t newEnd);
  /// @}

  const OperatorGraph &graph_;
  const Topology &topology_;
  const CostModel &costs_;
  Strategy strategy_;

  std::vector<Task> tasks_;
  std::vector<int32_t> free_; ///< Unused entries of `tasks_`.
  int64_t numTasks_ = 0;
  std::vector<NodeState> nodes_;
  std::vector<Connection> connections_; ///< Per node and operand.
  std::vector<int32_t> firstConnection_;
  std::vector<int32_t> first_, last_; ///< Per device, then per connection.
  /// New tasks, tasks whose predecessors are others, and tasks behind one that
  /// is gone, since the last simulation; some may be gone themselves.
  std::vector<int32_t> changed_;

  /// Ready time, rank, task.
  using Entry = std::tuple<int64_t, Rank, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::vector<int32_t> missing_;    ///< Algorithm 1: I(t) not yet complete.
  std::vector<int32_t> lastPlaced_; ///< Algorithm 2: per device, or none.
  Statistics statistics_;

  using Costs =
      std::map<std::vector<int32_t>, std::vector<std::vector<int64_t>>>;
  std::vector<Costs> costCache_; ///< Per node, by degrees.
};

/// The time of a step in nanoseconds by Algorithm 1.
int64_t simulateTaskLevel(const OperatorGraph &graph, const Strategy &strategy,
                          const Topology &topology, const CostModel &costs);

template <typename Fn>
void TaskLevelGraph::forPredecessors(int32_t task, Fn visit) const {
  Rank rank = tasks_[task].rank;
  int32_t node = static_cast<int32_t>(rank >> 44);
  size_t operand = rank >> 32 & 0xfff, reader = rank >> 16 & 0xffff;
  if (operand != 0xfff) {
    const GraphValue &value = graph_.value(graph_.node(node).operands[operand]);
    const std::vector<int32_t> &producers = nodes_[value.producer].tasks;
    if (!producers.empty())
      visit(producers[rank & 0xffff]);
    return;
  }
  for (size_t i = 0; i < graph_.node(node).operands.size(); ++i) {
    const Connection &connection = connectionOf(node, i);
    if (connection.dependencies.empty())
      continue;
    for (int32_t at = connection.readerBegin[reader];
         at < connection.readerBegin[reader + 1]; ++at) {
      const Dependency &dependency = connection.dependencies[at];
      if (dependency.transfer != none)
        visit(dependency.transfer);
      else if (dependency.producer != none)
        visit(dependency.producer);
    }
  }
}

template <typename Fn>
void TaskLevelGraph::forSuccessors(int32_t task, Fn visit) const {
  Rank rank = tasks_[task].rank;
  int32_t node = static_cast<int32_t>(rank >> 44);
  size_t operand = rank >> 32 & 0xfff, index = rank >> 16 & 0xffff;
  if (operand != 0xfff) {
    visit(nodes_[node].tasks[index]);
    return;
  }
  for (int32_t result : graph_.node(node).results)
    for (const GraphValue::Use &use : graph_.value(result).uses) {
      const Connection &connection = connectionOf(use.node, use.operand);
      if (connection.dependencies.empty())
        continue;
      for (int32_t at = connection.writerBegin[index];
           at < connection.writerBegin[index + 1]; ++at) {
        const Dependency &dependency =
            connection.dependencies[connection.byWriter[at]];
        visit(dependency.transfer != none ? dependency.transfer
                                          : dependency.reader);
      }
    }
}

} // namespace soap::test

#endif // SOAP_TEST_LIB_SEARCH_TASKLEVELGRAPH_H
