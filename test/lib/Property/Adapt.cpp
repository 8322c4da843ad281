//===- Adapt.cpp - Strategies of graphs that shrink -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adapt.h"

using namespace soap;
namespace json = llvm::json;

/// True if the entry is a configuration of this node.
static bool fits(const json::Object &entry, const GraphNode &node,
                 const Topology &topology) {
  Configuration config = onDevice(node, 0);
  if (const json::Object *degrees = entry.getObject("degrees"))
    for (const auto &[name, degree] : *degrees) {
      int loop = node.spec.findLoop(name.str());
      if (loop < 0)
        return false;
      config.degrees.loops[loop] =
          static_cast<int32_t>(degree.getAsInteger().value_or(0));
    }
  config.degrees.replicate =
      static_cast<int32_t>(entry.getInteger("replicate").value_or(1));
  config.devices.clear();
  if (const json::Array *devices = entry.getArray("devices"))
    for (const json::Value &device : *devices)
      config.devices.push_back(
          static_cast<int32_t>(device.getAsInteger().value_or(-1)));
  if (const json::Array *regather = entry.getArray("regather"))
    for (const json::Value &operand : *regather)
      config.regather.push_back(
          static_cast<int32_t>(operand.getAsInteger().value_or(-1)));
  return !llvm::errorToBool(verify(config, node, topology));
}

json::Object property::adaptStrategy(const json::Object &file,
                                     const OperatorGraph &graph,
                                     const Topology &topology) {
  json::Array ops;
  std::vector<bool> named(graph.numNodes());
  if (const json::Array *entries = file.getArray("ops"))
    for (const json::Value &value : *entries) {
      const json::Object *entry = value.getAsObject();
      int32_t id = entry ? graph.find(entry->getString("op").value_or("")) : -1;
      if (id < 0 || named[id] || !fits(*entry, graph.node(id), topology))
        continue;
      named[id] = true;
      ops.push_back(value);
    }
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (!named[id] && graph.node(id).role == NodeRole::Compute)
      ops.push_back(json::Object{{"op", graph.node(id).name},
                                 {"devices", json::Array{0}}});
  return json::Object{{"ops", std::move(ops)}};
}
