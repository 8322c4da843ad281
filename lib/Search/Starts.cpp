//===- Starts.cpp - Where chains begin ------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Starts.h"
#include "Spread.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <numeric>

using namespace soap;
using namespace soap::detail;
using Clock = std::chrono::steady_clock;

llvm::SmallVector<int32_t, 4> detail::subMachines(const Topology &topology) {
  int32_t all = topology.numDevices(), first = 1;
  while (first < all && topology.device(first).node == topology.device(0).node)
    ++first;
  llvm::SmallVector<int32_t, 4> sizes;
  if (first > 1 && first < all)
    sizes.push_back(first);
  // Half of the machines is a number of whole machines.
  int32_t half = all / 2 - all / 2 % first;
  for (int32_t size = 8 * first; size < half; size *= 8)
    sizes.push_back(size);
  if (half > first)
    sizes.push_back(half);
  sizes.push_back(all);
  return sizes;
}

void detail::addStart(std::vector<Start> &starts, Start start) {
  if (llvm::none_of(starts, [&](const Start &known) {
        return known.strategy == start.strategy;
      }))
    starts.push_back(std::move(start));
}

std::string detail::where(const SearchProblem &problem, int32_t devices) {
  return devices >= problem.topology.numDevices()
             ? ""
             : ", " + std::to_string(devices) + " devices";
}

/// Two of three attempts, but not the first two. What has a name is found near
/// its like: chains that begin at something slower go other ways.
static bool hasRandomStartsAlone(const SearchOptions &options,
                                 uint64_t attempt) {
  return options.randomStarts > 0 && attempt > 0 && attempt % 3 != 1;
}

std::vector<Start> detail::drawStarts(const SearchProblem &problem,
                                      const SearchOptions &options,
                                      int32_t devices, uint64_t attempt) {
  const OperatorGraph &graph = problem.graph;
  const Topology &topology = problem.topology;
  std::string part = where(problem, devices);
  std::vector<Start> starts;
  constexpr int32_t manyRandom = 10;
  bool isRandom = hasRandomStartsAlone(options, attempt);
  if (part.empty() && !isRandom)
    for (const Strategy &strategy : options.starts)
      addStart(starts, {"given", strategy});
  if (options.namedStarts && !isRandom)
    for (const NamedStrategy &named : namedStrategies())
      if (named.isListed && named.name != "random")
        addStart(starts, {named.name.str() + part,
                          named.make(problem, devices, options.seed)});
  int32_t most = std::max(options.randomStarts, manyRandom);
  int32_t numRandom = isRandom ? most : options.randomStarts;
  for (int32_t i = 0; i < numRandom; ++i) {
    uint64_t number = attempt * static_cast<uint64_t>(most) + i;
    addStart(starts, {"random" + (i ? " " + std::to_string(i + 1) : "") + part,
                      randomStrategy(graph, topology,
                                     options.seed + number * 0x10001ull,
                                     /*structured=*/true, devices),
                      /*isOptional=*/true});
  }
  return starts;
}

std::vector<Start> detail::spreadStarts(const SearchProblem &problem,
                                        const Strategy &strategy, int32_t span,
                                        int32_t devices) {
  std::vector<Start> starts;
  Spread how;
  how.span = span;
  while (how.factor * 2 * span <= devices)
    how.factor *= 2;
  if (how.factor == 1)
    return starts;
  ConfigurationSpace space(problem.graph, problem.topology, /*maxTasks=*/0,
                           devices);
  for (LoopKind kind :
       {LoopKind::Sample, LoopKind::Parameter, LoopKind::Attribute})
    for (bool inside : {false, true}) {
      how.kind = kind;
      how.inside = inside;
      Strategy wider = strategy;
      for (int32_t group : space.groups())
        space.assign(
            wider, group,
            spread(problem.graph, space, group,
                   strategy.configs[problem.graph.group(group).front()], how));
      deriveEnds(wider, problem.graph, problem.topology);
      addStart(starts,
               {"spread by " + stringify(kind).str() +
                    (inside ? ", inside" : "") + where(problem, devices),
                std::move(wider), /*isOptional=*/true});
    }
  return starts;
}

