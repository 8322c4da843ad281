//===- KernelTest.cpp - Every kernel against its definition ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace soap;
using namespace soap::test;

namespace {
struct Outcome {
  Floats values;
  std::string implementation;
};

/// Whether the first operand and the result have channels last.
struct ChannelsLast {
  bool operand = false, result = false;
};
} // namespace

/// Elements of `values`, which are row-major, with channels last, or back.
static Floats reordered(const Shape &shape, const Floats &values, bool back) {
  Floats result(values.size());
  size_t from = 0;
  forEachIndex(shape, [&](const Shape &index) {
    size_t to = static_cast<size_t>(index[0]);
    for (size_t d = 2; d != shape.size(); ++d)
      to = to * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
    to = to * static_cast<size_t>(shape[1]) + static_cast<size_t>(index[1]);
    (back ? result[from] : result[to]) = back ? values[to] : values[from];
    ++from;
  });
  return result;
}

/// Runs one kernel on one device. Operands from `constantFrom` on are constant
/// parameters, the others inputs.
static Outcome runKernel(fb::KernelOpUnion op, const std::vector<Tensor> &x,
                         const Shape &resultShape, size_t constantFrom,
                         ChannelsLast last = {}) {
  ModelBuilder b;
  std::vector<Shape> shapes;
  for (const Tensor &t : x)
    shapes.push_back(t.shape);
  uint32_t kernel = b.kernel(std::move(op), shapes, {resultShape});
  if (last.operand)
    b.model.kernels[kernel]->operands[0]->order =
        fb::ElementOrder::ChannelsLast;
  if (last.result)
    b.model.kernels[kernel]->results[0]->order = fb::ElementOrder::ChannelsLast;
  fb::LaunchT launch;
  launch.kernel = kernel;
  std::vector<Floats> inputs;
  for (uint32_t i = 0; i != x.size(); ++i) {
    Floats values(x[i].values.begin(), x[i].values.end());
    if (i == 0 && last.operand)
      values = reordered(x[i].shape, values, /*back=*/false);
    bool constant = i >= constantFrom;
    uint32_t buffer =
        b.buffer(0, values.size() * 4,
                 constant ? fb::Space::Parameters : fb::Space::Activations);
    launch.operands.push_back(buffer);
    if (constant) {
      b.inlineLoad(0, buffer, x[i].shape, values);
      launch.constant_operands.push_back(i);
      continue;
    }
    b.feed(0, b.input("x" + std::to_string(i), x[i].shape), buffer);
    inputs.push_back(std::move(values));
  }
  Outcome outcome;
  outcome.values.assign(count(resultShape), NAN);
  uint32_t result = b.buffer(0, outcome.values.size() * 4);
  launch.results = {result};
  b.row(0, std::move(launch));
  b.drain(0, b.output("y", resultShape), result);
  ModelPtr model = b.load();
  if (!model) {
    ADD_FAILURE() << soap_last_error();
    return outcome;
  }
  auto info = nlohmann::json::parse(soap_model_info(model.get()));
  outcome.implementation = info["kernels"][0]["implementation"];
  std::vector<const void *> in;
  for (const Floats &values : inputs)
    in.push_back(values.data());
  void *out = outcome.values.data();
  for (int step = 0; step != 2; ++step)
    EXPECT_EQ(soap_model_run(model.get(), in.data(), &out), SOAP_OK)
        << soap_last_error();
  if (last.result)
    outcome.values = reordered(resultShape, outcome.values, /*back=*/true);
  return outcome;
}

/// The orders in which a kernel takes its first operand and makes its result.
template <typename Op>
static std::vector<ChannelsLast> ordersOf(const Op &op) {
  if constexpr (std::is_same_v<Op, fb::ConvBackwardT>)
    if (op.of_filter)
      return {{}};
  if constexpr (std::is_same_v<Op, fb::ConvT> ||
                std::is_same_v<Op, fb::ConvBackwardT> ||
                std::is_same_v<Op, fb::PoolT> || std::is_same_v<Op, fb::LrnT>)
    return {{}, {true, true}, {true, false}, {false, true}};
  return {{}};
}

