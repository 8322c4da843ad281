//===- CompileActions.cpp - Flat arrays of one value's actions ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of ValueCompiler that compiles what moves: packs, collectives and
// transfers, and what they cost.
//
//===----------------------------------------------------------------------===//

#include "CompileTasks.h"
#include "llvm/ADT/bit.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;

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
  tasks.memberBytes = bytesOf(plan_->inputsOf(action).front().box);
  for (int32_t device : plan_->groupOf(action))
    members_.findOrAdd(device);
  tasks.devices = keep(ArrayRef<int32_t>(members_.devices));
  tasks.stagingBytes = stagingBytesOf(action);
  addPacks(tasks, action, /*drain=*/false);
  findMemberCopies(action);
  packPieces(tasks, action);
  tasks.joinsBuckets = lateSlots_[index] >= 0;
  if (tasks.joinsBuckets) {
    tasks.slot = lateSlots_[index];
    tasks.chunkBytes = chunkBytesOf(action);
  } else {
    tasks.slot = out_.numSlots;
    out_.numSlots += static_cast<int32_t>(tasks.devices.size());
  }
  addMembers(tasks, action);
  if (action.kind != ActionKind::Transfer &&
      action.kind != ActionKind::HaloExchange) {
    const CollectiveCost &cost = costOf(action);
    tasks.form = ActionTasks::Form::Collective;
    tasks.hasPriority = in_->hasPriority;
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
  unpackPieces(index, action);
}

/// What a reduction has in each chunk of a bucket.
int64_t ValueCompiler::chunkBytesOf(const FlatPlan::Action &action) const {
  int64_t bytes = 0;
  for (int32_t output : plan_->outputsOf(action))
    bytes = std::max(bytes, bytesOf(plan_->shards[output].box));
  return bytes;
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
           (plan_->rounds.empty() || plan_->rounds[read.consumer] == 0) &&
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
    planBytesOf(action.round)[port.device] += bytesOf(port.box);
    for (FlatPlan::Piece piece : plan_->piecesIn(port.pieces))
      if (int32_t slot = shardSlot_[piece.shard]; slot >= 0)
        addWait(waits_, {at, slot});
  }
  keepPacks(tasks);
}

/// Writes what has come together in packed_ and waits_ to `tasks`.
void ValueCompiler::keepPacks(ActionTasks &tasks) {
  if (packed_.devices.empty())
    return;
  tasks.packDevices = keep(ArrayRef<int32_t>(packed_.devices));
  tasks.packNs = keep(ArrayRef<int64_t>(packed_.ns));
  tasks.packWaits = keepUnique(waits_);
  out_.numSlots += static_cast<int32_t>(packed_.devices.size());
  packed_.clear();
}

/// What the members copy beside the collective, since its pieces travel as
/// dense buffers. Leaves memberCopies_ empty if that is nothing.
void ValueCompiler::findMemberCopies(const FlatPlan::Action &action) {
  memberCopies_.clear();
  if (!knowsBoxes_ || (action.kind != ActionKind::AllToAll &&
                       action.kind != ActionKind::AllGather))
    return;
  CollectiveBoxes boxes{action.kind, {}, {}, in_->elementBytes};
  for (const FlatPlan::Port &port : plan_->inputsOf(action))
    boxes.operands.push_back(plan_->box(port.box));
  for (int32_t output : plan_->outputsOf(action))
    boxes.results.push_back(plan_->box(plan_->shards[output].box));
  for (auto [member, device] : llvm::enumerate(plan_->groupOf(action)))
    memberCopies_.push_back(
        CostModel::copiesOfMember(boxes, member, topology_.kindOf(device)));
}