void detail::boundStarts(const SearchProblem &problem, const TaskGraph &tables,
                         const StartLimits &limits,
                         std::vector<Start> &starts) {
  TaskGraph tasks(problem, &tables);
  FullSimulator simulator(tasks);
  std::vector<int32_t> all(problem.graph.numNodes());
  std::iota(all.begin(), all.end(), 0);
  tasks.setStrategy(singleDevice(problem.graph, problem.topology));
  auto isTooLate = [&](const Start &start) {
    return start.isOptional && !limits.mustPlan && Clock::now() >= limits.end;
  };
  std::vector<Start> bounded;
  for (Start &start : starts) {
    if (isTooLate(start))
      continue;
    tasks.setOrder(start.strategy.order);
    tasks.setBucketBytes(start.strategy.bucketBytes);
    tasks.propose(start.strategy, all);
    tasks.bound();
    start.stepNs = simulator.stepNs();
    tasks.reject();
    bounded.push_back(std::move(start));
  }
  starts = std::move(bounded);
  llvm::stable_sort(starts, [](const Start &a, const Start &b) {
    return a.stepNs < b.stepNs;
  });
}

/// Memory that the plan of a value takes, about.
static size_t bytesOf(const ValueTasks &tasks) {
  size_t bytes = sizeof(ValueTasks);
  auto add = [&](auto list) { bytes += list.size() * sizeof(list[0]); };
  add(tasks.shardBytes);
  add(tasks.planBytes);
  for (const RoundTasks &round : tasks.rounds) {
    bytes += sizeof(RoundTasks);
    add(round.planBytes);
  }
  for (const ActionTasks &action : tasks.actions) {
    bytes += sizeof(ActionTasks);
    add(action.devices);
    add(action.packDevices);
    add(action.packNs);
    add(action.packWaits);
    add(action.moveWaits);
    add(action.producerWaits);
    add(action.links);
    add(action.transfers);
  }
  for (const UseTasks &use : tasks.uses) {
    bytes += sizeof(UseTasks);
    add(use.unpackDevices);
    add(use.unpackNs);
    add(use.unpackWaits);
    add(use.computeWaits);
    add(use.apartNs);
  }
  return bytes;
}

bool detail::planWithinMemory(TaskGraph &tasks,
                              llvm::function_ref<bool()> isOver) {
  // Values that share a plan count once, whether it was there before or not.
  size_t bytes = 0;
  llvm::SmallPtrSet<const ValueTasks *, 32> seen;
  return tasks.plan([&](const ValueTasks &value) {
    if (seen.insert(&value).second)
      bytes += bytesOf(value);
    return bytes > StartLimits::planBytes || isOver();
  });
}

bool detail::tryStart(Start &start, TaskGraph &tasks, int64_t currentNs,
                      const StartLimits &limits) {
  bool isLimited = start.isOptional && !limits.mustPlan;
  if (isLimited && (start.stepNs >= currentNs || Clock::now() >= limits.end))
    return false;
  if (start.stepNs / StartLimits::hopeless >=
      std::min(limits.bestNs, currentNs))
    return false;

  std::vector<int32_t> order = tasks.strategy().order;
  bool sameOrder = order == start.strategy.order;
  if (!sameOrder)
    tasks.setOrder(start.strategy.order);
  int64_t bucketBytes = tasks.strategy().bucketBytes;
  if (bucketBytes != start.strategy.bucketBytes)
    tasks.setBucketBytes(start.strategy.bucketBytes);
  std::vector<int32_t> all(tasks.graph().numNodes());
  std::iota(all.begin(), all.end(), 0);
  tasks.propose(start.strategy, all);
  start.isExact =
      isLimited
          ? planWithinMemory(tasks, [&] { return Clock::now() >= limits.end; })
          : tasks.plan();
  if (start.isExact) {
    FullSimulator simulator(tasks);
    start.stepNs = tasks.fitsMemory() ? simulator.stepNs() : -1;
    if (start.stepNs >= 0 && start.stepNs < currentNs) {
      tasks.accept();
      return true;
    }
  }
  tasks.reject();
  if (bucketBytes != start.strategy.bucketBytes)
    tasks.setBucketBytes(bucketBytes);
  if (!sameOrder)
    tasks.setOrder(order);
  return false;
}
