//===- CastTest.cpp - Casts between all element types ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every number of types of 16 bits and fewer, and as many of wider ones, by the
// compiled nn.cast and by the conversions of the host.
//
//===----------------------------------------------------------------------===//

#include "CompiledOps.h"
#include "soap/Tensors/SmallFloats.h"
#include "soap/Tensors/Tensor.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace soap;
using namespace soap::test;
using soap::tensors::Tensor;

namespace {
struct ElementType {
  const char *mlir;
  soap_element element;
  unsigned bits;
};
constexpr ElementType types[] = {
    {"f32", SOAP_F32, 32},
    {"f64", SOAP_F64, 64},
    {"f16", SOAP_F16, 16},
    {"bf16", SOAP_BF16, 16},
    {"i8", SOAP_I8, 8},
    {"i16", SOAP_I16, 16},
    {"i32", SOAP_I32, 32},
    {"i64", SOAP_I64, 64},
    {"ui8", SOAP_U8, 8},
    {"ui16", SOAP_U16, 16},
    {"ui32", SOAP_U32, 32},
    {"ui64", SOAP_U64, 64},
    {"i1", SOAP_BOOL, 1},
    {"f8E4M3FN", SOAP_F8E4M3FN, 8},
    {"f8E5M2", SOAP_F8E5M2, 8},
    {"f8E4M3FNUZ", SOAP_F8E4M3FNUZ, 8},
    {"f8E5M2FNUZ", SOAP_F8E5M2FNUZ, 8},
    {"i4", SOAP_I4, 4},
    {"ui4", SOAP_U4, 4},
};
} // namespace

/// How many numbers of a type are cast: all, if they have 16 bits or fewer.
static size_t countOf(const ElementType &type) {
  return size_t{1} << (type.bits <= 8 ? 8 : type.bits == 16 ? 16 : 13);
}

static bool isUnsigned(const ElementType &type) {
  return std::strchr(type.mlir, 'u') == type.mlir || type.bits == 1;
}

/// An integer of so many bits, by its sign or without one.
static int64_t wrapped(const ElementType &type, int64_t value) {
  if (type.bits == 64)
    return value;
  auto low = static_cast<uint64_t>(value) & ((uint64_t{1} << type.bits) - 1);
  uint64_t sign = uint64_t{1} << (type.bits - 1);
  if (isUnsigned(type) || !(low & sign))
    return static_cast<int64_t>(low);
  return static_cast<int64_t>(low - 2 * sign);
}

static Tensor emptyTensor(const ElementType &type, size_t count) {
  Tensor tensor;
  tensor.element = type.element;
  tensor.shape = {static_cast<int64_t>(count)};
  tensor.bytes.resize(count * soap_element_size(type.element));
  return tensor;
}

/// All numbers, or random bits; floats of 32 bits and more mostly of a size
/// that others have, too, and in the middle between two of f16.
static Tensor numbersOf(const ElementType &type) {
  size_t count = countOf(type);
  Tensor tensor = emptyTensor(type, count);
  std::mt19937_64 random(type.element);
  size_t size = soap_element_size(type.element);
  for (size_t i = 0; i != count; ++i) {
    uint64_t bits = type.bits <= 16 ? i : random();
    if (type.bits < 8)
      bits = static_cast<uint64_t>(wrapped(type, static_cast<int64_t>(i)));
    if (type.bits >= 32 && tensor.isFloat()) {
      double value = std::ldexp(1 + static_cast<double>(bits >> 40) / (1 << 24),
                                static_cast<int>(bits % 48) - 26);
      if (i % 4 == 0)
        value = std::ldexp(std::floor(std::ldexp(value, 11)), -11);
      value *= bits >> 8 & 1 ? -1 : 1;
      if (i < 3)
        value = i == 0 ? 0 : i == 1 ? INFINITY : NAN;
      auto narrow = static_cast<float>(value);
      std::memcpy(&bits,
                  type.bits == 32 ? static_cast<void *>(&narrow)
                                  : static_cast<void *>(&value),
                  size);
    }
    std::memcpy(tensor.bytes.data() + i * size, &bits, size);
  }
  return tensor;
}

static int64_t integerAt(const Tensor &tensor, const ElementType &type,
                         size_t i) {
  int64_t value = 0;
  size_t size = soap_element_size(type.element);
  std::memcpy(&value, tensor.bytes.data() + i * size, size);
  return wrapped(type, value);
}

