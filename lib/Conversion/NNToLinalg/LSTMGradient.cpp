//===- LSTMGradient.cpp - Gradients of LSTM layers to linalg --------------===//
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

namespace {
enum Gate { In, Out, Forget, Cell };

/// What is computed again of one element.
struct Forward {
  Value in, inSlope, forget, forgetSlope, gate, gateSlope, cell;
};

struct LSTMDirection {
  BackwardLayer layer;
  nn::LSTMBackwardOp op;

  std::pair<Value, Value> activate(const Scalars &s, Value value,
                                   int64_t which) {
    return layer.activateWithSlope(
        s.builder, s.loc, value,
        {which, 3,
         which == 0 ? nn::ActivationKind::Sigmoid : nn::ActivationKind::Tanh});
  }

  /// The gates that the cell is made of, the cell before, and a peephole.
  SmallVector<Layer::Input> inputsOfCell(Value gates, Value before,
                                         Value peephole) {
    SmallVector<Layer::Input> inputs = {
        layer.gate(gates, In), layer.gate(gates, Forget),
        layer.gate(gates, Cell), layer.all(before)};
    if (peephole)
      inputs.append({layer.row(peephole, 0), layer.row(peephole, 2)});
    return inputs;
  }

  /// Of the elements of these inputs.
  Forward forward(const Scalars &s, ValueRange e, bool hasPeephole) {
    Forward f;
    Value in = e[0], forget = e[1], before = e[3];
    if (hasPeephole) {
      in = s.add(in, s.mul(e[4], before));
      forget = s.add(forget, s.mul(e[5], before));
    }
    std::tie(f.in, f.inSlope) = activate(s, in, 0);
    if (op.getInputForget())
      f.forget = s.rest(f.in);
    else
      std::tie(f.forget, f.forgetSlope) = activate(s, forget, 0);
    std::tie(f.gate, f.gateSlope) = activate(s, e[2], 1);
    f.cell = s.add(s.mul(f.forget, before), s.mul(f.in, f.gate));
    return f;
  }

  /// The cell states before all steps.
  Value cellsBefore(Value gates, Value peephole) {
    Value first = layer.entry(op.getFirstCell(), layer.direction);
    Value cells =
        empty(layer.builder, layer.loc,
              {layer.steps, layer.batch, layer.hidden}, layer.element);
    return layer
        .forEachStep(
            /*isBack=*/false, {first, cells},
            [&](Value at, ValueRange values) -> SmallVector<Value> {
              Value before = values[0];
              Value kept =
                  layer.withEntry(values[1], before, {OpFoldResult(at)});
              Value cell = layer.compute(
                  inputsOfCell(layer.entry(gates, at), before, peephole), 1, at,
                  [&](OpBuilder &builder, Location loc, ValueRange e,
                      Value runs) -> SmallVector<Value> {
                    Scalars s{builder, loc};
                    Forward f = forward(s, e, bool(peephole));
                    return {s.where(runs, f.cell, e[3])};
                  })[0];
              return {layer.copied(cell, before), kept};
            })
        .back();
  }

