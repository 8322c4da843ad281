//===- RowsTest.cpp - Loops of products of a few rows ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/NarrowFloats.h"
#include "CPU/RowsLoops.h"
#include "NoStream.h"
#include "soap/Runtime/NativeKernel.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace soap::runtime;

namespace soap::runtime {
extern const RowsLoops rowsWide;
} // namespace soap::runtime

static std::vector<float> numbers(int64_t count, std::mt19937 &random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = uniform(random);
  return values;
}

/// `values` as bf16, and back.
static std::vector<uint16_t> cutOff(std::vector<float> &values) {
  std::vector<uint16_t> narrow(values.size());
  roundToBFloats(values.data(), narrow.data(), values.size());
  widenFloats(soap::fb::ElementType::BF16, narrow.data(), values.data(),
              values.size());
  return narrow;
}

/// The product by `loops` against plain ones; `gap` elements lie between rows
/// and columns.
static void check(const RowsLoops &loops, int64_t rows, int64_t columns,
                  int64_t sum, int64_t gap, bool isNarrow) {
  std::mt19937 random(static_cast<uint32_t>(rows * columns + sum));
  RowsProduct p{rows,    columns,   sum,     nullptr,      sum + gap,
                nullptr, sum + gap, nullptr, columns + gap};
  std::vector<float> a = numbers(rows * p.aRow, random),
                     b = numbers(columns * p.bColumn, random),
                     c = numbers(rows * p.cRow, random), expected = c;
  std::vector<uint16_t> narrow;
  if (isNarrow)
    narrow = cutOff(b);
  soap_plain_product(rows, columns, sum, a.data(), p.aRow, 1, b.data(), 1,
                     p.bColumn, expected.data(), p.cRow);
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  std::vector<float> packed(loops.packedFloats(rows, sum));
  loops.pack({rows, sum, p.a, p.aRow, packed.data()});
  if (isNarrow)
    loops.multiply(NarrowRowsProduct{p.rows, p.columns, p.sum, p.a, p.aRow,
                                     narrow.data(), p.bColumn, p.c, p.cRow},
                   packed.data());
  else
    loops.multiply(p, packed.data());
  // Elements between the rows of c stay what they are.
  double tolerance = 4e-6 * std::sqrt(static_cast<double>(sum)) + 1e-6;
  for (size_t i = 0; i != c.size(); ++i)
    ASSERT_NEAR(c[i], expected[i], tolerance)
        << "element " << i << " of " << rows << " x " << columns
        << ", sum over " << sum << ", gaps of " << gap << ", vectors of "
        << loops.width;
}

TEST(FewRows, AllLoops) {
  std::vector<const RowsLoops *> all = {&rowsWide};
  if (const RowsLoops *own = rowsLoops())
    all.push_back(own);
#ifdef SOAP_VECTOR_LOOPS_X86
  if (all.back()->width == 16)
    all.push_back(&rowsAVX2);
#endif
  for (const RowsLoops *loops : all)
    for (int64_t rows : {1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 64})
      for (int64_t columns : {1, 4, 7, 64})
        for (int64_t sum : {1, 15, 16, 17, 130})
          for (int64_t gap : {0, 3})
            for (bool isNarrow : {false, true})
              check(*loops, rows, columns, sum, gap, isNarrow);
}

// What is left of a sum is read together with elements in front of it, which
// count for nothing, even if they are infinite.
TEST(FewRows, InfinitiesCountOnce) {
  for (const RowsLoops *loops : {&rowsWide, rowsLoops()})
    for (int64_t rows : {1, 2, 8}) {
      if (!loops)
        continue;
      constexpr int64_t sum = 37, columns = 3;
      const float infinity = std::numeric_limits<float>::infinity();
      std::vector<float> a(static_cast<size_t>(rows * sum), 1.0F),
          b(sum * columns, 1.0F), c(static_cast<size_t>(rows * columns), 0.0F);
      b[sum + 31] = infinity;
      a[30] = -infinity;
      std::vector<float> packed(loops->packedFloats(rows, sum));
      loops->pack({rows, sum, a.data(), sum, packed.data()});
      loops->multiply(RowsProduct{rows, columns, sum, a.data(), sum, b.data(),
                                  sum, c.data(), columns},
                      packed.data());
      for (int64_t row = 0; row != rows; ++row)
        for (int64_t column = 0; column != columns; ++column) {
          float value = c[static_cast<size_t>(row * columns + column)];
          if (row == 0 && column == 1)
            EXPECT_TRUE(std::isnan(value)) << value;
          else if (row == 0)
            EXPECT_EQ(value, -infinity);
          else
            EXPECT_EQ(value, column == 1 ? infinity : 37.0F);
        }
    }
}

