//===- RecurrentGradients.cpp - Gradients of other layers to linalg -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardLayer.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

//===----------------------------------------------------------------------===//
// GRU
//===----------------------------------------------------------------------===//

namespace {
enum Gate { Update, Reset, Hidden };

struct GRUDirection {
  BackwardLayer layer;
  nn::GRUBackwardOp op;
  /// Of all steps: the states before them; what inputs and biases add to the
  /// gates; what the states add.
  Value states = {}, fromInputs = {}, fromStates = {};
  /// r * h of all steps, if that is what the last gate reads.
  Value resetStates = {};

  std::pair<Value, Value> activate(const Scalars &s, Value value,
                                   int64_t which) {
    return layer.activateWithSlope(
        s.builder, s.loc, value,
        {which, 2,
         which == 0 ? nn::ActivationKind::Sigmoid : nn::ActivationKind::Tanh});
  }

  /// Rows `which` of the bias for all steps; zeros for none.
  Value biases(ArrayRef<int64_t> which) {
    Value bias = layer.entry(op.getBias(), layer.direction);
    Value all = layer.zeros({3, layer.hidden});
    for (auto [gate, row] : llvm::enumerate(which))
      if (row >= 0)
        all = layer.withEntry(all, layer.entry(bias, layer.number(row)),
                              {layer.number(gate)});
    return layer.repeated(all, {layer.steps, layer.batch});
  }

  /// r * h of all steps.
  Value statesAfterReset() {
    AffineMap rows = layer.builder.getMultiDimIdentityMap(3);
    auto dim = [&](unsigned i) { return layer.builder.getAffineDimExpr(i); };
    AffineMap gate = AffineMap::get(
        3, 0,
        {dim(0), dim(1), layer.builder.getAffineConstantExpr(Reset), dim(2)},
        layer.builder.getContext());
    return generic(
        layer.builder, layer.loc, {fromInputs, fromStates, states},
        empty(layer.builder, layer.loc,
              {layer.steps, layer.batch, layer.hidden}, layer.element),
        {{gate, gate, rows, rows},
         SmallVector<Iterator>(3, Iterator::parallel)},
        [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
          Scalars s{builder, loc};
          return s.mul(activate(s, s.add(e[0], e[1]), 0).first, e[2]);
        });
  }

  void computeAgain() {
    OpFoldResult d = layer.direction;
    Value weight = layer.entry(op.getRecurrentWeight(), d);
    bool isBehind = op.getLinearBeforeReset();
    states = layer.statesBefore();
    fromInputs = layer.addProduct(
        op.getX(), layer.entry(op.getInputWeight(), d), biases({0, 1, 2}));
    fromStates =
        layer.addProduct(states, weight, biases({-1, -1, isBehind ? 3 : -1}));
    if (isBehind)
      return;
    // The last gate is made of other states.
    resetStates = statesAfterReset();
    Value last = layer.entry(op.getBias(), d);
    Value bias =
        layer.repeated(layer.part(last, 0, 3, 1), {layer.steps, layer.batch});
    Value sums =
        layer.addProduct(resetStates, layer.part(weight, 0, Hidden, 1), bias);
    SmallVector<OpFoldResult> offsets(4, layer.number(0)), sizes,
        strides(4, layer.number(1));
    offsets[2] = layer.number(Hidden);
    for (int64_t size : tensorType(sums).getShape())
      sizes.push_back(layer.number(size));
    fromStates = layer.builder.create<tensor::InsertSliceOp>(
        layer.loc, sums, fromStates, offsets, sizes, strides);
  }

  /// Rows of a step with the reset behind the product: the gradients of the
  /// gates; of the product of the last one; of the hidden state before, but
  /// for products.
  SmallVector<Value> resetBehind(Value at, Value behind) {
    Value inputs = layer.entry(fromInputs, at);
    Value products = layer.entry(fromStates, at);
    return layer.compute(
        {layer.gate(inputs, Update), layer.gate(inputs, Reset),
         layer.gate(inputs, Hidden), layer.gate(products, Update),
         layer.gate(products, Reset), layer.gate(products, Hidden),
         layer.all(layer.entry(states, at)), layer.all(layer.gradientOf(at)),
         layer.all(behind)},
        5, at,
        [&](OpBuilder &builder, Location loc, ValueRange e,
            Value runs) -> SmallVector<Value> {
          Scalars s{builder, loc};
          auto [z, zSlope] = activate(s, s.add(e[0], e[3]), 0);
          auto [r, rSlope] = activate(s, s.add(e[1], e[4]), 0);
          auto [g, gSlope] = activate(s, s.add(e[2], s.mul(r, e[5])), 1);
          Value dHidden = s.add(e[7], e[8]), zero = s.number(z, 0);
          Value dUpdate = s.mul(s.mul(dHidden, s.sub(e[6], g)), zSlope);
          Value dGate = s.mul(s.mul(dHidden, s.rest(z)), gSlope);
          Value dReset = s.mul(s.mul(dGate, e[5]), rSlope);
          return {s.where(runs, dUpdate, zero), s.where(runs, dReset, zero),
                  s.where(runs, dGate, zero),
                  s.where(runs, s.mul(dGate, r), zero),
                  s.where(runs, s.mul(dHidden, z), dHidden)};
        });
  }

