//===- DeltaSimulation.cpp - The paper's Algorithm 2 ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithm 2 with a queue in the order of time. As printed, the queue is
// sorted by the new ready time. A task that is ready later than before then
// keeps its old end until the queue arrives at its new ready time, and what
// runs behind it is simulated with that end, again and again. Here a task waits
// in the queue at the earlier of its old and its new ready time, and one that
// is ready later has no end from its old ready time on until its new one (as in
// Ramalingam and Reps, "An incremental algorithm for a generalization of the
// shortest-path problem", 1996).
//
// When the queue is at a time, all that happens before it is final: whatever a
// task changes is behind its own place in the order of (ready time, rank). So a
// task leaves its place at most once and gets a start at most once, and the
// times are those of Algorithm 1, which takes tasks in the same order.
//
//===----------------------------------------------------------------------===//

#include "TaskLevelGraph.h"
#include "llvm/ADT/STLExtras.h"

using namespace soap;
using namespace soap::test;

int64_t TaskLevelGraph::readyTime(int32_t task) const {
  int64_t time = 0;
  forPredecessors(task, [&](int32_t predecessor) {
    time = std::max(time, tasks_[predecessor].endNs);
  });
  return time;
}

int64_t TaskLevelGraph::startTime(int32_t id) const {
  const Task &task = tasks_[id];
  return task.previous == none
             ? task.placedNs
             : std::max(task.placedNs, tasks_[task.previous].endNs);
}

/// "Swap t with other tasks on the device to maintain FIFO": finds the place of
/// a task that has none. The search starts where the last one on its device
/// ended, because places are found in the order of time, or at the end of the
/// order that is nearer.
void TaskLevelGraph::place(int32_t id) {
  Task &task = tasks_[id];
  auto isBefore = [&](int32_t a, int32_t b) {
    const Task &x = tasks_[a], &y = tasks_[b];
    return std::pair(x.placedNs, x.rank) < std::pair(y.placedNs, y.rank);
  };
  task.placedNs = task.readyNs;
  int32_t before = lastPlaced_[task.queue], tail = last_[task.queue];
  if (before == none && tail != none)
    before =
        task.placedNs < tasks_[tail].placedNs / 2 ? first_[task.queue] : tail;
  while (before != none && isBefore(id, before))
    before = tasks_[before].previous;
  for (int32_t after = before == none ? none : tasks_[before].next;
       after != none && isBefore(after, id); after = tasks_[after].next)
    before = after;
  linkBehind(id, before);
  lastPlaced_[task.queue] = id;
}

void TaskLevelGraph::leavePlace(int32_t id) {
  Task &task = tasks_[id];
  int32_t next = task.next;
  if (lastPlaced_[task.queue] == id)
    lastPlaced_[task.queue] = task.previous;
  unlink(id);
  pushIfStartChanges(next);
}

void TaskLevelGraph::push(int32_t id) {
  Task &task = tasks_[id];
  int64_t time = std::min(task.placedNs, task.readyNs);
  if (time >= task.queuedNs)
    return;
  task.queuedNs = time;
  queue_.push({time, task.rank, id});
}

void TaskLevelGraph::pushIfStartChanges(int32_t id) {
  if (id != none && startTime(id) != tasks_[id].startNs)
    push(id);
}

/// Tells the successors. UPDATETASK: a predecessor's end changes the ready time
/// if it is the last one, or was.
void TaskLevelGraph::setEnd(int32_t id, int64_t newEnd) {
  int64_t oldEnd = tasks_[id].endNs;
  if (newEnd == oldEnd)
    return;
  tasks_[id].endNs = newEnd;
  forSuccessors(id, [&](int32_t next) {
    Task &task = tasks_[next];
    int64_t time = task.readyNs;
    if (newEnd >= time)
      time = newEnd;
    else if (oldEnd == time)
      time = readyTime(next);
    if (time == task.readyNs)
      return;
    task.readyNs = time;
    push(next);
  });
}

int64_t TaskLevelGraph::simulateDelta() {
  queue_ = {};
  lastPlaced_.assign(last_.size(), none);
  for (int32_t id : changed_) {
    Task &task = tasks_[id];
    task.isChanged = false;
    if (!task.exists)
      continue;
    task.readyNs = readyTime(id);
    if (task.readyNs != task.placedNs)
      push(id);
    else
      pushIfStartChanges(id);
  }
  changed_.clear();

  while (!queue_.empty()) {
    auto [time, rank, id] = queue_.top();
    queue_.pop();
    Task &task = tasks_[id];
    if (time != task.queuedNs)
      continue; // It has left the queue at an earlier time.
    task.queuedNs = never;
    if (time != std::min(task.placedNs, task.readyNs)) {
      push(id); // It became ready later while it was in the queue.
      continue;
    }
    if (task.placedNs < task.readyNs) {
      leavePlace(id);
      setEnd(id, never);
      push(id);
      continue;
    }
    bool moves = task.readyNs < task.placedNs;
    if (moves) {
      if (task.placedNs != never)
        leavePlace(id);
      place(id);
    }
    int64_t start = startTime(id);
    if (!moves && start == task.startNs)
      continue; // What was in front of it is where it was, again.
    ++statistics_.simulated;
    task.startNs = start;
    setEnd(id, start + task.exeNs);
    pushIfStartChanges(task.next);
  }
  return stepNs();
}
