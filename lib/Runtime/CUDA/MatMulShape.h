//===- MatMulShape.h - A product of stacks of matrices, as calls -*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_MATMULSHAPE_H
#define SOAP_LIB_RUNTIME_CUDA_MATMULSHAPE_H

#include "Backend/StridedCopy.h"
#include <optional>

namespace soap::runtime::cuda {

/// A product y = a b over batch dims that broadcast, as calls that each
/// multiply `batch` pairs of matrices at equal distances. Distances and offsets
/// are in elements.
struct MatMulShape {
  int64_t m = 0, n = 0, k = 0; ///< y is m x n, a is m x k, b is k x n.
  int64_t batch = 1;
  int64_t aStride = 0, bStride = 0, yStride = 0;
  struct Call {
    int64_t a, b, y;
  };
  std::vector<Call> calls;

  /// Nothing if the shapes fit no fb::MatMul.
  static std::optional<MatMulShape> of(const fb::MatMul &op, const Shape &a,
                                       const Shape &b, const Shape &y);
};

/// True if a bias of this shape is one row that is added to all rows of y.
bool isRow(const Shape &bias, const Shape &y);

/// The copy that repeats a bias over y, of elements of so many bytes; nothing
/// if it does not broadcast to y.
std::optional<StridedCopy> broadcast(const Shape &bias, const Shape &y,
                                     size_t elementBytes);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_MATMULSHAPE_H
