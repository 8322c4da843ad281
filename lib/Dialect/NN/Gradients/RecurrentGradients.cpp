//===- RecurrentGradients.cpp - Gradients of recurrent layers -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation runs back through the steps and gives the gradients of what is
// added up in the gates. All others follow from those of all samples and steps
// at once, by products, in which the samples come first and their steps next.
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using llvm::BitVector;
using Build = GradientBuilder;

namespace {
/// The gradients of x, weights and bias of one layer.
template <typename Op>
class LayerGradients {
public:
  /// `gates` [directions, batch, steps, gates, hidden] and `states`
  /// [directions, batch, steps, hidden], as nn.lstm_backward makes them.
  LayerGradients(Op op, Build &b, Value gates, Value states)
      : op_(op), b_(b), x_(shapeOf(op.getX())),
        weight_(shapeOf(op.getInputWeight())), gates_(flat(gates)),
        states_(states) {}

  /// Gradients of x, weights and bias, as far as they are needed. Those of the
  /// operands behind stay null.
  Gradients ofOperands(const BitVector &isNeeded) {
    Gradients gradients(op_->getNumOperands());
    if (isNeeded[0])
      gradients[0] = ofX();
    if (isNeeded[1])
      gradients[1] = ofInputWeight();
    if (isNeeded[2])
      gradients[2] = ofRecurrentWeight();
    if (isNeeded[3])
      gradients[3] = ofBias();
    return gradients;
  }

  Value ofX() {
    Value weight = b_.reshape(op_.getInputWeight(),
                              {weight_[0], weight_[1] * weight_[2], weight_[3]},
                              {{"d0", "dir"}});
    Value rows = product({gates_}, {weight}, {{"b0", "dir"}, {"n", "n"}});
    if (weight_[0] > 1)
      rows = sum(rows, 0, {{"d0", "dir"}, {"d1", "n"}});
    rows = b_.reshape(rows, {x_[1], x_[0], x_[2]}, {{"d0", "n"}});
    return turned(rows, {{"d1", "n"}});
  }

  Value ofInputWeight() {
    Value x = turned(op_.getX(), {{"d0", "n"}});
    x = b_.reshape(x, {x_[0] * x_[1], x_[2]}, {{"d0", "n"}});
    return like(op_.getInputWeight(), ofProduct(gates_, x));
  }

  Value ofRecurrentWeight() {
    return like(op_.getRecurrentWeight(), ofProduct(gates_, flat(states_)));
  }

  /// Of all gates: [directions, gates, hidden].
  Value ofBias() {
    return b_.reshape(sum(gates_, 1, {{"d0", "dir"}, {"d1", "n"}}),
                      {weight_[0], weight_[1], weight_[2]}, {{"d0", "dir"}});
  }

  /// [directions, batch, steps, rest...] as [directions, rows, columns].
  Value flat(Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    int64_t columns = 1;
    for (int64_t size : shape.drop_front(3))
      columns *= size;
    return b_.reshape(value, {shape[0], shape[1] * shape[2], columns},
                      {{"d0", "dir"}, {"d1", "n"}});
  }

  /// What a weight adds: `gates` [directions, rows, columns] by what it is
  /// multiplied with, [directions, rows, k] or [rows, k].
  Value ofProduct(Value gates, Value with) {
    return product(transposed(gates), {with}, {{"b0", "dir"}, {"k", "n"}});
  }

  /// Columns [first, first + count) of the gates.
  Value columns(int64_t first, int64_t count) {
    Shape shape(shapeOf(gates_));
    shape.back() = count;
    return b_.join(
        b_.create<SliceOp>(RankedTensorType::get(shape, elementType(gates_)),
                           gates_, SmallVector<int64_t>{0, 0, first},
                           SmallVector<int64_t>(3, 1)),
        LoopNames{{"d0", "dir"}, {"d1", "n"}});
  }

  Value concat(ArrayRef<Value> parts) {
    Shape shape(shapeOf(parts.front()));
    shape[1] = 0;
    for (Value part : parts)
      shape[1] += shapeOf(part)[1];
    return b_.join(
        b_.create<ConcatOp>(RankedTensorType::get(shape, elementType(parts[0])),
                            parts, /*axis=*/1),
        LoopNames{{"d0", "dir"}});
  }

  Value like(Value operand, Value x) {
    return b_.reshape(x, shapeOf(operand), {{"d0", "dir"}});
  }

  Value sum(Value x, int64_t axis, const LoopNames &loops) {
    Shape shape(shapeOf(x));
    shape.erase(shape.begin() + axis);
    return b_.join(
        b_.create<ReduceOp>(RankedTensorType::get(shape, elementType(x)), x,
                            ReduceKind::Sum, axis, /*keepdims=*/false,
                            llvm::APFloat(1.0f)),
        loops);
  }

private:
  /// Steps and samples change places.
  Value turned(Value x, const LoopNames &loops) {
    ArrayRef<int64_t> shape = shapeOf(x);
    return b_.join(b_.create<TransposeOp>(
                       RankedTensorType::get({shape[1], shape[0], shape[2]},
                                             elementType(x)),
                       x, SmallVector<int64_t>{1, 0, 2}),
                   loops);
  }

  Value product(Factor x, Factor y, const LoopNames &loops) {
    Shape shape = {shapeOf(x.matrix)[0], x.size(0), y.size(1)};
    return b_.join(
        b_.create<MatMulOp>(RankedTensorType::get(shape, elementType(x.matrix)),
                            x.matrix, y.matrix, Value(), x.isTransposed,
                            y.isTransposed, llvm::APFloat(1.0f), op_.getTf32()),
        loops);
  }

