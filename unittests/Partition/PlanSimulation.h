//===- PlanSimulation.h - Executes plans on small arrays --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes a communication plan with integers, knowing nothing of how it was
// made: tasks write their parts, actions move what their kinds say between
// devices, and every consumer must read the combined value.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_PARTITION_PLANSIMULATION_H
#define SOAP_UNITTESTS_PARTITION_PLANSIMULATION_H

#include "soap/Partition/CommPlan.h"
#include <vector>

namespace soap::test {

/// Runs the plan. Returns what went wrong first, or an empty string.
std::string simulate(const ValuePlan &plan, const Layout &producer,
                     llvm::ArrayRef<Need> consumers);

/// One line per action:
/// "all_gather [0, 1]: 0 [0:4], 1 [4:8] -> 0 [0:8], 1 [0:8]".
std::string summarize(const ValuePlan &plan);

/// A grid of tiles: `degrees` per dimension, cut as tileRange() does. Tasks are
/// numbered as devices stand: [tile][part][copy].
Layout gridLayout(llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int32_t> degrees,
                  llvm::ArrayRef<int32_t> devices, int32_t parts = 1,
                  int32_t copies = 1);

/// Likewise, for a consumer that reads `before` elements before and `after`
/// elements after its own tile in every dimension that is cut.
Need gridNeed(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int32_t> degrees,
              llvm::ArrayRef<int32_t> devices, int32_t copies = 1,
              int64_t before = 0, int64_t after = 0);

} // namespace soap::test

#endif // SOAP_UNITTESTS_PARTITION_PLANSIMULATION_H
