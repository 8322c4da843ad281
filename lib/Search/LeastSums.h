//===- LeastSums.h - Strategies with the least sum of costs -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of costs counts every move in full. In a step some of them hide behind
// computation, the more so where the launch order lets branches of a network
// take turns. What each pair of operations counts is therefore found in turns
// with simulations: the choices with the least sum are simulated in the order
// of the critical path, and a pair counts from then on what the devices lost
// because of it.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_LEASTSUMS_H
#define SOAP_LIB_SEARCH_LEASTSUMS_H

#include "CostTables.h"
#include "soap/Search/TaskGraph.h"
#include <chrono>

namespace soap::detail {

/// A strategy in the better of two launch orders: the graph's, and that of the
/// critical path.
struct LeastSum {
  std::string name;
  Strategy strategy;
  int64_t stepNs; ///< Simulated.
};

/// How far least sums go.
struct LeastSumLimits {
  unsigned threads = 1; ///< That plan pairs.
  int rounds = 0;       ///< How often shares follow what a step lost, at most.
  /// @{ When no more pairs are planned, and when no more sums are looked for.
  std::chrono::steady_clock::time_point planEnd =
      std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point end =
      std::chrono::steady_clock::time_point::max();
  /// @}
};

/// Strategies with the least sum of costs, the fastest first: with all moves
/// counted in full or a quarter, and with shares that follow what steps lost.
/// `tables`, which are filled, are planned further; sums have only pairs that
/// are planned once `limits.planEnd` has passed. Nothing if the graph is too
/// tangled (an elimination would look at more than 700,000 combinations); fewer
/// than there would be if `limits.end` passes. `costs`: a task graph that has
/// the costs of tasks.
std::vector<LeastSum> leastSums(const SearchProblem &problem,
                                CostTables &tables, const TaskGraph &costs,
                                const LeastSumLimits &limits);

/// Time that devices lose for the sake of what a node reads, per node: waits
/// before it starts, copies to put together what it reads or to cut it out for
/// it; nanoseconds, the mean over the devices of the node.
std::vector<double> lostNs(const TaskGraph &tasks);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_LEASTSUMS_H
