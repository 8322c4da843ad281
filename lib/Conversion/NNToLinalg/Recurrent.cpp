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

//===----------------------------------------------------------------------===//
// LSTM
//===----------------------------------------------------------------------===//

namespace {
struct LSTMLowering : public OpRewritePattern<nn::LSTMOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::LSTMOp op,
                                PatternRewriter &rewriter) const override {
    Layer layer(rewriter, op);
    Location loc = op.getLoc();
    RankedTensorType hidden = tensorType(op.getHidden());
    Value hiddens = empty(rewriter, loc, hidden.getShape(), layer.element);
    Value cells = empty(rewriter, loc, tensorType(op.getLastCell()).getShape(),
                        layer.element);
    for (int64_t direction = 0; direction < hidden.getDimSize(1); ++direction)
      run(layer, op, direction, hiddens, cells);
    rewriter.replaceOp(op, {hiddens, cells});
    return success();
  }

private:
  enum Gate { In, Out, Forget, Cell };

  static void run(Layer &layer, nn::LSTMOp op, int64_t direction,
                  Value &hiddens, Value &cells) {
    OpFoldResult d = layer.number(direction);
    Value weight = layer.entry(op.getRecurrentWeight(), d), peephole;
    if (op.getPeephole())
      peephole = layer.entry(op.getPeephole(), d);
    Value fromInputs =
        layer.addProduct(op.getX(), layer.entry(op.getInputWeight(), d),
                         layer.repeated(layer.entry(op.getBias(), d),
                                        {layer.steps, layer.batch}));
    auto activate = [&](OpBuilder &builder, Location loc, Value value,
                        int64_t which) {
      return layer.activate(builder, loc, value,
                            {direction, which, 3,
                             which == 0 ? nn::ActivationKind::Sigmoid
                                        : nn::ActivationKind::Tanh});
    };
    auto plus = [&](OpBuilder &builder, Location loc, Value sum, Value factor,
                    Value state) -> Value {
      return builder.create<arith::AddFOp>(
          loc, sum, builder.create<arith::MulFOp>(loc, factor, state));
    };
    auto step = [&](Value at, ValueRange states) -> SmallVector<Value> {
      Value gates =
          layer.addProduct(states[0], weight, layer.entry(fromInputs, at));
      SmallVector<Layer::Input> ofCell = {layer.gate(gates, In),
                                          layer.gate(gates, Forget),
                                          layer.gate(gates, Cell)};
      if (peephole)
        ofCell.append({layer.row(peephole, 0), layer.row(peephole, 2)});
      // The states are written in place.
      Value cell = layer.update(
          ofCell, states[1], at,
          [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            Value in = e[0], forget = e[1], old = e.back();
            if (peephole) {
              in = plus(builder, loc, in, e[3], old);
              forget = plus(builder, loc, forget, e[4], old);
            }
            in = activate(builder, loc, in, 0);
            if (op.getInputForget())
              forget = builder.create<arith::SubFOp>(
                  loc, scalar(builder, loc, in.getType(), 1), in);
            else
              forget = activate(builder, loc, forget, 0);
            Value kept = builder.create<arith::MulFOp>(loc, forget, old);
            return plus(builder, loc, kept, in,
                        activate(builder, loc, e[2], 1));
          });
      SmallVector<Layer::Input> ofHidden = {layer.gate(gates, Out),
                                            layer.all(cell)};
      if (peephole)
        ofHidden.push_back(layer.row(peephole, 1));
      Value hidden = layer.update(
          ofHidden, states[0], at,
          [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            Value out = peephole ? plus(builder, loc, e[0], e[2], e[1]) : e[0];
            return builder.create<arith::MulFOp>(
                loc, activate(builder, loc, out, 0),
                activate(builder, loc, e[1], 2));
          });
      return {hidden, cell};
    };
    SmallVector<Value> last = layer.run(direction,
                                        {layer.entry(op.getFirstHidden(), d),
                                         layer.entry(op.getFirstCell(), d)},
                                        hiddens, step);
    cells = layer.withEntry(cells, last[1], {d});
  }
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
    RankedTensorType hidden = tensorType(op.getHidden());
    Value hiddens =
        empty(rewriter, op.getLoc(), hidden.getShape(), layer.element);
    for (int64_t direction = 0; direction < hidden.getDimSize(1); ++direction)
      Direction{layer, op, direction}.run(hiddens);
    rewriter.replaceOp(op, hiddens);
    return success();
  }

