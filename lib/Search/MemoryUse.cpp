//===- MemoryUse.cpp - What fills the memory of a device ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/MemoryUse.h"
#include "Chain.h"
#include "soap/Partition/Buckets.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace soap;
using llvm::SmallVector;

namespace {
/// What devices hold of a value: the shards that its producer makes (and copies
/// of them that are made once), and what a round of its plan adds to them (-1:
/// none).
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

/// True if the sums that an all-reduce makes of a value lie where its parts do,
/// which nothing else reads.
bool isSummedInPlace(const detail::ValueTasks &value) {
  return value.reduceDevices.empty() &&
         llvm::any_of(value.actions, [](const detail::ActionTasks &action) {
           return action.kind == ActionKind::AllReduce;
         });
}

/// True if no device has two tasks. A second one that makes the same tile would
/// still read the parameter that the first one has made its result over.
bool isOncePerDevice(const TaskDevices &devices) {
  llvm::SmallBitVector taken;
  for (int32_t device : devices) {
    if (static_cast<size_t>(device) >= taken.size())
      taken.resize(device + 1);
    if (taken.test(device))
      return false;
    taken.set(device);
  }
  return true;
}

/// True if the shards of a value need no memory of their own, since they lie
/// where a parameter does: the result of a node that writes one, or a value
/// that is made over one.
bool liesInParameter(const TaskGraph &tasks, int32_t id) {
  const OperatorGraph &graph = tasks.graph();
  if (graph.node(graph.value(id).producer).writtenOperand >= 0)
    return true;
  const OperatorGraph::Replacement *found = graph.findReplacement(id);
  if (!found)
    return false;
  // Who reads it takes it from where it was made.
  auto isReadInPlace = [&](int32_t value) {
    return llvm::none_of(
        tasks.valueTasks(value).uses,
        [](const detail::UseTasks &use) { return use.readsPlan; });
  };
  int32_t first = graph.value(found->values.back()).producer;
  return isOncePerDevice(tasks.strategy().configs[first].devices) &&
         llvm::all_of(found->values, isReadInPlace) &&
         llvm::all_of(found->readers, [&](int32_t reader) {
           return tasks.rank(reader) < tasks.rank(first);
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
    parts.shards &= !liesInParameter(tasks, value) &&
                    !isSummedInPlace(tasks.valueTasks(value));
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
  // What collectives need beside what they put in and get.
  auto changeStaging = [&](int32_t value, const detail::ActionTasks &action,
                           int64_t sign) {
    if (action.stagingBytes > 0)
      for (int32_t device : action.devices)
        add(value, device, sign * action.stagingBytes);
  };
  auto stage = [&](int32_t value, int32_t round, int32_t node) {
    auto actions = tasks.valueTasks(value).actionsOf(round);
    bool isLate = tasks.bucketOf(value) >= 0;
    auto changeAll = [&](int64_t sign) {
      for (const detail::ActionTasks &action : actions)
        if (!isLate || !action.joinsBuckets)
          changeStaging(value, action, sign);
    };
    if (llvm::any_of(actions, [](const detail::ActionTasks &action) {
          return action.stagingBytes > 0;
        })) {
      changeAll(1);
      run(node);
      changeAll(-1);
    }
  };
  auto changePacks = [&](size_t position, int64_t sign) {
    for (int32_t bucket : tasks.bucketsAt(static_cast<int32_t>(position)))
      for (const detail::BucketAction &action :
           tasks.bucketTasks(bucket).actions)
        if (isPackedBucket(action.kind, action.members.size()))
          for (int32_t device : action.devices)
            add(action.members.front().value, device,
                sign * action.memberBytes);
        else
          for (const detail::BucketAction::Member &member : action.members)
            changeStaging(member.value,
                          tasks.valueTasks(member.value).actions[member.action],
                          sign);
  };
  run(-1);
  for (size_t position = 0; position < order.size(); ++position) {
    for (const TaskGraph::Prefetch &prefetch :
         tasks.prefetchesAt(static_cast<int32_t>(position)))
      if (graph.isStored(prefetch.value))
        if (int32_t round = prefetch.roundIn(tasks.valueTasks(prefetch.value));
            round >= 0) {
          change(prefetch.value, ofRound(round), 1);
          stage(prefetch.value, round, order[position]);
        }
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
    for (int32_t value : graph.node(order[position]).results)
      stage(value, 0, order[position]);
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

std::vector<int64_t> soap::peakMemoryOfParts(const TaskGraph &tasks,
                                             int32_t positions) {
  assert(positions > 0 && "parts have positions");
  size_t numDevices = tasks.topology().numDevices();
  size_t numParts =
      std::max<size_t>(1, llvm::divideCeil(tasks.order().size(), positions));
  std::vector<int64_t> now(numDevices), peaks(numParts * numDevices);
  walkMemory(
      tasks,
      [&](int32_t, int32_t device, int64_t bytes) { now[device] += bytes; },
      [&](int32_t node) {
        int64_t *peak =
            &peaks[node < 0 ? 0 : tasks.rank(node) / positions * numDevices];
        for (size_t device = 0; device < numDevices; ++device)
          peak[device] = std::max(peak[device], now[device]);
      });
  return peaks;
}

std::vector<int64_t> TaskGraph::peakMemory() const {
  return peakMemoryOfParts(
      *this, std::max<int32_t>(1, static_cast<int32_t>(order().size())));
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

//===----------------------------------------------------------------------===//
// Changes on trial
//===----------------------------------------------------------------------===//

using detail::DeviceBytes;
using detail::MemoryGuard;

void MemoryGuard::reset() {
  constexpr int32_t mostParts = 32, mostEntries = 4096;
  isLimited_ = ::isLimited(tasks_.topology());
  if (!isLimited_)
    return;
  int32_t numParts =
      std::clamp(mostEntries / tasks_.topology().numDevices(), 1, mostParts);
  positionsPerPart_ =
      std::max<int32_t>(1, llvm::divideCeil(tasks_.order().size(), numParts));
  peaks_ = peakMemoryOfParts(tasks_, positionsPerPart_);
}

/// The positions of the launch order between which a value can be on a device,
/// whatever its configuration: all, but for results that are given back.
static std::pair<int32_t, int32_t> lifetime(const TaskGraph &tasks,
                                            int32_t id) {
  const OperatorGraph &graph = tasks.graph();
  const GraphValue &value = graph.value(id);
  std::pair always(0, std::max<int32_t>(1, tasks.order().size()) - 1);
  int32_t first = tasks.rank(value.producer), last = first;
  if (graph.node(value.producer).role != NodeRole::Compute || first < 0 ||
      graph.isStored(id) || tasks.bucketOf(id) >= 0)
    return always;
  for (const GraphValue::Use &use : value.uses) {
    if (graph.node(use.node).role == NodeRole::Output)
      return {first, always.second};
    last = std::max(last, tasks.rank(use.node));
  }
  return {first, last};
}

/// Calls `add(device, bytes)` for what devices have more in `now` than in
/// `before` and, if it `shrinks`, with negative bytes, for what they have less.
/// Both are ordered by device.
template <typename Add>
static void forEachChange(llvm::ArrayRef<DeviceBytes> before,
                          llvm::ArrayRef<DeviceBytes> now, bool shrinks,
                          Add add) {
  while (!before.empty() || !now.empty()) {
    bool isNew = before.empty() ||
                 (!now.empty() && now.front().device < before.front().device);
    bool isGone =
        !isNew && (now.empty() || before.front().device < now.front().device);
    int64_t bytes =
        (isGone ? 0 : now.front().bytes) - (isNew ? 0 : before.front().bytes);
    if (bytes > 0 || (shrinks && bytes < 0))
      add(isGone ? before.front().device : now.front().device, bytes);
    before = before.drop_front(!isNew);
    now = now.drop_front(!isGone);
  }
}

/// Finds what the change adds to the peak of each part and device at most. A
/// change leaves it as it is when values are there, but for what parameters'
/// plans make, which is there until the last that reads it, and for what a
/// bucket reduces, which is there before it is made. So no device needs more
/// than before by more than what the values that are there in a part and become
/// larger add to it. What is there all the time may also take away from it.
void MemoryGuard::addChanges() {
  const OperatorGraph &graph = tasks_.graph();
  size_t width = tasks_.topology().numDevices();
  // Where it begins and, negative, behind where it ends.
  added_.assign(peaks_.size() + width, 0);
  for (auto [index, id] : llvm::enumerate(tasks_.proposedValues())) {
    const ValueTasks &before = *tasks_.valueBefore(index),
                     &now = tasks_.valueTasks(id);
    if (&before == &now)
      continue;
    auto [first, last] = lifetime(tasks_, id);
    int64_t *begin = &added_[first / positionsPerPart_ * width];
    int64_t *end = &added_[(last / positionsPerPart_ + 1) * width];
    auto add = [&](int32_t device, int64_t bytes) {
      begin[device] += bytes;
      end[device] -= bytes;
    };
    using Bytes = llvm::ArrayRef<DeviceBytes>;
    bool isEarlier = now.numLateSlots > 0 && before.numLateSlots == 0;
    bool isAlwaysThere =
        graph.node(graph.value(id).producer).role != NodeRole::Compute;
    // Before, it may have been made over a parameter.
    bool hadShards =
        !isEarlier && !graph.findReplacement(id) && !isSummedInPlace(before);
    if (!liesInParameter(tasks_, id) && !isSummedInPlace(now))
      forEachChange(hadShards ? before.shardBytes : Bytes(), now.shardBytes,
                    isAlwaysThere, add);
    // What is there for other readers is there at other times.
    bool alike =
        !isEarlier && llvm::equal(before.uses, now.uses,
                                  [](const UseTasks &a, const UseTasks &b) {
                                    return a.readsPlan == b.readsPlan &&
                                           a.round == b.round;
                                  });
    forEachChange(alike ? before.planBytes : Bytes(), now.planBytes,
                  /*shrinks=*/false, add);
    for (const ActionTasks &action : now.actions)
      for (int32_t device : action.devices)
        if (action.stagingBytes > 0)
          add(device, action.stagingBytes);
    for (auto [round, made] : llvm::enumerate(now.rounds))
      forEachChange(alike && round < before.rounds.size()
                        ? before.rounds[round].planBytes
                        : Bytes(),
                    made.planBytes, /*shrinks=*/false, add);
  }
  for (size_t i = width; i < added_.size(); ++i)
    added_[i] += added_[i - width];
  added_.resize(peaks_.size());
}

bool MemoryGuard::isTooMuch(llvm::ArrayRef<int64_t> peaks,
                            llvm::ArrayRef<int64_t> added) const {
  llvm::ArrayRef<Device> devices = tasks_.topology().devices();
  size_t width = tasks_.topology().numDevices();
  for (size_t i = 0; i < peaks.size(); ++i)
    if (int64_t most = devices[i % width].memoryBytes;
        most != 0 && peaks[i] + (added.empty() ? 0 : added[i]) > most)
      return true;
  return false;
}

bool MemoryGuard::fits() {
  exact_.clear();
  if (!isLimited_ || SOAP_FAULT("chain-ignores-memory")) {
    added_.assign(peaks_.size(), 0);
    return true;
  }
  addChanges();
  if (!isTooMuch(peaks_, added_))
    return true;
  ++numWalks_;
  exact_ = peakMemoryOfParts(tasks_, positionsPerPart_);
  return !isTooMuch(exact_, {});
}

void MemoryGuard::accept() {
  if (!exact_.empty())
    std::swap(peaks_, exact_);
  else
    for (auto [peak, added] : llvm::zip_equal(peaks_, added_))
      peak += added;
}
