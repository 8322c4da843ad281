//===- StreamKernel.cpp - A kernel that measures memory traffic -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Probe/ProbeModel.h"

using namespace soap;

// Unlike the native code of a model, this function is not compiled for the
// processor that it runs on, so that it exists once per width of vectors.
#if defined(__x86_64__) && defined(__linux__)
#define SOAP_EVERY_WIDTH                                                       \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SOAP_EVERY_WIDTH
#endif

SOAP_EVERY_WIDTH
static void stream(const float *__restrict from, float *__restrict to,
                   int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i] < 0.0f ? 0.0f : from[i];
}

soap_native_kernel soap::hostStreamKernel() {
  return [](void *const *buffers, const int64_t *sizes) {
    stream(static_cast<const float *>(buffers[0]),
           static_cast<float *>(buffers[1]), sizes[0]);
  };
}
