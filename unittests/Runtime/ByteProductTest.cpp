//===- ByteProductTest.cpp - Products of 8-bit integers -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both kernels, our loops and oneDNN's where it has one, against sums in
// double, which are exact. Values lie near the ends of their types, so that
// sums of two products do not fit into 16 bits, and long sums not into the 24
// bits of f32.
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/Threads.h"
#include "NoStream.h"
#include "Reference.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

namespace {
/// Memory of kernels, at a line of a cache.
std::shared_ptr<char> blockOf(size_t bytes) {
  size_t whole = alignedBytes(std::max<size_t>(bytes, 1));
  return {static_cast<char *>(std::aligned_alloc(64, whole)), std::free};
}

struct Problem {
  fb::KernelOpUnion op;
  Tensor x, w;
  Shape result;
  bool channelsLast = false, isConstant = true;

  Problem(fb::KernelOpUnion kind, const Shape &xs, const Shape &ws, Shape made,
          std::mt19937 &random)
      : op(std::move(kind)), x(xs), w(ws), result(std::move(made)) {
    for (double &value : x.values)
      value = 255 - static_cast<int>(random() % 4);
    for (double &value : w.values)
      value = random() % 8 ? 127 - static_cast<int>(random() % 2) : -128;
  }

  flatbuffers::DetachedBuffer table() const {
    fb::KernelT kernel;
    kernel.key = "product";
    kernel.op = op;
    auto add = [&](auto &list, const Shape &shape, fb::ElementType element,
                   bool last) {
      auto type = std::make_unique<fb::TensorTypeT>();
      type->shape = shape;
      type->element = element;
      if (last)
        type->order = fb::ElementOrder::ChannelsLast;
      list.push_back(std::move(type));
    };
    add(kernel.operands, x.shape, fb::ElementType::U8, channelsLast);
    add(kernel.operands, w.shape, fb::ElementType::I8, false);
    add(kernel.results, result, fb::ElementType::I32, channelsLast);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &kernel));
    return builder.Release();
  }

  /// The place of an element in a buffer.
  size_t placeOf(const Shape &shape, const Shape &at) const {
    size_t place = 0;
    auto step = [&](size_t d) {
      place =
          place * static_cast<size_t>(shape[d]) + static_cast<size_t>(at[d]);
    };
    for (size_t d = 0; d != shape.size(); ++d)
      if (!channelsLast || d != 1)
        step(d);
    if (channelsLast)
      step(1);
    return place;
  }

  Tensor run(Kernel &kernel) const {
    auto source = blockOf(x.values.size()), weights = blockOf(w.values.size()),
         made = blockOf(count(result) * 4),
         scratchpad = blockOf(kernel.scratchpadBytes());
    forEachIndex(x.shape, [&](const Shape &at) {
      source.get()[placeOf(x.shape, at)] =
          static_cast<char>(static_cast<uint8_t>(x.at(at)));
    });
    for (size_t i = 0; i != w.values.size(); ++i)
      weights.get()[i] = static_cast<char>(w.values[i]);
    ConstantCache constants;
    Binding binding;
    binding.operands = {DevicePointer(source.get()),
                        DevicePointer(weights.get())};
    binding.results = {DevicePointer(made.get())};
    binding.scratchpad = DevicePointer(scratchpad.get());
    binding.constants = &constants;
    NoStream stream;
    kernel.bind(binding)->enqueue(stream);
    Tensor values(result);
    forEachIndex(result, [&](const Shape &at) {
      int32_t value;
      std::memcpy(&value, made.get() + 4 * placeOf(result, at), 4);
      values.at(at) = value;
    });
    return values;
  }

  Tensor expected() const {
    if (const auto *conv = op.AsConv())
      return reference(*conv, {x, w}, result);
    return reference(*op.AsMatMul(), {x, w}, result);
  }
};

