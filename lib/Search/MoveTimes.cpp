//===- MoveTimes.cpp - What moving one value takes ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveTimes.h"
#include "LinkCuts.h"
#include "soap/Search/Timeline.h"
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

MoveTimes::MoveTimes(const Topology &topology)
    : topology_(topology), compiler_(topology) {}

/// Each device once, ascending.
static SmallVector<int32_t, 64> devicesIn(ArrayRef<int32_t> devices) {
  SmallVector<int32_t, 64> result(devices);
  llvm::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Bytes of the whole value.
static int64_t bytesOfLayout(const Layout &layout, int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t size : layout.shape())
    bytes *= size;
  return bytes;
}

ValueTasks MoveTimes::compile(const Layout &layout, const Need &need,
                              int64_t elementBytes, ArrayRef<int32_t> writers,
                              ArrayRef<int32_t> readers) {
  auto route = [&](int32_t from, int32_t to) {
    return topology_.routeCost(from, to);
  };
  const FlatPlan &plan = planner_.plan(layout, need, route, topology_.host());
  NodeTasks producer;
  producer.devices = writers;
  // Outputs of the graph read on the host, and do not compute.
  bool computes = !llvm::is_contained(readers, topology_.host());
  CompileInput::Consumer consumer{
      /*node=*/0, computes ? readers : ArrayRef<int32_t>(), computes};
  int32_t only = 0;
  arena_.Reset();
  bool hasPriority = topology_.prioritizes(bytesOfLayout(layout, elementBytes));
  return compiler_.compile({plan, elementBytes, hasPriority, producer,
                            /*producerComputes=*/true, /*isFixed=*/false,
                            /*mayReorder=*/false, consumer, only},
                           arena_);
}

int64_t MoveTimes::ns(const Layout &layout, const Need &need,
                      int64_t elementBytes) {
  SmallVector<int32_t, 64> writers = devicesIn(layout.devices),
                           readers = devicesIn(need.devices);
  ValueTasks tasks = compile(layout, need, elementBytes, writers, readers);
  if (tasks.numSlots == 0 && tasks.uses[0].unpackDevices.empty())
    return 0;
  SmallVector<int64_t, 64> ends(writers.size(), 0);
  resources_.assign(Timeline::size(topology_), 0);
  simulate(tasks, writers, ends, readers);
  return *llvm::max_element(
      llvm::is_contained(readers, topology_.host()) ? resources_ : ready_);
}

std::vector<SmallVector<int64_t, 8>> MoveTimes::delays(const Layout &layout,
                                                       const Need &need,
                                                       int64_t elementBytes) {
  SmallVector<int32_t, 64> writers = devicesIn(layout.devices),
                           readers = devicesIn(need.devices);
  ValueTasks tasks = compile(layout, need, elementBytes, writers, readers);
  std::vector<SmallVector<int64_t, 8>> result;
  SmallVector<int64_t, 64> ends(writers.size(), never);
  for (auto [index, writer] : llvm::enumerate(writers)) {
    resources_.assign(Timeline::size(topology_), never);
    resources_[writer] = ends[index] = 0;
    simulate(tasks, writers, ends, readers);
    ends[index] = never;
    result.emplace_back(ready_.begin(), ready_.end());
  }
  return result;
}

/// A compute step on some devices.
void MoveTimes::copy(ArrayRef<int32_t> devices, ArrayRef<int64_t> ns,
                     ArrayRef<Wait> waits,
                     llvm::MutableArrayRef<int64_t> ends) {
  for (auto [device, end] : llvm::zip_equal(devices, ends))
    end = resources_[device];
  for (const Wait &wait : waits)
    ends[wait.at] = std::max(ends[wait.at], slots_[wait.slot]);
  for (auto [device, duration, end] : llvm::zip_equal(devices, ns, ends))
    end = resources_[device] = end + duration;
}

