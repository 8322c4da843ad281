//===- WinogradLoops.h - Vector loops of Winograd's algorithm ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016:
// F(m x m, 3 x 3) makes a tile of m x m results y of (m+2) x (m+2) elements d
// of the source and weights g by y = A^T [(G g G^T) * (B^T d B)] A, where *
// goes by points, (m+2)^2 of them; summed over channels, each point is a
// product of matrices. Tiles have 4 x 4 or 2 x 2 results.
//
// WinogradLoops.inc has the loops, compiled once per kind of processor. That
// code includes nothing that may leave an inline function behind which the rest
// of the program would share.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_WINOGRADLOOPS_H
#define SOAP_LIB_RUNTIME_CPU_WINOGRADLOOPS_H

#include "CPU/VectorFollowers.h"
#include <cstdint>

namespace soap::runtime {

/// What becomes of the results of a tile once they are summed up.
struct WinogradFollowers {
  VectorFollowers all;
  /// The first of the filters among all channels of the result.
  int64_t channel;
  /// The first channel of every pixel of the tile, row by row, in the result;
  /// of one beside it, any pixel that is inside.
  const int64_t *places;
};

/// The 9 weights of filter f and channel c of a group: row by row from
/// first + f * filter + c * channel, or backwards if they are `turned`.
struct WinogradWeights {
  const float *first;
  int64_t filter, channel;
  bool turned;
};

/// The loops for tiles of one size. `width`: floats of a vector. Filters are
/// dealt out to panels of 2 * width, the last one filled up with zeros.
struct WinogradLoops {
  int64_t tile, width;
  /// Rows of a product that are made at a time.
  int64_t rows;

  int64_t points() const { return (tile + 2) * (tile + 2); }
  int64_t panel() const { return 2 * width; }

  /// The weights of `filters` filters, at most those of a panel, at all points:
  /// to[point * stride + channel * panel + filter].
  void (*transformWeights)(const WinogradWeights &weights, int64_t filters,
                           int64_t channels, float *to, int64_t stride);

  /// A tile of the source: points() pixels, row by row, of `channels` elements
  /// each. to[point * stride + channel], channels rounded up to `width`.
  void (*transformSource)(const float *const *pixels, int64_t channels,
                          float *to, int64_t stride);

  /// At one point: c[rows, panels * panel] = a[rows, depth] times
  /// b[panels, depth, panel]; rows of a and c are as far apart as is said.
  void (*multiply)(const float *a, int64_t aRow, int64_t rows, int64_t depth,
                   const float *b, int64_t panels, float *c, int64_t cRow);

  /// @{ For the gradient of the weights, which is
  /// G^T [sum over tiles of (B^T d B) * (A e A^T)] G for a gradient e of y.
  ///
  /// A tile of e: tile * tile pixels, row by row, of `filters` elements each.
  /// to[point * stride + filter], filters rounded up to `width`.
  void (*transformGradient)(const float *const *pixels, int64_t filters,
                            float *to, int64_t stride);
  /// At one point: c[panels, rows, panel] = a[depth, rows] transposed times
  /// b[depth, panels * panel], which is added to c if `add`.
  void (*multiplyTransposed)(const float *a, int64_t aRow, int64_t rows,
                             int64_t depth, const float *b, int64_t bRow,
                             int64_t panels, float *c, bool add);
  /// From from[point * stride + channel * panel + filter] of `filters` filters,
  /// at most those of a panel, to the gradients of their weights,
  /// to[(filter * channels + channel) * 9 + weight].
  void (*transformFilters)(const float *from, int64_t stride, int64_t filters,
                           int64_t channels, float *to);
  /// @}

  /// from[point * stride + filter] to tile * tile pixels of `filters` elements,
  /// row by row. Reads as many as `filters` rounded up to `width`.
  void (*transformResult)(const float *from, int64_t stride, int64_t filters,
                          const WinogradFollowers &followers,
                          float *const *pixels);
};

#ifdef SOAP_VECTOR_LOOPS_X86
/// @{ By side of the tile. AVX2 with FMA, and AVX-512 (F).
extern const WinogradLoops winogradAVX2Of2, winogradAVX2Of4, winogradAVX512Of2,
    winogradAVX512Of4;
/// @}
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_WINOGRADLOOPS_H
