//===- WindowDescent.h - Joint changes of neighbours ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_WINDOWDESCENT_H
#define SOAP_LIB_SEARCH_WINDOWDESCENT_H

#include "StrategyWalk.h"

namespace soap::detail {

/// Descent over windows, in one launch order. Many strategies are better only
/// when operations that exchange data change together: each change alone makes
/// the step longer, so that a Markov chain has to accept the one before it can
/// find the other. A window is looked at as in the variable-depth search of Lin
/// and Kernighan ("An effective heuristic algorithm for the traveling-salesman
/// problem", 1973): all choices of a group; behind the best few of these, one
/// of each degrees, all choices of every neighbour; and behind the best few
/// pairs a descent over single groups around. The shortest step is taken, if it
/// is shorter than before.
///
/// Neighbours of a group read what it makes or make what it reads, directly or
/// through light operations (Followers). Choices are those on devices that
/// follow each other; what neighbours do; and that split further, over devices
/// that are left alone. Where there are many, some are drawn at random. Light
/// operations and preparations of weights follow, as in other proposals.
class WindowDescent {
public:
  /// Choices of a group.
  static constexpr size_t mostChoices = 96;
  /// Neighbours of a group, and groups of a descent around it: the nearest.
  static constexpr size_t mostNeighbours = 6, mostAround = 16;
  /// First changes behind which neighbours are looked at, and pairs behind
  /// which others are.
  static constexpr size_t mostFirst = 8, mostPairs = 4;

  WindowDescent(const SearchProblem &problem, const SubMachine &machine,
                const TaskGraph &tables, uint64_t seed)
      : problem_(problem), machine_(machine), seed_(seed),
        walk_(problem, machine.space, tables) {}

  /// Where a descent is: how many windows it looked at, and how many of these
  /// since one gained something.
  struct Position {
    uint64_t looked = 0, sinceGain = 0;
  };
  /// Goes on from a valid strategy that fits into memory.
  void start(const Strategy &strategy, Position position) {
    walk_.start(strategy);
    position_ = position;
  }
  /// Looks at windows until `count` changes were tried, at most `most`, until
  /// no window gains anything any more, or until `stop`, which is asked now and
  /// then. Returns the changes that were tried.
  uint64_t run(uint64_t count, uint64_t most, llvm::function_ref<bool()> stop);
  /// No window gains anything.
  bool isDone() const {
    return position_.sinceGain >= machine_.space.groups().size();
  }
  const Strategy &current() const { return walk_.current(); }
  int64_t stepNs() const { return walk_.stepNs(); }
  bool fitsMemory() const { return walk_.fitsMemory(); }
  Position position() const { return position_; }

private:
  /// A group's part of a change.
  struct Choice {
    int32_t group = -1;
    Configuration config;
    bool isFollowed = true; ///< Light operations behind it follow.
  };
  struct Tried {
    int64_t stepNs = 0;
    llvm::SmallVector<Choice, 2> choices;
    bool operator<(const Tried &other) const { return stepNs < other.stepNs; }
  };
  std::vector<Configuration> choicesOf(int32_t group, const Strategy &strategy,
                                       Random &random) const;
  llvm::SmallVector<int32_t, 8> neighboursOf(int32_t group,
                                             bool light = false) const;
  void make(llvm::ArrayRef<Choice> choices, Change &change);
  std::optional<int64_t> tryChoices(llvm::ArrayRef<Choice> choices,
                                    int64_t limit);
  std::optional<int64_t> look(llvm::ArrayRef<Choice> choices, int64_t limit,
                              Tried &best);
  void take(const Tried &tried);
  std::vector<Tried> lookAtOne(int32_t group, int64_t limit, Random &random,
                               Tried &best);
  Tried lookBeside(const Tried &first, int64_t limit, Random &random);
  void descend(int32_t group, Random &random);
  bool lookAt(int32_t group, Random &random, llvm::function_ref<bool()> stop);

  const SearchProblem &problem_;
  const SubMachine &machine_;
  uint64_t seed_;
  StrategyWalk walk_;
  Position position_;
  uint64_t tried_ = 0, mostTried_ = 0; ///< In this call of run().
  bool hasFollowers_ = false; ///< What was tried last made others follow.
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_WINDOWDESCENT_H
