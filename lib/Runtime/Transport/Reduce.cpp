//===- Reduce.cpp - Joins partial results ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/HostMoves.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>
#include <cstring>

using namespace soap;
using namespace soap::runtime;

template <typename T, typename Op>
static void joinBlock(T *sum, const T *x, uint64_t count, Op op) {
  for (uint64_t i = 0; i != count; ++i)
    sum[i] = op(sum[i], x[i]);
}

template <typename T>
static void joinBlock(fb::Combine combine, T *sum, const T *x, uint64_t count) {
  switch (combine) {
  case fb::Combine::Sum:
    return joinBlock(sum, x, count, [](T a, T b) { return T(a + b); });
  case fb::Combine::Prod:
    return joinBlock(sum, x, count, [](T a, T b) { return T(a * b); });
  case fb::Combine::Max:
    return joinBlock(sum, x, count, [](T a, T b) { return a < b ? b : a; });
  case fb::Combine::Min:
    return joinBlock(sum, x, count, [](T a, T b) { return b < a ? b : a; });
  case fb::Combine::And:
    return joinBlock(sum, x, count, [](T a, T b) { return T(a && b); });
  case fb::Combine::Or:
    return joinBlock(sum, x, count, [](T a, T b) { return T(a || b); });
  case fb::Combine::None:
    return;
  }
}

template <typename T>
static void reduceTyped(fb::Combine combine, char *target,
                        const std::vector<const char *> &sources,
                        uint64_t count) {
  // Blocks that stay in the first-level cache; the target is written last, as
  // it may be one of the sources.
  constexpr uint64_t block = 2048;
  alignas(64) T sum[block];
  for (uint64_t begin = 0; begin < count; begin += block) {
    uint64_t n = std::min(block, count - begin);
    std::memcpy(sum, sources[0] + begin * sizeof(T), n * sizeof(T));
    for (size_t s = 1; s < sources.size() - SOAP_FAULT("member-lost"); ++s)
      joinBlock(combine, sum, reinterpret_cast<const T *>(sources[s]) + begin,
                n);
    std::memcpy(target + begin * sizeof(T), sum, n * sizeof(T));
  }
}

bool runtime::canReduce(fb::Combine combine, fb::ElementType element) {
  switch (element) {
  case fb::ElementType::F32:
  case fb::ElementType::F64:
  case fb::ElementType::I32:
  case fb::ElementType::I64:
  case fb::ElementType::I8:
  case fb::ElementType::U8:
    return combine != fb::Combine::None;
  case fb::ElementType::Bool:
    return combine == fb::Combine::And || combine == fb::Combine::Or;
  default:
    return false;
  }
}

void runtime::reduceElements(fb::Combine combine, fb::ElementType element,
                             char *target,
                             const std::vector<const char *> &sources,
                             uint64_t count) {
  switch (element) {
  case fb::ElementType::F32:
    return reduceTyped<float>(combine, target, sources, count);
  case fb::ElementType::F64:
    return reduceTyped<double>(combine, target, sources, count);
  case fb::ElementType::I32:
    return reduceTyped<int32_t>(combine, target, sources, count);
  case fb::ElementType::I64:
    return reduceTyped<int64_t>(combine, target, sources, count);
  case fb::ElementType::I8:
    return reduceTyped<int8_t>(combine, target, sources, count);
  case fb::ElementType::U8:
  case fb::ElementType::Bool:
    return reduceTyped<uint8_t>(combine, target, sources, count);
  default:
    return;
  }
}
