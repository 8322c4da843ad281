//===- MistakesTest.cpp - Mistakes in tiles are noticed -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mistakes that the property of TilingTest.cpp must notice, made on purpose.
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

namespace {

class Mistakes : public Tiling {
protected:
  /// True if the mistake changes what the tasks combine to; without it they
  /// must combine to the whole.
  bool isNoticed(PartitionOpInterface op, const Degrees &degrees,
                 Mistake mistake, uint64_t seed) {
    Random random(seed);
    std::vector<Tensor> operands = randomOperands(op, random);
    Tensor whole = evaluate(op, operands);
    EXPECT_TRUE(equal(combineTasks(op, degrees, operands), whole));
    return !equal(combineTasks(op, degrees, operands, mistake), whole);
  }
};

TEST_F(Mistakes, BiasInEveryPart) {
  for (int32_t degree : {2, 3}) {
    Scope scope(&context);
    ConvOp op = buildConv(scope.block, &context, {1, 4, 6, 6}, 3, 3, 1, 1,
                          /*bias=*/true);
    EXPECT_TRUE(isNoticed(op, splitOf(op.getPartitionSpec(), "c", degree),
                          Mistake::BiasInEveryPart, degree));
  }
}

TEST_F(Mistakes, WholeInEveryPart) {
  Scope scope(&context);
  OpBuilder builder(&context);
  builder.setInsertionPointToEnd(&scope.block);
  Location loc = builder.getUnknownLoc();
  auto type = RankedTensorType::get({2, 3}, builder.getF32Type());
  auto op = builder.create<AddOp>(loc, type, scope.block.addArgument(type, loc),
                                  scope.block.addArgument(type, loc));
  setName(op, "op");
  op->setAttr(partsAttrName, builder.getDenseI64ArrayAttr({4}));
  for (int32_t degree : {2, 3, 4})
    EXPECT_TRUE(isNoticed(op, splitOf(op.getPartitionSpec(), "part0", degree),
                          Mistake::WholeInEveryPart, degree));
}

TEST_F(Mistakes, GlobalPads) {
  for (int32_t degree : {2, 3, 6}) {
    Scope scope(&context);
    ConvOp op =
        buildConv(scope.block, &context, {1, 2, 6, 6}, 3, 3, 1, 1, false);
    EXPECT_TRUE(isNoticed(op, splitOf(op.getPartitionSpec(), "h", degree),
                          Mistake::GlobalPads, degree));
  }
}

TEST_F(Mistakes, DroppedHalo) {
  for (int32_t degree : {2, 3, 6}) {
    Scope scope(&context);
    ConvOp op =
        buildConv(scope.block, &context, {1, 2, 6, 6}, 3, 3, 1, 1, false);
    EXPECT_TRUE(isNoticed(op, splitOf(op.getPartitionSpec(), "h", degree),
                          Mistake::DroppedHalo, degree));
  }
}

TEST_F(Mistakes, LocalMeanCount) {
  for (int32_t degree : {2, 3}) {
    Scope scope(&context);
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(&scope.block);
    Location loc = builder.getUnknownLoc();
    auto type = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, builder.getF32Type());
    };
    Value x = scope.block.addArgument(type({2, 3, 4}), loc);
    auto op = builder.create<ReduceOp>(loc, type({2, 3}), x, ReduceKind::Sum,
                                       ArrayRef<int64_t>{2}, false,
                                       llvm::APFloat(0.25f));
    setName(op, "op");
    EXPECT_TRUE(isNoticed(op, splitOf(op.getPartitionSpec(), "d2", degree),
                          Mistake::LocalMeanCount, degree));
  }
}

/// An operation of `text`, as the only one of a function.
PartitionOpInterface parseOp(Scope &scope, StringRef text) {
  MLIRContext *context = scope.function->getContext();
  auto module = parseSourceString<ModuleOp>(
      ("func.func @f(" + text + "\n return }").str(), context);
  auto function = *module->getOps<func::FuncOp>().begin();
  scope.function = function.clone();
  return cast<PartitionOpInterface>(scope.function->getBody().front().front());
}

struct Slip {
  const char *op, *loop;
  int32_t degree;
  Mistake mistake;
};

