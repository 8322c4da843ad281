//===- ReadStrategy.cpp - Strategies from strategy files ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/Strategy.h"
#include "soap/Support/JSON.h"
#include "soap/Support/NearestWords.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using namespace soap;
namespace json = llvm::json;

/// Fails if `object` has a key that is none of `known`.
static llvm::Error checkKeys(const json::Object &object,
                             llvm::ArrayRef<llvm::StringRef> known) {
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, key.str()))
      return llvm::createStringError(
          "expected the keys " + llvm::join(known, ", ") + ", got: '" +
          key.str() + "'" + nearestWords(key.str(), known));
  return llvm::Error::success();
}

/// A value as it stands in the file.
static std::string textOf(const json::Value *value) {
  return value ? llvm::formatv("{0}", *value).str() : "none";
}

static llvm::Expected<json::Object> parseRoot(llvm::StringRef text) {
  llvm::Expected<json::Value> value = parseJSON(text, "a strategy");
  if (!value)
    return value.takeError();
  json::Object *root = value->getAsObject();
  if (!root || !root->getArray("ops"))
    return llvm::createStringError(
        "expected a strategy: a JSON object with an array 'ops', as "
        "--export-strategy writes");
  if (llvm::Error error =
          checkKeys(*root, {"format", "model_fingerprint", "topology",
                            "simulated_ns", "seed", "order", "ops"}))
    return llvm::createStringError("a strategy: " + toString(std::move(error)));
  if (const json::Value *format = root->get("format");
      format && format->getAsString() != "soap-strategy")
    return llvm::createStringError(
        "expected a strategy with the 'format' \"soap-strategy\", got: " +
        llvm::formatv("{0}", *format).str());
  return std::move(*root);
}

namespace {
class StrategyReader {
public:
  StrategyReader(const OperatorGraph &graph, const Topology &topology)
      : graph_(graph), topology_(topology) {}

  llvm::Expected<Strategy> read(const json::Object &root) {
    strategy_.configs.resize(graph_.numNodes());
    named_.assign(graph_.numNodes(), false);
    for (auto [index, element] : llvm::enumerate(*root.getArray("ops")))
      if (llvm::Error error = readEntry(element, index))
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
    llvm::Regex regex(("^(" + name + ")$").str());
    std::string problem;
    if (!regex.isValid(problem))
      return llvm::createStringError(
          where +
          ": expected the name of a node or a regular expression, got: '" +
          name + "': " + problem);
    llvm::SmallVector<int32_t> result;
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (graph_.isLeader(id) && regex.match(graph_.node(id).name) &&
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
        (hint.empty() ? "; the strategy may be another model's" : hint));
  }

  std::optional<int32_t> readDevice(const json::Value &value) {
    if (std::optional<llvm::StringRef> name = value.getAsString())
      return *name == "host" ? std::optional<int32_t>(topology_.host())
                             : std::nullopt;
    std::optional<int64_t> id = value.getAsInteger();
    if (!id || *id < 0 || *id > INT32_MAX)
      return std::nullopt;
    return static_cast<int32_t>(*id);
  }

  /// The operand that a number says, or all that a node of that name makes.
  llvm::SmallVector<int32_t> findOperands(const GraphNode &node,
                                          const json::Value &value) {
    llvm::SmallVector<int32_t> found;
    std::optional<int64_t> number = value.getAsInteger();
    std::optional<llvm::StringRef> name = value.getAsString();
    for (auto [operand, id] : llvm::enumerate(node.operands))
      if ((number && *number == static_cast<int64_t>(operand)) ||
          (name && graph_.node(graph_.value(id).producer).name == *name))
        found.push_back(static_cast<int32_t>(operand));
    return found;
  }

  /// The fields of an entry. Fails if it has another form. Adds the entry's
  /// name to `where`.
  llvm::Expected<const json::Object *> checkEntry(const json::Value &element,
                                                  std::string &where) {
    const json::Object *entry = element.getAsObject();
    std::optional<llvm::StringRef> name;
    if (entry)
      name = entry->getString("op");
    if (!name)
      return llvm::createStringError(where +
                                     ": expected an object with a string 'op'");
    where += " ('" + name->str() + "')";
    if (llvm::Error error = checkKeys(
            *entry, {"op", "degrees", "replicate", "devices", "regather"}))
      return llvm::createStringError(where + ": " + toString(std::move(error)));
    for (auto [key, isRight, what] :
         {std::tuple("degrees", !!entry->getObject("degrees"), "an object"),
          std::tuple("replicate", !!entry->getInteger("replicate"),
                     "a whole number"),
          std::tuple("regather", !!entry->getArray("regather"), "an array")})
      if (entry->get(key) && !isRight)
        return llvm::createStringError(where + ": expected '" + key +
                                       "' to be " + what +
                                       ", got: " + textOf(entry->get(key)));
    const json::Array *devices = entry->getArray("devices");
    if (!devices || devices->empty())
      return llvm::createStringError(
          where +
          ": expected an array 'devices' with one device per task, got: " +
          textOf(entry->get("devices")));
    return entry;
  }

