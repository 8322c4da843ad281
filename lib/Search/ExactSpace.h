//===- ExactSpace.h - What an exact search chooses from ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_EXACTSPACE_H
#define SOAP_LIB_SEARCH_EXACTSPACE_H

#include "MoveTimes.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/TaskGraph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap::detail {

/// Which groups of operations have choices of their own.
enum class ExactChoices : uint8_t {
  Operations, ///< All groups.
  /// Operations without weights that reduce nothing stay with what makes their
  /// main operand, as they belong to its layer: they follow it.
  Layers
};

/// The choices of every group: all configurations where a group has at most
/// `mostOfGroup`, else all degrees on devices that follow each other, from any
/// device on. And what they take at least, for lower bounds.
class ExactSpace {
public:
  static constexpr double mostOfGroup = 500;

  ExactSpace(const SearchProblem &problem, int32_t maxTasks,
             ExactChoices whose = ExactChoices::Operations);

  /// Those that have choices of their own.
  llvm::ArrayRef<int32_t> groups() const { return groups_; }
  /// The group whose choice decides about a compute node.
  int32_t ownerOf(int32_t node) const {
    return owners_[problem_.graph.node(node).group];
  }
  /// Of a group that follows, as many as of its owner.
  llvm::ArrayRef<Configuration> choices(int32_t group) const {
    return choices_[group];
  }
  const ConfigurationSpace &configurations() const { return space_; }
  /// The number of strategies.
  double size() const;
  /// Pairs of choices of operations that read each other's results: prepare()
  /// looks at all of them. With more than `mostPairs` the space has no choices.
  static constexpr double mostPairs = 5e7;
  double numPairs() const;
  /// The place of a configuration among the choices of a group, or -1.
  int32_t find(int32_t group, const Configuration &config) const;
  bool contains(const Strategy &strategy) const;
  /// The groups that a choice decides about: the group, then its followers in
  /// the order of the graph.
  llvm::ArrayRef<int32_t> followers(int32_t group) const {
    return followers_[group];
  }
  /// Gives a group and its followers a choice; nodes whose configuration is new
  /// are appended.
  void assign(Strategy &strategy, int32_t group, int32_t choice,
              llvm::SmallVectorImpl<int32_t> &changed) const;

  /// Finds the tables below; false if `stop` ended that. Pairs of choices are
  /// planned where that may make a bound longer.
  bool prepare(llvm::function_ref<bool()> stop);
  /// @{ Of a compute node, when its group has the choice: the sum of its tasks
  /// on the devices that it names, per device; and the work of all together.
  llvm::ArrayRef<std::pair<int32_t, int64_t>> loads(int32_t node,
                                                    int32_t choice) const {
    return tables_[node].loads[choice];
  }
  int64_t workNs(int32_t node, int32_t choice) const {
    return tables_[node].workNs[choice];
  }
  int64_t leastWorkNs(int32_t node) const { return tables_[node].leastWorkNs; }
  /// @}
  /// The tiles of a node end when the first of the copies of the last tile
  /// does. Per tile, the devices of its copies.
  llvm::ArrayRef<llvm::SmallVector<int32_t, 4>> tiles(int32_t node,
                                                      int32_t choice) const {
    return tables_[node].tiles[choice];
  }
  /// A node that reads results of another one.
  struct Edge {
    int32_t from, to;
    int32_t value, operand;
    /// [choice of `from`][choice of `to`]: how long after `from` has ended `to`
    /// ends at the earliest; -1: it may end before.
    std::vector<int64_t> delays;
    /// Per pair: the plan was looked at. Empty: no plan says more.
    std::vector<bool> isPlanned;
    /// Layouts by choice of `from`, needs by choice of `to`.
    std::vector<Layout> layouts;
    std::vector<Need> needs;
  };
  llvm::ArrayRef<Edge> edges() const { return edges_; }
  llvm::ArrayRef<int32_t> edgesInto(int32_t node) const {
    return tables_[node].inputs;
  }
  int64_t delay(const Edge &edge, int32_t from, int32_t to) const {
    return edge.delays[from * numChoices(edge.to) + to];
  }
  /// The same by the plan of the pair, which is made if it is not there yet.
  int64_t plannedDelay(int32_t edge, int32_t from, int32_t to);
  /// The step ends no earlier than so long after the node has ended.
  int64_t tailNs(int32_t node, int32_t choice) const {
    return tables_[node].tails[choice];
  }
  size_t numChoices(int32_t node) const {
    return choices_[problem_.graph.node(node).group].size();
  }

private:
  struct NodeTable {
    std::vector<Configuration> configs; ///< Per choice, of this node.
    std::vector<llvm::SmallVector<std::pair<int32_t, int64_t>, 4>> loads;
    std::vector<int64_t> workNs, tails;
    std::vector<std::vector<llvm::SmallVector<int32_t, 4>>> tiles;
    std::vector<std::vector<int64_t>> tileNs; ///< Of the fastest copy.
    int64_t leastWorkNs = 0;
    llvm::SmallVector<int32_t, 4> inputs; ///< Edges.
  };
  void addFollowers();
  void describe(int32_t node);
  bool addEdge(int32_t node, int32_t operand, llvm::function_ref<bool()> stop);
  int64_t delayOf(int32_t value, int32_t operand, int32_t reader, int32_t from,
                  int32_t to) const;
  void addPlaces(Edge &edge) const;
  int64_t plannedDelayOf(const Edge &edge, int32_t from, int32_t to);
  int64_t leastBehind(int32_t edge, int32_t from);

  const SearchProblem &problem_;
  ConfigurationSpace space_;
  MoveTimes moves_;
  int64_t leastLatencyNs_ = 0;
  std::vector<int32_t> groups_;
  std::vector<int32_t> owners_;                     ///< Per group.
  std::vector<std::vector<int32_t>> followers_;     ///< Per group that owns.
  std::vector<double> counts_;                      ///< Of choices, per group.
  std::vector<std::vector<Configuration>> choices_; ///< Per group.
  std::vector<NodeTable> tables_;                   ///< Per node.
  std::vector<Edge> edges_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_EXACTSPACE_H
