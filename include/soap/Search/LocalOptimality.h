//===- LocalOptimality.h - Is a neighbour of a strategy better? -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_LOCALOPTIMALITY_H
#define SOAP_SEARCH_LOCALOPTIMALITY_H

#include "soap/Search/SearchAlgorithm.h"

namespace soap {

/// What comparing a strategy with its neighbours said (Jia et al., "Beyond data
/// and model parallelism", section 8.4). A neighbour has one decision changed:
/// the configuration of a group of operations, or where a parameter is updated
/// (docs/Search.md, "Steepest descent").
struct LocalOptimality {
  int64_t stepNs = 0;         ///< Of the strategy.
  uint64_t neighbours = 0;    ///< Looked at.
  int32_t groups = 0;         ///< Groups of operations.
  int32_t completeGroups = 0; ///< Those with all configurations of the space.
  /// False if time was over, or it was cancelled, before the last neighbour.
  bool isFinished = true;
  double seconds = 0;
  /// The neighbour with the shortest step, if one is shorter.
  struct Better {
    std::string node; ///< The group's leader, or the parameter.
    bool isUpdate = false;
    Configuration config;
    int64_t stepNs = 0;
  };
  std::optional<Better> better;

  bool isLocallyOptimal() const { return isFinished && !better; }
};

/// Enumerates the neighbours of a valid strategy. Of `options` count
/// budgetSeconds, maxTasks and progress.
LocalOptimality checkLocalOptimality(const SearchProblem &problem,
                                     const Strategy &strategy,
                                     const SearchOptions &options);

} // namespace soap

#endif // SOAP_SEARCH_LOCALOPTIMALITY_H
