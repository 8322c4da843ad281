//===- RecurrentLayers.h - Shared by recurrent layers -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What recurrent layers and their gradients have in common: shapes, loops and
// tiles of one direction.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_IR_RECURRENTLAYERS_H
#define SOAP_LIB_DIALECT_NN_IR_RECURRENTLAYERS_H

#include "OpSupport.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"

namespace soap::nn {

/// What differs between the layers.
struct LayerKind {
  /// Gates in the weights, in the bias; activations per direction.
  int64_t gates, biases, activations;
};

inline LayerKind kindOf(LSTMOp) { return {4, 4, 3}; }
inline LayerKind kindOf(LSTMBackwardOp) { return {4, 4, 3}; }
inline LayerKind kindOf(GRUOp) { return {3, 4, 2}; }
inline LayerKind kindOf(GRUBackwardOp) { return {3, 4, 2}; }
inline LayerKind kindOf(RNNOp) { return {1, 1, 1}; }
inline LayerKind kindOf(RNNBackwardOp) { return {1, 1, 1}; }

template <typename Op>
mlir::LogicalResult checkShape(Op op, llvm::StringRef name, mlir::Value value,
                               llvm::ArrayRef<int64_t> expected) {
  if (!value || shapeOf(value) == expected)
    return mlir::success();
  return op.emitOpError() << "expected '" << name << "' of shape "
                          << toString(expected)
                          << ", got: " << toString(shapeOf(value));
}

template <typename Op>
mlir::LogicalResult verifyAttributes(Op op) {
  int64_t directions = shapeOf(op.getInputWeight())[0];
  if (directions > 2)
    return op.emitOpError()
           << "expected one or two directions, got: " << directions;
  if (op.getReverse() && directions != 1)
    return op.emitOpError()
           << "expected 'reverse' of one direction only, got: " << directions
           << " directions";
  if (op.getTf32() && !elementType(op.getX()).isF32())
    return op.emitOpError() << "expected operands of f32 with 'tf32', got: "
                            << elementType(op.getX());
  if (op.getClip() && !(op.getClip()->convertToDouble() > 0))
    return op.emitOpError() << "expected a positive 'clip', got: "
                            << op.getClip()->convertToDouble();
  int64_t expected = directions * kindOf(op).activations;
  if (op.getActivations() &&
      static_cast<int64_t>(op.getActivations()->size()) != expected)
    return op.emitOpError()
           << "expected " << expected
           << " activations, got: " << op.getActivations()->size();
  return mlir::success();
}

/// All but the operands and results that only an LSTM has.
template <typename Op>
mlir::LogicalResult verifyLayer(Op op) {
  mlir::Type element = elementType(op.getHidden());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (operand != op.getLengths() && elementType(operand) != element)
      return op.emitOpError()
             << "expected the result's element type " << element
             << " in operand " << i << ", got: " << elementType(operand);
  llvm::ArrayRef<int64_t> x = shapeOf(op.getX());
  llvm::ArrayRef<int64_t> weight = shapeOf(op.getInputWeight());
  if (x.size() != 3 || weight.size() != 4)
    return op.emitOpError() << "expected an input of rank 3 and a weight of "
                               "rank 4, got: "
                            << toString(x) << ", " << toString(weight);
  if (mlir::failed(verifyAttributes(op)))
    return mlir::failure();
  int64_t directions = weight[0], hidden = weight[2];
  auto [gates, biases, activations] = kindOf(op);
  if (mlir::failed(checkShape(op, "input_weight", op.getInputWeight(),
                              {directions, gates, hidden, x[2]})) ||
      mlir::failed(checkShape(op, "recurrent_weight", op.getRecurrentWeight(),
                              {directions, gates, hidden, hidden})) ||
      mlir::failed(
          checkShape(op, "bias", op.getBias(), {directions, biases, hidden})) ||
      mlir::failed(checkShape(op, "first_hidden", op.getFirstHidden(),
                              {directions, x[1], hidden})) ||
      mlir::failed(checkShape(op, "lengths", op.getLengths(), {x[1]})))
    return mlir::failure();
  return checkShape(op, "hidden", op.getHidden(),
                    {x[0], directions, x[1], hidden});
}

/// The accesses of a layer's values over the loops `dir n`.
struct LayerAccess {
  ValueAccess x, state, all, lengths;
  int64_t hidden;

  /// Dimension 0 is `dir`, the others are whole.
  static ValueAccess weight(llvm::ArrayRef<int64_t> shape) {
    ValueAccess access;
    access.dims.push_back(DimAccess::identity(0));
    for (int64_t size : shape.drop_front())
      access.dims.push_back(DimAccess::whole(size));
    return access;
  }
};

/// The spec of x, both weights, bias and first hidden state, and of all hidden
/// states.
template <typename Op>
std::pair<PartitionSpec, LayerAccess> layerSpec(Op op) {
  llvm::ArrayRef<int64_t> x = shapeOf(op.getX());
  llvm::ArrayRef<int64_t> weight = shapeOf(op.getInputWeight());
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
void takeDirection(Op op, const LocalTile &tile) {
  bool isSecond = tile.tile[0].lo == 1;
  if (isSecond)
    op.setReverse(true);
  if (!op.getActivations() || tile.tile[0].size() == tile.spec.loops[0].extent)
    return;
  llvm::ArrayRef<mlir::Attribute> both = op.getActivations()->getValue();
  size_t count = both.size() / 2;
  op.setActivationsAttr(
      mlir::ArrayAttr::get(op.getContext(), isSecond ? both.drop_front(count)
                                                     : both.take_front(count)));
}

template <typename Op>
double layerFlops(Op op, const LocalTile &tile, double perUnit) {
  const Box &all = tile.resultBoxes[0];
  double inputs = tile.operandBoxes[0][2].size(), hidden = all[3].size();
  return volume(all) * (2 * kindOf(op).gates * (inputs + hidden) + perUnit);
}

template <typename Op>
double layerBytes(Op op, const LocalTile &tile) {
  // What inputs add to the gates is one product for all steps, but every step
  // reads the recurrent weight again.
  double again = static_cast<double>(tile.operandBoxes[0][0].size() - 1);
  return nn::detail::boxBytes(op, tile) +
         again * boxBytes(op.getRecurrentWeight(), tile.operandBoxes[2]);
}

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_IR_RECURRENTLAYERS_H
