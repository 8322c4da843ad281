//===- Followers.cpp - Operations that stay with others -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Followers.h"
#include "Change.h"
#include "Placement.h"

using namespace soap;
using namespace soap::detail;

Followers::Followers(const OperatorGraph &graph) {
  for (auto [id, node] : llvm::enumerate(graph.nodes())) {
    bool computes = node.role == NodeRole::Compute;
    auto isKnownBefore = [&](int32_t value) {
      int32_t producer = graph.value(value).producer;
      NodeRole role = graph.node(producer).role;
      return role == NodeRole::Parameter || role == NodeRole::Constant ||
             isPreparation_[producer];
    };
    isPreparation_.push_back(computes &&
                             llvm::all_of(node.operands, isKnownBefore));
    bool isLight = computes && !isPreparation_.back() &&
                   weightOperands(graph, static_cast<int32_t>(id)).empty();
    for (size_t loop = 0; isLight && loop < node.spec.loops.size(); ++loop)
      isLight = !node.spec.isReduction(loop);
    isLight_.push_back(isLight);
  }
}

void Followers::followProducers(Change &change) const {
  const OperatorGraph &graph = change.graph();
  // Those that follow are changed nodes as well.
  for (size_t i = 0; i < change.changed().size(); ++i)
    for (int32_t value : graph.node(change.changed()[i]).results)
      for (const GraphValue::Use &use : graph.value(value).uses) {
        int32_t group = graph.node(use.node).group;
        if (isLight_[use.node] && graph.isLeader(use.node) &&
            !change.isChanged(group) &&
            change.space().mainOperandOf(use.node) == use.operand)
          change.followMain(group);
      }
}

void Followers::followReaders(Change &change) const {
  const OperatorGraph &graph = change.graph();
  // Those that follow are read by changed nodes, and may read what prepares
  // something for them.
  llvm::SmallVector<int32_t, 16> producers;
  for (size_t begin = 0, end; begin < change.changed().size(); begin = end) {
    end = change.changed().size();
    producers.clear();
    for (int32_t node : change.changed().slice(begin))
      for (int32_t value : graph.node(node).operands)
        if (int32_t producer = graph.value(value).producer;
            isPreparation_[producer] && graph.isLeader(producer))
          producers.push_back(producer);
    llvm::sort(producers);
    producers.erase(std::unique(producers.begin(), producers.end()),
                    producers.end());
    for (int32_t producer : producers) {
      int32_t group = graph.node(producer).group;
      if (change.isChanged(group))
        continue;
      Configuration config = placeWhereRead(graph, change.strategy(), producer);
      if (change.allows(group, config))
        change.set(group, config);
    }
  }
}
