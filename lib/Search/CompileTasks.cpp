//===- CompileTasks.cpp - Flat arrays of one node or value ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileTasks.h"
#include <algorithm>
#include <cmath>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
void makeUnique(std::vector<Wait> &waits) {
  auto order = [](const Wait &a, const Wait &b) {
    return std::tie(a.at, a.slot) < std::tie(b.at, b.slot);
  };
  auto equal = [](const Wait &a, const Wait &b) {
    return a.at == b.at && a.slot == b.slot;
  };
  llvm::sort(waits, order);
  waits.erase(std::unique(waits.begin(), waits.end(), equal), waits.end());
}

bool samePieces(llvm::ArrayRef<Piece> a, llvm::ArrayRef<Piece> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Piece &x, const Piece &y) {
                      return x.shard == y.shard && x.box == y.box;
                    });
}

/// Tells boxes apart quickly; equal hashes are compared.
uint64_t hashOf(const Box &box) {
  uint64_t hash = 0;
  for (Range range : box)
    hash = (hash * 0x9e3779b97f4a7c15ull + range.lo) * 0x9e3779b97f4a7c15ull +
           range.hi;
  return hash;
}

class ValueCompiler {
public:
  ValueCompiler(const CompileInput &input)
      : in_(input), plan_(input.plan), topology_(input.topology),
        shardSlot_(plan_.shards.size(), -1),
        indexOf_(topology_.numDevices() + 1, -1),
        packIndex_(topology_.numDevices() + 1, -1),
        shardBytes_(topology_.numDevices() + 1, 0),
        planBytes_(topology_.numDevices() + 1, 0),
        copies_(topology_.numDevices() + 1) {}

  ValueTasks compile() {
    reduce();
    for (size_t action = 0; action < plan_.actions.size(); ++action)
      addAction(static_cast<int32_t>(action));
    out_.uses.resize(in_.consumers.size());
    addUses();
    addMemory();
    return std::move(out_);
  }

private:
  int64_t bytesOf(const Box &box) const {
    return isEmpty(box) ? 0 : volume(box) * in_.elementBytes;
  }
  int64_t copyNs(int64_t bytes, int32_t device) const {
    return device == topology_.host()
               ? 0
               : CostModel::copyNs(bytes, topology_.kindOf(device));
  }
  /// What it costs to put `box` together.
  int64_t assembleNs(const Box &box, llvm::ArrayRef<Piece> pieces,
                     int32_t device) const {
    if (device == topology_.host() || pieces.size() != 1)
      return copyNs(bytesOf(box), device);
    return CostModel::cutNs(box, plan_.shards[pieces[0].shard].box,
                            in_.elementBytes, topology_.kindOf(device));
  }
  int32_t producerIndex(int32_t device) const {
    auto it = llvm::lower_bound(in_.producer.devices, device);
    return static_cast<int32_t>(it - in_.producer.devices.begin());
  }
  /// The index of `device` in a list to which it is added if it is new.
  /// `index` is -1 for all devices that the list does not have.
  static int32_t findOrAdd(std::vector<int32_t> &index,
                           std::vector<int32_t> &list, int32_t device) {
    if (index[device] < 0) {
      index[device] = static_cast<int32_t>(list.size());
      list.push_back(device);
    }
    return index[device];
  }
  static void forget(std::vector<int32_t> &index,
                     llvm::ArrayRef<int32_t> list) {
    for (int32_t device : list)
      index[device] = -1;
  }

  /// The slot that says when a shard exists, or -1 for one that the producer's
  /// task or a feed made.
  int32_t slotOf(int32_t shard) const { return shardSlot_[shard]; }

  void reduce() {
    for (const LocalReduction &reduction : plan_.reductions) {
      const Shard &output = plan_.shards[reduction.output];
      int64_t bytes = bytesOf(output.box) *
                      static_cast<int64_t>(reduction.inputs.size() + 1) / 2;
      int64_t ns = copyNs(bytes, output.device);
      int32_t index = findOrAdd(indexOf_, out_.reduceDevices, output.device);
      out_.reduceNs.resize(out_.reduceDevices.size());
      out_.reduceNs[index] += ns;
      shardSlot_[reduction.output] = out_.reduceSlot + index;
    }
    forget(indexOf_, out_.reduceDevices);
    out_.numSlots += static_cast<int32_t>(out_.reduceDevices.size());
  }

