//===- FewRows.cpp - Products of a few rows -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of a recurrent layer is a product of as many rows as there are samples
// with a factor of megabytes, which takes as long as that factor is read.
// oneDNN 2.6 packs it first where there are two rows or more, and reads it in
// one stream of addresses where there is one; several streams are faster
// (docs/Runtime.md has the table).
//
//===----------------------------------------------------------------------===//

#include "CPU/FewRows.h"
#include "CPU/Threads.h"
#include <algorithm>
#include <array>

using namespace soap;
using namespace soap::runtime;

#if defined(__x86_64__)
#include <immintrin.h>

/// Of more rows oneDNN is as fast: a packed factor serves all of them. With a
/// factor that the second-level cache does not hold, that takes more rows.
static int64_t mostDotRows(const RowsProduct &product) {
  constexpr int64_t manyElements = int64_t{2} << 20;
  return product.columns * product.sum < manyElements ? 8 : 64;
}
/// Columns of b that are read at once.
static constexpr int64_t together = 4;

#define SOAP_AVX2 __attribute__((target("avx2,fma")))

/// The sums of the elements of each vector.
SOAP_AVX2 static std::array<float, 4> sumsOf(const __m256 (&v)[4]) {
  __m256 pairs =
      _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  std::array<float, 4> sums;
  _mm_storeu_ps(sums.data(), _mm_add_ps(_mm256_castps256_ps128(pairs),
                                        _mm256_extractf128_ps(pairs, 1)));
  return sums;
}

SOAP_AVX2 static std::array<float, 1> sumsOf(const __m256 (&v)[1]) {
  __m128 half =
      _mm_add_ps(_mm256_castps256_ps128(v[0]), _mm256_extractf128_ps(v[0], 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return {_mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)))};
}

/// `Rows` rows of c from `row` on, in `Columns` columns from `column` on, of
/// which every `step`-th one.
template <int64_t Rows, int64_t Columns>
SOAP_AVX2 static void addTile(const RowsProduct &p, int64_t row, int64_t column,
                              int64_t step) {
  constexpr int64_t lanes = 8;
  const float *a = p.a + row * p.aRow, *b = p.b + column * p.bColumn;
  float *c = p.c + row * p.cRow + column;
  int64_t bStep = step * p.bColumn, k = 0;
  __m256 sums[Rows][Columns];
  for (auto &ofRow : sums)
    for (__m256 &sum : ofRow)
      sum = _mm256_setzero_ps();
  for (; k + lanes <= p.sum; k += lanes) {
    __m256 x[Rows];
    for (int64_t i = 0; i != Rows; ++i)
      x[i] = _mm256_loadu_ps(a + i * p.aRow + k);
    for (int64_t j = 0; j != Columns; ++j) {
      __m256 y = _mm256_loadu_ps(b + j * bStep + k);
      for (int64_t i = 0; i != Rows; ++i)
        sums[i][j] = _mm256_fmadd_ps(x[i], y, sums[i][j]);
    }
  }
  for (int64_t i = 0; i != Rows; ++i) {
    auto sum = sumsOf(sums[i]);
    for (int64_t j = 0; j != Columns; ++j) {
      for (int64_t rest = k; rest < p.sum; ++rest)
        sum[j] += a[i * p.aRow + rest] * b[j * bStep + rest];
      c[i * p.cRow + j * step] += sum[j];
    }
  }
}

/// All rows of `Columns` columns: three at a time fill the registers.
template <int64_t Columns>
SOAP_AVX2 static void addColumns(const RowsProduct &p, int64_t column,
                                 int64_t step) {
  int64_t row = 0;
  for (; row + 3 <= p.rows; row += 3)
    addTile<3, Columns>(p, row, column, step);
  if (p.rows - row == 2)
    addTile<2, Columns>(p, row, column, step);
  else if (p.rows - row == 1)
    addTile<1, Columns>(p, row, column, step);
}

SOAP_AVX2 static void addPart(const RowsProduct &p) {
  int64_t groups = p.columns / together;
  // One row is never read again, and four streams far apart are faster.
  bool isApart = p.rows == 1;
  for (int64_t group = 0; group != groups; ++group)
    if (isApart)
      addColumns<together>(p, group, groups);
    else
      addColumns<together>(p, group * together, 1);
  for (int64_t column = groups * together; column != p.columns; ++column)
    addColumns<1>(p, column, 1);
}

namespace {
struct RowParts {
  const RowsProduct *product;
  int64_t count;
};
} // namespace

static void runPart(void *data, size_t number) {
  const auto &[product, count] = *static_cast<const RowParts *>(data);
  auto part = static_cast<int64_t>(number);
  int64_t begin = product->columns * part / count;
  int64_t end = product->columns * (part + 1) / count;
  RowsProduct own = *product;
  own.columns = end - begin;
  own.b += begin * own.bColumn;
  own.c += begin;
  addPart(own);
}

bool runtime::multiplyFewRows(const RowsProduct &product) {
  static const bool hasInstructions =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (product.rows > mostDotRows(product) || !hasInstructions)
    return false;
  // Parts of less than a few microseconds are not worth waking threads up.
  constexpr int64_t leastElements = int64_t{64} << 10;
  int64_t most = product.columns * product.sum / leastElements;
  RowParts parts = {
      &product,
      std::clamp<int64_t>(most, 1, static_cast<int64_t>(threadCount()))};
  runParallel(static_cast<size_t>(parts.count), runPart, &parts);
  return true;
}

#else
bool runtime::multiplyFewRows(const RowsProduct &) { return false; }
#endif
