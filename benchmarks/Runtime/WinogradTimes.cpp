//===- WinogradTimes.cpp - Convolutions of 3x3, direct and by Winograd ----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// soap-winograd-times [THREADS] [ROUNDS]: a table, one row per convolution, of
// the lower quartiles of alternating runs with channels last: milliseconds, of
// the processor if THREADS is 1 (the default), else of the wall, and Gflop/s of
// the direct sums. Before every run what caches hold is replaced. The star is
// at what the runtime would take.
//
//===----------------------------------------------------------------------===//

#include "CPU/Threads.h"
#include "CPU/WinogradPlan.h"
#include "NoStream.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace soap;
using namespace soap::runtime;

namespace {
/// A square image, padded by 1.
struct Convolution {
  int64_t batch, channels, filters, image, groups;

  double flops() const {
    return 18.0 * static_cast<double>(batch * channels * filters / groups *
                                      image * image);
  }
  flatbuffers::DetachedBuffer table() const {
    fb::ConvT conv;
    conv.strides = conv.dilations = conv.pads_lo = conv.pads_hi = {1, 1};
    conv.groups = groups;
    conv.bias = conv.winograd = true;
    fb::KernelT kernel;
    kernel.key = "conv";
    kernel.op.Set(std::move(conv));
    auto add = [](auto &list, Shape shape, fb::ElementOrder order) {
      auto type = std::make_unique<fb::TensorTypeT>();
      type->shape = std::move(shape);
      type->order = order;
      list.push_back(std::move(type));
    };
    auto last = fb::ElementOrder::ChannelsLast,
         row = fb::ElementOrder::RowMajor;
    add(kernel.operands, {batch, channels, image, image}, last);
    add(kernel.operands, {filters, channels / groups, 3, 3}, row);
    add(kernel.operands, {filters}, row);
    add(kernel.results, {batch, filters, image, image}, last);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &kernel));
    return builder.Release();
  }
};

/// A kernel on operands of its own.
struct Candidate {
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<BoundKernel> bound;
  std::vector<std::vector<float>> memory;
  ConstantCache constants;
  std::vector<double> times;

  Candidate(std::unique_ptr<Kernel> made, const fb::Kernel &table)
      : kernel(std::move(made)) {
    Binding binding;
    for (const auto *type : items(table.operands()))
      binding.operands.push_back(
          allocate(elementCount(toVector(type->shape()))));
    binding.results.push_back(
        allocate(elementCount(toVector(table.results()->Get(0)->shape()))));
    binding.scratchpad =
        allocate(static_cast<int64_t>(kernel->scratchpadBytes() / 4));
    binding.constants = &constants;
    bound = kernel->bind(binding);
  }

private:
  DevicePointer allocate(int64_t floats) {
    auto &block = memory.emplace_back(static_cast<size_t>(floats) + 16);
    for (float &value : block)
      value =
          static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX) - 0.5F;
    auto address = reinterpret_cast<uintptr_t>(block.data());
    return DevicePointer((address + 63) / 64 * 64);
  }
};
} // namespace

static double secondsOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

static void measure(const Convolution &conv, size_t threads, int rounds) {
  auto buffer = conv.table();
  const auto &table = *flatbuffers::GetRoot<fb::Kernel>(buffer.data());
  std::optional<WinogradShape> shape = winogradShape(table);
  std::vector<Candidate> candidates;
  candidates.emplace_back(makeDnnlKernel(table, {false, true, true}, false),
                          table);
  for (const WinogradLoops *loops : winogradLoops())
    candidates.emplace_back(
        makeWinogradKernel(table, WinogradPlan(*shape, *loops, threads)),
        table);
  std::optional<WinogradPlan> taken = planWinograd(*shape, threads);
  clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  static std::vector<float> others(size_t{1} << 24);
  test::NoStream stream;
  for (int round = 0; round != rounds; ++round)
    for (Candidate &candidate : candidates) {
      for (size_t i = 0; i < others.size(); i += 16)
        others[i] += 1;
      double start = secondsOf(clock);
      candidate.bound->enqueue(stream);
      candidate.times.push_back(secondsOf(clock) - start);
    }
  std::printf("| %ld | %ld→%ld, %ld², %ld | ", conv.batch, conv.channels,
              conv.filters, conv.image, conv.groups);
  for (size_t i = 0; i != candidates.size(); ++i) {
    std::vector<double> &times = candidates[i].times;
    std::sort(times.begin(), times.end());
    double time = times[times.size() / 4];
    bool isTaken =
        i == 0 ? !taken : taken && &taken->loops() == winogradLoops()[i - 1];
    std::printf("%.3f, %.0f%s | ", time * 1e3, conv.flops() / time * 1e-9,
                isTaken ? "*" : "");
  }
  std::printf("\n");
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  auto threads = static_cast<size_t>(argc > 1 ? std::atol(argv[1]) : 1);
  int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  useThreads(threads);
  std::printf("| batch | channels, image, groups | direct | tiles of 2x2 | "
              "tiles of 4x4 |\n"
              "|---|---|---|---|---|\n");
  for (const Convolution &conv : std::vector<Convolution>{
           {1, 3, 64, 224, 1},    {1, 64, 64, 224, 1},  {1, 64, 128, 112, 1},
           {1, 128, 128, 112, 1}, {1, 256, 256, 56, 1}, {1, 512, 512, 28, 1},
           {1, 512, 512, 14, 1},  {1, 64, 64, 56, 1},   {1, 128, 128, 28, 1},
           {1, 256, 256, 14, 1},  {1, 512, 512, 7, 1},  {8, 64, 64, 56, 1},
           {8, 256, 256, 14, 1},  {8, 512, 512, 7, 1},  {1, 128, 32, 56, 1},
           {1, 128, 32, 14, 1},   {1, 128, 32, 7, 1},   {1, 96, 128, 28, 1},
           {1, 160, 320, 14, 1},  {1, 192, 384, 7, 1},  {1, 16, 64, 55, 1},
           {1, 48, 192, 13, 1},   {1, 384, 384, 13, 2}, {1, 1024, 512, 52, 1},
           {1, 32, 32, 112, 1},   {1, 16, 16, 112, 1},  {1, 8, 8, 112, 1},
           {1, 512, 512, 14, 32}})
    measure(conv, threads, rounds);
}
