//===- Proposals.cpp - Changes that a search tries ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proposals.h"
#include "DrawnChange.h"

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

namespace {
class Proposal : public DrawnChange {
public:
  Proposal(const ProposalContext &context, Strategy &strategy, Random &random,
           Edit &edit)
      : DrawnChange(context, strategy, random, edit), others_(context.others) {}

  bool make(ProposalKind kind, const ProposalTables &tables) {
    size_t index = random_.below(space().groups().size());
    int32_t group = space().groups()[index];
    switch (kind) {
    case ProposalKind::Uniform:
      set(group, space().sample(group, random_));
      break;
    case ProposalKind::Grid:
      set(group, sampleGrid(group));
      break;
    case ProposalKind::Adopt:
      adopt(group);
      break;
    case ProposalKind::Stretch:
      stretch(index);
      break;
    case ProposalKind::Repeat:
      repeat(index, tables.repeated);
      break;
    case ProposalKind::Resize:
      resize(group);
      break;
    case ProposalKind::Shift:
      shift(index);
      break;
    case ProposalKind::Lanes:
      proposeLanes(*this, tables, index);
      break;
    case ProposalKind::Cross:
      cross(index);
      break;
    case ProposalKind::Sums:
      if (tables.sums)
        sums(index, *tables.sums);
      break;
    case ProposalKind::Layer:
      layer(tables.shared);
      break;
    case ProposalKind::Updates:
      updates();
      break;
    }
    // The paper's proposal changes one operation, and where parameters are
    // updated changes nothing that others would follow.
    if (kind != ProposalKind::Uniform && kind != ProposalKind::Updates) {
      if (random_.below(4) != 0)
        tables.followers.followProducers(*this);
      tables.followers.followReaders(*this);
    }
    return !changed().empty();
  }

private:
  /// What a neighbour does, one way or another.
  void adopt(int32_t group) {
    int32_t node = leader(group);
    SmallVector<int32_t, 8> neighbours = detail::neighbours(graph(), group);
    if (random_.below(2) == 0 && followMain(group))
      return;
    if (neighbours.empty())
      return;
    int32_t other = neighbours[random_.below(neighbours.size())];
    if (auto config = space().sameAs(group, other, configOf(other)))
      return set(group, *config);
    // Its devices at least, if the number of tasks is the same or one.
    Configuration config = configOf(group);
    const Configuration &source = configOf(other);
    if (config.devices.size() == source.devices.size())
      config.devices = source.devices;
    else
      config = onDevice(graph().node(node), source.devices[0]);
    set(group, config);
  }

  /// One grid for a stretch of the graph: those that have the same loops split
  /// them, the others stay where their operands are.
  void stretch(size_t index) {
    llvm::ArrayRef<int32_t> groups = space().groups();
    size_t length =
        random_.below(4) == 0 ? groups.size() : anyLength(groups.size());
    index -= std::min(index, static_cast<size_t>(random_.below(length)));
    int32_t first = groups[index];
    Configuration config =
        random_.below(4) == 0 ? configOf(first) : sampleGrid(first);
    set(first, config);
    for (size_t i = index + 1; i < std::min(groups.size(), index + length);
         ++i) {
      if (auto same = space().sameAs(groups[i], first, config))
        set(groups[i], *same);
      else
        followMain(groups[i]);
    }
  }

  /// A stretch of the graph as another chain has it.
  void cross(size_t index) {
    if (others_.empty())
      return;
    const Strategy &other = *others_[random_.below(others_.size())];
    llvm::ArrayRef<int32_t> groups = space().groups();
    size_t length = anyLength(groups.size());
    index -= std::min(index, static_cast<size_t>(random_.below(length)));
    for (size_t i = index; i < std::min(groups.size(), index + length); ++i)
      set(groups[i], other.configs[leader(groups[i])]);
  }

