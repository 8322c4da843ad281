//===- Simulator.h - How long a step takes ----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Full simulation of a task graph in its launch order: one pass, no event
// queue. Times are nanoseconds from 0 at the start of a step. Semantics:
// docs/Search.md.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_SIMULATOR_H
#define SOAP_SEARCH_SIMULATOR_H

#include "soap/Search/SimulatorState.h"

namespace soap {

/// Start and end of one task graph node on each of its devices. A collective
/// has the same start and end on all members.
struct NodeTimes {
  llvm::SmallVector<int64_t, 8> start, end; ///< Per TaskNode::devices.
};

/// What a simulation found out.
struct SimulationResult {
  int64_t stepNs = 0;
  std::vector<int64_t> computeNs;       ///< Busy time of C[d], per device.
  std::vector<int64_t> communicationNs; ///< Time X[d] is in an action.
  std::vector<TaskNode> nodes;          ///< In launch order,
  std::vector<NodeTimes> times;         ///< and their times.

  /// Share of devices * stepNs in which compute streams do nothing.
  double idleShare() const;
  /// Longest communication time of a device.
  int64_t maxCommunicationNs() const;
};

/// Simulates one task graph again and again.
class FullSimulator {
public:
  explicit FullSimulator(const TaskGraph &tasks) : tasks_(tasks) {}

  /// The step time alone: the fast path of a search.
  int64_t stepNs();
  /// Everything.
  SimulationResult run();
  /// All times of the last simulation.
  const detail::SimulatorState &state() const { return state_; }

private:
  template <bool Record>
  int64_t simulate(SimulationResult *result);

  const TaskGraph &tasks_;
  detail::SimulatorState state_;
};

} // namespace soap

#endif // SOAP_SEARCH_SIMULATOR_H
