//===- ReceiptBounds.cpp - What devices have to receive at least ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReceiptBounds.h"
#include "ValuePlans.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

ReceiptBounds::ReceiptBounds(const OperatorGraph &graph,
                             const Topology &topology,
                             std::shared_ptr<const LinkCuts> cuts)
    : graph_(graph), topology_(topology), cuts_(std::move(cuts)),
      tilesOn_(topology.numDevices() + 1), tilesIn_(cuts_->numMachines() + 1),
      groupOf_(topology.numDevices() + 1, -1),
      rankOf_(topology.numDevices() + 1, 0),
      copyOf_(topology.numDevices() + 1, -1),
      sharesMemory_(llvm::any_of(topology.links(), [](const Link &link) {
        return link.sharesMemory;
      })) {}

/// Elements of the smallest tile.
static double smallestTile(const Layout &layout) {
  double product = 1;
  for (const auto &cuts : layout.cuts) {
    int64_t smallest = INT64_MAX;
    for (size_t i = 1; i < cuts.size(); ++i)
      smallest = std::min(smallest, cuts[i] - cuts[i - 1]);
    product *= static_cast<double>(smallest);
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

ValueTasks ReceiptBounds::compile(const Strategy &strategy,
                                  ArrayRef<NodeTasks> nodeTasks, int32_t id,
                                  ArrayRef<int32_t> usesInOrder,
                                  PlanArena &arena) {
  const GraphValue &value = graph_.value(id);
  ValueTasks out;
  out.isBound = true;
  SmallVector<UseTasks, 4> uses(value.uses.size());
  layoutOf(graph_, strategy, id, layout_);
  const Layout &layout = layout_;
  // The host feeds inputs ahead of the step; what is cut out of them is not.
  isFed_ = graph_.node(value.producer).role == NodeRole::Input;
  onHost_ = llvm::is_contained(layout.devices, topology_.host());
  elementBytes_ = value.elementBytes;
  hasPriority_ = topology_.prioritizes(value.bytes());
  smallestTile_ = smallestTile(layout);
  placeTiles(layout);
  collect(layout, strategy, id, usesInOrder);
  formGroups(layout);

  ActionTasks receipt;
  receipt.form = ActionTasks::Form::Receipt;
  receipt.hasPriority = hasPriority_;
  receiptsOf_.clear();
  receipts_.clear();
  chains_.clear();
  if (remote_ && readsOnce_)
    addPacks(layout, receipt, arena);
  receipt.slot = static_cast<int32_t>(receipt.packDevices.size());
  // What is sent or drained may be cut out when the value is launched, and
  // readers share it. If nothing is, everyone cuts out for himself.
  bool drained = numUses_ != value.uses.size();
  for (bool cutsLocally : {false, true}) {
    if (cutsLocally && (drained || isFed_ || !receipts_.empty()))
      break;
    for (const Use &use : ArrayRef<Use>(uses_).take_front(numUses_))
      uses[use.number] =
          addReads(layout, use, nodeTasks[value.uses[use.number].node].devices,
                   receipt.slot, cutsLocally, arena);
    for (int32_t device : copying_)
      copyOf_[device] = -1;
    copying_.clear();
  }
  receipt.devices = ArrayRef<int32_t>(receiptsOf_).copy(arena);
  receipt.receiptNs = ArrayRef<int64_t>(receipts_).copy(arena);
  receipt.chainNs = ArrayRef<int64_t>(chains_).copy(arena);
  if (!receipts_.empty() || !receipt.packDevices.empty())
    out.actions = ArrayRef<ActionTasks>(receipt).copy(arena);
  out.numSlots = receipt.slot + static_cast<int32_t>(receipts_.size());
  out.uses = ArrayRef<UseTasks>(uses).copy(arena);
  return out;
}

/// The devices that hold copies of a tile, each once, as they come: the planner
/// takes neighbours with the same for one block.
static SmallVector<int32_t, 8> holdersOf(const Layout &layout, int64_t tile) {
  SmallVector<int32_t, 8> holders;
  for (int32_t copy = 0; copy < layout.copies; ++copy)
    if (int32_t device = layout.devices[tile * layout.copies + copy];
        !llvm::is_contained(holders, device))
      holders.push_back(device);
  return holders;
}

/// True if different devices hold the first and the last tile of a box.
static bool spansBlocks(const Layout &layout, int64_t first, int64_t last) {
  if (first == last || layout.parts != 1)
    return false;
  if (layout.copies == 1)
    return layout.devices[first] != layout.devices[last];
  return holdersOf(layout, first) != holdersOf(layout, last);
}

/// What the tasks of one consumer receive and copy before they run.
UseTasks ReceiptBounds::addReads(const Layout &layout, const Use &use,
                                 ArrayRef<int32_t> readers, int32_t firstSlot,
                                 bool cutsLocally, PlanArena &arena) {
  waits_.clear();
  unpackOf_.clear();
  unpackNs_.clear();
  unpackWaits_.clear();
  // A device copies a box once, for whoever reads it first. The boxes of later
  // consumers may be the same.
  auto copies = [&](int32_t device, int64_t ns) {
    int32_t &place = copyOf_[device];
    if (ns <= 0)
      return -1;
    if (place < 0) {
      place = static_cast<int32_t>(unpackOf_.size());
      copying_.push_back(device);
      unpackOf_.push_back(device);
      unpackNs_.push_back(0);
    } else if (static_cast<size_t>(place) >= unpackOf_.size() ||
               unpackOf_[place] != device) {
      return -1; // For a consumer before.
    }
    unpackNs_[place] = std::max(unpackNs_[place], ns);
    return place;
  };
  for (auto [number, reading] : llvm::enumerate(use.readings)) {
    int32_t device = reading.device;
    const DeviceKind &kind = topology_.kindOf(device);
    auto bytes = static_cast<int64_t>(reading.elements * elementBytes_);
    if (reading.lacking <= 0) {
      if (layout.parts != 1 || !cutsLocally)
        continue;
      if (reading.spanTiles > 1)
        copies(device, CostModel::copyNs(bytes, kind));
      else if (reading.elements < reading.spanElements)
        copies(device, cutNs(layout, use, number));
      continue;
    }
    if (onHost_)
      continue;
    auto slot = static_cast<int32_t>(firstSlot + receipts_.size());
    int32_t unpack = -1;
    if (spansBlocks(layout, reading.firstTile, reading.lastTile) &&
        isTransferred(layout, reading))
      unpack = copies(device, CostModel::copyNs(bytes, kind));
    auto at = static_cast<int32_t>(llvm::lower_bound(readers, device) -
                                   readers.begin());
    if (unpack >= 0)
      unpackWaits_.push_back({unpack, slot});
    else
      waits_.push_back({at, slot});
    receiptsOf_.push_back(device);
    receipts_.push_back(ownNs(layout, reading));
    chains_.push_back(chainNs(layout, reading));
  }
  UseTasks tasks;
  tasks.computeWaits = ArrayRef<Wait>(waits_).copy(arena);
  tasks.unpackDevices = ArrayRef<int32_t>(unpackOf_).copy(arena);
  tasks.unpackNs = ArrayRef<int64_t>(unpackNs_).copy(arena);
  tasks.unpackWaits = ArrayRef<Wait>(unpackWaits_).copy(arena);
  return tasks;
}

/// What it costs to cut a reading out of the one tile in which it lies.
int64_t ReceiptBounds::cutNs(const Layout &layout, const Use &use,
                             size_t number) const {
  // Readings stand in the order of the need, without those that are empty.
  int64_t result = 0;
  size_t at = 0;
  forEachTile(use.need, [&](int64_t, ArrayRef<int32_t> index) {
    Box part;
    for (size_t d = 0; d != index.size(); ++d)
      part.push_back(use.need.ranges[d][index[d]]);
    if (isEmpty(part))
      return;
    if (at <= number && number < at + use.need.copies) {
      const Reading &reading = use.readings[number];
      result = CostModel::cutNs(part, layout.tileBox(reading.firstTile),
                                static_cast<int32_t>(elementBytes_),
                                topology_.kindOf(reading.device));
    }
    at += use.need.copies;
  });
  return result;
}

/// What holders cut out of their tiles for readers elsewhere. Every tile falls
/// into a grid of pieces; where the tile is transferred, each that is not
/// contiguous is copied.
void ReceiptBounds::addPacks(const Layout &layout, ActionTasks &receipt,
                             PlanArena &arena) {
  const Need &need = remote_->need;
  // Per dimension and interval between cuts: how many different pieces there
  // are, and the smallest and the largest.
  struct Pieces {
    int64_t count = 0, smallest = INT64_MAX, largest = 0;
    Range last{-1, -1}; ///< Equal pieces follow each other.
  };
  size_t rank = layout.cuts.size();
  SmallVector<SmallVector<Pieces, 8>, 5> pieces(rank);
  bool cut = false;
  for (size_t d = 0; d != rank; ++d) {
    const auto &cuts = layout.cuts[d];
    pieces[d].resize(cuts.size() - 1);
    for (Range range : need.ranges[d]) {
      if (range.empty())
        continue;
      auto first = std::upper_bound(cuts.begin(), cuts.end(), range.lo) - 1 -
                   cuts.begin();
      for (size_t i = first; i + 1 < cuts.size() && cuts[i] < range.hi; ++i) {
        Range piece{std::max(cuts[i], range.lo),
                    std::min(cuts[i + 1], range.hi)};
        Pieces &here = pieces[d][i];
        if (piece == here.last)
          continue;
        here.last = piece;
        int64_t size = piece.size();
        // A range that covers the interval is no further piece.
        here.count += here.count == 0 || size < cuts[i + 1] - cuts[i];
        here.smallest = std::min(here.smallest, size);
        here.largest = std::max(here.largest, size);
        cut |= size < cuts[i + 1] - cuts[i];
      }
    }
  }
  if (!cut)
    return;
  unpackOf_.clear();
  unpackNs_.clear();
  auto tiles = static_cast<int32_t>(layout.numTiles());
  SmallVector<int64_t, 5> at(rank, 0);
  for (int32_t tile = 0; tile != tiles; ++tile) {
    int32_t device = layout.devices[tile];
    int64_t count = 1;
    // Contiguous: behind the first dimension with more than one element all
    // are whole.
    bool leading = true, scattered = false;
    for (size_t d = 0; d != rank; ++d) {
      const Pieces &here = pieces[d][at[d]];
      int64_t whole = layout.cuts[d][at[d] + 1] - layout.cuts[d][at[d]];
      count *= here.count;
      scattered |= !leading && here.largest < whole;
      leading &= here.smallest == 1;
    }
    // A holder that reads may be a member of a collective.
    int32_t group = groupOf_[device];
    bool transferred = group < 0 || groups_[group].isTransferred;
    int64_t packed = count - (group >= 0);
    if (scattered && transferred && packed > 0 && device != topology_.host()) {
      unpackOf_.push_back(device);
      unpackNs_.push_back(packed *
                          CostModel::copyNs(0, topology_.kindOf(device)));
    }
    for (size_t d = rank; d-- != 0;) {
      if (++at[d] + 1 != static_cast<int64_t>(layout.cuts[d].size()))
        break;
      at[d] = 0;
    }
  }
  receipt.packDevices = ArrayRef<int32_t>(unpackOf_).copy(arena);
  receipt.packNs = ArrayRef<int64_t>(unpackNs_).copy(arena);
}
