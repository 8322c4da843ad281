//===- ExactSearch.h - Depth-first search with bounds -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_EXACTSEARCH_H
#define SOAP_LIB_SEARCH_EXACTSEARCH_H

#include "ExactSpace.h"
#include "SearchRun.h"
#include "llvm/ADT/Hashing.h"
#include <unordered_map>

namespace soap::detail {

/// Prefixes of a step that were reached, by the choices that what is still to
/// come depends on, and the times that it waits for. One whose times are all no
/// earlier than those of another one leads to nothing better: the rest of a
/// step is a function of maxima and sums.
class Prefixes {
public:
  /// False if a known prefix is as good. Else the prefix is remembered, as long
  /// as there is room.
  bool add(llvm::ArrayRef<int32_t> choices, llvm::ArrayRef<int64_t> times);

private:
  static constexpr size_t mostOfKey = 32, mostWords = size_t(200) << 20 >> 3;
  struct Hash {
    size_t operator()(const std::vector<int32_t> &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };
  std::unordered_map<std::vector<int32_t>, std::vector<std::vector<int64_t>>,
                     Hash>
      known_;
  size_t words_ = 0;
};

class ExactSearch {
public:
  ExactSearch(SearchRun &run, ExactSpace &space);

  /// Descends from these strategies of the space and from random ones, so that
  /// there is something to beat.
  void descend(llvm::ArrayRef<Strategy> starts);
  /// True if the optimum was proved.
  bool prove(int64_t lowerBoundNs);

private:
  /// Decides about a group, then launches what is known completely.
  struct Decision {
    int32_t group;
    llvm::SmallVector<int32_t, 4> positions; ///< Of the launch order.
    /// Groups and values that what comes behind depends on.
    llvm::SmallVector<int32_t, 8> liveGroups, liveValues;
  };
  struct Child {
    int32_t choice;
    int64_t boundNs;
    SimulatorState state;
    std::vector<int64_t> ends;
  };
  void planDecisions();
  void findLive();
  llvm::SmallVector<int32_t, 8> neededAt(int32_t position) const;
  void assign(int32_t group, int32_t choice);
  int32_t choiceOf(int32_t node) const {
    return choiceOf_[space_.ownerOf(node)];
  }
  void launch(const Decision &decision);
  int64_t boundNs(size_t depth);
  int64_t pathNs(size_t depth);
  bool isDominated(const Decision &decision);
  void evaluate();
  std::vector<Child> expand(size_t depth);
  /// What the strategies that were not looked at take at least.
  int64_t search(size_t depth, int64_t limitNs);
  bool isMemoryAmple() const;

  SearchRun &run_;
  const SearchProblem &problem_;
  const OperatorGraph &graph_;
  ExactSpace &space_;
  Strategy strategy_;
  TaskGraph tasks_;
  std::vector<Decision> decisions_;
  std::vector<int32_t> choiceOf_;   ///< Per group; -1: not decided yet.
  std::vector<int32_t> launchedBy_; ///< Per position, the decision.
  SimulatorState state_;
  /// Per node that was launched, when its last tile ended; per other one that
  /// is decided, when it does at the earliest.
  std::vector<int64_t> ends_;
  Prefixes prefixes_;
  bool dominates_ = true;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_EXACTSEARCH_H
