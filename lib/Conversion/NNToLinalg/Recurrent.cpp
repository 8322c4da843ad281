//===- Recurrent.cpp - Recurrent layers of nn to linalg -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentLayer.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

static Value add(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.create<arith::AddFOp>(loc, a, b);
}

static Value multiply(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.create<arith::MulFOp>(loc, a, b);
}

//===----------------------------------------------------------------------===//
// LSTM
//===----------------------------------------------------------------------===//

namespace {
struct LSTMLowering : public OpRewritePattern<nn::LSTMOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::LSTMOp op,
                                PatternRewriter &rewriter) const override {
    Layer layer(rewriter, op);
    auto build = [&](ValueRange results) {
      Value peephole;
      if (op.getPeephole())
        peephole = layer.entry(op.getPeephole(), layer.direction);
      return Direction{layer, op, peephole}.run(results[0], results[1]);
    };
    rewriter.replaceOp(op,
                       layer.forDirections(emptyResults(rewriter, op), build));
    return success();
  }

private:
  enum Gate { In, Out, Forget, Cell };

  struct Direction {
    Layer &layer;
    nn::LSTMOp op;
    Value peephole; ///< May be null.

    Value activate(OpBuilder &builder, Location loc, Value value,
                   int64_t which) {
      return layer.activate(builder, loc, value,
                            {which, 3,
                             which == 0 ? nn::ActivationKind::Sigmoid
                                        : nn::ActivationKind::Tanh});
    }

    /// The states behind a step, to whose gates the inputs add `inputs`.
    SmallVector<Value> step(Value inputs, Value weight, ValueRange states,
                            Value at) {
      Value products = layer.product(states[0], weight);
      SmallVector<Layer::Input> read;
      for (Gate which : {In, Out, Forget, Cell}) {
        read.push_back(layer.gate(inputs, which));
        read.push_back(layer.gate(products, which));
      }
      if (peephole)
        for (Gate which : {In, Out, Forget})
          read.push_back(layer.row(peephole, which));
      return layer.updateStates(
          read, states, at,
          [&](OpBuilder &builder, Location loc, ValueRange e,
              ValueRange old) -> SmallVector<Value> {
            // The gate that sees `state` through its peephole.
            auto gate = [&](Gate which, Value state) {
              Value sum = add(builder, loc, e[2 * which], e[2 * which + 1]);
              if (peephole && state)
                sum = add(builder, loc, sum,
                          multiply(builder, loc, e[8 + which], state));
              return activate(builder, loc, sum, which == Cell ? 1 : 0);
            };
            Value in = gate(In, old[1]);
            Value forget;
            if (op.getInputForget())
              forget = builder.create<arith::SubFOp>(
                  loc, scalar(builder, loc, in.getType(), 1), in);
            else
              forget = gate(Forget, old[1]);
            Value kept = multiply(builder, loc, forget, old[1]);
            Value added = multiply(builder, loc, in, gate(Cell, nullptr));
            Value cell = add(builder, loc, kept, added);
            Value hidden = multiply(builder, loc, gate(Out, cell),
                                    activate(builder, loc, cell, 2));
            return {hidden, cell};
          });
    }

    SmallVector<Value> run(Value hiddens, Value cells) {
      OpFoldResult d = layer.direction;
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value fromInputs = layer.fromInputs(op);
      SmallVector<Value> last = layer.run(
          {layer.entry(op.getFirstHidden(), d),
           layer.entry(op.getFirstCell(), d)},
          hiddens, [&](Value at, ValueRange states) {
            return step(layer.entry(fromInputs, at), weight, states, at);
          });
      return {hiddens, layer.withEntry(cells, last[1], {d})};
    }
  };
};
} // namespace

//===----------------------------------------------------------------------===//
// GRU and RNN
//===----------------------------------------------------------------------===//

namespace {
struct GRULowering : public OpRewritePattern<nn::GRUOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::GRUOp op,
                                PatternRewriter &rewriter) const override {
    Layer layer(rewriter, op);
    rewriter.replaceOp(
        op, layer.forDirections(emptyResults(rewriter, op),
                                [&](ValueRange results) {
                                  return Direction{layer, op}.run(results[0]);
                                }));
    return success();
  }

