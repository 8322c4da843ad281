//===- RecurrentGradients.cpp - Recurrent layers, back, to linalg ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a layer computes in its gates is computed again for all steps at once,
// as all hidden states are known. Then one loop runs back over the steps.
//
//===----------------------------------------------------------------------===//

#include "RecurrentLayer.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

namespace {
/// One direction of a layer, back. A row of values is [batch, hidden].
class BackwardLayer : public Layer {
public:
  template <typename Op>
  BackwardLayer(OpBuilder &builder, Op op, int64_t direction)
      : Layer(builder, op), direction(direction), hiddens(op.getHidden()),
        gradients(op.getDHidden()), firstHidden(op.getFirstHidden()) {}

  int64_t direction;

  bool isBackwards() const { return isReverse || direction == 1; }

  /// `tensor` [steps, directions, ...] at a step.
  Value ofStep(Value tensor, Value at) {
    return entry(entry(tensor, at), number(direction));
  }
  Value gradientOf(Value at) { return ofStep(gradients, at); }

  /// The hidden states before all steps, [steps, batch, hidden].
  Value statesBefore() {
    Value first = entry(firstHidden, number(direction));
    Value states = empty(builder, loc, {steps, batch, hidden}, element);
    states = withEntry(states, first, {number(isBackwards() ? steps - 1 : 0)});
    if (steps == 1)
      return states;
    // The others are those behind the step before.
    ArrayRef<int64_t> shape = tensorType(hiddens).getShape();
    SmallVector<OpFoldResult> offsets(4, number(0)), strides(4, number(1));
    SmallVector<OpFoldResult> sizes = {number(steps - 1), number(1),
                                       number(shape[2]), number(shape[3])};
    offsets[0] = number(isBackwards() ? 1 : 0);
    offsets[1] = number(direction);
    Value others = builder.create<tensor::ExtractSliceOp>(
        loc, RankedTensorType::get({steps - 1, shape[2], shape[3]}, element),
        hiddens, offsets, sizes, strides);
    SmallVector<OpFoldResult> to(3, number(0)), one(3, number(1));
    to[0] = number(isBackwards() ? 0 : 1);
    sizes.erase(sizes.begin() + 1);
    return builder.create<tensor::InsertSliceOp>(loc, others, states, to, sizes,
                                                 one);
  }

  /// `result` [directions, batch, steps, ...] with `value` [batch, ...] at a
  /// step.
  Value withStep(Value result, Value value, Value at) {
    ArrayRef<int64_t> shape = tensorType(result).getShape();
    SmallVector<OpFoldResult> offsets(shape.size(), number(0)), sizes;
    SmallVector<OpFoldResult> strides(shape.size(), number(1));
    for (int64_t size : shape)
      sizes.push_back(number(size));
    offsets[0] = number(direction);
    offsets[2] = at;
    sizes[0] = sizes[2] = number(1);
    return builder.create<tensor::InsertSliceOp>(loc, value, result, offsets,
                                                 sizes, strides);
  }

  /// `result` [directions, batch, steps, hidden] with the steps of `values`
  /// [steps, batch, hidden].
  Value withSteps(Value result, Value values) {
    Value turned = builder
                       .create<linalg::TransposeOp>(
                           loc, values,
                           empty(builder, loc, {batch, steps, hidden}, element),
                           ArrayRef<int64_t>{1, 0, 2})
                       .getResult()[0];
    return withEntry(result, turned, {number(direction)});
  }

  /// `result` [directions, ...] with `value` for this direction.
  Value withDirection(Value result, Value value) {
    return withEntry(result, value, {number(direction)});
  }

  /// Rows as the gates [batch, gates, hidden].
  Value joined(ArrayRef<Value> rows) {
    auto count = static_cast<int64_t>(rows.size());
    Value gates = empty(builder, loc, {batch, count, hidden}, element);
    for (auto [i, row] : llvm::enumerate(rows))
      gates = builder.create<tensor::InsertSliceOp>(
          loc, row, gates,
          ArrayRef<OpFoldResult>{number(0), number(i), number(0)},
          ArrayRef<OpFoldResult>{number(batch), number(1), number(hidden)},
          SmallVector<OpFoldResult>(3, number(1)));
    return gates;
  }

