//===- WindowDescent.cpp - Joint changes of neighbours --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowDescent.h"
#include "Change.h"

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Choices of a group while the others do what `strategy` says.
std::vector<Configuration> WindowDescent::choicesOf(int32_t group,
                                                    const Strategy &strategy,
                                                    Random &random) const {
  const OperatorGraph &graph = problem_.graph;
  const ConfigurationSpace &space = machine_.space;
  std::vector<Configuration> choices;
  auto add = [&](Configuration config) {
    config.regather.clear();
    if (space.allows(group, config.degrees) &&
        !llvm::is_contained(choices, config))
      choices.push_back(std::move(config));
  };
  // What it does, and what its neighbours do; and that split further.
  int32_t leader = graph.group(group).front();
  add(strategy.configs[leader]);
  if (int32_t operand = mainOperand(graph, leader); operand >= 0)
    add(followOperand(graph, strategy, leader, operand));
  for (int32_t other : neighbours(graph, group))
    if (auto same = space.sameAs(group, other,
                                 strategy.configs[graph.group(other).front()]))
      add(std::move(*same));
  int32_t devices = space.numDevices();
  for (size_t i = 0, count = choices.size(); i < count; ++i)
    for (size_t loop = 0; loop < choices[i].degrees.loops.size(); ++loop)
      for (bool keepsFirst : {true, false})
        if (auto config = splitFurther(choices[i], loop, keepsFirst, devices))
          add(std::move(*config));
  if (space.degrees(group).size() * devices <= mostChoices) {
    for (const Degrees &degrees : space.degrees(group))
      for (int32_t first = 0; first < devices; ++first) {
        Configuration config;
        config.degrees = degrees;
        for (int64_t task = 0; task < degrees.numTasks(); ++task)
          config.devices.push_back(
              static_cast<int32_t>((first + task) % devices));
        add(std::move(config));
      }
    return choices;
  }
  for (size_t draw = 0; draw < 2 * mostChoices && choices.size() < mostChoices;
       ++draw)
    add(random.below(2) == 0 ? space.sampleSimple(group, random)
                             : space.sampleStructured(group, random));
  return choices;
}