  /// A stretch of the graph with the least sum of costs, between what stands
  /// around it. What moves counts less than it takes, as other operations may
  /// hide it, and what operations take varies, so that each draw finds
  /// something else.
  void sums(size_t index, const CostTables &tables) {
    llvm::ArrayRef<int32_t> groups = space().groups();
    constexpr size_t longest = 32;
    size_t length = anyLength(std::min(groups.size(), longest));
    index -= std::min(index, static_cast<size_t>(random_.below(length)));
    length = std::min(length, groups.size() - index);
    SmallVector<int32_t, 64> places;
    MinSum::Part part;
    double noise = 0.5 * random_.uniform();
    for (size_t i = index; i < index + length; ++i) {
      places.push_back(static_cast<int32_t>(i));
      auto &own = part.own.emplace_back(tables.sums().own(places.back()));
      for (int64_t &cost : own)
        cost = static_cast<int64_t>(static_cast<double>(cost) *
                                    (1 + noise * random_.uniform()));
    }
    part.variables = places;
    part.pairFactor = 1.2 * random_.uniform();
    auto fixed = [&](int32_t place) {
      return tables.find(place, configOf(groups[place]).degrees);
    };
    part.fixed = fixed;
    constexpr double mostCombinations = 1e5;
    MinSum::Result found =
        tables.sums().minimise(std::move(part), mostCombinations);
    if (found.end != MinSum::End::Done)
      return;
    // On the devices of the operation in front, or on the first ones.
    int32_t base = index > 0 && random_.below(2) == 0
                       ? configOf(groups[index - 1]).devices.front()
                       : 0;
    for (size_t i = 0; i < length; ++i) {
      Configuration config = tables.choices(index + i)[found.choices[i]];
      auto tasks = static_cast<int32_t>(config.devices.size());
      int32_t first = base / tasks * tasks;
      if (first + tasks <= space().numDevices())
        for (int32_t &device : config.devices.edit())
          device += first;
      set(groups[index + i], config);
    }
  }

  /// One configuration for all operations that share a parameter, a grid or
  /// what one of them has; or their devices move on by as many as they are.
  void layer(const SharedParameters &shared) {
    if (shared.empty())
      return;
    llvm::ArrayRef<int32_t> groups =
        shared.readers(random_.below(shared.size()));
    int32_t first = groups[random_.below(groups.size())];
    if (random_.below(2) == 0)
      return moveOn(groups, stepOver(first));
    Configuration config =
        random_.below(2) == 0 ? configOf(first) : sampleGrid(first);
    for (int32_t group : groups)
      if (auto same = space().sameAs(group, first, config))
        set(group, *same);
  }

  /// The updates of parameters that follow each other: those that follow their
  /// groups are sharded over the devices that have copies, or go to one device;
  /// the others follow again, or parameters that were kept between their
  /// readers are gathered again, or the other way round.
  void updates() {
    auto count = static_cast<size_t>(graph().numUpdates());
    if (count == 0)
      return;
    size_t index = random_.below(count);
    bool follow =
        isUpdateApart(strategy(), graph(), static_cast<int32_t>(index));
    size_t length = random_.below(4) == 0 ? count : anyLength(count);
    index -= std::min(index, static_cast<size_t>(random_.below(length)));
    bool one = random_.below(8) == 0;
    auto device = static_cast<int32_t>(random_.below(space().numDevices()));
    bool regather = random_.below(2) == 0;
    bool placeStays = follow && random_.below(2) == 0;
    for (size_t i = index; i < std::min(count, index + length); ++i) {
      auto update = static_cast<int32_t>(i);
      setRegathered(update, regather && (placeStays || !follow));
      if (placeStays)
        continue;
      if (follow)
        setUpdate(update, followingUpdate(strategy(), graph(), update));
      else if (one)
        setUpdate(update, onDevice(graph().node(graph().update(update).front()),
                                   device));
      else if (auto config = shardedUpdate(strategy(), graph(), update);
               config && space().allowsUpdate(update, config->degrees))
        setUpdate(update, *config);
    }
  }

