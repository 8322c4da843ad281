//===- ProgramTest.cpp - Programs: copies, waits, init, traces ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

using namespace soap;
using namespace soap::test;

/// buffers: x, y; sizes: count, addend. y = x + addend.
static void addKernel(void *const *buffers, const int64_t *sizes) {
  const auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  for (int64_t i = 0; i != sizes[0]; ++i)
    y[i] = x[i] + static_cast<float>(sizes[1]);
}

/// buffers: x, y, z; sizes: count. z = x + y.
static void sumKernel(void *const *buffers, const int64_t *sizes) {
  const auto *x = static_cast<const float *>(buffers[0]);
  const auto *y = static_cast<const float *>(buffers[1]);
  auto *z = static_cast<float *>(buffers[2]);
  for (int64_t i = 0; i != sizes[0]; ++i)
    z[i] = x[i] + y[i];
}

static void slowKernel(void *const *, const int64_t *sizes) {
  std::this_thread::sleep_for(std::chrono::milliseconds(sizes[0]));
}

static uint32_t nativeKernel(ModelBuilder &b, uint32_t symbol,
                             const std::vector<Shape> &operands,
                             const std::vector<Shape> &results) {
  fb::NativeT native;
  native.symbol = symbol;
  fb::KernelOpUnion op;
  op.Set(std::move(native));
  return b.kernel(std::move(op), operands, results);
}

static uint32_t makeAdd(ModelBuilder &b, int64_t elements) {
  return nativeKernel(b, b.native({4, 4}, {1, 1}, 2), {{elements}},
                      {{elements}});
}

static fb::LaunchT launch(uint32_t kernel, std::vector<uint32_t> operands,
                          std::vector<uint32_t> results,
                          std::vector<int64_t> sizes) {
  fb::LaunchT result;
  result.kernel = kernel;
  result.operands = std::move(operands);
  result.results = std::move(results);
  result.sizes = std::move(sizes);
  return result;
}

