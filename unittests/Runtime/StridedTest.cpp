//===- StridedTest.cpp - Convolutions with strides ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/StridedKernel.h"
#include "ConvolutionProblem.h"
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

static Tensor run(const ConvolutionProblem &problem,
                  const PointwiseLoops &loops, size_t threads) {
  return runProblem(problem, threads, [&](const fb::Kernel &row) {
    std::optional<StridedShape> shape = stridedShape(row);
    EXPECT_TRUE(shape) << problem.toString();
    return makeStridedKernel(row, *shape, loops, threads,
                             problem.constantWeights);
  });
}

// Any shapes, windows, pads, gaps, followers, orders, vectors and numbers of
// threads; windows that lie in pads alone, too. The last rounds have work for
// several threads, images of several blocks, and weights that do not stay in a
// cache.
TEST(Strided, RandomShapes) {
  std::mt19937 random(20261130);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round != 40; ++round) {
    bool large = round >= 38;
    Window window;
    for (size_t d = 0; d != 2; ++d) {
      window.kernel.push_back(draw(large ? 3 : 1, large ? 3 : 5));
      window.strides.push_back(draw(1, 3));
      window.dilations[d] = d == 0 || window.kernel[d] == 1 ? draw(1, 2) : 1;
      int64_t most = d == 0 ? window.kernel[d] + 1 : window.kernel[d] - 1;
      window.low.push_back(draw(0, most));
      window.high.push_back(draw(0, most));
    }
    auto extent = [&](size_t d, int64_t high) {
      int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
      return draw(std::max<int64_t>(1, reach - window.low[d] - window.high[d]),
                  high + reach);
    };
    Shape x = {draw(1, 2), draw(large ? 50 : 1, large ? 70 : 20),
               extent(0, large ? 40 : 9), extent(1, large ? 60 : 15)};
    ConvolutionProblem problem(x, draw(large ? 50 : 1, large ? 70 : 40), 1,
                               draw(0, 1), window,
                               static_cast<uint32_t>(round));
    problem.followAtRandom(random);
    problem.sourceLast = draw(0, 1);
    problem.resultLast = draw(0, 1);
    problem.constantWeights = draw(0, 1);
    Tensor expected = problem.expected();
    auto threads = static_cast<size_t>(draw(1, 3));
    for (const PointwiseLoops *loops : allPointwiseLoops())
      ASSERT_LT(errorOf(run(problem, *loops, threads), expected), 1e-5)
          << "round " << round << ", vectors of " << loops->width << ", "
          << threads << " threads, " << problem.toString();
  }
}

static ConvolutionProblem twice(int64_t channels, int64_t filters,
                                int64_t groups = 1, int64_t stride = 2) {
  Window window{{3, 3}, {stride, stride}, {1, 1}, {1, 1}};
  ConvolutionProblem problem({8, channels, 20, 18}, filters, groups, true,
                             window, 1);
  problem.sourceLast = problem.resultLast = true;
  return problem;
}

static bool isTaken(const ConvolutionProblem &problem,
                    bool constantWeights = true) {
  auto table = problem.table();
  return makeStridedKernel(*flatbuffers::GetRoot<fb::Kernel>(table.data()),
                           {false, constantWeights, true}) != nullptr;
}

// Our own loops are for channels last and windows with strides, where AVX2 is
// all there is.
TEST(Strided, WhereItIsTaken) {
  if (!pointwiseLoops() || pointwiseLoops()->width != 8)
    GTEST_SKIP() << "the processor has other vectors than those of AVX2";
  EXPECT_TRUE(isTaken(twice(32, 16)));
  EXPECT_FALSE(isTaken(twice(32, 16, /*groups=*/2)));
  EXPECT_FALSE(isTaken(twice(32, 16, 1, /*stride=*/1)));
  EXPECT_FALSE(isTaken(twice(28, 16))); // Windows of few numbers.
  EXPECT_FALSE(isTaken(twice(32, 3)));  // Vectors are nearly empty.
  EXPECT_TRUE(isTaken(twice(32, 16), /*constantWeights=*/false));
  ConvolutionProblem other = twice(32, 16);
  other.sourceLast = false;
  EXPECT_TRUE(isTaken(other));
  other.resultLast = false;
  EXPECT_FALSE(isTaken(other));
  other = twice(32, 16);
  other.follow(fb::FollowerKind::Gelu);
  EXPECT_FALSE(isTaken(other));
  // Few pixels do not pay for packing weights in every run.
  ConvolutionProblem few({1, 32, 20, 18}, 16, 1, true,
                         {{3, 3}, {2, 2}, {1, 1}, {1, 1}}, 1);
  few.sourceLast = few.resultLast = true;
  EXPECT_TRUE(isTaken(few));
  EXPECT_FALSE(isTaken(few, /*constantWeights=*/false));
}

// Of windows with gaps between columns, tables that were damaged, and other
// types, there is no shape.
TEST(Strided, OperandsThatDoNotFit) {
  expectDamageIsFound(
      twice(32, 16),
      [](const fb::Kernel &kernel) { return stridedShape(kernel).has_value(); },
      {[](fb::KernelT &k) { k.operands.pop_back(); },
       [](fb::KernelT &k) { k.operands[0]->element = fb::ElementType::BF16; },
       [](fb::KernelT &k) { k.results[0]->element = fb::ElementType::BF16; },
       [](fb::KernelT &k) { k.operands[1]->shape = {16, 31, 3, 3}; },
       [](fb::KernelT &k) { k.operands[1]->shape = {15, 32, 3, 3}; },
       [](fb::KernelT &k) { k.operands[1]->shape = {16, 32, 5, 3}; },
       [](fb::KernelT &k) { k.operands[1]->shape = {16, 32, 3, 1}; },
       [](fb::KernelT &k) { k.operands[2]->shape = {15}; },
       [](fb::KernelT &k) { k.results[0]->shape = {8, 16, 11, 9}; },
       [](fb::KernelT &k) { k.results[0]->shape = {7, 16, 10, 9}; },
       [](fb::KernelT &k) { k.operands[0]->shape = {8, 32, 20}; },
       [](fb::KernelT &k) { k.operands[0]->shape = {8, 32, 0, 18}; },
       [](fb::KernelT &k) { k.op.AsConv()->groups = 2; },
       [](fb::KernelT &k) { k.op.AsConv()->strides = {0, 2}; },
       [](fb::KernelT &k) { k.op.AsConv()->strides = {2}; },
       [](fb::KernelT &k) { k.op.AsConv()->dilations = {1, 2}; },
       [](fb::KernelT &k) { k.op.AsConv()->pads_lo = {1, 3}; },
       [](fb::KernelT &k) { k.op.AsConv()->pads_lo = {-1, 1}; }});
}
