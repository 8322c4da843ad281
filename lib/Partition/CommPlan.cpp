//===- CommPlan.cpp - Who sends what to whom ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

static std::pair<int32_t, int32_t> deviceBounds(const Layout &producer,
                                                ArrayRef<Need> consumers) {
  int32_t lowest = INT32_MAX, highest = INT32_MIN;
  auto visit = [&](ArrayRef<int32_t> devices) {
    for (int32_t device : devices) {
      lowest = std::min(lowest, device);
      highest = std::max(highest, device);
    }
  };
  visit(producer.devices);
  for (const Need &need : consumers)
    visit(need.devices);
  return {lowest, highest};
}

Planner::Planner(const Layout &producer, ArrayRef<Need> consumers,
                 RouteCost route, int32_t host)
    : producer(producer), consumers(consumers), route(route), host(host),
      firstNeed(0, 0), ownBlock(0, 0), seen(0, 0) {
  std::tie(lowestDevice, highestDevice) = deviceBounds(producer, consumers);
  firstNeed = DeviceTable<int32_t>(lowestDevice, highestDevice);
  ownBlock = seen = firstNeed;
}

//===----------------------------------------------------------------------===//
// Shards, actions, reads
//===----------------------------------------------------------------------===//

int32_t Planner::addShard(int32_t device, Box box, int32_t action,
                          int32_t position) {
  Shard shard;
  shard.device = device;
  shard.box = std::move(box);
  shard.origin = Shard::Origin::Action;
  shard.index = action;
  shard.position = position;
  plan.shards.push_back(std::move(shard));
  return static_cast<int32_t>(plan.shards.size()) - 1;
}

int32_t Planner::addAction(ActionKind kind, SmallVector<int32_t, 8> group) {
  Action &action = plan.actions.emplace_back();
  action.kind = kind;
  action.inputs.reserve(group.size());
  action.group = std::move(group);
  return static_cast<int32_t>(plan.actions.size()) - 1;
}

void Planner::addInput(const SourceGrid &grid, int32_t action, int32_t device,
                       const Box &box) {
  Port &port = plan.actions[action].inputs.emplace_back();
  port.device = device;
  port.box = box;
  grid.assemble(device, box, plan.shards, port.pieces);
}

void soap::detail::sortGroup(llvm::SmallVectorImpl<int32_t> &group) {
  if (!std::is_sorted(group.begin(), group.end()))
    std::sort(group.begin(), group.end());
}

void Planner::serve(const Request &request, ArrayRef<Piece> pieces) {
  const Demand &demand = *request.demand;
  for (int32_t base : demand.readBase)
    plan.reads[base + request.read()].pieces.assign(pieces.begin(),
                                                    pieces.end());
}

//===----------------------------------------------------------------------===//
// What there is and what is needed
//===----------------------------------------------------------------------===//

void Planner::collectDemands() {
  auto equal = [](const Need &a, const Need &b) {
    return a.copies == b.copies && a.devices == b.devices &&
           a.tasks == b.tasks && a.ranges == b.ranges;
  };
  demands.reserve(consumers.size());
  size_t numReads = 0;
  for (size_t i = 0, e = consumers.size(); i != e; ++i) {
    const Need &need = consumers[i];
    assert(need.devices.size() == need.tasks.size() &&
           need.devices.size() == size_t(need.numTiles() * need.copies) &&
           "one device and one task per tile and copy");
    Demand *demand = nullptr;
    if (!need.regather)
      for (Demand &other : demands)
        if (!other.need->regather && equal(*other.need, need))
          demand = &other;
    if (!demand) {
      demand = &demands.emplace_back();
      demand->need = &need;
      demand->index = static_cast<int32_t>(demands.size()) - 1;
      int32_t reads = 0;
      auto tiles = static_cast<int32_t>(need.numTiles());
      demand->boxes.reserve(tiles);
      demand->firstRead.reserve(tiles);
      for (int32_t tile = 0; tile != tiles; ++tile) {
        demand->boxes.push_back(need.tileBox(tile));
        bool empty = isEmpty(demand->boxes.back());
        demand->firstRead.push_back(empty ? -1 : reads);
        reads += empty ? 0 : need.copies;
      }
    }
    demand->consumers.push_back(static_cast<int32_t>(i));
    demand->readBase.push_back(static_cast<int32_t>(numReads));
    for (int32_t first : demand->firstRead)
      numReads += first < 0 ? 0 : need.copies;
  }

  plan.reads.resize(numReads);
  for (const Demand &demand : demands)
    for (size_t k = 0; k != demand.consumers.size(); ++k) {
      Read *read = plan.reads.begin() + demand.readBase[k];
      for (size_t tile = 0; tile != demand.boxes.size(); ++tile) {
        if (demand.firstRead[tile] < 0)
          continue;
        for (int32_t copy = 0; copy != demand.need->copies; ++copy, ++read) {
          size_t slot = tile * demand.need->copies + copy;
          read->consumer = demand.consumers[k];
          read->task = demand.need->tasks[slot];
          read->device = demand.need->devices[slot];
          read->box = demand.boxes[tile];
        }
      }
    }
}

