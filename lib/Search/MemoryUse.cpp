//===- MemoryUse.cpp - What fills the memory of a device ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/MemoryUse.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace soap;
using llvm::SmallVector;

namespace {
/// What devices hold of a value: the shards that its producer makes, and what
/// its plan adds to them.
struct Parts {
  bool shards, plan;
};
constexpr Parts shardsAlone{/*shards=*/true, /*plan=*/false};
constexpr Parts planAlone{/*shards=*/false, /*plan=*/true};
constexpr Parts bothParts{/*shards=*/true, /*plan=*/true};

/// Goes through a step in launch order and says what appears (1) and disappears
/// (-1): `change(value, parts, sign)`; `run(node)` when all that `node` needs
/// is there. Parameters and inputs are there all the time, what a
/// bucket reduces from its first value on.
template <typename Change, typename Run>
void walkMemory(const TaskGraph &tasks, Change change, Run run) {
  const OperatorGraph &graph = tasks.graph();
  llvm::ArrayRef<int32_t> order = tasks.order();
  std::vector<SmallVector<int32_t, 2>> dying(order.size());
  std::vector<int32_t> rank(graph.numNodes(), -1);
  for (auto [index, id] : llvm::enumerate(order))
    rank[id] = static_cast<int32_t>(index);
  for (int32_t id = 0; id < graph.numValues(); ++id) {
    const GraphValue &value = graph.value(id);
    NodeRole role = graph.node(value.producer).role;
    int32_t last = rank[value.producer];
    bool escapes = false;
    for (const GraphValue::Use &use : value.uses) {
      if (SOAP_FAULT("copies-read-dead") && graph.node(use.node).after >= 0)
        continue;
      last = std::max(last, rank[use.node]);
      escapes |= graph.node(use.node).role == NodeRole::Output;
    }
    if (SOAP_FAULT("liveness-by-list") && !value.uses.empty())
      last = std::max(rank[value.producer], rank[value.uses.back().node]);
    // What is made of a parameter is there until the last node that reads it;
    // an update may read the parameter itself.
    if (role == NodeRole::Parameter || role == NodeRole::Constant) {
      int32_t lastOfPlan = -1;
      for (auto [use, made] : llvm::zip(value.uses, tasks.valueTasks(id).uses))
        if (made.readsPlan)
          lastOfPlan = std::max(lastOfPlan, rank[use.node]);
      if (lastOfPlan >= 0)
        last = lastOfPlan;
    }
    if (role != NodeRole::Compute)
      change(id, role == NodeRole::Input ? bothParts : shardsAlone, 1);
    if (role != NodeRole::Input && last >= 0 && !escapes)
      dying[last].push_back(id);
  }
  run(-1);
  for (size_t position = 0; position < order.size(); ++position) {
    for (int32_t value : tasks.prefetchesAt(static_cast<int32_t>(position)))
      if (graph.node(graph.value(value).producer).role != NodeRole::Input)
        change(value, planAlone, 1);
    for (int32_t value : graph.node(order[position]).results) {
      // What a bucket reduces has one buffer, from its first value on.
      auto isReducedLate = [&](int32_t id) {
        return tasks.valueTasks(id).numLateSlots > 0;
      };
      int32_t bucket = tasks.bucketOf(value);
      if (bucket < 0 || !isReducedLate(value))
        change(value, bothParts, 1);
      if (bucket >= 0 && tasks.bucketValues(bucket).front() == value)
        for (int32_t member : tasks.bucketValues(bucket))
          if (isReducedLate(member))
            change(member, bothParts, 1);
    }
    run(order[position]);
    for (int32_t value : dying[position])
      change(value,
             graph.node(graph.value(value).producer).role == NodeRole::Compute
                 ? bothParts
                 : planAlone,
             -1);
  }
}

/// Calls `add(device, bytes)` for what `change` means.
template <typename Add>
void forEachDevice(const detail::ValueTasks &value, Parts parts, int64_t sign,
                   Add add) {
  if (parts.shards)
    for (auto [device, bytes] : value.shardBytes)
      add(device, sign * bytes);
  if (parts.plan)
    for (auto [device, bytes] : value.planBytes)
      add(device, sign * bytes);
}
} // namespace

