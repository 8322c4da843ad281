//===- Reduce.cpp - Joins partial results ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/HostMoves.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

using namespace soap;
using namespace soap::runtime;

namespace {
/// A float of 16 bits, with a sign bit in front: IEEE binary16 or bfloat16, by
/// the bits of infinity. Sums are those of look-ups, of which all terms but one
/// are 0: other sums and products are made of partial results in f32.
template <uint16_t infinity>
struct Half {
  uint16_t bits;

  bool isNaN() const { return (bits & 0x7fff) > infinity; }
  bool isZero() const { return (bits & 0x7fff) == 0; }
  /// Ascending as the numbers are.
  int32_t order() const {
    auto magnitude = static_cast<int32_t>(bits & 0x7fff);
    return bits & 0x8000 ? -magnitude : magnitude;
  }
  bool operator<(Half other) const {
    return !isNaN() && !other.isNaN() && order() < other.order();
  }
  bool operator!=(Half other) const { return isNaN() || bits != other.bits; }
};
using Float16 = Half<0x7c00>;
using BFloat16 = Half<0x7f80>;

template <typename T>
constexpr bool isHalf =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
} // namespace

template <typename T, typename Op>
static void joinBlock(T *sum, const T *x, uint64_t count, Op op) {
  for (uint64_t i = 0; i != count; ++i)
    sum[i] = op(sum[i], x[i]);
}

/// The larger or the smaller one, or NaN if one is: only NaN differs from
/// itself.
template <typename T>
static bool joinOrder(fb::Combine combine, T *sum, const T *x, uint64_t count) {
  if (combine == fb::Combine::Max)
    joinBlock(sum, x, count,
              [](T a, T b) { return (a < b || b != b) ? b : a; });
  else if (combine == fb::Combine::Min)
    joinBlock(sum, x, count,
              [](T a, T b) { return (b < a || b != b) ? b : a; });
  else
    return false;
  return true;
}

template <typename T>
static void joinBlock(fb::Combine combine, T *sum, const T *x, uint64_t count) {
  if (joinOrder(combine, sum, x, count))
    return;
  if constexpr (isHalf<T>) {
    // One of the two is 0: the sum is the other one.
    joinBlock(sum, x, count, [](T a, T b) { return b.isZero() ? a : b; });
  } else {
    // Of unsigned integers, and of signed ones as the machine wraps them.
    using W = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    switch (combine) {
    case fb::Combine::Sum:
      return joinBlock(sum, x, count, [](T a, T b) { return T(W(a) + W(b)); });
    case fb::Combine::Prod:
      return joinBlock(sum, x, count, [](T a, T b) { return T(W(a) * W(b)); });
    case fb::Combine::And:
      return joinBlock(sum, x, count, [](T a, T b) { return T(a && b); });
    case fb::Combine::Or:
      return joinBlock(sum, x, count, [](T a, T b) { return T(a || b); });
    default:
      return;
    }
  }
}

template <typename T>
static void reduceTyped(fb::Combine combine, const std::vector<char *> &targets,
                        const std::vector<const char *> &sources,
                        uint64_t count) {
  // Blocks that stay in the first-level cache; targets are written last, as
  // they may be sources.
  constexpr uint64_t block = 2048;
  alignas(64) T sum[block];
  for (uint64_t begin = 0; begin < count; begin += block) {
    uint64_t n = std::min(block, count - begin);
    std::memcpy(sum, sources[0] + begin * sizeof(T), n * sizeof(T));
    for (size_t s = 1; s < sources.size() - SOAP_FAULT("member-lost"); ++s)
      joinBlock(combine, sum, reinterpret_cast<const T *>(sources[s]) + begin,
                n);
    if (SOAP_FAULT("shard-added-twice"))
      joinBlock(combine, sum,
                reinterpret_cast<const T *>(sources.back()) + begin, n);
    for (char *target : targets)
      std::memcpy(target + begin * sizeof(T), sum, n * sizeof(T));
  }
}

bool runtime::canReduce(fb::Combine combine, fb::ElementType element) {
  bool orders = combine == fb::Combine::Max || combine == fb::Combine::Min;
  switch (element) {
  case fb::ElementType::F32:
  case fb::ElementType::F64:
  case fb::ElementType::I8:
  case fb::ElementType::I16:
  case fb::ElementType::I32:
  case fb::ElementType::I64:
  case fb::ElementType::U8:
  case fb::ElementType::U16:
  case fb::ElementType::U32:
  case fb::ElementType::U64:
    return combine != fb::Combine::None;
  case fb::ElementType::F16:
  case fb::ElementType::BF16:
    return orders || combine == fb::Combine::Sum;
  case fb::ElementType::Bool:
    return orders || combine == fb::Combine::And || combine == fb::Combine::Or;
  default:
    return false;
  }
}

void runtime::reduceElements(fb::Combine combine, fb::ElementType element,
                             const std::vector<char *> &targets,
                             const std::vector<const char *> &sources,
                             uint64_t count) {
  switch (element) {
  case fb::ElementType::F32:
    return reduceTyped<float>(combine, targets, sources, count);
  case fb::ElementType::F64:
    return reduceTyped<double>(combine, targets, sources, count);
  case fb::ElementType::F16:
    return reduceTyped<Float16>(combine, targets, sources, count);
  case fb::ElementType::BF16:
    return reduceTyped<BFloat16>(combine, targets, sources, count);
  case fb::ElementType::I8:
    return reduceTyped<int8_t>(combine, targets, sources, count);
  case fb::ElementType::I16:
    return reduceTyped<int16_t>(combine, targets, sources, count);
  case fb::ElementType::I32:
    return reduceTyped<int32_t>(combine, targets, sources, count);
  case fb::ElementType::I64:
    return reduceTyped<int64_t>(combine, targets, sources, count);
  case fb::ElementType::U8:
  case fb::ElementType::Bool:
    return reduceTyped<uint8_t>(combine, targets, sources, count);
  case fb::ElementType::U16:
    return reduceTyped<uint16_t>(combine, targets, sources, count);
  case fb::ElementType::U32:
    return reduceTyped<uint32_t>(combine, targets, sources, count);
  case fb::ElementType::U64:
    return reduceTyped<uint64_t>(combine, targets, sources, count);
  default:
    assert(false && "checkReduction() refuses other types");
    return;
  }
}
