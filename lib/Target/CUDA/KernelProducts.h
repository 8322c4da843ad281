//===- KernelProducts.h - Products in a kernel, by cuBLASLt -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_KERNELPRODUCTS_H
#define SOAP_LIB_TARGET_CUDA_KERNELPRODUCTS_H

#include "soap/Conversion/NNToKernels/MatrixProducts.h"
#include "llvm/ADT/DenseMap.h"

namespace soap::cuda {

/// The values of induction variables in one iteration.
using Iterations = llvm::DenseMap<mlir::Value, int64_t>;

/// A part of a kernel that is a launch of cuBLASLt.
struct KernelProduct {
  mlir::linalg::LinalgOp op;
  native::MatrixProduct product;
  /// To what the result holds; else the fill with zeros before it is a part of
  /// the product.
  bool adds;

  /// `op` as a product, if that pays, in a kernel in which loops have the
  /// values `ivs` first.
  static std::optional<KernelProduct> find(mlir::linalg::LinalgOp op,
                                           const Iterations &ivs);

  /// For cuda.kernels: what Passes.h says of `products`. `numberOf` gives the
  /// number of a buffer, an argument or an allocation.
  mlir::DictionaryAttr
  describe(mlir::Builder &builder,
           llvm::function_ref<int64_t(mlir::Value)> numberOf) const;

  /// The bytes from the start of the buffers of a, b and c to the first element
  /// of each; nothing if one of them is not known.
  std::optional<llvm::SmallVector<int64_t>>
  offsets(const Iterations &ivs) const;
};

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_KERNELPRODUCTS_H
