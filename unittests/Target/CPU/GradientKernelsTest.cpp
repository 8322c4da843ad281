//===- GradientKernelsTest.cpp - Native kernels of gradients --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random operations of gradients and of optimizers, and fused ones, of f32 and
// f64, compiled, against the naive evaluator; those that may have channels last
// also so. SOAP_NATIVE_SEED sets the seed,
// SOAP_NATIVE_COUNT the number of cases per kind.
//
//===----------------------------------------------------------------------===//

#include "../../FromEnvironment.h"
#include "CompiledOps.h"
#include "Dialect/NN/RandomOps.h"
#include "Dialect/NN/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace soap;
using namespace soap::test;
using nn::test::Tensor;

/// The numbers of the elements of a tensor in the order in which they lie.
static std::vector<size_t> placesOf(ArrayRef<int64_t> shape,
                                    bool channelsLast) {
  int64_t count = ShapedType::getNumElements(shape);
  std::vector<size_t> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), size_t{0});
  if (!channelsLast)
    return places;
  int64_t channels = shape[1],
          pixels = ShapedType::getNumElements(shape.drop_front(2));
  for (int64_t i = 0; i != count; ++i) {
    int64_t pixel = i / channels;
    places[static_cast<size_t>(i)] = static_cast<size_t>(
        (pixel / pixels * channels + i % channels) * pixels + pixel % pixels);
  }
  return places;
}

/// A tensor as a kernel has it in memory.
static std::vector<char> toMemory(const Tensor &tensor, Type element,
                                  bool channelsLast) {
  std::vector<char> bytes;
  auto add = [&](auto value) {
    const char *from = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(value));
  };
  for (size_t place : placesOf(tensor.shape, channelsLast)) {
    double value = tensor.data[place];
    if (element.isF64())
      add(value);
    else if (element.isF32())
      add(static_cast<float>(value));
    else if (element.isInteger(64))
      add(static_cast<int64_t>(value));
    else
      add(static_cast<int32_t>(value));
  }
  return bytes;
}

static double numberAt(const std::vector<char> &bytes, size_t i, Type element) {
  if (element.isInteger(64))
    return static_cast<double>(
        reinterpret_cast<const int64_t *>(bytes.data())[i]);
  return element.isF64() ? reinterpret_cast<const double *>(bytes.data())[i]
                         : reinterpret_cast<const float *>(bytes.data())[i];
}

static bool isTested(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isF64() || element.isSignlessInteger(32) ||
         element.isSignlessInteger(64);
}

/// Operations of f32 and f64 of one kind, each a function of a module.
static std::string randomFunctions(StringRef kind, uint64_t seed,
                                   uint64_t count, bool channelsLast) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  for (uint64_t found = 0, i = 0; found < count; ++i) {
    nn::test::Random random(seed * 1000003 + i);
    auto function = builder.create<func::FuncOp>(
        builder.getUnknownLoc(), "f" + std::to_string(i),
        builder.getFunctionType({}, {}));
    Block *block = function.addEntryBlock();
    Operation *op = nn::test::buildRandomOp(*block, kind, random, &context);
    if (!llvm::all_of(op->getOperandTypes(), isTested) ||
        !llvm::all_of(op->getResultTypes(), isTested) ||
        !isa<FloatType>(getElementTypeOrSelf(op->getResults().back())) ||
        (channelsLast && !channelsLastValues(op))) {
      function.erase();
      continue;
    }
    function.setFunctionType(
        builder.getFunctionType(block->getArgumentTypes(), {}));
    OpBuilder::atBlockEnd(block).create<func::ReturnOp>(
        builder.getUnknownLoc());
    ++found;
  }
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

