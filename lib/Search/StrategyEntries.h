//===- StrategyEntries.h - Entries of strategy files ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_STRATEGYENTRIES_H
#define SOAP_LIB_SEARCH_STRATEGYENTRIES_H

#include "soap/Search/Strategy.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

namespace soap::detail {

/// Fails if `object` has a key that is none of `known`.
llvm::Error checkKeys(const llvm::json::Object &object,
                      llvm::ArrayRef<llvm::StringRef> known);

/// A value as it stands in the file.
std::string textOf(const llvm::json::Value *value);

/// The regular expression that matches whole names by `name`. Error: it is
/// none, nor the name of `what`.
llvm::Expected<llvm::Regex> wholeNames(llvm::StringRef name,
                                       llvm::StringRef what,
                                       const std::string &where);

/// Reads entries of strategy files: {"op", "degrees", "replicate", "devices",
/// "regather"}, and with "parameter" in place of "op", where "regather" is no
/// list of operands, but true or false. `where` says in errors
/// which entry is meant.
class StrategyEntries {
public:
  StrategyEntries(const OperatorGraph &graph, const Topology &topology)
      : graph_(graph), topology_(topology) {}

  /// The fields of an entry, the name under `key`. Fails if it has another
  /// form. Adds the entry's name to `where`.
  llvm::Expected<const llvm::json::Object *>
  check(const llvm::json::Value &element, llvm::StringRef key,
        std::string &where) const;

  /// What a checked entry says for a node.
  llvm::Expected<Configuration> read(const llvm::json::Object &entry,
                                     const GraphNode &node,
                                     const std::string &where) const;

private:
  llvm::Error readDegrees(const llvm::json::Object &entry,
                          const GraphNode &node, const std::string &where,
                          Degrees &result) const;
  llvm::Error readDevices(const llvm::json::Array &devices,
                          const std::string &where,
                          Configuration &config) const;
  std::optional<int32_t> readDevice(const llvm::json::Value &value) const;
  llvm::Error readRegather(const llvm::json::Object &entry,
                           const GraphNode &node, const std::string &where,
                           Configuration &config) const;
  llvm::SmallVector<int32_t> findOperands(const GraphNode &node,
                                          const llvm::json::Value &value) const;

  const OperatorGraph &graph_;
  const Topology &topology_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_STRATEGYENTRIES_H
