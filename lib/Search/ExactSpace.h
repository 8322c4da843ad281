//===- ExactSpace.h - What an exact search chooses from ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_EXACTSPACE_H
#define SOAP_LIB_SEARCH_EXACTSPACE_H

#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/TaskGraph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap::detail {

/// The choices of every group: all configurations where a group has at most
/// `mostOfGroup`, else all degrees on devices that follow each other, from any
/// device on. And what they take at least, for lower bounds.
class ExactSpace {
public:
  static constexpr double mostOfGroup = 500;

  ExactSpace(const SearchProblem &problem, int32_t maxTasks);

  llvm::ArrayRef<int32_t> groups() const { return space_.groups(); }
  llvm::ArrayRef<Configuration> choices(int32_t group) const {
    return choices_[group];
  }
  const ConfigurationSpace &configurations() const { return space_; }
  /// The number of strategies.
  double size() const;
  /// Pairs of choices of operations that read each other's results: prepare()
  /// looks at all of them.
  static constexpr double mostPairs = 5e7;
  double numPairs() const;
  /// The place of a configuration among the choices of a group, or -1.
  int32_t find(int32_t group, const Configuration &config) const;
  /// Gives a group a choice; nodes whose configuration is new are appended.
  void assign(Strategy &strategy, int32_t group, int32_t choice,
              llvm::SmallVectorImpl<int32_t> &changed) const;

  /// Finds the tables below; false if `stop` ended that.
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
    /// [choice of `from`][choice of `to`]: how long after `from` has ended `to`
    /// ends at the earliest; -1: it may end before.
    std::vector<int64_t> delays;
  };
  llvm::ArrayRef<Edge> edges() const { return edges_; }
  llvm::ArrayRef<int32_t> edgesInto(int32_t node) const {
    return tables_[node].inputs;
  }
  int64_t delay(const Edge &edge, int32_t from, int32_t to) const {
    return edge.delays[from * numChoices(edge.to) + to];
  }
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
  void describe(int32_t node);
  void addEdge(int32_t node, int32_t operand);
  int64_t delayOf(int32_t value, int32_t operand, int32_t reader, int32_t from,
                  int32_t to) const;

  const SearchProblem &problem_;
  ConfigurationSpace space_;
  int64_t leastLatencyNs_ = 0;
  std::vector<std::vector<Configuration>> choices_; ///< Per group.
  std::vector<NodeTable> tables_;                   ///< Per node.
  std::vector<Edge> edges_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_EXACTSPACE_H
