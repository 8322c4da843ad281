//===- MatrixProducts.h - Products of matrices in kernels -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOKERNELS_MATRIXPRODUCTS_H
#define SOAP_CONVERSION_NNTOKERNELS_MATRIXPRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace soap::native {

/// A contraction of buffers, c += a b, as libraries compute it: rows of a and
/// c, columns of b and c, the loops of the sum, and others around the call.
struct MatrixProduct {
  enum Matrix { A, B, C };
  /// Loops as one: `size` iterations, and the elements from one to the next in
  /// each matrix, 0 where it has none of these loops.
  struct Loops {
    int64_t size = 1;
    int64_t strides[3] = {0, 0, 0};
  };
  /// The elements from one row, and from one column, to the next; one of them
  /// is 1, and the other at least as many as lie side by side.
  struct Strides {
    int64_t row, column;
  };

  Loops rows, columns, sum;
  llvm::SmallVector<Loops> others; ///< In no particular order.

  /// Of a (rows x sum), b (sum x columns) or c (rows x columns), of which the
  /// columns lie side by side.
  Strides stridesOf(Matrix matrix) const;
  /// Of one call.
  int64_t multiplications() const {
    return rows.size * columns.size * sum.size;
  }
};

/// The product that `op` is; nothing if it is none, if it is not of f32, or if
/// sizes or strides are not known or are none of MatrixProduct.
std::optional<MatrixProduct> findMatrixProduct(mlir::linalg::LinalgOp op);

} // namespace soap::native

#endif // SOAP_CONVERSION_NNTOKERNELS_MATRIXPRODUCTS_H
