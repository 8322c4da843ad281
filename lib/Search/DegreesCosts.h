//===- DegreesCosts.h - Costs of the tasks of a node ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_DEGREESCOSTS_H
#define SOAP_LIB_SEARCH_DEGREESCOSTS_H

#include "Hashing.h"
#include "soap/CostModel/CostModel.h"
#include "soap/Search/OperatorGraph.h"
#include "soap/Search/SearchProblem.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <shared_mutex>
#include <vector>

namespace soap::detail {

/// Costs of the tasks of a compute node under some degrees, wherever they run.
/// Tasks with tiles of the same extents cost the same: they are one class, and
/// the cost of its first task holds for all.
struct DegreesCost {
  std::vector<int32_t> classOf;         ///< Per task.
  std::vector<std::vector<int64_t>> ns; ///< [class][device kind].
};

/// What a node that follows another one (GraphNode::followedOperand) costs.
enum class FollowerCost : uint8_t {
  Joined, ///< Nothing: it is part of the other one's kernel.
  Apart   ///< As much as a kernel of its own.
};

DegreesCost degreesCost(const SearchProblem &problem, int32_t node,
                        const Degrees &degrees,
                        FollowerCost follower = FollowerCost::Joined);

/// What nodes cost that are not split, [node][kind of device]; 0 for nodes that
/// do not compute.
std::vector<std::vector<int64_t>> nodeCosts(const SearchProblem &problem);

/// The text of all that the costs of a compute node follow from: its kernel,
/// its loops with their kinds, and how it reads and writes. Empty if the kernel
/// has no key, so that nothing can be said.
std::string describeCosts(const OperatorGraph &graph, int32_t node);

/// The costs of all nodes, each asked for once per degrees. Nodes of repeated
/// blocks, which have the same description, share them. Thread-safe.
class DegreesCosts {
public:
  explicit DegreesCosts(const SearchProblem &problem)
      : problem_(problem), classOf_(problem.graph.numNodes(), -1),
        entries_(problem.graph.numNodes()), apart_(problem.graph.numNodes()),
        lastTasks_(problem.graph.numNodes()) {}
  const DegreesCost &of(int32_t node, const Degrees &degrees);
  /// Of a node that follows another one: what it costs as a kernel of its own.
  const DegreesCost &ofApart(int32_t node, const Degrees &degrees);
  /// What the last task of a node costs, by kind of device: tiles are cut so
  /// that none is larger. A fraction of the effort of of().
  llvm::ArrayRef<int64_t> ofLastTask(int32_t node, const Degrees &degrees);

  /// The class of nodes with which a compute node shares its costs.
  int32_t classOf(int32_t node);

private:
  SearchProblem problem_;
  std::shared_mutex mutex_;
  llvm::StringMap<int32_t> classes_;
  int32_t numClasses_ = 0;
  std::vector<int32_t> classOf_; ///< Per node; -1: not known yet.
  /// @{ Per class.
  using Entries = llvm::DenseMap<Key, std::unique_ptr<const DegreesCost>>;
  std::vector<Entries> entries_, apart_;
  /// @}
  std::vector<llvm::DenseMap<Key, std::unique_ptr<const std::vector<int64_t>>>>
      lastTasks_; ///< Per class.
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_DEGREESCOSTS_H
