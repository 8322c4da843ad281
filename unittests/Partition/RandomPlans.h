//===- RandomPlans.h - Random producers and consumers -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_PARTITION_RANDOMPLANS_H
#define SOAP_UNITTESTS_PARTITION_RANDOMPLANS_H

#include "soap/Partition/CommPlan.h"
#include <random>
#include <vector>

namespace soap::test {

/// The input of planValue().
struct PlanCase {
  Layout producer;
  std::vector<Need> consumers;
};

/// Draws cases: half of them structured (grids on one device set, in order,
/// with consumers that repeat, transpose, gather, pad or shift the producer's
/// grid), half uniformly random. 1 to 8 devices, uneven tiles, halos, gaps,
/// empty needs, parts, copies, repeated devices, up to four consumers.
class PlanGenerator {
public:
  explicit PlanGenerator(uint64_t seed) : random(seed) {}
  PlanCase draw();

private:
  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(random); }
  llvm::SmallVector<int64_t, 5> cut(int64_t extent, int32_t degree);
  llvm::SmallVector<int32_t, 8> assign(size_t count, bool structured);
  Layout drawProducer(bool structured);
  Need drawTaker(const Layout &producer);
  Need drawConsumer(const Layout &producer, bool structured);

  std::mt19937_64 random;
  llvm::SmallVector<int32_t, 8> deviceSet;
};

} // namespace soap::test

#endif // SOAP_UNITTESTS_PARTITION_RANDOMPLANS_H
