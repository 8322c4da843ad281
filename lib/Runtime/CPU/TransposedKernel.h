//===- TransposedKernel.h - Transposed convolutions -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the windows of a transposed convolution lie side by side, each element
// of the window is a pointwise convolution: with channels last, it writes every
// so many pixels of the result. oneDNN 2.6 computes it as the gradient of a
// convolution, at a third of the speed of a product on processors without
// AVX-512. docs/Runtime.md has figures.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_TRANSPOSEDKERNEL_H
#define SOAP_LIB_RUNTIME_CPU_TRANSPOSEDKERNEL_H

#include "CPU/CPUKernels.h"
#include "CPU/PointwiseLoops.h"
#include <optional>

namespace soap::runtime {

/// A transposed convolution over two dims whose strides are its window: every
/// pixel of the source makes a window of the result.
struct TransposedShape {
  int64_t images = 0, groups = 1;
  int64_t channels = 0, filters = 0; ///< Of a group, of source and result.
  int64_t height = 0, width = 0;     ///< Of the source.
  int64_t windowHeight = 1, windowWidth = 1;

  int64_t windowElements() const { return windowHeight * windowWidth; }
};

/// The shape of a kernel that is such a convolution of f32 with followers that
/// loops apply; nothing for other kernels.
std::optional<TransposedShape> transposedShape(const fb::Kernel &kernel);

/// The kernel of a shape, which is that of `kernel`, with constant weights.
std::unique_ptr<Kernel> makeTransposedKernel(const fb::Kernel &kernel,
                                             const TransposedShape &shape,
                                             const PointwiseLoops &loops,
                                             size_t threads);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_TRANSPOSEDKERNEL_H
