//===- PointwiseKernel.h - Grouped pointwise convolutions -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN 2.6 runs a grouped convolution of 1x1 between dense tensors as one
// product of matrices per group, and with channels last in kernels that are
// slower without AVX-512. docs/Runtime.md has figures.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_POINTWISEKERNEL_H
#define SOAP_LIB_RUNTIME_CPU_POINTWISEKERNEL_H

#include "CPU/CPUKernels.h"
#include "CPU/PointwiseLoops.h"
#include <optional>
#include <vector>

namespace soap::runtime {

/// A convolution of 1x1 without pads, of tensors with channels last. Runs of
/// results lie one behind the other; the pixels that a run reads lie at equal
/// distances.
struct PointwiseShape {
  int64_t groups = 1;
  int64_t channels = 0, filters = 0; ///< Of a group.
  int64_t rows = 0;                  ///< Pixels of a run.
  int64_t step = 1;                  ///< From one that it reads to the next.
  std::vector<int64_t> starts;       ///< The first one of each run.
};

/// The shape of a kernel that is such a convolution of f32 with followers that
/// loops apply; nothing for other kernels.
std::optional<PointwiseShape> pointwiseShape(const fb::Kernel &kernel);

/// The loops that this processor can run, as far as the library may use it, too
/// (ONEDNN_MAX_CPU_ISA); or null.
const PointwiseLoops *pointwiseLoops();

/// The kernel of a shape, which is that of `kernel`, with constant weights.
std::unique_ptr<Kernel> makePointwiseKernel(const fb::Kernel &kernel,
                                            const PointwiseShape &shape,
                                            const PointwiseLoops &loops,
                                            size_t threads);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_POINTWISEKERNEL_H