/// Pieces of a collective travel as dense buffers: views where they are
/// contiguous in what a member puts in or gets, else buffers beside it, of all
/// pieces. One piece tells for all, since they are cut along the same
/// dimensions. The order of elements of images is chosen later
/// (soaprt-assign-layouts): whole samples alone are contiguous in either.
int64_t ValueCompiler::stagingBytesOf(const FlatPlan::Action &action) const {
  if (action.kind != ActionKind::AllToAll &&
      action.kind != ActionKind::AllGather &&
      action.kind != ActionKind::ReduceScatter)
    return 0;
  auto inputs = plan_->inputsOf(action);
  auto outputs = plan_->outputsOf(action);
  auto isContiguous = [&](ArrayRef<Range> piece, ArrayRef<Range> whole) {
    BoxCopies copy;
    copy.add(piece, whole, piece, in_->elementBytes);
    return copy.runs <= 1 &&
           (!in_->mayReorder || piece.drop_front() == whole.drop_front());
  };
  ArrayRef<Range> mine = plan_->box(inputs.front().box);
  int64_t put = 0, got = 0;
  for (const FlatPlan::Port &port : inputs)
    put = std::max(put, bytesOf(port.box));
  for (int32_t output : outputs)
    got = std::max(got, bytesOf(plan_->shards[output].box));
  for (int32_t output : outputs) {
    ArrayRef<Range> result = plan_->box(plan_->shards[output].box);
    SmallVector<Range, 5> piece;
    for (auto [a, b] : llvm::zip_equal(mine, result))
      piece.push_back(intersect(a, b));
    if (volume(piece) == 0)
      continue;
    return (isContiguous(piece, mine) ? 0 : put) +
           (isContiguous(piece, result) ? 0 : got);
  }
  return 0;
}

/// Members of a collective pack what they put in. What is put together for them
/// first, with other readers perhaps, becomes an action of its own.
void ValueCompiler::packPieces(ActionTasks &tasks,
                               const FlatPlan::Action &action) {
  if (llvm::all_of(memberCopies_, [](const MemberCopies &copies) {
        return copies.packNs == 0;
      }))
    return;
  if (!tasks.packDevices.empty()) {
    ActionTasks &before = actions_.emplace_back();
    before.action = tasks.action;
    before.packDevices = std::exchange(tasks.packDevices, {});
    before.packNs = std::exchange(tasks.packNs, {});
    before.packWaits = std::exchange(tasks.packWaits, {});
    before.slot = before.packSlot = tasks.packSlot;
  }
  waits_.clear();
  tasks.packSlot = out_.numSlots;
  for (auto [port, packSlot, copies] :
       llvm::zip_equal(plan_->inputsOf(action), packSlots_, memberCopies_)) {
    if (copies.packNs == 0)
      continue;
    int32_t at = packed_.findOrAdd(port.device);
    packed_.ns[at] += copies.packNs;
    if (packSlot >= 0)
      addWait(waits_, {at, packSlot});
    else
      for (FlatPlan::Piece piece : plan_->piecesIn(port.pieces))
        if (int32_t slot = shardSlot_[piece.shard]; slot >= 0)
          addWait(waits_, {at, slot});
    packSlot = tasks.packSlot + at;
  }
  keepPacks(tasks);
}

/// Members of a collective unpack what they got, before anything else that is
/// launched behind it: an action that moves nothing.
void ValueCompiler::unpackPieces(int32_t index,
                                 const FlatPlan::Action &action) {
  ActionTasks tasks;
  tasks.action = index;
  waits_.clear();
  tasks.slot = tasks.packSlot = out_.numSlots;
  for (auto [member, copies] : llvm::enumerate(memberCopies_)) {
    if (copies.unpackNs == 0)
      continue;
    int32_t output = plan_->outputsOf(action)[member];
    int32_t at = packed_.findOrAdd(plan_->shards[output].device);
    packed_.ns[at] += copies.unpackNs;
    addWait(waits_, {at, shardSlot_[output]});
    shardSlot_[output] = tasks.packSlot + at;
  }
  keepPacks(tasks);
  if (!tasks.packDevices.empty())
    actions_.push_back(tasks);
}

