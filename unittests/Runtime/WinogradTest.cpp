//===- WinogradTest.cpp - Convolutions by Winograd's algorithm ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Threads.h"
#include "CPU/WinogradPlan.h"
#include "NoStream.h"
#include "Reference.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

namespace soap::runtime {
/// Of WinogradWide.cpp.
extern const WinogradLoops winogradWideOf2, winogradWideOf4;
} // namespace soap::runtime

/// All loops that can run here, by tiles and widths.
static std::vector<const WinogradLoops *> allLoops() {
  std::vector<const WinogradLoops *> loops = winogradLoops();
  loops.push_back(&winogradWideOf2);
  loops.push_back(&winogradWideOf4);
  return loops;
}

/// The sum of a window, by definition.
static double windowSum(const Tensor &x, const Tensor &w,
                        const std::vector<int64_t> &low, const Shape &at,
                        int64_t firstChannel) {
  double sum = 0;
  for (int64_t c = 0; c != w.shape[1]; ++c)
    for (int64_t i = 0; i != 3; ++i)
      for (int64_t j = 0; j != 3; ++j) {
        int64_t row = at[2] + i - low[0], column = at[3] + j - low[1];
        if (row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3])
          sum +=
              x.values[static_cast<size_t>(
                  ((at[0] * x.shape[1] + firstChannel + c) * x.shape[2] + row) *
                      x.shape[3] +
                  column)] *
              w.values[static_cast<size_t>(
                  ((at[1] * w.shape[1] + c) * 3 + i) * 3 + j)];
      }
  return sum;
}

namespace {
/// A convolution of 3x3 with its operands.
struct Problem {
  fb::KernelT kernel;
  fb::ConvT conv;
  std::vector<Tensor> operands;
  Shape result;

  Problem(Shape x, int64_t filters, int64_t groups, bool bias,
          std::vector<int64_t> low, std::vector<int64_t> high,
          uint32_t seed = 1) {
    conv.strides = conv.dilations = {1, 1};
    conv.pads_lo = low;
    conv.pads_hi = high;
    conv.groups = groups;
    conv.bias = bias;
    conv.winograd = true;
    result = {x[0], filters, x[2] + low[0] + high[0] - 2,
              x[3] + low[1] + high[1] - 2};
    std::vector<Shape> shapes = {x, {filters, x[1] / groups, 3, 3}};
    if (bias)
      shapes.push_back({filters});
    for (const Shape &shape : shapes)
      operands.emplace_back(shape, randomFloats(count(shape), seed++));
  }

  /// The result, in double.
  Tensor expected() const {
    Tensor y(result);
    size_t i = 0;
    int64_t filters = result[1] / conv.groups;
    forEachIndex(result, [&](const Shape &at) {
      double bias =
          conv.bias ? operands[2].values[static_cast<size_t>(at[1])] : 0;
      y.values[i++] =
          bias + windowSum(operands[0], operands[1], conv.pads_lo, at,
                           at[1] / filters * operands[1].shape[1]);
    });
    return y;
  }

  /// The table of the kernel, by whether source and result have channels last.
  flatbuffers::DetachedBuffer table(bool sourceLast = false,
                                    bool resultLast = false) const {
    fb::KernelT table;
    table.key = "conv";
    table.op.Set(fb::ConvT(conv));
    auto add = [](auto &list, const Shape &shape, bool last) {
      auto type = std::make_unique<fb::TensorTypeT>();
      type->shape = shape;
      if (last)
        type->order = fb::ElementOrder::ChannelsLast;
      list.push_back(std::move(type));
    };
    for (const Tensor &operand : operands)
      add(table.operands, operand.shape, sourceLast && table.operands.empty());
    add(table.results, result, resultLast);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &table));
    return builder.Release();
  }
};

