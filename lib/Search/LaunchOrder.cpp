//===- LaunchOrder.cpp - Policies that produce a launch order -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimulatorPass.h"
#include <queue>

using namespace soap;
using namespace soap::detail;

std::vector<int32_t> soap::fifoOrder(const OperatorGraph &graph,
                                     const Strategy &strategy,
                                     const Topology &topology,
                                     const CostModel &costs) {
  TaskGraph tasks(graph, topology, costs);
  Strategy unordered = strategy;
  unordered.order.clear();
  tasks.setStrategy(unordered);
  std::vector<int64_t> compute, communication, links, ends, slots, ready;
  std::vector<int32_t> nodeBase, slotBase;
  SimulatorState state{compute, communication, links,    ends,
                       slots,   nodeBase,      slotBase, ready};
  RecordNothing record;
  Pass pass(tasks, state, record);

  // What costs no time and reads nothing stands in front, outputs behind.
  std::vector<int32_t> order;
  std::vector<int32_t> missing(graph.numNodes(), 0);
  using Entry = std::pair<int64_t, int32_t>; // Ready time, node.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<bool> launched(graph.numValues());
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    if (node.role != NodeRole::Compute) {
      if (node.role != NodeRole::Output)
        order.push_back(id);
      continue;
    }
    for (int32_t value : node.operands)
      missing[id] +=
          graph.node(graph.value(value).producer).role == NodeRole::Compute;
    if (missing[id] == 0)
      queue.push({0, id});
  }
  while (!queue.empty()) {
    int32_t id = queue.top().second;
    queue.pop();
    order.push_back(id);
    for (int32_t value : graph.node(id).operands)
      if (graph.node(graph.value(value).producer).role != NodeRole::Compute &&
          !launched[value]) {
        launched[value] = true;
        pass.launchValue(value);
      }
    pass.launchNode(id);
    for (int32_t value : graph.node(id).results) {
      pass.launchValue(value);
      for (const GraphValue::Use &use : graph.value(value).uses)
        if (--missing[use.node] == 0 &&
            graph.node(use.node).role == NodeRole::Compute)
          queue.push({pass.readyTime(use.node), use.node});
    }
  }
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (graph.node(id).role == NodeRole::Output)
      order.push_back(id);
  return order;
}
