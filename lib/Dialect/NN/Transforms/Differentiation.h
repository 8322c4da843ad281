//===- Differentiation.h - Gradients of a loss ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_DIFFERENTIATION_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_DIFFERENTIATION_H

#include "NodeNames.h"
#include "soap/Dialect/NN/Gradients/Gradients.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace soap::nn {

/// Builds the gradients of a scalar by the values that depend on parameters, in
/// the reverse order of a function's operations.
class Differentiation {
public:
  Differentiation(mlir::func::FuncOp function, mlir::OpBuilder &builder,
                  NodeNames &names)
      : function_(function), builder_(builder), names_(names) {}

  /// Marks the values that depend on `parameters` by floating point numbers.
  void followParameters(llvm::ArrayRef<ParameterOp> parameters);
  /// Adds the gradient of `loss`, which is 1, or `scale` unless it is null.
  void begin(mlir::Value loss, mlir::Value scale);
  /// Builds the gradients of operations, which stand in the function's order.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> forward);
  /// Error: operations without a gradient.
  mlir::LogicalResult finish();

  /// Error: a value on the way that is neither f32 nor f64.
  mlir::LogicalResult checkTypes();

  bool dependsOnParameters(mlir::Value value) const {
    return dependent_.contains(value);
  }
  /// The gradient by a value; null if the loss does not depend on it.
  mlir::Value gradientOf(mlir::Value value) const {
    return gradients_.lookup(value);
  }

private:
  void accumulate(mlir::Value value, mlir::Value gradient);
  mlir::LogicalResult differentiate(mlir::Operation *op);

  mlir::func::FuncOp function_;
  mlir::OpBuilder &builder_;
  NodeNames &names_;
  llvm::DenseSet<mlir::Value> dependent_;
  llvm::DenseSet<mlir::Value>
      weights_; ///< Made of parameters and constants alone.
  llvm::DenseMap<mlir::Value, mlir::Value> gradients_;
  std::vector<mlir::Operation *> withoutGradient_;
};

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_DIFFERENTIATION_H
