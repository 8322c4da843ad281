//===- Product.h - A product of cuBLASLt ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_PRODUCT_H
#define SOAP_LIB_RUNTIME_CUDA_PRODUCT_H

#include "Backend/Backend.h"
#include "CUDA/Blas.h"

namespace soap::runtime::cuda {

/// Products y = alpha a b of `batch` matrices each, row-major, with sums of
/// f32: y is m x n, a m x k, b k x n. Distances are in elements.
struct ProductShape {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  /// From one row to the next, or, of a transposed factor, from one column to
  /// the next, whose elements lie side by side then.
  int64_t aLeading = 0, bLeading = 0, yLeading = 0;
  /// From one matrix to the next.
  int64_t aStride = 0, bStride = 0, yStride = 0;
  bool transposeA = false, transposeB = false;
  float alpha = 1;
  /// Factors of f32 may be rounded to TF32.
  bool tf32 = false;
  /// Of the factors, and of the result and what is added.
  cudaDataType_t factors = CUDA_R_32F, result = CUDA_R_32F;
  /// A row is added to all rows of y.
  bool hasRow = false;
};

/// A product as cuBLASLt has it. The library's matrices are column-major: ours
/// are their transposes, so it is asked for y' = b' a'. A bias that is a row of
/// y is then a column, as its epilogue wants.
class Product {
public:
  using Algorithm = cublasLtMatmulHeuristicResult_t;
  struct Matrices {
    DevicePointer a, b, y;
  };
  /// What the addresses of the matrices are multiples of, in bytes.
  struct Alignment {
    uint32_t a = 256, b = 256, y = 256;
    /// Takes matrices that begin so many bytes behind such addresses, too.
    void add(int64_t aBytes, int64_t bBytes, int64_t yBytes);
  };

  Product(const Gpu &gpu, const ProductShape &shape);

  /// What the library proposes, best first, within so much scratch memory.
  std::vector<Algorithm> propose(uint64_t workspaceBytes,
                                 Alignment alignment) const;
  /// Enqueues one call, which adds to what y holds, or replaces it.
  void enqueue(CUstream stream, const Algorithm &algorithm,
               const Matrices &matrices, DevicePointer workspace,
               bool adds) const;
  /// The bias that the epilogue adds.
  void setRow(DevicePointer row);

private:
  using Layout = BlasObject<cublasLtMatrixLayout_t>;
  Layout makeLayout(cudaDataType_t type, int64_t rows, int64_t columns,
                    int64_t leading, int64_t stride) const;

  const Gpu &gpu_;
  ProductShape shape_;
  BlasObject<cublasLtMatmulDesc_t> description_;
  Layout a_, b_, y_;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_PRODUCT_H
