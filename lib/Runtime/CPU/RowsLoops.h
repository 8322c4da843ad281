//===- RowsLoops.h - Loops of products of a few rows ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of a few rows is as many dot products as its result has elements.
// RowsLoops.inc has the loops, which are compiled for each kind of vectors.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_ROWSLOOPS_H
#define SOAP_LIB_RUNTIME_CPU_ROWSLOOPS_H

#include "CPU/FewRows.h"
#include <cstddef>

namespace soap::runtime {

/// Rows of a (RowsProductOf) that are packed at `to`, which has room for
/// RowsLoops::packedFloats().
struct PackedRows {
  int64_t rows, sum;
  const float *a;
  int64_t aRow;
  float *to;
};

struct RowsLoops {
  int64_t width; ///< Floats of a vector.
  void (*pack)(const PackedRows &rows);
  /// They compute the product on the calling thread, from packed rows.
  void (*multiplyFloats)(const RowsProduct &product, const float *packed);
  void (*multiplyBFloats)(const NarrowRowsProduct &product,
                          const float *packed);

  size_t packedFloats(int64_t rows, int64_t sum) const {
    return static_cast<size_t>(rows * ((sum + width - 1) / width * width));
  }
  void multiply(const RowsProduct &product, const float *packed) const {
    multiplyFloats(product, packed);
  }
  void multiply(const NarrowRowsProduct &product, const float *packed) const {
    multiplyBFloats(product, packed);
  }
};

/// Those for this processor; null: it has no vectors that there are loops for.
const RowsLoops *rowsLoops();

#ifdef SOAP_VECTOR_LOOPS_X86
/// AVX2 with FMA, and AVX-512 (F).
extern const RowsLoops rowsAVX2, rowsAVX512;
#endif

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_ROWSLOOPS_H
