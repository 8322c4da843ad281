//===- CompileTasks.cpp - Flat arrays of one value ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileTasks.h"
#include "soap/Search/BucketActions.h"
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// How many sizes are remembered.
static constexpr size_t numTimes = 512;

ValueCompiler::ValueCompiler(const Topology &topology)
    : topology_(topology),
      knowsBoxes_(llvm::any_of(
          topology.kinds(),
          [](const DeviceKind &kind) { return kind.boxBandwidth > 0; })),
      copyTimes_(numTimes),
      ways_((topology.numDevices() + 1) * size_t(topology.numDevices() + 1)),
      shardBytes_(topology.numDevices() + 1, 0),
      planBytes_(topology.numDevices() + 1, 0) {
  members_.place.assign(topology.numDevices() + 1, -1);
  packed_.place = members_.place;
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
  rounds_.clear();
  int32_t numRounds =
      plan_->rounds.empty() ? 0 : *llvm::max_element(plan_->rounds);
  planBytes_.resize((numRounds + 1) * shardBytes_.size()); // Others are 0.

  findLateSlots();
  reduce();
  for (size_t action = 0; action < plan_->actions.size(); ++action) {
    beginRounds(plan_->actions[action].round);
    addAction(static_cast<int32_t>(action));
  }
  beginRounds(numRounds);
  addUses();
  addMemory();
  out_.actions = keep(ArrayRef<ActionTasks>(actions_));
  out_.uses = keep(ArrayRef<UseTasks>(uses_));
  out_.rounds = keep(ArrayRef<RoundTasks>(rounds_));
  return out_;
}

/// Actions and slots that are added from now on are of `round`.
void ValueCompiler::beginRounds(int32_t round) {
  while (static_cast<int32_t>(rounds_.size()) < round) {
    RoundTasks &next = rounds_.emplace_back();
    auto first = llvm::find(plan_->rounds, int32_t(rounds_.size()));
    next.use = in_->launchOrder[first - plan_->rounds.begin()];
    next.firstAction = static_cast<int32_t>(actions_.size());
    next.firstSlot = out_.numSlots;
  }
  copies_.setRound(round);
}

/// Plans have few sizes, and one search meets them again and again.
int64_t ValueCompiler::copyNs(int64_t bytes, int32_t device) {
  if (device == topology_.host())
    return 0;
  int32_t kind = topology_.device(device).kind;
  if (kind >= mostKinds)
    return CostModel::copyNs(bytes, topology_.kinds()[kind]);
  static_assert(numTimes == 512, "9 bits of hash");
  CopyTimes &times =
      copyTimes_[static_cast<uint64_t>(bytes) * 0x9e3779b97f4a7c15ull >> 55];
  if (times.bytes != bytes) {
    times.bytes = bytes;
    times.ns.fill(-1);
  }
  int64_t &ns = times.ns[kind];
  if (ns < 0)
    ns = CostModel::copyNs(bytes, topology_.kinds()[kind]);
  return ns;
}

/// Whether `box` is read where the one piece lies that it is put together from.
bool ValueCompiler::isView(int32_t box, FlatPlan::Slice pieces,
                           int32_t device) const {
  if (pieces.size() != 1)
    return false;
  int32_t shard = plan_->pieces[pieces.begin].shard;
  return CostModel::isView(
      plan_->box(box), plan_->box(plan_->shards[shard].box),
      static_cast<int32_t>(in_->elementBytes), topology_.kindOf(device));
}

/// What it costs to put `box` together.
int64_t ValueCompiler::assembleNs(int32_t box, FlatPlan::Slice pieces,
                                  int32_t device) {
  if (device == topology_.host() || isView(box, pieces, device))
    return 0;
  int64_t ns = copyNs(bytesOf(box), device);
  const DeviceKind &kind = topology_.kindOf(device);
  if (!(kind.boxBandwidth > 0))
    return ns;
  BoxCopies copies;
  for (FlatPlan::Piece piece : plan_->piecesIn(pieces))
    copies.add(plan_->box(piece.box),
               plan_->box(plan_->shards[piece.shard].box), plan_->box(box),
               in_->elementBytes);
  return std::min(ns + CostModel::runsNs(copies.runs, kind), longestNs);
}

int32_t ValueCompiler::producerIndex(int32_t device) const {
  auto it = llvm::lower_bound(in_->producer.devices, device);
  return static_cast<int32_t>(it - in_->producer.devices.begin());
}

