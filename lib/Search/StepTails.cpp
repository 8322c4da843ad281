//===- StepTails.cpp - How long a step goes on from a row -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SimulatorPass.h from the end of the launch order to its beginning. What a
// launch overwrites later has the tail that the launch leaves to it: where an
// end is the latest of some times and a duration, all these times have the tail
// of the end and the duration.
//
//===----------------------------------------------------------------------===//

#include "StepTails.h"
#include "soap/Search/Timeline.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;

static void raise(int64_t &tail, int64_t to) { tail = std::max(tail, to); }

void StepTails::reset(int32_t interval, int32_t numRows, size_t numResources) {
  interval_ = interval;
  numRows_ = numRows;
  numResources_ = numResources;
  numEnds_ = Timeline::numEnds(tasks_.topology());
  firstPriority_ = Timeline::firstPriority(tasks_.topology());
  rows_.resize(numRows_ * numResources_);
  nodeTails_.resize(tasks_.graph().numNodes());
  bucketTails_.resize(tasks_.numBuckets());
  unpackTails_.resize(
      tasks_.operandIndex(tasks_.graph().numNodes(), /*operand=*/0));
  // The step ends when all resources are free.
  firstKnown_ = numRows_ - 1;
  std::fill(rows_.end() - static_cast<ptrdiff_t>(numResources_), rows_.end(),
            0);
}

void StepTails::forgetBefore(int32_t position) {
  if (SOAP_FAULT("tails-stale"))
    return;
  int32_t row = std::min(numRows_ - 1, (position + interval_ - 1) / interval_);
  firstKnown_ = std::max(firstKnown_, row);
}

void StepTails::extendTo(int32_t row) {
  if (row >= firstKnown_)
    return;
  now_.assign(ofResources(firstKnown_),
              ofResources(firstKnown_) + numResources_);
  auto numPositions = static_cast<int32_t>(tasks_.order().size());
  while (firstKnown_ > row) {
    int32_t end = std::min(firstKnown_ * interval_, numPositions);
    --firstKnown_;
    for (int32_t position = end; position-- > firstKnown_ * interval_;)
      passPosition(position);
    std::copy(now_.begin(), now_.end(),
              rows_.begin() +
                  static_cast<ptrdiff_t>(firstKnown_ * numResources_));
  }
}

void StepTails::passPosition(int32_t position) {
  int32_t node = tasks_.order()[position];
  for (int32_t bucket : llvm::reverse(tasks_.bucketsAt(position)))
    passBucket(bucket);
  producer_.assign(tasks_.nodeTasks(node).devices.size(), none);
  for (int32_t value : llvm::reverse(tasks_.graph().node(node).results))
    passValue(value);
  passNode(node);
  for (const TaskGraph::Prefetch &prefetch :
       llvm::reverse(tasks_.prefetchesAt(position)))
    if (int32_t round = prefetch.roundIn(tasks_.valueTasks(prefetch.value));
        round >= 0)
      passValue(prefetch.value, round);
}

void StepTails::passNode(int32_t id) {
  const GraphNode &node = tasks_.graph().node(id);
  const NodeTasks &tasks = tasks_.nodeTasks(id);
  auto &tails = nodeTails_[id];
  tails.resize_for_overwrite(tasks.devices.size());
  ArrayRef<int64_t> apart = tasks_.apartNs(id);
  for (size_t i = 0; i < tails.size(); ++i) {
    int64_t &stream = now_[tasks.devices[i]];
    stream = tails[i] =
        std::max(stream, producer_[i]) + tasks.ns[i] +
        (apart.empty() || SOAP_FAULT("tails-without-followers") ? 0 : apart[i]);
  }
  int32_t firstUse = tasks_.operandIndex(id, 0);
  for (auto operand = static_cast<int32_t>(node.operands.size());
       operand-- > 0;) {
    const UseTasks &use = tasks_.valueTasks(node.operands[operand])
                              .uses[tasks_.useIndex(id, operand)];
    auto &unpacks = unpackTails_[firstUse + operand];
    unpacks.resize_for_overwrite(use.unpackDevices.size());
    for (size_t i = 0; i < unpacks.size(); ++i)
      now_[use.unpackDevices[i]] = unpacks[i] =
          now_[use.unpackDevices[i]] + use.unpackNs[i];
  }
}