/// The kernel of a product of `rows` rows with a factor whose columns lie
/// behind each other; null if it is not of few rows.
static std::unique_ptr<Kernel> makeFewRows(int64_t rows, int64_t columns,
                                           int64_t sum, bool hasBias,
                                           bool transposeA = false) {
  namespace fb = soap::fb;
  fb::MatMulT op;
  op.transpose_a = transposeA;
  op.transpose_b = true;
  op.bias = hasBias;
  fb::KernelT kernel;
  kernel.key = "product";
  kernel.op.Set(std::move(op));
  auto add = [](auto &list, std::vector<int64_t> shape) {
    list.push_back(std::make_unique<fb::TensorTypeT>());
    list.back()->shape = std::move(shape);
  };
  if (transposeA)
    add(kernel.operands, {sum, rows});
  else
    add(kernel.operands, {rows, sum});
  add(kernel.operands, {columns, sum});
  if (hasBias)
    add(kernel.operands, {columns});
  add(kernel.results, {rows, columns});
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Kernel::Pack(builder, &kernel));
  return makeRowKernel(
      *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()));
}

// With AVX2 alone, factors that no cache holds are multiplied by a few rows as
// they are, and one row is on every processor.
TEST(FewRows, AsKernels) {
  if (!rowsLoops())
    GTEST_SKIP() << "the processor has no loops";
  // A column is a row, columns are not.
  EXPECT_TRUE(makeFewRows(1, 100, 512, false, /*transposeA=*/true));
  EXPECT_FALSE(makeFewRows(16, 140000, 16, false, /*transposeA=*/true));
  int64_t most = rowsLoops()->width > 8 ? 8 : 16;
  EXPECT_TRUE(makeFewRows(most, 140000, 16, false));
  EXPECT_FALSE(makeFewRows(most + 1, 140000, 16, false));
  constexpr int64_t sum = 1030, columns = 2050;
  std::mt19937 random(7);
  std::vector<float> b = numbers(columns * sum, random),
                     bias = numbers(columns, random);
  auto pointer = [](std::vector<float> &values) {
    return DevicePointer(reinterpret_cast<char *>(values.data()));
  };
  for (int64_t rows : {1, 2, 5, 8, 16, 17})
    for (bool hasBias : {false, true}) {
      auto kernel = makeFewRows(rows, columns, sum, hasBias);
      ASSERT_EQ(kernel != nullptr, rows <= most) << rows;
      EXPECT_EQ(makeFewRows(rows, columns / 2, sum, hasBias) != nullptr,
                rows == 1);
      if (!kernel)
        continue;
      std::vector<float> a = numbers(rows * sum, random),
                         c = numbers(rows * columns, random), expected = c;
      for (size_t i = 0; i != expected.size(); ++i)
        expected[i] = hasBias ? bias[i % static_cast<size_t>(columns)] : 0.0F;
      soap_plain_product(rows, columns, sum, a.data(), sum, 1, b.data(), 1, sum,
                         expected.data(), columns);
      Binding binding;
      binding.operands = {pointer(a), pointer(b), pointer(bias)};
      binding.results = {pointer(c)};
      soap::test::NoStream stream;
      kernel->bind(binding)->enqueue(stream);
      for (size_t i = 0; i != c.size(); ++i)
        ASSERT_NEAR(c[i], expected[i], 2e-4) << i << " of " << rows << " rows";
    }
}
