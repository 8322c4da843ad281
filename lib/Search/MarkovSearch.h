//===- MarkovSearch.h - Chains that exchange what they found ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_MARKOVSEARCH_H
#define SOAP_LIB_SEARCH_MARKOVSEARCH_H

#include "Chain.h"
#include "Starts.h"
#include "WindowDescent.h"
#include "llvm/Support/JSON.h"
#include <mutex>

namespace soap::detail {

/// The state of one search. A search looks at parts of the machine one after
/// the other (stages), each in rounds: all chains try the same number of
/// proposals, on any number of threads, and then exchange. When the chains find
/// nothing better on the whole machine any more, they begin anew, on the first
/// part: that is another attempt. With a limit on proposals alone everything is
/// a function of the problem and the seed.
class MarkovSearch {
public:
  MarkovSearch(const SearchProblem &problem, const SearchOptions &options);

  /// An error if no start fits into memory or a state cannot be read.
  llvm::Error prepare();
  void run();
  /// The best strategy, simplified and in its best order, with its times.
  SearchResult finish();

private:
  /// Proposals of a chain between two exchanges, at most.
  static constexpr uint64_t roundLength = 128;

  void beginStage();
  /// The last stage is all of the machine.
  bool isWhole() const { return stage_ + 1 == parts_.size(); }
  bool isEnded() const {
    return deadline_.passed || deadline_.cancelled || proposals() >= limit_;
  }
  /// False if there is nothing that could be changed.
  bool playStage();
  bool hasSums() const;
  void makeTables(std::chrono::steady_clock::time_point end,
                  std::vector<Start> *starts);
  void makeSums(std::chrono::steady_clock::time_point end);
  void addLeastSums(std::vector<Start> &starts,
                    std::chrono::steady_clock::time_point planEnd,
                    std::chrono::steady_clock::time_point end);
  /// Runs `work` for every chain, on all threads.
  void forEachChain(llvm::function_ref<void(size_t)> work);
  void playRound();
  void report();
  void exchange();
  ProposalMix &mixOf(const Chain &chain);
  void adaptMixes();
  void note();
  std::chrono::steady_clock::time_point startsEnd();
  uint64_t stageLimit() const;
  uint64_t stagePatience() const;
  bool isStageOver() const;
  bool hasBuckets() const;
  void tryBuckets();
  void tryOrders();
  // Attempts.cpp
  void beginAttempt();
  bool beginRecombination();
  bool beginNextAttempt();
  uint64_t patience() const;
  uint64_t attemptPatience() const;
  uint64_t sinceFound() const { return proposalsWithoutWindows() - foundAt_; }
  // WindowRounds.cpp
  uint64_t windowLimit() const;
  bool beginDescents();
  void playDescents();
  std::unique_ptr<WindowDescent> makeDescent(size_t chain) const;
  double seconds() const;
  uint64_t proposals() const;
  uint64_t proposalsWithoutWindows() const {
    return proposals() - triedInWindows_;
  }
  double beta(size_t chain) const;
  // SearchState.cpp
  llvm::json::Value toJSON() const;
  llvm::Error fromJSON(const llvm::json::Value &value);
  llvm::json::Value descentsToJSON() const;
  llvm::Error descentsFromJSON(const llvm::json::Array &descents);
  llvm::Error load();
  /// Keeps the state in the file; a failure is a warning of the result.
  void save();

  const SearchProblem &problem_;
  const SearchOptions &options_;
  TaskGraph tables_;
  llvm::SmallVector<int32_t, 4> parts_; ///< Devices, per stage.
  std::unique_ptr<SubMachine> machine_; ///< Of the stage.
  /// The whole machine, while an attempt behind the first is at a part of it.
  std::unique_ptr<SubMachine> whole_;
  bool hasTriedSums_ = false; ///< To make tables of costs of machine_.
  std::vector<std::unique_ptr<Chain>> chains_;
  /// Proposals over all stages and chains: as many as there may be, and as many
  /// as are tried without a better strategy at least.
  uint64_t limit_ = 0, leastPatience_ = 0;
  unsigned threads_ = 1;
  std::chrono::steady_clock::time_point begin_, end_;
  Deadline deadline_;
  std::mutex mutex_;                        ///< Of progress.
  double lastReport_ = 0, lastSave_ = -1e9; ///< Seconds.

  /// @{ The state.
  size_t stage_ = 0;
  bool stageBegun_ = false;
  uint64_t round_ = 0; ///< Of the stage.
  /// The number of the attempt, and all proposals when it began.
  uint64_t attempt_ = 0, attemptAt_ = 0;
  /// Numbers of proposals without windows: when the stage began, when the
  /// attempt and when the search last found something better, when the last
  /// stage of the first attempt began and when that ended.
  uint64_t stageProposals_ = 0, improvedAt_ = 0, foundAt_ = 0, wholeAt_ = 0,
           firstLength_ = 0;
  uint64_t proposalsBefore_ = 0;
  /// What earlier attempts ended with, the last ones; and, while the chains of
  /// this one take over parts of these, when they began to, else 0.
  std::vector<Strategy> ends_;
  uint64_t recombinedAt_ = 0;
  /// The best steps at improvedAt_ and foundAt_.
  int64_t notedNs_ = INT64_MAX, notedFoundNs_ = INT64_MAX;
  double secondsBefore_ = 0, stageSeconds_ = 0;
  /// Of the chains that are in front, and of those that are behind.
  ProposalMix mix_, mixBehind_;
  /// While windows are looked at, one for each chain; else empty.
  std::vector<std::unique_ptr<WindowDescent>> descents_;
  uint64_t triedInWindows_ = 0;     ///< Of all proposals.
  int64_t descendedNs_ = INT64_MAX; ///< A step that windows did not shorten.
  Strategy best_, found_;           ///< Of the attempt, and of all attempts.
  int64_t bestNs_ = INT64_MAX, foundNs_ = INT64_MAX;
  SearchStatistics statisticsBefore_;
  SearchResult result_;
  /// @}
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_MARKOVSEARCH_H
