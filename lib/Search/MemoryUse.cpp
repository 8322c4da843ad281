//===- MemoryUse.cpp - What fills the memory of a device ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/MemoryUse.h"
#include "soap/Partition/Buckets.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace soap;
using llvm::SmallVector;

namespace {
/// What devices hold of a value: the shards that its producer makes, and what
/// a round of its plan adds to them (-1: none).
struct Parts {
  bool shards;
  int32_t round;
};
constexpr Parts shardsAlone{/*shards=*/true, /*round=*/-1};
constexpr Parts bothParts{/*shards=*/true, /*round=*/0};
constexpr Parts ofRound(int32_t round) { return {/*shards=*/false, round}; }

/// Behind which position of the launch order what a round of a parameter's plan
/// makes is given back: that of the last node that reads it; -1: none does. An
/// update may read the parameter itself.
int32_t endOfRound(const TaskGraph &tasks, int32_t id, int32_t round) {
  int32_t last = -1;
  for (auto [use, made] :
       llvm::zip(tasks.graph().value(id).uses, tasks.valueTasks(id).uses))
    if (made.readsPlan && made.round == round)
      last = std::max(last, tasks.rank(use.node));
  return last;
}

/// True if a bucket reduces a value where its producer writes it: there is one
/// buffer for all values of the bucket, from the first of them on.
bool isReducedInPlace(const TaskGraph &tasks, int32_t value) {
  return tasks.bucketOf(value) >= 0 &&
         llvm::any_of(tasks.valueTasks(value).actions,
                      [](const detail::ActionTasks &action) {
                        return action.joinsBuckets &&
                               action.kind == ActionKind::AllReduce;
                      });
}

/// Calls `add(device, bytes)` for some parts of a value.
template <typename Add>
void forEachDevice(const detail::ValueTasks &value, Parts parts, Add add) {
  if (parts.shards)
    for (auto [device, bytes] : value.shardBytes)
      add(device, bytes);
  if (parts.round >= 0)
    for (auto [device, bytes] : parts.round == 0
                                    ? value.planBytes
                                    : value.rounds[parts.round - 1].planBytes)
      add(device, bytes);
}

/// Goes through a step in launch order and says what appears and, with negative
/// bytes, what disappears: `add(value, device, bytes)`; `run(node)` when all
/// that `node`, or a bucket that is launched behind it, needs is there.
/// Parameters and inputs are there all the time. What a bucket copies its
/// values to is said to be of the first of them.
template <typename Add, typename Run>
void walkMemory(const TaskGraph &tasks, Add add, Run run) {
  const OperatorGraph &graph = tasks.graph();
  llvm::ArrayRef<int32_t> order = tasks.order();
  std::vector<SmallVector<std::pair<int32_t, Parts>, 2>> dying(order.size());
  std::vector<int32_t> rank(graph.numNodes(), -1);
  for (auto [index, id] : llvm::enumerate(order))
    rank[id] = static_cast<int32_t>(index);
  auto change = [&](int32_t value, Parts parts, int64_t sign) {
    forEachDevice(tasks.valueTasks(value), parts,
                  [&](int32_t device, int64_t bytes) {
                    add(value, device, sign * bytes);
                  });
  };
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
    if (graph.isStored(id))
      if (int32_t end = endOfRound(tasks, id, 0); end >= 0)
        last = end;
    if (role != NodeRole::Compute)
      change(id, role == NodeRole::Input ? bothParts : shardsAlone, 1);
    if (role != NodeRole::Input && last >= 0 && !escapes)
      dying[last].push_back(
          {id, role == NodeRole::Compute ? bothParts : ofRound(0)});
    auto numRounds = static_cast<int32_t>(tasks.valueTasks(id).rounds.size());
    for (int32_t round = 1; round <= numRounds; ++round)
      if (int32_t end = endOfRound(tasks, id, round); end >= 0)
        dying[end].push_back({id, ofRound(round)});
  }
  auto changePacks = [&](size_t position, int64_t sign) {
    for (int32_t bucket : tasks.bucketsAt(static_cast<int32_t>(position)))
      for (const detail::BucketAction &action :
           tasks.bucketTasks(bucket).actions)
        if (isPackedBucket(action.kind, action.members.size()))
          for (int32_t device : action.devices)
            add(action.members.front().value, device,
                sign * action.memberBytes);
  };
  run(-1);
  for (size_t position = 0; position < order.size(); ++position) {
    for (const TaskGraph::Prefetch &prefetch :
         tasks.prefetchesAt(static_cast<int32_t>(position)))
      if (graph.isStored(prefetch.value))
        if (int32_t round = prefetch.roundIn(tasks.valueTasks(prefetch.value));
            round >= 0)
          change(prefetch.value, ofRound(round), 1);
    for (int32_t value : graph.node(order[position]).results) {
      if (!isReducedInPlace(tasks, value))
        change(value, bothParts, 1);
      int32_t bucket = tasks.bucketOf(value);
      if (bucket >= 0 && tasks.bucketValues(bucket).front() == value)
        for (int32_t member : tasks.bucketValues(bucket))
          if (isReducedInPlace(tasks, member))
            change(member, bothParts, 1);
    }
    run(order[position]);
    for (auto [value, parts] : dying[position])
      change(value, parts, -1);
    if (tasks.bucketsAt(static_cast<int32_t>(position)).empty())
      continue;
    changePacks(position, 1);
    run(order[position]);
    changePacks(position, -1);
  }
}
} // namespace

std::vector<int64_t> TaskGraph::peakMemory() const {
  std::vector<int64_t> now(topology_.numDevices()), peak(now);
  walkMemory(
      *this,
      [&](int32_t, int32_t device, int64_t bytes) { now[device] += bytes; },
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
      [&](int32_t value, int32_t where, int64_t bytes) {
        if (where != device)
          return;
        now += bytes;
        held[value] += bytes;
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
