//===- PlacementBlocks.cpp - Operations that are placed together ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementBlocks.h"
#include "DegreesCosts.h"
#include "Followers.h"
#include "soap/Search/ConfigurationSpace.h"
#include <numeric>

using namespace soap;
using namespace soap::detail;

/// Work of each group on one device of the fastest kind, in nanoseconds.
static std::vector<int64_t> groupCosts(const SearchProblem &problem) {
  std::vector<int64_t> work(problem.graph.numGroups(), 0);
  for (auto [id, costs] : llvm::enumerate(nodeCosts(problem)))
    if (const GraphNode &node = problem.graph.node(static_cast<int32_t>(id));
        node.role == NodeRole::Compute)
      work[node.group] += *llvm::min_element(costs);
  return work;
}

/// The only group whose results the leader of `group` reads, weights and what
/// prepares them aside; -1 if there is none or another one.
static int32_t onlyProducer(const OperatorGraph &graph,
                            const Followers &followers, int32_t group) {
  int32_t only = -1;
  for (int32_t value : graph.node(graph.group(group).front()).operands) {
    int32_t producer = graph.value(value).producer;
    const GraphNode &node = graph.node(producer);
    if (node.role != NodeRole::Compute || followers.isPreparation(producer) ||
        node.group == only)
      continue;
    if (only >= 0)
      return -1;
    only = node.group;
  }
  return only;
}

/// True if nobody but `reader` reads what the leader of `group` makes.
static bool isOnlyReader(const OperatorGraph &graph, int32_t group,
                         int32_t reader) {
  return llvm::all_of(
      graph.node(graph.group(group).front()).results, [&](int32_t value) {
        return llvm::all_of(
            graph.value(value).uses, [&](const GraphValue::Use &use) {
              const GraphNode &node = graph.node(use.node);
              return node.role == NodeRole::Compute &&
                     (node.group == group || node.group == reader);
            });
      });
}

PlacementBlocks::PlacementBlocks(const SearchProblem &problem)
    : blockOf_(problem.graph.numGroups(), -1) {
  const OperatorGraph &graph = problem.graph;
  Followers followers(graph);
  std::vector<int64_t> work = groupCosts(problem), workOf;
  int64_t most = std::accumulate(work.begin(), work.end(), int64_t(0)) /
                 (4 * problem.topology.numDevices());
  std::vector<int32_t> preparations;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    int32_t group = graph.node(id).group;
    if (graph.node(id).role != NodeRole::Compute || !graph.isLeader(id))
      continue;
    if (followers.isPreparation(id)) {
      preparations.push_back(id);
      continue;
    }
    int32_t block = -1;
    if (int32_t operand = mainOperand(graph, id);
        operand >= 0 && followers.isLight(id))
      block = blockOf_
          [graph.node(graph.value(graph.node(id).operands[operand]).producer)
               .group];
    else if (int32_t producer = onlyProducer(graph, followers, group);
             producer >= 0 && isOnlyReader(graph, producer, group) &&
             blockOf_[producer] >= 0 &&
             workOf[blockOf_[producer]] + work[group] <= most)
      block = blockOf_[producer];
    if (block < 0) {
      block = static_cast<int32_t>(workOf.size());
      workOf.push_back(0);
    }
    blockOf_[group] = block;
    workOf[block] += work[group];
  }
  // From the last one on: what prepares something may read another one.
  for (int32_t id : llvm::reverse(preparations)) {
    int32_t &block = blockOf_[graph.node(id).group];
    for (int32_t value : graph.node(id).results)
      for (const GraphValue::Use &use : graph.value(value).uses)
        if (graph.node(use.node).role == NodeRole::Compute && block < 0)
          block = blockOf_[graph.node(use.node).group];
    if (block < 0) {
      block = static_cast<int32_t>(workOf.size());
      workOf.push_back(0);
    }
  }
  numBlocks_ = workOf.size();
}
