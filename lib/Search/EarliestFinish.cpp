//===- EarliestFinish.cpp - Tasks to devices, one after the other ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EarliestFinish.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>
#include <set>

using namespace soap;
using namespace soap::detail;

int64_t detail::arrivalNs(const Topology &topology, int32_t from, int32_t to,
                          int64_t bytes) {
  if (from == to)
    return 0;
  Route route = topology.route(from, to);
  return route.latencyNs + route.ns(static_cast<double>(bytes));
}

namespace {
/// When a device is busy, ascending.
class BusyTimes {
public:
  /// The earliest time from `ready` on at which `ns` are free.
  int64_t find(int64_t ready, int64_t ns) const {
    if (ns == 0)
      return ready;
    auto next = firstEndingBehind(ready);
    int64_t start = ready;
    for (; next != intervals_.end() && next->first < start + ns; ++next)
      start = std::max(start, next->second);
    return start;
  }
  void add(int64_t start, int64_t ns) {
    if (ns > 0)
      intervals_.insert(firstEndingBehind(start), {start, start + ns});
  }

private:
  using Interval = std::pair<int64_t, int64_t>;
  std::vector<Interval>::const_iterator firstEndingBehind(int64_t time) const {
    return std::partition_point(
        intervals_.begin(), intervals_.end(),
        [&](const Interval &interval) { return interval.second <= time; });
  }
  std::vector<Interval> intervals_;
};

class RankScheduler {
public:
  RankScheduler(const ScheduledGraph &graph, const Topology &topology,
                bool limitsMemory)
      : graph_(graph), topology_(topology), busy_(topology.numDevices()),
        left_(topology.numDevices(), INT64_MAX) {
    for (const Device &device : topology.devices())
      if (limitsMemory && device.memoryBytes > 0)
        left_[device.id] = device.memoryBytes;
    result_.devices.assign(graph.unitBytes.size(), -1);
    result_.starts.assign(graph.tasks.size(), 0);
    result_.ends.assign(graph.tasks.size(), 0);
    successors_.resize(graph.tasks.size());
    for (auto [id, task] : llvm::enumerate(graph.tasks))
      for (const ScheduledGraph::Input &input : task.inputs)
        successors_[input.task].push_back(static_cast<int32_t>(id));
  }

  FinishTimes run(bool pinsPath);

private:
  void findRanks();
  void findCriticalPath();
  int32_t pathDevice(int32_t firstOnPath) const;
  int32_t bestDevice(int32_t task) const;
  int64_t readyNs(int32_t task, int32_t device) const;
  int64_t nsOf(int32_t task, int32_t device) const {
    return graph_.tasks[task].ns[topology_.device(device).kind];
  }
  bool fits(int32_t unit, int32_t device) const {
    return graph_.unitBytes[unit] <= left_[device];
  }

  const ScheduledGraph &graph_;
  const Topology &topology_;
  std::vector<BusyTimes> busy_;
  std::vector<int64_t> left_; ///< Memory per device.
  std::vector<llvm::SmallVector<int32_t, 4>> successors_;
  std::vector<int64_t> ranks_;
  FinishTimes result_;
};
} // namespace

void RankScheduler::findRanks() {
  // Routes of one latency and bandwidth are alike.
  std::set<std::pair<int64_t, double>> rates;
  for (int32_t from = 0; from < topology_.numDevices(); ++from)
    for (int32_t to = 0; to < topology_.numDevices(); ++to)
      if (from != to) {
        Route route = topology_.route(from, to);
        rates.insert({route.latencyNs, route.bandwidth});
      }
  auto longestArrival = [&](int64_t bytes) {
    int64_t longest = 0;
    for (auto [latency, bandwidth] : rates)
      longest = std::max(
          longest, latency + transferNs(static_cast<double>(bytes), bandwidth));
    return longest;
  };
  ranks_.assign(graph_.tasks.size(), 0); // First what comes behind a task.
  for (size_t id = graph_.tasks.size(); id-- > 0;) {
    const ScheduledGraph::Task &task = graph_.tasks[id];
    ranks_[id] += *std::max_element(task.ns.begin(), task.ns.end());
    for (const ScheduledGraph::Input &input : task.inputs)
      ranks_[input.task] = std::max(ranks_[input.task],
                                    longestArrival(input.bytes) + ranks_[id]);
  }
}

