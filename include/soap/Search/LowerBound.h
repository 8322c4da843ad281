//===- LowerBound.h - What no strategy can beat -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lower bound of the simulated step time over all strategies of a
// configuration space, under the same costs. How it is proved: docs/Search.md,
// "Lower bound".
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_LOWERBOUND_H
#define SOAP_SEARCH_LOWERBOUND_H

#include "soap/Search/Strategy.h"

namespace soap {

/// Nanoseconds. Each part is a bound of its own.
struct LowerBound {
  /// The largest of the others: no strategy of the space has a shorter step.
  int64_t stepNs = 0;
  /// The work of all nodes, each at the degrees where the tasks of all devices
  /// together take least, over the number of devices.
  int64_t workNs = 0;
  /// The longest way through the graph, each node at the degrees where its
  /// tasks are shortest.
  int64_t pathNs = 0;
  /// The same, where a node waits for what its device does not compute itself
  /// until it has come over the links, and computes one after the other what it
  /// does; each node at the degrees that are best on the way.
  int64_t communicationNs = 0;
  /// Path and work weighed against each other: one choice of degrees has to
  /// serve both.
  int64_t mixedNs = 0;

  /// How much longer `foundNs` takes, as a share of the bound; 0 if the bound
  /// is 0.
  double gap(int64_t foundNs) const {
    return stepNs > 0 ? static_cast<double>(foundNs - stepNs) / stepNs : 0;
  }
};

/// The bound over all strategies of ConfigurationSpace(graph, topology,
/// maxTasks), in any launch order, and the named ones; memory is no constraint.
/// Takes time by the number of degrees that neighbours choose from; where these
/// are too many, the bound is less tight.
LowerBound lowerBound(const SearchProblem &problem, int32_t maxTasks = 0);

} // namespace soap

#endif // SOAP_SEARCH_LOWERBOUND_H
