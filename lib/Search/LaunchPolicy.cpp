//===- LaunchPolicy.cpp - Policies that produce a launch order ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/LaunchPolicy.h"
#include "SimulatorPass.h"
#include "soap/Testing/PlantedFault.h"
#include <queue>

using namespace soap;
using namespace soap::detail;

namespace {
/// Launches nodes one after the other, in whatever order the policy chooses
/// among those whose producers have been launched, and simulates as it goes.
class ListScheduler {
public:
  explicit ListScheduler(const TaskGraph &tasks)
      : graph_(tasks.graph()), tasks_(tasks), missing_(graph_.numNodes(), 0),
        launched_(graph_.numValues()), late_(graph_.numNodes()) {
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (int32_t after = graph_.node(id).after;
          after >= 0 && !SOAP_FAULT("made-again-early")) {
        late_[after].push_back(id);
        ++missing_[id];
      }
    for (int32_t bucket = 0; bucket < tasks.numBuckets(); ++bucket)
      unlaunched_.push_back(tasks.bucketValues(bucket).size());
  }

  /// `add(node, time)` is told every node that becomes ready and when all that
  /// it reads is there; `next(pass)` gives the node to launch, or -1.
  template <typename Add, typename Next>
  std::vector<int32_t> run(Add add, Next next) {
    SimulatorState state;
    state.reset(tasks_);
    RecordNothing record;
    Pass pass(tasks_, state, record);

    // What costs no time and reads nothing stands in front; behind, what
    // writes parameters, then outputs.
    std::vector<int32_t> order;
    for (int32_t id = 0; id < graph_.numNodes(); ++id) {
      const GraphNode &node = graph_.node(id);
      if (node.role != NodeRole::Compute) {
        if (node.role != NodeRole::Output)
          order.push_back(id);
        continue;
      }
      for (int32_t value : node.operands)
        missing_[id] += isComputed(value);
      if (missing_[id] == 0 && !isWrite(id))
        add(id, 0);
    }
    for (int32_t id; (id = next(state)) >= 0;) {
      order.push_back(id);
      for (auto [operand, value] : llvm::enumerate(graph_.node(id).operands)) {
        if (isComputed(value))
          continue;
        int32_t use = tasks_.useIndex(id, static_cast<int32_t>(operand));
        int32_t round = tasks_.valueTasks(value).uses[use].round;
        if (llvm::is_contained(launched_[value], round))
          continue;
        launched_[value].push_back(round);
        pass.launchValue(value, round);
      }
      pass.launchNode(id);
      auto arrive = [&](int32_t node) {
        if (--missing_[node] == 0 && !isWrite(node) &&
            graph_.node(node).role == NodeRole::Compute)
          add(node, pass.readyTime(node));
      };
      auto release = [&](int32_t value) {
        for (const GraphValue::Use &use : graph_.value(value).uses)
          arrive(use.node);
      };
      for (int32_t value : graph_.node(id).results) {
        pass.launchValue(value);
        int32_t bucket = tasks_.bucketOf(value);
        if (bucket < 0) {
          release(value);
        } else if (--unlaunched_[bucket] == 0) {
          // Whoever reads a value of the bucket stands behind all of them.
          pass.launchBucket(bucket);
          llvm::for_each(tasks_.bucketValues(bucket), release);
        }
      }
      llvm::for_each(late_[id], arrive);
    }
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (isWrite(id))
        order.push_back(id);
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (graph_.node(id).role == NodeRole::Output)
        order.push_back(id);
    return order;
  }

private:
  bool isWrite(int32_t id) const { return graph_.node(id).writtenOperand >= 0; }
  bool isComputed(int32_t value) const {
    return graph_.node(graph_.value(value).producer).role == NodeRole::Compute;
  }

  const OperatorGraph &graph_;
  const TaskGraph &tasks_;
  std::vector<int32_t> missing_;
  std::vector<size_t> unlaunched_;                      ///< Per bucket.
  std::vector<llvm::SmallVector<int32_t, 1>> launched_; ///< Rounds, per value.
  /// Per node, what is launched behind it without reading it.
  std::vector<llvm::SmallVector<int32_t, 1>> late_;
};

int64_t longest(llvm::ArrayRef<int64_t> times) {
  return times.empty() ? 0 : *std::max_element(times.begin(), times.end());
}

/// Time that an action takes by itself: a collective its cost, transfers as
/// long as the device with most of them.
int64_t timeOf(const ActionTasks &action) {
  int64_t pack = longest(action.packNs);
  if (action.form == ActionTasks::Form::Collective)
    return pack + action.ns;
  std::vector<int64_t> busy(action.devices.size(), 0);
  for (const TransferTask &transfer : action.transfers)
    for (int32_t member : {transfer.source, transfer.target})
      busy[member] += action.costs[transfer.cost];
  return pack + longest(busy);
}
} // namespace

std::vector<int32_t> soap::fifoOrder(const TaskGraph &tasks) {
  ListScheduler scheduler(tasks);
  using Entry = std::pair<int64_t, int32_t>; // Ready time, node.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  return scheduler.run(
      [&](int32_t node, int64_t time) { queue.push({time, node}); },
      [&](const SimulatorState &) {
        if (queue.empty())
          return -1;
        int32_t node = queue.top().second;
        queue.pop();
        return node;
      });
}

