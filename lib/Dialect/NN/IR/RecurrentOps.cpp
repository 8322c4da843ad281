//===- RecurrentOps.cpp - Recurrent layers --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentLayers.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// nn.lstm
//===----------------------------------------------------------------------===//

LogicalResult LSTMOp::verify() {
  if (failed(verifyLayer(*this)))
    return failure();
  ArrayRef<int64_t> weight = shapeOf(getInputWeight());
  Shape state = {weight[0], shapeOf(getX())[1], weight[2]};
  if (failed(checkShape(*this, "first_cell", getFirstCell(), state)) ||
      failed(checkShape(*this, "peephole", getPeephole(),
                        {weight[0], 3, weight[2]})) ||
      failed(checkShape(*this, "last_cell", getLastCell(), state)))
    return failure();
  if (elementType(getLastCell()) != elementType(getHidden()))
    return emitOpError() << "expected results of one element type, got: "
                         << elementType(getHidden()) << ", "
                         << elementType(getLastCell());
  return success();
}

PartitionSpec LSTMOp::getPartitionSpec() {
  auto [spec, access] = layerSpec(*this);
  spec.operands.push_back(access.state);
  if (getLengths())
    spec.operands.push_back(access.lengths);
  if (getPeephole())
    spec.operands.push_back(access.weight(shapeOf(getPeephole())));
  spec.results.push_back(access.state);
  return spec;
}

void LSTMOp::setLocalAccess(const LocalTile &tile) {
  takeDirection(*this, tile);
}

double LSTMOp::getFlops(const LocalTile &tile) {
  return layerFlops(*this, tile, getPeephole() ? 15 : 9);
}

double LSTMOp::getBytes(const LocalTile &tile) {
  return layerBytes(*this, tile);
}

//===----------------------------------------------------------------------===//
// nn.gru, nn.rnn
//===----------------------------------------------------------------------===//

LogicalResult GRUOp::verify() { return verifyLayer(*this); }

PartitionSpec GRUOp::getPartitionSpec() {
  auto [spec, access] = layerSpec(*this);
  if (getLengths())
    spec.operands.push_back(access.lengths);
  return spec;
}

void GRUOp::setLocalAccess(const LocalTile &tile) {
  takeDirection(*this, tile);
}

double GRUOp::getFlops(const LocalTile &tile) {
  return layerFlops(*this, tile, 8);
}

double GRUOp::getBytes(const LocalTile &tile) {
  return layerBytes(*this, tile);
}

LogicalResult RNNOp::verify() { return verifyLayer(*this); }

PartitionSpec RNNOp::getPartitionSpec() {
  auto [spec, access] = layerSpec(*this);
  if (getLengths())
    spec.operands.push_back(access.lengths);
  return spec;
}

void RNNOp::setLocalAccess(const LocalTile &tile) {
  takeDirection(*this, tile);
}

double RNNOp::getFlops(const LocalTile &tile) {
  return layerFlops(*this, tile, 2);
}

double RNNOp::getBytes(const LocalTile &tile) {
  return layerBytes(*this, tile);
}
