//===- AttentionTest.cpp - Attention of our own ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention by loops for each kind of vectors, against the same in double.
//
//===----------------------------------------------------------------------===//

#include "CPU/AttentionKernel.h"
#include "NoStream.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace soap::runtime;

namespace soap::runtime {
extern const AttentionLoops attentionWide;
} // namespace soap::runtime

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();

/// The tensors of an attention.
struct Attention {
  AttentionShape shape;
  std::vector<float> query, keys, values, added;
  std::vector<uint8_t> hidden;
};
} // namespace

static std::vector<float> numbers(int64_t count, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = normal(random);
  return values;
}

/// Numbers for a shape whose mask has strides. A row of booleans holds with a
/// third of the probability, or behind its place along the diagonal.
static Attention draw(AttentionShape shape, std::mt19937 &random) {
  Attention a;
  int64_t count = shape.attentions();
  a.query = numbers(count * shape.rows * shape.depth, random);
  a.keys = numbers(count * shape.steps * shape.depth, random);
  a.values = numbers(count * shape.steps * shape.features, random);
  if (!shape.maskStrides.empty()) {
    int64_t last = 0;
    Shape sizes = shape.batch;
    sizes.push_back(shape.rows);
    sizes.push_back(shape.steps);
    for (size_t d = 0; d != sizes.size(); ++d)
      last += (sizes[d] - 1) * shape.maskStrides[d];
    a.added = numbers(last + 1, random);
    a.hidden.resize(a.added.size());
    bool isCausal = random() % 2 == 0 && shape.maskStrides.back() == 1;
    for (size_t i = 0; i != a.hidden.size(); ++i) {
      auto at = static_cast<int64_t>(i);
      bool holds = isCausal ? at % shape.steps > at / shape.steps % shape.rows
                            : random() % 3 == 0;
      a.hidden[i] = holds ? 1 : 0;
    }
  }
  a.shape = std::move(shape);
  return a;
}

/// Row `row` of attention `number`, in double.
static std::vector<double> expectedRow(const Attention &a, int64_t number,
                                       int64_t row) {
  const AttentionShape &s = a.shape;
  std::vector<double> scores, result(static_cast<size_t>(s.features));
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t step = 0; step != s.steps; ++step) {
    double score = 0;
    for (int64_t k = 0; k != s.depth; ++k) {
      int64_t key = s.transposedKeys ? k * s.steps + step : step * s.depth + k;
      score +=
          static_cast<double>(a.query[(number * s.rows + row) * s.depth + k]) *
          a.keys[number * s.steps * s.depth + key];
    }
    score *= s.scale;
    if (!s.maskStrides.empty()) {
      size_t rank = s.maskStrides.size();
      int64_t at = row * s.maskStrides[rank - 2] +
                   step * s.maskStrides[rank - 1],
              rest = number;
      for (size_t d = s.batch.size(); d-- > 0; rest /= s.batch[d])
        at += rest % s.batch[d] * s.maskStrides[d];
      if (s.isMaskAdded)
        score += a.added[at];
      else if (a.hidden[at] == s.hides)
        score = s.fill;
    }
    scores.push_back(score);
    most = std::max(most, score);
  }
  for (double &score : scores)
    sum += score = std::exp(score - most);
  for (int64_t step = 0; step != s.steps; ++step)
    for (int64_t f = 0; f != s.features; ++f)
      result[f] += scores[step] / sum *
                   a.values[(number * s.steps + step) * s.features + f];
  return result;
}

/// What a kernel makes on `threads` threads.
static std::vector<float> run(Attention &a, const AttentionLoops &loops,
                              size_t threads) {
  auto kernel = makeAttentionKernel(a.shape, loops, threads);
  int64_t count = a.shape.attentions() * a.shape.rows * a.shape.features;
  std::vector<float> result(static_cast<size_t>(count), 1e30F);
  // What was in it before is read nowhere.
  std::vector<float> scratchpad(kernel->scratchpadBytes() / sizeof(float) + 1,
                                std::numeric_limits<float>::quiet_NaN());
  auto address = [](auto &values) {
    return DevicePointer(reinterpret_cast<uintptr_t>(values.data()));
  };
  Binding binding;
  binding.operands = {address(a.query), address(a.keys), address(a.values)};
  if (!a.shape.maskStrides.empty())
    binding.operands.push_back(a.shape.isMaskAdded ? address(a.added)
                                                   : address(a.hidden));
  binding.results = {address(result)};
  binding.scratchpad = address(scratchpad);
  soap::test::NoStream stream;
  kernel->bind(binding)->enqueue(stream);
  return result;
}

static void check(Attention &a, const AttentionLoops &loops, size_t threads,
                  double tolerance = 2e-6) {
  const AttentionShape &s = a.shape;
  std::vector<float> result = run(a, loops, threads);
  double error = 0, norm = 0;
  for (int64_t row = 0; row != s.attentions() * s.rows; ++row) {
    std::vector<double> expected = expectedRow(a, row / s.rows, row % s.rows);
    for (int64_t f = 0; f != s.features; ++f) {
      double difference = result[row * s.features + f] - expected[f];
      ASSERT_FALSE(std::isnan(difference)) << "row " << row;
      error += difference * difference;
      norm += expected[f] * expected[f];
    }
  }
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm) + 1e-30)
      << s.rows << " rows, " << s.steps << " steps of " << s.depth << ", "
      << s.features << " features, vectors of " << loops.width << ", "
      << threads << " threads";
}

