//===- StridedKernel.h - Convolutions with strides --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With channels last, a row of a window is one run of numbers: a convolution is
// the sum of as many products of matrices as its window has rows. oneDNN 2.6
// takes up to twice as long where windows have strides, on processors without
// AVX-512. docs/Runtime.md has figures.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_STRIDEDKERNEL_H
#define SOAP_LIB_RUNTIME_CPU_STRIDEDKERNEL_H

#include "CPU/CPUKernels.h"
#include "CPU/PointwiseLoops.h"
#include <optional>

namespace soap::runtime {

/// A convolution over two dims without groups, of tensors with channels last,
/// whose windows have no gaps between columns.
struct StridedShape {
  int64_t images = 0, channels = 0, filters = 0;
  int64_t height = 0, width = 0;             ///< Of the source.
  int64_t resultHeight = 0, resultWidth = 0; ///< Of the result.
  int64_t windowHeight = 1, windowWidth = 1;
  int64_t strideDown = 1, strideAcross = 1, dilationDown = 1;
  int64_t padTop = 0, padLeft = 0;

  /// Floats of a row of a window, and of all.
  int64_t rowDepth() const { return windowWidth * channels; }
  int64_t depth() const { return windowHeight * rowDepth(); }
};

/// The shape of a kernel that is such a convolution of f32 with followers that
/// loops apply, whatever its strides; nothing for other kernels.
std::optional<StridedShape> stridedShape(const fb::Kernel &kernel);

/// The kernel of a shape, which is that of `kernel`.
std::unique_ptr<Kernel> makeStridedKernel(const fb::Kernel &kernel,
                                          const StridedShape &shape,
                                          const PointwiseLoops &loops,
                                          size_t threads,
                                          bool constantWeights = true);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_STRIDEDKERNEL_H