private:
  enum Gate { Update, Reset, Hidden };

  struct Direction {
    Layer &layer;
    nn::GRUOp op;

    Value activate(OpBuilder &builder, Location loc, Value value,
                   int64_t which) {
      return layer.activate(builder, loc, value,
                            {which, 2,
                             which == 0 ? nn::ActivationKind::Sigmoid
                                        : nn::ActivationKind::Tanh});
    }

    /// (1 - z) * g + z * h
    Value join(OpBuilder &builder, Location loc, Value z, Value g, Value h) {
      Value rest = builder.create<arith::SubFOp>(
          loc, scalar(builder, loc, z.getType(), 1), z);
      return add(builder, loc, multiply(builder, loc, rest, g),
                 multiply(builder, loc, z, h));
    }

    /// The reset is applied to what the recurrent weight makes of h.
    SmallVector<Value> resetBehind(Value inputs, Value weight, Value bias,
                                   ValueRange states, Value at) {
      Value products = layer.product(states[0], weight);
      SmallVector<Layer::Input> read;
      for (Gate which : {Update, Reset, Hidden}) {
        read.push_back(layer.gate(inputs, which));
        read.push_back(layer.gate(products, which));
      }
      read.push_back(layer.row(bias, ofProducts));
      return layer.updateStates(
          read, states, at,
          [&](OpBuilder &builder, Location loc, ValueRange e,
              ValueRange old) -> SmallVector<Value> {
            auto gate = [&](Gate which) {
              Value sum = add(builder, loc, e[2 * which], e[2 * which + 1]);
              return activate(builder, loc, sum, 0);
            };
            Value product = add(builder, loc, e[2 * Hidden + 1], e.back());
            Value sum = add(builder, loc, e[2 * Hidden],
                            multiply(builder, loc, gate(Reset), product));
            return {join(builder, loc, gate(Update),
                         activate(builder, loc, sum, 1), old[0])};
          });
    }

    /// The reset is applied to h.
    SmallVector<Value> resetBefore(Value inputs, Value weight,
                                   ValueRange states, Value at) {
      Value h = states[0];
      Value products = layer.product(h, layer.part(weight, 0, 0, 2));
      SmallVector<Value> gates = layer.compute(
          {layer.gate(inputs, Update), layer.gate(products, Update),
           layer.gate(inputs, Reset), layer.gate(products, Reset),
           layer.all(h)},
          2, nullptr,
          [&](OpBuilder &builder, Location loc, ValueRange e,
              Value) -> SmallVector<Value> {
            Value update =
                activate(builder, loc, add(builder, loc, e[0], e[1]), 0);
            Value reset =
                activate(builder, loc, add(builder, loc, e[2], e[3]), 0);
            return {update, multiply(builder, loc, reset, e[4])};
          });
      Value product = layer.product(gates[1], layer.part(weight, 0, 2, 1));
      return layer.updateStates(
          {layer.all(gates[0]), layer.gate(inputs, Hidden),
           layer.gate(product, 0)},
          states, at,
          [&](OpBuilder &builder, Location loc, ValueRange e,
              ValueRange old) -> SmallVector<Value> {
            Value sum = add(builder, loc, e[1], e[2]);
            return {join(builder, loc, e[0], activate(builder, loc, sum, 1),
                         old[0])};
          });
    }

    /// The row of the bias [4, hidden] that is added to products with h.
    static constexpr int64_t ofProducts = 3;

    /// What is added to the products with inputs, [3, hidden]: rows of the
    /// bias, and in the last one that of products with h, unless the reset is
    /// applied to it.
    Value biasOfInputs(Value bias) {
      Value rows = layer.part(bias, 0, 0, 3);
      if (op.getLinearBeforeReset())
        return rows;
      AffineMap identity = layer.builder.getMultiDimIdentityMap(2);
      return generic(
          layer.builder, layer.loc,
          {rows, layer.entry(bias, layer.number(ofProducts))},
          empty(layer.builder, layer.loc, {3, layer.hidden}, layer.element),
          {{identity, AffineMap::get(2, 0, layer.builder.getAffineDimExpr(1)),
            identity},
           {Iterator::parallel, Iterator::parallel}},
          [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            Value isHidden = builder.create<arith::CmpIOp>(
                loc, arith::CmpIPredicate::eq,
                builder.create<linalg::IndexOp>(loc, 0),
                builder.create<arith::ConstantIndexOp>(loc, Hidden));
            return builder.create<arith::SelectOp>(
                loc, isHidden, add(builder, loc, e[0], e[1]), e[0]);
          });
    }

    SmallVector<Value> run(Value hiddens) {
      OpFoldResult d = layer.direction;
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value bias = layer.entry(op.getBias(), d);
      Value fromInputs = layer.addProduct(
          op.getX(), layer.entry(op.getInputWeight(), d),
          layer.repeated(biasOfInputs(bias), {layer.steps, layer.batch}));
      layer.run({layer.entry(op.getFirstHidden(), d)}, hiddens,
                [&](Value at, ValueRange states) {
                  Value inputs = layer.entry(fromInputs, at);
                  if (op.getLinearBeforeReset())
                    return resetBehind(inputs, weight, bias, states, at);
                  return resetBefore(inputs, weight, states, at);
                });
      return {hiddens};
    }
  };
};

struct RNNLowering : public OpRewritePattern<nn::RNNOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::RNNOp op,
                                PatternRewriter &rewriter) const override {
    Layer layer(rewriter, op);
    auto element = [&](OpBuilder &builder, Location loc, ValueRange e,
                       ValueRange) -> SmallVector<Value> {
      return {layer.activate(builder, loc, add(builder, loc, e[0], e[1]),
                             {0, 1, nn::ActivationKind::Tanh})};
    };
    auto build = [&](ValueRange results) -> SmallVector<Value> {
      OpFoldResult d = layer.direction;
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value fromInputs = layer.fromInputs(op);
      Value hiddens = results[0];
      layer.run({layer.entry(op.getFirstHidden(), d)}, hiddens,
                [&](Value at, ValueRange states) {
                  return layer.updateStates(
                      {layer.gate(layer.entry(fromInputs, at), 0),
                       layer.gate(layer.product(states[0], weight), 0)},
                      states, at, element);
                });
      return {hiddens};
    };
    rewriter.replaceOp(op,
                       layer.forDirections(emptyResults(rewriter, op), build));
    return success();
  }
};
} // namespace

void linalg_lowering::populateRecurrentPatterns(RewritePatternSet &patterns) {
  patterns.add<LSTMLowering, GRULowering, RNNLowering>(patterns.getContext());
}
