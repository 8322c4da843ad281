//===- PointwiseTest.cpp - Grouped pointwise convolutions -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionProblem.h"
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

static Tensor run(const ConvolutionProblem &problem,
                  const PointwiseLoops &loops, size_t threads) {
  return runProblem(problem, threads, [&](const fb::Kernel &row) {
    std::optional<PointwiseShape> shape = pointwiseShape(row);
    EXPECT_TRUE(shape) << problem.toString();
    return makePointwiseKernel(row, *shape, loops, threads);
  });
}

// Any shapes, strides, groups, followers, orders, vectors and numbers of
// threads. The last rounds have work for several threads.
TEST(Pointwise, RandomShapes) {
  std::mt19937 random(20261124);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round != 40; ++round) {
    bool large = round >= 36;
    int64_t groups = large ? 2 : draw(1, 4);
    std::vector<int64_t> strides = {1, 1};
    if (draw(0, 2) == 0)
      strides = {draw(1, 3), draw(1, 3)};
    int64_t least = large ? 40 : 1, most = large ? 60 : 45;
    Shape x = {draw(1, 2), groups * draw(least, most), draw(1, 9),
               large ? 150 : draw(1, 19)};
    ConvolutionProblem problem(x, groups * draw(least, most), groups,
                               draw(0, 1), {{1, 1}, strides, {0, 0}, {0, 0}},
                               static_cast<uint32_t>(round));
    problem.followAtRandom(random);
    problem.sourceLast = draw(0, 1);
    problem.resultLast = draw(0, 1);
    Tensor expected = problem.expected();
    auto threads = static_cast<size_t>(draw(1, 3));
    for (const PointwiseLoops *loops : allPointwiseLoops())
      ASSERT_LT(errorOf(run(problem, *loops, threads), expected), 1e-5)
          << "round " << round << ", vectors of " << loops->width << ", "
          << threads << " threads, " << problem.toString();
  }
}

// Both gradients, of convolutions that may leave pixels out.
TEST(Pointwise, GradientsOfRandomShapes) {
  using Kind = ConvolutionProblem::Kind;
  std::mt19937 random(20261129);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (uint32_t round = 0; round != 40; ++round) {
    ConvolutionProblem convolution(
        {draw(1, 3), draw(1, 40), draw(1, 12), draw(1, 12)}, draw(1, 40), 1,
        /*bias=*/false, {{1, 1}, {draw(1, 3), draw(1, 3)}, {0, 0}, {0, 0}},
        round);
    for (Kind kind : {Kind::Transposed, Kind::Filter}) {
      ConvolutionProblem problem =
          convolution.gradient(kind, /*bias=*/false, round);
      problem.constantWeights = false;
      problem.sourceLast = problem.resultLast = true;
      Tensor got = runProblem(problem, static_cast<size_t>(draw(1, 3)),
                              [](const fb::Kernel &row) {
                                auto kernel = makePointwiseGradientKernel(row);
                                EXPECT_NE(kernel, nullptr);
                                return kernel;
                              });
      ASSERT_LT(errorOf(got, problem.expected()), 1e-6)
          << "round " << round << ", " << problem.toString();
    }
  }
}

