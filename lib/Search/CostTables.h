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

#include "DegreesCosts.h"
#include "MinSum.h"
#include "MoveTimes.h"
#include "soap/Search/ConfigurationSpace.h"

namespace soap::detail {

/// That sum for any strategy, in nanoseconds.
int64_t sumOfCosts(const SearchProblem &problem, const Strategy &strategy);

/// Restricts every group to a few choices. Each runs on devices 0 to t-1, one
/// task per device. There are up to `mostChoices` in all, three fifths of them
/// for the largest t, and as many for each of the others; every second t is
/// left out where that would be too few. Of the degrees with t tasks, those
/// that split one loop, or make copies alone, come first, then those whose
/// longest tasks are shortest, less so with every further loop that is split.
std::vector<std::vector<Configuration>>
chooseConfigurations(const SearchProblem &problem,
                     const ConfigurationSpace &space, size_t mostChoices,
                     DegreesCosts &costs);

/// The sum over strategies in which every group has one of its choices.
class CostTables {
public:
  /// `choices`: per place in space.groups(), at least one. What tasks cost is
  /// looked up in `costs`, and kept there.
  CostTables(const SearchProblem &problem, const ConfigurationSpace &space,
             std::vector<std::vector<Configuration>> choices,
             DegreesCosts &costs);

  /// How the costs of a table were found.
  enum class Fill : uint8_t { Nothing, Partly, Exactly };
  /// Finds the costs of operations, and those of pairs until `stop`, which one
  /// thread at a time asks, says so, or `mostPlanned` plans were made. For
  /// every choice of an operation, pairs that move least come first. The other
  /// pairs count a guess. Nothing is there if `stop` comes early.
  Fill fill(unsigned threads, llvm::function_ref<bool()> stop,
            size_t mostPlanned = SIZE_MAX);
  /// What pairs count that are not planned.
  enum class Pairs : uint8_t { Guessed, Bounded };
  /// The choices with the least sum if the pairs of edge e count `shares[e]`
  /// times what they cost. Behind fill(), however far that came: pairs are
  /// planned when the least sum has them, and more and more of those that move
  /// least, until all that it has are planned. If the others count a lower
  /// bound, it is the least then, and nothing is found if `stop` says so
  /// before. If they count a guess, they are avoided from then on: guesses are
  /// too low for what a sum takes.
  MinSum::Result leastSum(llvm::ArrayRef<double> shares, Pairs unplanned,
                          unsigned threads, double mostCombinations,
                          llvm::function_ref<bool()> stop);
  /// Variable i is the group at place i of space.groups().
  const MinSum &sums() const { return sums_; }
  /// The place of a group of the graph; -1: one that does not compute.
  int32_t placeOf(int32_t group) const {
    return group < 0 ? -1 : placeOf_[group];
  }
  llvm::ArrayRef<Configuration> choices(size_t place) const {
    return choices_[place];
  }
  /// The choice with these degrees, or -1.
  int32_t find(size_t place, const Degrees &degrees) const;
  /// What values that move take, planned or not.
  const MoveTable &moves() const { return moves_; }
  /// How often a value was planned for a reader.
  uint64_t numPlanned() const { return moves_.numPlanned(); }
  /// The strategy with these choices, in graph order.
  Strategy strategyOf(llvm::ArrayRef<int32_t> choices) const;

private:
  /// What moves between two groups, or within one, by their choices.
  struct Edge {
    int32_t from, to; ///< Variables; -1: an output of the graph.
    /// [choice of from][choice of to], or [choice] if it is one group or an
    /// output.
    std::vector<uint32_t> places;
  };
  std::vector<std::vector<Configuration>> addVariables();
  template <typename Ns>
  MinSum withPairs(Ns ns) const;
  std::vector<size_t> ranksOfPairs() const;
  void rebuild();

  SearchProblem problem_;
  const ConfigurationSpace &space_;
  std::vector<std::vector<Configuration>> choices_;
  DegreesCosts &costs_;
  std::vector<int32_t> placeOf_; ///< Per group.
  MoveTable moves_;
  /// Places in moves_, those first that move least; and those first that do so
  /// with a choice of one of two operations.
  std::vector<uint32_t> byBound_, byRank_;
  std::vector<Edge> edges_;
  /// What nodes compute alone, and with pairs; pairs that are not planned have
  /// a guess, or the lower bound.
  MinSum own_, sums_, least_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_COSTTABLES_H
