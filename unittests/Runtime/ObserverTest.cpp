//===- ObserverTest.cpp - What observers are shown ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>

using namespace soap;
using namespace soap::test;

namespace {
/// A tile, copied while it was shown.
struct Seen {
  std::string value, rowName;
  std::vector<int64_t> shape, box;
  std::vector<uint32_t> parts;
  size_t partCount;
  uint32_t device;
  int32_t row;
  soap_origin origin;
  Floats data;
};

struct Log {
  std::mutex mutex;
  std::vector<Seen> seen;

  static void show(const soap_tile *tile, void *user) {
    auto *log = static_cast<Log *>(user);
    Seen seen = {tile->value,
                 tile->row_name,
                 {tile->shape, tile->shape + tile->rank},
                 {tile->box, tile->box + 2 * tile->rank},
                 {tile->parts, tile->parts + tile->parts_held},
                 tile->part_count,
                 tile->device,
                 tile->row,
                 tile->origin,
                 {}};
    int64_t elements = 1;
    for (size_t d = 0; d != tile->rank; ++d)
      elements *= tile->box[2 * d + 1] - tile->box[2 * d];
    seen.data.resize(static_cast<size_t>(elements));
    std::memcpy(seen.data.data(), tile->data, seen.data.size() * sizeof(float));
    std::lock_guard<std::mutex> lock(log->mutex);
    log->seen.push_back(std::move(seen));
  }
};
} // namespace

/// buffers: x, y; sizes: count, scale, offset. y = scale * x + offset.
static void linear(void *const *buffers, const int64_t *sizes) {
  const auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  for (int64_t i = 0; i != sizes[0]; ++i)
    y[i] = static_cast<float>(sizes[1]) * x[i] + static_cast<float>(sizes[2]);
}

/// The only native kernel of a model, over `shape`; sizes[0] counts elements.
static uint32_t nativeKernel(ModelBuilder &b, const Shape &shape) {
  b.native({4, 4}, {1, 1}, 3);
  fb::KernelOpUnion native;
  native.Set(fb::NativeT());
  return b.kernel(std::move(native), {shape}, {shape});
}

static fb::LaunchT launch(uint32_t kernel, uint32_t from, uint32_t to,
                          std::vector<int64_t> sizes = {}) {
  fb::LaunchT result;
  result.kernel = kernel;
  result.operands = {from};
  result.results = {to};
  result.sizes = std::move(sizes);
  return result;
}

/// x + 1 and 2 * (x + 1) in the same memory, then 3 * that elsewhere.
static ModelBuilder chain() {
  ModelBuilder b;
  uint32_t input = b.input("x", {2, 2}), output = b.output("y", {2, 2});
  uint32_t kernel = nativeKernel(b, {2, 2});
  uint32_t x = b.buffer(0, 16), reused = b.buffer(0, 16), y = b.buffer(0, 16);
  uint32_t w = b.buffer(0, 8, fb::Space::Parameters);
  b.inlineLoad(0, w, {2}, {5, 6});
  b.feed(0, input, x);
  b.row(0, launch(kernel, x, reused, {4, 1, 1}));
  b.row(0, launch(kernel, reused, reused, {4, 2, 0}));
  b.row(0, launch(kernel, reused, y, {4, 3, 0}));
  b.drain(0, output, y);
  std::vector<fb::Range> whole = {fb::Range(0, 2), fb::Range(0, 2)};
  b.tile(0, b.value("w", {4}), w, {fb::Range(2, 4)}, -1);
  b.tile(0, b.value("x", {2, 2}), x, whole, 0);
  b.tile(0, b.value("plus", {2, 2}), reused, whole, 1);
  fb::TileT &partial = b.tile(0, b.value("twice", {2, 2}), reused, whole, 2);
  partial.parts = {1};
  partial.part_count = 3;
  b.tile(0, b.value("thrice", {2, 2}), y, whole, 3);
  return b;
}

