//===- FollowersTest.cpp - Operations per element behind kernels ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EncodedFloats.h"
#include "Reference.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace soap;
using namespace soap::test;
using Kind = fb::FollowerKind;

namespace {
/// What the operand of a follower has an element for.
enum class Reads : uint8_t { Nothing, Whole, Place, Channel, One };

struct Step {
  Kind kind;
  Reads reads = Reads::Nothing;
  float alpha = 0, beta = 0;
};

/// A kernel with followers, and what it is made of.
struct Case {
  fb::KernelOpUnion op;
  std::vector<Tensor> operands;
  Tensor expected; ///< Without followers at first.
  size_t channelDim;
  std::vector<Step> steps;
  bool channelsLast = false;
  fb::ElementType multiplied = fb::ElementType::F32;
  bool isConstant = false; ///< Weights and bias are parameters.
  /// Of the bias, of what followers read, and of the result.
  fb::ElementType bias = fb::ElementType::F32, read = fb::ElementType::F32,
                  result = fb::ElementType::F32;
};
} // namespace

static Tensor random(const Shape &shape, uint32_t seed) {
  return Tensor(shape, randomFloats(count(shape), seed));
}

/// `values` as bf16 has them.
static void cutOff(std::vector<double> &values) {
  for (double &value : values)
    value = std::ldexp(std::nearbyint(std::ldexp(value, 6)), -6);
}

static Shape shapeRead(const Case &test, Reads reads) {
  Shape shape = test.expected.shape;
  if (reads == Reads::Whole || reads == Reads::Place)
    return shape;
  return {reads == Reads::One ? 1 : shape[test.channelDim]};
}

/// Appends a follower's operand, and applies it to what is expected.
static void append(Case &test, const Step &step) {
  Shape read = shapeRead(test, step.reads);
  Tensor other = random(read, 20 + static_cast<uint32_t>(test.operands.size()));
  if (test.read == fb::ElementType::BF16)
    cutOff(other.values);
  size_t i = 0;
  forEachIndex(test.expected.shape, [&](const Shape &index) {
    double o =
        step.reads == Reads::Nothing ? 0
        : read == test.expected.shape
            ? other.values[i]
            : other.values[step.reads == Reads::One ? 0
                                                    : index[test.channelDim]];
    test.expected.values[i] = applyFollower(step.kind, step.alpha, step.beta,
                                            test.expected.values[i], o);
    ++i;
  });
  if (step.reads != Reads::Nothing)
    test.operands.push_back(std::move(other));
}

/// Elements with channels last, or back to row-major ones.
static Floats reordered(const Shape &shape, const Floats &values, bool back) {
  int64_t channels = shape[1], pixels = 1;
  for (size_t d = 2; d != shape.size(); ++d)
    pixels *= shape[d];
  Floats result(values.size());
  for (int64_t n = 0; n != shape[0]; ++n)
    for (int64_t c = 0; c != channels; ++c)
      for (int64_t p = 0; p != pixels; ++p) {
        int64_t row = (n * channels + c) * pixels + p,
                last = (n * pixels + p) * channels + c;
        (back ? result[row] : result[last]) = back ? values[last] : values[row];
      }
  return result;
}

static std::vector<uint8_t> bytesOf(const Floats &values,
                                    fb::ElementType element) {
  const auto *data = reinterpret_cast<const uint8_t *>(values.data());
  std::vector<uint8_t> bytes(data, data + 4 * values.size());
  if (element == fb::ElementType::F32)
    return bytes;
  std::vector<uint8_t> upper;
  for (size_t i = 0; i != bytes.size(); ++i)
    if (i % 4 >= 2)
      upper.push_back(bytes[i]);
  return upper;
}

