//===- Grid.h - Launches of the runtime's own kernels -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_GRID_H
#define SOAP_LIB_RUNTIME_CUDA_GRID_H

#include "CUDA/Driver.h"
#include <algorithm>

namespace soap::runtime::cuda {

/// As many of these blocks as keep a GPU busy: each strides over what is left.
inline unsigned blocksWithin(const Gpu &gpu, uint64_t blocks) {
  constexpr uint64_t perProcessor = 32;
  return static_cast<unsigned>(std::clamp<uint64_t>(
      blocks, 1, perProcessor * static_cast<uint64_t>(gpu.processors)));
}

constexpr unsigned kGridThreads = 256; ///< Of a block of the kernels below.

/// Blocks for so many items, of which a thread does one at a time.
inline unsigned blocksFor(const Gpu &gpu, uint64_t items) {
  return blocksWithin(gpu, (items + kGridThreads - 1) / kGridThreads);
}

/// PTX within an entry: the number of this thread in the grid in %number, and
/// that of all threads in %all, both of 32 bits.
inline constexpr const char *gridText = R"(  .reg .b32 %number, %all;
  .reg .b32 %block, %threads, %thread, %blocks;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %number, %block, %threads, %thread;
  mul.lo.u32 %all, %blocks, %threads;
)";

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_GRID_H