  /// Rows of a step with the reset before the product: the gradients of the
  /// first and last gate, and of the hidden state before, but for products.
  SmallVector<Value> resetBefore(Value at, Value behind) {
    Value inputs = layer.entry(fromInputs, at);
    Value products = layer.entry(fromStates, at);
    return layer.compute(
        {layer.gate(inputs, Update), layer.gate(inputs, Hidden),
         layer.gate(products, Update), layer.gate(products, Hidden),
         layer.all(layer.entry(states, at)), layer.all(layer.gradientOf(at)),
         layer.all(behind)},
        3, at,
        [&](OpBuilder &builder, Location loc, ValueRange e,
            Value runs) -> SmallVector<Value> {
          Scalars s{builder, loc};
          auto [z, zSlope] = activate(s, s.add(e[0], e[2]), 0);
          auto [g, gSlope] = activate(s, s.add(e[1], e[3]), 1);
          Value dHidden = s.add(e[5], e[6]), zero = s.number(z, 0);
          Value dUpdate = s.mul(s.mul(dHidden, s.sub(e[4], g)), zSlope);
          Value dGate = s.mul(s.mul(dHidden, s.rest(z)), gSlope);
          return {s.where(runs, dUpdate, zero), s.where(runs, dGate, zero),
                  s.where(runs, s.mul(dHidden, z), dHidden)};
        });
  }

  /// The gradients of the reset gate and of the hidden state before from that
  /// of r * h; `rest` is what the latter has otherwise.
  SmallVector<Value> throughReset(Value at, Value ofProduct, Value rest) {
    Value inputs = layer.entry(fromInputs, at);
    Value products = layer.entry(fromStates, at);
    return layer.compute({layer.gate(inputs, Reset),
                          layer.gate(products, Reset),
                          layer.all(layer.entry(states, at)),
                          layer.all(ofProduct), layer.all(rest)},
                         2, nullptr,
                         [&](OpBuilder &builder, Location loc, ValueRange e,
                             Value) -> SmallVector<Value> {
                           Scalars s{builder, loc};
                           auto [r, rSlope] = activate(s, s.add(e[0], e[1]), 0);
                           return {s.mul(s.mul(e[3], e[2]), rSlope),
                                   s.add(e[4], s.mul(e[3], r))};
                         });
  }

  void run(SmallVector<Value> &results) {
    computeAgain();
    OpFoldResult d = layer.direction;
    Value weight = layer.entry(op.getRecurrentWeight(), d);
    results[1] = layer.withSteps(results[1], states);
    if (resetStates)
      results[2] = layer.withSteps(results[2], resetStates);
    SmallVector<Value> values = layer.forEachStep(
        /*isBack=*/true,
        {layer.zeros({layer.batch, layer.hidden}), results[0], results[2]},
        [&](Value at, ValueRange v) -> SmallVector<Value> {
          if (!resetStates) {
            SmallVector<Value> rows = resetBehind(at, v[0]);
            Value all = layer.joined(ArrayRef(rows).take_front(3));
            Value met = layer.joined({rows[0], rows[1], rows[3]});
            return {
                layer.addTransposed(met, weight, layer.copied(rows[4], v[0])),
                layer.withStep(v[1], all, at),
                layer.withStep(v[2], rows[3], at)};
          }
          SmallVector<Value> rows = resetBefore(at, v[0]);
          // Of r * h, which is 0 where the sample takes no part.
          Value ofProduct = layer.addTransposed(
              layer.joined(rows[1]), layer.part(weight, 0, Hidden, 1),
              layer.zeros({layer.batch, layer.hidden}));
          SmallVector<Value> more = throughReset(at, ofProduct, rows[2]);
          Value all = layer.joined({rows[0], more[0], rows[1]});
          Value met = layer.joined({rows[0], more[0]});
          return {layer.addTransposed(met, layer.part(weight, 0, 0, 2),
                                      layer.copied(more[1], v[0])),
                  layer.withStep(v[1], all, at), v[2]};
        });
    results[0] = values[1];
    results[2] = values[2];
    results[3] = layer.withDirection(results[3], values[0]);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// RNN
//===----------------------------------------------------------------------===//

namespace {
struct RNNDirection {
  BackwardLayer layer;
  nn::RNNBackwardOp op;

  void run(SmallVector<Value> &results) {
    OpFoldResult d = layer.direction;
    Value weight = layer.entry(op.getRecurrentWeight(), d);
    Value states = layer.statesBefore();
    Value sums = layer.addProduct(states, weight, layer.fromInputs(op));
    results[1] = layer.withSteps(results[1], states);
    auto element = [&](OpBuilder &builder, Location loc, ValueRange e,
                       Value runs) -> SmallVector<Value> {
      Scalars s{builder, loc};
      Value slope = layer
                        .activateWithSlope(builder, loc, e[0],
                                           {0, 1, nn::ActivationKind::Tanh})
                        .second;
      Value dHidden = s.add(e[1], e[2]), zero = s.number(slope, 0);
      return {s.where(runs, s.mul(dHidden, slope), zero),
              s.where(runs, zero, dHidden)};
    };
    SmallVector<Value> values = layer.forEachStep(
        /*isBack=*/true, {layer.zeros({layer.batch, layer.hidden}), results[0]},
        [&](Value at, ValueRange v) -> SmallVector<Value> {
          Value gates = layer.entry(sums, at);
          SmallVector<Value> rows =
              layer.compute({layer.gate(gates, 0),
                             layer.all(layer.gradientOf(at)), layer.all(v[0])},
                            2, at, element);
          Value all = layer.joined(rows[0]);
          return {layer.addTransposed(all, weight, layer.copied(rows[1], v[0])),
                  layer.withStep(v[1], all, at)};
        });
    results[0] = values[1];
    results[2] = layer.withDirection(results[2], values[0]);
  }
};
} // namespace

void linalg_lowering::populateRecurrentGradientPatterns(
    RewritePatternSet &patterns) {
  populateLSTMGradientPatterns(patterns);
  patterns.add<BackwardLowering<nn::GRUBackwardOp, GRUDirection>,
               BackwardLowering<nn::RNNBackwardOp, RNNDirection>>(
      patterns.getContext());
}
