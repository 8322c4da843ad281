//===- TransposedTest.cpp - Transposed convolutions -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/TransposedKernel.h"
#include "ConvolutionProblem.h"
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

static Tensor run(const ConvolutionProblem &problem,
                  const PointwiseLoops &loops, size_t threads) {
  return runProblem(problem, threads, [&](const fb::Kernel &row) {
    std::optional<TransposedShape> shape = transposedShape(row);
    EXPECT_TRUE(shape) << problem.toString();
    return makeTransposedKernel(row, *shape, loops, threads);
  });
}

// Any shapes, windows, groups, followers, orders, vectors and numbers of
// threads. The last rounds have work for several threads, and weights that do
// not stay in a cache.
TEST(Transposed, RandomShapes) {
  std::mt19937 random(20261125);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round != 30; ++round) {
    bool large = round >= 27;
    int64_t groups = large ? 1 : draw(1, 3);
    int64_t least = large ? 190 : 1, most = large ? 260 : 40;
    Shape x = {draw(1, 2), groups * draw(least, most), draw(1, large ? 3 : 9),
               draw(1, 15)};
    Shape window = {draw(1, large ? 2 : 3), draw(1, large ? 2 : 3)};
    ConvolutionProblem problem = ConvolutionProblem::transposed(
        x, groups * draw(least, most), groups, draw(0, 1), window,
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

static ConvolutionProblem twice(int64_t channels, int64_t filters,
                                int64_t groups = 1) {
  ConvolutionProblem problem = ConvolutionProblem::transposed(
      {1, channels, 3, 5}, filters, groups, true, {2, 2}, 1);
  problem.sourceLast = problem.resultLast = true;
  return problem;
}

static bool isTaken(const ConvolutionProblem &problem,
                    bool constantWeights = true) {
  auto table = problem.table();
  return makeTransposedKernel(*flatbuffers::GetRoot<fb::Kernel>(table.data()),
                              {false, constantWeights, true}) != nullptr;
}

// Our own loops are for channels last, where weights do not change.
TEST(Transposed, WhereItIsTaken) {
  if (!pointwiseLoops())
    GTEST_SKIP() << "the processor has no loops";
  EXPECT_TRUE(isTaken(twice(24, 16)));
  EXPECT_TRUE(isTaken(twice(24, 16, 2)));
  EXPECT_FALSE(isTaken(twice(24, 1))); // Vectors are nearly empty.
  EXPECT_FALSE(isTaken(twice(24, 16), /*constantWeights=*/false));
  ConvolutionProblem other = twice(24, 16);
  other.sourceLast = false;
  EXPECT_TRUE(isTaken(other));
  other.resultLast = false;
  EXPECT_FALSE(isTaken(other)); // oneDNN multiplies as it is.
  other = twice(24, 16);
  other.follow(fb::FollowerKind::Gelu);
  EXPECT_FALSE(isTaken(other));
}

// Of windows that overlap, tables that were damaged, and other types, there is
// no shape.
TEST(Transposed, OperandsThatDoNotFit) {
  expectDamageIsFound(
      twice(24, 16),
      [](const fb::Kernel &kernel) {
        return transposedShape(kernel).has_value();
      },
      {[](fb::KernelT &k) { k.operands.pop_back(); },
       [](fb::KernelT &k) { k.operands[0]->element = fb::ElementType::BF16; },
       [](fb::KernelT &k) { k.operands[1]->shape = {24, 16, 3, 2}; },
       [](fb::KernelT &k) { k.operands[1]->shape = {23, 16, 2, 2}; },
       [](fb::KernelT &k) { k.operands[2]->shape = {15}; },
       [](fb::KernelT &k) { k.results[0]->shape = {1, 16, 7, 10}; },
       [](fb::KernelT &k) { k.results[0]->shape = {1, 16, 6, 9}; },
       [](fb::KernelT &k) { k.results[0]->shape = {1, 15, 6, 10}; },
       [](fb::KernelT &k) { k.operands[0]->shape = {1, 24, 0, 5}; },
       [](fb::KernelT &k) { k.op.AsConvBackward()->groups = 5; },
       [](fb::KernelT &k) { k.op.AsConvBackward()->of_filter = true; },
       [](fb::KernelT &k) { k.op.AsConvBackward()->strides = {2, 1}; },
       [](fb::KernelT &k) { k.op.AsConvBackward()->dilations = {2, 1}; },
       [](fb::KernelT &k) { k.op.AsConvBackward()->pads_lo = {1, 0}; },
       [](fb::KernelT &k) { k.op.AsConvBackward()->strides = {2}; }});
}
