//===- WinogradTest.cpp - Convolutions by Winograd's algorithm ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Threads.h"
#include "CPU/WinogradFilter.h"
#include "ConvolutionProblem.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

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

/// A convolution of 3x3 that Winograd's algorithm may compute.
static ConvolutionProblem makeProblem(const Shape &x, int64_t filters,
                                      int64_t groups, bool bias,
                                      const std::vector<int64_t> &low,
                                      const std::vector<int64_t> &high,
                                      uint32_t seed = 1) {
  ConvolutionProblem problem(x, filters, groups, bias,
                             {{3, 3}, {1, 1}, low, high}, seed);
  problem.conv.winograd = true;
  return problem;
}

/// With channels last, unless it is said otherwise.
static Tensor run(ConvolutionProblem problem, const WinogradLoops &loops,
                  size_t threads = 1, bool sourceLast = true,
                  bool resultLast = true, Session *session = nullptr) {
  problem.sourceLast = sourceLast;
  problem.resultLast = resultLast;
  useThreads(threads);
  Tensor result = runProblem(
      problem,
      [&](const fb::Kernel &row) {
        if (problem.kind == ConvolutionProblem::Kind::Filter)
          return makeWinogradFilterKernel(
              row, WinogradFilterPlan(winogradFilterShape(row).value(), loops,
                                      threads));
        WinogradShape shape =
            winogradShape(row, problem.constantWeights).value();
        return makeWinogradKernel(row, WinogradPlan(shape, loops, threads));
      },
      session);
  useThreads(1);
  return result;
}

namespace {
/// Any shapes, pads and groups.
class RandomProblems {
public:
  explicit RandomProblems(uint32_t seed) : random(seed) {}

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  ConvolutionProblem next(uint32_t seed) {
    int64_t groups = draw(0, 3) ? 1 : draw(2, 3);
    std::vector<int64_t> low = {draw(0, 3), draw(0, 3)},
                         high = {draw(0, 3), draw(0, 3)};
    auto extent = [&](size_t d) {
      return draw(std::max<int64_t>(1, 3 - low[d] - high[d]), 19);
    };
    Shape x = {draw(1, 2), groups * draw(1, 36), extent(0), extent(1)};
    return makeProblem(x, groups * draw(1, 70), groups, draw(0, 1), low, high,
                       seed);
  }

  /// With any orders, tiles, vectors and numbers of threads.
  void check(const ConvolutionProblem &problem, double error) {
    Tensor expected = problem.expected();
    auto threads = static_cast<size_t>(draw(1, 3));
    bool sourceLast = draw(0, 1), resultLast = draw(0, 1);
    for (const WinogradLoops *loops : allLoops())
      ASSERT_LT(errorOf(run(problem, *loops, threads, sourceLast, resultLast),
                        expected),
                error)
          << "tiles of " << loops->tile << ", vectors of " << loops->width
          << ", " << threads << " threads, channels last " << sourceLast
          << resultLast << ", " << problem.toString();
  }

  std::mt19937 random;
};
} // namespace

// With any followers, and weights that may change.
TEST(Winograd, RandomShapes) {
  RandomProblems problems(20261124);
  for (uint32_t round = 0; round != 24 && !HasFailure(); ++round) {
    ConvolutionProblem problem = problems.next(round);
    problem.constantWeights = problems.draw(0, 1);
    problem.followAtRandom(problems.random);
    // Followers may leave little of a result but its errors.
    problems.check(problem, problem.followers.empty() ? 3e-6 : 3e-5);
  }
}

TEST(Winograd, GradientsOfRandomShapes) {
  using Kind = ConvolutionProblem::Kind;
  RandomProblems problems(20261129);
  for (uint32_t round = 0; round != 24 && !HasFailure(); ++round) {
    ConvolutionProblem convolution = problems.next(round);
    ConvolutionProblem ofSource = convolution.gradient(
        Kind::Transposed, /*bias=*/problems.draw(0, 1), round);
    ofSource.constantWeights = problems.draw(0, 1);
    problems.check(ofSource, 3e-6);
    if (!HasFailure())
      problems.check(convolution.gradient(Kind::Filter, /*bias=*/false, round),
                     5e-6);
  }
}