/// Expects element i of `got` to be what a cast of element i of `x` is.
static void expectCast(const ElementType &from, const Tensor &x,
                       const ElementType &to, const Tensor &got, size_t i,
                       bool saturates) {
  double value = x.at(i);
  bool isInteger = !x.isFloat();
  if (to.bits == 1) {
    EXPECT_EQ(got.at(i), value != 0 ? 1 : 0);
    return;
  }
  if (!got.isFloat()) {
    int64_t expected;
    if (isInteger) {
      expected = integerAt(x, from, i);
    } else {
      // Beyond these a cast is not defined.
      bool wide = to.bits == 64 || (to.bits == 32 && isUnsigned(to));
      bool high = to.bits == 64 && isUnsigned(to) && value > 0;
      if (!(std::fabs(value) < (high ? 0x1p64 : wide ? 0x1p63 : 0x1p31)))
        return;
      expected = high ? static_cast<int64_t>(static_cast<uint64_t>(value))
                      : static_cast<int64_t>(value);
    }
    EXPECT_EQ(integerAt(got, to, i), wrapped(to, expected)) << value;
    // In memory, too.
    if (to.bits == 4)
      EXPECT_EQ(got.at(i), static_cast<double>(wrapped(to, expected)));
    return;
  }
  double expected = value;
  if (isInteger && to.element == SOAP_F64)
    expected =
        isUnsigned(from)
            ? static_cast<double>(static_cast<uint64_t>(integerAt(x, from, i)))
            : static_cast<double>(integerAt(x, from, i));
  else if (isInteger)
    expected =
        isUnsigned(from)
            ? static_cast<float>(static_cast<uint64_t>(integerAt(x, from, i)))
            : static_cast<float>(integerAt(x, from, i));
  if (to.element == SOAP_F32)
    expected = static_cast<float>(expected);
  if (tensors::isSmallFloat(to.element)) {
    double wide = expected;
    expected = tensors::decodeFloat(to.element,
                                    tensors::encodeFloat(to.element, wide));
    if (saturates && !std::isnan(wide) && !std::isfinite(expected)) {
      double largest = 0;
      for (uint32_t bits = 0; bits != 128; ++bits)
        if (double v = tensors::decodeFloat(to.element, bits); std::isfinite(v))
          largest = std::max(largest, v);
      expected = std::copysign(largest, wide);
    }
  }
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got.at(i))) << value;
    return;
  }
  EXPECT_EQ(got.at(i), expected) << value;
  EXPECT_EQ(std::signbit(got.at(i)), std::signbit(expected)) << value;
}

/// From one type to all others, in one module.
class Casts : public testing::TestWithParam<ElementType> {};

TEST_P(Casts, AreThoseOfTheHost) {
  const ElementType &from = GetParam();
  size_t count = countOf(from);
  std::string shape = "tensor<" + std::to_string(count) + "x";
  std::string text = "func.func @f(%x: " + shape + from.mlir + ">) { ";
  std::vector<std::pair<const ElementType *, bool>> casts;
  for (const ElementType &to : types) {
    bool isTiny = tensors::isSmallFloat(to.element) && to.bits == 8;
    for (bool saturates : {false, true}) {
      if (to.element == from.element || (saturates && !isTiny))
        continue;
      std::string name = "c" + std::to_string(casts.size());
      text += "%" + name + " = nn.cast %x {nn.name = \"" + name + "\"" +
              (saturates ? ", saturate" : "") + "} : (" + shape + from.mlir +
              ">) -> " + shape + to.mlir + "> ";
      casts.emplace_back(&to, saturates);
    }
  }
  CompiledOps compiled(text + "return }");
  ASSERT_EQ(compiled.calls.size(), casts.size());
  Tensor x = numbersOf(from);
  for (size_t k = 0; k != casts.size(); ++k) {
    auto [to, saturates] = casts[k];
    Tensor got = emptyTensor(*to, count);
    compiled.call(k, {x.bytes.data(), got.bytes.data()});
    SCOPED_TRACE(std::string(from.mlir) + " to " + to->mlir +
                 (saturates ? " saturating" : ""));
    for (size_t i = 0; i != count && (i % 256 || !HasFailure()); ++i)
      expectCast(from, x, *to, got, i, saturates);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Casts, testing::ValuesIn(types),
                         [](const auto &info) {
                           return std::string(info.param.mlir);
                         });
