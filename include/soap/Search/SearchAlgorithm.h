//===- SearchAlgorithm.h - Choosing a strategy ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithms that choose a strategy for a problem (SearchProblem.h).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_SEARCHALGORITHM_H
#define SOAP_SEARCH_SEARCHALGORITHM_H

#include "soap/Search/Simulator.h"
#include "llvm/Support/JSON.h"

namespace soap {

enum class StopReason : uint8_t {
  Proposals,
  Budget,
  NoImprovement,
  LeastSum,
  Exhausted,
  Placed,
  LocalOptimum,
  Proved,
  Cancelled
};
llvm::StringRef stringify(StopReason reason);

/// What a proposal of a Markov chain changes.
enum class ProposalKind : uint8_t {
  Uniform, ///< Any configuration of one group (the paper's).
  Grid,    ///< A grid on a contiguous set of devices.
  Adopt,   ///< What a neighbour does.
  Stretch, ///< One grid for a stretch of the graph.
  Repeat,  ///< The same for all repeated blocks.
  Resize,  ///< A factor of two of a degree.
  Shift,   ///< Other devices, the same degrees.
  Lanes,   ///< A stretch of the graph on parts of the machine, side by side.
  Cross,   ///< A stretch as another chain has it.
  Sums,    ///< A stretch with the least sum of costs (OptCNN).
  Layer,   ///< All operations that share a parameter.
  Updates  ///< Updates of parameters: sharded, on one device, or following.
};
inline constexpr size_t numProposalKinds = 12;
llvm::StringRef stringify(ProposalKind kind);

struct SearchProgress {
  uint64_t proposals = 0;
  double seconds = 0;
  int64_t bestNs = 0;
  /// What no strategy of the space is shorter than, as far as it was proved; 0:
  /// nothing was.
  int64_t lowerBoundNs = 0;
};

/// More chains would take memory for nothing.
inline constexpr int32_t maxChains = 1000;

struct SearchOptions {
  double budgetSeconds = 60;
  uint64_t proposals = 0; ///< Over all chains; 0: no limit.
  /// Stop after so many proposals, over all chains, without a strategy that is
  /// better by 0.1%. 0: a quarter of `proposals`. Without that, too: twice as
  /// many as it took to find the last one, but at least 2,000 for each
  /// operation and each doubling of devices (within 20,000 and 200,000; for
  /// more than four chains as many times more). By 0, chains that have begun
  /// anew meanwhile go on until they find nothing any more.
  uint64_t stagnation = 0;
  uint64_t seed = 0;
  /// Markov chains, each of which can keep a core busy. What is found depends
  /// on their number, and not on that of the threads.
  int32_t chains = 4;
  /// Strategies to start from beside the algorithm's own.
  std::vector<Strategy> starts;
  /// Without: only `starts` and random ones.
  bool namedStarts = true;
  int32_t randomStarts = 1;
  /// Strategies with the least sum of costs (OptCNN) are starts, and stretches
  /// with the least sum are proposals.
  bool leastSums = true;
  /// Chains choose the sizes of buckets (shortenByBuckets()), too: what is
  /// found has Strategy::bucketBytes. Else buckets are as large as the graph
  /// and given starts say. (MCMC.)
  bool choosesBuckets = false;
  /// Only this kind of proposal; else all, with weights that adapt.
  std::optional<ProposalKind> onlyKind;
  /// Simulate in full whatever is proposed: for comparison.
  bool fullSimulation = false;
  /// Largest product of degrees and replicate; 0: the number of devices.
  int32_t maxTasks = 0;
  int32_t threads = 0; ///< 0: as many as the machine has.
  /// The search is kept in this file every few seconds and at its end, and goes
  /// on from there if it exists. Empty: none.
  std::string stateFile;
  /// Called now and then, from one thread at a time; return false to stop.
  std::function<bool(const SearchProgress &)> progress;
};

/// What became of proposals, and where the time went. A proposal that changes
/// nothing is not counted.
struct SearchStatistics {
  uint64_t proposals = 0;
  uint64_t bounded = 0;   ///< Rejected by a bound, without a plan.
  uint64_t simulated = 0; ///< With plans, if only of the first values where
                          ///< these alone make a step too long.
  uint64_t accepted = 0;
  uint64_t tooLarge = 0; ///< Would have been accepted, but for memory.
  uint64_t planned = 0;  ///< Values planned; `reused`: found in the cache.
  uint64_t reused = 0;
  uint64_t simulations = 0; ///< Delta simulations, bounds included,
  uint64_t positions = 0;   ///< and the nodes that they simulated.
  /// Seconds of all threads, measured on every 16th proposal. Proposing makes
  /// a change and gives up a rejected one.
  double proposing = 0, bounding = 0, planning = 0, simulating = 0,
         accepting = 0;

