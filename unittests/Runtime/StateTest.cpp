//===- StateTest.cpp - What lasts from step to step -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace soap;
using namespace soap::test;

/// A load of a box of a tensor whose elements are the numbers 0, 1, ...
static void addLoad(ModelBuilder &b, uint32_t device, const char *name,
                    uint32_t buffer, const Shape &shape,
                    std::vector<fb::Range> box) {
  Floats values(static_cast<size_t>(count(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  b.inlineLoad(device, buffer, shape, values);
  b.model.devices[device]->loads.back()->name = name;
  b.model.devices[device]->loads.back()->box = std::move(box);
}

/// A step that copies x, 4 by 6, to w, whose columns [0, 2) and [2, 6) are on
/// two devices; the second part is on both. "fixed" is read only.
static ModelBuilder writesColumns() {
  ModelBuilder b(2);
  uint32_t x = b.input("x", {4, 6});
  const std::vector<std::vector<fb::Range>> boxes[] = {
      {{{0, 4}, {0, 2}}, {{0, 4}, {2, 6}}}, {{{0, 4}, {2, 6}}}};
  for (uint32_t d = 0; d != 2; ++d) {
    uint32_t whole = b.buffer(d, 96);
    std::vector<std::unique_ptr<fb::BoxCopyT>> copies;
    for (const std::vector<fb::Range> &box : boxes[d]) {
      int64_t lo = box[1].lo(), size = box[1].hi() - lo;
      uint32_t w = b.buffer(d, 16 * size, fb::Space::Parameters);
      addLoad(b, d, "w", w, {4, 6}, box);
      auto copy = denseCopy(whole, w, 4 * size, 4 * lo);
      copy->extents = {4};
      copy->from_strides = {24};
      copy->to_strides = {4 * size};
      copies.push_back(std::move(copy));
    }
    uint32_t fixed = b.buffer(d, 8, fb::Space::Parameters);
    addLoad(b, d, "fixed", fixed, {2}, {{0, 2}});
    b.feed(d, x, whole);
    fb::CopyT row;
    row.copies = std::move(copies);
    b.row(d, std::move(row));
  }
  return b;
}

static Floats read(soap_model *model, size_t index, size_t size) {
  Floats result(size, -1);
  EXPECT_EQ(soap_model_read_state(model, index, result.data()), SOAP_OK)
      << soap_last_error();
  return result;
}

TEST(State, IsWhatRowsWrite) {
  ModelPtr model = writesColumns().load();
  ASSERT_TRUE(model) << soap_last_error();
  ASSERT_EQ(soap_model_state_count(model.get()), 1u);
  soap_port port = {};
  ASSERT_EQ(soap_model_state(model.get(), 0, &port), SOAP_OK);
  EXPECT_STREQ(port.name, "w");
  EXPECT_EQ(port.element, SOAP_F32);
  ASSERT_EQ(port.rank, 2u);
  EXPECT_EQ(port.shape[0], 4);
  EXPECT_EQ(port.shape[1], 6);
  EXPECT_EQ(port.bytes, 96u);
}

TEST(State, IsReadAndWrittenAsAWhole) {
  ModelPtr model = writesColumns().load();
  ASSERT_TRUE(model) << soap_last_error();
  Floats loaded(24);
  std::iota(loaded.begin(), loaded.end(), 0.0f);
  EXPECT_EQ(read(model.get(), 0, 24), loaded);

  Floats given = randomFloats(24, 1), x = randomFloats(24, 2);
  ASSERT_EQ(soap_model_write_state(model.get(), 0, given.data()), SOAP_OK);
  EXPECT_EQ(read(model.get(), 0, 24), given);
  const void *in = x.data();
  ASSERT_EQ(soap_model_run(model.get(), &in, nullptr), SOAP_OK)
      << soap_last_error();
  EXPECT_EQ(read(model.get(), 0, 24), x);
}

TEST(State, MistakesAreNamed) {
  ModelPtr model = writesColumns().load();
  ASSERT_TRUE(model) << soap_last_error();
  soap_port port = {};
  float data[24] = {};
  auto expectInvalid = [](soap_status status, const char *text) {
    EXPECT_EQ(status, SOAP_INVALID);
    EXPECT_NE(std::strstr(soap_last_error(), text), nullptr)
        << soap_last_error();
  };
  const char *beyond = "expected an index below 1, got: 1";
  expectInvalid(soap_model_state(model.get(), 1, &port), beyond);
  expectInvalid(soap_model_read_state(model.get(), 1, data), beyond);
  expectInvalid(soap_model_write_state(model.get(), 1, data), beyond);
  expectInvalid(soap_model_state(model.get(), 0, nullptr), "got: NULL");
  expectInvalid(soap_model_read_state(model.get(), 0, nullptr), "got: NULL");
  expectInvalid(soap_model_write_state(model.get(), 0, nullptr), "got: NULL");
}

TEST(State, AModelThatWritesNothingHasNone) {
  ModelBuilder b = writesColumns();
  for (auto &device : b.model.devices)
    device->programs[0]->rows.resize(1);
  ModelPtr model = b.load();
  ASSERT_TRUE(model) << soap_last_error();
  EXPECT_EQ(soap_model_state_count(model.get()), 0u);
}

TEST(State, HasOneShapeOnAllDevices) {
  ModelBuilder b = writesColumns();
  auto &load = *b.model.devices[1]->loads[0];
  load.shape = {4, 7};
  load.source.AsInline()->bytes.resize(4 * 7 * 4);
  soap_status status = SOAP_OK;
  EXPECT_FALSE(b.load(&status));
  EXPECT_EQ(status, SOAP_INVALID);
  EXPECT_NE(std::strstr(soap_last_error(), "one type and shape of 'w'"),
            nullptr)
      << soap_last_error();
}
