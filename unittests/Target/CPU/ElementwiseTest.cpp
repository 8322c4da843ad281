//===- ElementwiseTest.cpp - Element-wise kernels against formulas --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledOps.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <limits>

using namespace soap;
using namespace soap::test;

static const float inf = std::numeric_limits<float>::infinity();
static const float notANumber = std::numeric_limits<float>::quiet_NaN();

static std::string tensor(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

static size_t numElements(const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

static float maximum(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? notANumber : std::max(a, b);
}
static float minimum(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? notANumber : std::min(a, b);
}

struct Unary {
  const char *name, *attributes;
  std::function<double(double)> formula;
};
static const Unary unaries[] = {
    {"relu", "", [](double x) { return x < 0 ? 0 : x; }},
    {"sigmoid", "", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", "", [](double x) { return std::tanh(x); }},
    {"sqrt", "", [](double x) { return std::sqrt(x); }},
    {"exp", "", [](double x) { return std::exp(x); }},
    {"erf", "", [](double x) { return std::erf(x); }},
    {"reciprocal", "", [](double x) { return 1 / x; }},
    {"floor", "", [](double x) { return std::floor(x); }},
    {"ceil", "", [](double x) { return std::ceil(x); }},
    {"round", "", [](double x) { return std::nearbyint(x); }},
    {"neg", "", [](double x) { return -x; }},
    {"abs", "", [](double x) { return std::abs(x); }},
    {"sign", "", [](double x) { return x > 0   ? 1
                                       : x < 0 ? -1
                                               : x; }},
    {"asin", "", [](double x) { return std::asin(x); }},
    {"acos", "", [](double x) { return std::acos(x); }},
    {"atan", "", [](double x) { return std::atan(x); }},
    {"sinh", "", [](double x) { return std::sinh(x); }},
    {"cosh", "", [](double x) { return std::cosh(x); }},
    {"asinh", "", [](double x) { return std::asinh(x); }},
    {"acosh", "", [](double x) { return std::acosh(x); }},
    {"atanh", "", [](double x) { return std::atanh(x); }},
    {"clip", ", min = -0.5 : f32, max = 6.0 : f32",
     [](double x) { return x < -0.5 ? -0.5
                           : x > 6  ? 6
                                    : x; }},
};

struct Binary {
  const char *name;
  std::function<float(float, float)> formula;
};
static const Binary binaries[] = {
    {"add", [](float a, float b) { return a + b; }},
    {"sub", [](float a, float b) { return a - b; }},
    {"mul", [](float a, float b) { return a * b; }},
    {"div", [](float a, float b) { return a / b; }},
    {"max", maximum},
    {"min", minimum},
};

/// Element counts around the widths of vectors and unrolled loops.
static const int64_t lengths[] = {1,  2,  3,  7,  8,   9,   15,  16,
                                  17, 31, 33, 64, 127, 128, 129, 1000};

TEST(Elementwise, UnaryKernelServesAllLengths) {
  for (const Unary &unary : unaries) {
    SCOPED_TRACE(unary.name);
    std::string body;
    for (int64_t length : lengths)
      body += "%r" + std::to_string(length) + " = nn." + unary.name + " %x" +
              std::to_string(length) + " {nn.name = \"r" +
              std::to_string(length) + "\"" + unary.attributes +
              "} : " + tensor({length}) + "\n";
    std::string arguments;
    for (int64_t length : lengths)
      arguments += (arguments.empty() ? "%x" : ", %x") +
                   std::to_string(length) + ": " + tensor({length});
    CompiledOps compiled("func.func @f(" + arguments + ") {\n" + body +
                         "return }");
    EXPECT_EQ(compiled.tableSize, 1u);
    for (size_t i = 0; i < std::size(lengths); ++i) {
      std::vector<float> x = randomFloats(lengths[i], i + 1), expected;
      if (std::string(unary.name) == "sqrt")
        for (float &value : x)
          value = std::abs(value);
      for (float value : x)
        expected.push_back(unary.formula(value));
      expectClose(compiled.run(i, {x}), expected, 2e-6, 1e-7);
    }
  }
}

TEST(Elementwise, Tangent) {
  // Up to where one unit in the last place of x is a tenth of the period.
  std::vector<float> x, expected;
  for (int i = -4000; i != 4000; ++i)
    x.push_back(0.77f * static_cast<float>(i) * std::abs(0.1f * i));
  for (float value : x)
    expected.push_back(static_cast<float>(std::tan(double(value))));
  CompiledOps compiled("func.func @f(%x: tensor<8000xf32>) { %0 = nn.tan %x "
                       "{nn.name = \"r\"} : tensor<8000xf32> return }");
  expectClose(compiled.run(0, {x}), expected, 2e-6, 1e-7);
}

TEST(Elementwise, RemaindersAreExact) {
  std::vector<float> values = {
      0.0f, -0.0f, inf,    -inf,  notANumber, 1.0f,     3.0f, -3.0f,
      0.1f, 1e-7f, -1e20f, 3e38f, 1.4e-45f,   1.2e-38f, 7.5f, 1e10f};
  for (float value : randomFloats(48, 1))
    values.push_back(value * std::exp2(value * 20));
  CompiledOps compiled(
      "func.func @f(%x: tensor<64x1xf32>, %y: tensor<64xf32>) { %0 = nn.mod "
      "%x, %y {nn.name = \"r\", truncate} : (tensor<64x1xf32>, "
      "tensor<64xf32>) -> tensor<64x64xf32> return }");
  std::vector<float> expected;
  for (float a : values)
    for (float b : values)
      expected.push_back(std::fmod(a, b));
  expectClose(compiled.run(0, {values, values}), expected, 0, 0);
}

TEST(Elementwise, SpecialValues) {
  // As ONNX: NaN passes, infinities and signed zeros behave. The vector of 20
  // covers the vector loop and its tail.
  std::vector<float> x = {notANumber, inf,        -inf,   0.0f,  -0.0f,
                          100.0f,     -100.0f,    1.0f,   -1.0f, 1e-30f,
                          -1e-30f,    88.0f,      -88.0f, 1e30f, -1e30f,
                          9.5f,       notANumber, inf,    -inf,  0.5f};
  for (const Unary &unary : unaries) {
    SCOPED_TRACE(unary.name);
    CompiledOps compiled(std::string("func.func @f(%x: tensor<20xf32>) { %0 = "
                                     "nn.") +
                         unary.name + " %x {nn.name = \"r\"" +
                         unary.attributes + "} : tensor<20xf32> return }");
    std::vector<float> expected;
    for (float value : x)
      expected.push_back(std::isnan(value) ? notANumber
                                           : float(unary.formula(value)));
    expectClose(compiled.run(0, {x}), expected, 2e-6, 1e-7);
  }
  for (const Binary &binary : binaries) {
    SCOPED_TRACE(binary.name);
    CompiledOps compiled(
        std::string("func.func @f(%x: tensor<20x1xf32>, %y: tensor<20xf32>) { "
                    "%0 = nn.") +
        binary.name +
        " %x, %y {nn.name = \"r\"} : (tensor<20x1xf32>, tensor<20xf32>) -> "
        "tensor<20x20xf32> return }");
    std::vector<float> expected;
    for (float a : x)
      for (float b : x)
        expected.push_back(binary.formula(a, b));
    expectClose(compiled.run(0, {x, x}), expected, 0, 0);
  }
}

TEST(Elementwise, ClipWithCrossedBoundsGivesTheUpper) {
  CompiledOps compiled(
      "func.func @f(%x: tensor<4xf32>) { %0 = nn.clip %x {nn.name = \"r\", "
      "min = 2.0 : f32, max = 1.0 : f32} : tensor<4xf32> return }");
  expectClose(compiled.run(0, {{-5, 1.5f, 7, notANumber}}),
              {1, 1, 1, notANumber}, 0, 0);
}

/// Every way in which shapes broadcast, and the kernel's collapsed form.
TEST(Elementwise, Broadcasts) {
  struct Case {
    std::vector<int64_t> a, b, result;
    size_t collapsedRank;
  };
  const Case cases[] = {
      {{2, 3, 5, 7}, {2, 3, 5, 7}, {2, 3, 5, 7}, 1},
      {{2, 3, 5, 7}, {}, {2, 3, 5, 7}, 1},
      {{2, 3, 5, 7}, {7}, {2, 3, 5, 7}, 2},
      {{2, 3, 5, 7}, {5, 7}, {2, 3, 5, 7}, 2},
      {{2, 3, 5, 7}, {3, 1, 1}, {2, 3, 5, 7}, 3},
      {{1, 3, 5, 7}, {3, 1, 1}, {1, 3, 5, 7}, 2},
      {{2, 3, 1, 1}, {3, 1, 1}, {2, 3, 1, 1}, 2},
      {{2, 1, 5, 1}, {1, 3, 1, 7}, {2, 3, 5, 7}, 4},
      {{5, 1}, {1, 7}, {5, 7}, 2},
      {{1}, {1, 1}, {1, 1}, 1},
      {{}, {}, {}, 1},
      {{4, 33}, {4, 1}, {4, 33}, 2},
  };
  for (const Case &c : cases)
    for (const Binary &binary : binaries) {
      SCOPED_TRACE(std::string(binary.name) + " " + tensor(c.a) + " " +
                   tensor(c.b));
      CompiledOps compiled("func.func @f(%a: " + tensor(c.a) +
                           ", %b: " + tensor(c.b) + ") { %0 = nn." +
                           binary.name + " %a, %b {nn.name = \"r\"} : (" +
                           tensor(c.a) + ", " + tensor(c.b) + ") -> " +
                           tensor(c.result) + " return }");
      EXPECT_EQ(compiled.calls.at(0).sizes.size(), c.collapsedRank);
      std::vector<float> a = randomFloats(numElements(c.a), 1);
      std::vector<float> b = randomFloats(numElements(c.b), 2), expected;
      for (size_t i = 0; i < numElements(c.result); ++i) {
        // The operands' elements, by row-major arithmetic from the right.
        size_t rest = i, offsets[2] = {0, 0}, strides[2] = {1, 1};
        for (size_t d = 0; d < c.result.size(); ++d) {
          size_t coordinate = rest % c.result[c.result.size() - 1 - d];
          rest /= c.result[c.result.size() - 1 - d];
          const std::vector<int64_t> *shapes[2] = {&c.a, &c.b};
          for (int k = 0; k < 2; ++k)
            if (d < shapes[k]->size()) {
              size_t size = (*shapes[k])[shapes[k]->size() - 1 - d];
              offsets[k] += size == 1 ? 0 : coordinate * strides[k];
              strides[k] *= size;
            }
        }
        expected.push_back(binary.formula(a[offsets[0]], b[offsets[1]]));
      }
      expectClose(compiled.run(0, {a, b}), expected, 0, 0);
    }
}

TEST(Elementwise, BatchNorm) {
  const std::vector<int64_t> shapes[] = {
      {2, 3, 5, 7}, {1, 16, 4, 4}, {4, 5}, {2, 3, 1, 1}, {2, 4, 33}};
  for (const std::vector<int64_t> &shape : shapes) {
    SCOPED_TRACE(tensor(shape));
    std::string vector = tensor({shape[1]});
    CompiledOps compiled("func.func @f(%x: " + tensor(shape) +
                         ", %s: " + vector + ", %b: " + vector +
                         ", %m: " + vector + ", %v: " + vector +
                         ") { %0 = nn.batch_norm %x, %s, %b, %m, %v {nn.name = "
                         "\"r\", epsilon = 1.0e-03 : f32} : " +
                         tensor(shape) + ", " + vector + " return }");
    size_t channels = shape[1], count = numElements(shape);
    size_t inner = count / (shape[0] * channels);
    std::vector<float> x = randomFloats(count, 1),
                       s = randomFloats(channels, 2),
                       b = randomFloats(channels, 3),
                       m = randomFloats(channels, 4),
                       v = randomFloats(channels, 5), expected;
    for (float &variance : v)
      variance = std::abs(variance);
    for (size_t i = 0; i < count; ++i) {
      size_t c = i / inner % channels;
      expected.push_back((x[i] - m[c]) / std::sqrt(v[c] + 1e-3) * s[c] + b[c]);
    }
    expectClose(compiled.run(0, {x, s, b, m, v}), expected, 1e-5, 1e-5);
  }
}

TEST(Elementwise, ResultMayOverwriteAnOperand) {
  CompiledOps compiled(
      "func.func @f(%x: tensor<3x77xf32>, %y: tensor<3x77xf32>, %z: "
      "tensor<77xf32>) {"
      "%0 = nn.sub %x, %y {nn.name = \"a\"} : (tensor<3x77xf32>, "
      "tensor<3x77xf32>) -> tensor<3x77xf32> "
      "%1 = nn.sub %x, %z {nn.name = \"b\"} : (tensor<3x77xf32>, "
      "tensor<77xf32>) -> tensor<3x77xf32> "
      "%2 = nn.softmax %x {nn.name = \"c\", axis = 1 : i64} : "
      "tensor<3x77xf32> return }");
  std::vector<float> x = randomFloats(231, 1), y = randomFloats(231, 2),
                     z = randomFloats(77, 3);
  EXPECT_TRUE(compiled.calls[0].inPlace.all());
  EXPECT_TRUE(compiled.calls[1].inPlace[0]);
  EXPECT_FALSE(compiled.calls[1].inPlace[1]);
  EXPECT_TRUE(compiled.calls[2].inPlace.none());
  std::vector<float> difference = compiled.run(0, {x, y});
  std::vector<float> first = x, second = y, both = x;
  compiled.call(0, {first.data(), second.data(), first.data()});
  EXPECT_EQ(first, difference);
  first = x;
  compiled.call(0, {first.data(), second.data(), second.data()});
  EXPECT_EQ(second, difference);
  compiled.call(0, {both.data(), both.data(), both.data()});
  EXPECT_EQ(both, std::vector<float>(231, 0.0f));
  std::vector<float> rows = compiled.run(1, {x, z}), inPlace = x;
  compiled.call(1, {inPlace.data(), z.data(), inPlace.data()});
  EXPECT_EQ(inPlace, rows);
}

TEST(Elementwise, OtherElementTypes) {
  CompiledOps compiled(
      "func.func @f(%x: tensor<19xi64>, %y: tensor<19xi64>, %d: "
      "tensor<19xf64>) {"
      "%0 = nn.mul %x, %y {nn.name = \"a\"} : (tensor<19xi64>, "
      "tensor<19xi64>) -> tensor<19xi64> "
      "%1 = nn.max %x, %y {nn.name = \"b\"} : (tensor<19xi64>, "
      "tensor<19xi64>) -> tensor<19xi64> "
      "%2 = nn.relu %d {nn.name = \"c\"} : tensor<19xf64> return }");
  std::vector<int64_t> x, y, product(19), larger(19);
  std::vector<double> d, relu(19);
  for (int64_t i = 0; i < 19; ++i) {
    x.push_back(i * 1000000007 - 9);
    y.push_back(5 - i);
    d.push_back(0.1 * (i - 9));
  }
  compiled.call(0, {x.data(), y.data(), product.data()});
  compiled.call(1, {x.data(), y.data(), larger.data()});
  compiled.call(2, {d.data(), relu.data()});
  for (int64_t i = 0; i < 19; ++i) {
    EXPECT_EQ(product[i], x[i] * y[i]);
    EXPECT_EQ(larger[i], std::max(x[i], y[i]));
    EXPECT_EQ(relu[i], std::max(d[i], 0.0));
  }
}