  void addAction(int32_t index) {
    const Action &action = plan_.actions[index];
    int64_t bytes = movedBytes(action);
    Phase phase = phaseOf(action, plan_, topology_.host());
    if (phase != Phase::Step) {
      (phase == Phase::Feed ? out_.feedBytes : out_.drainBytes) += bytes;
      if (phase == Phase::Drain)
        addDrainPacks(index);
      return;
    }
    out_.stepBytes += bytes;
    ActionTasks tasks;
    tasks.action = index;
    tasks.kind = action.kind;
    tasks.bytes = bytes;
    tasks.devices.assign(action.group.begin(), action.group.end());
    tasks.sends.assign(tasks.devices.size(), 0);
    for (auto [member, device] : llvm::enumerate(tasks.devices))
      indexOf_[device] = static_cast<int32_t>(member);
    tasks.packSlot = out_.numSlots;
    SmallVector<int32_t, 8> packed = addPacks(tasks, action);
    out_.numSlots += static_cast<int32_t>(tasks.packDevices.size());
    tasks.slot = out_.numSlots;
    out_.numSlots += static_cast<int32_t>(tasks.devices.size());

    for (auto [port, packSlot] : llvm::zip(action.inputs, packed)) {
      if (isEmpty(port.box))
        continue;
      int32_t member = indexOf_[port.device];
      tasks.sends[member] = 1;
      if (packSlot >= 0) {
        tasks.moveWaits.push_back({member, packSlot});
        continue;
      }
      for (const Piece &piece : port.pieces)
        if (int32_t slot = slotOf(piece.shard); slot >= 0)
          tasks.moveWaits.push_back({member, slot});
        else if (in_.producerComputes)
          tasks.producerWaits.push_back({member, producerIndex(port.device)});
    }
    makeUnique(tasks.packWaits);
    makeUnique(tasks.moveWaits);
    makeUnique(tasks.producerWaits);

    tasks.isCollective = action.kind != ActionKind::Transfer &&
                         action.kind != ActionKind::HaloExchange;
    if (tasks.isCollective) {
      auto moved = movements(action, in_.elementBytes);
      CollectiveCost cost = CostModel::collective(
          action.kind, action.group, moved.front().bytes, topology_);
      tasks.ns = cost.ns;
      tasks.occupiesNs = cost.occupiesNs;
      tasks.links.assign(cost.links.begin(), cost.links.end());
    } else {
      addTransfers(tasks, action);
    }
    for (int32_t output : action.outputs)
      shardSlot_[output] = tasks.slot + indexOf_[plan_.shards[output].device];
    forget(indexOf_, tasks.devices);
    forget(packIndex_, tasks.packDevices);
    out_.actions.push_back(std::move(tasks));
  }

  /// A copy that a device has made of pieces of shards.
  struct Copy {
    uint64_t hash;
    const Box *box;
    llvm::ArrayRef<Piece> pieces;
    int32_t slot; ///< When it was made; -1: by an unpack.
  };

  /// The copy of `box` that `device` has, or null.
  const Copy *findCopy(int32_t device, const Box &box,
                       llvm::ArrayRef<Piece> pieces) {
    uint64_t hash = hashOf(box);
    for (const Copy &copy : copies_[device])
      if (copy.hash == hash && *copy.box == box &&
          samePieces(copy.pieces, pieces))
        return &copy;
    return nullptr;
  }

  /// True if a task of the step reads what is copied for a drain.
  bool isRead(const Port &port) const {
    return llvm::any_of(plan_.reads, [&](const Read &read) {
      return in_.consumers[read.consumer].tasks && read.device == port.device &&
             read.box == port.box && samePieces(read.pieces, port.pieces);
    });
  }

  /// The copies for a drain that the step uses too: they stand behind the
  /// producer, where the drain wants them. An action that moves nothing.
  void addDrainPacks(int32_t index) {
    ActionTasks tasks;
    tasks.action = index;
    tasks.packSlot = out_.numSlots;
    addPacks(tasks, plan_.actions[index], /*drain=*/true);
    out_.numSlots += static_cast<int32_t>(tasks.packDevices.size());
    tasks.slot = out_.numSlots;
    makeUnique(tasks.packWaits);
    forget(packIndex_, tasks.packDevices);
    if (!tasks.packDevices.empty())
      out_.actions.push_back(std::move(tasks));
  }

  /// Copies what is not one whole shard, each box once per device; for a drain
  /// only what is read in the step. Returns, per input, the slot of the copy's
  /// end, or -1 where nothing is copied.
  SmallVector<int32_t, 8> addPacks(ActionTasks &tasks, const Action &action,
                                   bool drain = false) {
    SmallVector<int32_t, 8> slots;
    for (const Port &port : action.inputs) {
      slots.push_back(-1);
      if (isEmpty(port.box) || isWholeShard(port.pieces, port.box, plan_) ||
          (drain && !isRead(port)))
        continue;
      if (const Copy *copy = findCopy(port.device, port.box, port.pieces)) {
        slots.back() = copy->slot;
        continue;
      }
      int32_t at = findOrAdd(packIndex_, tasks.packDevices, port.device);
      tasks.packNs.resize(tasks.packDevices.size());
      slots.back() = tasks.packSlot + at;
      copies_[port.device].push_back(
          {hashOf(port.box), &port.box, port.pieces, slots.back()});
      int64_t bytes = bytesOf(port.box);
      tasks.packNs[at] += assembleNs(port.box, port.pieces, port.device);
      planBytes_[port.device] += bytes;
      for (const Piece &piece : port.pieces)
        if (int32_t slot = slotOf(piece.shard); slot >= 0)
          tasks.packWaits.push_back({at, slot});
    }
    return slots;
  }

