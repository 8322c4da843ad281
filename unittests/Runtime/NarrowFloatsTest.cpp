//===- NarrowFloatsTest.cpp - Floats of 16 bits as f32 --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/NarrowFloats.h"
#include "Denormals.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <vector>

using namespace soap;

/// What IEEE 754-2019, section 3.4, says of the bits of an f16.
static float halfOf(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float magnitude =
      exponent == 31 ? (mantissa ? NAN : INFINITY)
      : exponent == 0
          ? std::ldexp(static_cast<float>(mantissa), -24)
          : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

/// Also where the thread takes denormal numbers of f32 for zeros.
TEST(NarrowFloats, AllHalves) {
  for (bool flushes : {false, true})
    std::thread([flushes] {
      std::vector<uint16_t> bits(1 << 16);
      std::iota(bits.begin(), bits.end(), 0);
      std::vector<float> expected, got(bits.size());
      for (uint16_t each : bits)
        expected.push_back(halfOf(each));
      if (flushes)
        runtime::flushDenormals();
      runtime::widenFloats(fb::ElementType::F16, bits.data(), got.data(),
                           bits.size());
      for (uint16_t each : bits) {
        if (std::isnan(expected[each]))
          EXPECT_TRUE(std::isnan(got[each])) << each;
        else
          EXPECT_EQ(got[each], expected[each]) << each;
        EXPECT_EQ(std::signbit(got[each]), each >> 15 != 0) << each;
      }
    }).join();
}