static std::vector<const AttentionLoops *> allLoops() {
  std::vector<const AttentionLoops *> all = {&attentionAny, &attentionWide};
  const AttentionLoops *own = &attentionLoops();
  if (own != all.front())
    all.push_back(own);
#ifdef SOAP_VECTOR_LOOPS_X86
  if (own->width == 16)
    all.push_back(&attentionAVX2);
#endif
  return all;
}

TEST(Attention, AllLoops) {
  std::mt19937 random(1);
  // Rows and steps around those that are computed at a time.
  for (const AttentionLoops *loops : allLoops())
    for (int64_t rows : {1, 5, 24, 49})
      for (int64_t steps : {1, 16, 31, 257, 600})
        for (int64_t features : {16, 20}) {
          AttentionShape shape{{1, 2}, rows, 1 + rows % 7, steps, features};
          shape.transposedKeys = features == 16;
          shape.scale = 0.5F;
          Attention a = draw(std::move(shape), random);
          check(a, *loops, 1 + random() % 3);
        }
}

/// Products of bf16: each factor is rounded to eight bits, so sums of some tens
/// are within a hundredth.
TEST(Attention, Tiles) {
  const AttentionLoops *loops = narrowAttentionLoops();
  if (!loops)
    GTEST_SKIP() << "the processor has no AMX";
  std::mt19937 random(5);
  for (int64_t rows : {1, 16, 17, 32, 49})
    for (int64_t steps : {1, 31, 64, 257})
      for (int64_t depth : {3, 32, 80})
        for (int64_t features : {5, 16, 48}) {
          AttentionShape shape{{1, 2}, rows, depth, steps, features};
          shape.transposedKeys = (rows + steps) % 2;
          shape.scale = 1 / std::sqrt(static_cast<float>(depth));
          Attention a = draw(std::move(shape), random);
          check(a, *loops, 1 + random() % 3, 1e-2);
        }
}

/// The same with masks. A query that is no number spoils its own row alone.
TEST(Attention, TilesWithMasks) {
  const AttentionLoops *loops = narrowAttentionLoops();
  if (!loops)
    GTEST_SKIP() << "the processor has no AMX";
  std::mt19937 random(6);
  for (bool isAdded : {false, true})
    for (float fill : {-1e4F, -2.0F}) {
      AttentionShape shape{{2}, 30, 40, 270, 24};
      shape.isMaskAdded = isAdded;
      shape.fill = fill;
      shape.scale = 0.2F;
      shape.maskStrides = {30 * 270, 270, 1};
      Attention a = draw(std::move(shape), random);
      check(a, *loops, 2, 1e-2);
    }
  Attention a = draw(AttentionShape{{}, 20, 8, 300, 16}, random);
  a.query[2 * 8] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> result = run(a, *loops, 1);
  for (size_t i = 0; i != result.size(); ++i)
    EXPECT_EQ(std::isnan(result[i]), i / 16 == 2) << i;
}

TEST(Attention, Masks) {
  std::mt19937 random(2);
  for (const AttentionLoops *loops : allLoops())
    for (bool isAdded : {false, true})
      for (float fill : {-1e4F, -2.0F, 1.0F})
        for (unsigned broadcast = 0; broadcast != 8; ++broadcast) {
          AttentionShape shape{{2}, 30, 3, 270, 9};
          shape.isMaskAdded = isAdded;
          shape.hides = random() % 2;
          shape.fill = fill;
          int64_t stride = 1;
          Shape sizes = {2, 30, 270};
          shape.maskStrides = {0, 0, 0};
          for (size_t d = 3; d-- > 0;)
            if (!(broadcast & 1u << d)) {
              shape.maskStrides[d] = stride;
              stride *= sizes[d];
            }
          Attention a = draw(std::move(shape), random);
          check(a, *loops, 2);
        }
}

/// A row all of whose steps are hidden by an infinite number is no number, as a
/// softmax of it is none; infinite numbers in front of others leave no trace.
TEST(Attention, InfiniteMasks) {
  std::mt19937 random(3);
  for (const AttentionLoops *loops : allLoops()) {
    AttentionShape shape{{}, 3, 8, 600, 16};
    shape.maskStrides = {600, 1};
    shape.fill = -infinity;
    Attention a = draw(std::move(shape), random);
    std::fill(a.hidden.begin(), a.hidden.end(), uint8_t{1});
    a.hidden[599] = 0;       // The last step of the first row.
    a.hidden[600 + 300] = 0; // One of the second.
    std::vector<float> result = run(a, *loops, 1);
    for (size_t f = 0; f != 16; ++f) {
      EXPECT_EQ(result[f], a.values[599 * 16 + f]);
      EXPECT_EQ(result[16 + f], a.values[300 * 16 + f]);
      EXPECT_TRUE(std::isnan(result[32 + f]));
    }
  }
}

/// A query that is no number spoils its own row alone; large scores do not
/// overflow.
TEST(Attention, NaNAndLargeScores) {
  std::mt19937 random(4);
  for (const AttentionLoops *loops : allLoops()) {
    Attention a = draw(AttentionShape{{}, 7, 8, 300, 16}, random);
    a.query[2 * 8] = std::numeric_limits<float>::quiet_NaN();
    for (size_t i = 0; i != 8; ++i)
      a.query[i] *= 1e6F;
    std::vector<float> result = run(a, *loops, 1);
    for (size_t i = 0; i != result.size(); ++i)
      EXPECT_EQ(std::isnan(result[i]), i / 16 == 2) << i;
  }
}