void Planner::createTaskShards() {
  plan.shards.reserve(producer.tasks.size() + plan.reads.size());
  plan.shards.resize(producer.tasks.size());
  const int32_t *task = producer.tasks.begin();
  const int32_t *device = producer.devices.begin();
  for (int64_t tile = 0, e = producer.numTiles(); tile != e; ++tile) {
    Box box = producer.tileBox(tile);
    for (int32_t part = 0; part != producer.parts; ++part)
      for (int32_t copy = 0; copy != producer.copies;
           ++copy, ++task, ++device) {
        Shard &shard = plan.shards[*task];
        shard.device = *device;
        shard.box = box;
        shard.part = producer.parts == 1 ? -1 : part;
        shard.index = *task;
      }
  }
}

SourceGrid Planner::reduceLocally() {
  SourceGrid grid(producer.cuts);
  SmallVector<Holder, 8> holders;
  for (int64_t tile = 0, e = producer.numTiles(); tile != e; ++tile) {
    holders.clear();
    seen.clear();
    int64_t first = tile * producer.parts * producer.copies;
    if (producer.parts == 1) {
      // Copies on one device count once.
      for (int32_t copy = 0; copy != producer.copies; ++copy)
        if (seen.insert(producer.devices[first + copy], 0))
          holders.push_back(
              {producer.devices[first + copy], producer.tasks[first + copy]});
      grid.addCell(holders);
      continue;
    }
    // Copy 0 of every part; parts that share a device join there.
    SmallVector<int32_t, 8> reductionOf;
    for (int32_t part = 0; part != producer.parts; ++part) {
      int64_t slot = first + int64_t(part) * producer.copies;
      int32_t device = producer.devices[slot], shard = producer.tasks[slot];
      int32_t *position = seen.find(device);
      if (!position) {
        seen.insert(device, static_cast<int32_t>(holders.size()));
        holders.push_back({device, shard});
        reductionOf.push_back(-1);
        continue;
      }
      int32_t &index = reductionOf[*position];
      if (index < 0) {
        index = static_cast<int32_t>(plan.reductions.size());
        Shard output = plan.shards[holders[*position].shard];
        output.origin = Shard::Origin::Reduction;
        output.index = index;
        LocalReduction &reduction = plan.reductions.emplace_back();
        reduction.combine = producer.combine;
        reduction.inputs.push_back(holders[*position].shard);
        reduction.output = static_cast<int32_t>(plan.shards.size());
        holders[*position].shard = reduction.output;
        plan.shards.push_back(std::move(output));
      }
      plan.reductions[index].inputs.push_back(shard);
    }
    if (holders.size() == 1)
      plan.shards[holders[0].shard].part = -1;
    grid.addCell(holders);
  }
  grid.formBlocks(plan);
  return grid;
}

//===----------------------------------------------------------------------===//
// The whole plan
//===----------------------------------------------------------------------===//

void Planner::findConsumersOfActions() {
  size_t numActions = plan.actions.size(), numConsumers = consumers.size();
  if (numActions == 0)
    return;
  SmallVector<bool, 64> waits(numActions * numConsumers, false);
  for (const Read &read : plan.reads)
    for (const Piece &piece : read.pieces) {
      const Shard &shard = plan.shards[piece.shard];
      if (shard.origin == Shard::Origin::Action)
        waits[shard.index * numConsumers + read.consumer] = true;
    }
  for (size_t i = numActions; i-- != 0;) {
    Action &action = plan.actions[i];
    const bool *row = &waits[i * numConsumers];
    for (size_t c = 0; c != numConsumers; ++c)
      if (row[c])
        action.consumers.push_back(static_cast<int32_t>(c));
    for (const Port &port : action.inputs)
      for (const Piece &piece : port.pieces) {
        const Shard &shard = plan.shards[piece.shard];
        if (shard.origin == Shard::Origin::Action)
          for (size_t c = 0; c != numConsumers; ++c)
            waits[shard.index * numConsumers + c] |= row[c];
      }
  }
}