/// Checks both kernels; returns whether oneDNN has one.
bool check(const Problem &problem) {
  auto table = problem.table();
  const auto &kernel = *flatbuffers::GetRoot<fb::Kernel>(table.data());
  EXPECT_TRUE(multipliesBytes(kernel));
  std::vector<double> expected = problem.expected().values;
  std::vector<bool> constant = {false, problem.isConstant};
  for (const ByteLoops *loops : {byteLoops(), (const ByteLoops *)nullptr})
    for (size_t threads : {1, 3}) {
      if (!loops && threads > 1)
        continue;
      useThreads(threads);
      auto own = makeByteKernel(kernel, constant, loops, threads);
      EXPECT_EQ(problem.run(*own).values, expected)
          << own->implementation() << ", " << threads << " threads";
      useThreads(1);
    }
  auto library =
      makeDnnlKernel(kernel, {false, problem.isConstant}, /*reference=*/false);
  if (library) {
    std::vector<double> values = problem.run(*library).values;
    // Its convolutions pass sums through f32, which rounds those of more than
    // 24 bits.
    if (problem.op.AsConv())
      for (size_t i = 0; i != values.size(); ++i)
        if (values[i] == static_cast<double>(static_cast<float>(expected[i])))
          values[i] = expected[i];
    EXPECT_EQ(values, expected) << library->implementation();
  }
  EXPECT_EQ(makeDnnlKernel(kernel, {false, problem.isConstant},
                           /*reference=*/true),
            nullptr);
  return library != nullptr;
}
} // namespace

TEST(ByteProduct, OfMatrices) {
  std::mt19937 random(20261126);
  for (bool isConstant : {true, false})
    for (int turn = 0; turn != 4; ++turn)
      for (Shape batch : {Shape{}, Shape{3}})
        for (int64_t depth : {1, 37, 600}) {
          SCOPED_TRACE("depth " + std::to_string(depth) + ", turn " +
                       std::to_string(turn));
          fb::MatMulT op;
          op.transpose_a = turn & 1;
          op.transpose_b = turn & 2;
          int64_t m = 3, n = 17;
          Shape a = op.transpose_a ? Shape{depth, m} : Shape{m, depth},
                b = op.transpose_b ? Shape{n, depth} : Shape{depth, n},
                y = {m, n};
          for (Shape *shape : {&a, &y})
            shape->insert(shape->begin(), batch.begin(), batch.end());
          fb::KernelOpUnion kind;
          kind.Set(std::move(op));
          Problem problem(std::move(kind), a, b, y, random);
          problem.isConstant = isConstant;
          check(problem);
        }
}

TEST(ByteProduct, OfConvolutions) {
  std::mt19937 random(20261126);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int inLibrary = 0;
  for (int round = 0; round != 60; ++round) {
    // The last rounds have blocks, and work for several threads.
    bool large = round >= 56;
    size_t spatial = static_cast<size_t>(large ? 2 : draw(1, 3));
    int64_t groups = round % 4 ? 1 : draw(1, 4);
    int64_t inputs = round % 8 == 7 ? 150 : draw(1, 12), outputs = draw(1, 40);
    if (round % 8 == 4) { // Each filter has a channel of its own.
      groups = draw(2, 40);
      inputs = outputs = 1;
    }
    if (large)
      inputs = draw(20, 40);
    fb::ConvT op;
    op.groups = groups;
    Shape x = {draw(1, 2), groups * inputs}, w = {groups * outputs, inputs},
          y = {x[0], w[0]};
    for (size_t d = 0; d != spatial; ++d) {
      int64_t kernel = draw(1, 3), dilation = draw(1, 2), stride = draw(1, 3);
      int64_t extent = (kernel - 1) * dilation + 1;
      // Pads may be larger than a window.
      int64_t low = draw(0, 3), high = draw(0, 3),
              size = large ? draw(30, 70) : draw(extent, 9);
      x.push_back(size);
      w.push_back(kernel);
      y.push_back((size + low + high - extent) / stride + 1);
      op.strides.push_back(stride);
      op.dilations.push_back(dilation);
      op.pads_lo.push_back(low);
      op.pads_hi.push_back(high);
    }
    fb::KernelOpUnion kind;
    kind.Set(std::move(op));
    Problem problem(std::move(kind), x, w, y, random);
    problem.channelsLast = draw(0, 1);
    problem.isConstant = draw(0, 1);
    SCOPED_TRACE("round " + std::to_string(round));
    inLibrary += check(problem);
  }
  RecordProperty("inLibrary", inLibrary);
}