/// Runs operation `index` on random operands and compares all its results.
static void compare(const CompiledOps &compiled, size_t index,
                    nn::test::Random &random, bool channelsLast) {
  Operation *op = compiled.ops[index];
  llvm::SmallBitVector last(op->getNumOperands() + op->getNumResults());
  if (channelsLast)
    last = *channelsLastValues(op);
  std::vector<Tensor> operands;
  std::vector<std::vector<char>> memory;
  for (Value operand : op->getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    Tensor &tensor = operands.emplace_back(type.getShape());
    // Windows of a pool have several largest elements.
    bool repeats =
        type.getElementType().isInteger() || isa<nn::MaxPoolBackwardOp>(op);
    for (double &value : tensor.data)
      value = repeats ? static_cast<double>(random.in(-1, 4))
                      : static_cast<float>(random.normal());
    if (nn::test::isPositive(op, operands.size() - 1))
      for (double &value : tensor.data)
        value = type.getElementType().isInteger()
                    ? 10 * std::abs(value)
                    : 0.125f + std::abs(static_cast<float>(value));
    memory.push_back(
        toMemory(tensor, type.getElementType(), last[memory.size()]));
  }
  std::vector<Tensor> expected = nn::test::evaluateAll(op, operands);
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), expected)) {
    // What no kernel writes is seen.
    Tensor untouched(tensor.shape, std::nan(""));
    memory.push_back(toMemory(untouched, getElementTypeOrSelf(result),
                              /*channelsLast=*/false));
  }
  std::vector<void *> buffers;
  if (compiled.calls[index].overwritesFirst)
    memory.back() = memory.front();
  for (std::vector<char> &bytes : memory)
    buffers.push_back(bytes.data());
  if (compiled.calls[index].overwritesFirst)
    buffers.front() = buffers.back();
  compiled.call(index, buffers);
  for (auto [number, tensor] : llvm::enumerate(expected)) {
    Type element = getElementTypeOrSelf(op->getResult(number));
    double tolerance = element.isF64() ? 1e-10 : 1e-4, scale = 1;
    for (double value : tensor.data)
      scale = std::max(scale, std::abs(value));
    size_t buffer = operands.size() + number;
    std::vector<size_t> places = placesOf(tensor.shape, last[buffer]);
    for (size_t i = 0; i != places.size(); ++i) {
      double got = numberAt(memory[buffer], i, element),
             wanted = tensor.data[places[i]];
      ASSERT_TRUE(std::abs(got - wanted) <= tolerance * scale)
          << "result " << number << ", element " << places[i] << ": expected "
          << wanted << ", got: " << got;
    }
  }
}

static void check(StringRef kind, bool channelsLast = false) {
  uint64_t seed = fromEnvironment("SOAP_NATIVE_SEED", 1);
  uint64_t count = fromEnvironment("SOAP_NATIVE_COUNT", 15);
  CompiledOps compiled(randomFunctions(kind, seed, count, channelsLast),
                       channelsLast);
  ASSERT_EQ(compiled.ops.size(), count);
  nn::test::Random random(seed);
  for (size_t i = 0; i != count; ++i) {
    std::string text;
    llvm::raw_string_ostream(text) << *compiled.ops[i];
    SCOPED_TRACE(text + ", SOAP_NATIVE_SEED=" + std::to_string(seed));
    compare(compiled, i, random, channelsLast);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

TEST(GradientKernels, Schedule) { check("nn.schedule"); }
TEST(GradientKernels, SGD) { check("nn.sgd"); }
TEST(GradientKernels, SparseSGD) { check("nn.sparse_sgd"); }
TEST(GradientKernels, Momentum) { check("nn.momentum"); }
TEST(GradientKernels, Adam) { check("nn.adam"); }
TEST(GradientKernels, ConvBackwardFilter) { check("nn.conv_backward_filter"); }
TEST(GradientKernels, MaxPoolBackward) { check("nn.max_pool_backward"); }
TEST(GradientKernels, LSTMBackward) { check("nn.lstm_backward"); }
TEST(GradientKernels, GRUBackward) { check("nn.gru_backward"); }
TEST(GradientKernels, RNNBackward) { check("nn.rnn_backward"); }
TEST(GradientKernels, Fused) { check("nn.fused"); }
TEST(GradientKernels, FusedReduce) { check("nn.fused_reduce"); }

TEST(ChannelsLastKernels, MaxPoolBackward) {
  check("nn.max_pool_backward", /*channelsLast=*/true);
}
TEST(ChannelsLastKernels, BatchNorm) {
  check("nn.batch_norm", /*channelsLast=*/true);
}
TEST(ChannelsLastKernels, Fused) { check("nn.fused", /*channelsLast=*/true); }
TEST(ChannelsLastKernels, Reduce) { check("nn.reduce", /*channelsLast=*/true); }
TEST(ChannelsLastKernels, FusedReduce) {
  check("nn.fused_reduce", /*channelsLast=*/true);
}
