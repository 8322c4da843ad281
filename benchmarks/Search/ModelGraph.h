//===- ModelGraph.h - Operator graphs of models -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_BENCHMARKS_SEARCH_MODELGRAPH_H
#define SOAP_BENCHMARKS_SEARCH_MODELGRAPH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "soap/Transforms/OperatorGraphExtraction.h"
#include "llvm/Support/Error.h"

namespace soap {

/// A model on a command line: FILE.onnx[:BATCH[:UNROLL]], or FILE.mlir, which
/// `soap-compile --emit=nn` printed: a training step, for example.
struct ModelSpec {
  std::string path;
  int64_t batch = 1;  ///< What symbolic batch dimensions become.
  int64_t unroll = 0; ///< Steps per node of a recurrent layer; 0: all.

  /// Fails if a number is missing or too small, or stands behind FILE.mlir.
  static llvm::Expected<ModelSpec> parse(llvm::StringRef text);
  /// Whether it is what --emit=nn printed, which is planned as it is.
  bool isNN() const;
  /// The file without folder and ending: "nmt".
  std::string name() const;
};

/// The elements of a list of topologies in which commas separate elements and
/// their keys: a piece with a '=' but without a ':' belongs to the one before.
std::vector<std::string> splitTopologies(llvm::StringRef list);

/// A normalised model with its operator graph. Costs of tasks ask the IR, so it
/// lives as long.
class ModelGraph {
public:
  /// Imports, unrolls and normalises, or reads what --emit=nn printed. What is
  /// wrong with a model beyond its file is printed as diagnostics.
  static llvm::Expected<std::unique_ptr<ModelGraph>>
  load(const ModelSpec &spec);

  const OperatorGraph &graph() const { return extracted_->graph; }
  /// How many nodes compute: what a search decides about.
  int64_t numComputeNodes() const;

private:
  ModelGraph();
  llvm::Error readNN(const ModelSpec &spec);
  llvm::Error importModel(const ModelSpec &spec);
  static llvm::Error notPlanned(const ModelSpec &spec);

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::optional<ExtractedGraph> extracted_;
};

} // namespace soap

#endif // SOAP_BENCHMARKS_SEARCH_MODELGRAPH_H
