//===- EncodedFloats.h - Whole numbers as floats of 16 bits -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_RUNTIME_ENCODEDFLOATS_H
#define SOAP_UNITTESTS_RUNTIME_ENCODEDFLOATS_H

#include "Types.h"
#include <cstring>
#include <vector>

namespace soap::test {

/// Numbers of so few bits that `type` (F32, F16 or BF16) has them exactly.
inline std::vector<char> encoded(const std::vector<float> &values,
                                 fb::ElementType type) {
  std::vector<char> bytes(values.size() * runtime::elementSize(type));
  for (size_t i = 0; i != values.size(); ++i) {
    if (type == fb::ElementType::F32) {
      std::memcpy(&bytes[4 * i], &values[i], 4);
    } else if (type == fb::ElementType::BF16) {
      uint32_t bits;
      std::memcpy(&bits, &values[i], 4);
      auto high = static_cast<uint16_t>(bits >> 16);
      std::memcpy(&bytes[2 * i], &high, 2);
    } else {
      auto half = static_cast<_Float16>(values[i]);
      std::memcpy(&bytes[2 * i], &half, 2);
    }
  }
  return bytes;
}

/// The reverse, of any numbers.
inline std::vector<float> decoded(const std::vector<char> &bytes,
                                  fb::ElementType type) {
  std::vector<float> values(bytes.size() / runtime::elementSize(type));
  for (size_t i = 0; i != values.size(); ++i) {
    if (type == fb::ElementType::F32) {
      std::memcpy(&values[i], &bytes[4 * i], 4);
    } else if (type == fb::ElementType::BF16) {
      uint16_t high;
      std::memcpy(&high, &bytes[2 * i], 2);
      uint32_t bits = uint32_t{high} << 16;
      std::memcpy(&values[i], &bits, 4);
    } else {
      _Float16 half;
      std::memcpy(&half, &bytes[2 * i], 2);
      values[i] = static_cast<float>(half);
    }
  }
  return values;
}

} // namespace soap::test

#endif // SOAP_UNITTESTS_RUNTIME_ENCODEDFLOATS_H
