//===- Shapes.h - Shapes of tensor values ----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_SHAPES_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace soap::nn {

inline mlir::RankedTensorType rankedTypeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The shape of a value of ranked tensor type.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return rankedTypeOf(value).getShape();
}

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_SHAPES_H