TEST_F(Mistakes, OfLookUpsAndRecurrence) {
  for (const Slip &slip :
       {Slip{"%x: tensor<6x3xf32>, %i: tensor<8xi64>) { "
             "%0 = nn.gather %x, %i {nn.name = \"op\", axis = 0 : i64} : "
             "(tensor<6x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>",
             "v", 3, Mistake::NoBase},
        Slip{"%x: tensor<6x3xf32>, %i: tensor<8x3xi64>) { "
             "%0 = nn.gather_elements %x, %i {nn.name = \"op\", axis = 0 : "
             "i64} : (tensor<6x3xf32>, tensor<8x3xi64>) -> tensor<8x3xf32>",
             "v", 3, Mistake::NoBase},
        Slip{"%x: tensor<6x3xf32>, %i: tensor<8x1xi64>) { "
             "%0 = nn.gather_nd %x, %i {nn.name = \"op\"} : "
             "(tensor<6x3xf32>, tensor<8x1xi64>) -> tensor<8x3xf32>",
             "v0", 3, Mistake::NoBase},
        Slip{"%i: tensor<5x3xi64>, %u: tensor<5x3xf32>, %x: tensor<6x3xf32>) "
             "{ %0 = nn.scatter_elements %i, %u into %x {nn.name = \"op\", "
             "axis = 0 : i64} : (tensor<5x3xi64>, tensor<5x3xf32>, "
             "tensor<6x3xf32>) -> tensor<6x3xf32>",
             "d0", 3, Mistake::NoBase},
        Slip{"%i: tensor<5x1xi64>, %u: tensor<5x3xf32>, %x: tensor<6x3xf32>) "
             "{ %0 = nn.scatter_nd %i, %u into %x {nn.name = \"op\", "
             "reduction = #nn.reduce_kind<sum>} : (tensor<5x1xi64>, "
             "tensor<5x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>",
             "d0", 3, Mistake::NoBase},
        Slip{"%i: tensor<5x1xi64>, %u: tensor<5x3xf32>, %x: tensor<6x3xf32>) "
             "{ %0 = nn.scatter_nd %i, %u into %x {nn.name = \"op\", "
             "reduction = #nn.reduce_kind<sum>} : (tensor<5x1xi64>, "
             "tensor<5x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>",
             "u0", 2, Mistake::BiasInEveryPart},
        Slip{"%w: tensor<6x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>, "
             "%r: tensor<f32>) { %0 = nn.sparse_sgd %w, %i, %u, %r "
             "{nn.name = \"op\"} : (tensor<6x3xf32>, tensor<5x1xi64>, "
             "tensor<5x3xf32>, tensor<f32>) -> tensor<6x3xf32>",
             "d0", 3, Mistake::NoBase},
        Slip{"%i: tensor<5xi64>, %v: tensor<2xf32>) { "
             "%0 = nn.one_hot %i, %v {nn.name = \"op\", axis = 1 : i64} : "
             "(tensor<5xi64>, tensor<2xf32>) -> tensor<5x6xf32>",
             "d1", 2, Mistake::NoBase},
        Slip{"%x: tensor<6x6xf32>) { %0 = nn.trilu %x {nn.name = \"op\"} : "
             "tensor<6x6xf32>",
             "d0", 2, Mistake::NoBase},
        Slip{"%x: tensor<3x2x2xf32>, %w: tensor<2x3x2x2xf32>, "
             "%r: tensor<2x3x2x2xf32>, %b: tensor<2x4x2xf32>, "
             "%h: tensor<2x2x2xf32>) { "
             "%0 = nn.gru %x, %w, %r, %b, %h {nn.name = \"op\"} : "
             "(tensor<3x2x2xf32>, tensor<2x3x2x2xf32>, "
             "tensor<2x3x2x2xf32>, tensor<2x4x2xf32>, tensor<2x2x2xf32>) -> "
             "tensor<3x2x2x2xf32>",
             "dir", 2, Mistake::AlwaysForward},
        Slip{"%x: tensor<3x2x2xf32>, %w: tensor<2x4x2x2xf32>, "
             "%r: tensor<2x4x2x2xf32>, %b: tensor<2x4x2xf32>, "
             "%h: tensor<2x2x2xf32>, %c: tensor<2x2x2xf32>) { "
             "%0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = \"op\"} : "
             "(tensor<3x2x2xf32>, tensor<2x4x2x2xf32>, "
             "tensor<2x4x2x2xf32>, tensor<2x4x2xf32>, tensor<2x2x2xf32>, "
             "tensor<2x2x2xf32>) -> (tensor<3x2x2x2xf32>, "
             "tensor<2x2x2xf32>)",
             "dir", 2, Mistake::AlwaysForward},
        Slip{"%x: tensor<6xf32>) { %0 = nn.resize %x {nn.name = \"op\", "
             "mode = #nn.resize_mode<linear>, "
             "numerators = array<i64: 3>, offsets = array<i64: -1>, "
             "denominators = array<i64: 4>} : (tensor<6xf32>) "
             "-> tensor<8xf32>",
             "d0", 3, Mistake::GlobalOffsets},
        Slip{"%x: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) { "
             "%0 = nn.conv_backward_data %x, %w {nn.name = \"op\", "
             "strides = array<i64: 2>, dilations = array<i64: 1>, "
             "pads_lo = array<i64: 1>} : (tensor<1x2x5xf32>, "
             "tensor<2x3x3xf32>) -> tensor<1x3x10xf32>",
             "w", 3, Mistake::GlobalPads}}) {
    Scope scope(&context);
    PartitionOpInterface op = parseOp(scope, slip.op);
    EXPECT_TRUE(
        isNoticed(op, splitOf(op.getPartitionSpec(), slip.loop, slip.degree),
                  slip.mistake,
                  /*seed=*/7))
        << slip.op;
  }
}

} // namespace
