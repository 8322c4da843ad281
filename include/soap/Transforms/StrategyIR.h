//===- StrategyIR.h - Strategies and topologies in IR -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between the attributes of the soap dialect and the plain structs of
// lib/Search and lib/CostModel.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRANSFORMS_STRATEGYIR_H
#define SOAP_TRANSFORMS_STRATEGYIR_H

#include "soap/Search/LowerBound.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/StrategyReport.h"
#include "soap/Transforms/OperatorGraphExtraction.h"
#include "llvm/Support/JSON.h"

namespace soap {

/// The topology of a module. Emits an error if there is none or if it is not
/// valid.
mlir::FailureOr<Topology> readTopology(mlir::ModuleOp module);

/// Adds a topology to a module, in place of the one it had.
void writeTopology(mlir::ModuleOp module, const Topology &topology);

/// The strategy that the operations of a graph carry. Ends of the graph without
/// a configuration are derived. The launch order is block order, or that of
/// `soap.order` of the function. Emits an error that lists the operations
/// without a configuration, or says what is wrong with one.
mlir::FailureOr<Strategy> readStrategy(const ExtractedGraph &extracted,
                                       const Topology &topology);

/// The launch order of `soap.order` of the function, as nodes; empty if it has
/// none. Emits an error if a name is unknown, repeated or missing.
mlir::FailureOr<std::vector<int32_t>>
readLaunchOrder(const ExtractedGraph &extracted);

/// Configures the operations of a graph. A launch order becomes block order, in
/// place of `soap.order` of the function.
void writeStrategy(const ExtractedGraph &extracted, const Strategy &strategy,
                   const Topology &topology);

/// Costs with the measured ones of `costFile` (none if empty or "analytic").
/// Errors are emitted at the module.
mlir::FailureOr<CostModel> readCosts(mlir::ModuleOp module,
                                     llvm::StringRef costFile);

/// A module, read: its graph, topology and costs.
struct ModuleProblem {
  ExtractedGraph extracted;
  Topology topology;
  CostModel costs;

  SearchProblem get() const { return {extracted.graph, topology, costs}; }
};

/// Reads graph and topology of a module, and its costs as readCosts() does.
mlir::FailureOr<ModuleProblem> readProblem(mlir::ModuleOp module,
                                           llvm::StringRef costFile = "");

/// A module whose operations are configured, read.
struct ConfiguredProblem {
  ModuleProblem problem;
  Strategy strategy;
};

/// Reads a module as readProblem() and readStrategy() do.
mlir::FailureOr<ConfiguredProblem>
readConfigured(mlir::ModuleOp module, llvm::StringRef costFile = "");

/// Prints the table of operations of a simulated strategy: operation, kind,
/// degrees, devices, simulated time, bytes sent of its results; then the step
/// time, and that under every launch policy. Ends of the graph are left out.
void printStrategy(llvm::raw_ostream &os, const ModuleProblem &problem,
                   const Strategy &strategy);

/// Prints the table of strategies, simulated: step time, compute and
/// communication time, communication bytes, peak memory, idle share, and a mark
/// where memory does not suffice; then the bound, and how much longer the row
/// `chosen` takes.
void printReport(llvm::raw_ostream &os, llvm::ArrayRef<StrategyReport> reports,
                 const LowerBound &bound, llvm::StringRef chosen);
/// The same: {"strategies": [{"name", "step_ns", "compute_ns",
/// "mean_compute_ns", "communication_ns", "communication_bytes",
/// "peak_memory_bytes", "idle_share", "fits", "gap"}], "lower_bound":
/// {"step_ns", "work_ns", "path_ns", "communication_ns", "mixed_ns"}}. Gaps are
/// shares of the bound. A row of a step that makes values again has
/// "recomputation": {"operations", "saved_bytes", "added_ns"}. Rows that are
/// not exact have "name" and "at_least_step_ns" alone.
llvm::json::Object reportJSON(llvm::ArrayRef<StrategyReport> reports,
                              const LowerBound &bound);

} // namespace soap

#endif // SOAP_TRANSFORMS_STRATEGYIR_H