/// The first slots are those of actions that may run in a bucket.
void ValueCompiler::findLateSlots() {
  lateSlots_.assign(plan_->actions.size(), -1);
  for (int32_t index : bucketActions(*plan_)) {
    const FlatPlan::Action &action = plan_->actions[index];
    auto reduceScatterNs = [&](ArrayRef<int64_t> bytes) {
      return costOf(action.kind, plan_->groupOf(action), bytes).ns;
    };
    auto copyNs = [&](int64_t bytes, int32_t device) {
      return this->copyNs(bytes, device);
    };
    if (action.kind == ActionKind::ReduceScatter &&
        !gainsFromBucket(plan_->groupOf(action),
                         bytesOf(plan_->inputsOf(action).front().box),
                         {reduceScatterNs, copyNs}))
      continue;
    lateSlots_[index] = out_.numSlots;
    out_.numSlots += action.group.size();
  }
  out_.numLateSlots = out_.reduceSlot = out_.numSlots;
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
// Uses
//===----------------------------------------------------------------------===//

/// What the tasks of a reader that follows the producer cost where they do not
/// read a whole tile that was made on their device.
void ValueCompiler::addApart(const CompileInput::Consumer &reader,
                             ArrayRef<FlatPlan::Read> reads, UseTasks &use) {
  SmallVector<int64_t, 64> ns(reader.devices.size(), 0);
  for (const FlatPlan::Read &read : reads) {
    if (plan_->isWholeShard(read.pieces, read.box) &&
        plan_->shards[plan_->pieces[read.pieces.begin].shard].origin ==
            Shard::Origin::Task)
      continue;
    auto at =
        llvm::lower_bound(reader.devices, read.device) - reader.devices.begin();
    ns[at] += reader.apart->ns[reader.apart->classOf[read.task]]
                              [topology_.device(read.device).kind];
  }
  if (llvm::any_of(ns, [](int64_t time) { return time != 0; }))
    use.apartNs = keep(ArrayRef<int64_t>(ns));
}

void ValueCompiler::addUses() {
  // Reads are ordered by consumer, and consumers as they are launched.
  ArrayRef<FlatPlan::Read> reads(plan_->reads);

  // In launch order, because the first consumer unpacks for those after it.
  // What one node reads twice it unpacks at once, at the first operand.
  SmallVector<Wait, 64> computeWaits;
  waits_.clear();
  int32_t first = -1, round = 0;
  copies_.setRound(0);
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
    if (rank < plan_->rounds.size())
      copies_.setRound(round = plan_->rounds[rank]);
    uses_[consumer].round = round;
    computeWaits.clear();
    for (const FlatPlan::Read &read : own) {
      int32_t device = read.device;
      if (plan_->isWholeShard(read.pieces, read.box)) {
        int32_t shard = plan_->pieces[read.pieces.begin].shard;
        uses_[consumer].readsPlan |=
            plan_->shards[shard].origin != Shard::Origin::Task;
        if (int32_t slot = shardSlot_[shard]; slot >= 0) {
          auto at = llvm::lower_bound(reader.devices, device) -
                    reader.devices.begin();
          computeWaits.push_back({static_cast<int32_t>(at), slot});
        }
        continue;
      }
      uses_[consumer].readsPlan = true;
      bool isNew;
      copies_.findOrAdd(device, read.box, read.pieces, isNew);
      if (!isNew)
        continue;
      // What is made once lies beside the value.
      if (in_->isFixed && plan_->actions.empty()) {
        if (!isView(read.box, read.pieces, device))
          shardBytes_[device] += bytesOf(read.box);
        continue;
      }
      int32_t at = members_.findOrAdd(device);
      members_.ns[at] += assembleNs(read.box, read.pieces, device);
      planBytesOf(round)[device] += bytesOf(read.box);
      for (FlatPlan::Piece piece : plan_->piecesIn(read.pieces))
        if (int32_t slot = shardSlot_[piece.shard]; slot >= 0)
          addWait(waits_, {at, slot});
    }
    uses_[consumer].computeWaits = keepUnique(computeWaits);
    if (reader.apart)
      addApart(reader, own, uses_[consumer]);
  }
  closeUnpack();
}

void ValueCompiler::addMemory() {
  for (const FlatPlan::Shard &shard : plan_->shards) {
    int64_t bytes = bytesOf(shard.box);
    if (shard.origin == Shard::Origin::Task)
      shardBytes_[shard.device] += bytes;
    else if (shard.origin == Shard::Origin::Action)
      planBytesOf(plan_->actions[shard.index].round)[shard.device] += bytes;
    else
      planBytesOf(0)[shard.device] += bytes;
  }
  auto list = [&](llvm::MutableArrayRef<int64_t> bytes) {
    SmallVector<DeviceBytes, 64> found;
    for (int32_t device = 0; device < topology_.numDevices(); ++device)
      if (bytes[device])
        found.push_back({device, bytes[device]});
    std::fill(bytes.begin(), bytes.end(), 0);
    return keep(ArrayRef<DeviceBytes>(found));
  };
  out_.shardBytes = list(shardBytes_);
  out_.planBytes = list(planBytesOf(0));
  for (auto [index, round] : llvm::enumerate(rounds_))
    round.planBytes = list(planBytesOf(static_cast<int32_t>(index) + 1));
}
