//===- Random.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random numbers that are a function of (seed, chain, step), so that a search
// gives the same result at any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_RANDOM_H
#define SOAP_SEARCH_RANDOM_H

#include <cstdint>

namespace soap {

/// A stream of numbers for one step of one chain (splitmix64 of a counter).
class Random {
public:
  Random(uint64_t seed, uint64_t chain, uint64_t step)
      : state_(mix(mix(mix(seed) ^ chain) ^ step)) {}

  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ull); }
  /// Uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>(
        (static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  uint64_t state_;
};

} // namespace soap

#endif // SOAP_SEARCH_RANDOM_H
