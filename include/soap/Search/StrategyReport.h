//===- StrategyReport.h - A strategy in numbers -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_STRATEGYREPORT_H
#define SOAP_SEARCH_STRATEGYREPORT_H

#include "soap/Search/Simulator.h"

namespace soap {

/// One row of the table of strategies: a simulated step.
struct StrategyReport {
  std::string name;
  int64_t stepNs = 0;
  /// Busy time of compute streams: of the busiest device, and the mean.
  int64_t computeNs = 0, meanComputeNs = 0;
  int64_t communicationNs = 0;    ///< Of the device that is longest at it.
  int64_t communicationBytes = 0; ///< Over all links.
  int64_t peakMemoryBytes = 0;    ///< Of the device that needs most.
  /// Of a step of training: a step of the evaluation program beside it, which
  /// follows the strategy; 0: there is none.
  int64_t evaluationNs = 0;
  double idleShare = 0; ///< Of devices * step.
  /// Of a step of training that makes values again: how many operations, how
  /// much less the device that needs most holds, and how much longer the step
  /// takes than the same strategy without.
  int32_t numRepeated = 0;
  int64_t savedBytes = 0, addedNs = 0;
  /// False if a device has less memory than it needs. The times are simulated
  /// all the same.
  bool fits = true;
  /// Without, stepNs is a lower bound, and nothing else is known.
  bool isExact = true;
};

/// Simulates a valid strategy. `isOptional`: if its plans fill more memory than
/// a search spends on a random start, its step is bounded without them.
StrategyReport report(llvm::StringRef name, const Strategy &strategy,
                      const SearchProblem &problem, bool isOptional = false);

} // namespace soap

#endif // SOAP_SEARCH_STRATEGYREPORT_H
