//===- OperatorGraphExtraction.h - From IR to the operator graph *- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way from the nn dialect to lib/Search, which knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRANSFORMS_OPERATORGRAPHEXTRACTION_H
#define SOAP_TRANSFORMS_OPERATORGRAPHEXTRACTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "soap/Search/OperatorGraph.h"

namespace soap {

/// An operator graph and the operations that its nodes came from.
struct ExtractedGraph {
  OperatorGraph graph;
  std::vector<mlir::Operation *> ops; ///< Per node, in block order.
};

/// The function `@main` of a module of the nn dialect; emits an error if there
/// is none or if it is not one block.
mlir::FailureOr<mlir::func::FuncOp> getMainFunction(mlir::ModuleOp module);

/// Extracts the operator graph of `main`: one node per nn operation in block
/// order. The graph's callback for task work refers to the operations, so they
/// must outlive it unchanged. Errors are emitted at the operation.
mlir::FailureOr<ExtractedGraph> extractOperatorGraph(mlir::func::FuncOp main);

/// The fingerprint of a model: a hash of its operations, attributes, shapes and
/// names, not of weights, configurations or the launch order. 16 hexadecimal
/// digits.
std::string fingerprint(mlir::func::FuncOp main);

} // namespace soap

#endif // SOAP_TRANSFORMS_OPERATORGRAPHEXTRACTION_H
