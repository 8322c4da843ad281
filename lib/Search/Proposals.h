//===- Proposals.h - Changes that a search tries ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_PROPOSALS_H
#define SOAP_LIB_SEARCH_PROPOSALS_H

#include "CostTables.h"
#include "Followers.h"
#include "SharedParameters.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/SearchAlgorithm.h"
#include <array>

namespace soap::detail {

struct ProposalContext {
  const OperatorGraph &graph;
  const Topology &topology;
  const ConfigurationSpace &space;
  /// What other chains have.
  llvm::ArrayRef<const Strategy *> others = {};
};

/// What has changed in a strategy.
struct Edit {
  llvm::SmallVector<int32_t, 32> nodes;        ///< Each once, in turn.
  llvm::SmallVector<Configuration, 16> before; ///< What each of them had.

  void add(int32_t node, Configuration config) {
    nodes.push_back(node);
    before.push_back(std::move(config));
  }
  void clear() {
    nodes.clear();
    before.clear();
  }
  /// Gives the nodes of `strategy` back what they had.
  void takeBack(Strategy &strategy) {
    for (auto [node, config] : llvm::zip_equal(nodes, before))
      strategy.configs[node] = std::move(config);
    clear();
  }
};

/// Which groups of a graph are alike: the leaders have the same loops, accesses
/// and shapes. Repeated blocks of a network have such groups in the same order.
class RepeatedGroups {
public:
  RepeatedGroups(const OperatorGraph &graph, const ConfigurationSpace &space);
  /// The places in space.groups() of the groups that are alike the one at
  /// `index`, itself included, ascending.
  llvm::ArrayRef<int32_t> alike(size_t index) const {
    return members_[classOf_[index]];
  }
  bool areAlike(size_t a, size_t b) const { return classOf_[a] == classOf_[b]; }

private:
  std::vector<int32_t> classOf_;
  std::vector<llvm::SmallVector<int32_t, 4>> members_;
};

/// What proposals know of a graph on a part of a machine.
struct ProposalTables {
  RepeatedGroups repeated;
  Followers followers;
  SharedParameters shared;
  /// Per node, what it takes if it is not split, on the device that is fastest.
  std::vector<int64_t> nodeNs;
  /// Per node: leadersAlone().
  std::vector<bool> isAlone;
  /// Costs of operations and pairs, or null.
  std::unique_ptr<CostTables> sums;

  ProposalTables(const SearchProblem &problem, const ConfigurationSpace &space);
};

/// How long it takes to decide on a change of so many nodes of a graph, about,
/// in proposals of the paper. It must not depend on what a chain remembers of
/// earlier proposals: one that goes on from a file has forgotten it.
double workOf(size_t numChanged, const OperatorGraph &graph);

/// Draws kinds of proposals. Weights follow what was gained, as far as it is
/// told; they are a function of these numbers alone.
class ProposalMix {
public:
  /// From far away, stretches gain most: they come more often at first. Kinds
  /// that can change nothing of the graph never come.
  explicit ProposalMix(const OperatorGraph &graph);
  /// Only one kind.
  explicit ProposalMix(ProposalKind only);
  ProposalKind draw(Random &random) const;
  /// `work` is how long deciding on it took, about: workOf().
  void count(ProposalKind kind, double work, double gain) {
    Tally &tally = tallies_[static_cast<size_t>(kind)];
    tally.work += work;
    tally.gain += gain;
  }
  /// Sets weights by what was counted so far, and halves what was counted.
  void adapt();

  struct Tally {
    double work = 0;
    double gain = 0; ///< Sum of the relative improvements of the best step.
  };
  std::array<double, numProposalKinds> weights() const { return weights_; }
  std::array<Tally, numProposalKinds> tallies() const { return tallies_; }
  void restore(const std::array<double, numProposalKinds> &weights,
               const std::array<Tally, numProposalKinds> &tallies) {
    weights_ = weights;
    tallies_ = tallies;
  }

private:
  /// A proposal of kind Sums counts as so many.
  static constexpr double sumsCost = 8;

  std::array<bool, numProposalKinds> isPossible_;
  std::array<double, numProposalKinds> weights_;
  std::array<Tally, numProposalKinds> tallies_{};
};

/// Changes `strategy` by a proposal of a kind, and records that in `edit`.
/// False if the draw came out as what is there already. Parameters and
/// constants stay where they are: deriveEnds() is due.
bool drawProposal(const ProposalContext &context, const ProposalTables &tables,
                  ProposalKind kind, Strategy &strategy, Random &random,
                  Edit &edit);

/// Moves parameters and constants with the nodes in `edit` that read them, and
/// records those that have moved.
void deriveEnds(const ProposalContext &context, Strategy &strategy, Edit &edit);

/// Both: ends of the graph are included.
bool propose(const ProposalContext &context, const ProposalTables &tables,
             ProposalKind kind, Strategy &strategy, Random &random, Edit &edit);

/// Gives one group a configuration, ends of the graph included. False if it has
/// it already.
bool change(const ProposalContext &context, Strategy &strategy, int32_t group,
            const Configuration &config, Edit &edit);

/// Groups that produce or consume values of a group, each once.
llvm::SmallVector<int32_t, 8> neighbours(const OperatorGraph &graph,
                                         int32_t group);

/// Makes a strategy simpler where that does not make it slower: group by group,
/// a neighbour's configuration, the main operand's place or one device is taken
/// if the step time, then the bytes moved, then the time computed get smaller.
/// Ends early if `stop` says so.
void simplify(const ProposalContext &context, TaskGraph &tasks,
              Strategy &strategy, llvm::function_ref<bool()> stop);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_PROPOSALS_H