SmallVector<int32_t, 8> WindowDescent::neighboursOf(int32_t group,
                                                    bool light) const {
  const OperatorGraph &graph = problem_.graph;
  const Followers &followers = machine_.tables.followers;
  SmallVector<int32_t, 8> found;
  SmallVector<int32_t, 32> reached = {group};
  constexpr size_t mostReached = 64;
  for (size_t i = 0; i < reached.size() && i < mostReached; ++i) {
    if (i > 0 && !light && !followers.isLight(graph.group(reached[i]).front()))
      continue;
    for (int32_t other : neighbours(graph, reached[i])) {
      int32_t leader = graph.group(other).front();
      if (followers.isPreparation(leader) || llvm::is_contained(reached, other))
        continue;
      reached.push_back(other);
      if ((light || !followers.isLight(leader)) &&
          found.size() < (light ? mostAround : mostNeighbours))
        found.push_back(other);
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void WindowDescent::make(llvm::ArrayRef<Choice> choices, Change &change) {
  const Followers &followers = machine_.tables.followers;
  bool isFollowed = false;
  for (const Choice &choice : choices) {
    change.set(choice.group, choice.config);
    isFollowed |= choice.isFollowed;
  }
  size_t alone = change.changed().size();
  if (isFollowed)
    followers.followProducers(change);
  hasFollowers_ = change.changed().size() > alone;
  followers.followReaders(change);
}

std::optional<int64_t> WindowDescent::tryChoices(llvm::ArrayRef<Choice> choices,
                                                 int64_t limit) {
  return walk_.tryChange([&](Change &change) { make(choices, change); }, limit);
}

/// The step with a change, which is then dropped; nothing if it is above
/// `limit`. The shortest is kept in `best`.
std::optional<int64_t> WindowDescent::look(llvm::ArrayRef<Choice> choices,
                                           int64_t limit, Tried &best) {
  if (tried_ >= mostTried_)
    return std::nullopt;
  ++tried_;
  std::optional<int64_t> step = tryChoices(choices, limit);
  if (!step)
    return step;
  walk_.drop();
  if (*step < best.stepNs)
    best = {*step, {choices.begin(), choices.end()}};
  return step;
}

void WindowDescent::take(const Tried &tried) {
  if (tryChoices(tried.choices, tried.stepNs))
    walk_.keep();
}

/// Changes of one group alone whose steps are at most `limit`, the shortest of
/// each degrees, in the order of their steps.
std::vector<WindowDescent::Tried> WindowDescent::lookAtOne(int32_t group,
                                                           int64_t limit,
                                                           Random &random,
                                                           Tried &best) {
  std::vector<Tried> found;
  for (const Configuration &config : choicesOf(group, walk_.current(), random))
    for (bool isFollowed : {true, false}) {
      if (!isFollowed && !hasFollowers_)
        break;
      Choice choice{group, config, isFollowed};
      std::optional<int64_t> step = look(choice, limit, best);
      if (!step)
        continue;
      auto same = llvm::find_if(found, [&](const Tried &tried) {
        return tried.choices.front().config.degrees == config.degrees;
      });
      if (same == found.end())
        found.push_back({*step, {choice}});
      else if (*step < same->stepNs)
        *same = {*step, {choice}};
    }
  llvm::stable_sort(found);
  return found;
}

/// Takes changes of single groups around `group` as long as these make the step
/// shorter.
void WindowDescent::descend(int32_t group, Random &random) {
  SmallVector<int32_t, 8> around = neighboursOf(group, /*light=*/true);
  around.push_back(group);
  for (size_t at = 0, sinceGain = 0; sinceGain < around.size();
       ++sinceGain, at = (at + 1) % around.size()) {
    Tried best{walk_.stepNs(), {}};
    lookAtOne(around[at], best.stepNs - 1, random, best);
    if (best.choices.empty())
      continue;
    take(best);
    sinceGain = 0;
  }
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

uint64_t WindowDescent::run(uint64_t count, uint64_t most,
                            llvm::function_ref<bool()> stop) {
  tried_ = 0;
  mostTried_ = most;
  llvm::ArrayRef<int32_t> groups = machine_.space.groups();
  while (tried_ < std::min(count, most) && !isDone() && !stop()) {
    Random random(seed_, groups.size(), position_.looked);
    bool isShorter =
        lookAt(groups[position_.looked % groups.size()], random, stop);
    // What a limit has cut off is looked at again.
    if (!isShorter && tried_ >= most)
      break;
    ++position_.looked;
    position_.sinceGain = isShorter ? 0 : position_.sinceGain + 1;
  }
  return tried_;
}

/// What makes up best for a first change: a second one of a neighbour. Nothing
/// if none does.
WindowDescent::Tried WindowDescent::lookBeside(const Tried &first,
                                               int64_t limit, Random &random) {
  Tried pair{std::min(first.stepNs, limit), {}};
  SmallVector<Choice, 2> choices = {first.choices.front(), {}};
  Strategy strategy = walk_.current();
  Edit edit;
  ProposalContext context{problem_.graph, problem_.topology, machine_.space};
  Change change(context, strategy, edit);
  make(choices.front(), change);
  for (int32_t other : neighboursOf(choices.front().group))
    for (Configuration &config : choicesOf(other, strategy, random)) {
      choices.back() = {other, std::move(config)};
      look(choices, pair.stepNs - 1, pair);
    }
  return pair;
}

/// Takes the best change of a group, alone or with a neighbour, if one makes
/// the step shorter; else a pair that does so together with what follows it.
/// True if something was taken.
bool WindowDescent::lookAt(int32_t group, Random &random,
                           llvm::function_ref<bool()> stop) {
  int64_t base = walk_.stepNs();
  Tried best{base, {}};
  // A first change that is worse by more is hardly made up for by a second, nor
  // is a pair by what follows.
  std::vector<Tried> firsts = lookAtOne(group, base + base / 20, random, best);
  firsts.resize(std::min(firsts.size(), mostFirst));
  std::vector<Tried> pairs;
  for (const Tried &first : firsts) {
    if (stop())
      return false;
    pairs.push_back(lookBeside(first, base + base / 64, random));
    if (pairs.back().choices.empty())
      pairs.pop_back();
    else if (pairs.back() < best)
      best = pairs.back();
  }
  if (!best.choices.empty()) {
    take(best);
    return true;
  }
  llvm::stable_sort(pairs);
  pairs.resize(std::min(pairs.size(), mostPairs));
  Strategy before = walk_.current();
  for (const Tried &pair : pairs) {
    if (stop())
      return false;
    take(pair);
    descend(group, random);
    if (walk_.stepNs() < base)
      return true;
    walk_.start(before);
  }
  return false;
}
