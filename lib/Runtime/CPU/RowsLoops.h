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

namespace soap::runtime {

struct RowsLoops {
  int64_t width; ///< Floats of a vector.
  /// They compute the product on the calling thread.
  void (*multiplyFloats)(const RowsProduct &product);
  void (*multiplyBFloats)(const NarrowRowsProduct &product);

  void multiply(const RowsProduct &product) const { multiplyFloats(product); }
  void multiply(const NarrowRowsProduct &product) const {
    multiplyBFloats(product);
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
