//===- LaneProposals.cpp - Branches side by side --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DrawnChange.h"
#include "Lanes.h"

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

namespace {
class LaneProposal {
public:
  explicit LaneProposal(DrawnChange &drawn)
      : change_(drawn), random_(drawn.random()) {}

  /// A stretch of the graph on parts of the machine of equal size: operations
  /// that do not depend on each other can run side by side.
  void make(size_t index, const ProposalTables &tables) {
    llvm::ArrayRef<int32_t> groups = change_.space().groups();
    size_t length = random_.below(4) == 0 ? groups.size()
                                          : change_.anyLength(groups.size());
    index -= std::min(index, static_cast<size_t>(random_.below(length)));
    int32_t first = groups[index];
    int32_t block = 1;
    std::optional<Configuration> config, whole;
    if (random_.below(2) != 0)
      config = partOfGrid(index, whole, block);
    if (!config) {
      config = samplePart(first);
      if (!config)
        return;
      whole.reset();
      block = sampleBlock(static_cast<int32_t>(config->degrees.numTasks()));
    }
    auto width = static_cast<int32_t>(config->degrees.numTasks());
    Lanes lanes(change_.space().numDevices(), width, block);
    for (auto [place, device] : llvm::enumerate(config->devices.edit()))
      device = lanes.device(0, static_cast<int32_t>(place));
    LaneSchedule schedule(change_.graph(), change_.topology(), lanes,
                          0.5 + 3 * random_.uniform());
    for (size_t i = index; i < std::min(groups.size(), index + length); ++i) {
      int32_t node = change_.leader(groups[i]);
      if (tables.followers.isPreparation(node))
        continue;
      std::optional<Configuration> own;
      if (whole && tables.isAlone[node])
        own = change_.space().sameAs(groups[i], first, *whole);
      if (!own)
        own = i == index ? config
                         : change_.space().sameAs(groups[i], first, *config);
      if (!own)
        own = change_.whereMainIs(groups[i]);
      if (!own)
        continue;
      schedule.place(change_.strategy(), node, tables.nodeNs[node], *own);
      change_.set(groups[i], *own);
    }
  }

private:
  /// Lanes of a width in rows, or taking turns by blocks of devices.
  int32_t sampleBlock(int32_t width) {
    if (random_.below(3) == 0)
      return width;
    int32_t block = 1;
    while (width % (2 * block) == 0 && random_.below(2) == 0)
      block *= 2;
    return block;
  }

  /// A grid on half or a quarter of the devices, like one that a group has at
  /// `index` or in front of it, and `whole`, the same on all devices, with one
  /// loop split further. Lanes that take turns by `block` devices have devices
  /// with a part of each tile then: little moves between what has a lane and
  /// what has all devices.
  std::optional<Configuration> partOfGrid(size_t index,
                                          std::optional<Configuration> &whole,
                                          int32_t &block) {
    int32_t group = change_.space().groups()[index],
            devices = change_.space().numDevices();
    std::optional<Configuration> config;
    switch (random_.below(4)) {
    case 0:
      config = change_.whereMainIs(group);
      break;
    case 1: {
      int32_t other =
          change_.space().groups()[index - change_.anyLength(index)];
      config = change_.space().sameAs(group, other, change_.configOf(other));
      break;
    }
    case 2:
      config = change_.sampleGrid(group);
      break;
    default:
      break;
    }
    if (!config)
      config = change_.configOf(group);
    SmallVector<size_t, 4> loops;
    for (auto [loop, degree] : llvm::enumerate(config->degrees.loops))
      if (degree > 1)
        loops.push_back(loop);
    if (loops.empty())
      return std::nullopt;
    size_t loop = loops[random_.below(loops.size())];
    int32_t lanes = random_.below(4) == 0 ? 4 : 2;
    int32_t &degree = config->degrees.loops[loop];
    auto others = static_cast<int32_t>(config->degrees.numTasks() / degree);
    if (devices % (lanes * others) != 0)
      return std::nullopt;
    auto withTasks = [&](int32_t tasks) {
      degree = tasks / others;
      config->devices.resize(tasks);
      for (auto [task, device] : llvm::enumerate(config->devices.edit()))
        device = static_cast<int32_t>(task);
    };
    withTasks(devices);
    if (change_.allows(group, *config))
      whole = config;
    withTasks(devices / lanes);
    if (!change_.allows(group, *config))
      return std::nullopt;
    block = config->degrees.replicate;
    for (int32_t inner :
         llvm::ArrayRef<int32_t>(config->degrees.loops).drop_front(loop + 1))
      block *= inner;
    return config;
  }

  /// A grid with fewer tasks than there are devices, a divisor of their number.
  std::optional<Configuration> samplePart(int32_t group) {
    int32_t devices = change_.space().numDevices();
    for (int tries = 0; tries < 8; ++tries) {
      Configuration config =
          random_.below(2) == 0
              ? change_.space().sampleSimple(group, random_)
              : change_.space().sampleStructured(group, random_);
      int64_t tasks = config.degrees.numTasks();
      if (tasks < devices && devices % tasks == 0)
        return config;
    }
    return std::nullopt;
  }

  DrawnChange &change_;
  Random &random_;
};
} // namespace

void detail::proposeLanes(DrawnChange &change, const ProposalTables &tables,
                          size_t index) {
  LaneProposal(change).make(index, tables);
}