/// Begins with the streams and links that are in `resources_`.
void MoveTimes::simulate(const ValueTasks &tasks, ArrayRef<int32_t> writers,
                         ArrayRef<int64_t> writerEnds,
                         ArrayRef<int32_t> readers) {
  slots_.assign(tasks.numSlots, never);
  llvm::MutableArrayRef<int64_t> slots(slots_);
  Timeline timeline = Timeline::of(resources_, topology_);
  copy(tasks.reduceDevices, tasks.reduceNs, {},
       slots.slice(tasks.reduceSlot, tasks.reduceDevices.size()));
  for (const ActionTasks &action : tasks.actions) {
    size_t count = action.devices.size();
    copy(action.packDevices, action.packNs, action.packWaits,
         slots.slice(action.packSlot, action.packDevices.size()));
    start_.assign(count, never);
    for (const Wait &wait : action.moveWaits)
      start_[wait.at] = std::max(start_[wait.at], slots_[wait.slot]);
    for (const Wait &wait : action.producerWaits)
      start_[wait.at] = std::max(start_[wait.at], writerEnds[wait.slot]);
    if (count == 0)
      continue; // The copies for a drain.
    if (action.form == ActionTasks::Form::Collective) {
      int64_t ready = *llvm::max_element(start_);
      int64_t start = startCollective(timeline, action.devices, action.links,
                                      ready, action.hasPriority);
      holdLinks(timeline, action.links, start);
      holdMembers(timeline, action.devices, start, start + action.ns,
                  action.occupiesNs, action.hasPriority);
      end_.assign(count, start + action.ns);
    } else {
      for (auto [device, start] : llvm::zip_equal(action.devices, start_))
        start = std::max(start, timeline.communication[device]);
      end_.resize(count);
      runTransfers(timeline, action.devices, action.transfers, action.costs,
                   start_, end_);
    }
    std::copy(end_.begin(), end_.end(), slots_.begin() + action.slot);
  }
  const UseTasks &use = tasks.uses[0];
  end_.assign(use.unpackDevices.size(), never);
  copy(use.unpackDevices, use.unpackNs, use.unpackWaits, end_);
  ready_.clear();
  for (int32_t device : readers)
    ready_.push_back(timeline.compute[device]);
  for (const Wait &wait : use.computeWaits)
    if (static_cast<size_t>(wait.at) < ready_.size())
      ready_[wait.at] = std::max(ready_[wait.at], slots_[wait.slot]);
}

//===----------------------------------------------------------------------===//
// Many times
//===----------------------------------------------------------------------===//

uint32_t MoveTable::add(const Layout &layout, int64_t elementBytes) {
  KeyBuilder builder;
  builder.add(elementBytes);
  for (const auto &cuts : layout.cuts)
    builder.addAll(ArrayRef<int64_t>(cuts));
  builder.add(layout.parts);
  builder.add(static_cast<int64_t>(layout.combine));
  builder.add(layout.copies);
  builder.addAll(ArrayRef<int32_t>(layout.devices));
  auto [it, isNew] = layoutKeys_.try_emplace(builder.key(), layouts_.size());
  if (isNew)
    layouts_.emplace_back(layout, elementBytes);
  return it->second;
}

uint32_t MoveTable::add(const Need &need) {
  KeyBuilder builder;
  for (const auto &ranges : need.ranges) {
    builder.add(static_cast<int64_t>(ranges.size()));
    for (const Range &range : ranges) {
      builder.add(range.lo);
      builder.add(range.hi);
    }
  }
  builder.add(need.copies);
  builder.addAll(ArrayRef<int32_t>(need.devices));
  builder.add(static_cast<int64_t>(need.regather));
  auto [it, isNew] = needKeys_.try_emplace(builder.key(), needs_.size());
  if (isNew)
    needs_.push_back(need);
  return it->second;
}

namespace {
/// What the tiles of a need read, asked for with many layouts.
struct Demand {
  const Need &need;
  std::vector<Box> boxes;
  std::vector<int64_t> volumes;

  explicit Demand(const Need &need) : need(need) {
    auto tiles = static_cast<int64_t>(need.devices.size()) / need.copies;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      boxes.push_back(need.tileBox(tile));
      volumes.push_back(volume(boxes.back()));
    }
  }
};

/// volume(intersect(a, b)), of boxes that are compared by the million.
int64_t sharedVolume(const Box &a, const Box &b) {
  int64_t product = 1;
  for (size_t dim = 0; dim < a.size() && product != 0; ++dim)
    product *= intersect(a[dim], b[dim]).size();
  return product;
}

/// What every device has of a value.
class Holdings {
public:
  Holdings(const Layout &layout, int64_t elementBytes, const LinkCuts &cuts,
           int32_t numDevices)
      : cuts_(cuts), isPartial_(layout.parts > 1), elementBytes_(elementBytes),
        tilesOf_(numDevices + 1), tilesNear_(cuts.numMachines() + 1) {
    for (int64_t tile = 0, end = layout.numTiles(); tile < end; ++tile) {
      tiles_.push_back(layout.tileBox(tile));
      for (int32_t copy = 0; !isPartial_ && copy < layout.copies; ++copy) {
        int32_t device = layout.devices[tile * layout.copies + copy];
        add(tilesOf_[device], tile);
        add(tilesNear_[cuts.machineOf(device)], tile);
      }
    }
  }

