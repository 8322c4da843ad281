//===- TensorTest.cpp - Elements and inputs -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestTensors.h"
#include "soap/Runtime/RandomRecipe.h"
#include "soap/Tensors/SmallFloats.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::tensors;

TEST(Elements, EveryTypeIsRead) {
  EXPECT_EQ(tensorOf<float>(SOAP_F32, {0, -1.5f}).at(1), -1.5);
  EXPECT_EQ(tensorOf<double>(SOAP_F64, {0, 1e300}).at(1), 1e300);
  EXPECT_EQ(tensorOf<int8_t>(SOAP_I8, {0, -128}).at(1), -128);
  EXPECT_EQ(tensorOf<int16_t>(SOAP_I16, {0, -32768}).at(1), -32768);
  EXPECT_EQ(tensorOf<int32_t>(SOAP_I32, {0, -7}).at(1), -7);
  EXPECT_EQ(tensorOf<int64_t>(SOAP_I64, {0, -7}).at(1), -7);
  EXPECT_EQ(tensorOf<uint8_t>(SOAP_U8, {0, 255}).at(1), 255);
  EXPECT_EQ(tensorOf<uint16_t>(SOAP_U16, {0, 65535}).at(1), 65535);
  EXPECT_EQ(tensorOf<uint32_t>(SOAP_U32, {0, 4294967295u}).at(1), 4294967295.);
  EXPECT_EQ(tensorOf<uint64_t>(SOAP_U64, {0, uint64_t{1} << 63}).at(1), 0x1p63);
  EXPECT_EQ(tensorOf<uint8_t>(SOAP_BOOL, {0, 1}).at(1), 1);
}

TEST(Elements, HalvesAreRead) {
  // One, the largest, the smallest normal and subnormal, infinity, NaN.
  auto half = tensorOf<uint16_t>(
      SOAP_F16, {0x3c00, 0x7bff, 0x0400, 0x0001, 0x8001, 0xfc00, 0x7e00});
  EXPECT_EQ(half.at(0), 1);
  EXPECT_EQ(half.at(1), 65504);
  EXPECT_EQ(half.at(2), 0x1p-14);
  EXPECT_EQ(half.at(3), 0x1p-24);
  EXPECT_EQ(half.at(4), -0x1p-24);
  EXPECT_EQ(half.at(5), -INFINITY);
  EXPECT_TRUE(std::isnan(half.at(6)));
  auto brain = tensorOf<uint16_t>(SOAP_BF16, {0x3f80, 0xc000, 0x7f80, 0x7fc0});
  EXPECT_EQ(brain.at(0), 1);
  EXPECT_EQ(brain.at(1), -2);
  EXPECT_EQ(brain.at(2), INFINITY);
  EXPECT_TRUE(std::isnan(brain.at(3)));
}

/// Every number of a small type is nearest to itself, and numbers between two
/// neighbours become the nearer one, in the middle the even one.
TEST(Elements, SmallFloatsAreRounded) {
  for (soap_element element : allElements) {
    if (!isSmallFloat(element))
      continue;
    uint32_t sign = soap_element_size(element) == 2 ? 0x8000 : 0x80;
    double largest = 0;
    for (uint32_t bits = 0; bits != sign; ++bits) {
      double value = decodeFloat(element, bits);
      if (!std::isfinite(value))
        break;
      EXPECT_EQ(encodeFloat(element, value), bits) << value;
      bool hasMinus = bits != 0 || decodeFloat(element, sign) == 0;
      EXPECT_EQ(encodeFloat(element, -value), hasMinus ? bits | sign : 0u);
      if (bits == 0)
        continue;
      double middle = (largest + value) / 2;
      uint32_t even = bits % 2 ? bits - 1 : bits;
      EXPECT_EQ(encodeFloat(element, middle), even) << middle;
      EXPECT_EQ(encodeFloat(element, std::nextafter(middle, 0)), bits - 1);
      EXPECT_EQ(encodeFloat(element, std::nextafter(middle, INFINITY)), bits);
      largest = value;
    }
    double beyond = decodeFloat(element, encodeFloat(element, largest * 2));
    EXPECT_FALSE(std::isfinite(beyond)) << soap_element_name(element);
    EXPECT_EQ(std::isinf(beyond),
              std::isinf(decodeFloat(element, encodeFloat(element, INFINITY))));
    EXPECT_TRUE(std::isnan(decodeFloat(element, encodeFloat(element, NAN))));
  }
}

