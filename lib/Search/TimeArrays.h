//===- TimeArrays.h - Arithmetic on the times of all resources --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a delta simulation does at every row with one time per resource. The
// functions exist once per width of vectors, because maxima of 64-bit integers
// need AVX2 or AVX-512 to be vectorized. Times are nanoseconds.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_TIMEARRAYS_H
#define SOAP_LIB_SEARCH_TIMEARRAYS_H

#include <cstddef>
#include <cstdint>

namespace soap::detail {

/// The largest of `count` numbers, and of their sums by element; at least
/// INT64_MIN.
int64_t largest(const int64_t *a, size_t count);
int64_t largestSum(const int64_t *a, const int64_t *b, size_t count);
int64_t largestSum(const int64_t *a, const int64_t *b, const int64_t *c,
                   size_t count);

/// @{ sums[i] += a[i], and sums[i] -= a[i].
void addTo(int64_t *sums, const int64_t *a, size_t count);
void subtractFrom(int64_t *sums, const int64_t *a, size_t count);
/// @}

/// Tasks that start at `start` and take `ns`: when their streams are `free`,
/// and the same less `shift`.
void endTasks(const int64_t *start, const int64_t *ns, int64_t shift,
              int64_t *free, int64_t *ends, size_t count);

/// least[r] is the least a[i] + rows[r * stride + i] of i < count.
void leastSums(const int64_t *a, const int64_t *rows, size_t stride,
               size_t count, int64_t *least, size_t numRows);

/// The largest of `now` + `loads` + `ahead` - `behind` + `tails`.
int64_t latestEnd(const int64_t *now, const int64_t *loads,
                  const int64_t *ahead, const int64_t *behind,
                  const int64_t *tails, size_t count);

/// Resources at a row: when they were free (`old`) and used `next`, both less
/// `base`, and when they are free `now`.
struct RowTimes {
  const int64_t *old, *next, *now;
  int64_t base;
};

/// True if all resources from `begin` on are later by `c`, or were not waited
/// for and are not now.
bool areShifted(const RowTimes &row, int64_t c, size_t begin, size_t count);
/// True if all resources that were waited for are later by at least `gain`.
bool areLater(const RowTimes &row, int64_t gain, size_t count);

/// Makes `bounds` no higher than `others` + `add`. True if one became lower.
bool lowerTo(int64_t *bounds, const int64_t *others, int64_t add, size_t count);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_TIMEARRAYS_H