  /// Adds the gradients `gates` [batch, gates, hidden] times the weight
  /// [gates, hidden, k] to `sums` [batch, k]. A row of the weight stays in the
  /// cache while all samples meet it.
  Value addTransposed(Value gates, Value weight, Value sums) {
    auto map = [&](ArrayRef<unsigned> dims) {
      return AffineMap::getMultiDimMapWithTargets(4, dims,
                                                  builder.getContext());
    };
    return generic(builder, loc, {gates, weight}, sums,
                   {{map({2, 0, 1}), map({0, 1, 3}), map({2, 3})},
                    {Iterator::reduction, Iterator::reduction,
                     Iterator::parallel, Iterator::parallel}},
                   [](OpBuilder &nested, Location location, ValueRange e) {
                     return multiplyAdd(nested, location, e[0], e[1], e[2]);
                   });
  }

  /// `target` with the elements of `value`: loops carry values in place.
  Value copied(Value value, Value target) {
    return builder.create<linalg::CopyOp>(loc, value, target).getResult(0);
  }

  Value zeros(ArrayRef<int64_t> shape) {
    return filled(builder, loc, shape, scalar(builder, loc, element, 0));
  }

private:
  Value hiddens, gradients, firstHidden;
};

/// Arithmetic on elements, read from left to right.
struct Scalars {
  OpBuilder &builder;
  Location loc;

  Value add(Value a, Value b) const {
    return builder.create<arith::AddFOp>(loc, a, b);
  }
  Value sub(Value a, Value b) const {
    return builder.create<arith::SubFOp>(loc, a, b);
  }
  Value mul(Value a, Value b) const {
    return builder.create<arith::MulFOp>(loc, a, b);
  }
  Value rest(Value a) const { return sub(number(a, 1), a); }
  Value number(Value like, double value) const {
    return scalar(builder, loc, like.getType(), value);
  }
  /// `a` where `runs`, or always if that is null; else `b`.
  Value where(Value runs, Value a, Value b) const {
    return runs ? builder.create<arith::SelectOp>(loc, runs, a, b) : a;
  }
};
} // namespace

/// Uninitialised tensors in the types of an operation's results.
static SmallVector<Value> emptyResults(OpBuilder &builder, Operation *op) {
  SmallVector<Value> values;
  for (Value result : op->getResults())
    values.push_back(empty(builder, op->getLoc(), tensorType(result).getShape(),
                           tensorType(result).getElementType()));
  return values;
}

//===----------------------------------------------------------------------===//
// LSTM
//===----------------------------------------------------------------------===//

namespace {
struct LSTMBackwardLowering : public OpRewritePattern<nn::LSTMBackwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::LSTMBackwardOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> results = emptyResults(rewriter, op);
    int64_t directions = tensorType(op.getHidden()).getDimSize(1);
    for (int64_t direction = 0; direction < directions; ++direction)
      Direction{{rewriter, op, direction}, op}.run(results);
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  enum Gate { In, Out, Forget, Cell };

  /// What is computed again of one element.
  struct Forward {
    Value in, inSlope, forget, forgetSlope, gate, gateSlope, cell;
  };

  struct Direction {
    BackwardLayer layer;
    nn::LSTMBackwardOp op;

