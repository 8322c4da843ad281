//===- FunctionsTest.cpp - Functions of f64 on devices --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that cuda-double-math writes, against the C library: random
// arguments over the whole range, and special ones.
//
//===----------------------------------------------------------------------===//

#include "../CPU/CompiledOps.h"
#include "EmulatedDevice.h"
#include "TensorBytes.h"
#include "soap/Target/CUDA/Passes.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace soap;
using namespace soap::test;

static constexpr size_t elements = 4096;

/// Values between -bound and bound: half of them even, half by exponent; then
/// special ones.
static void fillArguments(TensorBytes &tensor, double bound, uint64_t seed) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double special[] = {0.0,      -0.0,      1,           -1,    2,
                            -2,       0.5,       -0.5,        3,     -3,
                            1e-300,   -1e-300,   5e-324,      1e300, -1e300,
                            infinity, -infinity, std::nan("")};
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> even(-bound, bound), exponent(-60, 0);
  for (size_t i = 0; i != tensor.count(); ++i)
    tensor.set(i, i % 2 ? even(engine)
                        : std::copysign(bound * std::exp2(exponent(engine)),
                                        even(engine)));
  size_t at = 0;
  for (double value : special)
    tensor.set(at++, value);
}

/// The function `op` of one or two operands on the device; on the CPU as well
/// if `onHost` is not null.
static std::vector<double> compute(const std::string &op,
                                   std::vector<TensorBytes> &operands,
                                   std::vector<double> *onHost = nullptr,
                                   const std::string &element = "f64") {
  std::string type = "tensor<" + std::to_string(elements) + "x" + element + ">";
  bool binary = operands.size() == 2;
  std::string text =
      "func.func @f(%x: " + type + (binary ? ", %y: " + type : "") +
      ") {\n%r = nn." + op + " %x" + (binary ? ", %y" : "") +
      " {nn.name = \"r\"} : " +
      (binary ? "(" + type + ", " + type + ") -> " + type : type) +
      "\nreturn }";
  CompiledOps compiled(text);
  auto parent = compiled.ops.at(0)->getParentOfType<ModuleOp>();
  auto device = EmulatedDevice::create(NativeKernels(parent).getModule());
  if (!device) {
    ADD_FAILURE() << llvm::toString(device.takeError());
    return {};
  }
  TensorBytes result(
      cast<RankedTensorType>(compiled.ops[0]->getResult(0).getType()));
  std::vector<void *> buffers;
  for (TensorBytes &operand : operands)
    buffers.push_back(operand.data());
  buffers.push_back(result.data());
  if (onHost) {
    compiled.call(0, buffers);
    for (size_t i = 0; i != elements; ++i)
      onHost->push_back(result.get(i));
  }
  llvm::Error error = (*device)->run(0, buffers, compiled.calls[0].sizes,
                                     /*mostBlocks=*/16, /*seed=*/1);
  EXPECT_FALSE(error) << llvm::toString(std::move(error));
  std::vector<double> values;
  for (size_t i = 0; i != elements; ++i)
    values.push_back(result.get(i));
  return values;
}

namespace {
struct FunctionCase {
  const char *op;
  double (*expected)(double);
  double bound;    ///< Arguments are at most this, special ones apart.
  double relative; ///< Of the result.
  double absolute;
  const char *element = "f64";
};
class DeviceFunctions : public testing::TestWithParam<FunctionCase> {};
} // namespace

static bool isClose(double actual, double expected, double relative,
                    double absolute) {
  if (std::isnan(expected))
    return std::isnan(actual);
  if (std::isinf(expected))
    return actual == expected;
  return std::abs(actual - expected) <=
         absolute + relative * std::abs(expected);
}

TEST_P(DeviceFunctions, AreThoseOfTheCLibrary) {
  const FunctionCase &test = GetParam();
  MLIRContext context;
  Type element = Float64Type::get(&context);
  if (test.element == std::string("f32"))
    element = Float32Type::get(&context);
  auto type = RankedTensorType::get({elements}, element);
  std::vector<TensorBytes> operands(1, TensorBytes(type));
  fillArguments(operands[0], test.bound, /*seed=*/5);
  // Beyond the bound, the trigonometric functions are not exact.
  bool isPeriodic = test.bound < 1e10 && test.bound > 1e6;
  for (size_t i = 0; i != elements; ++i)
    if (double x = operands[0].get(i);
        isPeriodic && std::isfinite(x) && std::abs(x) > test.bound)
      operands[0].set(i, 1);
  std::vector<double> actual =
      compute(test.op, operands, nullptr, test.element);
  ASSERT_EQ(actual.size(), elements);
  double worst = 0;
  for (size_t i = 0; i != elements; ++i) {
    double x = operands[0].get(i), expected = test.expected(x);
    EXPECT_TRUE(isClose(actual[i], expected, test.relative, test.absolute))
        << test.op << "(" << x << ") = " << actual[i] << ", expected "
        << expected;
    if (std::isfinite(expected) && expected != 0)
      worst =
          std::max(worst, std::abs(actual[i] - expected) / std::abs(expected));
  }
  RecordProperty("WorstRelativeError", std::to_string(worst));
}

static const FunctionCase functions[] = {
    {"exp", std::exp, 750, 1e-15, 1e-323},
    {"log", std::log, 1e3, 1e-15, 0},
    {"tanh", std::tanh, 25, 2e-15, 0},
    {"erf", std::erf, 7, 5e-15, 0},
    {"sin", std::sin, 0x1p30, 1e-13, 2e-16},
    {"cos", std::cos, 0x1p30, 1e-13, 2e-16},
    {"acos", std::acos, 1, 2e-15, 0},
    {"erf", std::erf, 7, 1e-7, 1e-45, "f32"},
};
INSTANTIATE_TEST_SUITE_P(All, DeviceFunctions, testing::ValuesIn(functions),
                         [](const testing::TestParamInfo<FunctionCase> &info) {
                           return std::string(info.param.op) + "_" +
                                  info.param.element;
                         });

/// Both targets make the exponential of a product with a logarithm of it.
TEST(DevicePower, IsThatOfTheCPU) {
  MLIRContext context;
  auto type = RankedTensorType::get({elements}, Float64Type::get(&context));
  std::vector<TensorBytes> operands(2, TensorBytes(type));
  fillArguments(operands[0], 20, /*seed=*/6);
  fillArguments(operands[1], 30, /*seed=*/7);
  // Every special value with every other, and whole exponents.
  constexpr size_t special = 18;
  for (size_t i = 0; i != special * special; ++i) {
    double x = operands[0].get(i % special), y = operands[1].get(i / special);
    operands[0].set(elements - 1 - i, x);
    operands[1].set(elements - 1 - i, y);
  }
  for (size_t i = special; i != elements / 2; ++i)
    operands[1].set(i, std::round(operands[1].get(i)));
  std::vector<double> expected;
  std::vector<double> actual = compute("pow", operands, &expected);
  ASSERT_EQ(actual.size(), elements);
  for (size_t i = 0; i != elements; ++i) {
    double x = operands[0].get(i), y = operands[1].get(i);
    EXPECT_TRUE(isClose(actual[i], expected[i], 3e-13, 1e-300))
        << "pow(" << x << ", " << y << ") = " << actual[i] << ", expected "
        << expected[i];
  }
}