/// The route between two devices, which is looked at when it is first needed.
const ValueCompiler::Way &ValueCompiler::wayOf(int32_t from, int32_t to) {
  Way &way = ways_[from * size_t(topology_.numDevices() + 1) + to];
  if (way.resources)
    return way;
  Route route = topology_.route(from, to);
  auto *resources = resources_.Allocate<int32_t>(route.links.size());
  way.resources = resources;
  way.numLinks = static_cast<int32_t>(route.links.size());
  KeyBuilder kind;
  auto add = [&](double rate) { kind.add(llvm::bit_cast<int64_t>(rate)); };
  kind.add(route.latencyNs);
  kind.add(static_cast<int64_t>(route.occupiesReceiver));
  kind.add(static_cast<int64_t>(route.sharesMemory));
  add(route.copyBandwidth);
  for (int32_t id : route.links) {
    const Link &link = topology_.links()[id];
    *resources++ = link.resource;
    add(link.bandwidth);
  }
  // The host has no compute stream to lose.
  kind.add(static_cast<int64_t>(to == topology_.host()));
  auto number = static_cast<int32_t>(kindsOfWays_.size());
  way.kind = kindsOfWays_.try_emplace(kind.key(), number).first->second;
  return way;
}

/// The place in costs_ of what a transfer costs. An action has few different
/// ones.
int32_t ValueCompiler::transferCost(int64_t bytes, const Way &way, int32_t from,
                                    int32_t to) {
  static_assert(std::tuple_size_v<decltype(knownCosts_)> == 64, "6 bits");
  auto hash = static_cast<uint64_t>(bytes) + (uint64_t(way.kind) << 48);
  KnownCost &known = knownCosts_[hash * 0x9e3779b97f4a7c15ull >> 58];
  if (known.action == numActions_ && known.bytes == bytes &&
      known.kind == way.kind)
    return known.cost;
  known = {bytes, way.kind, static_cast<int32_t>(costs_.size()), numActions_};
  auto size = static_cast<double>(bytes);
  Route route = topology_.route(from, to);
  // The slowest link is the route's bandwidth.
  costs_.push_back(route.latencyNs + route.ns(size));
  costs_.push_back(to == topology_.host() ? 0 : route.copyNs(size));
  for (int32_t id : route.links)
    costs_.push_back(topology_.links()[id].ns(size));
  return known.cost;
}

void ValueCompiler::addTransfers(ActionTasks &tasks,
                                 const FlatPlan::Action &action) {
  auto *transfers = arena_->Allocate<TransferTask>(action.inputs.size());
  size_t numTransfers = 0;
  costs_.clear();
  ++numActions_;
  for (auto [port, output] :
       llvm::zip_equal(plan_->inputsOf(action), plan_->outputsOf(action))) {
    int32_t target = plan_->shards[output].device;
    int64_t bytes = bytesOf(port.box);
    if (bytes == 0)
      continue;
    const Way &way = wayOf(port.device, target);
    TransferTask &transfer = *new (&transfers[numTransfers++]) TransferTask();
    transfer.source = members_.place[port.device];
    transfer.target = members_.place[target];
    transfer.cost = transferCost(bytes, way, port.device, target);
    transfer.numLinks = way.numLinks;
    transfer.resources = way.resources;
  }
  tasks.transfers = {transfers, numTransfers};
  tasks.costs = keep(ArrayRef<int64_t>(costs_));
}

const CollectiveCost &ValueCompiler::costOf(const FlatPlan::Action &action) {
  ArrayRef<int32_t> group = plan_->groupOf(action);
  // As in a Movement: only the root of a broadcast puts something in.
  memberBytes_.assign(group.size(), 0);
  for (auto [index, port] : llvm::enumerate(plan_->inputsOf(action)))
    memberBytes_[index] = bytesOf(port.box);
  return costOf(action.kind, group, memberBytes_);
}

const CollectiveCost &ValueCompiler::costOf(ActionKind kind,
                                            ArrayRef<int32_t> group,
                                            ArrayRef<int64_t> memberBytes) {
  KeyBuilder builder;
  builder.add(static_cast<int64_t>(kind));
  builder.addAll(group);
  builder.addAll(memberBytes);
  // A search meets the same collectives again and again, but not for ever.
  constexpr unsigned mostCosts = 1 << 17;
  if (collectives_.size() > mostCosts)
    collectives_.clear();
  auto [it, isNew] = collectives_.try_emplace(builder.key());
  if (isNew)
    it->second = CostModel::collective(kind, group, memberBytes, topology_);
  return it->second;
}