// Several blocks of tiles, whose sums are long.
TEST(Winograd, ErrorOfManyTiles) {
  for (bool positive : {false, true}) {
    ConvolutionProblem problem =
        makeProblem({2, 3, 70, 70}, 5, 1, false, {1, 1}, {1, 1})
            .gradient(ConvolutionProblem::Kind::Filter, /*bias=*/false, 1);
    if (positive)
      for (Tensor &operand : problem.operands)
        for (double &value : operand.values)
          value = std::fabs(value);
    Tensor expected = problem.expected();
    for (const WinogradLoops *loops : allLoops())
      EXPECT_LT(errorOf(run(problem, *loops), expected), 1e-5)
          << loops->tile << ", " << loops->width;
  }
}

// Sums of many channels: what is promised is an error below 1e-4 of the norm.
TEST(Winograd, ErrorOfManyChannels) {
  for (bool positive : {false, true}) {
    ConvolutionProblem problem =
        makeProblem({1, 512, 6, 6}, 16, 1, true, {1, 1}, {1, 1});
    if (positive) // As behind a relu.
      for (double &value : problem.operands[0].values)
        value = std::fabs(value);
    Tensor expected = problem.expected();
    for (const WinogradLoops *loops : allLoops())
      EXPECT_LT(errorOf(run(problem, *loops), expected), 1e-5)
          << loops->tile << ", " << loops->width;
  }
}