/// Checks one kernel with and without constant operands, in all orders.
/// Relative to the largest value of the result.
template <typename Op>
static void check(Op op, const std::vector<Tensor> &x, const Shape &resultShape,
                  double tolerance = 2e-5, bool mayBeReference = false) {
  Tensor expected = reference(op, x, resultShape);
  double scale = 0;
  for (double value : expected.values)
    scale = std::max(scale, std::fabs(value));
  for (ChannelsLast last : ordersOf(op))
    for (size_t constantFrom : {x.size(), size_t{1}}) {
      fb::KernelOpUnion kernel;
      kernel.Set(Op(op));
      Outcome outcome =
          runKernel(std::move(kernel), x, resultShape, constantFrom, last);
      EXPECT_TRUE(mayBeReference ||
                  outcome.implementation.find("ref") == std::string::npos)
          << outcome.implementation;
      for (size_t i = 0; i != expected.values.size(); ++i)
        ASSERT_NEAR(outcome.values[i], expected.values[i], tolerance * scale)
            << "element " << i << ", " << outcome.implementation
            << ", channels last of the operand: " << last.operand
            << ", of the result: " << last.result;
      if (constantFrom == 1 && x.size() == 1)
        break;
    }
}

static Tensor random(const Shape &shape, uint32_t seed, float lo = -1,
                     float hi = 1) {
  return Tensor(shape, randomFloats(count(shape), seed, lo, hi));
}

//===----------------------------------------------------------------------===//
// Convolution and pooling
//===----------------------------------------------------------------------===//

static Shape windowResult(const Shape &x, int64_t channels, const Shape &kernel,
                          const Shape &strides, const Shape &dilations,
                          const Shape &lo, const Shape &hi) {
  Shape result{x[0], channels};
  for (size_t d = 0; d != kernel.size(); ++d)
    result.push_back(
        (x[d + 2] + lo[d] + hi[d] - (kernel[d] - 1) * dilations[d] - 1) /
            strides[d] +
        1);
  return result;
}

static void checkConv(const Shape &x, int64_t features, const Shape &kernel,
                      const Shape &strides, const Shape &dilations,
                      const Shape &lo, const Shape &hi, int64_t groups = 1,
                      bool bias = true) {
  fb::ConvT op;
  op.strides = strides;
  op.dilations = dilations;
  op.pads_lo = lo;
  op.pads_hi = hi;
  op.groups = groups;
  op.bias = bias;
  Shape weights{features, x[1] / groups};
  weights.insert(weights.end(), kernel.begin(), kernel.end());
  std::vector<Tensor> operands{random(x, 1), random(weights, 2)};
  if (bias)
    operands.push_back(random({features}, 3));
  Shape y = windowResult(x, features, kernel, strides, dilations, lo, hi);
  check(op, operands, y);

  fb::ConvBackwardT back;
  back.strides = strides;
  back.dilations = dilations;
  back.pads_lo = lo;
  back.pads_hi = hi;
  back.groups = groups;
  check(back, {random(y, 4), operands[1]}, x);
  back.bias = true;
  check(back, {random(y, 4), operands[1], random({x[1]}, 5)}, x);
  back.bias = false;
  back.of_filter = true;
  check(back, {operands[0], random(y, 4)}, weights);
}

TEST(Kernel, ConvPlain) {
  checkConv({2, 3, 13, 17}, 8, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1});
}
TEST(Kernel, ConvWithoutBias) {
  checkConv({1, 16, 9, 9}, 5, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false);
}
TEST(Kernel, ConvAsymmetricPads) {
  checkConv({1, 4, 11, 12}, 6, {3, 5}, {1, 1}, {1, 1}, {0, 3}, {2, 1});
}
TEST(Kernel, ConvNegativeHighPad) {
  checkConv({1, 4, 12, 12}, 6, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {-1, -1});
}
TEST(Kernel, ConvWindowsApart) { // Their gradients do not overlap.
  checkConv({2, 24, 12, 9}, 18, {2, 3}, {2, 3}, {1, 1}, {0, 0}, {0, 0});
}
TEST(Kernel, ConvStrides) {
  checkConv({2, 3, 23, 23}, 16, {7, 7}, {2, 3}, {1, 1}, {3, 3}, {2, 3});
}
TEST(Kernel, ConvDilations) {
  checkConv({1, 5, 15, 16}, 7, {3, 3}, {1, 2}, {2, 3}, {2, 0}, {1, 4});
}
TEST(Kernel, ConvGroups) {
  checkConv({2, 12, 8, 8}, 18, {3, 3}, {1, 1}, {1, 1}, {1, 0}, {0, 1}, 3);
}
TEST(Kernel, ConvDepthwise) {
  checkConv({1, 16, 10, 10}, 16, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 16);
}
TEST(Kernel, ConvOneDimension) {
  checkConv({2, 6, 31}, 9, {4}, {2}, {1}, {1}, {2});
}
TEST(Kernel, ConvThreeDimensions) {
  checkConv({1, 3, 5, 6, 7}, 4, {2, 3, 3}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1},
            {1, 1, 0});
}
TEST(Kernel, ConvOneRow) { // A tile of one row of a split convolution.
  checkConv({1, 32, 3, 28}, 32, {3, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1});
}

