//===- FewRows.h - Products of a few rows -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_FEWROWS_H
#define SOAP_LIB_RUNTIME_CPU_FEWROWS_H

#include <cstdint>

namespace soap::runtime {

/// c += a * b, where element (i, k) of a lies at a[i * aRow + k], element (k,
/// j) of b at b[k + j * bColumn], and element (i, j) of c at c[i * cRow + j].
/// b is of f32 (float) or of bf16 (uint16_t).
template <typename Element>
struct RowsProductOf {
  int64_t rows, columns, sum;
  const float *a;
  int64_t aRow;
  const Element *b;
  int64_t bColumn;
  float *c;
  int64_t cRow;
};
using RowsProduct = RowsProductOf<float>;
using NarrowRowsProduct = RowsProductOf<uint16_t>;

/// Computes it on the threads of the calling device if there are so few rows,
/// and the processor is such, that this is faster than oneDNN. Else, or if
/// there is no memory to pack the rows, it returns false.
bool multiplyFewRows(const RowsProduct &product);
bool multiplyFewRows(const NarrowRowsProduct &product);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_FEWROWS_H