bool Planner::isAligned(const Demand &demand) const {
  const Need &need = *demand.need;
  for (size_t d = 0, rank = producer.cuts.size(); d != rank; ++d) {
    const auto &cuts = producer.cuts[d];
    const auto &ranges = need.ranges[d];
    if (ranges.size() + 1 != cuts.size())
      return false;
    for (size_t i = 0, e = ranges.size(); i != e; ++i)
      if (ranges[i] != Range{cuts[i], cuts[i + 1]})
        return false;
  }
  for (size_t slot = 0, e = need.devices.size(); slot != e; ++slot)
    if (taskWith(slot / need.copies, need.devices[slot]) == -1)
      return false;
  return true;
}

int32_t Planner::taskWith(size_t tile, int32_t device) const {
  for (int32_t copy = 0; copy != producer.copies; ++copy) {
    size_t slot = tile * producer.copies + copy;
    if (producer.devices[slot] == device)
      return producer.tasks[slot];
  }
  return -1;
}

void Planner::serveAligned(const Demand &demand) {
  const Need &need = *demand.need;
  for (int32_t tile = 0, e = demand.boxes.size(); tile != e; ++tile)
    for (int32_t copy = 0; copy != need.copies; ++copy) {
      Request request{&demand, tile, copy};
      serve(request, Piece{taskWith(tile, request.device()), request.box()});
    }
}

ValuePlan Planner::run() {
  collectDemands();
  createTaskShards();
  // The search meets this most: everybody reads what its device wrote.
  if (producer.parts == 1 &&
      llvm::all_of(demands, [&](const Demand &d) { return isAligned(d); })) {
    for (const Demand &demand : demands)
      serveAligned(demand);
    return std::move(plan);
  }
  SourceGrid grid = reduceLocally();
  if (producer.parts > 1)
    grid = reducePartials(grid);

  SmallVector<const Demand *, 4> shared;
  for (const Demand &demand : demands)
    if (!demand.need->regather)
      shared.push_back(&demand);
  if (!shared.empty())
    moveAll(grid, shared);
  for (const Demand &demand : demands)
    if (demand.need->regather)
      moveAll(grid, &demand);
  findConsumersOfActions();
  return std::move(plan);
}

ValuePlan soap::planValue(const Layout &producer, ArrayRef<Need> consumers,
                          RouteCost route, int32_t host) {
  return Planner(producer, consumers, route, host).run();
}

llvm::StringRef soap::stringify(ActionKind kind) {
  switch (kind) {
  case ActionKind::Transfer:
    return "transfer";
  case ActionKind::HaloExchange:
    return "halo_exchange";
  case ActionKind::Broadcast:
    return "broadcast";
  case ActionKind::AllGather:
    return "all_gather";
  case ActionKind::AllToAll:
    return "all_to_all";
  case ActionKind::AllReduce:
    return "all_reduce";
  case ActionKind::ReduceScatter:
    return "reduce_scatter";
  }
  return "";
}

SmallVector<Movement, 4> soap::movements(const Action &action,
                                         int64_t elementBytes) {
  SmallVector<Movement, 4> result;
  auto bytes = [&](const Port &port) {
    return volume(port.box) * elementBytes;
  };
  switch (action.kind) {
  case ActionKind::Transfer:
  case ActionKind::HaloExchange:
    for (size_t i = 0, e = action.inputs.size(); i != e; ++i)
      result.push_back({ActionKind::Transfer,
                        {action.inputs[i].device, action.destinations[i]},
                        {bytes(action.inputs[i])}});
    break;
  case ActionKind::Broadcast: {
    // Only the root puts something in.
    Movement movement{action.kind, action.group, {}};
    movement.bytes.assign(action.group.size(), 0);
    movement.bytes[0] = bytes(action.inputs[0]);
    result.push_back(std::move(movement));
    break;
  }
  case ActionKind::AllGather:
  case ActionKind::AllToAll:
  case ActionKind::AllReduce:
  case ActionKind::ReduceScatter: {
    Movement movement{action.kind, action.group, {}};
    for (const Port &port : action.inputs)
      movement.bytes.push_back(bytes(port));
    result.push_back(std::move(movement));
    break;
  }
  }
  return result;
}