  void add(const SearchStatistics &other);
};

struct SearchResult {
  Strategy strategy;
  int64_t stepNs = 0;
  uint64_t proposals = 0, accepted = 0; ///< As in `statistics`.
  /// How often chains began: once, and anew where they found nothing any more
  /// (MCMC; the most of several algorithms).
  uint64_t attempts = 1;
  double seconds = 0;
  StopReason stop = StopReason::Proposals;
  /// Name and step time of every start; -1 if it does not fit into memory.
  std::vector<std::pair<std::string, int64_t>> starts;
  SearchStatistics statistics;
  /// Every time that a better strategy was found: seconds since the beginning,
  /// proposals so far, step time.
  std::vector<SearchProgress> history;
  /// Why SearchOptions::stateFile could not be written, or empty.
  std::string stateError;
  /// What OptCNN minimises, of the strategy where that is least, in
  /// nanoseconds. `strategy` is another one if a given start is faster in
  /// simulation.
  std::optional<int64_t> sumNs;
  /// No strategy of the space that was searched has a shorter step; equal to
  /// stepNs if the optimum was proved.
  std::optional<int64_t> lowerBoundNs;
  /// The number of strategies of that space, where it is a smaller one than
  /// ConfigurationSpace.
  std::optional<double> spaceSize;
};

/// {"proposals", "bounded", "simulated", ..., "seconds": {...}}
llvm::json::Object toJSON(const SearchStatistics &statistics);

class SearchAlgorithm {
public:
  virtual ~SearchAlgorithm();
  virtual llvm::StringRef name() const = 0;
  /// Whether it goes on from SearchOptions::stateFile; else that is ignored.
  virtual bool keepsState() const { return false; }
  /// The best valid strategy found, never worse than the best start. With a
  /// limit on proposals alone, the result depends on nothing but the problem
  /// and the seed. Errors: an incomplete problem; no start fits into memory.
  virtual llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                           const SearchOptions &options) = 0;
};

/// Markov chain Monte Carlo (Jia et al., "Beyond data and model parallelism",
/// section 6), with several chains that exchange what they found.
std::unique_ptr<SearchAlgorithm> createMCMC();
/// Every strategy of the configuration space, in graph order. For tiny graphs:
/// an error if there are more than `limit`.
std::unique_ptr<SearchAlgorithm> createExhaustive(uint64_t limit = 5000000);

/// OptCNN (Jia, Lin, Qi, Aiken, "Exploring hidden dimensions in parallelizing
/// convolutional neural networks", 2018, section 5): the least sum of the costs
/// of operations and of pairs of operations, exactly, where each group of
/// operations has up to `mostChoices` configurations. docs/Search.md says
/// which, and what the sum is. Memory and the overlap of operations are not in
/// it. An error if eliminating some operation looks at more than
/// `mostCombinations` of its neighbours' choices.
std::unique_ptr<SearchAlgorithm> createOptCNN(size_t mostChoices = 48,
                                              double mostCombinations = 1e9);

/// DPOS (Yi et al., "Fast training of deep learning models over multiple GPUs",
/// 2020, Algorithm 1): list scheduling of whole operations and of replicas;
/// with `splits`, OS-DPOS (Algorithm 2), which then splits operations of the
/// critical path.
std::unique_ptr<SearchAlgorithm> createDPOS(bool splits);

/// Steepest descent: from the best start on, the neighbour (Neighbourhood.h in
/// lib/Search; docs/Search.md) with the shortest step is taken until none is
/// shorter.
std::unique_ptr<SearchAlgorithm> createLocal();

/// Depth-first search with lower bounds (Jia et al., "Beyond data and model
/// parallelism", section 8.4) over the strategies of a restricted space, in
/// graph order; ended early, it says how short a step may be at best. With
/// `layers`, operations without weights that reduce nothing follow what makes
/// their main operand.
std::unique_ptr<SearchAlgorithm> createExact(bool layers = false);

/// How createPlacement() learns where to put whole operations.
enum class PlacementLearner : uint8_t {
  CrossEntropy,  ///< Gao, Chen, Li, "Post", 2018.
  PolicyGradient ///< Mirhoseini et al., 2017 and 2018.
};
/// A device for each group of operations, nothing split.
std::unique_ptr<SearchAlgorithm> createPlacement(PlacementLearner learner);

/// Several algorithms one after the other, in one budget: each gets an equal
/// share of what those before have left, and the best of what they find is the
/// result. With `last`, they share half of the budget, and what they find are
/// starts of `last`. One that fails counts only if all do.
std::unique_ptr<SearchAlgorithm>
createCombinedSearch(std::string name,
                     std::vector<std::unique_ptr<SearchAlgorithm>> parts,
                     std::unique_ptr<SearchAlgorithm> last = nullptr);

/// An algorithm by its name (searchAlgorithmNames()), or by "best:" and names
/// that are separated by commas: all of them in one budget. `starts`, a list of
/// names or empty: algorithms that find it starts. Null if a name is unknown.
std::unique_ptr<SearchAlgorithm>
createSearchAlgorithm(llvm::StringRef name, llvm::StringRef starts = "");
/// The names, for usage texts.
llvm::ArrayRef<llvm::StringRef> searchAlgorithmNames();

} // namespace soap

#endif // SOAP_SEARCH_SEARCHALGORITHM_H
