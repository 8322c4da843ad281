//===- ThrottleTest.cpp - Slow links --------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links are so slow, and computation only sleeps, that the order of events does
// not depend on the machine; times have wide margins.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace soap;
using namespace soap::test;

namespace {
constexpr double ms = 1e6; ///< In ns.

/// Computes for 80 ms.
void sleepKernel(void *const *, const int64_t *) {
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
}

/// 1 MB/s: 50 kB take 50 ms.
constexpr LinkSpeed slow{1e6, 5000000};
constexpr int64_t message = 50000;

/// Two devices with a buffer each for what they send and receive.
class Pair {
public:
  Pair() : builder(2) {
    for (uint32_t d : {0u, 1u}) {
      out.push_back(builder.buffer(d, 2 * message));
      in.push_back(builder.buffer(d, 2 * message));
    }
  }

  /// A transfer of half a buffer from one device to the other.
  void transfer(uint32_t from, uint32_t part = 0) {
    uint64_t offset = part * message;
    fb::ExchangeT send, receive;
    send.sends.emplace_back(1 - from, part,
                            fb::Extent(out[from], offset, message));
    receive.receives.emplace_back(from, part,
                                  fb::Extent(in[1 - from], offset, message));
    builder.row(from, std::move(send), fb::Stream::Communication);
    builder.row(1 - from, std::move(receive), fb::Stream::Communication);
  }

  void compute(uint32_t device, std::vector<uint32_t> waits = {}) {
    fb::NativeT native;
    native.symbol = builder.native();
    fb::KernelOpUnion op;
    op.Set(std::move(native));
    fb::LaunchT launch;
    launch.kernel = builder.kernel(std::move(op), {}, {});
    builder.row(device, std::move(launch), fb::Stream::Compute, fb::Phase::Step,
                std::move(waits));
  }

  /// Time of a step in ns, the shortest of three.
  double run(const LinkSpeed &link = slow) {
    std::vector<soap_native_kernel> natives(builder.model.natives.size(),
                                            sleepKernel);
    ModelPtr model = builder.load(nullptr, natives, 0, nullptr, nullptr, link);
    EXPECT_TRUE(model) << soap_last_error();
    double shortest = 1e18;
    for (int step = 0; model && step != 3; ++step) {
      EXPECT_EQ(soap_model_run(model.get(), nullptr, nullptr), SOAP_OK);
      shortest = std::min(shortest,
                          static_cast<double>(soap_model_step_ns(model.get())));
    }
    return shortest;
  }

  ModelBuilder builder;
  std::vector<uint32_t> in, out;
};
} // namespace

TEST(Throttle, OneTransfer) {
  Pair pair;
  pair.transfer(0);
  double time = pair.run();
  EXPECT_GE(time, 55 * ms);
  EXPECT_LT(time, 90 * ms);
  EXPECT_LT(pair.run({}), 40 * ms); // Without a link.
}

/// Two messages of one direction share the link, and their latencies overlap.
TEST(Throttle, OneAfterTheOther) {
  Pair pair;
  fb::ExchangeT send, receive;
  for (uint32_t part : {0u, 1u}) {
    send.sends.emplace_back(1, part,
                            fb::Extent(pair.out[0], part * message, message));
    receive.receives.emplace_back(
        0, part, fb::Extent(pair.in[1], part * message, message));
  }
  pair.builder.row(0, std::move(send), fb::Stream::Communication);
  pair.builder.row(1, std::move(receive), fb::Stream::Communication);
  double time = pair.run();
  EXPECT_GE(time, 105 * ms);
  EXPECT_LT(time, 140 * ms);
}

/// Messages of opposite directions do not wait for each other.
TEST(Throttle, BothDirections) {
  Pair pair;
  for (uint32_t d : {0u, 1u}) {
    fb::ExchangeT both;
    both.sends.emplace_back(1 - d, 0, fb::Extent(pair.out[d], 0, message));
    both.receives.emplace_back(1 - d, 0, fb::Extent(pair.in[d], 0, message));
    pair.builder.row(d, std::move(both), fb::Stream::Communication);
  }
  double time = pair.run();
  EXPECT_GE(time, 55 * ms);
  EXPECT_LT(time, 95 * ms);
}

/// A message that is posted late enters the link late.
TEST(Throttle, ServedByArrival) {
  Pair pair;
  pair.compute(0);
  fb::ExchangeT send, receive;
  send.sends.emplace_back(1, 0, fb::Extent(pair.out[0], 0, message));
  receive.receives.emplace_back(0, 0, fb::Extent(pair.in[1], 0, message));
  pair.builder.row(0, std::move(send), fb::Stream::Communication,
                   fb::Phase::Step, {0});
  pair.builder.row(1, std::move(receive), fb::Stream::Communication);
  EXPECT_GE(pair.run(), 135 * ms);
}