TEST(Observer, SeesReusedMemoryInTime) {
  Log log;
  ModelPtr model = chain().load(nullptr, {linear}, 0, Log::show, &log);
  ASSERT_TRUE(model) << soap_last_error();
  // Parameters are shown when they are made, once.
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].value, "w");
  EXPECT_EQ(log.seen[0].row, -1);
  EXPECT_EQ(log.seen[0].shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(log.seen[0].box, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(log.seen[0].data, (Floats{5, 6}));

  Floats x = {1, 2, 3, 4}, y(4);
  const void *inputs[] = {x.data()};
  void *outputs[] = {y.data()};
  for (size_t step = 1; step != 3; ++step) {
    ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
    ASSERT_EQ(log.seen.size(), 1 + 4 * step);
  }
  EXPECT_EQ(y, (Floats{12, 18, 24, 30}));
  const Seen &fed = log.seen[5], &plus = log.seen[6], &twice = log.seen[7];
  EXPECT_EQ(fed.value, "x");
  EXPECT_EQ(log.seen[0].origin, SOAP_LOADED);
  EXPECT_EQ(fed.origin, SOAP_RECEIVED);
  EXPECT_EQ(fed.data, x);
  EXPECT_EQ(plus.value, "plus");
  EXPECT_EQ(plus.rowName, "row1");
  EXPECT_EQ(plus.origin, SOAP_COMPUTED);
  EXPECT_TRUE(plus.parts.empty());
  EXPECT_EQ(plus.data, (Floats{2, 3, 4, 5}));
  EXPECT_EQ(twice.parts, (std::vector<uint32_t>{1}));
  EXPECT_EQ(twice.partCount, 3u);
  EXPECT_EQ(twice.data, (Floats{4, 6, 8, 10}));
  EXPECT_EQ(log.seen[8].data, y);
}

/// Tests that a tile is shown before another stream may overwrite it: the
/// receiver of a value writes into its memory as soon as it has a new one.
TEST(Observer, SeesTilesOfBothStreams) {
  constexpr uint32_t rounds = 20;
  ModelBuilder b(2);
  uint32_t input = b.input("x", {64});
  uint32_t plus = nativeKernel(b, {64});
  uint32_t value = b.value("x", {64});
  for (uint32_t d = 0; d != 2; ++d) {
    uint32_t mine = b.buffer(d, 256), theirs = b.buffer(d, 256);
    uint32_t last = b.feed(d, input, mine);
    for (uint32_t round = 0; round != rounds; ++round) {
      fb::ExchangeT swap;
      swap.sends.emplace_back(1 - d, round, fb::Extent(mine, 0, 256));
      swap.receives.emplace_back(1 - d, round, fb::Extent(theirs, 0, 256));
      last = b.row(d, std::move(swap), fb::Stream::Communication,
                   fb::Phase::Step, {last});
      b.tile(d, value, theirs, {fb::Range(0, 64)}, static_cast<int32_t>(last));
      last = b.row(d, launch(plus, theirs, mine, {64, 1, 1}),
                   fb::Stream::Compute, fb::Phase::Step, {last});
      b.tile(d, value, mine, {fb::Range(0, 64)}, static_cast<int32_t>(last));
    }
  }
  Log log;
  ModelPtr model = b.load(nullptr, {linear}, 0, Log::show, &log);
  ASSERT_TRUE(model) << soap_last_error();
  Floats x(64, 0);
  const void *inputs[] = {x.data()};
  for (int step = 0; step != 5; ++step) {
    log.seen.clear();
    ASSERT_EQ(soap_model_run(model.get(), inputs, nullptr), SOAP_OK);
    ASSERT_EQ(log.seen.size(), 4 * rounds);
    for (const Seen &seen : log.seen) {
      // Row 0 feeds; row 2r + 1 receives r, row 2r + 2 makes r + 1 of it.
      auto expected = static_cast<float>(seen.row / 2);
      EXPECT_EQ(seen.origin, seen.row % 2 ? SOAP_RECEIVED : SOAP_COMPUTED);
      EXPECT_EQ(seen.data, Floats(64, expected)) << "row " << seen.row;
    }
  }
}

static void fails(void *const *, const int64_t *) {
  throw std::runtime_error("no");
}

/// Tests that a row that failed shows nothing.
TEST(Observer, FailedRowsShowNothing) {
  ModelBuilder b;
  uint32_t kernel = nativeKernel(b, {4});
  uint32_t buffer = b.buffer(0, 16);
  b.row(0, launch(kernel, buffer, buffer, {4, 1, 1}));
  b.tile(0, b.value("v", {4}), buffer, {fb::Range(0, 4)}, 0);
  Log log;
  ModelPtr model = b.load(nullptr, {fails}, 0, Log::show, &log);
  ASSERT_TRUE(model) << soap_last_error();
  EXPECT_EQ(soap_model_run(model.get(), nullptr, nullptr), SOAP_FAILED);
  EXPECT_TRUE(log.seen.empty());
}

TEST(Observer, ATableHasNoReference) {
  std::vector<uint8_t> data = chain().finish();
  soap_load_options options = {};
  options.size = sizeof(options);
  options.build = SOAP_BUILD_REFERENCE;
  soap_model *model = nullptr;
  EXPECT_EQ(soap_model_load_from_memory(data.data(), data.size(), nullptr, 0,
                                        nullptr, &options, &model),
            SOAP_INVALID);
  EXPECT_NE(std::string(soap_last_error()).find("pass the reference's table"),
            std::string::npos);
}

TEST(Observer, SeesRowMajorElements) {
  ModelBuilder b;
  Shape shape = {1, 2, 1, 3};
  uint32_t input = b.input("x", shape), output = b.output("y", shape);
  uint32_t x = b.buffer(0, 24);
  b.feed(0, input, x);
  b.drain(0, output, x);
  b.tile(0, b.value("x", shape), x,
         {fb::Range(0, 1), fb::Range(0, 2), fb::Range(0, 1), fb::Range(0, 3)},
         0)
      .order = fb::ElementOrder::ChannelsLast;
  Log log;
  ModelPtr model = b.load(nullptr, {}, 0, Log::show, &log);
  ASSERT_TRUE(model) << soap_last_error();
  // Pairs of channels, pixel by pixel.
  Floats values = {1, 10, 2, 20, 3, 30}, y(6);
  const void *inputs[] = {values.data()};
  void *outputs[] = {y.data()};
  ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].data, (Floats{1, 2, 3, 10, 20, 30}));
}
