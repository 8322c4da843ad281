//===- TaskLevelChain.h - A chain on the paper's simulation -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What detail::Chain does, with the task graph and the two algorithms of Jia et
// al., "Beyond data and model parallelism", section 5, for comparison. There
// are no bounds, and memory is no constraint: the paper has neither.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_BENCHMARKS_SEARCH_TASKLEVELCHAIN_H
#define SOAP_BENCHMARKS_SEARCH_TASKLEVELCHAIN_H

#include "Chain.h"
#include "TaskLevelGraph.h"

namespace soap {

class TaskLevelChain {
public:
  /// Full: a new task graph and Algorithm 1 per proposal. Delta: the task graph
  /// is updated, and Algorithm 2 finds the times; what a rejected proposal
  /// leaves is simulated with the next one.
  enum class Algorithm : uint8_t { Full, Delta };

  TaskLevelChain(const SearchProblem &problem, const SearchOptions &options,
                 Algorithm algorithm);

  /// @{ As in detail::Chain. The times of reports are taken on every proposal:
  /// `planning` builds and updates task graphs.
  void start(const Strategy &strategy);
  void run(const detail::SubMachine &machine, uint64_t count, double beta,
           detail::Deadline &deadline);
  int64_t bestNs() const { return bestNs_; }
  void forgetBest() { bestNs_ = INT64_MAX; }
  detail::ProposalMix &mix() { return mix_; }
  /// `positions` are tasks that got a start.
  SearchStatistics statistics() const;
  /// @}

private:
  bool propose(const detail::SubMachine &machine, double beta);

  const SearchProblem &problem_;
  const SearchOptions &options_;
  Algorithm algorithm_;
  uint64_t step_ = 0;
  Strategy current_;
  int64_t currentNs_ = 0, bestNs_ = INT64_MAX;
  test::TaskLevelGraph tasks_;
  int64_t simulatedAtStart_ = 0; ///< Tasks that starts simulated.
  detail::ProposalMix mix_;
  SearchStatistics statistics_;
};

} // namespace soap

#endif // SOAP_BENCHMARKS_SEARCH_TASKLEVELCHAIN_H
