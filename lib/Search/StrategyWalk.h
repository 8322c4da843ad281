//===- StrategyWalk.h - From one strategy to the next -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_STRATEGYWALK_H
#define SOAP_LIB_SEARCH_STRATEGYWALK_H

#include "Chain.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap::detail {

class Change;

/// A strategy and, one at a time, what it would take with a change: by bounds
/// and delta simulation, exactly wherever a step is not above a limit.
class StrategyWalk {
public:
  /// Shares the costs of tasks with `tables`.
  StrategyWalk(const SearchProblem &problem, const ConfigurationSpace &space,
               const TaskGraph &tables);

  /// Goes on from a valid strategy.
  void start(const Strategy &strategy);
  const Strategy &current() const { return current_; }
  int64_t stepNs() const { return delta_.stepNs(); }
  bool fitsMemory() const { return tasks_.fitsMemory(); }

  /// Gives a group, or an update, another configuration if the step is then at
  /// most `limit` and fits into memory. Returns that step; keep() or drop()
  /// follows. Else nothing, and all is as before.
  std::optional<int64_t> tryGroup(int32_t group, const Configuration &config,
                                  int64_t limit);
  /// The same for several groups at once, each of which stands once.
  using GroupChoice = std::pair<int32_t, const Configuration *>;
  std::optional<int64_t> tryGroups(llvm::ArrayRef<GroupChoice> choices,
                                   int64_t limit);
  /// The same for any change, which `make` makes.
  std::optional<int64_t> tryChange(llvm::function_ref<void(Change &)> make,
                                   int64_t limit);
  std::optional<int64_t> tryUpdate(int32_t update, const Configuration &config,
                                   int64_t limit);
  void keep();
  void drop();

private:
  std::optional<int64_t> simulate(int64_t limit);

  ProposalContext context_;
  TaskGraph tasks_;
  DeltaSimulator delta_;
  MemoryGuard memory_;
  Strategy current_;
  Edit edit_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_STRATEGYWALK_H