  /// Rows of one step: the gradients of the gates in their order, of the cell
  /// before, and of the hidden state before where the sample takes no part;
  /// then, for a peephole, the cell behind.
  SmallVector<Value> gradients(Value at, Value gates, Value before,
                               ValueRange behind, Value peephole) {
    SmallVector<Layer::Input> inputs = inputsOfCell(gates, before, peephole);
    size_t others = inputs.size();
    inputs.append({layer.gate(gates, Out), layer.all(layer.gradientOf(at)),
                   layer.all(behind[0]), layer.all(behind[1])});
    if (peephole)
      inputs.push_back(layer.row(peephole, 1));
    return layer.compute(
        inputs, peephole ? 7 : 6, at,
        [&](OpBuilder &builder, Location loc, ValueRange e,
            Value runs) -> SmallVector<Value> {
          Scalars s{builder, loc};
          Forward f = forward(s, e, bool(peephole));
          Value dHidden = s.add(e[others + 1], e[others + 2]);
          Value out = e[others], zero = s.number(out, 0);
          if (peephole)
            out = s.add(out, s.mul(e[others + 4], f.cell));
          auto [o, outSlope] = activate(s, out, 0);
          auto [seen, cellSlope] = activate(s, f.cell, 2);
          Value dOut = s.mul(s.mul(dHidden, seen), outSlope);
          Value dCell =
              s.add(e[others + 3], s.mul(s.mul(dHidden, o), cellSlope));
          if (peephole)
            dCell = s.add(dCell, s.mul(dOut, e[others + 4]));
          Value dIn = s.mul(dCell, f.gate), dForget = s.mul(dCell, e[3]);
          if (op.getInputForget()) {
            dIn = s.sub(dIn, dForget);
            dForget = zero;
          } else {
            dForget = s.mul(dForget, f.forgetSlope);
          }
          dIn = s.mul(dIn, f.inSlope);
          Value dGate = s.mul(s.mul(dCell, f.in), f.gateSlope);
          Value dBefore = s.mul(dCell, f.forget);
          if (peephole)
            dBefore =
                s.add(dBefore, s.add(s.mul(dIn, e[4]), s.mul(dForget, e[5])));
          SmallVector<Value> rows = {s.where(runs, dIn, zero),
                                     s.where(runs, dOut, zero),
                                     s.where(runs, dForget, zero),
                                     s.where(runs, dGate, zero),
                                     s.where(runs, dBefore, e[others + 3]),
                                     s.where(runs, zero, dHidden)};
          if (peephole)
            rows.push_back(f.cell);
          return rows;
        });
  }

  /// Adds what one step says of the peephole [3, hidden].
  Value addPeephole(Value sums, ArrayRef<Value> rows, Value before) {
    const Value factors[] = {before, rows[6], before};
    AffineMap all = layer.builder.getMultiDimIdentityMap(2);
    AffineMap unit = AffineMap::get(2, 0, layer.builder.getAffineDimExpr(1));
    for (int64_t which = 0; which != 3; ++which) {
      Value row = layer.entry(sums, layer.number(which));
      row =
          generic(layer.builder, layer.loc, {rows[which], factors[which]}, row,
                  {{all, all, unit}, {Iterator::reduction, Iterator::parallel}},
                  [](OpBuilder &builder, Location loc, ValueRange e) {
                    return multiplyAdd(builder, loc, e[0], e[1], e[2]);
                  });
      sums = layer.withEntry(sums, row, {layer.number(which)});
    }
    return sums;
  }

  void run(SmallVector<Value> &results) {
    OpFoldResult d = layer.direction;
    Value weight = layer.entry(op.getRecurrentWeight(), d), peephole;
    if (op.getPeephole())
      peephole = layer.entry(op.getPeephole(), d);
    Value states = layer.statesBefore();
    Value gates = layer.addProduct(states, weight, layer.fromInputs(op));
    Value cells = cellsBefore(gates, peephole);
    results[1] = layer.withSteps(results[1], states);
    SmallVector<Value> values = {layer.zeros({layer.batch, layer.hidden}),
                                 layer.entry(op.getDLastCell(), d), results[0]};
    if (peephole)
      values.push_back(layer.zeros({3, layer.hidden}));
    values = layer.forEachStep(
        /*isBack=*/true, values,
        [&](Value at, ValueRange v) -> SmallVector<Value> {
          Value before = layer.entry(cells, at);
          SmallVector<Value> rows =
              gradients(at, layer.entry(gates, at), before, v, peephole);
          Value all = layer.joined(ArrayRef(rows).take_front(4));
          SmallVector<Value> next = {
              layer.addTransposed(all, weight, layer.copied(rows[5], v[0])),
              layer.copied(rows[4], v[1]), layer.withStep(v[2], all, at)};
          if (peephole)
            next.push_back(addPeephole(v[3], rows, before));
          return next;
        });
    results[0] = values[2];
    results[2] = layer.withDirection(results[2], values[0]);
    results[3] = layer.withDirection(results[3], values[1]);
    if (peephole)
      results[4] = layer.withDirection(results[4], values[3]);
  }
};
} // namespace

void linalg_lowering::populateLSTMGradientPatterns(
    RewritePatternSet &patterns) {
  patterns.add<BackwardLowering<nn::LSTMBackwardOp, LSTMDirection>>(
      patterns.getContext());
}
