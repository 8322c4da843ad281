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
// Shared by nn.lstm, nn.gru and nn.rnn
//===----------------------------------------------------------------------===//

namespace {
/// What differs between the layers.
struct LayerKind {
  /// Gates in the weights, in the bias; activations per direction.
  int64_t gates, biases, activations;
};
} // namespace

static LayerKind kindOf(LSTMOp) { return {4, 4, 3}; }
static LayerKind kindOf(GRUOp) { return {3, 4, 2}; }
static LayerKind kindOf(RNNOp) { return {1, 1, 1}; }

template <typename Op>
static LogicalResult checkShape(Op op, StringRef name, Value value,
                                ArrayRef<int64_t> expected) {
  if (!value || shapeOf(value) == expected)
    return success();
  return op.emitOpError() << "expected '" << name << "' of shape "
                          << toString(expected)
                          << ", got: " << toString(shapeOf(value));
}

template <typename Op>
static LogicalResult verifyAttributes(Op op) {
  int64_t directions = shapeOf(op.getInputWeight())[0];
  if (directions > 2)
    return op.emitOpError()
           << "expected one or two directions, got: " << directions;
  if (op.getReverse() && directions != 1)
    return op.emitOpError()
           << "expected 'reverse' of one direction only, got: " << directions
           << " directions";
  if (op.getClip() && !(op.getClip()->convertToDouble() > 0))
    return op.emitOpError() << "expected a positive 'clip', got: "
                            << op.getClip()->convertToDouble();
  int64_t expected = directions * kindOf(op).activations;
  if (op.getActivations() &&
      static_cast<int64_t>(op.getActivations()->size()) != expected)
    return op.emitOpError()
           << "expected " << expected
           << " activations, got: " << op.getActivations()->size();
  return success();
}

/// All but the operands and results that only an LSTM has.
template <typename Op>
static LogicalResult verifyLayer(Op op) {
  Type element = elementType(op.getHidden());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (operand != op.getLengths() && elementType(operand) != element)
      return op.emitOpError()
             << "expected the result's element type " << element
             << " in operand " << i << ", got: " << elementType(operand);
  ArrayRef<int64_t> x = shapeOf(op.getX());
  ArrayRef<int64_t> weight = shapeOf(op.getInputWeight());
  if (x.size() != 3 || weight.size() != 4)
    return op.emitOpError() << "expected an input of rank 3 and a weight of "
                               "rank 4, got: "
                            << toString(x) << ", " << toString(weight);
  if (failed(verifyAttributes(op)))
    return failure();
  int64_t directions = weight[0], hidden = weight[2];
  auto [gates, biases, activations] = kindOf(op);
  if (failed(checkShape(op, "input_weight", op.getInputWeight(),
                        {directions, gates, hidden, x[2]})) ||
      failed(checkShape(op, "recurrent_weight", op.getRecurrentWeight(),
                        {directions, gates, hidden, hidden})) ||
      failed(
          checkShape(op, "bias", op.getBias(), {directions, biases, hidden})) ||
      failed(checkShape(op, "first_hidden", op.getFirstHidden(),
                        {directions, x[1], hidden})) ||
      failed(checkShape(op, "lengths", op.getLengths(), {x[1]})))
    return failure();
  return checkShape(op, "hidden", op.getHidden(),
                    {x[0], directions, x[1], hidden});
}

namespace {
/// The accesses of a layer's values over the loops `dir n`.
struct LayerAccess {
  ValueAccess x, state, all, lengths;
  int64_t hidden;

  /// Dimension 0 is `dir`, the others are whole.
  static ValueAccess weight(ArrayRef<int64_t> shape) {
    ValueAccess access;
    access.dims.push_back(DimAccess::identity(0));
    for (int64_t size : shape.drop_front())
      access.dims.push_back(DimAccess::whole(size));
    return access;
  }
};
} // namespace

/// The spec of x, both weights, bias and first hidden state, and of all hidden
/// states.
template <typename Op>
static std::pair<PartitionSpec, LayerAccess> layerSpec(Op op) {
  ArrayRef<int64_t> x = shapeOf(op.getX());
  ArrayRef<int64_t> weight = shapeOf(op.getInputWeight());
  PartitionSpec spec;
  spec.loops = {{"dir", weight[0]}, {"n", x[1]}};
  auto dir = DimAccess::identity(0), n = DimAccess::identity(1);
  auto whole = DimAccess::whole;
  LayerAccess access;
  access.hidden = weight[2];
  access.x.dims = {whole(x[0]), n, whole(x[2])};
  access.state.dims = {dir, n, whole(access.hidden)};
  access.all.dims = {whole(x[0]), dir, n, whole(access.hidden)};
  access.lengths.dims = {n};
  spec.operands = {access.x, access.weight(weight),
                   access.weight(shapeOf(op.getRecurrentWeight())),
                   access.weight(shapeOf(op.getBias())), access.state};
  spec.results = {access.all};
  return {spec, access};
}

/// A tile that is the second of two directions alone.
template <typename Op>
static void takeDirection(Op op, const LocalTile &tile) {
  bool isSecond = tile.tile[0].lo == 1;
  if (isSecond)
    op.setReverse(true);
  if (!op.getActivations() || tile.tile[0].size() == tile.spec.loops[0].extent)
    return;
  ArrayRef<Attribute> both = op.getActivations()->getValue();
  size_t count = both.size() / 2;
  op.setActivationsAttr(
      ArrayAttr::get(op.getContext(), isSecond ? both.drop_front(count)
                                               : both.take_front(count)));
}

template <typename Op>
static double layerFlops(Op op, const LocalTile &tile, double perUnit) {
  const Box &all = tile.resultBoxes[0];
  double inputs = tile.operandBoxes[0][2].size(), hidden = all[3].size();
  return volume(all) * (2 * kindOf(op).gates * (inputs + hidden) + perUnit);
}

template <typename Op>
static double layerBytes(Op op, const LocalTile &tile) {
  // What inputs add to the gates is one product for all steps, but every step
  // reads the recurrent weight again.
  double again = static_cast<double>(tile.operandBoxes[0][0].size() - 1);
  return nn::detail::boxBytes(op, tile) +
         again * boxBytes(op.getRecurrentWeight(), tile.operandBoxes[2]);
}

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
