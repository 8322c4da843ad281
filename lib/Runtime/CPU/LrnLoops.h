//===- LrnLoops.h - Loops of local response norms ------------- -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With channels last, a pixel is normalised from its own channels alone.
// LrnLoops.inc has the loops.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_LRNLOOPS_H
#define SOAP_LIB_RUNTIME_CPU_LRNLOOPS_H

#include <cstdint>

namespace soap::runtime {

/// y = x / (bias + alpha / size * s)^0.75, where s is the sum of the squares of
/// `size` channels around each (an odd number), as far as there are such.
struct LrnPixels {
  int64_t pixels, channels, size;
  float alpha, bias;
  const float *x;
  float *y;
  float *squares; ///< Space for `channels` + `size` - 1 floats.
};

struct LrnLoops {
  void (*normalize)(const LrnPixels &pixels);
};

#ifdef SOAP_VECTOR_LOOPS_X86
/// AVX2 with FMA, and AVX-512 (F).
extern const LrnLoops lrnAVX2, lrnAVX512;
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_LRNLOOPS_H