// Transformed weights are shared by launches that read the same ones.
TEST(Winograd, ConvolutionsHaveTheirOwnWeights) {
  for (const WinogradLoops *loops : allLoops()) {
    Session session;
    for (uint32_t seed : {1U, 10U}) {
      ConvolutionProblem problem =
          makeProblem({1, 8, 9, 9}, 8, 1, false, {0, 0}, {0, 0}, seed);
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
    ConvolutionProblem problem =
        makeProblem({1, 8, 16, 16}, 8, 1, false, {1, 1}, {1, 1});
    problem.operands[0].at({0, 3, 1, 1}) = value;
    Tensor expected = problem.expected();
    for (const WinogradLoops *loops : allLoops()) {
      Tensor got = run(problem, *loops);
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

static bool isTaken(const ConvolutionProblem &problem) {
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
    return makeProblem({1, channels, 14, 14}, filters, groups, true, {1, 1},
                       {1, 1});
  };
  EXPECT_TRUE(isTaken(problem(64, 64)));
  EXPECT_TRUE(isTaken(problem(512, 512)));
  EXPECT_TRUE(isTaken(problem(384, 384, 2)));
  EXPECT_FALSE(isTaken(problem(3, 64)));      // Sums are too short,
  EXPECT_FALSE(isTaken(problem(64, 2)));      // panels are nearly empty,
  EXPECT_FALSE(isTaken(problem(64, 64, 64))); // and both.
  ConvolutionProblem other = problem(64, 64);
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
  // A GELU is left to a loop behind the kernel.
  other = problem(64, 64);
  other.follow(fb::FollowerKind::Relu);
  EXPECT_TRUE(isTaken(other));
  other.follow(fb::FollowerKind::Gelu);
  EXPECT_FALSE(isTaken(other));
}

// Weights that change are transformed in every run, and gradients of weights at
// its end, which small images do not pay for.
TEST(Winograd, WhereWeightsChange) {
  if (winogradLoops().empty())
    GTEST_SKIP() << "the processor has no loops";
  using Kind = ConvolutionProblem::Kind;
  auto make = [](int64_t channels, int64_t image, Kind kind, bool constant) {
    ConvolutionProblem problem =
        makeProblem({1, 1, 1, 1}, 1, 1, false, {1, 1}, {1, 1});
    problem.result = {1, channels, image, image};
    problem.operands = {Tensor(problem.result),
                        Tensor(Shape{channels, channels, 3, 3})};
    if (kind != Kind::Forward)
      problem = problem.gradient(kind, /*bias=*/false, 1);
    auto table = problem.table();
    const auto &row = *flatbuffers::GetRoot<fb::Kernel>(table.data());
    return kind == Kind::Filter ? makeWinogradFilterKernel(row)
                                : makeWinogradKernel(row, {false, constant});
  };
  for (Kind kind : {Kind::Forward, Kind::Transposed}) {
    EXPECT_NE(make(64, 56, kind, true), nullptr);
    EXPECT_NE(make(64, 56, kind, false), nullptr);
    EXPECT_NE(make(512, 7, kind, true), nullptr);
    EXPECT_EQ(make(512, 7, kind, false), nullptr);
  }
  EXPECT_NE(make(64, 56, Kind::Filter, true), nullptr);
  EXPECT_EQ(make(512, 7, Kind::Filter, true), nullptr);
}

// The same of gradients of weights.
TEST(Winograd, GradientsThatDoNotFit) {
  ConvolutionProblem problem =
      makeProblem({1, 64, 14, 14}, 64, 1, false, {1, 1}, {1, 1})
          .gradient(ConvolutionProblem::Kind::Filter, /*bias=*/false, 1);
  auto shapeOf = [&](void (*change)(fb::KernelT &)) {
    auto table = problem.table();
    fb::KernelT kernel;
    flatbuffers::GetRoot<fb::Kernel>(table.data())->UnPackTo(&kernel);
    change(kernel);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &kernel));
    return winogradFilterShape(
        *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()));
  };
  EXPECT_TRUE(shapeOf([](fb::KernelT &) {}));
  for (auto change : std::vector<void (*)(fb::KernelT &)>{
           [](fb::KernelT &k) { k.operands.pop_back(); },
           [](fb::KernelT &k) {
             k.operands[1]->element = fb::ElementType::BF16;
           },
           [](fb::KernelT &k) { k.operands[1]->shape = {1, 32, 14, 14}; },
           [](fb::KernelT &k) { k.operands[1]->shape = {2, 64, 14, 14}; },
           [](fb::KernelT &k) { k.operands[0]->shape = {1, 64, 0, 14}; },
           [](fb::KernelT &k) { k.results[0]->shape = {64, 63, 3, 3}; },
           [](fb::KernelT &k) { k.op.AsConvBackward()->of_filter = false; },
           [](fb::KernelT &k) { k.op.AsConvBackward()->winograd = false; },
           [](fb::KernelT &k) { k.op.AsConvBackward()->groups = 3; },
           [](fb::KernelT &k) { k.op.AsConvBackward()->strides = {2, 1}; },
           [](fb::KernelT &k) { k.op.AsConvBackward()->pads_lo = {1}; }})
    EXPECT_FALSE(shapeOf(change));
}

// Of tables that were damaged, or of other types, there is no shape.
TEST(Winograd, OperandsThatDoNotFit) {
  ConvolutionProblem problem =
      makeProblem({1, 64, 14, 14}, 64, 1, true, {1, 1}, {1, 1});
  expectDamageIsFound(
      problem,
      [](const fb::Kernel &kernel) {
        return winogradShape(kernel).has_value();
      },
      {[](fb::KernelT &k) { k.operands.pop_back(); },
       [](fb::KernelT &k) { k.operands[0]->element = fb::ElementType::BF16; },
       [](fb::KernelT &k) { k.operands[1]->shape = {64, 63, 3, 3}; },
       [](fb::KernelT &k) { k.operands[2]->shape = {63}; },
       [](fb::KernelT &k) { k.results[0]->shape = {2, 64, 14, 14}; },
       [](fb::KernelT &k) { k.results[0]->shape = {1, 32, 14, 14}; },
       [](fb::KernelT &k) { k.operands[0]->shape = {1, 64, 0, 14}; },
       [](fb::KernelT &k) { k.op.AsConv()->groups = 3; },
       [](fb::KernelT &k) { k.op.AsConv()->strides = {1}; }});
}