/// Memory that is NaN at first, and is looked at behind its end.
class Guarded {
public:
  explicit Guarded(size_t bytes)
      : floats_((bytes + 63) / 64 * 16 + 32,
                std::numeric_limits<float>::quiet_NaN()) {
    auto address = reinterpret_cast<uintptr_t>(floats_.data());
    begin_ = floats_.data() + (64 - address % 64) % 64 / sizeof(float);
    size_ = bytes / sizeof(float);
    std::fill(begin_ + size_, begin_ + size_ + 8, 12345.0F);
  }
  float *data() { return begin_; }
  DevicePointer pointer() {
    return DevicePointer(reinterpret_cast<char *>(begin_));
  }
  bool isIntact() const {
    return std::all_of(begin_ + size_, begin_ + size_ + 8,
                       [](float value) { return value == 12345.0F; });
  }

private:
  std::vector<float> floats_;
  float *begin_ = nullptr;
  size_t size_ = 0;
};
} // namespace

/// The place of an element with channels last.
static size_t placeOf(const Shape &shape, const Shape &index) {
  return static_cast<size_t>(
      ((index[0] * shape[2] + index[2]) * shape[3] + index[3]) * shape[1] +
      index[1]);
}

/// What the launches of a device share.
struct Session {
  ConstantCache constants;
  std::vector<std::unique_ptr<Guarded>> operands;
};

/// Runs a kernel twice, the second time over what the first one left behind,
/// and returns the result, row-major.
static Tensor run(const Problem &problem, const WinogradLoops &loops,
                  size_t threads, bool sourceLast, bool resultLast,
                  Session *given = nullptr) {
  Session own;
  Session &session = given ? *given : own;
  auto table = problem.table(sourceLast, resultLast);
  const auto &row = *flatbuffers::GetRoot<fb::Kernel>(table.data());
  std::optional<WinogradShape> shape = winogradShape(row);
  EXPECT_TRUE(shape);
  useThreads(threads);
  auto kernel = makeWinogradKernel(row, WinogradPlan(*shape, loops, threads));
  Binding binding;
  for (const Tensor &operand : problem.operands) {
    auto memory = std::make_unique<Guarded>(operand.values.size() * 4);
    size_t i = 0;
    bool reorders = sourceLast && binding.operands.empty();
    forEachIndex(operand.shape, [&](const Shape &index) {
      memory->data()[reorders ? placeOf(operand.shape, index) : i] =
          static_cast<float>(operand.values[i]);
      ++i;
    });
    binding.operands.push_back(memory->pointer());
    session.operands.push_back(std::move(memory));
  }
  Tensor result(problem.result);
  Guarded made(result.values.size() * 4), scratch(kernel->scratchpadBytes());
  binding.results = {made.pointer()};
  binding.scratchpad = scratch.pointer();
  binding.constants = &session.constants;
  size_t before = session.constants.bytes();
  auto bound = kernel->bind(binding);
  size_t promised = 0;
  for (const ConstantCopy &copy : kernel->constantCopies())
    promised += copy.bytes;
  EXPECT_EQ(session.constants.bytes(), before + promised);
  // Weights are read from their copy alone.
  std::memset(hostAddress(binding.operands[1]), 255,
              problem.operands[1].values.size() * 4);
  NoStream stream;
  for (int step = 0; step != 2; ++step)
    bound->enqueue(stream);
  EXPECT_TRUE(scratch.isIntact() && made.isIntact());
  size_t i = 0;
  forEachIndex(result.shape, [&](const Shape &index) {
    result.values[i] =
        made.data()[resultLast ? placeOf(result.shape, index) : i];
    ++i;
  });
  useThreads(1);
  return result;
}

/// The norm of the difference, relative to that of `expected`.
static double errorOf(const Tensor &got, const Tensor &expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i != got.values.size(); ++i) {
    difference += std::pow(got.values[i] - expected.values[i], 2);
    norm += std::pow(expected.values[i], 2);
  }
  return norm > 0 ? std::sqrt(difference / norm) : difference;
}

