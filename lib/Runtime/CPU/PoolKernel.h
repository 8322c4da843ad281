//===- PoolKernel.h - Pools with channels last ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN 2.6 pools with channels last at some 2 comparisons or additions per
// nanosecond without AVX-512, which was a sixth of a step of SqueezeNet.
// docs/Runtime.md has figures.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_POOLKERNEL_H
#define SOAP_LIB_RUNTIME_CPU_POOLKERNEL_H

#include "CPU/CPUKernels.h"
#include "CPU/PoolLoops.h"
#include <optional>
#include <vector>

namespace soap::runtime {

/// A pool over two dims of tensors with channels last, all of whose windows
/// have an element in the source.
struct PoolShape {
  /// Along one dim, the elements of the source that each window has there.
  using Windows = std::vector<std::vector<int64_t>>;

  int64_t images = 0, channels = 0, height = 0, width = 0; ///< Of the source.
  Windows rows, columns;
  bool isMaximum = false;
  float divisor = 0;     ///< Of an average; 0: the elements in the source.
  bool isBFloat = false; ///< Both tensors are bf16, not f32.
};

/// The shape of a kernel that is such a pool of f32 or bf16; nothing for other
/// kernels.
std::optional<PoolShape> poolShape(const fb::Kernel &kernel);

/// The loops that this processor can run, as far as the library may use it, too
/// (ONEDNN_MAX_CPU_ISA); or null.
const PoolLoops *poolLoops();

/// The kernel of a shape.
std::unique_ptr<Kernel> makePoolKernel(PoolShape shape, const PoolLoops &loops,
                                       size_t threads);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_POOLKERNEL_H
