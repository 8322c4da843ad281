//===- TransportBenchmark.cpp - What communication costs ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Time per transfer, all-reduce and empty step between devices of one core. The
// simulator's links and overheads can be compared with these.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <benchmark/benchmark.h>

using namespace soap;
using namespace soap::test;

static constexpr uint32_t repeats = 64;

static void runSteps(benchmark::State &state, const ModelBuilder &builder,
                     uint32_t perStep, int64_t bytes) {
  ModelPtr model = builder.load(nullptr, {}, 1);
  if (!model)
    return state.SkipWithError(soap_last_error());
  for (int warmup = 0; warmup != 10; ++warmup)
    soap_model_run(model.get(), nullptr, nullptr);
  for (auto _ : state) {
    soap_model_run(model.get(), nullptr, nullptr);
    state.SetIterationTime(
        static_cast<double>(soap_model_step_ns(model.get())) / 1e9 / perStep);
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// Two devices send to each other in turn; each hop waits for the one before.
static void BM_Transfer(benchmark::State &state) {
  int64_t bytes = state.range(0);
  ModelBuilder b(2);
  uint32_t buffers[] = {b.buffer(0, bytes), b.buffer(1, bytes)};
  for (uint32_t hop = 0; hop != repeats; ++hop) {
    uint32_t from = hop % 2, to = 1 - from;
    fb::ExchangeT send, receive;
    send.sends.emplace_back(to, hop, fb::Extent(buffers[from], 0, bytes));
    receive.receives.emplace_back(from, hop, fb::Extent(buffers[to], 0, bytes));
    b.row(from, std::move(send), fb::Stream::Communication);
    b.row(to, std::move(receive), fb::Stream::Communication);
  }
  runSteps(state, b, repeats, bytes);
}
BENCHMARK(BM_Transfer)
    ->Arg(64)
    ->Arg(1 << 14)
    ->Arg(1 << 18)
    ->Arg(1 << 22)
    ->UseManualTime();

static void BM_AllReduce(benchmark::State &state) {
  auto devices = static_cast<uint32_t>(state.range(0));
  int64_t bytes = state.range(1);
  ModelBuilder b(devices);
  for (uint32_t d = 0; d != devices; ++d) {
    uint32_t buffer = b.buffer(d, bytes);
    for (uint32_t i = 0; i != repeats; ++i) {
      fb::CollectiveT c;
      c.kind = fb::CollectiveKind::AllReduce;
      c.combine = fb::Combine::Sum;
      for (uint32_t m = 0; m != devices; ++m)
        c.group.push_back(m);
      c.member = d;
      c.send.emplace_back(buffer, 0, bytes);
      c.receive.emplace_back(buffer, 0, bytes);
      b.row(d, std::move(c), fb::Stream::Communication);
    }
  }
  runSteps(state, b, repeats, bytes);
}
BENCHMARK(BM_AllReduce)
    ->Args({2, 64})
    ->Args({2, 1 << 18})
    ->Args({2, 1 << 22})
    ->Args({4, 1 << 18})
    ->UseManualTime();

/// A row of each stream waits for the other, within one device: the price of a
/// wait between streams.
static void BM_StreamHandover(benchmark::State &state) {
  ModelBuilder b(1);
  uint32_t last = b.row(0, fb::CopyT());
  for (uint32_t i = 0; i != repeats; ++i)
    last = b.row(0, fb::CopyT(),
                 i % 2 ? fb::Stream::Compute : fb::Stream::Communication,
                 fb::Phase::Step, {last});
  runSteps(state, b, repeats, 0);
}
BENCHMARK(BM_StreamHandover)->UseManualTime();