static void checkPool(fb::PoolKind kind, bool countPads, const Shape &x,
                      const Shape &kernel, const Shape &strides,
                      const Shape &dilations, const Shape &lo,
                      const Shape &hi) {
  fb::PoolT op;
  op.kind = kind;
  op.kernel = kernel;
  op.strides = strides;
  op.dilations = dilations;
  op.pads_lo = lo;
  op.pads_hi = hi;
  op.count_include_pad = countPads;
  check(op, {random(x, 4)},
        windowResult(x, x[1], kernel, strides, dilations, lo, hi));
}

TEST(Kernel, MaxPool) {
  checkPool(fb::PoolKind::Max, false, {2, 5, 14, 15}, {3, 3}, {2, 2}, {1, 1},
            {1, 1}, {1, 1});
}
TEST(Kernel, MaxPoolAsymmetric) {
  checkPool(fb::PoolKind::Max, false, {1, 19, 13, 13}, {3, 2}, {2, 2}, {1, 1},
            {0, 0}, {2, 1});
}
TEST(Kernel, AveragePoolCountsPads) {
  checkPool(fb::PoolKind::Average, true, {2, 6, 11, 12}, {3, 3}, {1, 2}, {1, 1},
            {1, 0}, {0, 2});
}
TEST(Kernel, AveragePoolExcludesPads) {
  checkPool(fb::PoolKind::Average, false, {2, 6, 11, 12}, {3, 3}, {1, 2},
            {1, 1}, {1, 0}, {0, 2});
}
TEST(Kernel, AveragePoolOneDimension) {
  checkPool(fb::PoolKind::Average, false, {2, 4, 17}, {4}, {3}, {1}, {1}, {1});
}

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

static void checkMatMul(const Shape &a, const Shape &b, const Shape &y,
                        bool transposeA = false, bool transposeB = false,
                        const Shape *bias = nullptr, float alpha = 1) {
  fb::MatMulT op;
  op.transpose_a = transposeA;
  op.transpose_b = transposeB;
  op.bias = bias;
  op.alpha = alpha;
  std::vector<Tensor> operands{random(a, 5), random(b, 6)};
  if (bias)
    operands.push_back(random(*bias, 7));
  check(op, operands, y);
}

