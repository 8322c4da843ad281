//===- BackwardLayer.h - One direction of a layer, back -------------------===//
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

#ifndef SOAP_LIB_CONVERSION_NNTOLINALG_BACKWARDLAYER_H
#define SOAP_LIB_CONVERSION_NNTOLINALG_BACKWARDLAYER_H

#include "RecurrentLayer.h"

namespace soap::linalg_lowering {

/// One direction of a layer, back. A row of values is [batch, hidden].
class BackwardLayer : public Layer {
public:
  template <typename Op>
  BackwardLayer(mlir::OpBuilder &builder, Op op, int64_t direction)
      : Layer(builder, op), hiddens(op.getHidden()), gradients(op.getDHidden()),
        firstHidden(op.getFirstHidden()) {
    this->direction = number(direction);
    knownDirection = direction;
  }

  bool isBackwards() const { return isReverse || knownDirection == 1; }

  /// `tensor` [steps, directions, ...] at a step.
  mlir::Value ofStep(mlir::Value tensor, mlir::Value at) {
    return entry(entry(tensor, at), direction);
  }
  mlir::Value gradientOf(mlir::Value at) { return ofStep(gradients, at); }

  /// The hidden states before all steps, [steps, batch, hidden].
  mlir::Value statesBefore();

  /// `result` [directions, batch, steps, ...] with `value` [batch, ...] at a
  /// step.
  mlir::Value withStep(mlir::Value result, mlir::Value value, mlir::Value at);

  /// `result` [directions, batch, steps, hidden] with the steps of `values`
  /// [steps, batch, hidden].
  mlir::Value withSteps(mlir::Value result, mlir::Value values);

  /// `result` [directions, ...] with `value` for this direction.
  mlir::Value withDirection(mlir::Value result, mlir::Value value) {
    return withEntry(result, value, {direction});
  }

  /// Rows as the gates [batch, gates, hidden].
  mlir::Value joined(llvm::ArrayRef<mlir::Value> rows);

  /// Adds the gradients `gates` [batch, gates, hidden] times the weight
  /// [gates, hidden, k] to `sums` [batch, k]. A row of the weight stays in the
  /// cache while all samples meet it.
  mlir::Value addTransposed(mlir::Value gates, mlir::Value weight,
                            mlir::Value sums);

  /// `target` with the elements of `value`: loops carry values in place.
  mlir::Value copied(mlir::Value value, mlir::Value target) {
    return builder.create<mlir::linalg::CopyOp>(loc, value, target)
        .getResult(0);
  }

  mlir::Value zeros(llvm::ArrayRef<int64_t> shape) {
    return filled(builder, loc, shape, scalar(builder, loc, element, 0));
  }

private:
  mlir::Value hiddens, gradients, firstHidden;
};

/// Builds the directions of `Op`, one after the other:
/// `Direction{layer, op}.run(results)` fills one into the results.
template <typename Op, typename Direction>
struct BackwardLowering : public mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;

  mlir::LogicalResult
  matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    llvm::SmallVector<mlir::Value> results = emptyResults(rewriter, op);
    int64_t directions = tensorType(op.getHidden()).getDimSize(1);
    for (int64_t direction = 0; direction < directions; ++direction)
      Direction{{rewriter, op, direction}, op}.run(results);
    rewriter.replaceOp(op, results);
    return mlir::success();
  }
};

/// Arithmetic on elements, read from left to right.
struct Scalars {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value add(mlir::Value a, mlir::Value b) const {
    return builder.create<mlir::arith::AddFOp>(loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) const {
    return builder.create<mlir::arith::SubFOp>(loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) const {
    return builder.create<mlir::arith::MulFOp>(loc, a, b);
  }
  mlir::Value rest(mlir::Value a) const { return sub(number(a, 1), a); }
  mlir::Value number(mlir::Value like, double value) const {
    return scalar(builder, loc, like.getType(), value);
  }
  /// `a` where `runs`, or always if that is null; else `b`.
  mlir::Value where(mlir::Value runs, mlir::Value a, mlir::Value b) const {
    return runs ? builder.create<mlir::arith::SelectOp>(loc, runs, a, b) : a;
  }
};

void populateLSTMGradientPatterns(mlir::RewritePatternSet &patterns);

} // namespace soap::linalg_lowering

#endif // SOAP_LIB_CONVERSION_NNTOLINALG_BACKWARDLAYER_H
