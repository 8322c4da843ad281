//===- FullSimulation.cpp - The paper's Algorithm 1 -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskLevelGraph.h"

using namespace soap;
using namespace soap::test;

void TaskLevelGraph::linkBehind(int32_t id, int32_t before) {
  Task &task = tasks_[id];
  int32_t after = before == none ? first_[task.queue] : tasks_[before].next;
  task.previous = before;
  task.next = after;
  (before == none ? first_[task.queue] : tasks_[before].next) = id;
  (after == none ? last_[task.queue] : tasks_[after].previous) = id;
}

void TaskLevelGraph::unlink(int32_t id) {
  Task &task = tasks_[id];
  (task.previous == none ? first_[task.queue] : tasks_[task.previous].next) =
      task.next;
  (task.next == none ? last_[task.queue] : tasks_[task.next].previous) =
      task.previous;
  task.previous = task.next = none;
  task.placedNs = never;
}

int64_t TaskLevelGraph::stepNs() const {
  int64_t last = 0;
  for (int32_t task : last_)
    if (task != none)
      last = std::max(last, tasks_[task].endNs);
  return last;
}

int64_t TaskLevelGraph::simulateFull() {
  for (int32_t task : changed_)
    tasks_[task].isChanged = false;
  changed_.clear();
  first_.assign(first_.size(), none);
  last_.assign(last_.size(), none);
  queue_ = {};
  missing_.assign(tasks_.size(), 0);
  for (size_t id = 0; id < tasks_.size(); ++id) {
    Task &task = tasks_[id];
    if (!task.exists)
      continue;
    task.readyNs = 0;
    int32_t number = static_cast<int32_t>(id);
    forPredecessors(number, [&](int32_t) { ++missing_[id]; });
    if (missing_[id] == 0)
      queue_.push({0, task.rank, number});
  }
  while (!queue_.empty()) {
    int32_t id = std::get<2>(queue_.top());
    queue_.pop();
    ++statistics_.simulated;
    Task &task = tasks_[id];
    int32_t before = last_[task.queue];
    task.placedNs = task.readyNs;
    task.startNs = before == none
                       ? task.readyNs
                       : std::max(task.readyNs, tasks_[before].endNs);
    task.endNs = task.startNs + task.exeNs;
    linkBehind(id, before);
    forSuccessors(id, [&](int32_t next) {
      Task &successor = tasks_[next];
      successor.readyNs = std::max(successor.readyNs, task.endNs);
      if (--missing_[next] == 0)
        queue_.push({successor.readyNs, successor.rank, next});
    });
  }
  return stepNs();
}

int64_t test::simulateTaskLevel(const OperatorGraph &graph,
                                const Strategy &strategy,
                                const Topology &topology,
                                const CostModel &costs) {
  TaskLevelGraph tasks(graph, topology, costs);
  tasks.build(strategy);
  return tasks.simulateFull();
}
