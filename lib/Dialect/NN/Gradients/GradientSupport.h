//===- GradientSupport.h - Shared by gradients of ops -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_GRADIENTS_GRADIENTSUPPORT_H
#define SOAP_LIB_DIALECT_NN_GRADIENTS_GRADIENTSUPPORT_H

#include "soap/Dialect/NN/Gradients/Gradients.h"

namespace soap::nn {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}
inline mlir::Type elementType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

/// "d<dim>": the loop of a dimension, by names of dimensions.
inline std::string dimName(size_t dim) {
  return ("d" + llvm::Twine(dim)).str();
}

/// A factor of a matrix product, or a batch of them.
struct Factor {
  mlir::Value matrix;
  bool isTransposed = false;

  /// The size of what are rows (0) or columns (1) of the factor.
  int64_t size(unsigned dim) const {
    return shapeOf(matrix).take_back(2)[isTransposed ? 1 - dim : dim];
  }
};
inline Factor transposed(mlir::Value matrix) {
  return {matrix, /*isTransposed=*/true};
}

/// Gradients of the operands of one operation.
using Gradients = llvm::SmallVector<mlir::Value>;
using MaybeGradients = mlir::FailureOr<Gradients>;

/// The model of the interface for `Op`, whose gradients the function
/// `build(op, builder, resultGradients, isNeeded)` builds.
template <typename Op, MaybeGradients (*build)(Op, GradientBuilder &,
                                               llvm::ArrayRef<mlir::Value>,
                                               const llvm::BitVector &)>
struct GradientModel
    : public DifferentiableOpInterface::ExternalModel<GradientModel<Op, build>,
                                                      Op> {
  MaybeGradients buildGradients(mlir::Operation *op, GradientBuilder &builder,
                                llvm::ArrayRef<mlir::Value> results,
                                const llvm::BitVector &isNeeded) const {
    return build(llvm::cast<Op>(op), builder, results, isNeeded);
  }
};

/// @{ Attach the models of some operations.
void attachElementwiseGradients(mlir::MLIRContext *context);
void attachContractionGradients(mlir::MLIRContext *context);
void attachIndexGradients(mlir::MLIRContext *context);
void attachRecurrentGradients(mlir::MLIRContext *context);
void attachResizeGradients(mlir::MLIRContext *context);
void attachShapeGradients(mlir::MLIRContext *context);
void attachWindowGradients(mlir::MLIRContext *context);
/// @}

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_GRADIENTS_GRADIENTSUPPORT_H
