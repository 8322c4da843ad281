//===- NativeProductTest.cpp - Products that native kernels call ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackendTest.h"
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

using namespace soap;
using namespace soap::test;

namespace {
/// c += a * b by soap_native_services, against the plain loops.
class NativeProduct : public BackendTest {
protected:
  using Values = std::vector<float>;

  struct Case {
    int64_t rows, columns, sum;
    bool turnsB; ///< Columns of b lie behind each other, or its rows.
    int64_t gap; ///< Elements between rows, or columns, of each matrix.

    int64_t aRow() const { return sum + gap; }
    int64_t bRow() const { return turnsB ? 1 : columns + gap; }
    int64_t bColumn() const { return turnsB ? sum + gap : 1; }
    int64_t cRow() const { return columns + gap; }
  };

  static Values numbers(int64_t count, std::mt19937 &random) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    Values values(static_cast<size_t>(count));
    for (float &value : values)
      value = uniform(random);
    return values;
  }
  DeviceBlock blockOf(const Values &values) {
    Bytes bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return block(bytes);
  }
  /// What lies in a block of so many numbers.
  Values valuesOf(const DeviceBlock &block, size_t count) {
    Bytes bytes = download(*stream_, block.data(), count * sizeof(float));
    Values values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  /// A native kernel without constants.
  std::unique_ptr<Kernel>
  makeKernel(soap_native_kernel function,
             const fb::NativeKernel *description = nullptr) {
    fb::KernelT table;
    table.key = "native";
    table.op.Set(fb::NativeT());
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &table));
    NativeCode code;
    code.function = function;
    code.description = description;
    return device_->makeKernel(
        *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()), {},
        code);
  }
  /// Runs the case on the device with seeded numbers.
  void check(const Case &c);
};
} // namespace

void NativeProduct::check(const Case &c) {
  std::mt19937 random(7);
  int64_t columnsOfB = c.turnsB ? c.columns : c.sum;
  Values a = numbers(c.rows * c.aRow(), random);
  Values b = numbers(columnsOfB * std::max(c.bRow(), c.bColumn()), random);
  Values sums = numbers(c.rows * c.cRow(), random), expected = sums;
  soap_plain_product(c.rows, c.columns, c.sum, a.data(), c.aRow(), 1, b.data(),
                     c.bRow(), c.bColumn(), expected.data(), c.cRow());

  auto kernel = makeKernel([](void *const *buffers, const int64_t *s) {
    const auto *services =
        static_cast<const soap_native_services *>(buffers[3]);
    services->product(s[0], s[1], s[2], static_cast<const float *>(buffers[0]),
                      s[3], 1, static_cast<const float *>(buffers[1]), s[4],
                      s[5], static_cast<float *>(buffers[2]), s[6]);
  });
  DeviceBlock onA = blockOf(a), onB = blockOf(b), onC = blockOf(sums);
  Binding binding;
  binding.operands = {onA.data(), onB.data()};
  binding.results = {onC.data()};
  binding.sizes = {c.rows,   c.columns,   c.sum,   c.aRow(),
                   c.bRow(), c.bColumn(), c.cRow()};
  kernel->bind(binding)->enqueue(*stream_);
  stream_->synchronize();

  sums = valuesOf(onC, sums.size());
  // Elements between the rows of c stay what they are.
  double tolerance = 4e-6 * std::sqrt(static_cast<double>(c.sum)) + 1e-6;
  for (size_t i = 0; i != sums.size(); ++i)
    ASSERT_NEAR(sums[i], expected[i], tolerance)
        << "element " << i << " of c in " << c.rows << " x " << c.columns
        << ", sum over " << c.sum
        << ", columns of b behind each other: " << c.turnsB << ", gaps of "
        << c.gap;
}

TEST_P(NativeProduct, OfAnySize) {
  for (int64_t rows : {1, 2, 3, 4, 5, 8, 9})
    for (int64_t columns : {1, 3, 4, 5, 103})
      for (int64_t sum : {1, 7, 8, 9, 650}) {
        check({rows, columns, sum, /*turnsB=*/true, /*gap=*/0});
        check({rows, columns, sum, /*turnsB=*/true, /*gap=*/3});
        check({rows, columns, sum, /*turnsB=*/false, /*gap=*/3});
      }
}

/// Large enough for several threads, where the device has them.
TEST_P(NativeProduct, OfLargeFactors) {
  for (int64_t rows : {1, 2, 8})
    check({rows, 1037, 515, /*turnsB=*/true, /*gap=*/0});
  check({9, 2051, 1030, /*turnsB=*/true, /*gap=*/1});
}

