//===- CompileTasks.cpp - Flat arrays of one value ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileTasks.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

int32_t ValueCompiler::DeviceList::findOrAdd(int32_t device) {
  if (place[device] < 0) {
    place[device] = static_cast<int32_t>(devices.size());
    devices.push_back(device);
    ns.push_back(0);
  }
  return place[device];
}

void ValueCompiler::DeviceList::clear() {
  for (int32_t device : devices)
    place[device] = -1;
  devices.clear();
  ns.clear();
}

ArrayRef<Wait>
ValueCompiler::keepUnique(llvm::SmallVectorImpl<Wait> &waits) const {
  auto before = [](const Wait &a, const Wait &b) {
    return a.at != b.at ? a.at < b.at : a.slot < b.slot;
  };
  auto equal = [](const Wait &a, const Wait &b) {
    return a.at == b.at && a.slot == b.slot;
  };
  if (!llvm::is_sorted(waits, before))
    llvm::sort(waits, before);
  waits.erase(std::unique(waits.begin(), waits.end(), equal), waits.end());
  return keep(ArrayRef<Wait>(waits));
}

/// Appends a wait unless it was the last one, too: neighbours are often equal.
static void addWait(llvm::SmallVectorImpl<Wait> &waits, Wait wait) {
  if (waits.empty() || waits.back().at != wait.at ||
      waits.back().slot != wait.slot)
    waits.push_back(wait);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// How many sizes are remembered.
static constexpr size_t numTimes = 512;

ValueCompiler::ValueCompiler(const Topology &topology)
    : topology_(topology), times_(numTimes),
      shardBytes_(topology.numDevices() + 1, 0),
      planBytes_(topology.numDevices() + 1, 0) {
  members_.place.assign(topology.numDevices() + 1, -1);
  packed_.place = members_.place;
  SmallVector<double, mostClasses> classes;
  for (const Link &link : topology.links()) {
    auto number = llvm::find(classes, link.bandwidth) - classes.begin();
    if (number == static_cast<ptrdiff_t>(classes.size())) {
      if (number == mostClasses)
        number = -1;
      else
        classes.push_back(link.bandwidth);
    }
    linkClasses_.push_back({link.resource, static_cast<int32_t>(number)});
  }
}

ValueTasks ValueCompiler::compile(const CompileInput &input, PlanArena &arena) {
  in_ = &input;
  plan_ = &input.plan;
  arena_ = &arena;
  out_ = {};
  actions_.clear();
  uses_.assign(input.consumers.size(), {});
  shardSlot_.assign(plan_->shards.size(), -1);
  copies_.clear(*plan_);

  reduce();
  for (size_t action = 0; action < plan_->actions.size(); ++action)
    addAction(static_cast<int32_t>(action));
  addUses();
  addMemory();
  out_.actions = keep(ArrayRef<ActionTasks>(actions_));
  out_.uses = keep(ArrayRef<UseTasks>(uses_));
  return out_;
}

/// Plans have few sizes, and one search meets them again and again.
ValueCompiler::Times &ValueCompiler::timesOf(int64_t bytes) {
  Times &times =
      times_[static_cast<uint64_t>(bytes) * 0x9e3779b97f4a7c15ull >> 55];
  static_assert(numTimes == 512, "9 bits of hash");
  if (times.bytes != bytes) {
    times.bytes = bytes;
    times.linkNs.fill(-1);
    times.copyNs.fill(-1);
  }
  return times;
}

int64_t ValueCompiler::linkNs(Times &times, int32_t link) const {
  int32_t number = linkClasses_[link].number;
  if (number >= 0 && times.linkNs[number] >= 0)
    return times.linkNs[number];
  int64_t ns = topology_.links()[link].ns(static_cast<double>(times.bytes));
  if (number >= 0)
    times.linkNs[number] = ns;
  return ns;
}

int64_t ValueCompiler::copyNs(int64_t bytes, int32_t device) {
  if (device == topology_.host())
    return 0;
  int32_t kind = topology_.device(device).kind;
  if (kind >= mostClasses)
    return CostModel::copyNs(bytes, topology_.kinds()[kind]);
  int64_t &ns = timesOf(bytes).copyNs[kind];
  if (ns < 0)
    ns = CostModel::copyNs(bytes, topology_.kinds()[kind]);
  return ns;
}

/// What it costs to put `box` together.
int64_t ValueCompiler::assembleNs(int32_t box, FlatPlan::Slice pieces,
                                  int32_t device) {
  if (device == topology_.host())
    return 0;
  if (pieces.size() == 1) {
    int32_t shard = plan_->pieces[pieces.begin].shard;
    if (CostModel::isView(plan_->box(box), plan_->box(plan_->shards[shard].box),
                          static_cast<int32_t>(in_->elementBytes),
                          topology_.kindOf(device)))
      return 0;
  }
  return copyNs(bytesOf(box), device);
}

int32_t ValueCompiler::producerIndex(int32_t device) const {
  auto it = llvm::lower_bound(in_->producer.devices, device);
  return static_cast<int32_t>(it - in_->producer.devices.begin());
}

void ValueCompiler::reduce() {
  if (plan_->reductions.empty())
    return;
  for (const FlatPlan::Reduction &reduction : plan_->reductions) {
    const FlatPlan::Shard &output = plan_->shards[reduction.output];
    int64_t bytes = bytesOf(output.box) *
                    static_cast<int64_t>(reduction.inputs.size() + 1) / 2;
    int32_t index = members_.findOrAdd(output.device);
    members_.ns[index] += copyNs(bytes, output.device);
    shardSlot_[reduction.output] = out_.reduceSlot + index;
  }
  out_.reduceDevices = keep(ArrayRef<int32_t>(members_.devices));
  out_.reduceNs = keep(ArrayRef<int64_t>(members_.ns));
  out_.numSlots += static_cast<int32_t>(members_.devices.size());
  members_.clear();
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

/// phaseOf() of an action of a flat plan.
Phase ValueCompiler::phaseOf(const FlatPlan::Action &action) const {
  int32_t host = topology_.host();
  if (llvm::all_of(plan_->inputsOf(action), [&](const FlatPlan::Port &port) {
        return port.device == host;
      }))
    return Phase::Feed;
  if (llvm::all_of(plan_->outputsOf(action), [&](int32_t shard) {
        return plan_->shards[shard].device == host;
      }))
    return Phase::Drain;
  return Phase::Step;
}

void ValueCompiler::addAction(int32_t index) {
  const FlatPlan::Action &action = plan_->actions[index];
  int64_t bytes = linkBytes(*plan_, action, in_->elementBytes);
  Phase phase = phaseOf(action);
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
  for (int32_t device : plan_->groupOf(action))
    members_.findOrAdd(device);
  tasks.devices = keep(ArrayRef<int32_t>(members_.devices));
  addPacks(tasks, action, /*drain=*/false);
  tasks.slot = out_.numSlots;
  out_.numSlots += static_cast<int32_t>(tasks.devices.size());
  addMembers(tasks, action);
  if (action.kind != ActionKind::Transfer &&
      action.kind != ActionKind::HaloExchange) {
    const CollectiveCost &cost = costOf(action);
    tasks.form = ActionTasks::Form::Collective;
    tasks.ns = cost.ns;
    tasks.occupiesNs = cost.occupiesNs;
    tasks.links = keep(ArrayRef<LinkUse>(cost.links));
  } else {
    addTransfers(tasks, action);
  }
  for (int32_t output : plan_->outputsOf(action))
    shardSlot_[output] =
        tasks.slot + members_.place[plan_->shards[output].device];
  members_.clear();
  actions_.push_back(tasks);
}

/// What the members of an action wait for.
void ValueCompiler::addMembers(ActionTasks &tasks,
                               const FlatPlan::Action &action) {
  moveWaits_.clear();
  producerWaits_.clear();
  for (auto [port, packSlot] :
       llvm::zip_equal(plan_->inputsOf(action), packSlots_)) {
    if (plan_->volumes[port.box] == 0)
      continue;
    int32_t member = members_.place[port.device];
    if (packSlot >= 0) {
      addWait(moveWaits_, {member, packSlot});
      continue;
    }
    bool ofProducer = false;
    for (FlatPlan::Piece piece : plan_->piecesIn(port.pieces))
      if (int32_t slot = shardSlot_[piece.shard]; slot >= 0)
        addWait(moveWaits_, {member, slot});
      else
        ofProducer = in_->producerComputes;
    // Ports of one device stand side by side.
    if (ofProducer &&
        (producerWaits_.empty() || producerWaits_.back().at != member))
      producerWaits_.push_back({member, producerIndex(port.device)});
  }
  tasks.moveWaits = keepUnique(moveWaits_);
  tasks.producerWaits = keepUnique(producerWaits_);
}

/// True if a task of the step reads what is copied for a drain.
bool ValueCompiler::isRead(const FlatPlan::Port &port) const {
  return llvm::any_of(plan_->reads, [&](const FlatPlan::Read &read) {
    return read.device == port.device &&
           in_->consumers[in_->launchOrder[read.consumer]].computes &&
           CopyTable::areSame(*plan_, read.box, read.pieces, port.box,
                              port.pieces);
  });
}

/// The copies for a drain that the step uses too: they stand behind the
/// producer, where the drain wants them. An action that moves nothing.
void ValueCompiler::addDrainPacks(int32_t index) {
  ActionTasks tasks;
  tasks.action = index;
  addPacks(tasks, plan_->actions[index], /*drain=*/true);
  tasks.slot = out_.numSlots;
  if (!tasks.packDevices.empty())
    actions_.push_back(tasks);
}

/// Copies what is not one whole shard, each box once per device; for a drain
/// only what is read in the step. Leaves in packSlots_, per input, the slot of
/// the copy's end.
void ValueCompiler::addPacks(ActionTasks &tasks, const FlatPlan::Action &action,
                             bool drain) {
  packSlots_.assign(action.inputs.size(), -1);
  waits_.clear();
  tasks.packSlot = out_.numSlots;
  for (auto [port, packSlot] :
       llvm::zip_equal(plan_->inputsOf(action), packSlots_)) {
    if (plan_->volumes[port.box] == 0 ||
        plan_->isWholeShard(port.pieces, port.box) || (drain && !isRead(port)))
      continue;
    bool isNew;
    CopyTable::Copy &copy =
        copies_.findOrAdd(port.device, port.box, port.pieces, isNew);
    if (!isNew) {
      packSlot = copy.slot;
      continue;
    }
    int32_t at = packed_.findOrAdd(port.device);
    packSlot = copy.slot = tasks.packSlot + at;
    packed_.ns[at] += assembleNs(port.box, port.pieces, port.device);
    planBytes_[port.device] += bytesOf(port.box);
    for (FlatPlan::Piece piece : plan_->piecesIn(port.pieces))
      if (int32_t slot = shardSlot_[piece.shard]; slot >= 0)
        addWait(waits_, {at, slot});
  }
  if (packed_.devices.empty())
    return;
  tasks.packDevices = keep(ArrayRef<int32_t>(packed_.devices));
  tasks.packNs = keep(ArrayRef<int64_t>(packed_.ns));
  tasks.packWaits = keepUnique(waits_);
  out_.numSlots += static_cast<int32_t>(packed_.devices.size());
  packed_.clear();
}

void ValueCompiler::addTransfers(ActionTasks &tasks,
                                 const FlatPlan::Action &action) {
  auto *transfers = arena_->Allocate<TransferTask>(action.inputs.size());
  size_t numTransfers = 0;
  links_.clear();
  for (auto [port, output] :
       llvm::zip_equal(plan_->inputsOf(action), plan_->outputsOf(action))) {
    int32_t target = plan_->shards[output].device;
    int64_t bytes = bytesOf(port.box);
    if (bytes == 0)
      continue;
    Route route = topology_.route(port.device, target);
    Times &times = timesOf(bytes);
    TransferTask &transfer = *new (&transfers[numTransfers++]) TransferTask();
    transfer.source = members_.place[port.device];
    transfer.target = members_.place[target];
    transfer.latencyNs = route.latencyNs;
    transfer.occupiesNs = target == topology_.host()
                              ? 0
                              : route.copyNs(static_cast<double>(bytes));
    transfer.linkBegin = static_cast<int32_t>(links_.size());
    // The slowest link is the route's bandwidth.
    int64_t longest = 0;
    links_.resize_for_overwrite(links_.size() + route.links.size());
    LinkUse *use = links_.end() - route.links.size();
    for (int32_t id : route.links) {
      int64_t ns = linkNs(times, id);
      longest = std::max(longest, ns);
      *use++ = {linkClasses_[id].resource, ns};
    }
    transfer.ns = longest;
    transfer.linkEnd = static_cast<int32_t>(links_.size());
  }
  tasks.transfers = {transfers, numTransfers};
  tasks.links = keep(ArrayRef<LinkUse>(links_));
}

const CollectiveCost &ValueCompiler::costOf(const FlatPlan::Action &action) {
  ArrayRef<int32_t> group = plan_->groupOf(action);
  // As in a Movement: only the root of a broadcast puts something in.
  memberBytes_.assign(group.size(), 0);
  for (auto [index, port] : llvm::enumerate(plan_->inputsOf(action)))
    memberBytes_[index] = bytesOf(port.box);
  KeyBuilder builder;
  builder.add(static_cast<int64_t>(action.kind));
  builder.addAll(group);
  builder.addAll(ArrayRef<int64_t>(memberBytes_));
  // A search meets the same collectives again and again, but not for ever.
  constexpr unsigned mostCosts = 1 << 17;
  if (collectives_.size() > mostCosts)
    collectives_.clear();
  auto [it, isNew] = collectives_.try_emplace(builder.key());
  if (isNew)
    it->second =
        CostModel::collective(action.kind, group, memberBytes_, topology_);
  return it->second;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

void ValueCompiler::addUses() {
  // Reads are ordered by consumer, and consumers as they are launched.
  ArrayRef<FlatPlan::Read> reads(plan_->reads);

  // In launch order, because the first consumer unpacks for those after it.
  // What one node reads twice it unpacks at once, at the first operand.
  SmallVector<Wait, 64> computeWaits;
  waits_.clear();
  int32_t first = -1;
  auto closeUnpack = [&] {
    if (first < 0 || members_.devices.empty())
      return;
    UseTasks &unpack = uses_[first];
    unpack.unpackDevices = keep(ArrayRef<int32_t>(members_.devices));
    unpack.unpackNs = keep(ArrayRef<int64_t>(members_.ns));
    unpack.unpackWaits = keepUnique(waits_);
    members_.clear();
    waits_.clear();
  };
  for (auto [rank, consumer] : llvm::enumerate(in_->launchOrder)) {
    const CompileInput::Consumer &reader = in_->consumers[consumer];
    if (first < 0 || in_->consumers[first].node != reader.node) {
      closeUnpack();
      first = consumer;
    }
    auto own = reads.take_while([rank = rank](const FlatPlan::Read &read) {
      return read.consumer == static_cast<int32_t>(rank);
    });
    reads = reads.drop_front(own.size());
    if (!reader.computes)
      continue;
    computeWaits.clear();
    for (const FlatPlan::Read &read : own) {
      int32_t device = read.device;
      if (plan_->isWholeShard(read.pieces, read.box)) {
        int32_t shard = plan_->pieces[read.pieces.begin].shard;
        if (int32_t slot = shardSlot_[shard]; slot >= 0) {
          auto at = llvm::lower_bound(reader.devices, device) -
                    reader.devices.begin();
          computeWaits.push_back({static_cast<int32_t>(at), slot});
        }
        continue;
      }
      bool isNew;
      copies_.findOrAdd(device, read.box, read.pieces, isNew);
      if (!isNew)
        continue;
      int32_t at = members_.findOrAdd(device);
      members_.ns[at] += assembleNs(read.box, read.pieces, device);
      planBytes_[device] += bytesOf(read.box);
      for (FlatPlan::Piece piece : plan_->piecesIn(read.pieces))
        if (int32_t slot = shardSlot_[piece.shard]; slot >= 0)
          addWait(waits_, {at, slot});
    }
    uses_[consumer].computeWaits = keepUnique(computeWaits);
  }
  closeUnpack();
}

void ValueCompiler::addMemory() {
  for (const FlatPlan::Shard &shard : plan_->shards)
    (shard.origin == Shard::Origin::Task ? shardBytes_
                                         : planBytes_)[shard.device] +=
        bytesOf(shard.box);
  auto list = [&](std::vector<int64_t> &bytes) {
    SmallVector<DeviceBytes, 64> found;
    for (int32_t device = 0; device < topology_.numDevices(); ++device)
      if (bytes[device])
        found.push_back({device, bytes[device]});
    std::fill(bytes.begin(), bytes.end(), 0);
    return keep(ArrayRef<DeviceBytes>(found));
  };
  out_.shardBytes = list(shardBytes_);
  out_.planBytes = list(planBytes_);
}
