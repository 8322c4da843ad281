//===- ValuePlans.cpp - From a strategy to the plans of its values --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValuePlans.h"
#include "soap/Partition/Needs.h"
#include "soap/Search/TaskGraph.h"
#include <numeric>

using namespace soap;

Phase soap::phaseOf(const Action &action, const ValuePlan &plan, int32_t host) {
  if (llvm::all_of(action.inputs,
                   [&](const Port &port) { return port.device == host; }))
    return Phase::Feed;
  if (llvm::all_of(action.outputs, [&](int32_t shard) {
        return plan.shards[shard].device == host;
      }))
    return Phase::Drain;
  return Phase::Step;
}

void detail::layoutOf(const OperatorGraph &graph, const Strategy &strategy,
                      int32_t id, Layout &layout) {
  const GraphValue &value = graph.value(id);
  const Configuration &config = strategy.configs[value.producer];
  makeLayout(graph.node(value.producer).spec, value.result, config.degrees,
             config.devices, value.shape, layout);
}

Layout soap::layoutOf(const OperatorGraph &graph, const Strategy &strategy,
                      int32_t id) {
  Layout layout;
  detail::layoutOf(graph, strategy, id, layout);
  return layout;
}

void detail::needOf(const OperatorGraph &graph, const Strategy &strategy,
                    int32_t id, int32_t useIndex, Need &need) {
  const GraphValue &value = graph.value(id);
  const GraphValue::Use &use = value.uses[useIndex];
  const Configuration &config = strategy.configs[use.node];
  const GraphNode &node = graph.node(use.node);
  soap::needOf({node.spec, static_cast<unsigned>(use.operand), config.degrees,
                config.devices,
                llvm::is_contained(config.regather, use.operand),
                node.role == NodeRole::Output, graph.isStored(id)},
               value.shape, need);
}

Need soap::needOf(const OperatorGraph &graph, const Strategy &strategy,
                  int32_t id, int32_t useIndex) {
  Need need;
  detail::needOf(graph, strategy, id, useIndex, need);
  return need;
}

const FlatPlan &detail::ValuePlans::plan(const Strategy &strategy, int32_t id,
                                         llvm::ArrayRef<int32_t> usesInOrder) {
  if (needs_.size() < usesInOrder.size())
    needs_.resize(usesInOrder.size());
  for (auto [index, use] : llvm::enumerate(usesInOrder))
    needOf(graph_, strategy, id, use, needs_[index]);
  layoutOf(graph_, strategy, id, layout_);
  auto route = [&](int32_t from, int32_t to) {
    return topology_.routeCost(from, to);
  };
  return planner_.plan(
      layout_, llvm::ArrayRef<Need>(needs_).take_front(usesInOrder.size()),
      route, topology_.host());
}

/// The uses of a value in launch order, in which the partitioner finds them.
static llvm::SmallVector<int32_t, 4> usesInOrder(const GraphValue &value,
                                                 const Strategy &strategy) {
  llvm::SmallVector<int32_t, 4> uses(value.uses.size());
  std::iota(uses.begin(), uses.end(), 0);
  if (strategy.order.empty() || uses.size() < 2)
    return uses;
  auto position = [&](int32_t use) {
    return llvm::find(strategy.order, value.uses[use].node);
  };
  llvm::stable_sort(
      uses, [&](int32_t a, int32_t b) { return position(a) < position(b); });
  return uses;
}

ValuePlan soap::planOf(const OperatorGraph &graph, const Strategy &strategy,
                       const Topology &topology, int32_t id) {
  return planOf(graph, strategy, topology, id,
                usesInOrder(graph.value(id), strategy));
}

ValuePlan soap::planOf(const OperatorGraph &graph, const Strategy &strategy,
                       const Topology &topology, int32_t id,
                       llvm::ArrayRef<int32_t> uses) {
  ValuePlan plan =
      expand(detail::ValuePlans(graph, topology).plan(strategy, id, uses),
             uses.size());
  if (llvm::is_sorted(uses))
    return plan;
  for (Action &action : plan.actions) {
    for (int32_t &consumer : action.consumers)
      consumer = uses[consumer];
    llvm::sort(action.consumers);
  }
  for (Read &read : plan.reads)
    read.consumer = uses[read.consumer];
  if (!plan.rounds.empty()) {
    llvm::SmallVector<int32_t, 2> rounds(plan.rounds);
    for (auto [consumer, use] : llvm::enumerate(uses))
      plan.rounds[use] = rounds[consumer];
  }
  llvm::stable_sort(plan.reads, [](const Read &a, const Read &b) {
    return a.consumer < b.consumer;
  });
  return plan;
}

bool soap::isWholeShard(llvm::ArrayRef<Piece> pieces, const Box &box,
                        const ValuePlan &plan) {
  return pieces.size() == 1 && pieces[0].box == box &&
         plan.shards[pieces[0].shard].box == box;
}
