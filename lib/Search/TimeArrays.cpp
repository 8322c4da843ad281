//===- TimeArrays.cpp - Arithmetic on the times of all resources ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimeArrays.h"
#include "llvm/Support/Compiler.h"
#include <algorithm>

using namespace soap::detail;

// Sanitizers would instrument the functions that choose a width, which run
// before the sanitizers are set up.
#if defined(__x86_64__) && defined(__linux__) &&                               \
    !LLVM_ADDRESS_SANITIZER_BUILD && !LLVM_MEMORY_SANITIZER_BUILD &&           \
    !LLVM_THREAD_SANITIZER_BUILD
#define SOAP_EVERY_WIDTH                                                       \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SOAP_EVERY_WIDTH
#endif

SOAP_EVERY_WIDTH
int64_t soap::detail::largest(const int64_t *a, size_t count) {
  int64_t result = INT64_MIN;
  for (size_t i = 0; i < count; ++i)
    result = std::max(result, a[i]);
  return result;
}

SOAP_EVERY_WIDTH
int64_t soap::detail::largestSum(const int64_t *a, const int64_t *b,
                                 size_t count) {
  int64_t result = INT64_MIN;
  for (size_t i = 0; i < count; ++i)
    result = std::max(result, a[i] + b[i]);
  return result;
}

SOAP_EVERY_WIDTH
int64_t soap::detail::largestSum(const int64_t *a, const int64_t *b,
                                 const int64_t *c, size_t count) {
  int64_t result = INT64_MIN;
  for (size_t i = 0; i < count; ++i)
    result = std::max(result, a[i] + b[i] + c[i]);
  return result;
}

SOAP_EVERY_WIDTH
void soap::detail::addTo(int64_t *sums, const int64_t *a, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sums[i] += a[i];
}

SOAP_EVERY_WIDTH
void soap::detail::subtractFrom(int64_t *sums, const int64_t *a, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sums[i] -= a[i];
}

SOAP_EVERY_WIDTH
void soap::detail::endTasks(const int64_t *start, const int64_t *ns,
                            int64_t shift, int64_t *free, int64_t *ends,
                            size_t count) {
  for (size_t i = 0; i < count; ++i) {
    int64_t end = start[i] + ns[i];
    free[i] = end;
    ends[i] = end - shift;
  }
}

SOAP_EVERY_WIDTH
void soap::detail::leastSums(const int64_t *a, const int64_t *rows,
                             size_t stride, size_t count, int64_t *least,
                             size_t numRows) {
  for (size_t row = 0; row < numRows; ++row, rows += stride) {
    int64_t result = INT64_MAX;
    for (size_t i = 0; i < count; ++i)
      result = std::min(result, a[i] + rows[i]);
    least[row] = result;
  }
}

SOAP_EVERY_WIDTH
int64_t soap::detail::latestEnd(const int64_t *now, const int64_t *loads,
                                const int64_t *ahead, const int64_t *behind,
                                const int64_t *tails, size_t count) {
  int64_t result = INT64_MIN;
  for (size_t i = 0; i < count; ++i)
    result =
        std::max(result, now[i] + loads[i] + ahead[i] - behind[i] + tails[i]);
  return result;
}

/// Most rows fail, and at the first resources: so many are looked at before it
/// is asked whether one of them has failed.
static constexpr size_t atATime = 16;

SOAP_EVERY_WIDTH
bool soap::detail::areShifted(const RowTimes &row, int64_t c, size_t begin,
                              size_t count) {
  const int64_t *old = row.old, *next = row.next, *now = row.now;
  int64_t base = row.base;
  for (size_t r = begin; r < count;) {
    int64_t bad = 0;
    for (size_t end = std::min(count, r + atATime); r < end; ++r) {
      int64_t later = now[r] - base - old[r];
      bad |=
          (later != c) & ((old[r] >= next[r]) | (later + old[r] - c > next[r]));
    }
    if (bad)
      return false;
  }
  return true;
}

SOAP_EVERY_WIDTH
bool soap::detail::areLater(const RowTimes &row, int64_t gain, size_t count) {
  const int64_t *old = row.old, *next = row.next, *now = row.now;
  int64_t base = row.base;
  for (size_t r = 0; r < count;) {
    int64_t bad = 0;
    for (size_t end = std::min(count, r + atATime); r < end; ++r)
      bad |= (now[r] - base - old[r] < gain) & (old[r] >= next[r]);
    if (bad)
      return false;
  }
  return true;
}

SOAP_EVERY_WIDTH
bool soap::detail::lowerTo(int64_t *bounds, const int64_t *others, int64_t add,
                           size_t count) {
  int64_t lowered = 0;
  for (size_t i = 0; i < count; ++i) {
    int64_t bound = others[i] + add;
    lowered |= bound < bounds[i];
    bounds[i] = std::min(bounds[i], bound);
  }
  return lowered != 0;
}