    std::pair<Value, Value> activate(const Scalars &s, Value value,
                                     int64_t which) {
      return layer.activateWithSlope(s.builder, s.loc, value,
                                     {layer.direction, which, 3,
                                      which == 0 ? nn::ActivationKind::Sigmoid
                                                 : nn::ActivationKind::Tanh});
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
      Value first =
          layer.entry(op.getFirstCell(), layer.number(layer.direction));
      Value cells =
          empty(layer.builder, layer.loc,
                {layer.steps, layer.batch, layer.hidden}, layer.element);
      return layer
          .forEachStep(
              layer.direction, /*isBack=*/false, {first, cells},
              [&](Value at, ValueRange values) -> SmallVector<Value> {
                Value before = values[0];
                Value kept =
                    layer.withEntry(values[1], before, {OpFoldResult(at)});
                Value cell = layer.compute(
                    inputsOfCell(layer.entry(gates, at), before, peephole), 1,
                    at,
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
        row = generic(
            layer.builder, layer.loc, {rows[which], factors[which]}, row,
            {{all, all, unit}, {Iterator::reduction, Iterator::parallel}},
            [](OpBuilder &builder, Location loc, ValueRange e) {
              return multiplyAdd(builder, loc, e[0], e[1], e[2]);
            });
        sums = layer.withEntry(sums, row, {layer.number(which)});
      }
      return sums;
    }

    void run(SmallVector<Value> &results) {
      OpFoldResult d = layer.number(layer.direction);
      Value weight = layer.entry(op.getRecurrentWeight(), d), peephole;
      if (op.getPeephole())
        peephole = layer.entry(op.getPeephole(), d);
      Value states = layer.statesBefore();
      Value gates = layer.addProduct(
          states, weight,
          layer.addProduct(op.getX(), layer.entry(op.getInputWeight(), d),
                           layer.repeated(layer.entry(op.getBias(), d),
                                          {layer.steps, layer.batch})));
      Value cells = cellsBefore(gates, peephole);
      results[1] = layer.withSteps(results[1], states);
      SmallVector<Value> values = {layer.zeros({layer.batch, layer.hidden}),
                                   layer.entry(op.getDLastCell(), d),
                                   results[0]};
      if (peephole)
        values.push_back(layer.zeros({3, layer.hidden}));
      values = layer.forEachStep(
          layer.direction, /*isBack=*/true, values,
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
};
} // namespace

//===----------------------------------------------------------------------===//
// GRU
//===----------------------------------------------------------------------===//

namespace {
struct GRUBackwardLowering : public OpRewritePattern<nn::GRUBackwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::GRUBackwardOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> results = emptyResults(rewriter, op);
    int64_t directions = tensorType(op.getHidden()).getDimSize(1);
    for (int64_t direction = 0; direction < directions; ++direction)
      Direction{{rewriter, op, direction}, op}.run(results);
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  enum Gate { Update, Reset, Hidden };

  struct Direction {
    BackwardLayer layer;
    nn::GRUBackwardOp op;
    /// Of all steps: the states before them; what inputs and biases add to the
    /// gates; what the states add.
    Value states = {}, fromInputs = {}, fromStates = {};
    /// r * h of all steps, if that is what the last gate reads.
    Value resetStates = {};

    std::pair<Value, Value> activate(const Scalars &s, Value value,
                                     int64_t which) {
      return layer.activateWithSlope(s.builder, s.loc, value,
                                     {layer.direction, which, 2,
                                      which == 0 ? nn::ActivationKind::Sigmoid
                                                 : nn::ActivationKind::Tanh});
    }

    /// Rows `which` of the bias for all steps; zeros for none.
    Value biases(ArrayRef<int64_t> which) {
      Value bias = layer.entry(op.getBias(), layer.number(layer.direction));
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
      OpFoldResult d = layer.number(layer.direction);
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
      return layer.compute(
          {layer.gate(inputs, Reset), layer.gate(products, Reset),
           layer.all(layer.entry(states, at)), layer.all(ofProduct),
           layer.all(rest)},
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
      OpFoldResult d = layer.number(layer.direction);
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      results[1] = layer.withSteps(results[1], states);
      if (resetStates)
        results[2] = layer.withSteps(results[2], resetStates);
      SmallVector<Value> values = layer.forEachStep(
          layer.direction, /*isBack=*/true,
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
};
} // namespace

//===----------------------------------------------------------------------===//
// RNN
//===----------------------------------------------------------------------===//

namespace {
struct RNNBackwardLowering : public OpRewritePattern<nn::RNNBackwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::RNNBackwardOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> results = emptyResults(rewriter, op);
    int64_t directions = tensorType(op.getHidden()).getDimSize(1);
    for (int64_t direction = 0; direction < directions; ++direction)
      run({rewriter, op, direction}, op, results);
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static void run(BackwardLayer layer, nn::RNNBackwardOp op,
                  SmallVector<Value> &results) {
    OpFoldResult d = layer.number(layer.direction);
    Value weight = layer.entry(op.getRecurrentWeight(), d);
    Value states = layer.statesBefore();
    Value sums = layer.addProduct(
        states, weight,
        layer.addProduct(op.getX(), layer.entry(op.getInputWeight(), d),
                         layer.repeated(layer.entry(op.getBias(), d),
                                        {layer.steps, layer.batch})));
    results[1] = layer.withSteps(results[1], states);
    auto element = [&](OpBuilder &builder, Location loc, ValueRange e,
                       Value runs) -> SmallVector<Value> {
      Scalars s{builder, loc};
      Value slope = layer
                        .activateWithSlope(
                            builder, loc, e[0],
                            {layer.direction, 0, 1, nn::ActivationKind::Tanh})
                        .second;
      Value dHidden = s.add(e[1], e[2]), zero = s.number(slope, 0);
      return {s.where(runs, s.mul(dHidden, slope), zero),
              s.where(runs, zero, dHidden)};
    };
    SmallVector<Value> values = layer.forEachStep(
        layer.direction, /*isBack=*/true,
        {layer.zeros({layer.batch, layer.hidden}), results[0]},
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
  patterns.add<LSTMBackwardLowering, GRUBackwardLowering, RNNBackwardLowering>(
      patterns.getContext());
}