  Op op_;
  Build &b_;
  ArrayRef<int64_t> x_, weight_;
  Value gates_, states_;
};
} // namespace

/// The gradient of result `index`, zeros where the loss does not depend on it.
static Value orZeros(Operation *op, Build &b, ArrayRef<Value> results,
                     unsigned index) {
  return results[index] ? results[index]
                        : b.splat(op->getResult(index).getType(), 0);
}

namespace {
/// The types of what the operations of all layers make.
struct BackwardTypes {
  template <typename Op>
  explicit BackwardTypes(Op op) : state(op.getFirstHidden().getType()) {
    ArrayRef<int64_t> weight = shapeOf(op.getInputWeight());
    ArrayRef<int64_t> x = shapeOf(op.getX());
    Type element = elementType(op.getX());
    gates = RankedTensorType::get({weight[0], x[1], x[0], weight[1], weight[2]},
                                  element);
    states = RankedTensorType::get({weight[0], x[1], x[0], weight[2]}, element);
  }

  Type gates, states, state;
};
} // namespace

static MaybeGradients lstm(LSTMOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &isNeeded) {
  BackwardTypes types(op);
  SmallVector<Type> all = {types.gates, types.states, types.state, types.state};
  if (op.getPeephole())
    all.push_back(op.getPeephole().getType());
  auto back =
      b.join(b.create<LSTMBackwardOp>(
                 all, op.getX(), op.getInputWeight(), op.getRecurrentWeight(),
                 op.getBias(), op.getFirstHidden(), op.getFirstCell(),
                 op.getHidden(), orZeros(op, b, results, 0),
                 orZeros(op, b, results, 1), op.getLengths(), op.getPeephole(),
                 op.getReverseAttr(), op.getInputForgetAttr(), op.getClipAttr(),
                 op.getActivationsAttr(), op.getTf32Attr()),
             b.sameLoops());
  LayerGradients of(op, b, back.getGates(), back.getStates());
  Gradients gradients = of.ofOperands(isNeeded);
  gradients[4] = back.getDFirstHidden();
  gradients[5] = back.getDFirstCell();
  if (op.getPeephole())
    gradients.back() = back.getDPeephole();
  return gradients;
}

static MaybeGradients gru(GRUOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &isNeeded) {
  BackwardTypes types(op);
  auto back = b.join(
      b.create<GRUBackwardOp>(
          SmallVector<Type>{types.gates, types.states, types.states,
                            types.state},
          op.getX(), op.getInputWeight(), op.getRecurrentWeight(), op.getBias(),
          op.getFirstHidden(), op.getHidden(), results[0], op.getLengths(),
          op.getReverseAttr(), op.getLinearBeforeResetAttr(), op.getClipAttr(),
          op.getActivationsAttr(), op.getTf32Attr()),
      b.sameLoops());
  LayerGradients of(op, b, back.getGates(), back.getStates());
  ArrayRef<int64_t> weight = shapeOf(op.getInputWeight());
  int64_t directions = weight[0], hidden = weight[2];
  Value reset;
  if (isNeeded[2] || isNeeded[3])
    reset = of.flat(back.getReset());
  // The last gate's products are others.
  BitVector isAlike = isNeeded;
  isAlike.reset(2, 4);
  Gradients gradients = of.ofOperands(isAlike);
  if (isNeeded[2]) {
    Value states = of.flat(back.getStates());
    Value first = of.ofProduct(of.columns(0, 2 * hidden), states);
    Value last = op.getLinearBeforeReset()
                     ? of.ofProduct(reset, states)
                     : of.ofProduct(of.columns(2 * hidden, hidden), reset);
    gradients[2] = of.like(op.getRecurrentWeight(), of.concat({first, last}));
  }
  if (isNeeded[3]) {
    LoopNames loops = {{"d0", "dir"}, {"d1", "n"}};
    Value last =
        op.getLinearBeforeReset() ? reset : of.columns(2 * hidden, hidden);
    last = b.reshape(of.sum(last, 1, loops), {directions, 1, hidden},
                     {{"d0", "dir"}});
    gradients[3] = of.concat({of.ofBias(), last});
  }
  gradients[4] = back.getDFirstHidden();
  return gradients;
}

static MaybeGradients rnn(RNNOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &isNeeded) {
  BackwardTypes types(op);
  auto back =
      b.join(b.create<RNNBackwardOp>(
                 SmallVector<Type>{types.gates, types.states, types.state},
                 op.getX(), op.getInputWeight(), op.getRecurrentWeight(),
                 op.getBias(), op.getFirstHidden(), op.getHidden(), results[0],
                 op.getLengths(), op.getReverseAttr(), op.getClipAttr(),
                 op.getActivationsAttr(), op.getTf32Attr()),
             b.sameLoops());
  LayerGradients of(op, b, back.getGates(), back.getStates());
  Gradients gradients = of.ofOperands(isNeeded);
  gradients[4] = back.getDFirstHidden();
  return gradients;
}

void soap::nn::attachRecurrentGradients(MLIRContext *context) {
  LSTMOp::attachInterface<GradientModel<LSTMOp, lstm>>(*context);
  GRUOp::attachInterface<GradientModel<GRUOp, gru>>(*context);
  RNNOp::attachInterface<GradientModel<RNNOp, rnn>>(*context);
}
