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
#include "CPU/RowsLoops.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include <algorithm>
#include <new>
#include <vector>

using namespace soap;
using namespace soap::runtime;

/// Of more rows oneDNN is as fast: a packed factor serves all of them. The
/// larger the factor, the more rows that takes; of one that the second-level
/// cache holds, oneDNN's loops with AVX-512 are faster from two rows on.
template <typename Element>
static int64_t mostDotRows(const RowsProductOf<Element> &product,
                           const RowsLoops &loops) {
  constexpr int64_t fewElements = int64_t{256} << 10;
  constexpr int64_t manyElements = int64_t{2} << 20;
  int64_t elements = product.columns * product.sum;
  bool isWide = loops.width == 16;
  if (elements <= fewElements)
    return isWide ? 1 : 8;
  return isWide || elements >= manyElements ? 64 : 32;
}

const RowsLoops *runtime::rowsLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return forVectors<const RowsLoops *>(&rowsAVX512, &rowsAVX2, nullptr);
#else
  return nullptr;
#endif
}

namespace {
template <typename Element>
struct RowParts {
  const RowsLoops *loops;
  const RowsProductOf<Element> *product;
  const float *packed;
  int64_t count;
};
} // namespace

template <typename Element>
static void runPart(void *data, size_t number) {
  const auto &[loops, product, packed, count] =
      *static_cast<const RowParts<Element> *>(data);
  auto part = static_cast<int64_t>(number);
  int64_t begin = product->columns * part / count;
  int64_t end = product->columns * (part + 1) / count;
  RowsProductOf<Element> own = *product;
  own.columns = end - begin;
  own.b += begin * own.bColumn;
  own.c += begin;
  loops->multiply(own, packed);
}

template <typename Element>
static bool multiply(const RowsProductOf<Element> &product) {
  static const RowsLoops *const loops = rowsLoops();
  if (!loops || product.rows > mostDotRows(product, *loops))
    return false;
  // Parts of less than a few microseconds are not worth waking threads up.
  constexpr int64_t leastElements = int64_t{64} << 10;
  int64_t most = product.columns * product.sum / leastElements;
  // Kept for the next product: a layer has one in every step.
  thread_local std::vector<float> packed;
  try {
    packed.resize(std::max(packed.size(),
                           loops->packedFloats(product.rows, product.sum)));
  } catch (const std::bad_alloc &) {
    return false; // Native kernels have another way, and cannot fail.
  }
  loops->pack(
      {product.rows, product.sum, product.a, product.aRow, packed.data()});
  RowParts<Element> parts = {
      loops, &product, packed.data(),
      std::clamp<int64_t>(most, 1, static_cast<int64_t>(threadCount()))};
  runParallel(static_cast<size_t>(parts.count), runPart<Element>, &parts);
  return true;
}

bool runtime::multiplyFewRows(const RowsProduct &product) {
  return multiply(product);
}

bool runtime::multiplyFewRows(const NarrowRowsProduct &product) {
  return multiply(product);
}
