//===- RandomFill.cpp - Seeded values, many at a time ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/RandomFill.h"
#include "soap/Runtime/RandomRecipe.h"
#include <algorithm>
#include <cstring>

using namespace soap;
using namespace soap::runtime;

#define SOAP_INLINE inline __attribute__((always_inline))

/// ln(u) for u in (0, 1], by the series of 2 atanh((m - 1) / (m + 1)) with
/// u = m 2^e and m in [sqrt(1/2), sqrt(2)).
static SOAP_INLINE double logarithm(double u) {
  uint64_t bits;
  std::memcpy(&bits, &u, sizeof(bits));
  // Adding the difference between 1.0 and sqrt(1/2) moves the cut to there.
  uint64_t shifted = bits + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  // The exponent as a double, by the mantissa of 2^52.
  uint64_t exponentBits = (shifted >> 52) | 0x4330000000000000ull;
  double exponent;
  std::memcpy(&exponent, &exponentBits, sizeof(exponent));
  exponent -= 0x1p52 + 1023;
  uint64_t mantissaBits =
      (shifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull;
  double m;
  std::memcpy(&m, &mantissaBits, sizeof(m));
  double s = (m - 1) / (m + 1), s2 = s * s;
  double series = 1.0 / 19;
#pragma clang loop unroll(full)
  for (int odd = 17; odd > 0; odd -= 2)
    series = series * s2 + 1.0 / odd;
  return exponent * 0.693147180559945309417232 + 2 * s * series;
}

/// sin and cos of 2 pi u for u in (0, 1]: Taylor series within an eighth of a
/// turn around the nearest quarter.
static SOAP_INLINE void sinCos(double u, double &sin, double &cos) {
  // The nearest integer to 4 u, as a double and in the low mantissa bits.
  double magic = 4 * u + 0x1.8p52;
  uint64_t quarter;
  std::memcpy(&quarter, &magic, sizeof(quarter));
  double x = (u - 0.25 * (magic - 0x1.8p52)) * 6.283185307179586476925286766559;
  double x2 = x * x;
  double s = 1, c = 1;
#pragma clang loop unroll(full)
  for (int n = 16; n > 0; n -= 2) {
    s = 1 - s * x2 * (1.0 / (n * (n + 1)));
    c = 1 - c * x2 * (1.0 / (n * (n - 1)));
  }
  s *= x;
  bool odd = quarter & 1, negativeSin = quarter & 2,
       negativeCos = (quarter + 1) & 2;
  sin = odd ? c : s;
  cos = odd ? s : c;
  sin = negativeSin ? -sin : sin;
  cos = negativeCos ? -cos : cos;
}

namespace {
struct Recipe {
  uint64_t key;
  bool uniform;
  double a, b;
};
} // namespace

/// Elements [2 * pair, 2 * (pair + pairs)).
template <typename T>
static SOAP_INLINE void makePairs(const Recipe &r, uint64_t pair, int64_t pairs,
                                  T *target) {
  if (r.uniform) {
#pragma clang loop vectorize(enable)
    for (int64_t i = 0; i < 2 * pairs; ++i)
      target[i] =
          static_cast<T>(recipe::uniform(r.key, 2 * pair + i, r.a, r.b));
    return;
  }
#pragma clang loop vectorize(enable)
  for (int64_t i = 0; i < pairs; ++i) {
    uint64_t element = 2 * (pair + i);
    double radius =
        std::sqrt(-2.0 * logarithm(recipe::uniform(r.key, element)));
    double sin, cos;
    sinCos(recipe::uniform(r.key, element + 1), sin, cos);
    target[2 * i] = static_cast<T>(r.a + r.b * (radius * cos));
    target[2 * i + 1] = static_cast<T>(r.a + r.b * (radius * sin));
  }
}

template <typename T>
static void makePairsPlain(const Recipe &r, uint64_t pair, int64_t pairs,
                           T *target) {
  makePairs(r, pair, pairs, target);
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx2,fma"))) static void
makePairsAVX2(const Recipe &r, uint64_t pair, int64_t pairs, T *target) {
  makePairs(r, pair, pairs, target);
}

template <typename T>
__attribute__((target("avx512f,avx512dq,avx512vl,fma"))) static void
makePairsAVX512(const Recipe &r, uint64_t pair, int64_t pairs, T *target) {
  makePairs(r, pair, pairs, target);
}
#endif

template <typename T>
static void fill(const fb::Random &random, int64_t start, int64_t count,
                 T *target) {
  auto make = makePairsPlain<T>;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    make = makePairsAVX512<T>;
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    make = makePairsAVX2<T>;
#endif
  Recipe r{recipe::keyOf(random.seed(), random.name_hash()),
           random.distribution() == fb::Distribution::Uniform, random.a(),
           random.b()};
  constexpr int64_t block = 256;
  T values[2 * block];
  while (count > 0) {
    int64_t skip = start % 2;
    int64_t pairs = std::min(block, (skip + count + 1) / 2);
    int64_t taken = std::min(count, 2 * pairs - skip);
    make(r, static_cast<uint64_t>(start / 2), pairs, values);
    std::copy_n(values + skip, taken, target);
    start += taken;
    count -= taken;
    target += taken;
  }
}

void runtime::fillRandom(const fb::Random &random, int64_t start, int64_t count,
                         float *target) {
  fill(random, start, count, target);
}

void runtime::fillRandom(const fb::Random &random, int64_t start, int64_t count,
                         double *target) {
  fill(random, start, count, target);
}