/// The model of a case; its inputs go to `inputs`.
static ModelBuilder build(const Case &test, size_t own,
                          std::vector<std::vector<uint8_t>> &inputs) {
  ModelBuilder b;
  std::vector<Shape> shapes;
  for (const Tensor &operand : test.operands)
    shapes.push_back(operand.shape);
  uint32_t index =
      b.kernel(fb::KernelOpUnion(test.op), shapes, {test.expected.shape});
  fb::KernelT &kernel = *b.model.kernels[index];
  const Shape &y = test.expected.shape;
  fb::LaunchT launch;
  launch.kernel = index;
  auto bytesPerElement = [](fb::ElementType element) {
    return element == fb::ElementType::F32 ? 4 : 2;
  };
  uint32_t result = b.buffer(0, bytesPerElement(test.result) * count(y)),
           next = own;
  for (const Step &step : test.steps) {
    auto follower = std::make_unique<fb::FollowerT>();
    follower->kind = step.kind;
    follower->alpha = step.alpha;
    follower->beta = step.beta;
    follower->operand = step.reads == Reads::Nothing ? 0 : next++;
    follower->in_place = step.reads == Reads::Place;
    kernel.followers.push_back(std::move(follower));
  }
  for (uint32_t i = 0; i != test.operands.size(); ++i) {
    const Tensor &operand = test.operands[i];
    Floats values(operand.values.begin(), operand.values.end());
    bool isOrdered =
        test.channelsLast && (i == 0 || (i >= own && operand.shape == y));
    fb::ElementType element = i < 2     ? test.multiplied
                              : i < own ? test.bias
                                        : test.read;
    kernel.operands[i]->element = element;
    if (isOrdered) {
      kernel.operands[i]->order = fb::ElementOrder::ChannelsLast;
      values = reordered(operand.shape, values, /*back=*/false);
    }
    bool inPlace = false;
    for (const auto &follower : kernel.followers)
      inPlace |= follower->in_place && follower->operand == i;
    if (test.isConstant && i >= 1 && i < own &&
        element == fb::ElementType::F32) {
      uint32_t parameter =
          b.buffer(0, 4 * values.size(), fb::Space::Parameters);
      launch.operands.push_back(parameter);
      launch.constant_operands.push_back(i);
      b.inlineLoad(0, parameter, operand.shape, values);
      continue;
    }
    inputs.push_back(bytesOf(values, element));
    uint32_t buffer = inPlace ? result : b.buffer(0, inputs.back().size());
    launch.operands.push_back(buffer);
    b.feed(0, b.input("x" + std::to_string(i), operand.shape, element), buffer);
  }
  kernel.results[0]->element = test.result;
  if (test.channelsLast)
    kernel.results[0]->order = fb::ElementOrder::ChannelsLast;
  launch.results = {result};
  b.row(0, std::move(launch));
  b.drain(0, b.output("y", y, test.result), result);
  return b;
}

/// Returns the kernel's implementation.
static std::string check(Case test, double tolerance = 1e-5) {
  size_t own = test.operands.size();
  for (const Step &step : test.steps)
    append(test, step);
  std::vector<std::vector<uint8_t>> inputs;
  ModelBuilder b = build(test, own, inputs);
  ModelPtr model = b.load();
  if (!model) {
    ADD_FAILURE() << soap_last_error();
    return "";
  }
  std::string implementation = nlohmann::json::parse(
      soap_model_info(model.get()))["kernels"][0]["implementation"];
  EXPECT_EQ(implementation.find("ref"), std::string::npos) << implementation;
  std::vector<const void *> in;
  for (const auto &bytes : inputs)
    in.push_back(bytes.data());
  Floats values(test.expected.values.size(), NAN);
  std::vector<char> narrow(2 * values.size());
  bool isNarrow = test.result == fb::ElementType::BF16;
  void *out = values.data();
  if (isNarrow)
    out = narrow.data();
  double scale = 1;
  for (double value : test.expected.values)
    scale = std::max(scale, std::fabs(value));
  for (int step = 0; step != 2; ++step) {
    EXPECT_EQ(soap_model_run(model.get(), in.data(), &out), SOAP_OK)
        << soap_last_error();
    if (isNarrow)
      values = decoded(narrow, fb::ElementType::BF16);
    Floats got = test.channelsLast
                     ? reordered(test.expected.shape, values, /*back=*/true)
                     : values;
    for (size_t i = 0; i != got.size() && !::testing::Test::HasFailure(); ++i)
      EXPECT_NEAR(got[i], test.expected.values[i], tolerance * scale)
          << "element " << i << ", " << implementation
          << ", channels last: " << test.channelsLast << ", first follower: "
          << (test.steps.empty()
                  ? "none"
                  : fb::EnumNameFollowerKind(test.steps.front().kind));
  }
  return implementation;
}

