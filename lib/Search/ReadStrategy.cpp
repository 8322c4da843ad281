//===- ReadStrategy.cpp - Strategies from strategy files ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrategyEntries.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Support/JSON.h"
#include "soap/Support/NearestWords.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace soap;
using namespace soap::detail;
namespace json = llvm::json;

static llvm::Expected<json::Object> parseRoot(llvm::StringRef text) {
  llvm::Expected<json::Value> value = parseJSON(text, "a strategy");
  if (!value)
    return value.takeError();
  json::Object *root = value->getAsObject();
  if (!root || !root->getArray("ops"))
    return llvm::createStringError(
        "expected a strategy: a JSON object with an array 'ops', as "
        "--export-strategy writes");
  if (llvm::Error error = checkKeys(
          *root, {"format", "model_fingerprint", "topology", "simulated_ns",
                  "seed", "order", "bucket_bytes", "ops", "parameters"}))
    return llvm::createStringError("a strategy: " + toString(std::move(error)));
  if (const json::Value *parameters = root->get("parameters");
      parameters && !parameters->getAsArray())
    return llvm::createStringError(
        "a strategy: expected 'parameters' to be an array, got: " +
        textOf(parameters));
  if (const json::Value *format = root->get("format");
      format && format->getAsString() != "soap-strategy")
    return llvm::createStringError(
        "expected a strategy with the 'format' \"soap-strategy\", got: " +
        llvm::formatv("{0}", *format).str());
  for (llvm::StringRef key : {"model_fingerprint", "topology"})
    if (const json::Value *text = root->get(key); text && !text->getAsString())
      return llvm::createStringError("a strategy: expected a text '" + key +
                                     "', got: " + textOf(text));
  return std::move(*root);
}

namespace {
class StrategyReader {
public:
  StrategyReader(const OperatorGraph &graph, const Topology &topology)
      : graph_(graph), topology_(topology), entries_(graph, topology) {}

  llvm::Expected<Strategy> read(const json::Object &root) {
    strategy_.configs.resize(graph_.numNodes());
    named_.assign(graph_.numNodes(), false);
    for (auto [index, element] : llvm::enumerate(*root.getArray("ops")))
      if (llvm::Error error = readEntry(element, index))
        return std::move(error);
    if (const json::Array *parameters = root.getArray("parameters"))
      for (auto [index, element] : llvm::enumerate(*parameters))
        if (llvm::Error error = readParameter(element, index))
          return std::move(error);
    if (llvm::Error error = completeEnds())
      return std::move(error);
    if (llvm::Error error = verify(strategy_, graph_, topology_))
      return std::move(error);
    return std::move(strategy_);
  }

  /// A list of nodes.
  llvm::Error readOrder(const json::Array &list, Strategy &strategy) {
    std::vector<llvm::StringRef> names;
    for (const json::Value &name : list) {
      std::optional<llvm::StringRef> text = name.getAsString();
      if (!text)
        return llvm::createStringError(
            "expected names of nodes in 'order', got: " +
            llvm::formatv("{0}", name).str());
      names.push_back(*text);
    }
    llvm::Expected<std::vector<int32_t>> order = orderOfNames(names, graph_);
    if (!order)
      return order.takeError();
    strategy.order = std::move(*order);
    return verify(strategy, graph_, topology_);
  }

private:
  bool isOnHost(int32_t id) const {
    NodeRole role = graph_.node(id).role;
    return role == NodeRole::Input || role == NodeRole::Output;
  }

  /// Nodes that an entry's `op` means. A regular expression leaves out inputs
  /// and outputs unless the entry is about the host, and members of groups.
  llvm::Expected<llvm::SmallVector<int32_t>>
  nodesCalled(llvm::StringRef name, bool onHost, const std::string &where) {
    if (int32_t id = graph_.find(name); id >= 0)
      return llvm::SmallVector<int32_t>{id};
    llvm::Expected<llvm::Regex> regex = wholeNames(name, "a node", where);
    if (!regex)
      return regex.takeError();
    llvm::SmallVector<int32_t> result;
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (graph_.isLeader(id) && regex->match(graph_.node(id).name) &&
          (onHost || !isOnHost(id)))
        result.push_back(id);
    if (!result.empty())
      return result;
    std::string hint = nearestNodes(name, graph_);
    return llvm::createStringError(
        where +
        ": expected the name of a node of this model, or a regular "
        "expression that matches some, got: '" +
        name + "'" +
        (hint.empty() ? "; the strategy may be another model's, or name a part "
                        "of a fused operation (soap-compile --no-fuse)"
                      : hint));
  }

