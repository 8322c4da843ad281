//===- NarrowFloats.cpp - Floats of 16 bits -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/NarrowFloats.h"
#include <cstring>

using namespace soap;
using namespace soap::runtime;

static float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

static void widenBFloats(const uint16_t *from, float *to, size_t count) {
  for (size_t i = 0; i != count; ++i)
    to[i] = fromBits(uint32_t{from[i]} << 16);
}

/// The exponent of f16 has another bias. A subnormal number has the exponent of
/// the least normal one, and no leading one; no operand here is subnormal in
/// f32, where the thread may take it for zero. Infinity and NaN get the largest
/// exponent.
static void widenHalves(const uint16_t *from, float *to, size_t count) {
  for (size_t i = 0; i != count; ++i) {
    uint32_t magnitude = from[i] & 0x7fffU, sign = from[i] & 0x8000U;
    float subnormal =
        fromBits((magnitude << 13) + (113U << 23)) - fromBits(113U << 23);
    uint32_t bits;
    std::memcpy(&bits, &subnormal, sizeof(bits));
    bits = magnitude < 0x400U ? bits : (magnitude << 13) + (112U << 23);
    bits |= magnitude >= 0x7c00U ? 0x7f800000U : 0U;
    to[i] = fromBits(bits | sign << 16);
  }
}

void runtime::widenFloats(fb::ElementType element, const uint16_t *from,
                          float *to, size_t count) {
  (element == fb::ElementType::BF16 ? widenBFloats : widenHalves)(from, to,
                                                                  count);
}

void runtime::roundToBFloats(const float *from, uint16_t *to, size_t count) {
  for (size_t i = 0; i != count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &from[i], sizeof(bits));
    uint32_t rounded = bits + 0x7fffU + (bits >> 16 & 1U);
    bool isNaN = (bits & 0x7fffffffU) > 0x7f800000U;
    to[i] = static_cast<uint16_t>((isNaN ? bits | 0x400000U : rounded) >> 16);
  }
}