std::vector<int64_t> soap::timeToEnd(const TaskGraph &tasks) {
  const OperatorGraph &graph = tasks.graph();
  std::vector<int64_t> ranks(graph.numNodes(), 0);
  // Nodes stand behind their operands.
  for (int32_t id = graph.numNodes(); id-- > 0;) {
    int64_t after = 0;
    for (int32_t value : graph.node(id).results) {
      const ValueTasks &moved = tasks.valueTasks(value);
      llvm::SmallVector<int64_t, 2> moving; // Per round.
      for (size_t round = 0; round <= moved.rounds.size(); ++round) {
        moving.push_back(round == 0 ? longest(moved.reduceNs) : 0);
        for (const ActionTasks &action :
             moved.actionsOf(static_cast<int32_t>(round)))
          moving.back() += timeOf(action);
      }
      for (auto [use, tasksOfUse] :
           llvm::zip_equal(graph.value(value).uses, moved.uses)) {
        bool waits =
            !tasksOfUse.unpackWaits.empty() || !tasksOfUse.computeWaits.empty();
        after =
            std::max(after, (waits ? moving[tasksOfUse.round] : 0) +
                                longest(tasksOfUse.unpackNs) + ranks[use.node]);
      }
    }
    ranks[id] = tasks.nodeNs(id) + after;
  }
  return ranks;
}

std::vector<int32_t> soap::criticalPathOrder(const TaskGraph &tasks) {
  ListScheduler scheduler(tasks);
  std::vector<int64_t> ranks = timeToEnd(tasks);
  std::vector<std::pair<int64_t, int32_t>> ready; // Ready time, node.
  return scheduler.run(
      [&](int32_t node, int64_t time) { ready.push_back({time, node}); },
      [&](const SimulatorState &state) {
        using Key = std::tuple<int64_t, int64_t, int32_t>;
        auto best = ready.end();
        Key bestKey;
        for (auto it = ready.begin(); it != ready.end(); ++it) {
          int64_t start = it->first;
          for (int32_t device : tasks.nodeTasks(it->second).devices)
            start = std::max(start, state.resources[device]);
          Key key{start, -ranks[it->second], it->second};
          if (best != ready.end() && bestKey <= key)
            continue;
          best = it;
          bestKey = key;
        }
        if (best == ready.end())
          return -1;
        int32_t node = best->second;
        *best = ready.back();
        ready.pop_back();
        return node;
      });
}

/// Plans for an order must not depend on the order that is there.
static void planInGraphOrder(TaskGraph &tasks, Strategy strategy) {
  strategy.order.clear();
  tasks.setStrategy(strategy);
}

std::vector<int32_t> soap::fifoOrder(const SearchProblem &problem,
                                     const Strategy &strategy) {
  TaskGraph tasks(problem);
  planInGraphOrder(tasks, strategy);
  return fifoOrder(tasks);
}

std::vector<int32_t> soap::criticalPathOrder(const SearchProblem &problem,
                                             const Strategy &strategy) {
  TaskGraph tasks(problem);
  planInGraphOrder(tasks, strategy);
  return criticalPathOrder(tasks);
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

llvm::ArrayRef<llvm::StringRef> soap::launchPolicyNames() {
  static const llvm::StringRef names[] = {"program", "fifo", "critical-path"};
  return names;
}

bool soap::isLaunchPolicy(llvm::StringRef name) {
  return llvm::is_contained(launchPolicyNames(), name);
}

std::vector<int32_t> soap::launchOrder(llvm::StringRef name,
                                       const SearchProblem &problem,
                                       const Strategy &strategy) {
  assert(isLaunchPolicy(name) && "no such policy");
  if (name == "fifo")
    return fifoOrder(problem, strategy);
  if (name == "critical-path")
    return criticalPathOrder(problem, strategy);
  return strategy.order;
}

llvm::SmallVector<PolicyTime, 3>
soap::simulatePolicies(const SearchProblem &problem, const Strategy &strategy) {
  TaskGraph tasks(problem);
  tasks.setStrategy(strategy);
  llvm::SmallVector<PolicyTime, 3> times;
  for (llvm::StringRef name : launchPolicyNames()) {
    tasks.setOrder(launchOrder(name, problem, strategy));
    times.push_back({name, FullSimulator(tasks).stepNs()});
  }
  return times;
}

std::vector<int32_t>
soap::dependencyOrder(const OperatorGraph &graph,
                      llvm::function_ref<void(int32_t)> add,
                      llvm::function_ref<int32_t()> next) {
  std::vector<int32_t> missing(graph.numNodes());
  std::vector<llvm::SmallVector<int32_t, 1>> late(graph.numNodes());
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    missing[id] = static_cast<int32_t>(node.operands.size());
    if (node.after >= 0) {
      ++missing[id];
      late[node.after].push_back(id);
    }
    if (missing[id] == 0)
      add(id);
  }
  auto arrive = [&](int32_t id) {
    if (--missing[id] == 0)
      add(id);
  };
  std::vector<int32_t> order;
  while (static_cast<int32_t>(order.size()) < graph.numNodes()) {
    int32_t id = next();
    order.push_back(id);
    for (int32_t value : graph.node(id).results)
      for (const GraphValue::Use &use : graph.value(value).uses)
        arrive(use.node);
    llvm::for_each(late[id], arrive);
  }
  keepPorts(order, graph);
  return order;
}