  /// The same for all groups that are alike: of one group, a grid or what it
  /// has; or of a stretch of the graph, what it has.
  void repeat(size_t index, const RepeatedGroups &repeated) {
    llvm::ArrayRef<int32_t> groups = space().groups();
    llvm::ArrayRef<int32_t> alike = repeated.alike(index);
    if (random_.below(2) == 0) {
      Configuration config = random_.below(3) == 0 ? configOf(groups[index])
                                                   : sampleGrid(groups[index]);
      for (int32_t other : alike)
        set(groups[other], config);
      return;
    }
    size_t length = anyLength(groups.size());
    for (int32_t other : alike) {
      auto begin = static_cast<size_t>(other);
      if (begin == index)
        continue;
      // Copies must not run into what they are made from.
      size_t room = begin > index ? begin - index : index - begin;
      for (size_t i = 0; i < std::min(length, room) &&
                         index + i < groups.size() && begin + i < groups.size();
           ++i) {
        if (!repeated.areAlike(index + i, begin + i))
          break;
        set(groups[begin + i], configOf(groups[index + i]));
      }
    }
  }

  /// A factor of two more or less of one loop, or from one loop to another, on
  /// a set of devices that begins where the group's does.
  void resize(int32_t group) {
    Configuration config = configOf(group);
    size_t loops = config.degrees.loops.size();
    auto degree = [&](size_t which) -> int32_t & {
      return which < loops ? config.degrees.loops[which]
                           : config.degrees.replicate;
    };
    size_t from = random_.below(loops + 1), to = random_.below(loops + 1);
    uint64_t how = random_.below(3);
    if (how != 0) {
      if (degree(from) % 2)
        return;
      degree(from) /= 2;
    }
    if (how != 1)
      degree(to) *= 2;
    if (!allows(group, config))
      return;
    auto tasks = static_cast<int32_t>(config.degrees.numTasks());
    int32_t start = config.devices[0], devices = space().numDevices();
    if (random_.below(2) == 0)
      start -= start % tasks;
    config.devices.clear();
    for (int32_t task = 0; task < tasks; ++task)
      config.devices.push_back((start + task) % devices);
    set(group, config);
  }

  /// Two devices change places in a stretch of the graph.
  void swapDevices(size_t index) {
    llvm::ArrayRef<int32_t> groups = space().groups();
    auto a = static_cast<int32_t>(random_.below(space().numDevices()));
    auto b = static_cast<int32_t>(random_.below(space().numDevices()));
    size_t length = anyLength(groups.size());
    index -= std::min(index, static_cast<size_t>(random_.below(length)));
    for (size_t i = index; i < std::min(groups.size(), index + length); ++i) {
      Configuration config = configOf(groups[i]);
      for (int32_t &device : config.devices.edit())
        device = device == a ? b : device == b ? a : device;
      set(groups[i], config);
    }
  }

  /// The devices of a few neighbouring groups move on, by one or by as many as
  /// they are.
  void shift(size_t index) {
    if (random_.below(4) == 0)
      return swapDevices(index);
    llvm::ArrayRef<int32_t> groups = space().groups();
    uint64_t by = random_.below(2) == 0
                      ? 1 + random_.below(space().numDevices())
                      : stepOver(groups[index]);
    size_t length = 1;
    while (length < groups.size() && random_.below(3) != 0)
      ++length;
    length = std::min(length, groups.size() - index);
    moveOn(groups.slice(index, length), by);
  }

  /// A multiple of the number of a group's tasks, at most all devices.
  uint64_t stepOver(int32_t group) {
    auto size = static_cast<uint64_t>(configOf(group).devices.size());
    return size * (1 + random_.below(
                           std::max<uint64_t>(1, space().numDevices() / size)));
  }

  void moveOn(llvm::ArrayRef<int32_t> groups, uint64_t by) {
    for (int32_t group : groups) {
      Configuration config = configOf(group);
      for (int32_t &device : config.devices.edit())
        device = static_cast<int32_t>((device + by) % space().numDevices());
      set(group, config);
    }
  }

  llvm::ArrayRef<const Strategy *> others_;
};
} // namespace

bool detail::drawProposal(const ProposalContext &context,
                          const ProposalTables &tables, ProposalKind kind,
                          Strategy &strategy, Random &random, Edit &edit) {
  return Proposal(context, strategy, random, edit).make(kind, tables);
}

bool detail::propose(const ProposalContext &context,
                     const ProposalTables &tables, ProposalKind kind,
                     Strategy &strategy, Random &random, Edit &edit) {
  if (!drawProposal(context, tables, kind, strategy, random, edit))
    return false;
  deriveEnds(context, strategy, edit);
  return true;
}