/// Each number has one part, and there are no more parts than were asked for.
TEST_P(NativeProduct, PartsHaveEveryNumberOnce) {
  auto kernel = makeKernel([](void *const *buffers, const int64_t *sizes) {
    struct Counts {
      float *numbers;
      std::atomic<int64_t> parts;
    } counts{static_cast<float *>(buffers[0]), 0};
    static_cast<const soap_native_services *>(buffers[1])
        ->parallel(
            sizes[0], sizes[1],
            [](void *data, int64_t begin, int64_t end) {
              auto *counted = static_cast<Counts *>(data);
              ++counted->parts;
              for (int64_t i = begin; i != end; ++i)
                ++counted->numbers[i];
            },
            &counts);
    counts.numbers[sizes[0]] = counts.parts <= sizes[1];
  });
  for (int64_t count : {1, 2, 3, 64, 1001})
    for (int64_t parts : {1, 2, 5, 64}) {
      Values expected(static_cast<size_t>(count) + 1, 1.0f);
      DeviceBlock counts = blockOf(Values(expected.size()));
      Binding binding;
      binding.results = {counts.data()};
      binding.sizes = {count, parts};
      kernel->bind(binding)->enqueue(*stream_);
      stream_->synchronize();
      EXPECT_EQ(valuesOf(counts, expected.size()), expected)
          << count << " numbers, " << parts << " parts";
    }
}

/// A launch with few indices along its first sizes is split along others as
/// well: z[i][j][k] = x[i][k] + y[j] of all i, j and k, each once.
TEST_P(NativeProduct, LaunchesAreSplitAlongAnySize) {
  fb::NativeKernelT description;
  description.bytes = {4, 4, 4};
  description.extents = {0b101, 0b010, 0b111};
  description.size_count = 3;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::NativeKernel::Pack(builder, &description));
  auto kernel = makeKernel(
      [](void *const *buffers, const int64_t *s) {
        const auto *x = static_cast<const float *>(buffers[0]);
        const auto *y = static_cast<const float *>(buffers[1]);
        auto *z = static_cast<float *>(buffers[2]);
        for (int64_t i = 0; i != s[0]; ++i)
          for (int64_t j = 0; j != s[1]; ++j)
            for (int64_t k = 0; k != s[2]; ++k)
              z[(i * s[1] + j) * s[2] + k] += x[i * s[2] + k] + y[j];
      },
      flatbuffers::GetRoot<fb::NativeKernel>(builder.GetBufferPointer()));
  for (size_t threads : {1, 2, 3, 8, 16}) {
    backend_->useThreads(threads);
    for (const std::vector<int64_t> &sizes :
         {std::vector<int64_t>{1, 1, 400000},
          {2, 3, 50000},
          {3, 70, 2000},
          {500, 3, 300},
          {1, 5, 7},
          {2, 200000, 1},
          {2, 0, 3}}) {
      int64_t rows = sizes[0], columns = sizes[1], others = sizes[2];
      std::mt19937 random(7);
      Values x = numbers(rows * others, random), y = numbers(columns, random),
             expected(static_cast<size_t>(rows * columns * others));
      for (size_t at = 0; at != expected.size(); ++at) {
        auto i = static_cast<int64_t>(at) / others / columns;
        auto k = static_cast<int64_t>(at) % others;
        expected[at] =
            x[static_cast<size_t>(i * others + k)] +
            y[static_cast<size_t>(static_cast<int64_t>(at) / others % columns)];
      }
      DeviceBlock onX = blockOf(x), onY = blockOf(y),
                  onZ = blockOf(Values(expected.size()));
      Binding binding;
      binding.operands = {onX.data(), onY.data()};
      binding.results = {onZ.data()};
      binding.sizes = sizes;
      kernel->bind(binding)->enqueue(*stream_);
      stream_->synchronize();
      EXPECT_TRUE(valuesOf(onZ, expected.size()) == expected)
          << threads << " threads, " << rows << " x " << columns << " x "
          << others;
    }
  }
  backend_->useThreads(std::max(1u, std::thread::hardware_concurrency()));
}

/// Blocks of a kernel are there for the next one; a small one leaves a large
/// one alone, and a larger one takes the place of one that is too small.
TEST_P(NativeProduct, BesideThemMemoryIsKept) {
  auto kernel = makeKernel([](void *const *buffers, const int64_t *) {
    auto *result = static_cast<float *>(buffers[0]);
    const auto *services =
        static_cast<const soap_native_services *>(buffers[1]);
    constexpr uint64_t large = 9000000;
    auto touch = [&](uint64_t bytes) {
      void *block = services->allocate(bytes);
      std::memset(block, 1, bytes);
      return block;
    };
    void *first = touch(large), *second = touch(large);
    result[0] = first != second &&
                reinterpret_cast<uintptr_t>(first) % 64 == 0 &&
                reinterpret_cast<uintptr_t>(second) % 64 == 0;
    services->release(second);
    services->release(first);
    void *small = touch(100);
    result[1] = small != first && small != second;
    void *third = touch(large - 4096), *fourth = touch(large);
    result[2] = (third == first && fourth == second) ||
                (third == second && fourth == first);
    for (void *block : {third, small, fourth})
      services->release(block);
    void *larger = touch(2 * large);
    services->release(larger);
    void *again = touch(large), *other = touch(large);
    result[3] = (again == larger) != (other == larger);
    services->release(again);
    services->release(other);
  });
  DeviceBlock results = blockOf(Values(4));
  Binding binding;
  binding.results = {results.data()};
  kernel->bind(binding)->enqueue(*stream_);
  stream_->synchronize();
  EXPECT_EQ(valuesOf(results, 4), Values(4, 1.0f));
}

INSTANTIATE_TEST_SUITE_P(Target, NativeProduct, testing::Values("cpu"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });
