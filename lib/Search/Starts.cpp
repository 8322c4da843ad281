//===- Starts.cpp - Where chains begin ------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Starts.h"
#include <numeric>

using namespace soap;
using namespace soap::detail;

/// A start that is so many times slower than the best one is no start.
static constexpr int64_t hopeless = 64;

llvm::SmallVector<int32_t, 4> detail::subMachines(const Topology &topology) {
  int32_t all = topology.numDevices(), first = 1;
  while (first < all && topology.device(first).node == topology.device(0).node)
    ++first;
  llvm::SmallVector<int32_t, 4> sizes;
  if (first > 1 && first < all)
    sizes.push_back(first);
  // Half of the machines: the devices of whole ones.
  int32_t half = all / 2 - all / 2 % first;
  if (half > first)
    sizes.push_back(half);
  sizes.push_back(all);
  return sizes;
}

std::vector<Start> detail::collectStarts(const SearchProblem &problem,
                                         const SearchOptions &options,
                                         const TaskGraph &tables,
                                         int32_t devices) {
  const OperatorGraph &graph = problem.graph;
  const Topology &topology = problem.topology;
  bool whole = devices >= topology.numDevices();
  std::string where = whole ? "" : ", " + std::to_string(devices) + " devices";
  std::vector<Start> starts;
  auto add = [&](std::string name, Strategy strategy) {
    if (llvm::none_of(starts, [&](const Start &known) {
          return known.strategy == strategy;
        }))
      starts.push_back({std::move(name), std::move(strategy), 0});
  };
  if (whole)
    for (const Strategy &strategy : options.starts)
      add("given", strategy);
  if (options.namedStarts)
    for (const NamedStrategy &named : namedStrategies())
      if (named.isListed && named.name != "random")
        add(named.name.str() + where,
            named.make(graph, topology, problem.costs, devices, options.seed));
  for (int32_t i = 0; i < options.randomStarts; ++i)
    add("random" + (i ? " " + std::to_string(i + 1) : "") + where,
        randomStrategy(graph, topology, options.seed + i * 0x10001ull,
                       /*structured=*/true, devices));

  // Those that look best first: whoever is certainly much slower than one that
  // is known needs no plans, which take long where much moves.
  TaskGraph tasks(graph, topology, problem.costs, &tables);
  FullSimulator simulator(tasks);
  std::vector<int32_t> all(graph.numNodes());
  std::iota(all.begin(), all.end(), 0);
  tasks.setStrategy(singleDevice(graph, topology));
  for (Start &start : starts) {
    tasks.setOrder(start.strategy.order);
    tasks.propose(start.strategy, all);
    tasks.bound();
    start.stepNs = simulator.stepNs();
    tasks.reject();
  }
  llvm::stable_sort(starts, [](const Start &a, const Start &b) {
    return a.stepNs < b.stepNs;
  });
  int64_t best = INT64_MAX;
  for (Start &start : starts) {
    start.isExact = start.stepNs / hopeless < best;
    if (!start.isExact)
      continue;
    tasks.setStrategy(start.strategy);
    start.stepNs = tasks.checkMemory().empty() ? simulator.stepNs() : -1;
    if (start.stepNs >= 0)
      best = std::min(best, start.stepNs);
  }
  llvm::stable_sort(starts, [](const Start &a, const Start &b) {
    return std::tuple(!a.isExact, a.stepNs < 0, a.stepNs) <
           std::tuple(!b.isExact, b.stepNs < 0, b.stepNs);
  });
  return starts;
}
