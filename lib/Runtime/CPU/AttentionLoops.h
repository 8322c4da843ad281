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
// for each kind of vectors; their products stand in AttentionProducts.inc and,
// by AMX, in AttentionTiles.inc.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_ATTENTIONLOOPS_H
#define SOAP_LIB_RUNTIME_CPU_ATTENTIONLOOPS_H

#include <cstdint>

namespace soap::runtime {

/// Steps that are computed at a time, at most: a first-level cache holds their
/// scores, 24 or 32 KiB. A multiple of what loops take together.
constexpr int64_t attentionSteps = 256;

/// Masks, row-major; a stride of 0 repeats what is there.
struct AttentionMask {
  const float *added = nullptr;    ///< Added to scores; or null.
  const uint8_t *hidden = nullptr; ///< Where scores are `fill`; or null.
  int64_t rowStride = 0, stepStride = 0;
  uint8_t hides = 1; ///< The boolean that says so.
  float fill = 0;
};

/// How keys lie: as packKeys() makes them, steps x depth, or depth x steps. The
/// latter two are for a few rows, for which packing does not pay.
enum class KeyOrder : uint8_t { Packed, Steps, Depth };

/// Some rows of one attention.
struct AttentionBlock {
  const float *query; ///< rows x depth.
  const void *keys;   ///< As `order` says; floats unless they are packed.
  /// As packValues() makes them, or steps x features.
  const void *values;
  float *result; ///< rows x features.
  int64_t rows;  ///< At most AttentionLoops::rows.
  int64_t steps, depth, features;
  float scale;
  KeyOrder order;
  AttentionMask mask; ///< Of the first row.
  /// Of scratchBytes().
  void *scratch;
};

struct AttentionLoops {
  int64_t width;    ///< Floats of a vector.
  int64_t rows;     ///< Of a block, at most.
  bool packsAlways; ///< Keys are KeyOrder::Packed however few rows there are.

  /// Packs keys, steps x depth, or depth x steps if they are transposed, into
  /// keyBytes().
  int64_t (*keyBytes)(int64_t steps, int64_t depth);
  void (*packKeys)(const float *keys, int64_t steps, int64_t depth,
                   bool areTransposed, void *to);
  /// Packs values into valueBytes(); if these are 0, values are read as they
  /// are.
  int64_t (*valueBytes)(int64_t steps, int64_t features);
  void (*packValues)(const float *values, int64_t steps, int64_t features,
                     void *to);
  int64_t (*scratchBytes)(int64_t depth, int64_t features);
  void (*attend)(const AttentionBlock &block);
};

/// Those for this processor.
const AttentionLoops &attentionLoops();
/// Those that multiply bf16, or null.
const AttentionLoops *narrowAttentionLoops();

/// Of vectors of four floats, which all processors have or imitate.
extern const AttentionLoops attentionAny;
#ifdef SOAP_VECTOR_LOOPS_X86
/// AVX2 with FMA, and AVX-512 (F).
extern const AttentionLoops attentionAVX2, attentionAVX512;
/// AMX, with AVX512_BF16: query, keys, weights and values are rounded to bf16.
extern const AttentionLoops attentionAMX;
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_ATTENTIONLOOPS_H
