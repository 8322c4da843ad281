//===- ReferenceTest.cpp - The evaluator against figures by hand ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

namespace {

/// Parses a function and evaluates its body on `arguments`; the last result.
std::vector<double> run(StringRef text,
                        ArrayRef<std::vector<double>> arguments) {
  MLIRContext context;
  context.loadDialect<NNDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  auto function = *module->getOps<func::FuncOp>().begin();
  Block &block = function.getBody().front();
  block.getTerminator()->erase();
  Environment environment;
  for (auto [argument, data] :
       llvm::zip_equal(block.getArguments(), arguments)) {
    Tensor tensor(cast<RankedTensorType>(argument.getType()).getShape());
    tensor.data = data;
    environment[argument] = tensor;
  }
  evaluate(block, environment);
  return environment.lookup(block.back().getResult(0)).data;
}

using Data = std::vector<double>;

TEST(Reference, Convolution) {
  EXPECT_EQ(
      run(R"(func.func @f(%x: tensor<1x1x4xf32>, %w: tensor<1x1x2xf32>, %b: tensor<1xf32>) {
      %0 = nn.conv %x, %w bias %b {nn.name = "a", strides = array<i64: 2>, dilations = array<i64: 2>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>}
         : (tensor<1x1x4xf32>, tensor<1x1x2xf32>, tensor<1xf32>) -> tensor<1x1x2xf32>
      return })",
          {{1, 2, 3, 4}, {10, 1}, {0.5}}),
      (Data{2.5, 24.5}));
}

TEST(Reference, GroupedConvolution) {
  EXPECT_EQ(run(R"(func.func @f(%x: tensor<1x2x2xf32>, %w: tensor<2x1x1xf32>) {
      %0 = nn.conv %x, %w {nn.name = "a", groups = 2 : i64, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>}
         : (tensor<1x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2xf32>
      return })",
                {{1, 2, 3, 4}, {10, 100}}),
            (Data{10, 20, 300, 400}));
}

TEST(Reference, MatrixProduct) {
  EXPECT_EQ(
      run(R"(func.func @f(%a: tensor<2x2xf32>, %b: tensor<3x2xf32>, %c: tensor<3xf32>) {
      %0 = nn.matmul %a, %b bias %c {nn.name = "a", transpose_b, alpha = 2.0 : f32}
         : (tensor<2x2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      return })",
          {{1, 2, 3, 4}, {1, 0, 0, 1, 1, 1}, {0, 0, 1}}),
      (Data{2, 4, 7, 6, 8, 15}));
}

TEST(Reference, AverageWithCountedPads) {
  // Windows at -1, 1, 3 of width 3: the pad before counts, that behind does
  // not.
  EXPECT_EQ(run(R"(func.func @f(%x: tensor<1x1x4xf32>) {
      %0 = nn.avg_pool %x {nn.name = "a", kernel = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 2>, counted_lo = array<i64: 1>, counted_hi = array<i64: 0>}
         : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>
      return })",
                {{3, 6, 9, 12}}),
            (Data{3, 9, 12}));
}

TEST(Reference, SliceBackwards) {
  EXPECT_EQ(run(R"(func.func @f(%x: tensor<5xf32>) {
      %0 = nn.slice %x {nn.name = "a", starts = array<i64: 4>, steps = array<i64: -2>} : (tensor<5xf32>) -> tensor<3xf32>
      return })",
                {{0, 1, 2, 3, 4}}),
            (Data{4, 2, 0}));
}

TEST(Reference, Transpose) {
  EXPECT_EQ(run(R"(func.func @f(%x: tensor<2x3xf32>) {
      %0 = nn.transpose %x {nn.name = "a", permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
      return })",
                {{0, 1, 2, 3, 4, 5}}),
            (Data{0, 3, 1, 4, 2, 5}));
}

TEST(Reference, RandomWords) {
  // The authors' known answers (Random123, kat_vectors).
  using Words = std::array<uint32_t, 4>;
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({}, {}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Reference, LocalResponseNormalisation) {
  // size 2: channel c and c+1.
  EXPECT_EQ(run(R"(func.func @f(%x: tensor<1x3xf32>) {
      %0 = nn.lrn %x {nn.name = "a", size = 2 : i64, alpha = 2.0 : f32, beta = 1.0 : f32, bias = 1.0 : f32} : tensor<1x3xf32>
      return })",
                {{1, 2, 3}}),
            (Data{1.0 / 6, 2.0 / 14, 3.0 / 10}));
}

} // namespace
