//===- ValuePlans.h - Plans of the values of a strategy ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_VALUEPLANS_H
#define SOAP_LIB_SEARCH_VALUEPLANS_H

#include "soap/Partition/FlatPlan.h"
#include "soap/Search/Strategy.h"

namespace soap::detail {

/// @{ layoutOf() and needOf() in memory that there is.
void layoutOf(const OperatorGraph &graph, const Strategy &strategy,
              int32_t value, Layout &layout);
void needOf(const OperatorGraph &graph, const Strategy &strategy, int32_t value,
            int32_t use, Need &need);
/// @}

/// planOf() for a search: the same plans, but flat, and memory is kept from one
/// to the next.
class ValuePlans {
public:
  ValuePlans(const OperatorGraph &graph, const Topology &topology)
      : graph_(graph), topology_(topology) {}
  /// The plan of a value, until the next call. Consumer k is use
  /// usesInOrder[k].
  const FlatPlan &plan(const Strategy &strategy, int32_t value,
                       llvm::ArrayRef<int32_t> usesInOrder);

private:
  const OperatorGraph &graph_;
  const Topology &topology_;
  ValuePlanner planner_;
  Layout layout_;
  llvm::SmallVector<Need, 4> needs_; ///< Entries behind keep their memory.
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_VALUEPLANS_H
