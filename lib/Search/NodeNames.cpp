//===- NodeNames.cpp - Orders and hints by name ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/LaunchPolicy.h"
#include "soap/Support/NearestWords.h"
#include "llvm/ADT/STLExtras.h"

using namespace soap;

std::string soap::nearestNodes(llvm::StringRef name,
                               const OperatorGraph &graph) {
  std::vector<llvm::StringRef> names;
  for (const GraphNode &node : graph.nodes())
    names.push_back(node.name);
  return nearestWords(name, names);
}

llvm::Expected<std::vector<int32_t>>
soap::orderOfNames(llvm::ArrayRef<llvm::StringRef> names,
                   const OperatorGraph &graph) {
  std::vector<bool> placed(graph.numNodes());
  std::vector<int32_t> order;
  auto place = [&](auto &&place, int32_t id) -> void {
    if (placed[id])
      return;
    placed[id] = true;
    for (int32_t value : graph.node(id).operands)
      if (int32_t producer = graph.value(value).producer;
          graph.node(producer).role != NodeRole::Compute)
        place(place, producer);
    order.push_back(id);
  };
  std::vector<bool> named(graph.numNodes());
  for (llvm::StringRef name : names) {
    int32_t id = graph.find(name);
    if (id < 0)
      return llvm::createStringError(
          "expected names of nodes in the launch order, got: '" + name + "'" +
          nearestNodes(name, graph));
    if (named[id])
      return llvm::createStringError(
          "expected a launch order that names every node once, got: '" + name +
          "' twice");
    named[id] = true;
    place(place, id);
  }
  std::string missing;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    if (placed[id])
      continue;
    if (graph.node(id).role == NodeRole::Compute)
      missing += "\n  " + graph.node(id).name;
    else
      place(place, id);
  }
  if (!missing.empty())
    return llvm::createStringError(
        "expected a launch order that names every node that computes; add the "
        "missing:" +
        missing);
  keepPorts(order, graph);
  return order;
}

void soap::keepPorts(std::vector<int32_t> &order, const OperatorGraph &graph) {
  auto place = [&](int32_t id) {
    const GraphNode &node = graph.node(id);
    return node.role == NodeRole::Input    ? std::pair(0, id)
           : node.role == NodeRole::Output ? std::pair(3, id)
           : node.writtenOperand >= 0      ? std::pair(2, id)
                                           : std::pair(1, 0);
  };
  llvm::stable_sort(order,
                    [&](int32_t a, int32_t b) { return place(a) < place(b); });
}
