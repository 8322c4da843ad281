//===- SmallFloats.cpp - Floats of 8 and 16 bits --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// IEEE 754-2019, section 3.4 (f16), the upper half of f32 (bf16), and the types
// of ONNX's page "Float stored in 8 bits".
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/SmallFloats.h"
#include <cmath>

using namespace soap;
using namespace soap::tensors;

namespace {
struct Format {
  int width, mantissa, bias;
  uint32_t largest; ///< Bits of the largest number; infinity is the next one.
  uint32_t nan;     ///< Bits of a NaN.
  /// As in IEEE 754; without infinity (FN); and without -0, whose bits are the
  /// one NaN (FNUZ).
  enum class Values { IEEE, FN, FNUZ } values;

  bool hasInfinity() const { return values == Values::IEEE; }
  bool unsignedZero() const { return values == Values::FNUZ; }
};
} // namespace

static const Format *formatOf(soap_element element) {
  static constexpr Format f16 = {16,     10,     15,
                                 0x7bff, 0x7e00, Format::Values::IEEE};
  static constexpr Format bf16 = {16,     7,      127,
                                  0x7f7f, 0x7fc0, Format::Values::IEEE};
  static constexpr Format e4m3fn = {8, 3, 7, 0x7e, 0x7f, Format::Values::FN};
  static constexpr Format e5m2 = {8, 2, 15, 0x7b, 0x7e, Format::Values::IEEE};
  static constexpr Format e4m3fnuz = {8,    3,    8,
                                      0x7f, 0x80, Format::Values::FNUZ};
  static constexpr Format e5m2fnuz = {8,    2,    16,
                                      0x7f, 0x80, Format::Values::FNUZ};
  switch (element) {
  case SOAP_F16:
    return &f16;
  case SOAP_BF16:
    return &bf16;
  case SOAP_F8E4M3FN:
    return &e4m3fn;
  case SOAP_F8E5M2:
    return &e5m2;
  case SOAP_F8E4M3FNUZ:
    return &e4m3fnuz;
  case SOAP_F8E5M2FNUZ:
    return &e5m2fnuz;
  default:
    return nullptr;
  }
}

bool tensors::isSmallFloat(soap_element element) {
  return formatOf(element) != nullptr;
}

double tensors::decodeFloat(soap_element element, uint32_t bits) {
  const Format &format = *formatOf(element);
  uint32_t sign = 1u << (format.width - 1), magnitude = bits & (sign - 1);
  if (format.unsignedZero() ? bits == format.nan : magnitude > format.largest) {
    bool isInfinite = format.hasInfinity() && magnitude == format.largest + 1;
    if (!isInfinite)
      return NAN;
    return bits & sign ? -INFINITY : INFINITY;
  }
  auto exponent = static_cast<int>(magnitude >> format.mantissa);
  uint32_t digits = magnitude & ((1u << format.mantissa) - 1);
  if (exponent == 0)
    exponent = 1; // Subnormal numbers.
  else
    digits |= 1u << format.mantissa;
  double value = std::ldexp(digits, exponent - format.bias - format.mantissa);
  return bits & sign ? -value : value;
}

uint32_t tensors::encodeFloat(soap_element element, double value) {
  const Format &format = *formatOf(element);
  if (std::isnan(value))
    return format.nan;
  uint32_t sign = std::signbit(value) ? 1u << (format.width - 1) : 0;
  if (value == 0)
    return format.unsignedZero() ? 0 : sign;
  int exponent = 0;
  (void)std::frexp(value, &exponent);
  // The place of the last digit; the default rounding is to the nearest.
  exponent = std::max(exponent - 1, 1 - format.bias);
  double digits =
      std::nearbyint(std::ldexp(std::fabs(value), format.mantissa - exponent));
  uint32_t bits = format.largest + 1;
  if (std::isfinite(digits)) {
    // A carry into the exponent is right as it is.
    double code =
        digits + std::ldexp(exponent + format.bias - 1, format.mantissa);
    if (code <= format.largest)
      bits = static_cast<uint32_t>(code);
  }
  if (bits > format.largest && !format.hasInfinity())
    bits = format.nan;
  bool isUnsigned = format.unsignedZero() && (bits == 0 || bits == format.nan);
  return isUnsigned ? bits : bits | sign;
}
