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

void Planner::reset(const Layout &layout, ArrayRef<Need> needsOfAll,
                    RouteCost routeCost, int32_t hostDevice) {
  producer_ = &layout;
  consumers_ = needsOfAll;
  if (llvm::any_of(needsOfAll, [](const Need &n) { return n.parts > 1; })) {
    settled_.assign(needsOfAll.begin(), needsOfAll.end());
    for (Need &need : settled_)
      settleParts(layout, need);
    consumers_ = settled_;
  }
  route_ = routeCost;
  host_ = hostDevice;
  plan_.clear(layout.cuts.size());
  numDemands_ = numTransfers_ = 0;
  round_ = 0;
  std::tie(lowestDevice_, highestDevice_) = deviceBounds(layout, needsOfAll);
  for (DeviceTable<int32_t> *table : {&firstNeed_, &ownBlock_, &seen_})
    table->reset(lowestDevice_, highestDevice_);
}

//===----------------------------------------------------------------------===//
// Shards, actions, reads
//===----------------------------------------------------------------------===//

int32_t Planner::addBox(ArrayRef<Range> ranges) {
  int32_t id = plan_.addBox();
  std::copy(ranges.begin(), ranges.end(), plan_.rangesOf(id));
  plan_.setVolume(id);
  return id;
}

/// Adds the boxes of a grid, row-major, where range i of dimension d is
/// `rangeAt(d, i)`; returns the first.
template <typename RangeAt>
static int32_t addGrid(FlatPlan &plan, ArrayRef<int32_t> counts,
                       RangeAt rangeAt) {
  auto first = static_cast<int32_t>(plan.volumes.size());
  Spans all;
  for (int32_t count : counts)
    all.push_back({0, count});
  SmallVector<int32_t, 5> strides(counts.size(), 0);
  forEachIndex(all, strides, [&](ArrayRef<int32_t> index, int32_t) {
    int32_t id = plan.addBox();
    Range *ranges = plan.rangesOf(id);
    for (size_t d = 0; d != index.size(); ++d)
      ranges[d] = rangeAt(d, index[d]);
    plan.setVolume(id);
  });
  return first;
}

int32_t Planner::addAction(ActionKind kind, ArrayRef<int32_t> members,
                           Combine combine) {
  FlatPlan::Action action;
  action.kind = kind;
  action.combine = combine;
  action.round = round_;
  action.group.begin = static_cast<int32_t>(plan_.members.size());
  plan_.members.append(members.begin(), members.end());
  action.group.end = static_cast<int32_t>(plan_.members.size());
  action.inputs.begin = action.inputs.end =
      static_cast<int32_t>(plan_.ports.size());
  action.outputs.begin = action.outputs.end =
      static_cast<int32_t>(plan_.outputs.size());
  plan_.actions.push_back(action);
  return static_cast<int32_t>(plan_.actions.size()) - 1;
}

void Planner::addInput(const SourceGrid &grid, int32_t device, int32_t box) {
  FlatPlan::Port port{device, box, {}};
  port.pieces.begin = static_cast<int32_t>(plan_.pieces.size());
  grid.assemble(device, box, plan_);
  port.pieces.end = static_cast<int32_t>(plan_.pieces.size());
  plan_.ports.push_back(port);
  ++plan_.actions.back().inputs.end;
}

int32_t Planner::addOutput(int32_t device, int32_t box) {
  FlatPlan::Action &action = plan_.actions.back();
  int32_t shard =
      addShard(device, box, static_cast<int32_t>(plan_.actions.size()) - 1,
               action.outputs.size());
  plan_.outputs.push_back(shard);
  ++action.outputs.end;
  return shard;
}

void soap::detail::sortGroup(llvm::SmallVectorImpl<int32_t> &group) {
  if (!std::is_sorted(group.begin(), group.end()))
    std::sort(group.begin(), group.end());
}

void Planner::serve(const Request &request, FlatPlan::Slice pieces) {
  for (int32_t base : request.demand->readBase)
    plan_.reads[base + request.read()].pieces = pieces;
}

//===----------------------------------------------------------------------===//
// What there is and what is needed
//===----------------------------------------------------------------------===//

