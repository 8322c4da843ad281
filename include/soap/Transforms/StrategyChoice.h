//===- StrategyChoice.h - The strategy of a module --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where a strategy is chosen: the passes soap-init-strategy,
// soap-import-strategy and soap-search, and the compiler, all ask here.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRANSFORMS_STRATEGYCHOICE_H
#define SOAP_TRANSFORMS_STRATEGYCHOICE_H

#include "soap/Transforms/StrategyIR.h"
#include <map>
#include <optional>

namespace soap {

/// Which strategy a module is to have.
struct StrategyRequest {
  /// A named strategy (namedStrategies()), "search", a file (*.json), or empty:
  /// what the operations carry.
  std::string name;
  /// A launch policy (launchPolicyNames()), or empty: the order that the
  /// strategy has.
  std::string schedule;
  /// A strategy without an order gets that of the function (readLaunchOrder()).
  bool takesOrder = true;
  /// Of a search, and those that find starts for it (createSearchAlgorithm()).
  std::string algorithm = "mcmc", startAlgorithms;
  /// Of a search; `seed` also that of random strategies. What operations carry
  /// is added to the starts.
  SearchOptions search;
  /// Bytes that a search must leave free, by device.
  std::map<int32_t, int64_t> reservedBytes;
};

struct ChosenStrategy {
  Strategy strategy;
  /// What a search says of itself; nullopt: there was none, if only as nothing
  /// computes.
  std::optional<SearchResult> search;
};

/// True if an operation that computes has a configuration.
bool isConfigured(const ExtractedGraph &extracted);

/// Chooses a strategy, which is valid but may not fit into memory. Emits errors
/// at `loc`, or at operations.
mlir::FailureOr<ChosenStrategy> chooseStrategy(const ModuleProblem &problem,
                                               const StrategyRequest &request,
                                               mlir::Location loc);

/// Reads a module (readProblem()), chooses a strategy without the launch order
/// of its function, and configures its operations. Emits errors at the module
/// or at operations.
mlir::FailureOr<ChosenStrategy> configure(mlir::ModuleOp module,
                                          StrategyRequest request,
                                          llvm::StringRef costFile = "");

/// The devices that compute, in order.
std::vector<int32_t> usedDevices(const Strategy &strategy,
                                 const OperatorGraph &graph);

} // namespace soap

#endif // SOAP_TRANSFORMS_STRATEGYCHOICE_H
