//===- StrategyReport.cpp - A strategy in numbers -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/StrategyReport.h"
#include "Starts.h"
#include <algorithm>
#include <numeric>

using namespace soap;

/// Gives `tasks` a strategy, unless its plans take too much memory: then
/// `boundNs` is what a step takes at least.
static bool planWithinMemory(TaskGraph &tasks, const Strategy &strategy,
                             int64_t &boundNs) {
  tasks.setStrategy(singleDevice(tasks.graph(), tasks.topology()));
  tasks.setOrder(strategy.order);
  std::vector<int32_t> all(tasks.graph().numNodes());
  std::iota(all.begin(), all.end(), 0);
  tasks.propose(strategy, all);
  tasks.bound();
  boundNs = FullSimulator(tasks).stepNs();
  if (detail::planWithinMemory(tasks, [] { return false; })) {
    tasks.accept();
    return true;
  }
  tasks.reject();
  return false;
}

StrategyReport soap::report(llvm::StringRef name, const Strategy &strategy,
                            const SearchProblem &problem, bool isOptional) {
  TaskGraph tasks(problem);
  StrategyReport row;
  row.name = name.str();
  if (!isOptional) {
    tasks.setStrategy(strategy);
  } else if (!planWithinMemory(tasks, strategy, row.stepNs)) {
    row.isExact = false;
    return row;
  }
  SimulationResult result = FullSimulator(tasks).run();
  row.stepNs = result.stepNs;
  for (int64_t ns : result.computeNs)
    row.computeNs = std::max(row.computeNs, ns);
  row.meanComputeNs = std::accumulate(result.computeNs.begin(),
                                      result.computeNs.end(), int64_t(0)) /
                      problem.topology.numDevices();
  row.communicationNs = result.maxCommunicationNs();
  row.communicationBytes = tasks.bytes(Phase::Step);
  for (int64_t bytes : tasks.peakMemory())
    row.peakMemoryBytes = std::max(row.peakMemoryBytes, bytes);
  row.idleShare = result.idleShare();
  row.fits = tasks.fitsMemory();
  return row;
}
