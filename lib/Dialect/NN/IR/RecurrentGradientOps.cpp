//===- RecurrentGradientOps.cpp - Recurrent layers, back ------------------===//
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
// Shared by all
//===----------------------------------------------------------------------===//

/// Checks what all have: the layer, the gradient of its hidden states, gates,
/// states and the gradient of the first hidden state.
template <typename Op>
static LogicalResult verifyBackward(Op op) {
  if (failed(verifyLayer(op)))
    return failure();
  ArrayRef<int64_t> weight = shapeOf(op.getInputWeight());
  ArrayRef<int64_t> x = shapeOf(op.getX());
  int64_t directions = weight[0], hidden = weight[2];
  Type element = elementType(op.getHidden());
  for (Value result :
       op->getResults().take_front(kindOf(op).gates == 1 ? 3 : 4))
    if (elementType(result) != element)
      return op.emitOpError() << "expected results of element type " << element
                              << ", got: " << elementType(result);
  if (failed(checkShape(op, "d_hidden", op.getDHidden(),
                        {x[0], directions, x[1], hidden})) ||
      failed(checkShape(op, "gates", op.getGates(),
                        {directions, x[1], x[0], weight[1], hidden})) ||
      failed(checkShape(op, "states", op.getStates(),
                        {directions, x[1], x[0], hidden})))
    return failure();
  return checkShape(op, "d_first_hidden", op.getDFirstHidden(),
                    {directions, x[1], hidden});
}

/// The spec of what all have, but for the gradient of the first hidden state:
/// operands up to that of the first hidden state; gates and states.
template <typename Op>
static std::pair<PartitionSpec, LayerAccess> backwardSpec(Op op) {
  auto [spec, access] = layerSpec(op);
  auto dir = DimAccess::identity(0), n = DimAccess::identity(1);
  auto whole = DimAccess::whole;
  ValueAccess gates, states;
  states.dims = {dir, n, whole(shapeOf(op.getX())[0]), whole(access.hidden)};
  gates.dims = states.dims;
  gates.dims.insert(gates.dims.begin() + 3, whole(shapeOf(op.getGates())[3]));
  spec.results = {gates, states};
  return {spec, access};
}

/// The products of the layer once more, and one of the gradients of the gates
/// with the recurrent weight.
template <typename Op>
static double backwardFlops(Op op, const LocalTile &tile, double perUnit) {
  const Box &states = tile.resultBoxes[1];
  double inputs = tile.operandBoxes[0][2].size(), hidden = states[3].size();
  return volume(states) *
         (2 * kindOf(op).gates * (inputs + 2 * hidden) + perUnit);
}

//===----------------------------------------------------------------------===//
// nn.lstm_backward
//===----------------------------------------------------------------------===//

LogicalResult LSTMBackwardOp::verify() {
  if (failed(verifyBackward(*this)))
    return failure();
  ArrayRef<int64_t> weight = shapeOf(getInputWeight());
  Shape state = {weight[0], shapeOf(getX())[1], weight[2]};
  Shape peephole = {weight[0], 3, weight[2]};
  if (failed(checkShape(*this, "first_cell", getFirstCell(), state)) ||
      failed(checkShape(*this, "d_last_cell", getDLastCell(), state)) ||
      failed(checkShape(*this, "d_first_cell", getDFirstCell(), state)) ||
      failed(checkShape(*this, "peephole", getPeephole(), peephole)) ||
      failed(checkShape(*this, "d_peephole", getDPeephole(), peephole)))
    return failure();
  if (!getPeephole() != !getDPeephole())
    return emitOpError() << "expected a gradient of the peephole if there is a "
                            "peephole, got: "
                         << (getPeephole() ? "none" : "one without it");
  if (!getDPeephole())
    return success();
  Type sum = accumulatorType(elementType(getHidden()));
  if (elementType(getDPeephole()) != sum)
    return emitOpError() << "expected a gradient of the peephole of element "
                            "type "
                         << sum << ", got: " << elementType(getDPeephole());
  return success();
}

PartitionSpec LSTMBackwardOp::getPartitionSpec() {
  auto [spec, access] = backwardSpec(*this);
  spec.operands.append({access.state, access.all, access.all, access.state});
  if (getLengths())
    spec.operands.push_back(access.lengths);
  spec.results.append({access.state, access.state});
  if (getPeephole()) {
    spec.operands.push_back(access.weight(shapeOf(getPeephole())));
    spec.results.push_back(spec.operands.back());
    spec.results.back().combine = Combine::Sum;
  }
  return spec;
}

void LSTMBackwardOp::setLocalAccess(const LocalTile &tile) {
  takeDirection(*this, tile);
}

double LSTMBackwardOp::getFlops(const LocalTile &tile) {
  return backwardFlops(*this, tile, getPeephole() ? 50 : 35);
}

double LSTMBackwardOp::getBytes(const LocalTile &tile) {
  return layerBytes(*this, tile);
}

//===----------------------------------------------------------------------===//
// nn.gru_backward, nn.rnn_backward
//===----------------------------------------------------------------------===//

LogicalResult GRUBackwardOp::verify() {
  if (failed(verifyBackward(*this)))
    return failure();
  return checkShape(*this, "reset", getReset(), shapeOf(getStates()));
}

PartitionSpec GRUBackwardOp::getPartitionSpec() {
  auto [spec, access] = backwardSpec(*this);
  spec.operands.append({access.all, access.all});
  if (getLengths())
    spec.operands.push_back(access.lengths);
  spec.results.append({ValueAccess(spec.results.back()), access.state});
  return spec;
}

void GRUBackwardOp::setLocalAccess(const LocalTile &tile) {
  takeDirection(*this, tile);
}

double GRUBackwardOp::getFlops(const LocalTile &tile) {
  return backwardFlops(*this, tile, 30);
}

double GRUBackwardOp::getBytes(const LocalTile &tile) {
  return layerBytes(*this, tile);
}

LogicalResult RNNBackwardOp::verify() { return verifyBackward(*this); }

PartitionSpec RNNBackwardOp::getPartitionSpec() {
  auto [spec, access] = backwardSpec(*this);
  spec.operands.append({access.all, access.all});
  if (getLengths())
    spec.operands.push_back(access.lengths);
  spec.results.push_back(access.state);
  return spec;
}

void RNNBackwardOp::setLocalAccess(const LocalTile &tile) {
  takeDirection(*this, tile);
}

double RNNBackwardOp::getFlops(const LocalTile &tile) {
  return backwardFlops(*this, tile, 6);
}

double RNNBackwardOp::getBytes(const LocalTile &tile) {
  return layerBytes(*this, tile);
}

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNRecurrentGradientOps.cpp.inc"
