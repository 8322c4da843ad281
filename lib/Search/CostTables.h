//===- CostTables.h - Costs of operations and of pairs ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost of a strategy as a sum over operations and pairs of operations (Jia,
// Lin, Qi, Aiken, "Exploring hidden dimensions in parallelizing convolutional
// neural networks", 2018, equation 1):
//
//  - a node costs the time of its tasks on the busiest device;
//  - a value costs, for every compute node that reads it, what moving it for
//    this reader alone takes (MoveTimes.h), and for an output of the graph what
//    joining partial results takes. Inputs are there, and so are parameters and
//    constants, which lie where they are read, but for those that are written:
//    they come from where they are written.
//
// What nodes of one group move among each other is part of the group's cost.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_COSTTABLES_H
#define SOAP_LIB_SEARCH_COSTTABLES_H

#include "MinSum.h"
#include "soap/Search/ConfigurationSpace.h"

namespace soap::detail {

/// That sum for any strategy, in nanoseconds.
int64_t sumOfCosts(const SearchProblem &problem, const Strategy &strategy);

/// Restricts every group to a few choices. Each runs on devices 0 to t-1, one
/// task per device. There are up to `mostChoices` in all, as many for each t;
/// every second t is left out where that would be too few. Of the degrees with
/// t tasks, those that split one loop, or make copies alone, come first, then
/// those whose tasks are shortest, less so with every further loop that is
/// split.
std::vector<std::vector<Configuration>>
chooseConfigurations(const SearchProblem &problem,
                     const ConfigurationSpace &space, size_t mostChoices);

/// The sum over strategies in which every group has one of its choices.
class CostTables {
public:
  /// `choices`: per place in space.groups(), at least one.
  CostTables(const SearchProblem &problem, const ConfigurationSpace &space,
             std::vector<std::vector<Configuration>> choices);

  /// How the costs of a table were found.
  enum class Fill : uint8_t { Nothing, Partly, Exactly };
  /// Finds all costs, on `threads` threads. Where `stop`, which one thread at a
  /// time asks, says so, or after `mostPlanned` plans, pairs that move much are
  /// left with a cost that is too high; nothing is there if it comes early.
  Fill fill(unsigned threads, llvm::function_ref<bool()> stop,
            size_t mostPlanned = SIZE_MAX);
  /// Variable i is the group at place i of space.groups().
  const MinSum &sums() const { return sums_; }
  llvm::ArrayRef<Configuration> choices(size_t place) const {
    return choices_[place];
  }
  /// The choice with these degrees, or -1.
  int32_t find(size_t place, const Degrees &degrees) const;
  /// How often a value was planned for a reader.
  uint64_t numPlanned() const { return numPlanned_; }
  /// The strategy with these choices, in graph order.
  Strategy strategyOf(llvm::ArrayRef<int32_t> choices) const;

private:
  std::vector<std::vector<Configuration>> addVariables();

  SearchProblem problem_;
  const ConfigurationSpace &space_;
  std::vector<std::vector<Configuration>> choices_;
  MinSum sums_;
  uint64_t numPlanned_ = 0;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_COSTTABLES_H