  llvm::Error readEntry(const json::Value &element, size_t index) {
    std::string where = "entry " + std::to_string(index);
    llvm::Expected<const json::Object *> entry =
        entries_.check(element, "op", where);
    if (!entry)
      return entry.takeError();
    const json::Array &devices = *(*entry)->getArray("devices");
    bool onHost = devices.size() == 1 && devices[0].getAsString() == "host";
    llvm::Expected<llvm::SmallVector<int32_t>> nodes =
        nodesCalled(*(*entry)->getString("op"), onHost, where);
    if (!nodes)
      return nodes.takeError();
    for (int32_t id : *nodes) {
      llvm::Expected<Configuration> config =
          entries_.read(**entry, graph_.node(id), where);
      if (!config)
        return config.takeError();
      strategy_.configs[id] = std::move(*config);
      named_[id] = true;
    }
    return llvm::Error::success();
  }

  /// The updates of the parameters that an entry's `parameter` means.
  llvm::Expected<llvm::SmallVector<int32_t>>
  updatesOf(llvm::StringRef name, const std::string &where) {
    std::vector<llvm::StringRef> known;
    llvm::SmallVector<int32_t> result;
    for (int32_t update = 0; update < graph_.numUpdates(); ++update) {
      known.push_back(graph_.node(graph_.parameterOf(update)).name);
      if (known.back() == name)
        return llvm::SmallVector<int32_t>{update};
    }
    llvm::Expected<llvm::Regex> regex = wholeNames(name, "a parameter", where);
    if (!regex)
      return regex.takeError();
    for (auto [update, parameter] : llvm::enumerate(known))
      if (regex->match(parameter))
        result.push_back(static_cast<int32_t>(update));
    if (!result.empty())
      return result;
    return llvm::createStringError(
        where +
        ": expected the name of a parameter that the model updates, or a "
        "regular expression that matches some, got: '" +
        name + "'" +
        (known.empty() ? "; this model is no training step"
                       : nearestWords(name, known)));
  }

  /// An entry of "parameters": the configuration of an update.
  llvm::Error readParameter(const json::Value &element, size_t index) {
    std::string where = "parameter " + std::to_string(index);
    llvm::Expected<const json::Object *> entry =
        entries_.check(element, "parameter", where);
    if (!entry)
      return entry.takeError();
    llvm::Expected<llvm::SmallVector<int32_t>> updates =
        updatesOf(*(*entry)->getString("parameter"), where);
    if (!updates)
      return updates.takeError();
    for (int32_t update : *updates) {
      int32_t id = graph_.update(update).front();
      llvm::Expected<Configuration> config =
          entries_.read(**entry, graph_.node(id), where);
      if (!config)
        return config.takeError();
      config->regather = strategy_.configs[id].regather;
      strategy_.configs[id] = std::move(*config);
      named_[id] = true;
      regathered_[update] = (*entry)->getBoolean("regather").value_or(false);
      // The parameter and its state live there, whatever a default said.
      for (int32_t member : graph_.update(update))
        if (const GraphNode &write = graph_.node(member);
            write.writtenOperand >= 0)
          named_[graph_.value(write.operands[write.writtenOperand]).producer] =
              false;
    }
    return llvm::Error::success();
  }

