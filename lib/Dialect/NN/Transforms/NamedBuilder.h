//===- NamedBuilder.h - Builds operations with names ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_NAMEDBUILDER_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_NAMEDBUILDER_H

#include "NodeNames.h"
#include "Shapes.h"
#include "mlir/Dialect/Traits.h"
#include "soap/Dialect/NN/IR/NN.h"

namespace soap::nn {

/// Builds operations of a function, whose names are unique in it.
class NamedBuilder {
public:
  explicit NamedBuilder(mlir::func::FuncOp function)
      : builder_(function.getContext()), names_(function) {}

protected:
  void setInsertionPoint(mlir::Operation *op) {
    builder_.setInsertionPoint(op);
    loc_ = op->getLoc();
  }

  template <typename Op, typename... Ts>
  mlir::Value create(const llvm::Twine &name, mlir::RankedTensorType type,
                     Ts &&...arguments) {
    auto op = builder_.create<Op>(loc_, type, std::forward<Ts>(arguments)...);
    setName(op, names_.unique(name.str()));
    return op->getResult(0);
  }
  /// `Op` per element, of two operands that broadcast.
  template <typename Op>
  mlir::Value join(const llvm::Twine &name, mlir::Value a, mlir::Value b) {
    llvm::SmallVector<int64_t> shape;
    mlir::OpTrait::util::getBroadcastedShape(shapeOf(a), shapeOf(b), shape);
    return create<Op>(name, rankedTypeOf(a).clone(shape), a, b);
  }
  mlir::Value castTo(const llvm::Twine &name, mlir::Value value,
                     mlir::Type element) {
    return create<CastOp>(name, rankedTypeOf(value).clone(element), value);
  }
  /// `value` in another shape; `value` itself if it has that shape.
  mlir::Value reshaped(const llvm::Twine &name, mlir::Value value,
                       llvm::ArrayRef<int64_t> shape) {
    return shapeOf(value) == shape
               ? value
               : create<ReshapeOp>(name, rankedTypeOf(value).clone(shape),
                                   value);
  }

  mlir::OpBuilder builder_;
  mlir::Location loc_ = builder_.getUnknownLoc();
  NodeNames names_;
};

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_NAMEDBUILDER_H
