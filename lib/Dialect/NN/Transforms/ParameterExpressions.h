//===- ParameterExpressions.h - What depends on parameters only -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_PARAMETEREXPRESSIONS_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_PARAMETEREXPRESSIONS_H

#include "NodeNames.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace soap::nn {

/// True for nn.parameter and nn.constant.
bool isParameterOrConstant(mlir::Operation *op);

/// What all elements of a constant, or of a parameter that nothing writes, are.
/// Null where they differ, and for other values.
mlir::Attribute splatOf(mlir::Value value);
/// The one number that all elements of such a value are, if it is of f32.
std::optional<double> numberOf(mlir::Value value);

/// The values of a function that depend on parameters and constants only.
class ParameterExpressions {
public:
  explicit ParameterExpressions(mlir::func::FuncOp function);

  bool contains(mlir::Value value) const { return values_.contains(value); }
  void insert(mlir::Value value) { values_.insert(value); }

private:
  llvm::DenseSet<mlir::Value> values_;
};

/// Builds expressions over parameters: names are unique in the function, and
/// results belong to the function's parameter expressions.
class ExpressionBuilder {
public:
  ExpressionBuilder(mlir::func::FuncOp function,
                    ParameterExpressions &expressions);

  void setInsertionPoint(mlir::Operation *op) {
    builder_.setInsertionPoint(op);
  }
  /// `op(operands)` of the shape to which the operands broadcast.
  template <typename Op>
  mlir::Value create(llvm::StringRef name, mlir::ValueRange operands) {
    return create(Op::getOperationName(), name, operands);
  }
  /// `value` in another shape; `value` itself if it has that shape.
  mlir::Value reshape(llvm::StringRef name, mlir::Value value,
                      llvm::ArrayRef<int64_t> shape);
  /// The scalar `number` as nn.constant.
  mlir::Value scalar(llvm::StringRef name, mlir::Type element, double number);
  /// `base`, with a number behind it if a node has that name already.
  mlir::StringAttr uniqueName(llvm::StringRef base);

private:
  mlir::Value create(llvm::StringRef opName, llvm::StringRef name,
                     mlir::ValueRange operands);

  mlir::OpBuilder builder_;
  ParameterExpressions &expressions_;
  NodeNames names_;
};

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_PARAMETEREXPRESSIONS_H
