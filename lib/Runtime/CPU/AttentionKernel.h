//===- AttentionKernel.h - Attention as one kernel --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_ATTENTIONKERNEL_H
#define SOAP_LIB_RUNTIME_CPU_ATTENTIONKERNEL_H

#include "CPU/AttentionLoops.h"
#include "CPU/CPUKernels.h"
#include <optional>

namespace soap::runtime {

/// One attention per element of `batch`.
struct AttentionShape {
  Shape batch;
  int64_t rows, depth, steps, features; ///< Of the query, keys and values.
  bool transposedKeys = false;
  float scale = 1;
  /// Of the mask, if there is one: of `batch`, rows and steps. 0 where it
  /// broadcasts.
  Shape maskStrides = {};
  bool isMaskAdded = false; ///< It is of floats.
  uint8_t hides = 1;
  float fill = 0;

  int64_t attentions() const { return elementCount(batch); }
};

/// The shape of an attention of f32; nothing for all other kernels.
std::optional<AttentionShape> attentionShape(const fb::Kernel &kernel);

/// A kernel on as many as `threads` threads.
std::unique_ptr<Kernel> makeAttentionKernel(AttentionShape shape,
                                            const AttentionLoops &loops,
                                            size_t threads);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_ATTENTIONKERNEL_H
