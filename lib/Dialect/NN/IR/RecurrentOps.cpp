//===- RecurrentOps.cpp - Recurrent layers --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// nn.lstm
//===----------------------------------------------------------------------===//

LogicalResult LSTMOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getInputWeight());
  if (x.size() != 3 || weight.size() != 4)
    return emitOpError() << "expected an input of rank 3 and a weight of rank "
                            "4, got: "
                         << toString(x) << ", " << toString(weight);
  int64_t directions = weight[0], hidden = weight[2];
  if (directions > 2)
    return emitOpError() << "expected one or two directions, got: "
                         << directions;
  if (getReverse() && directions != 1)
    return emitOpError() << "expected 'reverse' of one direction only, got: "
                         << directions << " directions";
  Shape gates = {directions, 4, hidden}, state = {directions, x[1], hidden};
  Shape inputWeight = {directions, 4, hidden, x[2]};
  Shape recurrentWeight = {directions, 4, hidden, hidden};
  Shape all = {x[0], directions, x[1], hidden};
  auto check = [&](StringRef name, Value value,
                   ArrayRef<int64_t> expected) -> LogicalResult {
    if (shapeOf(value) == expected)
      return success();
    return emitOpError() << "expected '" << name << "' of shape "
                         << toString(expected)
                         << ", got: " << toString(shapeOf(value));
  };
  if (failed(check("input_weight", getInputWeight(), inputWeight)) ||
      failed(
          check("recurrent_weight", getRecurrentWeight(), recurrentWeight)) ||
      failed(check("bias", getBias(), gates)) ||
      failed(check("first_hidden", getFirstHidden(), state)) ||
      failed(check("first_cell", getFirstCell(), state)) ||
      failed(check("hidden", getHidden(), all)) ||
      failed(check("last_cell", getLastCell(), state)))
    return failure();
  if (elementType(getLastCell()) != elementType(getHidden()))
    return emitOpError() << "expected results of one element type, got: "
                         << elementType(getHidden()) << ", "
                         << elementType(getLastCell());
  return success();
}

PartitionSpec LSTMOp::getPartitionSpec() {
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getInputWeight());
  int64_t hidden = weight[2];
  PartitionSpec spec;
  spec.loops = {{"dir", weight[0]}, {"n", x[1]}};
  auto dir = DimAccess::identity(0), n = DimAccess::identity(1);
  auto whole = DimAccess::whole;
  ValueAccess in, inputWeight, recurrentWeight, bias, state, all;
  in.dims = {whole(x[0]), n, whole(x[2])};
  inputWeight.dims = {dir, whole(4), whole(hidden), whole(x[2])};
  recurrentWeight.dims = {dir, whole(4), whole(hidden), whole(hidden)};
  bias.dims = {dir, whole(4), whole(hidden)};
  state.dims = {dir, n, whole(hidden)};
  all.dims = {whole(x[0]), dir, n, whole(hidden)};
  spec.operands = {in, inputWeight, recurrentWeight, bias, state, state};
  spec.results = {all, state};
  return spec;
}

void LSTMOp::setLocalAccess(const LocalTile &tile) {
  // The second of two directions, alone.
  if (tile.tile[0].lo == 1)
    setReverse(true);
}

double LSTMOp::getFlops(const LocalTile &tile) {
  double steps = tile.operandBoxes[0][0].size();
  double inputs = tile.operandBoxes[0][2].size();
  double hidden = tile.resultBoxes[1][2].size();
  double units = steps * volume(tile.resultBoxes[1]);
  return units * (8 * (inputs + hidden) + 9);
}

double LSTMOp::getBytes(const LocalTile &tile) {
  // What inputs add to the gates is one product for all steps, but every step
  // reads the recurrent weight again.
  double again = static_cast<double>(tile.operandBoxes[0][0].size() - 1);
  return detail::boxBytes(*this, tile) +
         again * boxBytes(getRecurrentWeight(), tile.operandBoxes[2]);
}
