//===- StrategyEntries.cpp - Entries of strategy files --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrategyEntries.h"
#include "soap/Support/NearestWords.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace soap;
using namespace soap::detail;
namespace json = llvm::json;

llvm::Error detail::checkKeys(const json::Object &object,
                              llvm::ArrayRef<llvm::StringRef> known) {
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, key.str()))
      return llvm::createStringError(
          "expected the keys " + llvm::join(known, ", ") + ", got: '" +
          key.str() + "'" + nearestWords(key.str(), known));
  return llvm::Error::success();
}

std::string detail::textOf(const json::Value *value) {
  return value ? llvm::formatv("{0}", *value).str() : "none";
}

llvm::Expected<llvm::Regex> detail::wholeNames(llvm::StringRef name,
                                               llvm::StringRef what,
                                               const std::string &where) {
  llvm::Regex regex(("^(" + name + ")$").str());
  std::string problem;
  if (!regex.isValid(problem))
    return llvm::createStringError(where + ": expected the name of " + what +
                                   " or a regular expression, got: '" + name +
                                   "': " + problem);
  return std::move(regex);
}

llvm::Expected<const json::Object *>
StrategyEntries::check(const json::Value &element, llvm::StringRef key,
                       std::string &where) const {
  const json::Object *entry = element.getAsObject();
  std::optional<llvm::StringRef> name;
  if (entry)
    name = entry->getString(key);
  if (!name)
    return llvm::createStringError(
        where + ": expected an object with a string '" + key + "'");
  where += " ('" + name->str() + "')";
  llvm::SmallVector<llvm::StringRef> keys{key, "degrees", "replicate",
                                          "devices", "regather"};
  if (llvm::Error error = checkKeys(*entry, keys))
    return llvm::createStringError(where + ": " + toString(std::move(error)));
  for (auto [field, isRight, what] :
       {std::tuple("degrees", !!entry->getObject("degrees"), "an object"),
        std::tuple("replicate", !!entry->getInteger("replicate"),
                   "a whole number"),
        key == "op"
            ? std::tuple("regather", !!entry->getArray("regather"), "an array")
            : std::tuple("regather", entry->getBoolean("regather").has_value(),
                         "true or false")})
    if (entry->get(field) && !isRight)
      return llvm::createStringError(where + ": expected '" + field +
                                     "' to be " + what +
                                     ", got: " + textOf(entry->get(field)));
  const json::Array *devices = entry->getArray("devices");
  if (!devices || devices->empty())
    return llvm::createStringError(
        where +
        ": expected an array 'devices' with one device per task, got: " +
        textOf(entry->get("devices")));
  return entry;
}

std::optional<int32_t>
StrategyEntries::readDevice(const json::Value &value) const {
  if (std::optional<llvm::StringRef> name = value.getAsString())
    return *name == "host" ? std::optional<int32_t>(topology_.host())
                           : std::nullopt;
  std::optional<int64_t> id = value.getAsInteger();
  if (!id || *id < 0 || *id > INT32_MAX)
    return std::nullopt;
  return static_cast<int32_t>(*id);
}

/// The operand that a number says, or all that a node of that name makes.
llvm::SmallVector<int32_t>
StrategyEntries::findOperands(const GraphNode &node,
                              const json::Value &value) const {
  llvm::SmallVector<int32_t> found;
  std::optional<int64_t> number = value.getAsInteger();
  std::optional<llvm::StringRef> name = value.getAsString();
  for (auto [operand, id] : llvm::enumerate(node.operands))
    if ((number && *number == static_cast<int64_t>(operand)) ||
        (name && graph_.node(graph_.value(id).producer).name == *name))
      found.push_back(static_cast<int32_t>(operand));
  return found;
}

/// Reads 'degrees' and 'replicate'.
llvm::Error StrategyEntries::readDegrees(const json::Object &entry,
                                         const GraphNode &node,
                                         const std::string &where,
                                         Degrees &result) const {
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
    return llvm::createStringError(where + ": expected 'replicate' from 1 to " +
                                   llvm::Twine(INT32_MAX) +
                                   ", got: " + llvm::Twine(replicate));
  result.replicate = static_cast<int32_t>(replicate);
  return llvm::Error::success();
}

/// Reads 'devices', which is there.
llvm::Error StrategyEntries::readDevices(const json::Array &devices,
                                         const std::string &where,
                                         Configuration &config) const {
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
llvm::Error StrategyEntries::readRegather(const json::Object &entry,
                                          const GraphNode &node,
                                          const std::string &where,
                                          Configuration &config) const {
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

llvm::Expected<Configuration>
StrategyEntries::read(const json::Object &entry, const GraphNode &node,
                      const std::string &where) const {
  Configuration config;
  if (llvm::Error error = readDegrees(entry, node, where, config.degrees))
    return std::move(error);
  if (llvm::Error error =
          readDevices(*entry.getArray("devices"), where, config))
    return std::move(error);
  if (llvm::Error error = readRegather(entry, node, where, config))
    return std::move(error);
  return config;
}
