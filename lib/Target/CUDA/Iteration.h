//===- Iteration.h - The loops of a linalg operation ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_ITERATION_H
#define SOAP_LIB_TARGET_CUDA_ITERATION_H

#include "Distribution.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace soap::cuda {

/// The product of extents; nothing if one is dynamic.
inline std::optional<int64_t>
staticProduct(llvm::ArrayRef<mlir::OpFoldResult> sizes) {
  int64_t result = 1;
  for (mlir::OpFoldResult size : sizes) {
    std::optional<int64_t> known = mlir::getConstantIntValue(size);
    if (!known)
      return std::nullopt;
    result *= *known;
  }
  return result;
}

/// An operation with its loops, outermost first.
struct Distribution::Iteration {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<mlir::OpFoldResult> sizes;   ///< Of all loops.
  llvm::SmallVector<unsigned> parallel, reduced; ///< Their numbers.

  llvm::SmallVector<mlir::OpFoldResult>
  sizesOf(llvm::ArrayRef<unsigned> dims) const {
    llvm::SmallVector<mlir::OpFoldResult> result;
    for (unsigned dim : dims)
      result.push_back(sizes[dim]);
    return result;
  }
};

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_ITERATION_H
