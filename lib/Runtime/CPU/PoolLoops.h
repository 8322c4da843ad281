//===- PoolLoops.h - Loops of pools with channels last ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With channels last, a result of a pool is the maximum or the mean of a few
// pixels, channel by channel. PoolLoops.inc has the loops.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_POOLLOOPS_H
#define SOAP_LIB_RUNTIME_CPU_POOLLOOPS_H

#include <cstdint>

namespace soap::runtime {

/// A pixel of a result: of `channels` elements of each of `count` pixels, of
/// which there is one at least. A NaN that is not in the first one does not
/// change a maximum, as in oneDNN.
template <typename Element>
struct PoolFunctions {
  void (*maximum)(const Element *const *pixels, int64_t count, int64_t channels,
                  Element *to);
  /// The sum over `divisor`.
  void (*average)(const Element *const *pixels, int64_t count, int64_t channels,
                  float divisor, Element *to);
};

struct PoolLoops {
  int64_t width; ///< Floats of a vector.
  PoolFunctions<float> floats;
  PoolFunctions<uint16_t> bfloats; ///< Of bf16: computed in f32, and rounded.

  template <typename Element>
  const PoolFunctions<Element> &of() const {
    if constexpr (sizeof(Element) == 2)
      return bfloats;
    else
      return floats;
  }
};

#ifdef SOAP_VECTOR_LOOPS_X86
/// AVX2, and AVX-512 (F).
extern const PoolLoops poolAVX2, poolAVX512;
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_POOLLOOPS_H