namespace {
/// A port with a name, as a model describes its inputs.
struct Port {
  Port(soap_element element, std::vector<int64_t> extents)
      : shape(std::move(extents)) {
    port.name = "x";
    port.element = element;
    port.rank = shape.size();
    port.shape = shape.data();
    port.bytes = soap_element_size(element);
    for (int64_t extent : shape)
      port.bytes *= static_cast<size_t>(extent);
  }
  std::vector<int64_t> shape;
  soap_port port = {};
};
} // namespace

TEST(Inputs, RandomValuesAreThoseOfTheRecipe) {
  Port x(SOAP_F32, {2, 3});
  Tensor tensor = makeInput(x.port, "random:7");
  EXPECT_EQ(typeOf(tensor), "f32 [2x3]");
  uint64_t key = recipe::keyOf(7, recipe::hashName("x", 1));
  for (size_t i = 0; i != 6; ++i)
    EXPECT_EQ(tensor.at(i), static_cast<float>(recipe::normal(key, i, 0, 1)));
  tensor = makeInput(x.port, "random:7:-2:5");
  for (size_t i = 0; i != 6; ++i)
    EXPECT_EQ(tensor.at(i),
              static_cast<float>(recipe::uniform(key, i, -2., 5.)));
}

TEST(Inputs, RandomIntegersStayInTheirRange) {
  for (soap_element element : allElements) {
    if (isFloat(element))
      continue;
    Port x(element, {1000});
    auto range = [&](const char *source) {
      Tensor tensor = makeInput(x.port, source);
      double least = tensor.at(0), most = least;
      for (size_t i = 0; i != tensor.count(); ++i) {
        least = std::min(least, tensor.at(i));
        most = std::max(most, tensor.at(i));
      }
      return std::pair(least, most);
    };
    EXPECT_EQ(range("random:1"), std::pair(0., 1.))
        << soap_element_name(element);
    EXPECT_EQ(range("random:1:2:8"), std::pair(2., 7.))
        << soap_element_name(element);
    // A table of five rows is read at the indices 0 to 4.
    x.port.index_bound = 5;
    EXPECT_EQ(range("random:1"), std::pair(0., 4.))
        << soap_element_name(element);
  }
}

TEST(Inputs, ZerosOfEveryType) {
  for (soap_element element : allElements) {
    Port x(element, {2, 2});
    Tensor tensor = makeInput(x.port, "zeros");
    ASSERT_EQ(tensor.count(), 4u);
    for (size_t i = 0; i != 4; ++i)
      EXPECT_EQ(tensor.at(i), 0) << soap_element_name(element);
  }
}

TEST(Inputs, MalformedRecipes) {
  Port x(SOAP_F32, {2});
  for (const char *source :
       {"random:", "random:-", "random:1x", "random:1:2", "random:1:2:2",
        "random:1:3:2", "random:1:-inf:0", "random:1:0:nan",
        "random:1:-1.7e308:1.7e308", "random:1:0:1:2", "x.txt"})
    EXPECT_THROW(makeInput(x.port, source), UsageError) << source;
}

TEST(Inputs, NarrowerFilesAreWidened) {
  std::string path = testing::TempDir() + "/soap-narrow.npy";
  writeNpy(path, tensorOf<int32_t>(SOAP_I32, {-1, 5}));
  std::vector<std::string> notes;
  auto note = [&](const std::string &line) { notes.push_back(line); };
  Tensor tensor = makeInput(Port(SOAP_I64, {2}).port, path, note);
  EXPECT_EQ(tensor.element, SOAP_I64);
  EXPECT_EQ(tensor.at(0), -1);
  EXPECT_EQ(tensor.at(1), 5);
  EXPECT_EQ(notes,
            std::vector<std::string>({"input 'x' is widened from i32 to i64"}));
  // Without a note for those who want none, and not to fewer values.
  EXPECT_EQ(makeInput(Port(SOAP_I64, {2}).port, path).at(1), 5);
  for (soap_element lossy : {SOAP_F32, SOAP_F64, SOAP_I16, SOAP_U64, SOAP_BOOL})
    EXPECT_THROW(makeInput(Port(lossy, {2}).port, path, note), UsageError)
        << soap_element_name(lossy);
  EXPECT_THROW(makeInput(Port(SOAP_I64, {3}).port, path, note), UsageError);
  EXPECT_EQ(notes.size(), 1u);
}