/// Slots of a round of a value, the late ones of its bucket or all others, have
/// the tails of what waits for them.
void StepTails::raiseSlots(int32_t id, bool late, int32_t round) {
  const ValueTasks &value = tasks_.valueTasks(id);
  int32_t numLate = tasks_.bucketOf(id) < 0 ? 0 : value.numLateSlots;
  slots_.assign(value.numSlots, none);
  auto raiseSlot = [&](const Wait &wait, ArrayRef<int64_t> tails) {
    if ((wait.slot < numLate) == late &&
        (LLVM_LIKELY(value.rounds.empty()) ||
         value.roundOfSlot(wait.slot) == round))
      raise(slots_[wait.slot], tails[wait.at]);
  };
  for (auto [use, place] :
       llvm::zip_equal(value.uses, tasks_.graph().value(id).uses)) {
    ArrayRef<int64_t> tails = ofNode(place.node),
                      unpacks = ofUnpacks(
                          tasks_.operandIndex(place.node, place.operand));
    for (const Wait &wait : use.computeWaits)
      raiseSlot(wait, tails);
    for (const Wait &wait : use.unpackWaits)
      raiseSlot(wait, unpacks);
  }
}

void StepTails::passBucket(int32_t bucket) {
  ArrayRef<BucketAction> actions = tasks_.bucketTasks(bucket).actions;
  auto &tails = bucketTails_[bucket];
  tails.assign(actions.size(), none);
  // What a collective leaves to its members first, then what it does before.
  for (auto [action, tail] : llvm::zip_equal(actions, tails))
    for (const BucketAction::Member &member : action.members) {
      raiseSlots(member.value, /*late=*/true, /*round=*/0);
      for (size_t i = 0; i < action.devices.size(); ++i)
        raise(tail, slots_[member.slot + i]);
    }
  for (size_t i = actions.size(); i-- > 0;) {
    const BucketAction &action = actions[i];
    tails[i] = passCollective(action.devices, action.links, action.ns,
                              action.occupiesNs, action.hasPriority, tails[i]);
    for (size_t k = 0; k < action.packNs.size(); ++k) {
      int64_t &stream = now_[action.devices[k]];
      stream = std::max(stream, tails[i]) + action.packNs[k];
    }
  }
}

void StepTails::passValue(int32_t id, int32_t round) {
  const ValueTasks &value = tasks_.valueTasks(id);
  if (value.numSlots == 0)
    return;
  raiseSlots(id, /*late=*/false, round);
  int32_t bucket = tasks_.bucketOf(id);
  for (const ActionTasks &action : llvm::reverse(value.actionsOf(round))) {
    if (bucket >= 0 && action.joinsBuckets) {
      passInputs(id, action, bucket);
    } else if (!action.devices.empty()) {
      assert(action.form != ActionTasks::Form::Receipt &&
             "only a change on trial has bounds in place of plans");
      bool held = round > 0;
      if (action.form == ActionTasks::Form::Collective)
        passCollective(action, held);
      else
        passTransfers(action, held);
    }
    passCopies(action.packDevices, action.packNs, action.packWaits,
               action.packSlot);
  }
  if (round == 0)
    passCopies(value.reduceDevices, value.reduceNs, {}, value.reduceSlot);
}

/// Copies on compute streams whose ends are slots of the value.
void StepTails::passCopies(ArrayRef<int32_t> devices, ArrayRef<int64_t> ns,
                           ArrayRef<Wait> waits, int32_t slot) {
  scratch_.resize(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    int64_t &stream = now_[devices[i]];
    stream = scratch_[i] = std::max(stream, slots_[slot + i]) + ns[i];
  }
  passWaits(waits, {}, scratch_.data());
}

void StepTails::passWaits(ArrayRef<Wait> waits, ArrayRef<Wait> producerWaits,
                          const int64_t *tails) {
  for (const Wait &wait : waits)
    raise(slots_[wait.slot], tails[wait.at]);
  for (const Wait &wait : producerWaits)
    raise(producer_[wait.slot], tails[wait.at]);
}