/// Lists of followers that are tried behind every kernel.
static std::vector<std::vector<Step>> lists() {
  return {{{Kind::Relu}},
          {{Kind::Clip, Reads::Nothing, -0.25f, 0.5f}},
          {{Kind::Add, Reads::Place}},
          {{Kind::Add, Reads::Place}, {Kind::Relu}},
          {{Kind::Add, Reads::Whole}, {Kind::Relu}},
          {{Kind::Multiply, Reads::Channel},
           {Kind::Add, Reads::Channel},
           {Kind::Clip, Reads::Nothing, 0, 6}},
          {{Kind::Subtract, Reads::Whole}, {Kind::Multiply, Reads::One}},
          {{Kind::Relu}, {Kind::Add, Reads::Whole}},
          {{Kind::Gelu}},
          {{Kind::GeluTanh}, {Kind::Add, Reads::One}}};
}

static Case makeConv(const Shape &x, int64_t features, int64_t kernel,
                     int64_t stride, int64_t groups = 1, bool bias = true) {
  fb::ConvT op;
  op.strides = {stride, stride};
  op.dilations = {1, 1};
  op.pads_lo = op.pads_hi = {kernel / 2, kernel / 2};
  op.groups = groups;
  op.bias = bias;
  std::vector<Tensor> operands{
      random(x, 1), random({features, x[1] / groups, kernel, kernel}, 2)};
  if (bias)
    operands.push_back(random({features}, 3));
  auto extent = [&](size_t d) {
    return (x[d] + 2 * (kernel / 2) - kernel) / stride + 1;
  };
  Tensor y = reference(op, operands, {x[0], features, extent(2), extent(3)});
  fb::KernelOpUnion kernelOp;
  kernelOp.Set(std::move(op));
  return {std::move(kernelOp), std::move(operands), std::move(y), 1, {}};
}

static void checkConv(const Case &base) {
  for (bool last : {false, true})
    for (const auto &steps : lists()) {
      Case test = base;
      test.channelsLast = last;
      test.steps = steps;
      check(std::move(test));
    }
}

TEST(Followers, OfAConvolution) {
  checkConv(makeConv({2, 16, 9, 7}, 24, 3, 1));
}
TEST(Followers, OfOneWithFewChannels) {
  checkConv(makeConv({1, 3, 11, 9}, 5, 3, 2, 1, /*bias=*/false));
}
TEST(Followers, OfAPointwiseOne) {
  checkConv(makeConv({1, 32, 10, 12}, 64, 1, 1));
}
TEST(Followers, OfADepthwiseOne) {
  checkConv(makeConv({1, 16, 9, 9}, 16, 3, 1, /*groups=*/16));
}
TEST(Followers, OfGroups) {
  checkConv(makeConv({1, 12, 8, 8}, 18, 3, 1, /*groups=*/3));
}

