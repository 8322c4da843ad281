//===- LrnTest.cpp - Loops of local response norms ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/LrnLoops.h"
#include "CPU/VectorLevel.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace soap::runtime;

namespace soap::runtime {
extern const LrnLoops lrnWide;
} // namespace soap::runtime

static void check(const LrnLoops &loops, int64_t pixels, int64_t channels,
                  int64_t size) {
  std::mt19937 random(static_cast<uint32_t>(channels * size));
  std::uniform_real_distribution<float> uniform(-3, 3);
  auto count = static_cast<size_t>(pixels * channels);
  std::vector<float> x(count), y(count + 1, 7.0f),
      squares(static_cast<size_t>(channels + size - 1));
  for (float &value : x)
    value = uniform(random);
  loops.normalize(
      {pixels, channels, size, 0.5f, 1.5f, x.data(), y.data(), squares.data()});
  EXPECT_EQ(y[count], 7.0f);
  for (size_t i = 0; i != count; ++i) {
    auto channel = static_cast<int64_t>(i) % channels;
    double sum = 0;
    for (int64_t k = std::max<int64_t>(0, channel - size / 2);
         k <= std::min(channels - 1, channel + size / 2); ++k) {
      double value =
          x[i + static_cast<size_t>(k) - static_cast<size_t>(channel)];
      sum += value * value;
    }
    double expected =
        x[i] / std::pow(1.5 + 0.5 / static_cast<double>(size) * sum, 0.75);
    ASSERT_NEAR(y[i], expected, 1e-6 * (1 + std::fabs(expected)))
        << "element " << i << " of " << pixels << " x " << channels << ", size "
        << size;
  }
}

TEST(Lrn, AllLoops) {
  std::vector<const LrnLoops *> all = {&lrnWide};
#ifdef SOAP_VECTOR_LOOPS_X86
  if (vectorLevel() == VectorLevel::AVX512)
    all.push_back(&lrnAVX512);
  if (vectorLevel() != VectorLevel::None)
    all.push_back(&lrnAVX2);
#endif
  for (const LrnLoops *loops : all)
    for (int64_t channels : {1, 2, 5, 16, 31, 96, 131})
      for (int64_t size : {1, 3, 5, 9})
        check(*loops, 3, channels, size);
}
