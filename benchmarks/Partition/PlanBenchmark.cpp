//===- PlanBenchmark.cpp - Time per communication plan --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Microseconds per plan of a feature map [N, C, H, W] at 4, 16 and 64 devices,
// one line per row of the plan table. The search plans some hundred thousand
// values per second.
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/CommPlan.h"
#include <benchmark/benchmark.h>
#include <numeric>

using namespace soap;
using Ids = llvm::SmallVector<int32_t, 8>;

static const llvm::SmallVector<int64_t, 5> shape{64, 256, 128, 64};

static Ids range(int32_t count, int32_t repeat = 1) {
  Ids ids(count * repeat);
  for (int32_t i = 0; i != count * repeat; ++i)
    ids[i] = i % count;
  return ids;
}

/// A layout with `degree` tiles along dimension `dim`.
static Layout layout(int32_t devices, size_t dim, int32_t degree,
                     int32_t parts = 1, int32_t copies = 1) {
  Layout layout;
  for (size_t d = 0; d != shape.size(); ++d) {
    layout.cuts.emplace_back(1, 0);
    for (int32_t i = 0, e = d == dim ? degree : 1; i != e; ++i)
      layout.cuts[d].push_back(tileRange(shape[d], e, i).hi);
  }
  layout.parts = parts;
  layout.combine = parts > 1 ? Combine::Sum : Combine::None;
  layout.copies = copies;
  layout.devices = range(devices);
  layout.tasks = layout.devices;
  return layout;
}

static Need need(int32_t devices, size_t dim, int32_t degree,
                 int32_t copies = 1, int64_t halo = 0) {
  Need need;
  for (size_t d = 0; d != shape.size(); ++d) {
    auto &ranges = need.ranges.emplace_back();
    for (int32_t i = 0, e = d == dim ? degree : 1; i != e; ++i) {
      Range tile = tileRange(shape[d], e, i);
      if (d == dim)
        tile = {std::max<int64_t>(0, tile.lo - halo),
                std::min(shape[d], tile.hi + halo)};
      ranges.push_back(tile);
    }
  }
  need.copies = copies;
  need.devices = range(devices);
  need.tasks = need.devices;
  return need;
}

static void run(benchmark::State &state, const Layout &producer,
                llvm::ArrayRef<Need> consumers, ActionKind expected,
                size_t numActions = 1) {
  ValuePlan plan = planValue(producer, consumers);
  if (plan.actions.size() != numActions ||
      (numActions && plan.actions.back().kind != expected))
    state.SkipWithError("another row of the table");
  for (auto _ : state)
    benchmark::DoNotOptimize(planValue(producer, consumers));
}

static void Local(benchmark::State &state) {
  int32_t p = state.range(0);
  run(state, layout(p, 0, p), need(p, 0, p), ActionKind::Transfer, 0);
}
static void LocalFourConsumers(benchmark::State &state) {
  int32_t p = state.range(0);
  Need same = need(p, 0, p);
  run(state, layout(p, 0, p), {same, same, same, same}, ActionKind::Transfer,
      0);
}
static void Replicated(benchmark::State &state) {
  int32_t p = state.range(0);
  run(state, layout(p, 0, 1, 1, p), need(p, 0, 1, p), ActionKind::Transfer, 0);
}
static void Broadcast(benchmark::State &state) {
  int32_t p = state.range(0);
  Layout producer = layout(1, 0, 1);
  run(state, producer, need(p, 0, 1, p), ActionKind::Broadcast);
}
static void AllGather(benchmark::State &state) {
  int32_t p = state.range(0);
  run(state, layout(p, 0, p), need(p, 0, 1, p), ActionKind::AllGather);
}
static void AllToAll(benchmark::State &state) {
  int32_t p = state.range(0);
  run(state, layout(p, 0, p), need(p, 1, p), ActionKind::AllToAll);
}
static void HaloExchange(benchmark::State &state) {
  int32_t p = state.range(0);
  run(state, layout(p, 2, p), need(p, 2, p, 1, 1), ActionKind::HaloExchange);
}
static void AllReduce(benchmark::State &state) {
  int32_t p = state.range(0);
  run(state, layout(p, 0, 1, p), need(p, 0, 1, p), ActionKind::AllReduce);
}
static void ReduceScatter(benchmark::State &state) {
  int32_t p = state.range(0);
  run(state, layout(p, 0, 1, p), need(p, 0, p), ActionKind::ReduceScatter);
}
static void HomeLayout(benchmark::State &state) {
  int32_t p = state.range(0);
  Need one = need(1, 0, 1);
  run(state, layout(p, 0, 1, p), one, ActionKind::Transfer, 2);
}
/// Every tile moves to another device: the last row.
static void Transfers(benchmark::State &state) {
  int32_t p = state.range(0);
  Need shifted = need(p, 0, p);
  std::rotate(shifted.devices.begin(), shifted.devices.begin() + 1,
              shifted.devices.end());
  run(state, layout(p, 0, p), shifted, ActionKind::Transfer);
}

#define SOAP_PLAN_BENCHMARK(name)                                              \
  BENCHMARK(name)->Arg(4)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond)
SOAP_PLAN_BENCHMARK(Local);
SOAP_PLAN_BENCHMARK(LocalFourConsumers);
SOAP_PLAN_BENCHMARK(Replicated);
SOAP_PLAN_BENCHMARK(Broadcast);
SOAP_PLAN_BENCHMARK(AllGather);
SOAP_PLAN_BENCHMARK(AllToAll);
SOAP_PLAN_BENCHMARK(HaloExchange);
SOAP_PLAN_BENCHMARK(AllReduce);
SOAP_PLAN_BENCHMARK(ReduceScatter);
SOAP_PLAN_BENCHMARK(HomeLayout);
SOAP_PLAN_BENCHMARK(Transfers);
