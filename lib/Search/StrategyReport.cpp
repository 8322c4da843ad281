//===- StrategyReport.cpp - A strategy in numbers -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/StrategyReport.h"
#include <algorithm>
#include <numeric>

using namespace soap;

StrategyReport soap::report(llvm::StringRef name, const Strategy &strategy,
                            const OperatorGraph &graph,
                            const Topology &topology, const CostModel &costs) {
  TaskGraph tasks(graph, topology, costs);
  tasks.setStrategy(strategy);
  SimulationResult result = FullSimulator(tasks).run();
  StrategyReport row;
  row.name = name.str();
  row.stepNs = result.stepNs;
  for (int64_t ns : result.computeNs)
    row.computeNs = std::max(row.computeNs, ns);
  row.meanComputeNs = std::accumulate(result.computeNs.begin(),
                                      result.computeNs.end(), int64_t(0)) /
                      topology.numDevices();
  row.communicationNs = result.maxCommunicationNs();
  row.communicationBytes = tasks.bytes(Phase::Step);
  for (int64_t bytes : tasks.peakMemory())
    row.peakMemoryBytes = std::max(row.peakMemoryBytes, bytes);
  row.idleShare = result.idleShare();
  row.fits = tasks.checkMemory().empty();
  return row;
}
