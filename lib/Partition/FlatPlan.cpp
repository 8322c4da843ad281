//===- FlatPlan.cpp - A plan in flat lists --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/FlatPlan.h"
#include <cassert>

using namespace soap;
using llvm::ArrayRef;
using llvm::SmallVector;

void FlatPlan::clear(size_t newRank) {
  rank = newRank;
  ranges.clear();
  volumes.clear();
  shards.clear();
  reductions.clear();
  shardLists.clear();
  actions.clear();
  members.clear();
  outputs.clear();
  ports.clear();
  pieces.clear();
  reads.clear();
  rounds.clear();
}

/// Which consumers wait for each action, directly or through later actions.
static void findConsumersOfActions(const FlatPlan &plan, size_t numConsumers,
                                   llvm::MutableArrayRef<Action> actions) {
  if (actions.empty())
    return;
  SmallVector<bool, 64> waits(actions.size() * numConsumers, false);
  for (const FlatPlan::Read &read : plan.reads)
    for (FlatPlan::Piece piece : plan.piecesIn(read.pieces)) {
      const FlatPlan::Shard &shard = plan.shards[piece.shard];
      if (shard.origin == Shard::Origin::Action)
        waits[shard.index * numConsumers + read.consumer] = true;
    }
  for (size_t i = actions.size(); i-- != 0;) {
    const bool *row = &waits[i * numConsumers];
    for (size_t c = 0; c != numConsumers; ++c)
      if (row[c])
        actions[i].consumers.push_back(static_cast<int32_t>(c));
    for (const FlatPlan::Port &port : plan.inputsOf(plan.actions[i]))
      for (FlatPlan::Piece piece : plan.piecesIn(port.pieces)) {
        const FlatPlan::Shard &shard = plan.shards[piece.shard];
        if (shard.origin == Shard::Origin::Action)
          for (size_t c = 0; c != numConsumers; ++c)
            waits[shard.index * numConsumers + c] |= row[c];
      }
  }
}

ValuePlan soap::expand(const FlatPlan &plan, size_t numConsumers) {
  ValuePlan result;
  auto boxOf = [&](int32_t id) {
    ArrayRef<Range> ranges = plan.box(id);
    return Box(ranges.begin(), ranges.end());
  };
  auto addPieces = [&](FlatPlan::Slice which, SmallVector<Piece, 1> &pieces) {
    pieces.reserve(which.size());
    for (FlatPlan::Piece piece : plan.piecesIn(which))
      pieces.push_back({piece.shard, boxOf(piece.box)});
  };
  result.shards.reserve(plan.shards.size());
  for (const FlatPlan::Shard &shard : plan.shards)
    result.shards.push_back({shard.device, boxOf(shard.box), shard.part,
                             shard.origin, shard.index, shard.position});
  for (const FlatPlan::Reduction &from : plan.reductions) {
    LocalReduction &reduction = result.reductions.emplace_back();
    reduction.combine = from.combine;
    reduction.inputs.assign(plan.inputsOf(from).begin(),
                            plan.inputsOf(from).end());
    reduction.output = from.output;
  }
  for (const FlatPlan::Action &from : plan.actions) {
    Action &action = result.actions.emplace_back();
    action.kind = from.kind;
    action.combine = from.combine;
    action.round = from.round;
    action.group.assign(plan.groupOf(from).begin(), plan.groupOf(from).end());
    action.inputs.reserve(from.inputs.size());
    for (const FlatPlan::Port &port : plan.inputsOf(from)) {
      Port &input = action.inputs.emplace_back();
      input.device = port.device;
      input.box = boxOf(port.box);
      addPieces(port.pieces, input.pieces);
    }
    action.outputs.assign(plan.outputsOf(from).begin(),
                          plan.outputsOf(from).end());
    if (from.kind == ActionKind::Transfer ||
        from.kind == ActionKind::HaloExchange)
      for (int32_t output : action.outputs)
        action.destinations.push_back(plan.shards[output].device);
  }
  findConsumersOfActions(plan, numConsumers, result.actions);
  result.rounds.assign(plan.rounds.begin(), plan.rounds.end());
  result.reads.reserve(plan.reads.size());
  for (const FlatPlan::Read &from : plan.reads) {
    assert(from.consumer >= 0 &&
           static_cast<size_t>(from.consumer) < numConsumers &&
           "consumers as planned for");
    Read &read = result.reads.emplace_back();
    read.consumer = from.consumer;
    read.task = from.task;
    read.device = from.device;
    read.box = boxOf(from.box);
    addPieces(from.pieces, read.pieces);
  }
  return result;
}
