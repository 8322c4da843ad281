//===- RareOps.cpp - Operations that few networks have --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "soap/Dialect/NN/IR/NNRare.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// nn.bit_cast
//===----------------------------------------------------------------------===//

/// Bits of an element in memory of its own.
static unsigned storedBits(Type element) {
  return element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
}

LogicalResult BitCastOp::verify() {
  Type from = elementType(getX()), to = elementType(getResult());
  if (storedBits(from) != storedBits(to))
    return emitOpError() << "expected element types of as many bits, got: "
                         << from << " and " << to << "; nn.cast converts";
  return verifyResultShape(*this, shapeOf(getX()));
}

PartitionSpec BitCastOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}
double BitCastOp::getFlops(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.non_max_suppression
//===----------------------------------------------------------------------===//

LogicalResult NonMaxSuppressionOp::verify() {
  ArrayRef<int64_t> boxes = shapeOf(getBoxes()), scores = shapeOf(getScores()),
                    shape = shapeOf(getResult());
  if (elementType(getBoxes()) != elementType(getScores()))
    return emitOpError() << "expected boxes and scores of one element type, "
                            "got: "
                         << elementType(getBoxes()) << ", "
                         << elementType(getScores()) << "; cast one of them";
  if (!elementType(getResult()).isInteger(64))
    return emitOpError() << "expected a result of indices (i64), got: "
                         << elementType(getResult());
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 ||
      boxes[0] != scores[0] || boxes[1] != scores[2])
    return emitOpError()
           << "expected boxes of shape (n, N, 4) and scores of shape "
              "(n, c, N), got: "
           << toString(boxes) << ", " << toString(scores);
  if (shape.size() != 3 || shape.drop_back() != scores.drop_back())
    return emitOpError() << "expected a result of shape [" << scores[0] << ", "
                         << scores[1] << ", K], got: " << toString(shape);
  if (getIouThreshold().isNaN() ||
      (getScoreThreshold() && getScoreThreshold()->isNaN()))
    return emitOpError() << "expected thresholds that are numbers, got: NaN";
  return success();
}

PartitionSpec NonMaxSuppressionOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> scores = shapeOf(getScores());
  spec.loops = {{"n", scores[0]}, {"c", scores[1]}};
  ValueAccess boxes, each, out;
  boxes.dims = {DimAccess::identity(0), DimAccess::whole(scores[2]),
                DimAccess::whole(4)};
  each.dims = {DimAccess::identity(0), DimAccess::identity(1),
               DimAccess::whole(scores[2])};
  out.dims = {DimAccess::identity(0), DimAccess::identity(1),
              DimAccess::whole(shapeOf(getResult())[2])};
  spec.operands = {boxes, each};
  spec.results = {out};
  return spec;
}

double NonMaxSuppressionOp::getFlops(const LocalTile &tile) {
  // Every selected box is compared with all others, by 15 operations.
  return 15 * volume(tile.operandBoxes[1]) * tile.resultBoxes[0][2].size();
}

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNRareOps.cpp.inc"