/// Checks a convolution that is computed by a kernel of our own on processors
/// that have its loops, and whether that has all followers but a GELU in it.
/// `level`: vectors with which it is.
static void checkOwnConv(Case base, const std::string &name, bool rowMajorToo,
                         const char *level = "any") {
  base.isConstant = true;
  for (bool last : {false, true})
    for (const auto &steps : lists()) {
      Case test = base;
      test.channelsLast = last;
      test.steps = steps;
      std::string implementation = check(std::move(test), /*tolerance=*/1e-4);
#ifdef __x86_64__
      bool isOther =
          level == std::string("avx2") && __builtin_cpu_supports("avx512f");
      if (!__builtin_cpu_supports("avx2") || isOther || (!last && !rowMajorToo))
        continue;
      auto isGelu = [](const Step &step) {
        return step.kind == Kind::Gelu || step.kind == Kind::GeluTanh;
      };
      EXPECT_EQ(implementation.rfind(name, 0), 0U) << implementation;
      EXPECT_EQ(implementation.find("followers") != std::string::npos,
                std::any_of(steps.begin(), steps.end(), isGelu))
          << implementation;
#endif
    }
}

TEST(Followers, OfAConvolutionByWinograd) {
  Case base = makeConv({1, 64, 16, 15}, 64, 3, 1);
  base.op.AsConv()->winograd = true;
  checkOwnConv(std::move(base), "soap:winograd", /*rowMajorToo=*/true);
}
TEST(Followers, OfAGroupedPointwiseOne) {
  checkOwnConv(makeConv({2, 20, 7, 9}, 36, 1, 1, /*groups=*/4),
               "soap:pointwise", /*rowMajorToo=*/false, "avx2");
}

TEST(Followers, OfAStridedConvolutionOfOurOwn) {
  checkOwnConv(makeConv({2, 32, 11, 13}, 20, 3, 2), "soap:strided",
               /*rowMajorToo=*/false, "avx2");
}

TEST(Followers, OfATransposedConvolutionOfOurOwn) {
  fb::ConvBackwardT op;
  op.strides = {2, 3};
  op.dilations = {1, 1};
  op.pads_lo = op.pads_hi = {0, 0};
  op.bias = true;
  std::vector<Tensor> operands{random({2, 8, 3, 5}, 1),
                               random({8, 18, 2, 3}, 2), random({18}, 3)};
  Tensor x = reference(op, operands, {2, 18, 6, 15});
  fb::KernelOpUnion kernelOp;
  kernelOp.Set(std::move(op));
  checkOwnConv({std::move(kernelOp), std::move(operands), std::move(x), 1, {}},
               "soap:transposed", /*rowMajorToo=*/false);
}

TEST(Followers, OfATransposedConvolution) {
  for (bool last : {false, true})
    for (const auto &steps : lists()) {
      fb::ConvBackwardT op;
      op.strides = op.dilations = {1, 1};
      op.pads_lo = op.pads_hi = {1, 1};
      op.bias = true;
      std::vector<Tensor> operands{random({1, 8, 7, 6}, 1),
                                   random({8, 16, 3, 3}, 2), random({16}, 3)};
      Tensor x = reference(op, operands, {1, 16, 7, 6});
      fb::KernelOpUnion kernelOp;
      kernelOp.Set(std::move(op));
      check({std::move(kernelOp), std::move(operands), std::move(x), 1, steps,
             last});
    }
}

static void checkMatMul(const Shape &a, const Shape &b, const Shape &y,
                        const Shape &bias = {}, float alpha = 1) {
  for (bool isConstant : {false, true})
    for (const auto &steps : lists()) {
      fb::MatMulT op;
      op.bias = !bias.empty();
      op.alpha = alpha;
      std::vector<Tensor> operands{random(a, 5), random(b, 6)};
      if (op.bias)
        operands.push_back(random(bias, 7));
      Tensor result = reference(op, operands, y);
      fb::KernelOpUnion kernelOp;
      kernelOp.Set(std::move(op));
      Case test{std::move(kernelOp), std::move(operands), std::move(result),
                y.size() - 1, steps};
      test.isConstant = isConstant;
      check(std::move(test));
    }
}