  void addTransfers(ActionTasks &tasks, const Action &action) {
    for (auto [port, output] : llvm::zip(action.inputs, action.outputs)) {
      const Shard &target = plan_.shards[output];
      int64_t bytes = bytesOf(port.box);
      if (bytes == 0)
        continue;
      const Route &route = topology_.route(port.device, target.device);
      TransferTask transfer;
      transfer.source = indexOf_[port.device];
      transfer.target = indexOf_[target.device];
      transfer.latencyNs = route.latencyNs;
      transfer.ns = std::llround(bytes / route.bandwidth * 1e9);
      transfer.occupiesNs = target.device == topology_.host()
                                ? 0
                                : route.copyNs(static_cast<double>(bytes));
      transfer.linkBegin = static_cast<int32_t>(tasks.links.size());
      for (int32_t id : route.links) {
        const Link &link = topology_.links()[id];
        tasks.links.push_back(
            {link.resource, std::llround(bytes / link.bandwidth * 1e9)});
      }
      transfer.linkEnd = static_cast<int32_t>(tasks.links.size());
      tasks.transfers.push_back(transfer);
    }
  }

  int64_t movedBytes(const Action &action) const {
    int64_t members = static_cast<int64_t>(action.group.size()), sum = 0,
            largest = 0;
    for (const Movement &movement : movements(action, in_.elementBytes))
      for (int64_t bytes : movement.bytes) {
        sum += bytes;
        largest = std::max(largest, bytes);
      }
    switch (action.kind) {
    case ActionKind::Transfer:
    case ActionKind::HaloExchange:
      return sum;
    case ActionKind::Broadcast:
      return largest * (members - 1);
    case ActionKind::AllGather:
      return sum * (members - 1);
    case ActionKind::AllToAll:
      return sum * (members - 1) / members;
    case ActionKind::AllReduce:
      return 2 * largest * (members - 1);
    case ActionKind::ReduceScatter:
      return largest * (members - 1);
    }
    return 0;
  }

  void addUses() {
    SmallVector<SmallVector<const Read *, 8>, 4> reads(in_.consumers.size());
    for (const Read &read : plan_.reads)
      if (in_.consumers[read.consumer].tasks && !isEmpty(read.box))
        reads[read.consumer].push_back(&read);

    // In launch order, because the first consumer unpacks for those after it.
    // What one node reads twice it unpacks at once, at the first operand.
    int32_t first = -1;
    for (int32_t consumer : in_.launchOrder) {
      UseTasks &use = out_.uses[consumer];
      if (first < 0 ||
          in_.consumers[first].tasks != in_.consumers[consumer].tasks) {
        if (first >= 0)
          forget(indexOf_, out_.uses[first].unpackDevices);
        first = consumer;
      }
      UseTasks &unpack = out_.uses[first];
      for (const Read *read : reads[consumer]) {
        int32_t device = read->device;
        if (isWholeShard(read->pieces, read->box, plan_)) {
          if (int32_t slot = slotOf(read->pieces[0].shard); slot >= 0) {
            auto &devices = in_.consumers[consumer].tasks->devices;
            auto at = llvm::lower_bound(devices, device) - devices.begin();
            use.computeWaits.push_back({static_cast<int32_t>(at), slot});
          }
          continue;
        }
        if (findCopy(device, read->box, read->pieces))
          continue;
        copies_[device].push_back(
            {hashOf(read->box), &read->box, read->pieces, -1});
        int32_t at = findOrAdd(indexOf_, unpack.unpackDevices, device);
        unpack.unpackNs.resize(unpack.unpackDevices.size());
        int64_t bytes = bytesOf(read->box);
        unpack.unpackNs[at] += assembleNs(read->box, read->pieces, device);
        planBytes_[device] += bytes;
        for (const Piece &piece : read->pieces)
          if (int32_t slot = slotOf(piece.shard); slot >= 0)
            unpack.unpackWaits.push_back({at, slot});
      }
      makeUnique(use.computeWaits);
    }
    if (first >= 0)
      forget(indexOf_, out_.uses[first].unpackDevices);
    for (UseTasks &use : out_.uses)
      makeUnique(use.unpackWaits);
  }

  void addMemory() {
    for (const Shard &shard : plan_.shards)
      (shard.origin == Shard::Origin::Task ? shardBytes_
                                           : planBytes_)[shard.device] +=
          bytesOf(shard.box);
    for (int32_t device = 0; device < topology_.numDevices(); ++device) {
      if (shardBytes_[device])
        out_.shardBytes.push_back({device, shardBytes_[device]});
      if (planBytes_[device])
        out_.planBytes.push_back({device, planBytes_[device]});
    }
  }

  const CompileInput &in_;
  const ValuePlan &plan_;
  const Topology &topology_;
  ValueTasks out_;
  std::vector<int32_t> shardSlot_; ///< Per shard.
  /// Per device: its index in the list that is being made, else -1.
  std::vector<int32_t> indexOf_, packIndex_;
  std::vector<int64_t> shardBytes_, planBytes_; ///< Per device.
  std::vector<SmallVector<Copy, 1>> copies_;    ///< Per device.
};
} // namespace

ValueTasks detail::compilePlan(const CompileInput &input) {
  return ValueCompiler(input).compile();
}