// Any shapes, pads, groups, orders, tiles, vectors and numbers of threads.
TEST(Winograd, RandomShapes) {
  std::mt19937 random(20261124);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round != 24; ++round) {
    int64_t groups = draw(0, 3) ? 1 : draw(2, 3);
    std::vector<int64_t> low = {draw(0, 3), draw(0, 3)},
                         high = {draw(0, 3), draw(0, 3)};
    auto extent = [&](size_t d) {
      return draw(std::max<int64_t>(1, 3 - low[d] - high[d]), 19);
    };
    Shape x = {draw(1, 2), groups * draw(1, 36), extent(0), extent(1)};
    Problem problem(x, groups * draw(1, 70), groups, draw(0, 1), low, high,
                    static_cast<uint32_t>(round));
    Tensor expected = problem.expected();
    auto threads = static_cast<size_t>(draw(1, 3));
    bool sourceLast = draw(0, 1), resultLast = draw(0, 1);
    for (const WinogradLoops *loops : allLoops()) {
      Tensor got = run(problem, *loops, threads, sourceLast, resultLast);
      EXPECT_LT(errorOf(got, expected), 3e-6)
          << "round " << round << ", tiles of " << loops->tile
          << ", vectors of " << loops->width << ", " << threads
          << " threads, source " << runtime::toString(x) << ", result "
          << runtime::toString(problem.result) << ", groups " << groups
          << ", pads " << runtime::toString(low) << " "
          << runtime::toString(high) << ", channels last " << sourceLast
          << resultLast;
      if (testing::Test::HasFailure())
        return;
    }
  }
}

// Sums of many channels: what is promised is an error below 1e-4 of the norm.
TEST(Winograd, ErrorOfManyChannels) {
  for (bool positive : {false, true}) {
    Problem problem({1, 512, 6, 6}, 16, 1, true, {1, 1}, {1, 1});
    if (positive) // As behind a relu.
      for (double &value : problem.operands[0].values)
        value = std::fabs(value);
    Tensor expected = problem.expected();
    for (const WinogradLoops *loops : allLoops())
      EXPECT_LT(errorOf(run(problem, *loops, 1, true, true), expected), 1e-5)
          << loops->tile << ", " << loops->width;
  }
}

// Transformed weights are shared by launches that read the same ones.
TEST(Winograd, ConvolutionsHaveTheirOwnWeights) {
  for (const WinogradLoops *loops : allLoops()) {
    Session session;
    for (uint32_t seed : {1U, 10U}) {
      Problem problem({1, 8, 9, 9}, 8, 1, false, {0, 0}, {0, 0}, seed);
      EXPECT_LT(errorOf(run(problem, *loops, 1, true, true, &session),
                        problem.expected()),
                3e-6)
          << "seed " << seed;
    }
  }
}

// What is not finite spoils the tiles that read it, and no others.
TEST(Winograd, InfinitiesStayInTheirTiles) {
  for (float value : {std::numeric_limits<float>::infinity(),
                      std::numeric_limits<float>::quiet_NaN()}) {
    Problem problem({1, 8, 16, 16}, 8, 1, false, {1, 1}, {1, 1});
    problem.operands[0].at({0, 3, 1, 1}) = value;
    Tensor expected = problem.expected();
    for (const WinogradLoops *loops : allLoops()) {
      Tensor got = run(problem, *loops, 1, true, true);
      forEachIndex(problem.result, [&](const Shape &index) {
        if (!std::isfinite(expected.at(index)))
          EXPECT_FALSE(std::isfinite(got.at(index)));
        // Windows of the first two tiles of a side read rows up to 2 * tile.
        if (index[2] >= 2 * loops->tile || index[3] >= 2 * loops->tile)
          EXPECT_NEAR(got.at(index), expected.at(index), 1e-4);
      });
    }
  }
}

// Parts of the work are all of it, and none is done twice.
TEST(Winograd, ItemsArePartition) {
  std::mt19937 random(7);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round != 200; ++round) {
    WinogradShape shape;
    shape.images = draw(1, 4);
    shape.groups = draw(1, 4);
    shape.channels = draw(1, 700);
    shape.filters = draw(1, 700);
    shape.height = shape.resultHeight = draw(1, 60);
    shape.width = shape.resultWidth = draw(1, 60);
    auto threads = static_cast<size_t>(draw(1, 70));
    for (const WinogradLoops *loops : allLoops()) {
      WinogradPlan plan(shape, *loops, threads);
      std::vector<int> done(
          static_cast<size_t>(shape.groups * plan.tiles() * plan.panels()));
      for (int64_t i = 0; i != plan.items(); ++i) {
        WinogradItem item = plan.item(i);
        for (int64_t tile = item.tileBegin; tile != item.tileEnd; ++tile)
          for (int64_t p = item.panelBegin; p != item.panelEnd; ++p)
            ++done[static_cast<size_t>(
                (item.group * plan.tiles() + tile) * plan.panels() + p)];
      }
      EXPECT_TRUE(std::all_of(done.begin(), done.end(),
                              [](int times) { return times == 1; }))
          << "round " << round;
    }
  }
}

