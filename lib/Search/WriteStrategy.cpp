//===- WriteStrategy.cpp - Strategies to strategy files -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Strategy.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace soap;
namespace json = llvm::json;

/// The entry of a node, without operands to gather again.
static json::Object toEntry(llvm::StringRef key, llvm::StringRef name,
                            const GraphNode &node,
                            const Configuration &config) {
  json::Object degrees;
  for (auto [loop, degree] : llvm::zip(node.spec.loops, config.degrees.loops))
    if (degree != 1)
      degrees[loop.name] = degree;
  json::Object entry{{key, name},
                     {"degrees", std::move(degrees)},
                     {"devices", json::Array(config.devices)}};
  if (config.degrees.replicate != 1)
    entry["replicate"] = config.degrees.replicate;
  return entry;
}

std::string soap::toJSON(const Strategy &given, const OperatorGraph &graph,
                         const StrategyInfo &info) {
  // What is said of a parameter need not be said of its readers.
  Strategy strategy = given;
  std::vector<bool> regathered;
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    regathered.push_back(isUpdateApart(given, graph, update) &&
                         isRegathered(given, graph, update));
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    if (regathered[update])
      setRegathered(strategy, graph, update, false);
  json::Array ops;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    const Configuration &config = strategy.configs[id];
    if (node.role == NodeRole::Input || node.role == NodeRole::Output)
      continue;
    // Members of groups follow their leaders.
    if (!graph.isLeader(id) && config.regather.empty())
      continue;
    json::Object entry = toEntry("op", node.name, node, config);
    if (!config.regather.empty())
      entry["regather"] = json::Array(config.regather);
    ops.push_back(std::move(entry));
  }
  // Updates that follow their groups go without saying.
  json::Array parameters;
  for (int32_t update = 0; update < graph.numUpdates(); ++update) {
    int32_t id = graph.update(update).front();
    if (!isUpdateApart(strategy, graph, update))
      continue;
    json::Object entry =
        toEntry("parameter", graph.node(graph.parameterOf(update)).name,
                graph.node(id), strategy.configs[id]);
    if (regathered[update])
      entry["regather"] = true;
    parameters.push_back(std::move(entry));
  }
  json::Object root{{"format", "soap-strategy"},
                    {"model_fingerprint", info.fingerprint},
                    {"topology", info.topology},
                    {"simulated_ns", info.simulatedNs},
                    {"seed", static_cast<int64_t>(info.seed)},
                    {"ops", std::move(ops)}};
  if (!parameters.empty())
    root["parameters"] = std::move(parameters);
  if (strategy.bucketBytes > 0)
    root["bucket_bytes"] = strategy.bucketBytes;
  if (!strategy.order.empty()) {
    json::Array order;
    for (int32_t id : strategy.order)
      order.push_back(graph.node(id).name);
    root["order"] = std::move(order);
  } else {
    root["order"] = info.policy.empty() ? "graph" : info.policy;
  }
  return llvm::formatv("{0:2}\n", json::Value(std::move(root))).str();
}
