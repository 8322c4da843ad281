//===- DeltaComparison.h - Delta held against full --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the test of the delta simulator and by the benchmark that repeats
// it on real networks.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_SEARCH_DELTACOMPARISON_H
#define SOAP_UNITTESTS_SEARCH_DELTACOMPARISON_H

#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/DeltaSimulator.h"
#include "soap/Search/Simulator.h"

namespace soap::test {

/// Random changes of a strategy: one op, or a stretch of several with one
/// placement; parameters follow or, now and then, go to places of their own.
class RandomChanges {
public:
  RandomChanges(const OperatorGraph &graph, const Topology &topology,
                Strategy start)
      : graph_(graph), topology_(topology), space_(graph, topology),
        strategy_(std::move(start)) {}

  const Strategy &strategy() const { return strategy_; }
  size_t numGroups() const { return space_.groups().size(); }
  /// Changes the strategy. Returns the nodes with another configuration, each
  /// once.
  llvm::ArrayRef<int32_t> change(Random &random);
  /// Takes the last change back.
  void undo();

private:
  void changeUpdate(Random &random);
  void changeRegather(Random &random);

  const OperatorGraph &graph_;
  const Topology &topology_;
  ConfigurationSpace space_;
  Strategy strategy_;
  llvm::SmallVector<int32_t, 32> changed_;
  llvm::SmallVector<std::pair<int32_t, Configuration>, 32> before_;
};

/// Where `proposals` random changes of `start` lead if none that makes the step
/// longer is accepted: a strategy that few changes make better. Deltas and
/// bounds decide.
Strategy converge(const OperatorGraph &graph, const Topology &topology,
                  const CostModel &costs, Strategy start, uint64_t seed,
                  uint64_t proposals);

/// A walk through strategies. Every proposal is bounded, simulated by delta and
/// simulated in full; some are accepted, the others undone.
class DeltaComparison {
public:
  struct Options {
    /// The times of all nodes are compared after one in so many proposals that
    /// are compared in full.
    uint64_t allTimesEvery = 4;
    /// How many more proposals follow each, of which only the bound is
    /// compared, with the delta simulation of the plans.
    uint64_t boundsPerProposal = 0;
    /// How much longer a step may become on average, as a share of it. 0: a
    /// twentieth or a four-hundredth, drawn for each proposal.
    double temperature = 0;
  };
  struct Tally {
    uint64_t proposals = 0, accepted = 0;
    uint64_t simulations = 0, positions = 0; ///< Of the delta simulator,
    uint64_t allPositions = 0; ///< and what full simulations would go through.
    uint64_t bounds = 0;       ///< Compared with the exact step,
    uint64_t boundsThatRejected = 0; ///< and above the threshold.
    uint64_t limits = 0;             ///< Simulations that ended at their limit,
    uint64_t tails = 0;              ///< and those that tails ended.
    uint64_t allTimes = 0;           ///< Comparisons of all times.
    uint64_t snapshotBytes = 0;      ///< Of the delta simulator, at most.

    void add(const Tally &other);
    void print() const;
  };

  DeltaComparison(const OperatorGraph &graph, const Topology &topology,
                  const CostModel &costs, Strategy start, uint64_t seed,
                  const Options &options);
  /// Walks on until `proposals` more have been compared in full. Returns the
  /// first difference, or an empty string.
  std::string run(uint64_t proposals);
  const Tally &tally() const { return tally_; }

private:
  int64_t planTrial();
  std::string propose(uint64_t step, bool full, bool allTimes);
  std::string compareTrial(bool exact, int64_t bound, int64_t threshold,
                           int64_t &step);
  std::string compareTimes() const;
  std::string explainBound(const Strategy &after,
                           llvm::ArrayRef<int32_t> changed) const;

  const OperatorGraph &graph_;
  RandomChanges changes_;
  uint64_t seed_, step_ = 0;
  Options options_;
  TaskGraph tasks_;
  DeltaSimulator delta_;
  FullSimulator full_;
  /// Parameters are proposed behind plans; those that changed.
  bool endsFollow_ = false;
  /// Plans are made when a simulation asks for them.
  bool plansOnDemand_ = false;
  llvm::SmallVector<int32_t, 32> ends_;
  Tally tally_;
};

} // namespace soap::test

#endif // SOAP_UNITTESTS_SEARCH_DELTACOMPARISON_H
