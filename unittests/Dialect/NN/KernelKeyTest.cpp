//===- KernelKeyTest.cpp - Keys of kernels --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

namespace {

class KernelKey : public Tiling {};

TEST_F(KernelKey, IsThatOfTheLocalOperation) {
  for (StringRef kind : allKinds()) {
    for (uint64_t i = 0; i != 40; ++i) {
      Random random(i);
      Block block, localBlock;
      {
        PartitionOpInterface op = buildRandomOp(block, kind, random, &context);
        Degrees degrees;
        for (const LoopSpec &loop : op.getPartitionSpec().loops)
          degrees.loops.push_back(static_cast<int32_t>(
              random.in(1, std::min<int64_t>(2, loop.extent))));
        int64_t task = random.in(0, degrees.numTasks() - 1);
        LocalTile tile = makeLocalTile(op, degrees, task);
        // A tile in the padding is another operation.
        if (PartitionOpInterface local = buildLocal(op, tile, localBlock))
          EXPECT_EQ(kernelKey(op, tile), kernelKey(local)) << kind.str();
      }
    }
  }
}

TEST_F(KernelKey, DoesNotKnowWhereATileLies) {
  Block block;
  ConvOp op = buildConv(block, &context, {1, 2, 12, 6}, 3, 3, 1, 1, false);
  Degrees degrees;
  degrees.loops = {1, 1, 4, 1, 1};
  LocalTile second = makeLocalTile(op, degrees, 1);
  LocalTile third = makeLocalTile(op, degrees, 2);
  EXPECT_NE(toString(second.operandBoxes[0]), toString(third.operandBoxes[0]));
  EXPECT_EQ(kernelKey(op, second), kernelKey(op, third));
}

TEST_F(KernelKey, KnowsShapesAndAttributes) {
  Block block;
  ConvOp a = buildConv(block, &context, {1, 2, 12, 6}, 3, 3, 1, 1, false);
  ConvOp b = buildConv(block, &context, {1, 2, 12, 6}, 4, 3, 1, 1, false);
  ConvOp c = buildConv(block, &context, {1, 2, 12, 6}, 3, 3, 2, 1, false);
  ConvOp d = buildConv(block, &context, {1, 2, 12, 6}, 3, 3, 1, 1, true);
  EXPECT_NE(kernelKey(a), kernelKey(b));
  EXPECT_NE(kernelKey(a), kernelKey(c));
  EXPECT_NE(kernelKey(a), kernelKey(d));
}

TEST_F(KernelKey, FlopsOfTilesAddUp) {
  Block block;
  ConvOp op = buildConv(block, &context, {2, 4, 9, 7}, 6, 3, 1, 1, true);
  EXPECT_EQ(op.getFlops(makeWholeTile(op)), 2.0 * 2 * 6 * 9 * 7 * 4 * 9);
  Degrees degrees;
  degrees.loops = {2, 3, 2, 1, 2};
  double sum = 0;
  for (int64_t task = 0; task != degrees.numTasks(); ++task)
    sum += op.getFlops(makeLocalTile(op, degrees, task));
  EXPECT_EQ(sum, op.getFlops(makeWholeTile(op)));
}

} // namespace
