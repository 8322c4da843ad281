//===- SearchAlgorithm.h - Choosing a strategy ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithms that choose a strategy. A problem is an operator graph, a topology
// and a cost model; check() says whether it is complete, verify() whether a
// solution is valid.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_SEARCHALGORITHM_H
#define SOAP_SEARCH_SEARCHALGORITHM_H

#include "soap/Search/Simulator.h"

namespace soap {

struct SearchProblem {
  const OperatorGraph &graph;
  const Topology &topology;
  const CostModel &costs;

  /// The first thing that is missing or wrong, or an empty string.
  std::string check() const;
  /// What is wrong with a strategy, memory included, or an empty string.
  std::string verify(const Strategy &strategy) const;
};

enum class StopReason : uint8_t {
  Proposals,
  Budget,
  NoImprovement,
  Exhausted,
  Cancelled
};
llvm::StringRef stringify(StopReason reason);

struct SearchProgress {
  uint64_t proposals = 0;
  double seconds = 0;
  int64_t bestNs = 0;
};

struct SearchOptions {
  double budgetSeconds = 60;
  uint64_t proposals = 0; ///< Over all starts; 0: by the size of the graph.
  uint64_t seed = 0;
  /// Strategies to start from beside the algorithm's own.
  std::vector<Strategy> starts;
  /// Largest product of degrees and replicate; 0: the number of devices.
  int32_t maxTasks = 0;
  int32_t threads = 0; ///< 0: as many as the machine has.
  /// Called now and then, from one thread at a time; return false to stop.
  std::function<bool(const SearchProgress &)> progress;
};

struct SearchResult {
  Strategy strategy;
  int64_t stepNs = 0;
  uint64_t proposals = 0, accepted = 0;
  double seconds = 0;
  StopReason stop = StopReason::Proposals;
  /// Name and step time of every start; -1 if it does not fit into memory.
  std::vector<std::pair<std::string, int64_t>> starts;
};

class SearchAlgorithm {
public:
  virtual ~SearchAlgorithm();
  virtual llvm::StringRef name() const = 0;
  /// The best valid strategy found, never worse than the best start. With a
  /// limit on proposals alone, the result depends on nothing but the problem
  /// and the seed. Errors: an incomplete problem; no start fits into memory.
  virtual llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                           const SearchOptions &options) = 0;
};

/// Markov chain Monte Carlo (Jia et al., "Beyond data and model parallelism",
/// section 6), from several starts.
std::unique_ptr<SearchAlgorithm> createMCMC();
/// Every strategy of the configuration space, in graph order. For tiny graphs:
/// an error if there are more than `limit`.
std::unique_ptr<SearchAlgorithm> createExhaustive(uint64_t limit = 5000000);

/// An algorithm by its name ("mcmc", "exhaustive"), or null.
std::unique_ptr<SearchAlgorithm> createSearchAlgorithm(llvm::StringRef name);
/// The names, for usage texts.
llvm::ArrayRef<llvm::StringRef> searchAlgorithmNames();

} // namespace soap

#endif // SOAP_SEARCH_SEARCHALGORITHM_H
