//===- ByteProduct.h - A product of 8-bit integers --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions and products of matrices, of any orders of elements.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_BYTEPRODUCT_H
#define SOAP_LIB_RUNTIME_CPU_BYTEPRODUCT_H

#include "CPU/CPUKernels.h"
#include <array>

namespace soap::runtime {

/// Iterations, each with the elements from one to the next in data, weights and
/// result.
struct ByteLoop {
  int64_t size = 1;
  int64_t data = 0, weights = 0, result = 0;
};

/// A position of a window along one dim: the element of the data that iteration
/// o of the result and k of the window meet is o*stride + k*dilation - pad.
struct BytePosition {
  int64_t outputs = 1, window = 1, extent = 1;
  int64_t stride = 1, dilation = 1, pad = 0;
  int64_t data = 0, weights = 0, result = 0; ///< Elements per step.

  /// Elements of the data, and of pads, that so many outputs read.
  int64_t reach(int64_t count) const {
    return (count - 1) * stride + (window - 1) * dilation + 1;
  }
};

/// All that is added up, for each filter and position of each batch. Where each
/// filter has a channel of its own (`filters.data` is not 0), the sum is that
/// of a window of it.
struct ByteProduct {
  std::vector<ByteLoop> batches;
  std::array<BytePosition, 3> positions;
  ByteLoop filters, sum;

  bool isByChannel() const { return filters.data != 0; }
  double products() const {
    auto count = static_cast<double>(filters.size * sum.size);
    for (const ByteLoop &loop : batches)
      count *= static_cast<double>(loop.size);
    for (const BytePosition &position : positions)
      count *= static_cast<double>(position.outputs * position.window);
    return count;
  }
};

/// Its kernel by the given loops.
std::unique_ptr<Kernel> makeVectorByteKernel(const ByteProduct &product,
                                             const ByteLoops &loops,
                                             size_t threads,
                                             bool constantWeights);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_BYTEPRODUCT_H