/// Links that are taken at a time with the tail `tail`, or a longer one, which
/// is returned: that of the links before.
int64_t StepTails::passLinks(ArrayRef<LinkUse> links, int64_t tail) {
  int64_t *free = &now_[2 * static_cast<size_t>(numEnds_)];
  // Of two uses of one resource the last one says when it is free.
  for (const LinkUse &use : llvm::reverse(links)) {
    raise(tail, free[use.resource] + use.ns);
    free[use.resource] = none;
  }
  for (const LinkUse &use : links)
    free[use.resource] = tail;
  return tail;
}

/// Links that a collective with priority uses from a time with the tail `tail`
/// on, or a longer one, which is returned. Those that are busy then are free as
/// much later.
int64_t StepTails::passBusyLinks(ArrayRef<LinkUse> links, int64_t tail) {
  int64_t *free = &now_[2 * static_cast<size_t>(numEnds_)];
  for (const LinkUse &use : llvm::reverse(links))
    raise(tail, free[use.resource] += use.ns);
  return tail;
}

/// What a value's part of a bucket waits for.
void StepTails::passInputs(int32_t id, const ActionTasks &action,
                           int32_t bucket) {
  for (auto [joint, tail] : llvm::zip_equal(tasks_.bucketTasks(bucket).actions,
                                            bucketTails_[bucket]))
    for (const BucketAction::Member &member : joint.members)
      if (member.value == id && member.slot == action.slot) {
        scratch_.assign(action.devices.size(), tail);
        return passWaits(action.moveWaits, action.producerWaits,
                         scratch_.data());
      }
}

/// A collective whose ends have the tail `tail`; returns that of its start.
int64_t StepTails::passCollective(ArrayRef<int32_t> devices,
                                  ArrayRef<LinkUse> links, int64_t ns,
                                  int64_t occupiesNs, bool hasPriority,
                                  int64_t tail) {
  int64_t *compute = now_.data(),
          *streams = compute + (hasPriority ? firstPriority_ : numEnds_);
  for (int32_t device : devices) {
    raise(tail, streams[device]);
    compute[device] += occupiesNs;
  }
  tail = hasPriority ? passBusyLinks(links, tail + ns)
                     : passLinks(links, tail + ns);
  for (int32_t device : devices)
    streams[device] = tail;
  return tail;
}

void StepTails::passCollective(const ActionTasks &action, bool held) {
  int64_t tail = none;
  for (size_t i = 0; i < action.devices.size(); ++i)
    raise(tail, slots_[action.slot + i]);
  tail = passCollective(action.devices, action.links, action.ns,
                        action.occupiesNs, action.hasPriority, tail);
  for (size_t i = 0; held && i < action.devices.size(); ++i)
    raise(now_[action.devices[i]], tail);
  scratch_.assign(action.devices.size(), tail);
  passWaits(action.moveWaits, action.producerWaits, scratch_.data());
}

void StepTails::passTransfers(const ActionTasks &action, bool held) {
  int64_t *compute = now_.data(), *communication = compute + numEnds_;
  int64_t *free = communication + numEnds_;
  size_t count = action.devices.size();
  scratch_.resize(2 * count);
  int64_t *starts = scratch_.data(), *ends = starts + count;
  for (size_t i = 0; i < count; ++i)
    starts[i] = ends[i] =
        std::max(slots_[action.slot + i], communication[action.devices[i]]);
  for (const TransferTask &transfer : llvm::reverse(action.transfers)) {
    const int64_t *cost = &action.costs[transfer.cost];
    compute[action.devices[transfer.target]] += cost[1];
    int64_t tail =
        std::max(ends[transfer.source], ends[transfer.target]) + cost[0];
    // As in passLinks().
    for (int32_t i = transfer.numLinks; i-- > 0;) {
      raise(tail, free[transfer.resources[i]] + cost[2 + i]);
      free[transfer.resources[i]] = none;
    }
    for (int32_t i = 0; i < transfer.numLinks; ++i)
      free[transfer.resources[i]] = tail;
    raise(starts[transfer.source], tail);
    raise(starts[transfer.target], tail);
  }
  for (size_t i = 0; i < count; ++i) {
    communication[action.devices[i]] = starts[i];
    if (held)
      raise(compute[action.devices[i]], starts[i]);
  }
  passWaits(action.moveWaits, action.producerWaits, starts);
}