TEST(Followers, OfAProduct) { checkMatMul({7, 33}, {33, 19}, {7, 19}); }
TEST(Followers, OfAProductWithBias) {
  checkMatMul({7, 33}, {33, 19}, {7, 19}, {19});
}
TEST(Followers, OfAScaledProductWithBias) {
  checkMatMul({7, 33}, {33, 19}, {7, 19}, {1, 19}, 0.5f);
}
TEST(Followers, OfAProductOfManyColumns) {
  checkMatMul({35, 33}, {33, 259}, {35, 259}, {259});
}
TEST(Followers, OfOneRow) { checkMatMul({1, 300}, {300, 40}, {1, 40}, {40}); }
TEST(Followers, OfRowsOfABatch) {
  checkMatMul({3, 2, 7, 9}, {9, 5}, {3, 2, 7, 5}, {5});
}
TEST(Followers, OfABatchOfProducts) {
  checkMatMul({3, 2, 7, 9}, {3, 2, 9, 5}, {3, 2, 7, 5});
}

TEST(Followers, OfNarrowFactors) {
  Case test = makeConv({1, 4, 6, 6}, 8, 3, 1);
  test.multiplied = fb::ElementType::BF16;
  // Halves of small integers, which are exact.
  for (size_t i = 0; i != 2; ++i)
    for (double &value : test.operands[i].values)
      value = std::round(4 * value) / 2;
  test.expected =
      reference(*test.op.AsConv(), test.operands, test.expected.shape);
  test.steps = {{Kind::Add, Reads::Place}, {Kind::Relu}};
  check(std::move(test));
}

/// Checks products of bf16 with results of bf16: behind all followers, which
/// read f32 or bf16, and behind none.
static void checkNarrowResult(Case base, bool addsBias) {
  base.multiplied = base.result = fb::ElementType::BF16;
  std::vector<std::vector<Step>> all = lists();
  all.emplace_back();
  for (fb::ElementType read : {fb::ElementType::F32, fb::ElementType::BF16})
    for (const auto &steps : all) {
      Case test = base;
      test.read = read;
      if (addsBias)
        test.bias = read;
      test.steps = steps;
      // The result takes the place of what has as many bytes.
      for (Step &step : test.steps)
        if (step.reads == Reads::Place && read == fb::ElementType::F32)
          step.reads = Reads::Whole;
      check(std::move(test), /*tolerance=*/1.0 / 256);
    }
}

TEST(Followers, OfNarrowResultsOfConvolutions) {
  for (const Case &base : {makeConv({2, 16, 9, 7}, 24, 3, 1),
                           makeConv({1, 16, 9, 9}, 16, 3, 1, 16),
                           makeConv({1, 12, 8, 8}, 18, 3, 2, 3)})
    for (bool last : {false, true}) {
      Case test = base;
      test.channelsLast = last;
      for (Tensor &operand : test.operands)
        cutOff(operand.values);
      test.expected =
          reference(*test.op.AsConv(), test.operands, test.expected.shape);
      checkNarrowResult(std::move(test), /*addsBias=*/true);
    }
}

TEST(Followers, OfNarrowResultsOfProducts) {
  for (bool flat : {false, true}) {
    fb::MatMulT op;
    op.bias = flat;
    std::vector<Tensor> operands{
        random({3, 2, 7, 34}, 5),
        random(flat ? Shape{34, 20} : Shape{3, 2, 34, 20}, 6)};
    if (flat)
      operands.push_back(random({20}, 7));
    for (Tensor &operand : operands)
      cutOff(operand.values);
    Tensor result = reference(op, operands, {3, 2, 7, 20});
    fb::KernelOpUnion kernelOp;
    kernelOp.Set(std::move(op));
    checkNarrowResult(
        {std::move(kernelOp), std::move(operands), std::move(result), 3, {}},
        flat);
  }
}

