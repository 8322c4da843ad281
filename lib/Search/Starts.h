//===- Starts.h - Where chains begin ----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_STARTS_H
#define SOAP_LIB_SEARCH_STARTS_H

#include "soap/Search/SearchAlgorithm.h"
#include <chrono>

namespace soap::detail {

struct Start {
  std::string name;
  Strategy strategy;
  /// A start is never worse than it says. One that nobody asked for by name
  /// (random, or derived from what was found) is optional: it is left out where
  /// its plans take too much time or memory.
  bool isOptional = false;
  /// It has the least sum of costs.
  bool isLeastSum = false;
  int64_t stepNs = 0; ///< -1: does not fit into memory.
  /// Without, stepNs is a lower bound, and the start is not planned.
  bool isExact = false;
};

/// What planning a start may cost. Named and given starts are planned unless
/// they are hopeless.
struct StartLimits {
  /// A start whose bound is so many times above the best needs no plan.
  static constexpr int64_t hopeless = 64;
  /// Memory of the plans of an optional start.
  static constexpr size_t planBytes = size_t(128) << 20;

  int64_t bestNs = INT64_MAX; ///< Of any strategy that is known.
  /// Optional starts are not planned beyond this time.
  std::chrono::steady_clock::time_point end =
      std::chrono::steady_clock::time_point::max();
  /// Plan whatever it costs: something must be there to go on from.
  bool mustPlan = false;
};

/// The parts of a machine that a search looks at one after the other, as
/// numbers of devices: the first machine of a cluster, eight times as many
/// devices, and so on, half of the machines, all. What is best on a part is a
/// start for the next, so that more devices are never slower than fewer.
llvm::SmallVector<int32_t, 4> subMachines(const Topology &topology);

/// Adds a start unless its strategy is there already.
void addStart(std::vector<Start> &starts, Start start);

/// What stands behind the name of a start on devices 0 to `devices`-1.
std::string where(const SearchProblem &problem, int32_t devices);

/// Starts on devices 0 to `devices`-1, each once: named strategies, the
/// strategies that are given (on all devices), random ones, which are others in
/// each attempt. Attempts 2 and 3 (from 0), 5 and 6 and so on have random ones
/// alone, ten at least, unless there are to be none. None is simulated.
std::vector<Start> drawStarts(const SearchProblem &problem,
                              const SearchOptions &options, int32_t devices,
                              uint64_t attempt = 0);

/// Starts on devices 0 to `devices`-1 that are made of a strategy on devices 0
/// to `span`-1: its tasks are split further, in several ways (Spread.h).
std::vector<Start> spreadStarts(const SearchProblem &problem,
                                const Strategy &strategy, int32_t span,
                                int32_t devices);

/// Sets stepNs of each to a lower bound, and sorts them by it. Optional starts
/// that are not bounded before `limits.end` are removed.
void boundStarts(const SearchProblem &problem, const TaskGraph &tables,
                 const StartLimits &limits, std::vector<Start> &starts);

/// Plans the change on trial as far as its plans fit into
/// StartLimits::planBytes and `isOver` says no. False if it did not come to the
/// end: reject() must follow.
bool planWithinMemory(TaskGraph &tasks, llvm::function_ref<bool()> isOver);

/// Plans and simulates a start whose bound is known. If it fits into memory and
/// takes less than `currentNs`, `tasks` has it afterwards; else `tasks`, which
/// must have a strategy, is as before. True if it was taken.
bool tryStart(Start &start, TaskGraph &tasks, int64_t currentNs,
              const StartLimits &limits);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_STARTS_H