TEST(Kernel, MatMulPlain) { checkMatMul({7, 33}, {33, 19}, {7, 19}); }
TEST(Kernel, MatMulOneRow) { checkMatMul({1, 300}, {300, 129}, {1, 129}); }
/// Reads the factor as it is, where the processor has loops for that.
TEST(Kernel, MatMulOneRowTransposed) {
  Shape bias{129}, biasOfRow{1, 129};
  checkMatMul({1, 300}, {129, 300}, {1, 129}, false, true);
  checkMatMul({1, 300}, {129, 300}, {1, 129}, false, true, &bias);
  checkMatMul({1, 1, 300}, {129, 300}, {1, 1, 129}, false, true, &biasOfRow);
  checkMatMul({1, 300}, {129, 300}, {1, 129}, false, true, &bias, 0.5f);
}
/// With a constant factor, a product that is a convolution to the library.
TEST(Kernel, MatMulOfFewAndManyRows) {
  Shape bias{101};
  checkMatMul({2, 67}, {67, 101}, {2, 101});
  checkMatMul({40, 67}, {101, 67}, {40, 101}, false, true, &bias);
  checkMatMul({1023, 5}, {5, 9}, {1023, 9});
  checkMatMul({1024, 5}, {9, 5}, {1024, 9}, false, true);
}
TEST(Kernel, MatMulOfBatchesIsOneProduct) {
  Shape bias{40};
  checkMatMul({3, 2, 7, 24}, {1, 1, 24, 40}, {3, 2, 7, 40}, false, false,
              &bias);
}
/// Else the library packs or walks over it in every run.
TEST(Kernel, MatMulPreparesAConstantFactor) {
  Tensor a = random({40, 64}, 5), b = random({64, 96}, 6);
  auto implementationOf = [&](size_t constantFrom) {
    fb::KernelOpUnion op;
    op.Set(fb::MatMulT());
    return runKernel(std::move(op), {a, b}, {40, 96}, constantFrom)
        .implementation;
  };
  if (implementationOf(2).find("avx2") == std::string::npos &&
      implementationOf(2).find("gemm:jit") == std::string::npos)
    GTEST_SKIP() << "measured on processors with AVX2 alone";
  EXPECT_EQ(implementationOf(1).find("gemm"), std::string::npos)
      << implementationOf(1);
}
/// With AVX-512, oneDNN's own choice would read it as it is.
TEST(Kernel, MatMulOfAChangingFactor) {
  Shape bias{261};
  for (bool transposeA : {false, true}) {
    Shape a = transposeA ? Shape{7, 259} : Shape{259, 7};
    checkMatMul(a, {7, 261}, {259, 261}, transposeA, false, &bias);
    checkMatMul(a, {7, 261}, {259, 261}, transposeA, false, &bias, 0.5f);
    checkMatMul(a, {261, 7}, {259, 261}, transposeA, true);
  }
  fb::KernelOpUnion op;
  op.Set(fb::MatMulT());
  Tensor a = random({32, 7}, 5), b = random({7, 256}, 6);
  Outcome outcome = runKernel(std::move(op), {a, b}, {32, 256}, 2);
  EXPECT_EQ(outcome.implementation.find("gemm"), 0u) << outcome.implementation;
}
TEST(Kernel, MatMulTransposed) {
  checkMatMul({33, 7}, {19, 33}, {7, 19}, true, true);
}
TEST(Kernel, MatMulBias) {
  Shape bias{19};
  checkMatMul({7, 33}, {19, 33}, {7, 19}, false, true, &bias);
}
TEST(Kernel, MatMulAlphaDoesNotScaleBias) {
  Shape bias{1, 19};
  checkMatMul({7, 33}, {33, 19}, {7, 19}, false, false, &bias, 0.5f);
}
TEST(Kernel, MatMulOfABatchOfOne) {
  Shape bias{1, 1, 19};
  checkMatMul({1, 33, 7}, {1, 1, 33, 19}, {1, 1, 7, 19}, true, false, &bias);
  checkMatMul({1, 33, 7}, {19, 33}, {1, 7, 19}, true, true);
}
TEST(Kernel, MatMulBatched) {
  checkMatMul({3, 2, 7, 9}, {3, 2, 9, 5}, {3, 2, 7, 5});
}
TEST(Kernel, MatMulBroadcastSecond) {
  Shape bias{5};
  checkMatMul({3, 2, 7, 9}, {9, 5}, {3, 2, 7, 5}, false, false, &bias);
}
TEST(Kernel, MatMulBatchedTransposed) {
  checkMatMul({4, 9, 7}, {4, 5, 9}, {4, 7, 5}, true, true, nullptr, 2.0f);
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

TEST(Kernel, Softmax) {
  for (int32_t axis : {1, 2}) {
    fb::SoftmaxT op;
    op.axis = axis;
    check(op, {random({3, 40, 5}, 8, -5, 5)}, {3, 40, 5});
    op.log = true;
    check(op, {random({3, 40, 5}, 8, -5, 5)}, {3, 40, 5});
  }
}

/// True if the library may use vectors of 512 bits.
static bool hasWideVectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

TEST(Kernel, Lrn) {
  for (int64_t channels : {7, 32}) {
    fb::LrnT op;
    op.size = 5;
    op.alpha = 0.2f;
    op.bias = 2;
    // With vectors of 256 bits, oneDNN 2.6 wants whole ones of channels.
    check(op, {random({2, channels, 6, 7}, 9, -3, 3)}, {2, channels, 6, 7},
          1e-4, channels % 8 != 0 && !hasWideVectors());
  }
}

TEST(Kernel, LayerNorm) {
  for (int32_t axis : {0, 1, 2})
    for (bool bias : {false, true}) {
      Shape shape{3, 5, 67}, row(shape.begin() + axis, shape.end());
      fb::LayerNormT op;
      op.axis = axis;
      op.epsilon = 1e-3f;
      op.bias = bias;
      std::vector<Tensor> x{random(shape, 10, -2, 2), random(row, 11, -1, 2)};
      if (bias)
        x.push_back(random(row, 12, -1, 1));
      check(op, x, shape);
    }
}

TEST(Kernel, EmptyResult) {
  fb::SoftmaxT op;
  fb::KernelOpUnion kernel;
  kernel.Set(std::move(op));
  Outcome outcome =
      runKernel(std::move(kernel), {random({0, 4}, 1)}, {0, 4}, 1);
  EXPECT_EQ(outcome.implementation, "soap:empty");
}

TEST(Kernel, UnknownKernelIsAnError) {
  ModelBuilder b;
  fb::KernelOpUnion op;
  op.Set(fb::MatMulT());
  uint32_t kernel = b.kernel(std::move(op), {{2, 3}, {4, 5}}, {{2, 5}});
  fb::LaunchT launch;
  launch.kernel = kernel;
  launch.operands = {b.buffer(0, 64), b.buffer(0, 128)};
  launch.results = {b.buffer(0, 64)};
  b.row(0, std::move(launch));
  soap_status status;
  EXPECT_FALSE(b.load(&status));
  EXPECT_EQ(status, SOAP_INVALID);
  EXPECT_NE(std::string(soap_last_error()).find("kernel0"), std::string::npos)
      << soap_last_error();
}

/// More cores than one: the same numbers.
TEST(Kernel, SeveralCores) {
  Tensor x = random({256, 300}, 23, -5, 5);
  fb::SoftmaxT softmax;
  softmax.axis = 1;
  Tensor expected = reference(softmax, {x}, x.shape);
  fb::KernelOpUnion op;
  op.Set(std::move(softmax));
  ModelBuilder b;
  Floats in(x.values.begin(), x.values.end()), out(in.size());
  uint32_t kernel = b.kernel(std::move(op), {x.shape}, {x.shape});
  fb::LaunchT launch;
  launch.kernel = kernel;
  launch.operands = {b.buffer(0, in.size() * 4)};
  launch.results = {b.buffer(0, in.size() * 4)};
  b.feed(0, b.input("x", x.shape), launch.operands[0]);
  uint32_t result = launch.results[0];
  b.row(0, std::move(launch));
  b.drain(0, b.output("y", x.shape), result);
  soap_status status;
  ModelPtr model = b.load(&status, {}, 2);
  if (!model)
    GTEST_SKIP() << soap_last_error();
  const void *inputs = in.data();
  void *outputs = out.data();
  ASSERT_EQ(soap_model_run(model.get(), &inputs, &outputs), SOAP_OK);
  for (size_t i = 0; i != out.size(); ++i)
    ASSERT_NEAR(out[i], expected.values[i], 1e-6) << "element " << i;
}

/// Calls of the native kernel below, and the rows that they computed.
static std::atomic<int64_t> calls, rows;

/// buffers: x, vector, y; sizes: rows, columns. y = x * vector.
static void scaleRows(void *const *buffers, const int64_t *sizes) {
  const auto *x = static_cast<const float *>(buffers[0]);
  const auto *vector = static_cast<const float *>(buffers[1]);
  auto *y = static_cast<float *>(buffers[2]);
  for (int64_t i = 0; i != sizes[0]; ++i)
    for (int64_t j = 0; j != sizes[1]; ++j)
      y[i * sizes[1] + j] = x[i * sizes[1] + j] * vector[j];
  ++calls;
  rows += sizes[0];
}

/// Rows of a native kernel are shared among the cores of a device; a small
/// kernel runs on one. A device of the emulated target has one thread.
TEST(Kernel, NativeOnSeveralCores) {
  for (int64_t count : {3, 1001}) {
    Shape shape = {count, 300};
    Tensor x = random(shape, 24), vector = random({300}, 25);
    ModelBuilder b;
    b.native({4, 4, 4}, {3, 2, 3}, 2);
    fb::KernelOpUnion op;
    op.Set(fb::NativeT());
    uint32_t kernel = b.kernel(std::move(op), {shape, {300}}, {shape});
    Floats in(x.values.begin(), x.values.end()), out(in.size());
    Floats scale(vector.values.begin(), vector.values.end());
    fb::LaunchT launch;
    launch.kernel = kernel;
    launch.operands = {b.buffer(0, in.size() * 4), b.buffer(0, 1200)};
    launch.results = {b.buffer(0, in.size() * 4)};
    launch.sizes = {count, 300};
    b.feed(0, b.input("x", shape), launch.operands[0]);
    b.feed(0, b.input("vector", {300}), launch.operands[1]);
    uint32_t result = launch.results[0];
    b.row(0, std::move(launch));
    b.drain(0, b.output("y", shape), result);
    ModelPtr model = b.load(nullptr, {scaleRows}, 2);
    if (!model)
      GTEST_SKIP() << soap_last_error();
    const void *inputs[] = {in.data(), scale.data()};
    void *outputs[] = {out.data()};
    calls = rows = 0;
    ASSERT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
    EXPECT_EQ(calls, count == 3 || b.model.target != "cpu" ? 1 : 2);
    EXPECT_EQ(rows, count);
    for (size_t i = 0; i != out.size(); ++i)
      ASSERT_EQ(out[i], in[i] * scale[i % 300]) << "element " << i;
  }
}