/// A step takes less than computation (80 ms) plus transfer (110 ms).
TEST(Throttle, TransfersOverlapWithComputation) {
  Pair pair;
  pair.transfer(0, 0);
  pair.transfer(0, 1);
  pair.compute(0);
  pair.compute(1);
  double time = pair.run();
  EXPECT_GE(time, 105 * ms);
  EXPECT_LT(time, 160 * ms);
}

/// Collectives run over throttled links, too, and give the same result.
TEST(Throttle, AllReduce) {
  for (fb::Algorithm algorithm :
       {fb::Algorithm::Direct, fb::Algorithm::Ring, fb::Algorithm::Tree}) {
    constexpr int64_t size = 30000;
    constexpr uint32_t n = 3;
    ModelBuilder b(n);
    std::vector<Floats> in, out(n, Floats(size));
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    for (uint32_t d = 0; d != n; ++d) {
      std::string name = std::to_string(d);
      uint32_t buffer = b.buffer(d, size * 4);
      b.feed(d, b.input("x" + name, {size}), buffer);
      fb::CollectiveT c;
      c.kind = fb::CollectiveKind::AllReduce;
      c.algorithm = algorithm;
      c.combine = fb::Combine::Max;
      c.group = {0, 1, 2};
      c.member = d;
      c.send.emplace_back(buffer, 0, size * 4);
      c.receive = c.send;
      b.row(d, std::move(c), fb::Stream::Communication, fb::Phase::Step, {0});
      b.drain(d, b.output("y" + name, {size}), buffer);
      in.push_back(randomFloats(size, d));
    }
    for (uint32_t d = 0; d != n; ++d) {
      inputs.push_back(in[d].data());
      outputs.push_back(out[d].data());
    }
    // 120 kB at 12 MB/s: 10 ms for all of it.
    ModelPtr model = b.load(nullptr, {}, 0, nullptr, nullptr, {12e6, 1000000});
    ASSERT_TRUE(model) << soap_last_error();
    for (int step = 0; step != 3; ++step) {
      ASSERT_EQ(soap_model_run(model.get(), inputs.data(), outputs.data()),
                SOAP_OK);
      for (int64_t i = 0; i != size; ++i)
        for (uint32_t d = 0; d != n; ++d)
          ASSERT_EQ(out[d][i], std::max({in[0][i], in[1][i], in[2][i]}));
      // Rounds of a third each: 2 by direct, 4 by ring; a tree: up, down.
      double least = algorithm == fb::Algorithm::Direct ? 2 * (10 / 3. + 1)
                     : algorithm == fb::Algorithm::Ring ? 4 * (10 / 3. + 1)
                                                        : 2 * (10 + 1);
      EXPECT_GE(static_cast<double>(soap_model_step_ns(model.get())),
                least * ms);
    }
  }
}

TEST(LinkSpeed, Reads) {
  auto read = [](const char *text) {
    LinkSpeed link;
    EXPECT_EQ(parseLinkSpeed(text, link), "");
    return std::make_pair(link.bandwidth, link.latencyNs);
  };
  EXPECT_EQ(read("1GB/s:10us"), std::make_pair(1e9, int64_t{10000}));
  EXPECT_EQ(read("1.5MiB/s:0ns"), std::make_pair(1572864.0, int64_t{0}));
  EXPECT_EQ(read("250KB/s:.5ms"), std::make_pair(250e3, int64_t{500000}));
  EXPECT_EQ(read("12B/s:2s"), std::make_pair(12.0, int64_t{2000000000}));
}

TEST(LinkSpeed, RefusesWithACure) {
  for (const char *text : {"",
                           ":",
                           "1GB/s",
                           "1GB/s:",
                           ":1us",
                           "1GB:1us",
                           "GB/s:1us",
                           "1 GB/s:1us",
                           "1GB/s:1",
                           "-1GB/s:1us",
                           "0GB/s:1us",
                           "1e9B/s:1us",
                           "1GB/s:1us:1us",
                           "1GB/s:1h",
                           "1..5GB/s:1us",
                           ".GB/s:1us",
                           "1GB/s:-1us",
                           "infB/s:1us",
                           "1GB/s: 1us",
                           "9999TB/s:1us",
                           "1GB/s:9999s"}) {
    LinkSpeed link;
    std::string error = parseLinkSpeed(text, link);
    EXPECT_NE(error.find("expected"), std::string::npos) << text;
    EXPECT_NE(error.find("'" + std::string(text) + "'"), std::string::npos)
        << error;
  }
}