private:
  enum Gate { Update, Reset, Hidden };

  struct Direction {
    Layer &layer;
    nn::GRUOp op;
    int64_t direction;

    Value activate(OpBuilder &builder, Location loc, Value value,
                   int64_t which) {
      return layer.activate(builder, loc, value,
                            {direction, which, 2,
                             which == 0 ? nn::ActivationKind::Sigmoid
                                        : nn::ActivationKind::Tanh});
    }

    static Value add(OpBuilder &builder, Location loc, Value a, Value b) {
      return builder.create<arith::AddFOp>(loc, a, b);
    }

    /// (1 - z) * g + z * h
    Value join(OpBuilder &builder, Location loc, Value z, Value g, Value h) {
      Value rest = builder.create<arith::SubFOp>(
          loc, scalar(builder, loc, z.getType(), 1), z);
      return add(builder, loc, builder.create<arith::MulFOp>(loc, rest, g),
                 builder.create<arith::MulFOp>(loc, z, h));
    }

    /// The reset is applied to what the recurrent weight makes of h.
    Value resetBehind(Value inputs, Value weight, Value bias, Value h,
                      Value at) {
      Value products =
          layer.addProduct(h, weight, layer.repeated(bias, {layer.batch}));
      return layer.update(
          {layer.gate(inputs, Update), layer.gate(inputs, Reset),
           layer.gate(inputs, Hidden), layer.gate(products, Update),
           layer.gate(products, Reset), layer.gate(products, Hidden)},
          h, at, [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            Value z = activate(builder, loc, add(builder, loc, e[0], e[3]), 0);
            Value r = activate(builder, loc, add(builder, loc, e[1], e[4]), 0);
            Value reset = builder.create<arith::MulFOp>(loc, r, e[5]);
            Value g = activate(builder, loc, add(builder, loc, e[2], reset), 1);
            return join(builder, loc, z, g, e.back());
          });
    }

    /// The reset is applied to h.
    Value resetBefore(Value inputs, Value weight, Value h, Value at) {
      Value gates = layer.addProduct(h, layer.part(weight, 0, 0, 2),
                                     layer.part(inputs, 1, 0, 2));
      Value output = empty(layer.builder, layer.loc,
                           {layer.batch, layer.hidden}, layer.element);
      Value reset = layer.update(
          {layer.gate(gates, Reset), layer.all(h)}, output, nullptr,
          [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            return builder.create<arith::MulFOp>(
                loc, activate(builder, loc, e[0], 0), e[1]);
          });
      Value sum = layer.addProduct(reset, layer.part(weight, 0, 2, 1),
                                   layer.part(inputs, 1, 2, 1));
      return layer.update(
          {layer.gate(gates, Update), layer.gate(sum, 0)}, h, at,
          [&](OpBuilder &builder, Location loc, ValueRange e) -> Value {
            return join(builder, loc, activate(builder, loc, e[0], 0),
                        activate(builder, loc, e[1], 1), e.back());
          });
    }

    /// The bias [4, hidden] as [3, hidden]: of inputs, or of products with h.
    Value biasOf(Value bias, bool ofProducts) {
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
            if (ofProducts)
              return own;
            return joins ? add(builder, loc, e[0], own) : e[0];
          });
    }

    void run(Value &hiddens) {
      OpFoldResult d = layer.number(direction);
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value bias = layer.entry(op.getBias(), d), ofProducts;
      Value fromInputs = layer.addProduct(
          op.getX(), layer.entry(op.getInputWeight(), d),
          layer.repeated(biasOf(bias, false), {layer.steps, layer.batch}));
      if (op.getLinearBeforeReset())
        ofProducts = biasOf(bias, true);
      layer.run(direction, {layer.entry(op.getFirstHidden(), d)}, hiddens,
                [&](Value at, ValueRange states) -> SmallVector<Value> {
                  Value inputs = layer.entry(fromInputs, at);
                  if (ofProducts)
                    return {
                        resetBehind(inputs, weight, ofProducts, states[0], at)};
                  return {resetBefore(inputs, weight, states[0], at)};
                });
    }
  };
};

struct RNNLowering : public OpRewritePattern<nn::RNNOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::RNNOp op,
                                PatternRewriter &rewriter) const override {
    Layer layer(rewriter, op);
    RankedTensorType hidden = tensorType(op.getHidden());
    Value hiddens =
        empty(rewriter, op.getLoc(), hidden.getShape(), layer.element);
    for (int64_t direction = 0; direction < hidden.getDimSize(1); ++direction) {
      OpFoldResult d = layer.number(direction);
      Value weight = layer.entry(op.getRecurrentWeight(), d);
      Value fromInputs =
          layer.addProduct(op.getX(), layer.entry(op.getInputWeight(), d),
                           layer.repeated(layer.entry(op.getBias(), d),
                                          {layer.steps, layer.batch}));
      auto element = [&](OpBuilder &builder, Location loc, ValueRange e) {
        return layer.activate(builder, loc, e[0],
                              {direction, 0, 1, nn::ActivationKind::Tanh});
      };
      layer.run(direction, {layer.entry(op.getFirstHidden(), d)}, hiddens,
                [&](Value at, ValueRange states) -> SmallVector<Value> {
                  Value sums = layer.addProduct(states[0], weight,
                                                layer.entry(fromInputs, at));
                  return {layer.update({layer.gate(sums, 0)}, states[0], at,
                                       element)};
                });
    }
    rewriter.replaceOp(op, hiddens);
    return success();
  }
};
} // namespace

void linalg_lowering::populateRecurrentPatterns(RewritePatternSet &patterns) {
  patterns.add<LSTMLowering, GRULowering, RNNLowering>(patterns.getContext());
}
