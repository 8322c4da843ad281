//===- PointwiseLoops.h - Loops of pointwise convolutions -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With channels last, a group of a pointwise convolution is a product of
// matrices whose rows lie as far apart as pixels do; and a row of a window is
// one of the pieces that a convolution over windows adds up. PointwiseLoops.inc
// has the loops, compiled once per kind of processor.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_POINTWISELOOPS_H
#define SOAP_LIB_RUNTIME_CPU_POINTWISELOOPS_H

#include "CPU/VectorFollowers.h"

namespace soap::runtime {

/// Lines of pixels of a group that lie at equal distances: of each line,
/// result[rows, filters] = source[rows, depth] times the weights, or the sum of
/// that over several pieces.
struct PointwiseRun {
  int64_t rows, depth, filters;
  const float *source; ///< The first channel of the group.
  int64_t sourceRow;   ///< Floats between two pixels.
  float *result;       ///< The whole tensor.
  int64_t resultRow;
  int64_t lines = 1, sourceLine = 0, resultLine = 0; ///< As of rows.
  int64_t place;   ///< The first channel of the first pixel in `result`.
  int64_t channel; ///< The first filter of the group among all channels.
  const float *weights;
  VectorFollowers followers;
  int64_t pieces = 1, pieceStep = 0; ///< How many; floats between two of them.
  /// Of the depth of the packed weights, how much is all (0: that of the
  /// pieces), and lies before the first piece.
  int64_t packedDepth = 0, packedBefore = 0;
  /// Floats of the source that a pixel has for itself; 0: those of the pieces.
  int64_t pixelFloats = 0;
};

/// The weights of a group as they lie in an operand: of each filter and channel
/// those of a window, one behind the other. Packed, it is the channels of an
/// element of the window that lie behind each other.
struct PointwiseWeights {
  const float *first;
  int64_t filters, channels;
  int64_t filterStep, channelStep; ///< Floats between two of them.
  int64_t window = 1;              ///< Elements.
};

/// `width`: floats of a vector. Filters are dealt out to panels of two vectors,
/// the first of which may have one. The last vector ends with the last filter;
/// of fewer filters than it has elements, the others are zeros.
struct PointwiseLoops {
  int64_t width;

  /// Floats of the packed weights of a group.
  int64_t packedFloats(int64_t filters, int64_t depth) const {
    return (filters + width - 1) / width * width * depth;
  }
  /// Packs weights in panels, each as [window, channels, filters of the panel].
  void (*pack)(const PointwiseWeights &weights, float *to);
  void (*run)(const PointwiseRun &run);
};

#ifdef SOAP_VECTOR_LOOPS_X86
/// AVX2 with FMA, and AVX-512 (F).
extern const PointwiseLoops pointwiseAVX2, pointwiseAVX512;
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_POINTWISELOOPS_H
