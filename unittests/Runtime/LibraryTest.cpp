//===- LibraryTest.cpp - Kernels of oneDNN that are made at the same time -===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "ConvolutionProblem.h"
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

/// A convolution of bytes.
static flatbuffers::DetachedBuffer bytesTable(int64_t channels) {
  fb::KernelT kernel;
  kernel.key = "bytes";
  fb::ConvT op;
  op.groups = 1;
  op.strides = op.dilations = {1, 1};
  op.pads_lo = op.pads_hi = {0, 0};
  kernel.op.Set(std::move(op));
  auto add = [](auto &list, const Shape &shape, fb::ElementType element) {
    list.push_back(std::make_unique<fb::TensorTypeT>());
    list.back()->shape = shape;
    list.back()->element = element;
  };
  add(kernel.operands, {1, channels, 6, 6}, fb::ElementType::U8);
  add(kernel.operands, {4, channels, 3, 3}, fb::ElementType::I8);
  add(kernel.results, {1, 4, 4, 4}, fb::ElementType::I32);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Kernel::Pack(builder, &kernel));
  return builder.Release();
}

// Devices load at the same time, and their kernels may be of different types
// (dnnlops::describing()): without a lock some of these are wrong with AVX-512.
TEST(Library, ThreadsMakeConvolutionsOfDifferentTypes) {
  std::atomic<bool> isOver{false};
  std::thread other([&] {
    auto table = bytesTable(/*channels=*/5);
    while (!isOver)
      (void)makeDnnlKernel(*flatbuffers::GetRoot<fb::Kernel>(table.data()),
                           {false, true}, /*allowReference=*/false);
  });
  std::mt19937 random(20261129);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  auto make = [](const fb::Kernel &kernel) {
    return makeDnnlKernel(kernel, {false, true}, /*allowReference=*/false);
  };
  using Clock = std::chrono::steady_clock;
  Clock::time_point end = Clock::now() + std::chrono::seconds(3);
  double error = 0;
  for (uint32_t round = 0; error < 1e-5 && Clock::now() < end; ++round) {
    Window window{{draw(1, 3), draw(2, 3)}, {1, 1}, {0, draw(0, 1)}, {0, 0}};
    ConvolutionProblem problem({draw(1, 3), draw(1, 6), draw(3, 8), draw(3, 8)},
                               /*filters=*/draw(1, 5), /*groups=*/1,
                               /*bias=*/false, window, /*seed=*/round);
    auto table = problem.table();
    if (make(*flatbuffers::GetRoot<fb::Kernel>(table.data())))
      error = errorOf(runProblem(problem, make), problem.expected());
  }
  isOver = true;
  other.join();
  EXPECT_LT(error, 1e-5);
}
