//===- Recurrent.cpp - Recurrent layers of nn to linalg -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

namespace {
/// What inputs add to the gates is one product for all steps; then a loop over
/// the steps.
struct LSTMLowering : public OpRewritePattern<nn::LSTMOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::LSTMOp op,
                                PatternRewriter &rewriter) const override {
    Layer layer(rewriter, op);
    Location loc = op.getLoc();
    RankedTensorType hidden = tensorType(op.getHidden());
    RankedTensorType cell = tensorType(op.getLastCell());
    Value states = empty(rewriter, loc, hidden.getShape(), layer.element);
    Value cells = empty(rewriter, loc, cell.getShape(), layer.element);
    for (int64_t direction = 0; direction < hidden.getDimSize(1); ++direction)
      layer.run(direction, states, cells);
    rewriter.replaceOp(op, {states, cells});
    return success();
  }

private:
  struct Layer {
    Layer(OpBuilder &builder, nn::LSTMOp op)
        : builder(builder), op(op), loc(op.getLoc()),
          element(tensorType(op.getX()).getElementType()),
          steps(tensorType(op.getX()).getDimSize(0)),
          batch(tensorType(op.getX()).getDimSize(1)),
          hidden(tensorType(op.getLastCell()).getDimSize(2)) {}

    OpBuilder &builder;
    nn::LSTMOp op;
    Location loc;
    Type element;
    int64_t steps, batch, hidden;

    OpFoldResult number(int64_t value) { return builder.getIndexAttr(value); }

    /// `tensor[index]`.
    Value entry(Value tensor, OpFoldResult index) {
      ArrayRef<int64_t> shape = tensorType(tensor).getShape();
      SmallVector<OpFoldResult> offsets(shape.size(), number(0));
      SmallVector<OpFoldResult> sizes, strides(shape.size(), number(1));
      for (int64_t size : shape)
        sizes.push_back(number(size));
      offsets[0] = index;
      sizes[0] = number(1);
      return builder.create<tensor::ExtractSliceOp>(
          loc, RankedTensorType::get(shape.drop_front(), element), tensor,
          offsets, sizes, strides);
    }

    /// `tensor` with `value` at the given leading indices.
    Value withEntry(Value tensor, Value value, ArrayRef<OpFoldResult> indices) {
      ArrayRef<int64_t> shape = tensorType(tensor).getShape();
      SmallVector<OpFoldResult> offsets(indices),
          sizes(indices.size(), number(1));
      SmallVector<OpFoldResult> strides(shape.size(), number(1));
      for (int64_t size : shape.drop_front(indices.size())) {
        offsets.push_back(number(0));
        sizes.push_back(number(size));
      }
      return builder.create<tensor::InsertSliceOp>(loc, value, tensor, offsets,
                                                   sizes, strides);
    }

    /// Adds `x` [rows..., k] times `weight` [4, hidden, k] to `sums`
    /// [rows..., 4, hidden]. A row of the weight stays in the cache while all
    /// rows of x meet it.
    Value addProduct(Value x, Value weight, Value sums) {
      unsigned rows = tensorType(x).getRank() - 1;
      auto dim = [&](unsigned i) { return builder.getAffineDimExpr(i); };
      AffineExpr gate = dim(0), unit = dim(1), k = dim(2 + rows);
      SmallVector<AffineExpr> ofX, ofSums;
      for (unsigned i = 0; i < rows; ++i) {
        ofX.push_back(dim(2 + i));
        ofSums.push_back(dim(2 + i));
      }
      ofX.push_back(k);
      ofSums.append({gate, unit});
      MLIRContext *context = builder.getContext();
      SmallVector<AffineMap> maps = {
          AffineMap::get(3 + rows, 0, ofX, context),
          AffineMap::get(3 + rows, 0, {gate, unit, k}, context),
          AffineMap::get(3 + rows, 0, ofSums, context)};
      SmallVector<Iterator> iterators(3 + rows, Iterator::parallel);
      iterators.back() = Iterator::reduction;
      return generic(
          builder, loc, {x, weight}, sums, maps, iterators,
          [](OpBuilder &nested, Location location, ValueRange elements) {
            return multiplyAdd(nested, location, elements[0], elements[1],
                               elements[2]);
          });
    }

    /// Writes into `output` [batch, hidden] what `body` makes of the gates
    /// `which` of [batch, 4, hidden], of `others` and of the output.
    Value overGates(Value gates, ArrayRef<int64_t> which, ValueRange others,
                    Value output, ElementBuilder body) {
      AffineExpr n = builder.getAffineDimExpr(0),
                 unit = builder.getAffineDimExpr(1);
      SmallVector<Value> inputs(which.size(), gates);
      SmallVector<AffineMap> maps;
      for (int64_t gate : which)
        maps.push_back(
            AffineMap::get(2, 0, {n, builder.getAffineConstantExpr(gate), unit},
                           builder.getContext()));
      llvm::append_range(inputs, others);
      maps.append(others.size() + 1, builder.getMultiDimIdentityMap(2));
      return generic(builder, loc, inputs, output, maps,
                     {Iterator::parallel, Iterator::parallel}, body);
    }

    void run(int64_t direction, Value &states, Value &cells) {
      Value inputWeight = entry(op.getInputWeight(), number(direction));
      Value recurrentWeight = entry(op.getRecurrentWeight(), number(direction));
      Value bias = entry(op.getBias(), number(direction));
      SmallVector<int64_t> gatesShape = {steps, batch, 4, hidden};
      Value sums = builder
                       .create<linalg::BroadcastOp>(
                           loc, bias, empty(builder, loc, gatesShape, element),
                           ArrayRef<int64_t>{0, 1})
                       .getResult()[0];
      Value fromInputs = addProduct(op.getX(), inputWeight, sums);

      bool backwards = op.getReverse() || direction == 1;
      Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
      Value one = builder.create<arith::ConstantIndexOp>(loc, 1);
      Value end = builder.create<arith::ConstantIndexOp>(loc, steps);
      Value last = builder.create<arith::ConstantIndexOp>(loc, steps - 1);
      auto loop = builder.create<scf::ForOp>(
          loc, zero, end, one,
          ValueRange{entry(op.getFirstHidden(), number(direction)),
                     entry(op.getFirstCell(), number(direction)), states});
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value step = loop.getInductionVar();
      if (backwards)
        step = builder.create<arith::SubIOp>(loc, last, step);
      Value h = loop.getRegionIterArg(0), c = loop.getRegionIterArg(1);
      Value gates = addProduct(h, recurrentWeight, entry(fromInputs, step));
      // The state is written in place.
      Value nextC = overGates(
          gates, {0, 2, 3}, {}, c,
          [](OpBuilder &nested, Location location, ValueRange e) -> Value {
            Value kept = nested.create<arith::MulFOp>(
                location, sigmoid(nested, location, e[1]), e[3]);
            Value added = nested.create<arith::MulFOp>(
                location, sigmoid(nested, location, e[0]),
                nested.create<math::TanhOp>(location, e[2]));
            return nested.create<arith::AddFOp>(location, kept, added);
          });
      Value nextH = overGates(
          gates, {1}, nextC, h,
          [](OpBuilder &nested, Location location, ValueRange e) -> Value {
            return nested.create<arith::MulFOp>(
                location, sigmoid(nested, location, e[0]),
                nested.create<math::TanhOp>(location, e[1]));
          });
      Value nextStates = withEntry(loop.getRegionIterArg(2), nextH,
                                   {OpFoldResult(step), number(direction)});
      builder.create<scf::YieldOp>(loc, ValueRange{nextH, nextC, nextStates});
      builder.setInsertionPointAfter(loop);
      states = loop.getResult(2);
      cells = withEntry(cells, loop.getResult(1), {number(direction)});
    }
  };
};
} // namespace

void linalg_lowering::populateRecurrentPatterns(RewritePatternSet &patterns) {
  patterns.add<LSTMLowering>(patterns.getContext());
}