void RankScheduler::findCriticalPath() {
  auto isLower = [&](int32_t a, int32_t b) {
    return std::pair(ranks_[a], -a) < std::pair(ranks_[b], -b);
  };
  llvm::SmallVector<int32_t> candidates;
  for (auto [id, task] : llvm::enumerate(graph_.tasks))
    if (task.inputs.empty())
      candidates.push_back(static_cast<int32_t>(id));
  while (!candidates.empty()) {
    int32_t next = *llvm::max_element(candidates, isLower);
    result_.criticalPath.push_back(next);
    candidates.assign(successors_[next].begin(), successors_[next].end());
  }
}

/// The device for the tasks of the critical path from `firstOnPath` on: that on
/// which as many of them as have room there take least on average; -1: the
/// first of them has room nowhere.
int32_t RankScheduler::pathDevice(int32_t firstOnPath) const {
  int32_t best = -1;
  double least = 0;
  for (int32_t device = 0; device < topology_.numDevices(); ++device) {
    int64_t left = left_[device], ns = 0, count = 0;
    std::set<int32_t> units;
    for (int32_t task : llvm::drop_begin(result_.criticalPath, firstOnPath)) {
      int32_t unit = graph_.tasks[task].unit;
      if (result_.devices[unit] >= 0)
        continue;
      if (units.insert(unit).second) {
        if (graph_.unitBytes[unit] > left)
          break;
        left -= graph_.unitBytes[unit];
      }
      ns += nsOf(task, device);
      ++count;
    }
    if (count == 0)
      continue;
    double average = static_cast<double>(ns) / static_cast<double>(count);
    if (best < 0 || average < least) {
      best = device;
      least = average;
    }
  }
  return best;
}

/// When all that a task reads is on the device.
int64_t RankScheduler::readyNs(int32_t task, int32_t device) const {
  int64_t ready = 0;
  for (const ScheduledGraph::Input &input : graph_.tasks[task].inputs)
    ready = std::max(
        ready,
        result_.ends[input.task] +
            arrivalNs(topology_, result_.devices[graph_.tasks[input.task].unit],
                      device, input.bytes));
  return ready;
}

/// The device on which a task finishes first, of those that have room; -1: none
/// has.
int32_t RankScheduler::bestDevice(int32_t task) const {
  int32_t best = -1;
  int64_t earliest = INT64_MAX;
  for (int32_t device = 0; device < topology_.numDevices(); ++device) {
    if (!fits(graph_.tasks[task].unit, device))
      continue;
    int64_t ns = nsOf(task, device);
    int64_t end = busy_[device].find(readyNs(task, device), ns) + ns;
    if (end < earliest) {
      best = device;
      earliest = end;
    }
  }
  return best;
}

FinishTimes RankScheduler::run(bool pinsPath) {
  findRanks();
  findCriticalPath();
  std::vector<int32_t> placeOnPath(graph_.tasks.size(), -1);
  for (auto [place, task] : llvm::enumerate(result_.criticalPath))
    placeOnPath[task] = static_cast<int32_t>(place);
  std::vector<int32_t> queue(graph_.tasks.size());
  std::iota(queue.begin(), queue.end(), 0);
  // Numbers rise along edges, so what is read comes first among equals.
  llvm::stable_sort(
      queue, [&](int32_t a, int32_t b) { return ranks_[a] > ranks_[b]; });
  int32_t pinned = -1;
  for (int32_t task : queue) {
    int32_t unit = graph_.tasks[task].unit;
    int32_t &device = result_.devices[unit];
    if (device < 0) {
      if (pinsPath && placeOnPath[task] >= 0) {
        if (pinned < 0 || !fits(unit, pinned))
          pinned = pathDevice(placeOnPath[task]);
        device = pinned;
      } else {
        device = bestDevice(task);
      }
      if (device < 0) {
        // Where it misses least; the step itself says whether that is too much.
        device = static_cast<int32_t>(
            std::max_element(left_.begin(), left_.end()) - left_.begin());
        result_.fits = false;
      }
      if (left_[device] != INT64_MAX)
        left_[device] -= graph_.unitBytes[unit];
    }
    int64_t ns = nsOf(task, device);
    int64_t start = busy_[device].find(readyNs(task, device), ns);
    busy_[device].add(start, ns);
    result_.starts[task] = start;
    result_.ends[task] = start + ns;
    result_.finishNs = std::max(result_.finishNs, start + ns);
  }
  return std::move(result_);
}

FinishTimes detail::scheduleByRank(const ScheduledGraph &graph,
                                   const Topology &topology, bool pinsPath,
                                   bool limitsMemory) {
  return RankScheduler(graph, topology, limitsMemory).run(pinsPath);
}
