//===- PlanCache.cpp - Compiled plans -------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanCache.h"

using namespace soap;
using namespace soap::detail;

const ValueTasks *PlanCache::insert(Key key, const ValueTasks &tasks) {
  auto *kept = new (*arena_) ValueTasks(tasks);
  plans_[key] = kept;
  return kept;
}

/// Copies a plan with all its lists.
static const ValueTasks *copyTo(PlanArena &arena, const ValueTasks &tasks) {
  auto keep = [&](auto &list) { list = list.copy(arena); };
  auto *result = new (arena) ValueTasks(tasks);
  keep(result->reduceDevices);
  keep(result->reduceNs);
  keep(result->shardBytes);
  keep(result->planBytes);
  llvm::SmallVector<ActionTasks, 4> actions(tasks.actions);
  for (ActionTasks &action : actions) {
    keep(action.devices);
    keep(action.packDevices);
    keep(action.packNs);
    keep(action.packWaits);
    keep(action.moveWaits);
    keep(action.producerWaits);
    keep(action.links);
    keep(action.transfers);
    keep(action.costs);
  }
  result->actions = llvm::ArrayRef<ActionTasks>(actions).copy(arena);
  llvm::SmallVector<UseTasks, 4> uses(tasks.uses);
  for (UseTasks &use : uses) {
    keep(use.unpackDevices);
    keep(use.unpackNs);
    keep(use.unpackWaits);
    keep(use.computeWaits);
    keep(use.apartNs);
  }
  result->uses = llvm::ArrayRef<UseTasks>(uses).copy(arena);
  llvm::SmallVector<RoundTasks, 2> rounds(tasks.rounds);
  for (RoundTasks &round : rounds)
    keep(round.planBytes);
  result->rounds = llvm::ArrayRef<RoundTasks>(rounds).copy(arena);
  return result;
}

void PlanCache::collect(llvm::MutableArrayRef<const ValueTasks *> live) {
  auto arena = std::make_unique<PlanArena>(pool_);
  llvm::DenseMap<const ValueTasks *, const ValueTasks *> moved;
  for (const ValueTasks *&tasks : live) {
    const ValueTasks *&place = moved[tasks];
    if (!place)
      place = copyTo(*arena, *tasks);
    tasks = place;
  }
  plans_.clear();
  arena_ = std::move(arena);
}
