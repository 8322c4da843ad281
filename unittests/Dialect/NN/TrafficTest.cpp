//===- TrafficTest.cpp - Bytes that tiles touch ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include <map>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

namespace {

int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

/// Bytes of all operands and results of an operation.
double valueBytes(Operation *op) {
  double bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += static_cast<double>(bytesOf(type));
  for (Type type : op->getResultTypes())
    bytes += static_cast<double>(bytesOf(type));
  return bytes;
}

Degrees randomDegrees(const PartitionSpec &spec, Random &random) {
  Degrees degrees;
  for (const LoopSpec &loop : spec.loops)
    degrees.loops.push_back(static_cast<int32_t>(
        random.flip() ? 1 : random.in(1, std::min<int64_t>(3, loop.extent))));
  return degrees;
}

class Traffic : public Tiling {
protected:
  /// The bytes of the whole operation `text`, whose operands are `arguments`.
  double bytes(StringRef arguments, StringRef text, StringRef results = "%0") {
    auto module =
        parseSourceString<ModuleOp>(("func.func @f(" + arguments + ") {\n " +
                                     results + " = " + text + "\n return }")
                                        .str(),
                                    &context);
    if (!module) {
      ADD_FAILURE() << text.str();
      return -1;
    }
    auto function = *module->getOps<func::FuncOp>().begin();
    auto op = cast<PartitionOpInterface>(function.getBody().front().front());
    return op.getBytes(makeWholeTile(op));
  }
};

//===----------------------------------------------------------------------===//
// By hand
//===----------------------------------------------------------------------===//

TEST_F(Traffic, GatherReadsTheRowsThatItLooksUp) {
  // Eight rows of 64 floats, eight indices, the result.
  EXPECT_EQ(bytes("%t: tensor<1000x64xf32>, %i: tensor<2x4xi64>",
                  "nn.gather %t, %i {nn.name = \"g\", axis = 0 : i64} : "
                  "(tensor<1000x64xf32>, tensor<2x4xi64>) -> "
                  "tensor<2x4x64xf32>"),
            8 * 64 * 4 + 8 * 8 + 8 * 64 * 4);
  // No row is read twice.
  EXPECT_EQ(bytes("%t: tensor<3x64xf32>, %i: tensor<8xi32>",
                  "nn.gather %t, %i {nn.name = \"g\", axis = 0 : i64} : "
                  "(tensor<3x64xf32>, tensor<8xi32>) -> tensor<8x64xf32>"),
            3 * 64 * 4 + 8 * 4 + 8 * 64 * 4);
  // One of 128 slices along another axis.
  EXPECT_EQ(bytes("%t: tensor<2x128x16xf32>, %i: tensor<i64>",
                  "nn.gather %t, %i {nn.name = \"g\", axis = 1 : i64} : "
                  "(tensor<2x128x16xf32>, tensor<i64>) -> tensor<2x16xf32>"),
            2 * 16 * 4 + 8 + 2 * 16 * 4);
}

TEST_F(Traffic, ViewsAreFree) {
  EXPECT_EQ(bytes("%x: tensor<4x6xf32>",
                  "nn.reshape %x {nn.name = \"r\"} : (tensor<4x6xf32>) -> "
                  "tensor<24xf32>"),
            0);
  EXPECT_EQ(bytes("%x: tensor<4x6xf32>",
                  "nn.slice %x {nn.name = \"s\", starts = array<i64: 1, 2>, "
                  "steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> "
                  "tensor<2x4xf32>"),
            0);
  // With steps it is a copy, of what is wanted.
  EXPECT_EQ(bytes("%x: tensor<4x6xf32>",
                  "nn.slice %x {nn.name = \"s\", starts = array<i64: 0, 5>, "
                  "steps = array<i64: 2, -1>} : (tensor<4x6xf32>) -> "
                  "tensor<2x6xf32>"),
            2 * 12 * 4);
}

TEST_F(Traffic, BroadcastOperandsAreReadOnce) {
  EXPECT_EQ(bytes("%x: tensor<1x6xf32>",
                  "nn.expand %x {nn.name = \"e\"} : (tensor<1x6xf32>) -> "
                  "tensor<100x6xf32>"),
            6 * 4 + 600 * 4);
  EXPECT_EQ(bytes("%c: tensor<100x1xi1>, %a: tensor<100x6xf32>, %b: "
                  "tensor<f32>",
                  "nn.where %c, %a, %b {nn.name = \"w\"} : "
                  "(tensor<100x1xi1>, tensor<100x6xf32>, tensor<f32>) -> "
                  "tensor<100x6xf32>"),
            100 + 600 * 4 + 4 + 600 * 4);
}

TEST_F(Traffic, StridesBeyondTheKernelSkip) {
  // A quarter of the input: rows and columns 0, 2, 4, 6.
  EXPECT_EQ(bytes("%x: tensor<1x8x8x8xf32>, %w: tensor<4x8x1x1xf32>",
                  "nn.conv %x, %w {nn.name = \"c\", groups = 1 : i64, "
                  "strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, "
                  "pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : "
                  "(tensor<1x8x8x8xf32>, tensor<4x8x1x1xf32>) -> "
                  "tensor<1x4x4x4xf32>"),
            4 * (8 * 16 + 32 + 64));
}

TEST_F(Traffic, RecurrentWeightsAreReadInEveryStep) {
  // x, W, R five times, bias, both states; all hidden states and the last cell.
  EXPECT_EQ(bytes("%x: tensor<5x2x3xf32>, %w: tensor<1x4x7x3xf32>, "
                  "%r: tensor<1x4x7x7xf32>, %b: tensor<1x4x7xf32>, "
                  "%h: tensor<1x2x7xf32>, %c: tensor<1x2x7xf32>",
                  "nn.lstm %x, %w, %r, %b, %h, %c {nn.name = \"l\"} : "
                  "(tensor<5x2x3xf32>, tensor<1x4x7x3xf32>, "
                  "tensor<1x4x7x7xf32>, tensor<1x4x7xf32>, "
                  "tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> "
                  "(tensor<5x1x2x7xf32>, tensor<1x2x7xf32>)",
                  "%0:2"),
            4 * (30 + 84 + 5 * 196 + 28 + 14 + 14 + 70 + 14));
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

TEST_F(Traffic, OfTiles) {
  std::map<std::string, double> bytesOfKey;
  std::map<std::string, int> less;
  for (auto [k, kind] : llvm::enumerate(allKinds())) {
    for (uint64_t i = 0; i != 200; ++i) {
      SCOPED_TRACE(kind.str() + " case " + std::to_string(i));
      Random random(k * 1000 + i);
      Block block;
      PartitionOpInterface op = buildRandomOp(block, kind, random, &context);
      double whole = op.getBytes(makeWholeTile(op));
      Degrees degrees = randomDegrees(op.getPartitionSpec(), random);
      double sum = 0;
      for (int64_t task = 0; task != degrees.numTasks(); ++task) {
        LocalTile tile = makeLocalTile(op, degrees, task);
        double bytes = op.getBytes(tile);
        sum += bytes;
        ASSERT_LE(bytes, whole);
        // Tiles of one key cost the same.
        auto [it, isNew] = bytesOfKey.try_emplace(kernelKey(op, tile), bytes);
        ASSERT_EQ(it->second, bytes) << it->first;
        Block localBlock;
        PartitionOpInterface local = buildLocal(op, tile, localBlock);
        if (!local)
          continue;
        // The operation of the tile says the same as the tile.
        ASSERT_EQ(local.getBytes(makeWholeTile(local)), bytes);
        double again = 0;
        if (isa<LSTMOp, GRUOp, RNNOp, LSTMBackwardOp, GRUBackwardOp,
                RNNBackwardOp>(*local)) {
          auto x = cast<RankedTensorType>(local->getOperand(0).getType());
          again = static_cast<double>((x.getDimSize(0) - 1) *
                                      bytesOf(local->getOperand(2).getType()));
        }
        ASSERT_LE(bytes, valueBytes(local) + again);
        less[kind.str()] += bytes < valueBytes(local);
      }
      // Tiles save nothing. (Windows in pads are counted as if they read.)
      if (!isa<ConvOp, MaxPoolOp, AvgPoolOp, ResizeOp>(*op))
        ASSERT_GE(sum, whole * (1 - 1e-9));
    }
  }
  // Each way to touch less than all occurred.
  for (const char *kind : {"nn.gather", "nn.reshape", "nn.slice", "nn.conv",
                           "nn.max_pool", "nn.avg_pool", "nn.resize"})
    EXPECT_GE(less[kind], 10) << kind;
}

/// How many elements of operand 0 change some result when they change.
int64_t countRead(PartitionOpInterface op, std::vector<Tensor> operands) {
  std::vector<Tensor> before = evaluateAll(op, operands);
  int64_t read = 0;
  for (double &element : operands[0].data) {
    double old = element;
    // Greater than every maximum.
    element = 1e6;
    read += evaluateAll(op, operands)[0].data != before[0].data;
    element = old;
  }
  return read;
}

TEST_F(Traffic, CoversWhatIsReadOneByOne) {
  for (StringRef kind : {"nn.gather", "nn.slice", "nn.conv", "nn.max_pool",
                         "nn.avg_pool", "nn.resize"}) {
    double stated = 0, counted = 0;
    for (uint64_t i = 0; i != 60; ++i) {
      SCOPED_TRACE(kind.str() + " case " + std::to_string(i));
      Random random(i);
      Block block;
      PartitionOpInterface op = buildRandomOp(block, kind, random, &context);
      if (auto slice = dyn_cast<SliceOp>(*op))
        if (llvm::all_of(slice.getSteps(), [](int64_t s) { return s == 1; }))
          continue;
      std::vector<Tensor> operands = randomOperands(op, random);
      double others = valueBytes(op) - bytesOf(op->getOperand(0).getType());
      double read = op.getBytes(makeWholeTile(op)) - others;
      auto touched = static_cast<double>(
          elementBytes(getElementTypeOrSelf(op->getOperand(0))) *
          countRead(op, operands));
      ASSERT_GE(read, touched);
      stated += read;
      counted += touched;
    }
    // Nor is it far too much: repeated indices, windows in pads. Half of the
    // random resizes lie beyond the border, which a key does not know.
    EXPECT_LE(stated, (kind == "nn.resize" ? 3 : 2) * counted) << kind.str();
  }
}

} // namespace
