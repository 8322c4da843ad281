//===- MinSum.h - The least sum of costs of pairs ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables that take one of a few choices each; a choice has a cost, and so
// has every pair of choices of two variables that an edge joins. Wanted are the
// choices with the least sum of costs.
//
// Variables are eliminated one after the other (Bertele and Brioschi,
// "Nonserial dynamic programming", 1972, chapter 2): a table over the
// neighbours of the variable says what it adds to the sum at best. With at most
// two neighbours this is the node and edge elimination of OptCNN (Jia, Lin, Qi,
// Aiken, "Exploring hidden dimensions in parallelizing convolutional neural
// networks", 2018, section 5.2).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_MINSUM_H
#define SOAP_LIB_SEARCH_MINSUM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <vector>

namespace soap::detail {

class MinSum {
public:
  /// A variable with a cost per choice (at least one choice). Returns its
  /// number.
  int32_t addVariable(std::vector<int64_t> costs);
  int32_t numVariables() const { return static_cast<int32_t>(own_.size()); }
  int32_t numChoices(int32_t variable) const {
    return static_cast<int32_t>(own_[variable].size());
  }
  /// Adds to the cost of one choice.
  void add(int32_t variable, int32_t choice, int64_t cost) {
    own_[variable][choice] += cost;
  }
  /// Adds to the costs of the pairs of choices of two different variables;
  /// `costs` is [choice of a][choice of b].
  void addPair(int32_t a, int32_t b, llvm::ArrayRef<int64_t> costs);

  /// @{ Two variables with costs of pairs are joined by an edge; -1: by none.
  size_t numEdges() const { return edges_.size(); }
  int32_t findEdge(int32_t a, int32_t b) const {
    auto it = edgeOf_.find(std::minmax(a, b));
    return it == edgeOf_.end() ? -1 : static_cast<int32_t>(it->second);
  }
  /// What the pair costs that these choices, one per variable, make.
  int64_t pairCost(int32_t edge, llvm::ArrayRef<int32_t> choices) const {
    const Edge &entry = edges_[edge];
    return entry
        .costs[static_cast<size_t>(choices[entry.a]) * own_[entry.b].size() +
               choices[entry.b]];
  }
  /// @}

  /// The sum of the costs of these choices, one per variable.
  int64_t sumOf(llvm::ArrayRef<int32_t> choices) const;

  /// How an elimination ended.
  enum class End : uint8_t { Done, TooLarge, Stopped };
  struct Result {
    End end = End::Done;
    std::vector<int32_t> choices; ///< One per variable, if it is done;
    int64_t sum = 0;              ///< the sum of their costs.
    /// The combinations that the step looks at which is too large.
    double combinations = 0;
  };
  /// The choices with the least sum. Of several, always the same. Gives up
  /// before a step that would look at more than `mostCombinations` of choices;
  /// `stop` is asked between steps.
  Result minimise(double mostCombinations,
                  llvm::function_ref<bool()> stop) const;

  /// A sum over some of the variables alone, with other costs.
  struct Part {
    /// The variables that are free.
    llvm::ArrayRef<int32_t> variables;
    /// What each of these variables costs on its own, per choice.
    std::vector<std::vector<int64_t>> own;
    /// The choice of a variable that is not free; -1: edges to it cost nothing.
    llvm::function_ref<int32_t(int32_t)> fixed;
    /// What pairs count.
    double pairFactor = 1;
    /// What the pairs of each edge count besides; empty: the same.
    llvm::ArrayRef<double> shares = {};
  };
  /// The choices of the free variables with the least sum of such costs. The
  /// sum of the result is not set.
  Result minimise(Part part, double mostCombinations) const;
  /// The costs of a variable's choices on its own.
  llvm::ArrayRef<int64_t> own(int32_t variable) const { return own_[variable]; }

private:
  struct Edge {
    int32_t a, b;               ///< a < b
    std::vector<int64_t> costs; ///< [choice of a][choice of b]
  };

  std::vector<std::vector<int64_t>> own_; ///< [variable][choice].
  std::vector<Edge> edges_;
  std::map<std::pair<int32_t, int32_t>, size_t> edgeOf_;
  std::vector<llvm::SmallVector<size_t, 4>> edgesAt_; ///< Per variable.
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_MINSUM_H
