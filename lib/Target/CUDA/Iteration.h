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
#include "soap/Target/CUDA/Passes.h"
#include "llvm/Support/MathExtras.h"

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

/// What a launch takes whose threads share loops of `sizes`.
inline WorkSize workOf(llvm::ArrayRef<mlir::OpFoldResult> sizes,
                       int64_t itemsPerThread) {
  WorkSize work;
  work.itemsPerBlock = threadsPerBlock * itemsPerThread;
  if (std::optional<int64_t> total = staticProduct(sizes)) {
    work.blocks = std::max<int64_t>(
        1, llvm::divideCeil(static_cast<uint64_t>(*total), work.itemsPerBlock));
    work.itemsPerBlock = 0;
  }
  return work;
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
