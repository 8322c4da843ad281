//===- ByteLoops.h - Loops of products of 8-bit integers --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions without VNNI multiply pairs of 16-bit integers and add the two
// products, in 32 bits: exact for integers of 8 bits, and twice as many of them
// as of floats. ByteLoops.inc has the loops, compiled once per kind of
// processor. Sums wrap around.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_BYTELOOPS_H
#define SOAP_LIB_RUNTIME_CPU_BYTELOOPS_H

#include <cstdint>

namespace soap::runtime {

/// Lines of results at equal distances. Each reads the same pieces of the
/// source, as they lie from its first element on.
struct ByteRun {
  int64_t lines, sourceLine, resultLine; ///< As of rows.
  int64_t rows;
  const int16_t *source;
  int64_t sourceRow; ///< Elements from what a result reads to the next one's.
  const int64_t *pieces;
  int64_t pieceCount;
  const int16_t *weights; ///< Packed.
  int32_t *result;
  int64_t resultRow, resultFilter; ///< Elements from one to the next.
};

/// Of all filters: `pairs` of elements of a piece are multiplied, an element
/// behind an odd number by a weight of 0.
struct ByteProductRun : ByteRun {
  int64_t pairs, filters;
};

/// Channel by channel: a filter is a channel, and a piece one of its elements.
/// Weights are [pieces, channels].
struct ByteChannelRun : ByteRun {
  int64_t channels;
};

struct ByteLoops {
  int64_t panel; ///< Filters that are multiplied together.

  /// Packed weights are [panels, pieces, pairs, filters of the panel, 2], with
  /// zeros behind the last filter and the last element.
  int64_t packedElements(int64_t filters, int64_t pieces, int64_t pairs) const {
    return (filters + panel - 1) / panel * panel * pieces * pairs * 2;
  }
  void (*multiply)(const ByteProductRun &run);
  void (*multiplyChannels)(const ByteChannelRun &run);
};

#ifdef SOAP_VECTOR_LOOPS_X86
/// AVX2, and AVX-512 (BW).
extern const ByteLoops byteAVX2, byteAVX512;
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_BYTELOOPS_H
