//===- NNTraining.h - Updates of parameters ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optimizers of the nn dialect, and what lasts from step to step.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNTRAINING_H
#define SOAP_DIALECT_NN_IR_NNTRAINING_H

#include "mlir/IR/BuiltinOps.h"
#include "soap/Dialect/NN/IR/NN.h"

namespace soap::nn::detail {
/// Checks types and numbers of an optimizer's operation.
llvm::LogicalResult verifyUpdate(mlir::Operation *op);
} // namespace soap::nn::detail

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNTrainingOps.h.inc"

namespace soap::nn {

/// The attribute, without a value, of a parameter that a node of the model
/// makes (ONNX Constant, ConstantOfShape), not one of its initializers.
constexpr llvm::StringLiteral constantAttrName("nn.constant");

/// The attribute, without a value, of a parameter in an evaluation program that
/// the step writes: its value there is that of the last step.
constexpr llvm::StringLiteral stateAttrName("nn.state");

/// The name of the module, inside of that of a step, with the evaluation
/// program in its function @main, and perhaps an @init of its own.
constexpr llvm::StringLiteral evaluationName("eval");
/// This module, or null.
mlir::ModuleOp findEvaluation(mlir::ModuleOp module);

/// Whether any program writes a parameter: it is no constant.
bool isState(ParameterOp parameter);
/// Whether what an operation makes is the same in every step: it is a constant,
/// or a parameter that no program writes.
bool isFixed(mlir::Operation *producer);
/// The attribute of a parameter that has another shape than the tensor of the
/// model whose elements it has: `{shape = array<i64: 64>, tensor = "w"}`, the
/// shape and the name of that tensor.
constexpr llvm::StringLiteral viewAttrName("nn.view");

/// The operation that gives a parameter its value of the next step, or null.
WriteOp findWrite(ParameterOp parameter);

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_NNTRAINING_H
