//===- RandomRecipe.h - Seeded values of parameters -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one definition of seeded parameter values, shared by the compiler (which
// only stores the recipe), the runtime (which makes the values at load) and
// scripts/ (which write the same values into an ONNX file). Counter based: any
// element can be made without the others. All integer arithmetic is modulo
// 2^64:
//
//   hash    = FNV-1a, 64 bits, over the UTF-8 bytes of the parameter's name
//   mix(x)  = the finaliser of splitmix64 (Steele, Lea, Flood, 2014):
//             x ^= x >> 30; x *= 0xbf58476d1ce4e5b9;
//             x ^= x >> 27; x *= 0x94d049bb133111eb; x ^= x >> 31
//   key     = mix(mix(seed + G) ^ hash)             G = 0x9e3779b97f4a7c15
//   r(j)    = mix(key + (j + 1) * G)
//   u(j)    = ((r(j) >> 11) + 0.5) * 2^-53          in (0, 1], double
//   element i, row-major in the whole parameter, p = i - i mod 2:
//     Normal(mean, stddev): radius = sqrt(-2 ln u(p)), angle = 2 pi u(p+1)
//                           z = radius * (i even ? cos(angle) : sin(angle))
//                           value = mean + stddev * z
//     Uniform(lo, hi):      value = lo + (hi - lo) * u(i)
//   computed in double, rounded to the parameter's element type.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_RUNTIME_RANDOMRECIPE_H
#define SOAP_RUNTIME_RANDOMRECIPE_H

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace soap::recipe {

inline constexpr uint64_t golden = 0x9e3779b97f4a7c15ull;

/// 64-bit FNV-1a over `size` bytes of a name.
inline uint64_t hashName(const char *name, size_t size) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i != size; ++i)
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3ull;
  return hash;
}

inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// The stream of one parameter.
inline uint64_t keyOf(uint64_t seed, uint64_t nameHash) {
  return mix(mix(seed + golden) ^ nameHash);
}

/// The j-th uniform number of a stream, in (0, 1].
inline double uniform(uint64_t key, uint64_t j) {
  return (static_cast<double>(mix(key + (j + 1) * golden) >> 11) + 0.5) *
         0x1p-53;
}

struct Pair {
  double even, odd;
};

/// Elements `i` and `i + 1` (i even) of a normally distributed parameter.
inline Pair normalPair(uint64_t key, uint64_t i, double mean, double stddev) {
  constexpr double twoPi = 6.283185307179586476925286766559;
  double radius = std::sqrt(-2.0 * std::log(uniform(key, i)));
  double angle = twoPi * uniform(key, i + 1);
  return {mean + stddev * (radius * std::cos(angle)),
          mean + stddev * (radius * std::sin(angle))};
}

/// Element `i` of a normally distributed parameter.
inline double normal(uint64_t key, uint64_t i, double mean, double stddev) {
  Pair pair = normalPair(key, i & ~uint64_t{1}, mean, stddev);
  return i & 1 ? pair.odd : pair.even;
}

/// Element `i` of a parameter that is uniform in (lo, hi].
inline double uniform(uint64_t key, uint64_t i, double lo, double hi) {
  return lo + (hi - lo) * uniform(key, i);
}

} // namespace soap::recipe

#endif // SOAP_RUNTIME_RANDOMRECIPE_H