TEST(Followers, OfNarrowResultsOfOneRow) {
  fb::MatMulT op;
  op.bias = op.transpose_b = true;
  std::vector<Tensor> operands{random({1, 301}, 5), random({40, 301}, 6),
                               random({40}, 7)};
  for (Tensor &operand : operands)
    cutOff(operand.values);
  Tensor result = reference(op, operands, {1, 40});
  fb::KernelOpUnion kernelOp;
  kernelOp.Set(std::move(op));
  checkNarrowResult(
      {std::move(kernelOp), std::move(operands), std::move(result), 1, {}},
      /*addsBias=*/true);
}

TEST(Followers, TablesThatDoNotFitAreRefused) {
  auto refused = [](const std::function<void(fb::ModelT &)> &damage,
                    const std::string &reason) {
    Case test = makeConv({1, 4, 6, 6}, 4, 3, 1);
    size_t own = test.operands.size();
    test.steps = {{Kind::Add, Reads::Place}, {Kind::Multiply, Reads::Channel}};
    for (const Step &step : test.steps)
      append(test, step);
    std::vector<std::vector<uint8_t>> inputs;
    ModelBuilder b = build(test, own, inputs);
    damage(b.model);
    soap_status status = SOAP_OK;
    EXPECT_FALSE(b.load(&status));
    EXPECT_EQ(status, SOAP_INVALID);
    EXPECT_NE(std::string(soap_last_error()).find(reason), std::string::npos)
        << soap_last_error() << "\nexpected: " << reason;
  };
  auto follower = [](fb::ModelT &m, size_t i) -> fb::FollowerT & {
    return *m.kernels[0]->followers[i];
  };
  auto launch = [](fb::ModelT &m) -> fb::LaunchT & {
    for (const auto &row : m.devices[0]->programs[0]->rows)
      if (auto *found = row->body.AsLaunch())
        return *found;
    throw std::runtime_error("no launch");
  };
  refused([&](auto &m) { follower(m, 1).operand = 3; }, "operand 3 of 5");
  refused([&](auto &m) { follower(m, 1).operand = 2; }, "operand 2 of 5");
  refused([&](auto &m) { follower(m, 1).operand = 5; }, "operand 5 of 5");
  refused([&](auto &m) { follower(m, 1).kind = Kind(40); }, "a kind 40");
  refused([&](auto &m) { follower(m, 1).in_place = true; }, "in place");
  refused([&](auto &m) { follower(m, 0).kind = Kind::Subtract; }, "in place");
  refused([&](auto &m) { m.kernels[0]->operands[4]->shape = {3}; },
          "a follower of f32");
  // bf16 comes with factors of bf16 alone, and what is overwritten is as wide
  // as the result.
  constexpr auto narrow = fb::ElementType::BF16;
  refused([&](auto &m) { m.kernels[0]->results[0]->element = narrow; },
          "a result of bf16");
  refused([&](auto &m) { m.kernels[0]->operands[4]->element = narrow; },
          "a follower of bf16");
  refused(
      [&](auto &m) {
        m.kernels[0]->operands[0]->element = narrow;
        m.kernels[0]->results[0]->element = narrow;
      },
      "a follower of f32");
  refused(
      [&](auto &m) {
        m.kernels[0]->operands[3]->order = fb::ElementOrder::ChannelsLast;
      },
      "a follower of f32");
  refused(
      [&](auto &m) {
        fb::PoolT pool;
        pool.kernel = pool.strides = pool.dilations = {1, 1};
        pool.pads_lo = pool.pads_hi = {0, 0};
        m.kernels[0]->op.Set(std::move(pool));
      },
      "2 followers of Pool");
  // The result elsewhere, and in the place of what the convolution reads, too.
  refused(
      [&](auto &m) { std::swap(launch(m).operands[0], launch(m).results[0]); },
      "not in the place of operand 3");
  refused([&](auto &m) { launch(m).operands[0] = launch(m).results[0]; },
          "overwrites operand 0");
}