// They are products where both images have channels last, without pads.
TEST(Pointwise, WhereGradientsAreProducts) {
  using Kind = ConvolutionProblem::Kind;
  ConvolutionProblem convolution({1, 8, 6, 6}, 8, 1, false,
                                 {{1, 1}, {2, 2}, {0, 0}, {0, 0}}, 1);
  auto isTaken = [](ConvolutionProblem problem, Kind kind, bool sourceLast,
                    bool resultLast) {
    problem = problem.gradient(kind, /*bias=*/false, 1);
    problem.sourceLast = sourceLast;
    problem.resultLast = resultLast;
    auto table = problem.table();
    return makePointwiseGradientKernel(
               *flatbuffers::GetRoot<fb::Kernel>(table.data())) != nullptr;
  };
  ConvolutionProblem padded({1, 8, 6, 6}, 8, 1, false,
                            {{1, 1}, {2, 2}, {1, 0}, {0, 0}}, 1);
  ConvolutionProblem beyond({1, 8, 6, 6}, 8, 1, false,
                            {{1, 1}, {1, 1}, {0, 0}, {0, 1}}, 1);
  ConvolutionProblem groups({1, 8, 6, 6}, 8, 2, false,
                            {{1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1);
  ConvolutionProblem wide({1, 8, 6, 6}, 8, 1, false,
                          {{1, 3}, {1, 1}, {0, 0}, {0, 0}}, 1);
  for (Kind kind : {Kind::Transposed, Kind::Filter}) {
    EXPECT_TRUE(isTaken(convolution, kind, true, true));
    EXPECT_FALSE(isTaken(convolution, kind, false, true));
    EXPECT_FALSE(isTaken(convolution, kind, true, false));
    for (const ConvolutionProblem &other : {padded, beyond, groups, wide})
      EXPECT_FALSE(isTaken(other, kind, true, true)) << other.toString();
  }
  EXPECT_FALSE(isTaken(convolution, Kind::Forward, true, true));
}

static ConvolutionProblem grouped(int64_t channels, int64_t filters,
                                  int64_t groups) {
  ConvolutionProblem problem({1, channels, 6, 5}, filters, groups, true,
                             {{1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1);
  problem.sourceLast = problem.resultLast = true;
  return problem;
}

static bool isTaken(const ConvolutionProblem &problem,
                    bool constantWeights = true) {
  auto table = problem.table();
  return makePointwiseKernel(*flatbuffers::GetRoot<fb::Kernel>(table.data()),
                             {false, constantWeights, true}) != nullptr;
}

// Our own loops are for groups with channels last, where windows are pixels of
// the source and weights do not change.
TEST(Pointwise, WhereItIsTaken) {
  if (!pointwiseLoops())
    GTEST_SKIP() << "the processor has no loops";
  EXPECT_TRUE(isTaken(grouped(136, 136, 4)));
  EXPECT_TRUE(isTaken(grouped(24, 112, 4)));
  EXPECT_FALSE(isTaken(grouped(136, 136, 1))); // oneDNN's are as fast.
  EXPECT_EQ(isTaken(grouped(512, 1024, 1)), pointwiseLoops()->width == 16);
  EXPECT_FALSE(isTaken(grouped(64, 64, 64))); // Vectors are nearly empty.
  EXPECT_FALSE(isTaken(grouped(136, 136, 4), /*constantWeights=*/false));
  ConvolutionProblem other = grouped(136, 136, 4);
  other.sourceLast = false;
  EXPECT_TRUE(isTaken(other));
  other.resultLast = false;
  EXPECT_FALSE(isTaken(other)); // oneDNN multiplies as it is.
  other = grouped(136, 136, 4);
  other.follow(fb::FollowerKind::Gelu);
  EXPECT_FALSE(isTaken(other));
  ConvolutionProblem wide({1, 136, 6, 5}, 136, 4, true,
                          {{3, 3}, {1, 1}, {1, 1}, {1, 1}}, 1);
  wide.sourceLast = wide.resultLast = true;
  EXPECT_FALSE(isTaken(wide));
  ConvolutionProblem padded({1, 136, 6, 5}, 136, 4, true,
                            {{1, 1}, {1, 1}, {0, 0}, {0, 1}}, 1);
  padded.sourceLast = padded.resultLast = true;
  EXPECT_FALSE(isTaken(padded));
}

// Of tables that were damaged, or of other types, there is no shape.
TEST(Pointwise, OperandsThatDoNotFit) {
  expectDamageIsFound(
      grouped(24, 24, 3),
      [](const fb::Kernel &kernel) {
        return pointwiseShape(kernel).has_value();
      },
      {[](fb::KernelT &k) { k.operands.pop_back(); },
       [](fb::KernelT &k) { k.operands[0]->element = fb::ElementType::BF16; },
       [](fb::KernelT &k) { k.operands[1]->shape = {24, 7, 1, 1}; },
       [](fb::KernelT &k) { k.operands[2]->shape = {23}; },
       [](fb::KernelT &k) { k.results[0]->shape = {2, 24, 6, 5}; },
       [](fb::KernelT &k) { k.results[0]->shape = {1, 24, 7, 5}; },
       [](fb::KernelT &k) { k.operands[0]->shape = {1, 24, 0, 5}; },
       [](fb::KernelT &k) { k.op.AsConv()->groups = 5; },
       [](fb::KernelT &k) { k.op.AsConv()->strides = {1}; }});
}