TEST(Program, StridedCopiesAndFills) {
  ModelBuilder b;
  uint32_t x = b.buffer(0, 6 * 4), y = b.buffer(0, 20 * 4);
  b.feed(0, b.input("x", {2, 3}), x);
  fb::CopyT copy;
  auto fill = std::make_unique<fb::FillT>();
  fill->buffer = y;
  fill->bytes = 80;
  float value = 7;
  fill->pattern.assign(reinterpret_cast<uint8_t *>(&value),
                       reinterpret_cast<uint8_t *>(&value) + 4);
  copy.fills.push_back(std::move(fill));
  // Into the middle of a [4, 5] tensor.
  auto box = denseCopy(x, y, 12, 0, (1 * 5 + 1) * 4);
  box->extents = {2};
  box->from_strides = {12};
  box->to_strides = {20};
  copy.copies.push_back(std::move(box));
  b.row(0, std::move(copy));
  // Its transpose, element by element, from the last column backwards.
  uint32_t z = b.buffer(0, 6 * 4);
  fb::CopyT transpose;
  box = denseCopy(x, z, 4, 8, 0);
  box->extents = {3, 2};
  box->from_strides = {-4, 12};
  box->to_strides = {8, 4};
  transpose.copies.push_back(std::move(box));
  b.row(0, std::move(transpose));
  b.drain(0, b.output("y", {4, 5}), y);
  b.drain(0, b.output("z", {3, 2}), z);
  ModelPtr model = b.load();
  ASSERT_TRUE(model) << soap_last_error();
  Floats in{1, 2, 3, 4, 5, 6}, out(20), turned(6);
  const void *inputs[] = {in.data()};
  void *outputs[] = {out.data(), turned.data()};
  ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
  EXPECT_EQ(out, (Floats{7, 7, 7, 7, 7, 7, 1, 2, 3, 7, //
                         7, 4, 5, 6, 7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(turned, (Floats{3, 6, 2, 5, 1, 4}));
}

TEST(Program, InitRunsOnceAndKeepsParameters) {
  ModelBuilder b;
  uint32_t raw = b.buffer(0, 16, fb::Space::Activations);
  uint32_t parameter = b.buffer(0, 16, fb::Space::Parameters);
  b.inlineLoad(0, raw, {4}, {1, 2, 3, 4});
  uint32_t add = makeAdd(b, 4);
  auto init = std::make_unique<fb::RowT>();
  init->body.Set(launch(add, {raw}, {parameter}, {4, 10}));
  b.model.devices[0]->init.push_back(std::move(init));
  // The main program overwrites what init read.
  b.feed(0, b.input("x", {4}), raw);
  uint32_t y = b.buffer(0, 16);
  b.row(0, launch(add, {parameter}, {y}, {4, 100}));
  b.drain(0, b.output("y", {4}), y);
  ModelPtr model = b.load(nullptr, {addKernel});
  ASSERT_TRUE(model) << soap_last_error();
  for (int step = 0; step != 3; ++step) {
    Floats in(4, -1), out(4);
    const void *inputs[] = {in.data()};
    void *outputs[] = {out.data()};
    ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
    EXPECT_EQ(out, (Floats{111, 112, 113, 114}));
  }
}

/// Two loads that share memory: each stands right before the row that reads it.
TEST(Program, LoadsRunBeforeTheirInitRow) {
  ModelBuilder b;
  uint32_t raw = b.buffer(0, 16, fb::Space::Activations);
  uint32_t p = b.buffer(0, 16, fb::Space::Parameters);
  uint32_t q = b.buffer(0, 16, fb::Space::Parameters);
  uint32_t r = b.buffer(0, 16, fb::Space::Parameters);
  uint32_t add = makeAdd(b, 4);
  auto init = [&](uint32_t from, uint32_t to, int64_t summand) {
    auto row = std::make_unique<fb::RowT>();
    row->body.Set(launch(add, {from}, {to}, {4, summand}));
    b.model.devices[0]->init.push_back(std::move(row));
  };
  b.inlineLoad(0, raw, {4}, {5, 6, 7, 8});
  b.inlineLoad(0, raw, {4}, {1, 2, 3, 4});
  b.inlineLoad(0, r, {4}, {0, 0, 0, 1});
  b.model.devices[0]->loads[0]->init_row = 1;
  b.model.devices[0]->loads[1]->init_row = 0;
  init(raw, p, 10);
  init(raw, q, 20);
  b.drain(0, b.output("p", {4}), p);
  b.drain(0, b.output("q", {4}), q);
  b.drain(0, b.output("r", {4}), r);
  ModelPtr model = b.load(nullptr, {addKernel});
  ASSERT_TRUE(model) << soap_last_error();
  Floats first(4), second(4), third(4);
  void *outputs[] = {first.data(), second.data(), third.data()};
  ASSERT_EQ(soap_model_run(model.get(), nullptr, outputs), SOAP_OK);
  EXPECT_EQ(first, (Floats{11, 12, 13, 14}));
  EXPECT_EQ(second, (Floats{25, 26, 27, 28}));
  EXPECT_EQ(third, (Floats{0, 0, 0, 1}));

  b.model.devices[0]->loads[0]->init_row = 2;
  soap_status status = SOAP_OK;
  EXPECT_FALSE(b.load(&status, {addKernel}));
  EXPECT_EQ(status, SOAP_INVALID);
  EXPECT_NE(std::string(soap_last_error()).find("init row 2 of 2"),
            std::string::npos)
      << soap_last_error();
}

/// A weight that one kernel reorders and another one reads as it is, and one
/// that two kernels reorder: neither may lose its values.
TEST(Program, SharedParametersSurviveReordering) {
  ModelBuilder b;
  int64_t n = 64;
  Floats x = randomFloats(n * n, 1), w = randomFloats(n * n, 2),
         v = randomFloats(n * n, 3);
  uint32_t xb = b.buffer(0, n * n * 4), yb = b.buffer(0, n * n * 4),
           zb = b.buffer(0, n * n * 4);
  uint32_t wb = b.buffer(0, n * n * 4, fb::Space::Parameters);
  uint32_t vb = b.buffer(0, n * n * 4, fb::Space::Parameters);
  b.inlineLoad(0, wb, {n, n}, w);
  b.inlineLoad(0, vb, {n, n}, v);
  b.feed(0, b.input("x", {n, n}), xb);
  fb::KernelOpUnion op;
  op.Set(fb::MatMulT());
  uint32_t product = b.kernel(std::move(op), {{n, n}, {n, n}}, {{n, n}});
  auto multiply = [&](uint32_t lhs, uint32_t rhs, uint32_t out) {
    fb::LaunchT l = launch(product, {lhs, rhs}, {out}, {});
    l.constant_operands = {1};
    b.row(0, std::move(l));
  };
  // y = ((x w) v) v; z = y + w.
  multiply(xb, wb, yb);
  multiply(yb, vb, zb);
  multiply(zb, vb, yb);
  uint32_t sum = nativeKernel(b, b.native({4, 4, 4}, {1, 1, 1}, 1),
                              {{n, n}, {n, n}}, {{n, n}});
  b.row(0, launch(sum, {yb, wb}, {zb}, {n * n}));
  b.drain(0, b.output("z", {n, n}), zb);
  ModelPtr model = b.load(nullptr, {sumKernel});
  ASSERT_TRUE(model) << soap_last_error();
  auto times = [&](const Floats &p, const Floats &q) {
    Floats result(n * n);
    for (int64_t i = 0; i != n; ++i)
      for (int64_t k = 0; k != n; ++k)
        for (int64_t j = 0; j != n; ++j)
          result[i * n + j] += p[i * n + k] * q[k * n + j];
    return result;
  };
  Floats expected = times(times(times(x, w), v), v), out(n * n);
  const void *in = x.data();
  void *outputs = out.data();
  ASSERT_EQ(soap_model_run(model.get(), &in, &outputs), SOAP_OK);
  for (int64_t i = 0; i != n * n; ++i)
    ASSERT_NEAR(out[i], expected[i] + w[i], 1e-2) << i;

  // What is planned without loading is what loading takes.
  std::vector<uint8_t> table = b.finish();
  soap_memory plan = {};
  ASSERT_EQ(soap_plan_memory(table.data(), table.size(), 0, &plan, 1), SOAP_OK)
      << soap_last_error();
  auto info = nlohmann::json::parse(soap_model_info(model.get()))["devices"][0];
  EXPECT_EQ(plan.parameter_bytes, 2u * n * n * 4);
  EXPECT_EQ(plan.scratchpad_bytes, info["scratchpad_bytes"]);
  EXPECT_EQ(plan.reordered_bytes, info["reordered_parameter_bytes"]);
  EXPECT_EQ(plan.released_bytes, info["released_parameter_bytes"]);
  // In one process, feeds are not packed.
  EXPECT_EQ(plan.communication_bytes, n * n * 4u);
  EXPECT_EQ(info["communication_bytes"], 0);
  EXPECT_EQ(plan.peak_bytes - plan.communication_bytes, info["peak_bytes"]);
  EXPECT_EQ(soap_plan_memory(table.data(), table.size(), 0, &plan, 0),
            SOAP_INVALID);
}

/// Two devices, a chain of computation and transfers back and forth with waits
/// across streams, over many steps.
TEST(Program, WaitsAcrossStreams) {
  constexpr int hops = 20;
  ModelBuilder b(2);
  uint32_t add = makeAdd(b, 64);
  uint32_t buffers[2][2];
  for (uint32_t d = 0; d != 2; ++d)
    for (uint32_t &buffer : buffers[d])
      buffer = b.buffer(d, 256);
  uint32_t last = b.feed(0, b.input("x", {64}), buffers[0][0]);
  uint32_t last1 = 0;
  for (uint32_t hop = 0; hop != hops; ++hop) {
    uint32_t from = hop % 2, to = 1 - from;
    uint32_t computed = b.row(
        from, launch(add, {buffers[from][0]}, {buffers[from][1]}, {64, 1}),
        fb::Stream::Compute, fb::Phase::Step,
        hop == 0 ? std::vector<uint32_t>{last}
                 : std::vector<uint32_t>{from == 0 ? last : last1});
    fb::ExchangeT send, receive;
    send.sends.emplace_back(to, hop, fb::Extent(buffers[from][1], 0, 256));
    receive.receives.emplace_back(from, hop,
                                  fb::Extent(buffers[to][0], 0, 256));
    b.row(from, std::move(send), fb::Stream::Communication, fb::Phase::Step,
          {computed});
    std::vector<uint32_t> waits;
    // The receiver's buffer is free once its last computation has read it.
    if (!b.model.devices[to]->programs[0]->rows.empty() && hop > 0)
      waits = {static_cast<uint32_t>(
          b.model.devices[to]->programs[0]->rows.size() - 1)};
    (to == 0 ? last : last1) =
        b.row(to, std::move(receive), fb::Stream::Communication,
              fb::Phase::Step, waits);
  }
  b.drain(0, b.output("y", {64}), buffers[0][0]);
  ModelPtr model = b.load(nullptr, {addKernel});
  ASSERT_TRUE(model) << soap_last_error();
  for (int step = 0; step != 500; ++step) {
    Floats in(64, static_cast<float>(step)), out(64);
    const void *inputs[] = {in.data()};
    void *outputs[] = {out.data()};
    ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
    ASSERT_EQ(out, Floats(64, static_cast<float>(step + hops)));
  }
}

TEST(Program, TransfersProgressWhileADeviceComputes) {
  ModelBuilder b(2);
  uint32_t slow = nativeKernel(b, b.native({16, 16}, {}, 1), {{4}}, {{4}});
  for (uint32_t d = 0; d != 2; ++d) {
    uint32_t x = b.buffer(d, 16), y = b.buffer(d, 16);
    // The launch comes first in the table; nothing waits for it.
    b.row(d, launch(slow, {x}, {x}, {200}));
    fb::ExchangeT exchange;
    exchange.sends.emplace_back(1 - d, 0, fb::Extent(x, 0, 16));
    exchange.receives.emplace_back(1 - d, 0, fb::Extent(y, 0, 16));
    b.row(d, std::move(exchange), fb::Stream::Communication);
  }
  ModelPtr model = b.load(nullptr, {slowKernel});
  ASSERT_TRUE(model) << soap_last_error();
  ASSERT_EQ(soap_model_set_tracing(model.get(), 1), SOAP_OK);
  ASSERT_EQ(soap_model_run(model.get(), nullptr, nullptr), SOAP_OK);
  const soap_event *events;
  size_t size;
  ASSERT_EQ(soap_model_events(model.get(), &events, &size), SOAP_OK);
  ASSERT_EQ(size, 4u);
  for (size_t i = 0; i != size; i += 2) {
    EXPECT_STREQ(events[i].kind, "launch");
    EXPECT_STREQ(events[i].kernel, "kernel0");
    EXPECT_STREQ(events[i + 1].kind, "exchange");
    EXPECT_EQ(events[i + 1].stream, 1u);
    EXPECT_EQ(events[i + 1].bytes, 16u);
    EXPECT_LT(events[i + 1].end_ns, events[i].end_ns);
    EXPECT_GE(events[i].end_ns - events[i].start_ns, 200000000);
  }
  EXPECT_GE(soap_model_step_ns(model.get()), 200000000u);
  // An untraced step has no events.
  ASSERT_EQ(soap_model_set_tracing(model.get(), 0), SOAP_OK);
  ASSERT_EQ(soap_model_run(model.get(), nullptr, nullptr), SOAP_OK);
  EXPECT_EQ(soap_model_events(model.get(), &events, &size), SOAP_INVALID);
}

/// Two devices, of which one waits for a message that the other one sends when
/// it has a sum that both make behind it in the table.
static ModelBuilder sumBesideMessage(fb::Stream ofSum) {
  ModelBuilder b(2);
  uint32_t add = makeAdd(b, 64);
  uint32_t input = b.input("x", {64}), output = b.output("y", {64});
  auto reduce = [&](uint32_t d, uint32_t x, uint32_t wait) {
    return b.row(d, allReduce(2, d, x, 256), ofSum, fb::Phase::Step, {wait});
  };
  uint32_t x0 = b.buffer(0, 256), y0 = b.buffer(0, 256);
  uint32_t feed0 = b.feed(0, input, x0);
  fb::ExchangeT receive;
  receive.receives.emplace_back(1, 0, fb::Extent(y0, 0, 256));
  b.row(0, std::move(receive), fb::Stream::Communication);
  reduce(0, x0, feed0);
  b.drain(0, output, y0);
  uint32_t x1 = b.buffer(1, 256), y1 = b.buffer(1, 256);
  uint32_t sum = reduce(1, x1, b.feed(1, input, x1));
  uint32_t more = b.row(1, launch(add, {x1}, {y1}, {64, 1}),
                        fb::Stream::Compute, fb::Phase::Step, {sum});
  fb::ExchangeT send;
  send.sends.emplace_back(0, 0, fb::Extent(y1, 0, 256));
  b.row(1, std::move(send), fb::Stream::Communication, fb::Phase::Step, {more});
  return b;
}

TEST(Program, PriorityWaitsForNoMessage) {
  ModelBuilder b = sumBesideMessage(fb::Stream::Priority);
  ModelPtr model = b.load(nullptr, {addKernel});
  ASSERT_TRUE(model) << soap_last_error();
  ASSERT_EQ(soap_model_set_tracing(model.get(), 1), SOAP_OK);
  for (int step = 0; step != 200; ++step) {
    Floats in(64, static_cast<float>(step)), out(64);
    const void *inputs[] = {in.data()};
    void *outputs[] = {out.data()};
    ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
    ASSERT_EQ(out, Floats(64, static_cast<float>(2 * step + 1)));
  }
  const soap_event *events;
  size_t size, ofPriority = 0;
  ASSERT_EQ(soap_model_events(model.get(), &events, &size), SOAP_OK);
  for (size_t i = 0; i != size; ++i)
    if (events[i].stream == 2) {
      ++ofPriority;
      EXPECT_STREQ(events[i].kind, "all_reduce");
    }
  EXPECT_EQ(ofPriority, 2u);
}

TEST(Program, RowsOfOneStreamWaitForEachOther) {
  soap_status status;
  ModelBuilder b = sumBesideMessage(fb::Stream::Communication);
  EXPECT_FALSE(b.load(&status, {addKernel}));
  EXPECT_EQ(status, SOAP_INVALID);
  EXPECT_NE(std::string(soap_last_error()).find("wait for each other"),
            std::string::npos)
      << soap_last_error();
}

TEST(Program, Asynchronous) {
  ModelBuilder b;
  uint32_t slow = nativeKernel(b, b.native({}, {}, 1), {}, {});
  b.row(0, launch(slow, {}, {}, {100}));
  ModelPtr model = b.load(nullptr, {slowKernel});
  ASSERT_TRUE(model) << soap_last_error();
  EXPECT_EQ(soap_model_is_done(model.get()), 1);
  ASSERT_EQ(soap_model_run_async(model.get(), nullptr, nullptr), SOAP_OK);
  EXPECT_EQ(soap_model_is_done(model.get()), 0);
  ASSERT_EQ(soap_model_wait(model.get()), SOAP_OK);
  EXPECT_EQ(soap_model_is_done(model.get()), 1);
  // A release in the middle of a step waits for it.
  ASSERT_EQ(soap_model_run_async(model.get(), nullptr, nullptr), SOAP_OK);
}

/// Loads a model whose kernel takes a while, and exits while a step runs.
[[noreturn]] static void exitInStep() {
  static bool ended = false;
  // Called when all else has ended.
  std::atexit([] { std::fputs(ended ? "ended\n" : "running\n", stderr); });
  ModelBuilder b;
  uint32_t slow = nativeKernel(b, b.native({}, {}, 1), {}, {});
  b.row(0, launch(slow, {}, {}, {0}));
  ModelPtr model =
      b.load(nullptr, {+[](void *const *, const int64_t *) {
               std::this_thread::sleep_for(std::chrono::milliseconds(300));
               ended = true;
             }});
  (void)soap_model_run_async(model.get(), nullptr, nullptr);
  std::exit(0);
}

TEST(ProgramDeathTest, ItsExitWaitsForAStep) {
  // Starts anew: nothing forks with threads.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exitInStep(), testing::ExitedWithCode(0), "ended");
}

TEST(Program, FeedsAndDrainsCountAsTransfersOfTheHost) {
  ModelBuilder b;
  uint32_t x = b.buffer(0, 16);
  b.feed(0, b.input("x", {4}), x);
  b.drain(0, b.output("y", {4}), x);
  ModelPtr model = b.load();
  ASSERT_TRUE(model) << soap_last_error();
  Floats in{1, 2, 3, 4}, out(4);
  const void *inputs[] = {in.data()};
  void *outputs[] = {out.data()};
  ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
  EXPECT_EQ(out, in);
  const soap_movement *moved;
  size_t size;
  ASSERT_EQ(soap_model_movements(model.get(), &moved, &size), SOAP_OK);
  ASSERT_EQ(size, 2u);
  EXPECT_EQ(moved[0].phase, SOAP_FEED);
  EXPECT_EQ(moved[0].devices[0], SOAP_HOST);
  EXPECT_EQ(moved[0].devices[1], 0);
  EXPECT_EQ(moved[0].bytes[0], 16);
  EXPECT_EQ(moved[1].phase, SOAP_DRAIN);
  EXPECT_EQ(moved[1].devices[1], SOAP_HOST);
}

TEST(Program, IndexInputsAreChecked) {
  ModelBuilder b;
  uint32_t x = b.buffer(0, 32);
  b.feed(0, b.input("ids", {4}, fb::ElementType::I64), x);
  b.model.programs[0]->inputs[0]->index_bound = 10;
  ModelPtr model = b.load();
  ASSERT_TRUE(model) << soap_last_error();
  for (int64_t bad : {int64_t{10}, int64_t{-1}}) {
    int64_t ids[] = {0, 9, bad, 1};
    const void *inputs[] = {ids};
    EXPECT_EQ(soap_model_run(model.get(), inputs, nullptr), SOAP_INVALID);
    EXPECT_NE(std::string(soap_last_error()).find("at element 2"),
              std::string::npos);
  }
  int64_t ids[] = {0, 9, 5, 1};
  const void *inputs[] = {ids};
  EXPECT_EQ(soap_model_run(model.get(), inputs, nullptr), SOAP_OK);
  EXPECT_EQ(soap_model_run(model.get(), nullptr, nullptr), SOAP_INVALID);
}

TEST(Program, Ports) {
  ModelBuilder b;
  b.input("x", {2, 3}, fb::ElementType::I32);
  ModelPtr model = b.load();
  ASSERT_TRUE(model) << soap_last_error();
  soap_port port;
  ASSERT_EQ(soap_model_input(model.get(), 0, &port), SOAP_OK);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.element, SOAP_I32);
  EXPECT_EQ(port.rank, 2u);
  EXPECT_EQ(port.bytes, 24u);
  EXPECT_EQ(soap_model_input(model.get(), 1, &port), SOAP_INVALID);
  EXPECT_EQ(soap_model_output_count(model.get()), 0u);
  auto machine = nlohmann::json::parse(soap_list_devices());
  EXPECT_FALSE(machine["devices"].empty());
}
