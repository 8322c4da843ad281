//===- SearchRun.h - What all algorithms do while they search ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_SEARCHRUN_H
#define SOAP_LIB_SEARCH_SEARCHRUN_H

#include "soap/Search/SearchAlgorithm.h"
#include <chrono>
#include <memory>

namespace soap::detail {

/// Keeps the limits of one search and the best strategy that it has seen. Only
/// what a full simulation has confirmed is kept. For one thread.
class SearchRun {
public:
  /// Of a valid problem, without the starts that are given.
  SearchRun(const SearchProblem &problem, const SearchOptions &options);
  /// Checks the problem and the given starts, and simulates these.
  static llvm::Expected<std::unique_ptr<SearchRun>>
  begin(const SearchProblem &problem, const SearchOptions &options);

  double seconds() const;
  /// True if time or proposals are over, or the search was cancelled. Reports
  /// progress now and then.
  bool isOver();
  /// Simulates a valid strategy and keeps it if it is the best that fits into
  /// memory. Returns its step, or -1 if it does not fit. With a name it counts
  /// as a start.
  int64_t consider(const Strategy &strategy, llvm::StringRef name = "");
  /// The same for what a delta simulation has found, which is no proposal more.
  void noteBest(const Strategy &strategy);
  /// The same in the launch order that it has and in those of the policies.
  /// Returns the step of the fastest, or -1.
  int64_t considerOrders(Strategy strategy, llvm::StringRef name = "");
  /// Considers the named strategies, unless the options say not to.
  void considerNamed();
  void countProposal() { ++result_.proposals; }
  void countAccepted() { ++result_.accepted; }
  /// No strategy of the space has a shorter step. The largest counts.
  void proveLowerBound(int64_t ns) {
    result_.lowerBoundNs = std::max(ns, result_.lowerBoundNs.value_or(0));
  }
  void setSpaceSize(double strategies) { result_.spaceSize = strategies; }

  bool hasBest() const { return result_.stepNs != INT64_MAX; }
  int64_t bestNs() const { return result_.stepNs; }
  const Strategy &best() const { return result_.strategy; }
  uint64_t proposals() const { return result_.proposals; }
  const SearchProblem &problem() const { return problem_; }
  const SearchOptions &options() const { return options_; }
  /// Costs of tasks, for task graphs that share them.
  const TaskGraph &tables() const { return tasks_; }

  /// The result. `stop` is why the search ended if no limit did. An error if
  /// nothing fits into memory.
  llvm::Expected<SearchResult> finish(StopReason stop);

private:
  int64_t note(llvm::StringRef name);

  const SearchProblem &problem_;
  const SearchOptions &options_;
  std::chrono::steady_clock::time_point begin_;
  double reported_ = 0;
  std::optional<StopReason> limit_; ///< The one that was reached.
  TaskGraph tasks_;
  FullSimulator simulator_;
  SearchResult result_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_SEARCHRUN_H