void Planner::collectDemands() {
  auto equal = [](const Need &a, const Need &b) {
    return a.copies == b.copies && a.devices == b.devices &&
           a.tasks == b.tasks && a.ranges == b.ranges;
  };
  int32_t numReads = 0, round = 0;
  partReaders_.clear();
  SmallVector<int32_t, 5> sizes;
  for (size_t i = 0, e = consumers_.size(); i != e; ++i) {
    const Need &need = consumers_[i];
    assert(need.devices.size() == need.tasks.size() &&
           need.devices.size() ==
               size_t(need.numTiles() * need.parts * need.copies) &&
           "one device and one task per tile, part and copy");
    round += need.startsRound;
    if (round > 0) {
      plan_.rounds.resize(i, 0);
      plan_.rounds.push_back(need.regather ? 0 : round);
    }
    if (need.parts > 1) {
      partReaders_.push_back({static_cast<int32_t>(i), numReads});
      numReads += static_cast<int32_t>(need.devices.size());
      continue;
    }
    Demand *demand = nullptr;
    if (!need.regather)
      for (size_t k = 0; k != numDemands_; ++k)
        if (!demands_[k].need->regather && demands_[k].round == round &&
            equal(*demands_[k].need, need))
          demand = &demands_[k];
    if (!demand) {
      if (numDemands_ == demands_.size())
        demands_.emplace_back();
      demand = &demands_[numDemands_];
      demand->need = &need;
      demand->round = round;
      demand->index = static_cast<int32_t>(numDemands_++);
      demand->consumers.clear();
      demand->readBase.clear();
      demand->firstRead.clear();
      sizes.clear();
      for (const auto &ranges : need.ranges)
        sizes.push_back(static_cast<int32_t>(ranges.size()));
      demand->firstBox = addGrid(
          plan_, sizes, [&](size_t d, int32_t k) { return need.ranges[d][k]; });
      int32_t reads = 0;
      for (int64_t volume :
           ArrayRef<int64_t>(plan_.volumes).drop_front(demand->firstBox)) {
        demand->firstRead.push_back(volume == 0 ? -1 : reads);
        reads += volume == 0 ? 0 : need.copies;
      }
    }
    demand->consumers.push_back(static_cast<int32_t>(i));
    demand->readBase.push_back(numReads);
    for (int32_t first : demand->firstRead)
      numReads += first < 0 ? 0 : need.copies;
  }
  numRounds_ = round;

  plan_.reads.resize_for_overwrite(numReads);
  for (const Demand &demand : allDemands())
    for (size_t k = 0; k != demand.consumers.size(); ++k) {
      const Need &need = *demand.need;
      FlatPlan::Read *read = plan_.reads.begin() + demand.readBase[k];
      for (int32_t tile = 0, e = demand.firstRead.size(); tile != e; ++tile) {
        if (demand.firstRead[tile] < 0)
          continue;
        for (int32_t copy = 0; copy != need.copies; ++copy, ++read) {
          size_t slot = size_t(tile) * need.copies + copy;
          *read = {demand.consumers[k],
                   need.tasks[slot],
                   need.devices[slot],
                   demand.firstBox + tile,
                   {}};
        }
      }
    }
}

void Planner::createTaskShards() {
  plan_.shards.resize(producer_->tasks.size());
  SmallVector<int32_t, 5> sizes;
  for (const auto &cuts : producer_->cuts)
    sizes.push_back(static_cast<int32_t>(cuts.size()) - 1);
  firstTileBox_ = addGrid(plan_, sizes, [&](size_t d, int32_t i) {
    return Range{producer_->cuts[d][i], producer_->cuts[d][i + 1]};
  });
  const int32_t *task = producer_->tasks.begin();
  const int32_t *device = producer_->devices.begin();
  auto tiles = static_cast<int32_t>(producer_->numTiles());
  for (int32_t tile = 0; tile != tiles; ++tile)
    for (int32_t part = 0; part != producer_->parts; ++part)
      for (int32_t copy = 0; copy != producer_->copies;
           ++copy, ++task, ++device)
        plan_.shards[*task] = {*device,
                               firstTileBox_ + tile,
                               producer_->parts == 1 ? -1 : part,
                               Shard::Origin::Task,
                               *task,
                               0};
}

void Planner::reduceLocally(SourceGrid &grid) {
  grid.reset(producer_->cuts);
  // Of one tile: the reduction of every holder, and what enters which.
  SmallVector<int32_t, 8> reductionOf;
  SmallVector<std::pair<int32_t, int32_t>, 16> entries;
  for (int64_t tile = 0, e = producer_->numTiles(); tile != e; ++tile) {
    holders_.clear();
    seen_.clear();
    int64_t first = tile * producer_->parts * producer_->copies;
    if (producer_->parts == 1) {
      // Copies on one device count once.
      for (int32_t copy = 0; copy != producer_->copies; ++copy)
        if (seen_.insert(producer_->devices[first + copy], 0))
          holders_.push_back({producer_->devices[first + copy],
                              producer_->tasks[first + copy]});
      grid.addCell(holders_);
      continue;
    }
    // Copy 0 of every part; parts that share a device join there.
    reductionOf.clear();
    entries.clear();
    size_t firstReduction = plan_.reductions.size();
    for (int32_t part = 0; part != producer_->parts; ++part) {
      int64_t slot = first + int64_t(part) * producer_->copies;
      int32_t device = producer_->devices[slot], shard = producer_->tasks[slot];
      int32_t *position = seen_.find(device);
      if (!position) {
        seen_.insert(device, static_cast<int32_t>(holders_.size()));
        holders_.push_back({device, shard});
        reductionOf.push_back(-1);
        continue;
      }
      int32_t &index = reductionOf[*position];
      if (index < 0) {
        index = static_cast<int32_t>(plan_.reductions.size());
        int32_t &held = holders_[*position].shard;
        entries.push_back({index, held});
        FlatPlan::Shard output = plan_.shards[held];
        output.origin = Shard::Origin::Reduction;
        output.index = index;
        held = static_cast<int32_t>(plan_.shards.size());
        plan_.shards.push_back(output);
        plan_.reductions.push_back({producer_->combine, held, {}});
      }
      entries.push_back({index, shard});
    }
    for (size_t i = firstReduction; i != plan_.reductions.size(); ++i) {
      FlatPlan::Slice &inputs = plan_.reductions[i].inputs;
      inputs.begin = static_cast<int32_t>(plan_.shardLists.size());
      for (auto [index, shard] : entries)
        if (index == static_cast<int32_t>(i))
          plan_.shardLists.push_back(shard);
      inputs.end = static_cast<int32_t>(plan_.shardLists.size());
    }
    if (holders_.size() == 1)
      plan_.shards[holders_[0].shard].part = -1;
    grid.addCell(holders_);
  }
  grid.formBlocks(plan_);
}