std::vector<int64_t> TaskGraph::peakMemory() const {
  std::vector<int64_t> now(topology_.numDevices()), peak(now);
  walkMemory(
      *this,
      [&](int32_t value, Parts parts, int64_t sign) {
        forEachDevice(
            valueTasks(value), parts, sign,
            [&](int32_t device, int64_t bytes) { now[device] += bytes; });
      },
      [&](int32_t) {
        for (size_t device = 0; device < now.size(); ++device)
          peak[device] = std::max(peak[device], now[device]);
      });
  return peak;
}

static std::string tooLittle(const Device &device, int64_t peak) {
  return ("device " + llvm::Twine(device.id) + ": expected at most " +
          llvm::Twine(device.memoryBytes) +
          " bytes of memory, got: " + llvm::Twine(peak) +
          " in use; use more devices, a smaller batch or another strategy")
      .str();
}

static bool isLimited(const Topology &topology) {
  return llvm::any_of(topology.devices(), [](const Device &device) {
    return device.memoryBytes != 0;
  });
}

bool TaskGraph::fitsMemory() const {
  if (!isLimited(topology_))
    return true;
  std::vector<int64_t> peak = peakMemory();
  return llvm::all_of(topology_.devices(), [&](const Device &device) {
    return !device.memoryBytes || peak[device.id] <= device.memoryBytes;
  });
}

MemoryPeak soap::memoryPeak(const TaskGraph &tasks, int32_t device) {
  std::vector<int64_t> held(tasks.graph().numValues(), 0);
  int64_t now = 0;
  MemoryPeak peak;
  walkMemory(
      tasks,
      [&](int32_t value, Parts parts, int64_t sign) {
        forEachDevice(tasks.valueTasks(value), parts, sign,
                      [&](int32_t where, int64_t bytes) {
                        if (where != device)
                          return;
                        now += bytes;
                        held[value] += bytes;
                      });
      },
      [&](int32_t node) {
        if (now <= peak.bytes)
          return;
        peak.bytes = now;
        peak.node = node;
        peak.values.clear();
        for (auto [value, bytes] : llvm::enumerate(held))
          if (bytes > 0)
            peak.values.push_back({static_cast<int32_t>(value), bytes});
      });
  llvm::sort(peak.values, [](const auto &a, const auto &b) {
    return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
  });
  return peak;
}

llvm::Error soap::checkMemory(const TaskGraph &tasks) {
  constexpr size_t mostValues = 5;
  const Topology &topology = tasks.topology();
  if (!isLimited(topology))
    return llvm::Error::success();
  const OperatorGraph &graph = tasks.graph();
  std::vector<int64_t> peaks = tasks.peakMemory();
  std::string text;
  for (const Device &device : topology.devices()) {
    if (!device.memoryBytes || peaks[device.id] <= device.memoryBytes)
      continue;
    // The first device begins the message, the others follow on new lines.
    text += (text.empty() ? "" : "\n  ") + tooLittle(device, peaks[device.id]);
    MemoryPeak peak = memoryPeak(tasks, device.id);
    text += peak.node < 0
                ? std::string("\n  all the time:")
                : "\n  when '" + graph.node(peak.node).name + "' runs:";
    size_t shown = std::min(peak.values.size(), mostValues);
    int64_t rest = peak.bytes;
    for (size_t i = 0; i < shown; ++i) {
      auto [value, bytes] = peak.values[i];
      const GraphNode &producer = graph.node(graph.value(value).producer);
      text += "\n    " + std::to_string(bytes) + " bytes of '" + producer.name +
              "' (" +
              (producer.role == NodeRole::Compute
                   ? producer.op
                   : stringify(producer.role).str()) +
              ")";
      rest -= bytes;
    }
    if (shown < peak.values.size())
      text += "\n    " + std::to_string(rest) + " bytes of " +
              std::to_string(peak.values.size() - shown) + " other values";
  }
  if (text.empty())
    return llvm::Error::success();
  return llvm::createStringError(text);
}
