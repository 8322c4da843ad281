//===- CompareTest.cpp - Comparison of whole tensors ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/Compare.h"
#include "TestTensors.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace soap::tensors;

static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();
static constexpr float infinity = std::numeric_limits<float>::infinity();

static Comparison compareFloats(const std::vector<float> &got,
                                const std::vector<float> &expected,
                                Tolerance tolerance = {}) {
  return compare("y", tensorOf(SOAP_F32, got), tensorOf(SOAP_F32, expected),
                 tolerance);
}

TEST(Compare, NormsDecideAboutFloats) {
  // The norm of {3, 4} is 5, so that of the difference may be 0.5.
  Tolerance tolerance;
  tolerance.relative = 0.1;
  EXPECT_TRUE(compareFloats({3, 4.49f}, {3, 4}, tolerance).equal);
  Comparison wrong = compareFloats({3, 4.51f}, {3, 4}, tolerance);
  EXPECT_FALSE(wrong.equal);
  EXPECT_EQ(wrong.reason, "1 of 2 elements differ");
  EXPECT_NEAR(wrong.maxAbsolute, 0.51, 1e-6);
  EXPECT_NEAR(wrong.maxRelative, 0.51 / 4, 1e-6);
  EXPECT_NEAR(wrong.normRelative, 0.51 / 5, 1e-6);
}

TEST(Compare, FloatsOf16BitsMayBeRoundedOtherwise) {
  // 1, and bits of numbers one and four places above it.
  auto areEqual = [](soap_element element, uint16_t one, uint16_t places) {
    std::vector<uint16_t> expected = {one, one}, got = expected;
    got[0] = static_cast<uint16_t>(one + places);
    return compare("y", tensorOf(element, got), tensorOf(element, expected), {})
        .equal;
  };
  EXPECT_TRUE(areEqual(SOAP_F16, 0x3c00, 1));
  EXPECT_FALSE(areEqual(SOAP_F16, 0x3c00, 4));
  EXPECT_TRUE(areEqual(SOAP_BF16, 0x3f80, 1));
  EXPECT_FALSE(areEqual(SOAP_BF16, 0x3f80, 4));
  EXPECT_FALSE(compareFloats({1 + 0x1p-10f, 1}, {1, 1}).equal);
}

TEST(Compare, SmallValuesAreComparedAbsolutely) {
  Tolerance tolerance;
  tolerance.absolute = 1e-3;
  EXPECT_TRUE(compareFloats({1e-4f, 9e-4f}, {1e-5f, 0}, tolerance).equal);
  EXPECT_FALSE(compareFloats({1e-4f, 2e-3f}, {1e-5f, 0}, tolerance).equal);
}

TEST(Compare, NotANumberIsEqualOnlyIfAsked) {
  Tolerance tolerance;
  Comparison wrong = compareFloats({1, notANumber}, {1, notANumber}, tolerance);
  EXPECT_FALSE(wrong.equal);
  EXPECT_EQ(wrong.reason, "1 elements are NaN");
  tolerance.nanEqual = true;
  EXPECT_TRUE(compareFloats({1, notANumber}, {1, notANumber}, tolerance).equal);
  wrong = compareFloats({notANumber, 1}, {1, notANumber}, tolerance);
  EXPECT_FALSE(wrong.equal);
  EXPECT_EQ(wrong.reason, "2 elements are NaN on one side only");
}

TEST(Compare, AnInfinityEqualsItselfOnly) {
  EXPECT_TRUE(compareFloats({infinity, 1}, {infinity, 1}).equal);
  EXPECT_FALSE(compareFloats({-infinity, 1}, {infinity, 1}).equal);
  EXPECT_FALSE(compareFloats({1, 1}, {infinity, 1}).equal);
  EXPECT_FALSE(compareFloats({infinity, 1}, {1, 1}).equal);
}

TEST(Compare, IntegersAreEqualBitByBit) {
  auto big = tensorOf<int64_t>(SOAP_I64, {1000000000000, 2});
  EXPECT_TRUE(compare("y", big, big, {}).equal);
  auto other = tensorOf<int64_t>(SOAP_I64, {1000000000001, 2});
  Comparison wrong = compare("y", other, big, {});
  EXPECT_FALSE(wrong.equal);
  EXPECT_EQ(wrong.reason, "1 of 2 elements differ");
}

TEST(Compare, IntegersThatADoubleCannotTellApart) {
  // 2^53 + 1 and 2^53 are the same double.
  auto even = tensorOf<int64_t>(SOAP_I64, {int64_t{1} << 53});
  auto odd = tensorOf<int64_t>(SOAP_I64, {(int64_t{1} << 53) + 1});
  EXPECT_FALSE(compare("y", odd, even, {}).equal);
  auto large = tensorOf<uint64_t>(SOAP_U64, {~uint64_t{0}});
  auto larger = tensorOf<uint64_t>(SOAP_U64, {~uint64_t{0} - 1});
  EXPECT_FALSE(compare("y", large, larger, {}).equal);
}

TEST(Compare, TypesAndShapesMustBeTheSame) {
  auto floats = tensorOf<float>(SOAP_F32, {1, 2});
  auto integers = tensorOf<int32_t>(SOAP_I32, {1, 2});
  EXPECT_THROW(compare("y", floats, integers, {}), UsageError);
  Tensor column = floats;
  column.shape = {2, 1};
  EXPECT_THROW(compare("y", floats, column, {}), UsageError);
}
