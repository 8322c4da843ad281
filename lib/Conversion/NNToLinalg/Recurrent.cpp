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

    /// Activates gates [first, first + count), which see `state` through
    /// peepholes unless it is null. Gates are activated together where that is
    /// possible, since every loop has its own copy of the function.
    Value activateGates(Value gates, int64_t first, int64_t count,
                        Value state = nullptr) {
      SmallVector<Layer::Input> seen;
      OpBuilder &b = layer.builder;
      if (state) {
        AffineExpr sample = b.getAffineDimExpr(0), unit = b.getAffineDimExpr(2);
        AffineExpr row = b.getAffineDimExpr(1);
        seen = {{layer.part(peephole, 0, first, count),
                 AffineMap::get(3, 0, {row, unit}, b.getContext())},
                {state, AffineMap::get(3, 0, {sample, unit}, b.getContext())}};
      }
      return layer.updateGates(
          gates, first, count, seen,
          [&](OpBuilder &builder, Location loc, ValueRange e) {
            Value sum = e.back();
            if (state)
              sum = add(builder, loc, sum, multiply(builder, loc, e[0], e[1]));
            return activate(builder, loc, sum, 0);
          });
    }

    /// The states behind a step. They are written in place.
    SmallVector<Value> step(Value gates, ValueRange states, Value at) {
      bool isCoupled = op.getInputForget(); // Forget is 1 - In.
      if (!peephole) {
        gates = activateGates(gates, In, isCoupled ? 2 : 3);
      } else {
        gates = activateGates(gates, In, 1, states[1]);
        if (!isCoupled)
          gates = activateGates(gates, Forget, 1, states[1]);
      }
      Value cell = layer.update(
          {layer.gate(gates, In), layer.gate(gates, isCoupled ? In : Forget),
           layer.gate(gates, Cell)},
          states[1], at,
          [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            Value forget = e[1];
            if (isCoupled)
              forget = builder.create<arith::SubFOp>(
                  loc, scalar(builder, loc, e[0].getType(), 1), e[0]);
            Value added =
                multiply(builder, loc, e[0], activate(builder, loc, e[2], 1));
            return add(builder, loc, multiply(builder, loc, forget, e.back()),
                       added);
          });
      if (peephole)
        gates = activateGates(gates, Out, 1, cell);
      Value hidden =
          layer.update({layer.gate(gates, Out), layer.all(cell)}, states[0], at,
                       [&](OpBuilder &builder, Location loc, ValueRange e) {
                         return multiply(builder, loc, e[0],
                                         activate(builder, loc, e[1], 2));
                       });
      return {hidden, cell};
    }

    SmallVector<Value> run(Value hiddens, Value cells) {
      OpFoldResult d = layer.direction;
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value fromInputs = layer.fromInputs(op);
      SmallVector<Value> last =
          layer.run({layer.entry(op.getFirstHidden(), d),
                     layer.entry(op.getFirstCell(), d)},
                    hiddens, [&](Value at, ValueRange states) {
                      Value gates = layer.addProduct(
                          states[0], weight, layer.entry(fromInputs, at));
                      return step(gates, states, at);
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
    Value resetBehind(Value inputs, Value weight, Value bias, Value h,
                      Value at) {
      Value products =
          layer.addProduct(h, weight, layer.repeated(bias, {layer.batch}));
      Value gates = layer.updateGates(
          products, Update, 2,
          {{layer.part(inputs, 1, Update, 2),
            layer.builder.getMultiDimIdentityMap(3)}},
          [&](OpBuilder &builder, Location loc, ValueRange e) {
            return activate(builder, loc, add(builder, loc, e[0], e[1]), 0);
          });
      return layer.update(
          {layer.gate(gates, Update), layer.gate(gates, Reset),
           layer.gate(gates, Hidden), layer.gate(inputs, Hidden)},
          h, at, [&](OpBuilder &builder, Location loc, ValueRange e) {
            Value sum =
                add(builder, loc, e[3], multiply(builder, loc, e[1], e[2]));
            return join(builder, loc, e[0], activate(builder, loc, sum, 1),
                        e.back());
          });
    }

    /// The reset is applied to h.
    Value resetBefore(Value inputs, Value weight, Value h, Value at) {
      Value gates = layer.addProduct(h, layer.part(weight, 0, 0, 2),
                                     layer.part(inputs, 1, 0, 2));
      gates = layer.updateGates(
          gates, Update, 2, {},
          [&](OpBuilder &builder, Location loc, ValueRange e) {
            return activate(builder, loc, e[0], 0);
          });
      Value output = empty(layer.builder, layer.loc,
                           {layer.batch, layer.hidden}, layer.element);
      Value reset =
          layer.update({layer.gate(gates, Reset), layer.all(h)}, output,
                       nullptr, [](OpBuilder &builder, Location loc, auto e) {
                         return multiply(builder, loc, e[0], e[1]);
                       });
      Value sum = layer.addProduct(reset, layer.part(weight, 0, 2, 1),
                                   layer.part(inputs, 1, 2, 1));
      return layer.update(
          {layer.gate(gates, Update), layer.gate(sum, 0)}, h, at,
          [&](OpBuilder &builder, Location loc, ValueRange e) {
            return join(builder, loc, e[0], activate(builder, loc, e[1], 1),
                        e.back());
          });
    }

    /// What a bias is added to.
    enum class Sum { OfInputs, OfProducts };

    /// The bias [4, hidden] as [3, hidden]: that of inputs, or that of products
    /// with h.
    Value biasOf(Value bias, Sum sum) {
      SmallVector<int64_t> shape = {3, layer.hidden};
      AffineMap identity = layer.builder.getMultiDimIdentityMap(2);
      bool joins = !op.getLinearBeforeReset();
      Value last = layer.part(bias, 0, 3, 1);
      Value row = layer.entry(last, layer.number(0));
      AffineMap unit = AffineMap::get(2, 0, layer.builder.getAffineDimExpr(1));
      return generic(
          layer.builder, layer.loc, {layer.part(bias, 0, 0, 3), row},
          empty(layer.builder, layer.loc, shape, layer.element),
          {{identity, unit, identity},
           {Iterator::parallel, Iterator::parallel}},
          [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            Value isHidden = builder.create<arith::CmpIOp>(
                loc, arith::CmpIPredicate::eq,
                builder.create<linalg::IndexOp>(loc, 0),
                builder.create<arith::ConstantIndexOp>(loc, Hidden));
            Value zero = scalar(builder, loc, e[0].getType(), 0);
            Value own =
                builder.create<arith::SelectOp>(loc, isHidden, e[1], zero);
            if (sum == Sum::OfProducts)
              return own;
            return joins ? add(builder, loc, e[0], own) : e[0];
          });
    }

    SmallVector<Value> run(Value hiddens) {
      OpFoldResult d = layer.direction;
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value bias = layer.entry(op.getBias(), d), ofProducts;
      Value fromInputs =
          layer.addProduct(op.getX(), layer.entry(op.getInputWeight(), d),
                           layer.repeated(biasOf(bias, Sum::OfInputs),
                                          {layer.steps, layer.batch}));
      if (op.getLinearBeforeReset())
        ofProducts = biasOf(bias, Sum::OfProducts);
      layer.run({layer.entry(op.getFirstHidden(), d)}, hiddens,
                [&](Value at, ValueRange states) -> SmallVector<Value> {
                  Value inputs = layer.entry(fromInputs, at);
                  if (ofProducts)
                    return {
                        resetBehind(inputs, weight, ofProducts, states[0], at)};
                  return {resetBefore(inputs, weight, states[0], at)};
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
    auto element = [&](OpBuilder &builder, Location loc, ValueRange e) {
      return layer.activate(builder, loc, e[0],
                            {0, 1, nn::ActivationKind::Tanh});
    };
    auto build = [&](ValueRange results) -> SmallVector<Value> {
      OpFoldResult d = layer.direction;
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value fromInputs = layer.fromInputs(op);
      Value hiddens = results[0];
      layer.run({layer.entry(op.getFirstHidden(), d)}, hiddens,
                [&](Value at, ValueRange states) -> SmallVector<Value> {
                  Value sums = layer.addProduct(states[0], weight,
                                                layer.entry(fromInputs, at));
                  return {layer.update({layer.gate(sums, 0)}, states[0], at,
                                       element)};
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