  /// What the readers wait for at least, on average: an exchange that is uneven
  /// is costed by its average. All that a device lacks comes over the links
  /// into it, and what its machine lacks over those from other machines.
  double leastNs(const Demand &demand) const {
    const Need &need = demand.need;
    double sum = 0;
    for (size_t tile = 0; tile < demand.boxes.size(); ++tile) {
      for (int32_t copy = 0; copy < need.copies; ++copy) {
        int32_t device = need.devices[tile * need.copies + copy];
        int64_t lacking = missing(demand, tile, tilesOf_[device]);
        if (lacking == 0)
          continue;
        int32_t machine = cuts_.machineOf(device);
        int64_t far =
            isPartial_ ? 0 : missing(demand, tile, tilesNear_[machine]);
        sum += std::max(take(cuts_.into(device), lacking),
                        far ? take(cuts_.intoFromFar(device), far) : 0);
      }
    }
    return sum / static_cast<double>(need.devices.size());
  }

private:
  static void add(llvm::SmallVectorImpl<int32_t> &tiles, int64_t tile) {
    if (tiles.empty() || tiles.back() != tile)
      tiles.push_back(static_cast<int32_t>(tile));
  }
  /// Elements that a tile of a need reads and that are in none of some tiles of
  /// the layout, which do not overlap.
  int64_t missing(const Demand &demand, size_t reader,
                  ArrayRef<int32_t> tiles) const {
    int64_t sum = demand.volumes[reader];
    for (int32_t tile : tiles) {
      if (sum == 0)
        break;
      sum -= sharedVolume(demand.boxes[reader], tiles_[tile]);
    }
    return sum;
  }
  /// The cost model knows an all-gather by 32/33 of what is received, and
  /// reductions as even shares, which need not be those that are read.
  double take(const LinkCut &cut, int64_t elements) const {
    double bytes = static_cast<double>(elements * elementBytes_) *
                   (isPartial_ ? 0.5 : 0.96);
    return bytes / cut.bytesPerNs;
  }

  const LinkCuts &cuts_;
  bool isPartial_; ///< No device has a complete tile.
  int64_t elementBytes_;
  std::vector<Box> tiles_;
  std::vector<llvm::SmallVector<int32_t, 2>> tilesOf_;   ///< Per device.
  std::vector<llvm::SmallVector<int32_t, 8>> tilesNear_; ///< Per machine.
};
} // namespace

void MoveTable::bound(const Topology &topology) {
  keys_.resize(places_.size());
  for (auto [key, place] : places_)
    keys_[place] = key;
  LinkCuts cuts(topology);
  std::vector<std::optional<Holdings>> holdings(layouts_.size());
  std::vector<std::optional<Demand>> demands(needs_.size());
  leastNs_.clear();
  for (uint64_t key : keys_) {
    const auto &[layout, elementBytes] = layouts_[key >> 32];
    const Need &need = needs_[key & UINT32_MAX];
    std::optional<Holdings> &own = holdings[key >> 32];
    if (!own)
      own.emplace(layout, elementBytes, cuts, topology.numDevices());
    std::optional<Demand> &demand = demands[key & UINT32_MAX];
    if (!demand)
      demand.emplace(need);
    // What the host reads takes no time. A device may take part in a collective
    // with priority while it receives something else.
    double atOnce =
        topology.prioritizes(bytesOfLayout(layout, elementBytes)) ? 2 : 1;
    leastNs_.push_back(
        llvm::is_contained(need.devices, topology.host())
            ? 0
            : static_cast<int64_t>(own->leastNs(*demand) / atOnce));
  }
  ns_.assign(keys_.size(), -1);
}

bool MoveTable::plan(const Topology &topology, unsigned threads,
                     ArrayRef<uint32_t> places,
                     llvm::function_ref<bool()> stop) {
  std::atomic<size_t> next{0}, planned{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  auto work = [&] {
    MoveTimes times(topology);
    constexpr size_t length = 64;
    for (size_t begin; (begin = next.fetch_add(length)) < places.size();) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (stopped || stop()) {
          stopped = true;
          return;
        }
      }
      for (uint32_t place :
           places.slice(begin, std::min(length, places.size() - begin))) {
        if (ns_[place] >= 0)
          continue;
        const auto &[layout, elementBytes] = layouts_[keys_[place] >> 32];
        ns_[place] =
            times.ns(layout, needs_[keys_[place] & UINT32_MAX], elementBytes);
        ++planned;
      }
    }
  };
  std::vector<std::thread> workers;
  if (places.size() > 64)
    for (unsigned i = 1; i < threads; ++i)
      workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  numPlanned_ += planned;
  return !stopped;
}