//===----------------------------------------------------------------------===//
// The whole plan
//===----------------------------------------------------------------------===//

bool Planner::isAligned(const Demand &demand) const {
  const Need &need = *demand.need;
  for (size_t d = 0, rank = producer_->cuts.size(); d != rank; ++d) {
    const auto &cuts = producer_->cuts[d];
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
  for (int32_t copy = 0; copy != producer_->copies; ++copy) {
    size_t slot = tile * producer_->copies + copy;
    if (producer_->devices[slot] == device)
      return producer_->tasks[slot];
  }
  return -1;
}

void Planner::serveAligned(const Demand &demand) {
  for (int32_t tile = 0, e = demand.firstRead.size(); tile != e; ++tile)
    for (int32_t copy = 0; copy != demand.need->copies; ++copy) {
      Request request{&demand, tile, copy};
      serve(request, addPiece(taskWith(tile, request.device()), request.box()));
    }
}

const FlatPlan &Planner::run(const Layout &layout, ArrayRef<Need> needsOfAll,
                             RouteCost routeCost, int32_t hostDevice) {
  reset(layout, needsOfAll, routeCost, hostDevice);
  collectDemands();
  createTaskShards();
  serveParts();
  if (numDemands_ == 0 && !partReaders_.empty())
    return plan_;
  // The search meets this most: everybody reads what its device wrote.
  if (producer_->parts == 1 && llvm::all_of(allDemands(), [&](const Demand &d) {
        return isAligned(d);
      })) {
    for (const Demand &demand : allDemands())
      serveAligned(demand);
    return plan_;
  }
  reduceLocally(taskGrid_);
  if (producer_->parts > 1)
    reducePartials(taskGrid_, homeGrid_);
  const SourceGrid &grid = producer_->parts > 1 ? homeGrid_ : taskGrid_;

  auto moveRound = [&] {
    SmallVector<const Demand *, 4> shared;
    for (const Demand &demand : allDemands())
      if (!demand.need->regather && demand.round == round_)
        shared.push_back(&demand);
    if (!shared.empty())
      moveAll(grid, shared);
  };
  moveRound();
  for (const Demand &demand : allDemands())
    if (demand.need->regather)
      moveAll(grid, &demand);
  while (round_ < numRounds_) {
    ++round_;
    moveRound();
  }
  return plan_;
}

/// What the planner counts on; makeLayout() and needOf() keep it.
[[maybe_unused]] static bool isPlannable(const Layout &producer,
                                         ArrayRef<Need> consumers) {
  auto places = static_cast<size_t>(producer.numTiles()) * producer.parts *
                producer.copies;
  return producer.devices.size() == places && producer.tasks.size() == places &&
         (producer.parts == 1) == (producer.combine == Combine::None) &&
         llvm::all_of(consumers, [&](const Need &need) {
           return need.ranges.size() == producer.cuts.size() &&
                  need.devices.size() == static_cast<size_t>(need.numTiles()) *
                                             need.parts * need.copies &&
                  need.tasks.size() == need.devices.size();
         });
}

ValuePlanner::ValuePlanner() : planner_(std::make_unique<Planner>()) {}
ValuePlanner::~ValuePlanner() = default;

const FlatPlan &ValuePlanner::plan(const Layout &producer,
                                   ArrayRef<Need> consumers, RouteCost route,
                                   int32_t host) {
  assert(isPlannable(producer, consumers) && "one place per tile and copy");
  return planner_->run(producer, consumers, route, host);
}

ValuePlan soap::planValue(const Layout &producer, ArrayRef<Need> consumers,
                          RouteCost route, int32_t host) {
  assert(isPlannable(producer, consumers) && "one place per tile and copy");
  Planner planner;
  return expand(planner.run(producer, consumers, route, host),
                consumers.size());
}