static bool isTaken(const Problem &problem) {
  auto table = problem.table();
  auto shape = winogradShape(*flatbuffers::GetRoot<fb::Kernel>(table.data()));
  return shape && planWinograd(*shape, 1);
}

// Winograd's algorithm is for convolutions of 3x3 that move by one, where it is
// allowed, and where there are channels enough.
TEST(Winograd, WhereItIsTaken) {
  if (winogradLoops().empty())
    GTEST_SKIP() << "the processor has no loops";
  auto problem = [](int64_t channels, int64_t filters, int64_t groups = 1) {
    return Problem({1, channels, 14, 14}, filters, groups, true, {1, 1},
                   {1, 1});
  };
  EXPECT_TRUE(isTaken(problem(64, 64)));
  EXPECT_TRUE(isTaken(problem(512, 512)));
  EXPECT_TRUE(isTaken(problem(384, 384, 2)));
  EXPECT_FALSE(isTaken(problem(3, 64)));      // Sums are too short,
  EXPECT_FALSE(isTaken(problem(64, 2)));      // panels are nearly empty,
  EXPECT_FALSE(isTaken(problem(64, 64, 64))); // and both.
  Problem other = problem(64, 64);
  other.conv.winograd = false;
  EXPECT_FALSE(isTaken(other));
  other = problem(64, 64);
  other.conv.strides = {2, 1};
  other.result = {1, 64, 7, 14};
  EXPECT_FALSE(isTaken(other));
  other = problem(64, 64);
  other.conv.dilations = {1, 2};
  other.conv.pads_lo = other.conv.pads_hi = {1, 2};
  EXPECT_FALSE(isTaken(other));
  other = problem(64, 64);
  other.operands[1] = Tensor(Shape{64, 64, 1, 3});
  EXPECT_FALSE(isTaken(other));
  // Weights that change are not transformed.
  auto table = problem(64, 64).table();
  const auto &row = *flatbuffers::GetRoot<fb::Kernel>(table.data());
  EXPECT_EQ(makeWinogradKernel(row, {false, false, true}), nullptr);
  EXPECT_NE(makeWinogradKernel(row, {false, true, false}), nullptr);
}

// Of tables that were damaged, or of other types, there is no shape.
TEST(Winograd, OperandsThatDoNotFit) {
  auto shapeOf = [](fb::KernelT &&table) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &table));
    return winogradShape(
        *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()));
  };
  Problem problem({1, 64, 14, 14}, 64, 1, true, {1, 1}, {1, 1});
  auto make = [&] {
    auto table = problem.table();
    fb::KernelT kernel;
    flatbuffers::GetRoot<fb::Kernel>(table.data())->UnPackTo(&kernel);
    return kernel;
  };
  EXPECT_TRUE(shapeOf(make()));
  for (auto break_ : std::vector<void (*)(fb::KernelT &)>{
           [](fb::KernelT &k) { k.operands.pop_back(); },
           [](fb::KernelT &k) {
             k.operands[0]->element = fb::ElementType::BF16;
           },
           [](fb::KernelT &k) { k.operands[1]->shape = {64, 63, 3, 3}; },
           [](fb::KernelT &k) { k.operands[2]->shape = {63}; },
           [](fb::KernelT &k) { k.results[0]->shape = {2, 64, 14, 14}; },
           [](fb::KernelT &k) { k.results[0]->shape = {1, 32, 14, 14}; },
           [](fb::KernelT &k) { k.operands[0]->shape = {1, 64, 0, 14}; },
           [](fb::KernelT &k) { k.op.AsConv()->groups = 3; },
           [](fb::KernelT &k) { k.op.AsConv()->strides = {1}; }}) {
    fb::KernelT kernel = make();
    break_(kernel);
    EXPECT_FALSE(shapeOf(std::move(kernel)));
  }
}
