//===- NcclArithmetic.cpp - Arithmetic of the stand-in for NCCL -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclStandIn.h"
#include <algorithm>
#include <cstdint>
#include <cstring>

using namespace soap;

namespace {
/// A bfloat16 that rounds to nearest, ties to even.
struct BFloat16 {
  BFloat16() = default;
  BFloat16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof(wide));
    bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  operator float() const {
    uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  uint16_t bits = 0;
};
} // namespace

size_t standin::sizeOfNcclType(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  default:
    return 8;
  }
}

template <typename T, typename Wide = T>
static void join(ncclRedOp_t op, std::string &sum, const std::string &x) {
  for (size_t at = 0; at + sizeof(T) <= sum.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, &sum[at], sizeof(T));
    std::memcpy(&b, &x[at], sizeof(T));
    Wide wideA = a, wideB = b;
    T result = static_cast<T>(op == ncclSum    ? wideA + wideB
                              : op == ncclProd ? wideA * wideB
                              : op == ncclMax  ? std::max(wideA, wideB)
                                               : std::min(wideA, wideB));
    std::memcpy(&sum[at], &result, sizeof(T));
  }
}

void standin::joinNccl(ncclDataType_t type, ncclRedOp_t op, std::string &sum,
                       const std::string &x) {
  switch (type) {
  case ncclInt8:
    return join<int8_t, int32_t>(op, sum, x);
  case ncclUint8:
    return join<uint8_t, uint32_t>(op, sum, x);
  case ncclInt32:
    return join<int32_t, int64_t>(op, sum, x);
  case ncclUint32:
    return join<uint32_t>(op, sum, x);
  case ncclInt64:
    return join<int64_t>(op, sum, x);
  case ncclUint64:
    return join<uint64_t>(op, sum, x);
  case ncclFloat16:
    return join<_Float16, float>(op, sum, x);
  case ncclBfloat16:
    return join<BFloat16, float>(op, sum, x);
  case ncclFloat32:
    return join<float>(op, sum, x);
  default:
    return join<double>(op, sum, x);
  }
}
