//===- Starts.h - Where chains begin ----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_STARTS_H
#define SOAP_LIB_SEARCH_STARTS_H

#include "soap/Search/SearchAlgorithm.h"

namespace soap::detail {

struct Start {
  std::string name;
  Strategy strategy;
  int64_t stepNs = 0; ///< -1: does not fit into memory.
  /// Without, stepNs is a lower bound, far above the best start's.
  bool isExact = true;
};

/// The parts of a machine that a search looks at one after the other, as
/// numbers of devices: the first machine of a cluster, half of the machines,
/// all. What is best on a part is a start for the next, so that more devices
/// are never slower than fewer.
llvm::SmallVector<int32_t, 4> subMachines(const Topology &topology);

/// The starts on devices 0 to `devices`-1, simulated, each once: named
/// strategies, the strategies that are given (on all devices), random ones.
/// Those that fit into memory first, the fastest in front; those that are not
/// simulated exactly last.
std::vector<Start> collectStarts(const SearchProblem &problem,
                                 const SearchOptions &options,
                                 const TaskGraph &tables, int32_t devices);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_STARTS_H