  llvm::Error completeEnds() {
    std::string missing;
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (!named_[id] && graph_.node(id).role == NodeRole::Compute &&
          graph_.isLeader(id))
        missing += "\n  " + graph_.node(id).name;
    if (!missing.empty())
      return llvm::createStringError(
          "expected an entry for every op; add one (an 'op' may be a regular "
          "expression), missing:" +
          missing);
    // What is named must be sound before needs are computed from it.
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (named_[id])
        if (llvm::Error error =
                verify(strategy_.configs[id], graph_.node(id), topology_))
          return error;
    deriveMembers(strategy_, named_, graph_);
    for (auto [update, isRegathered] : regathered_)
      if (isRegathered)
        setRegathered(strategy_, graph_, update, true);
    deriveMissingEnds(strategy_, named_, graph_, topology_);
    return llvm::Error::success();
  }

  const OperatorGraph &graph_;
  const Topology &topology_;
  StrategyEntries entries_;
  Strategy strategy_;
  std::vector<bool> named_;
  std::map<int32_t, bool> regathered_; ///< Updates that are named.
};
} // namespace

llvm::Expected<Strategy> soap::parseStrategy(llvm::StringRef text,
                                             const SearchProblem &problem,
                                             StrategyInfo *info) {
  const OperatorGraph &graph = problem.graph;
  llvm::Expected<json::Object> root = parseRoot(text);
  if (!root)
    return root.takeError();
  StrategyInfo found;
  found.fingerprint = root->getString("model_fingerprint").value_or("").str();
  found.topology = root->getString("topology").value_or("").str();
  found.simulatedNs = root->getInteger("simulated_ns").value_or(0);
  found.seed = static_cast<uint64_t>(root->getInteger("seed").value_or(0));
  found.policy = root->getString("order").value_or("").str();
  if (found.policy == "graph")
    found.policy.clear();
  if (!found.fingerprint.empty() && !graph.fingerprint.empty() &&
      found.fingerprint != graph.fingerprint)
    return llvm::createStringError(
        "expected a strategy of this model (fingerprint " + graph.fingerprint +
        "), got: one of another model (" + found.fingerprint +
        "); search again, or remove 'model_fingerprint' if the names fit");

  StrategyReader reader(graph, problem.topology);
  llvm::Expected<Strategy> strategy = reader.read(*root);
  if (!strategy)
    return strategy.takeError();
  if (const json::Value *bytes = root->get("bucket_bytes")) {
    strategy->bucketBytes = bytes->getAsInteger().value_or(0);
    if (strategy->bucketBytes <= 0)
      return llvm::createStringError(
          "a strategy: expected 'bucket_bytes' to be a number of bytes, got: " +
          textOf(bytes));
  }
  if (const json::Array *order = root->getArray("order")) {
    if (llvm::Error error = reader.readOrder(*order, *strategy))
      return std::move(error);
  } else if (isLaunchPolicy(found.policy)) {
    strategy->order = launchOrder(found.policy, problem, *strategy);
  } else if (!found.policy.empty() ||
             (root->get("order") && !root->getString("order"))) {
    return llvm::createStringError(
        "expected 'order' to be \"graph\", \"" +
        llvm::join(launchPolicyNames().drop_front(), "\", \"") +
        "\" or a list of nodes, got: " +
        llvm::formatv("{0}", *root->get("order")).str() +
        nearestWords(found.policy, launchPolicyNames()));
  }
  if (info)
    *info = std::move(found);
  return strategy;
}

llvm::Expected<int32_t> soap::devicesOfStrategy(llvm::StringRef text) {
  llvm::Expected<json::Object> root = parseRoot(text);
  if (!root)
    return root.takeError();
  int64_t highest = 0;
  for (llvm::StringRef list : {"ops", "parameters"})
    for (const json::Value &element :
         root->get(list) ? *root->getArray(list) : json::Array())
      if (const json::Object *entry = element.getAsObject())
        if (const json::Array *devices = entry->getArray("devices"))
          for (const json::Value &device : *devices)
            highest = std::max(highest, device.getAsInteger().value_or(0));
  if (highest >= 1 << 20)
    return llvm::createStringError(
        "expected device numbers below 1048576, got: " + llvm::Twine(highest));
  return static_cast<int32_t>(highest + 1);
}
