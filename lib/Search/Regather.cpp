//===- Regather.cpp - Parameters that are gathered again ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Strategy.h"

using namespace soap;
using llvm::SmallVector;

/// True if a node between two others reads a parameter other than `parameter`
/// that is updated.
static bool readOthers(const OperatorGraph &graph, int32_t begin, int32_t end,
                       int32_t parameter) {
  for (int32_t node = begin + 1; node < end; ++node)
    for (int32_t value : graph.node(node).operands) {
      const GraphNode &producer = graph.node(graph.value(value).producer);
      if (producer.role == NodeRole::Parameter &&
          graph.value(value).producer != parameter && graph.findWrite(value))
        return true;
    }
  return false;
}

SmallVector<GraphValue::Use, 2> soap::laterReaders(const OperatorGraph &graph,
                                                   int32_t update) {
  SmallVector<GraphValue::Use, 2> later;
  int32_t parameter = graph.parameterOf(update), last = -1;
  for (const GraphValue::Use &use :
       graph.value(graph.valueOf(parameter)).uses) {
    const GraphNode &reader = graph.node(use.node);
    if (reader.role != NodeRole::Compute || reader.update >= 0)
      continue;
    if (last >= 0 && readOthers(graph, last, use.node, parameter))
      later.push_back(use);
    last = use.node;
  }
  return later;
}

/// All that gather a parameter if it is regathered: the first reader, too.
static SmallVector<GraphValue::Use, 2>
gatheringReaders(const OperatorGraph &graph, int32_t update) {
  SmallVector<GraphValue::Use, 2> readers = laterReaders(graph, update);
  for (const GraphValue::Use &use :
       graph.value(graph.valueOf(graph.parameterOf(update))).uses)
    if (const GraphNode &reader = graph.node(use.node);
        reader.role == NodeRole::Compute && reader.update < 0) {
      readers.insert(readers.begin(), use);
      break;
    }
  return readers;
}

void soap::setRegathered(Strategy &strategy, const OperatorGraph &graph,
                         int32_t update, bool isRegathered) {
  for (const GraphValue::Use &use : gatheringReaders(graph, update)) {
    auto &operands = strategy.configs[use.node].regather;
    auto *place = llvm::lower_bound(operands, use.operand);
    bool marked = place != operands.end() && *place == use.operand;
    if (isRegathered && !marked)
      operands.insert(place, use.operand);
    else if (!isRegathered && marked)
      operands.erase(place);
  }
}

bool soap::isRegathered(const Strategy &strategy, const OperatorGraph &graph,
                        int32_t update) {
  SmallVector<GraphValue::Use, 2> readers = gatheringReaders(graph, update);
  auto gathers = [&](const GraphValue::Use &use) {
    return llvm::is_contained(strategy.configs[use.node].regather, use.operand);
  };
  return !readers.empty() && llvm::all_of(readers, gathers);
}
