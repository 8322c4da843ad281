//===- ValueClasses.cpp - Values that are planned alike -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueClasses.h"
#include "DegreesCosts.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/STLExtras.h"

using namespace soap;
using namespace soap::detail;

static void add(KeyBuilder &builder, const ValueAccess &access) {
  builder.add(static_cast<int64_t>(access.combine));
  builder.add(access.firstOnly);
  builder.add(access.unreduced);
  builder.add(static_cast<int64_t>(access.dims.size()));
  for (const DimAccess &dim : access.dims)
    for (int64_t number :
         {static_cast<int64_t>(dim.loop), dim.mul, dim.lo, dim.hi, dim.div})
      builder.add(number);
}

/// Extents of loops, and which are reductions of the first result.
static void add(KeyBuilder &builder, const PartitionSpec &spec) {
  builder.add(static_cast<int64_t>(spec.loops.size()));
  for (auto [index, loop] : llvm::enumerate(spec.loops)) {
    builder.add(loop.extent);
    builder.add(!spec.results.empty() && spec.isReduction(index));
  }
}

/// A number for what a node costs that is equal where the costs are.
static int64_t costsOf(const OperatorGraph &graph, int32_t id) {
  std::string text = describeCosts(graph, id);
  return text.empty() ? id : static_cast<int64_t>(llvm::xxh3_64bits(text));
}

std::vector<Key> detail::classesOfValues(const OperatorGraph &graph) {
  std::vector<Key> classes;
  for (const GraphValue &value : graph.values()) {
    KeyBuilder builder;
    builder.addAll(llvm::ArrayRef<int64_t>(value.shape));
    if (!SOAP_FAULT("plans-shared-by-size"))
      builder.add(value.elementBytes);
    const GraphNode &producer = graph.node(value.producer);
    builder.add(static_cast<int64_t>(producer.role));
    builder.add(producer.isFixed);
    add(builder, producer.spec);
    add(builder, producer.spec.results[value.result]);
    for (const GraphValue::Use &use : value.uses) {
      const GraphNode &reader = graph.node(use.node);
      builder.add(static_cast<int64_t>(reader.role));
      // A node that reads the value twice copies it once. `regather` names
      // operands by their numbers.
      builder.add(use.operand);
      builder.add(llvm::find_if(value.uses,
                                [&](const GraphValue::Use &other) {
                                  return other.node == use.node;
                                }) -
                  value.uses.begin());
      add(builder, reader.spec);
      add(builder, reader.spec.operands[use.operand]);
      if (reader.followedOperand == use.operand &&
          !SOAP_FAULT("followers-share-plans"))
        builder.add(costsOf(graph, use.node));
    }
    classes.push_back(builder.key());
  }
  return classes;
}

Key detail::classOfNode(const OperatorGraph &graph, int32_t id) {
  const GraphNode &node = graph.node(id);
  KeyBuilder builder;
  builder.add(static_cast<int64_t>(llvm::xxh3_64bits(node.op)));
  add(builder, node.spec);
  auto addValues = [&](llvm::ArrayRef<int32_t> values,
                       llvm::ArrayRef<ValueAccess> accesses) {
    for (auto [value, access] : llvm::zip_equal(values, accesses)) {
      builder.addAll(llvm::ArrayRef<int64_t>(graph.value(value).shape));
      add(builder, access);
    }
  };
  addValues(node.operands, node.spec.operands);
  addValues(node.results, node.spec.results);
  return builder.key();
}
