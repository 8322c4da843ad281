//===- AttentionLoops.h - Loops of attention --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// softmax(scale * query x keys + mask) x values for a few rows of the query at
// a time, and for a few hundred steps at a time: sums are scaled down where a
// later step has a larger score (Milakov, Gimelshein, "Online normalizer
// calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). So
// scores stay in a cache. AttentionLoops.inc has the loops, which are compiled
// for each kind of vectors.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_ATTENTIONLOOPS_H
#define SOAP_LIB_RUNTIME_CPU_ATTENTIONLOOPS_H

#include <cstdint>

namespace soap::runtime {

/// Rows and steps that are computed at a time, at most: a first-level cache
/// holds their scores, 24 KiB. Multiples of what loops take together.
constexpr int64_t attentionRows = 24, attentionSteps = 256;

/// Masks, row-major; a stride of 0 repeats what is there.
struct AttentionMask {
  const float *added = nullptr;    ///< Added to scores; or null.
  const uint8_t *hidden = nullptr; ///< Where scores are `fill`; or null.
  int64_t rowStride = 0, stepStride = 0;
  uint8_t hides = 1; ///< The boolean that says so.
  float fill = 0;
};

/// How keys lie: as AttentionLoops::pack makes them, steps x depth, or depth x
/// steps. The latter two are for a few rows, for which packing does not pay.
enum class KeyOrder : uint8_t { Packed, Steps, Depth };

/// Some rows of one attention.
struct AttentionBlock {
  const float *query; ///< rows x depth.
  const float *keys;  ///< As `order` says.
  /// steps x features, with zeros behind each step's up to a whole vector.
  const float *values;
  float *result; ///< rows x features.
  int64_t rows;  ///< At most attentionRows.
  int64_t steps, depth, features;
  float scale;
  KeyOrder order;
  AttentionMask mask; ///< Of the first row.
  /// Of attentionRows x (attentionSteps + features in whole vectors) floats.
  float *scratch;
};

struct AttentionLoops {
  int64_t width; ///< Floats of a vector.
  /// Packs keys, steps x depth, or depth x steps if they are transposed, in
  /// groups of twice `width` steps, of which the last one is filled up.
  void (*pack)(const float *keys, int64_t steps, int64_t depth,
               bool areTransposed, float *to);
  void (*attend)(const AttentionBlock &block);
};

/// Those for this processor.
const AttentionLoops &attentionLoops();

/// Of vectors of four floats, which all processors have or imitate.
extern const AttentionLoops attentionAny;
#ifdef SOAP_VECTOR_LOOPS_X86
/// AVX2 with FMA, and AVX-512 (F).
extern const AttentionLoops attentionAVX2, attentionAVX512;
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_ATTENTIONLOOPS_H