  /// Reads 'degrees' and 'replicate'.
  llvm::Error readDegrees(const json::Object &entry, const GraphNode &node,
                          const std::string &where, Degrees &result) {
    result.loops.assign(node.spec.loops.size(), 1);
    if (const json::Object *degrees = entry.getObject("degrees"))
      for (const auto &[key, value] : *degrees) {
        int loop = node.spec.findLoop(key.str());
        std::optional<int64_t> degree = value.getAsInteger();
        if (loop < 0) {
          std::vector<llvm::StringRef> known;
          for (const LoopSpec &spec : node.spec.loops)
            known.push_back(spec.name);
          return llvm::createStringError(
              where + ": expected loops of node '" + node.name + "' (" +
              llvm::join(known, ", ") + ") in 'degrees', got: '" + key.str() +
              "'");
        }
        if (!degree || *degree < 1 || *degree > INT32_MAX)
          return llvm::createStringError(
              where + ": expected a degree of loop '" + key.str() +
              "' from 1 to " + llvm::Twine(node.spec.loops[loop].extent) +
              ", got: " + textOf(&value));
        result.loops[loop] = static_cast<int32_t>(*degree);
      }
    int64_t replicate = entry.getInteger("replicate").value_or(1);
    if (replicate < 1 || replicate > INT32_MAX)
      return llvm::createStringError(
          where + ": expected 'replicate' of 1 or more, got: " +
          llvm::Twine(replicate));
    result.replicate = static_cast<int32_t>(replicate);
    return llvm::Error::success();
  }

  /// Reads 'devices', which is there.
  llvm::Error readDevices(const json::Array &devices, const std::string &where,
                          Configuration &config) {
    for (const json::Value &value : devices) {
      // A number never means the host.
      if (value.getAsInteger().value_or(0) >= topology_.numDevices())
        return llvm::createStringError(
            where + ": expected devices from 0 to " +
            llvm::Twine(topology_.numDevices() - 1) + " of topology '" +
            topology_.name + "', got: " + textOf(&value) +
            "; use a topology with more devices or another strategy");
      std::optional<int32_t> device = readDevice(value);
      if (!device)
        return llvm::createStringError(
            where +
            ": expected device numbers in 'devices', got: " + textOf(&value));
      config.devices.push_back(*device);
    }
    return llvm::Error::success();
  }

  /// Reads 'regather' if it is there.
  llvm::Error readRegather(const json::Object &entry, const GraphNode &node,
                           const std::string &where, Configuration &config) {
    const json::Array *regather = entry.getArray("regather");
    if (!regather)
      return llvm::Error::success();
    for (const json::Value &value : *regather) {
      llvm::SmallVector<int32_t> operands = findOperands(node, value);
      if (operands.empty()) {
        std::vector<llvm::StringRef> known;
        for (int32_t id : node.operands)
          known.push_back(graph_.node(graph_.value(id).producer).name);
        std::optional<llvm::StringRef> word = value.getAsString();
        std::string hint = word ? nearestWords(*word, known) : "";
        return llvm::createStringError(
            where + ": expected operands of node '" + node.name +
            "' in 'regather' (numbers below " + llvm::Twine(known.size()) +
            " or " + llvm::join(known, ", ") +
            "), got: " + llvm::formatv("{0}", value).str() + hint);
      }
      config.regather.append(operands);
    }
    llvm::sort(config.regather);
    config.regather.erase(llvm::unique(config.regather), config.regather.end());
    return llvm::Error::success();
  }

  llvm::Error readEntry(const json::Value &element, size_t index) {
    std::string where = "entry " + std::to_string(index);
    llvm::Expected<const json::Object *> entry = checkEntry(element, where);
    if (!entry)
      return entry.takeError();
    const json::Array &devices = *(*entry)->getArray("devices");
    bool onHost = devices.size() == 1 && devices[0].getAsString() == "host";
    llvm::Expected<llvm::SmallVector<int32_t>> nodes =
        nodesCalled(*(*entry)->getString("op"), onHost, where);
    if (!nodes)
      return nodes.takeError();
    for (int32_t id : *nodes) {
      const GraphNode &node = graph_.node(id);
      Configuration config;
      if (llvm::Error error = readDegrees(**entry, node, where, config.degrees))
        return error;
      if (llvm::Error error = readDevices(devices, where, config))
        return error;
      if (llvm::Error error = readRegather(**entry, node, where, config))
        return error;
      strategy_.configs[id] = std::move(config);
      named_[id] = true;
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
    deriveMissingEnds(strategy_, named_, graph_, topology_);
    return llvm::Error::success();
  }

  const OperatorGraph &graph_;
  const Topology &topology_;
  Strategy strategy_;
  std::vector<bool> named_;
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
  for (const json::Value &element : *root->getArray("ops"))
    if (const json::Object *entry = element.getAsObject())
      if (const json::Array *devices = entry->getArray("devices"))
        for (const json::Value &device : *devices)
          highest = std::max(highest, device.getAsInteger().value_or(0));
  if (highest >= 1 << 20)
    return llvm::createStringError(
        "expected device numbers below 1048576, got: " + llvm::Twine(highest));
  return static_cast<int32_t>(highest + 1);
}
