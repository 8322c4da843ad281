//===- Elementwise.cpp - Element-wise nn operations to linalg -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

bool soap::isElementwise(Operation *op) {
  return isa<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::MaxOp, nn::MinOp,
             nn::ReluOp, nn::SigmoidOp, nn::TanhOp, nn::SqrtOp, nn::ClipOp,
             nn::BatchNormOp>(op);
}

llvm::SmallBitVector soap::elementwiseAccess(Operation *op, unsigned operand) {
  ArrayRef<int64_t> result = tensorType(op->getResult(0)).getShape();
  ArrayRef<int64_t> shape = tensorType(op->getOperand(operand)).getShape();
  llvm::SmallBitVector varies(result.size());
  // Operands align on the right, the vectors of a batch norm with the channels.
  size_t first = isa<nn::BatchNormOp>(op) && operand > 0
                     ? 1
                     : result.size() - shape.size();
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i] == 1 || (i >= first && i - first < shape.size() &&
                           shape[i - first] == result[i]))
      varies.set(i);
  return varies;
}

/// A float or an integer operation, by type.
template <typename FloatOp, typename IntegerOp>
static Value binary(OpBuilder &builder, Location loc, ValueRange elements) {
  if (isa<FloatType>(elements[0].getType()))
    return builder.create<FloatOp>(loc, elements[0], elements[1]);
  return builder.create<IntegerOp>(loc, elements[0], elements[1]);
}

/// `value` where `left` `predicate` `right` does not hold, else `otherwise`;
/// the predicate is ordered, so NaN stays `value`.
static Value replaceIf(OpBuilder &builder, Location loc,
                       arith::CmpFPredicate predicate, Value value,
                       Value bound) {
  Value outside = builder.create<arith::CmpFOp>(loc, predicate, value, bound);
  return builder.create<arith::SelectOp>(loc, outside, bound, value);
}

static Value buildBatchNorm(OpBuilder &builder, Location loc,
                            nn::BatchNormOp op, ValueRange elements) {
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(),
                                             arith::FastMathFlags::contract);
  Value epsilon = scalar(builder, loc, elements[0].getType(),
                         op.getEpsilon().convertToDouble());
  Value variance =
      builder.create<arith::AddFOp>(loc, elements[4], epsilon, flags);
  Value deviation = builder.create<math::SqrtOp>(loc, variance);
  Value factor =
      builder.create<arith::DivFOp>(loc, elements[1], deviation, flags);
  Value centred =
      builder.create<arith::SubFOp>(loc, elements[0], elements[3], flags);
  Value scaled = builder.create<arith::MulFOp>(loc, centred, factor, flags);
  return builder.create<arith::AddFOp>(loc, scaled, elements[2], flags);
}

Value soap::buildElementwiseScalar(OpBuilder &builder, Location loc,
                                   Operation *op, ValueRange elements) {
  Type type = elements[0].getType();
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::AddOp) {
        return binary<arith::AddFOp, arith::AddIOp>(builder, loc, elements);
      })
      .Case([&](nn::SubOp) {
        return binary<arith::SubFOp, arith::SubIOp>(builder, loc, elements);
      })
      .Case([&](nn::MulOp) {
        return binary<arith::MulFOp, arith::MulIOp>(builder, loc, elements);
      })
      .Case([&](nn::DivOp) {
        return binary<arith::DivFOp, arith::DivSIOp>(builder, loc, elements);
      })
      .Case([&](nn::MaxOp) {
        return binary<arith::MaximumFOp, arith::MaxSIOp>(builder, loc,
                                                         elements);
      })
      .Case([&](nn::MinOp) {
        return binary<arith::MinimumFOp, arith::MinSIOp>(builder, loc,
                                                         elements);
      })
      .Case([&](nn::ReluOp) {
        return replaceIf(builder, loc, arith::CmpFPredicate::OLT, elements[0],
                         scalar(builder, loc, type, 0));
      })
      .Case([&](nn::ClipOp clip) {
        // ONNX: min(max(x, lower), upper), also if lower > upper.
        Value lower =
            scalar(builder, loc, type, clip.getMin().convertToDouble());
        Value upper =
            scalar(builder, loc, type, clip.getMax().convertToDouble());
        Value raised = replaceIf(builder, loc, arith::CmpFPredicate::OLT,
                                 elements[0], lower);
        return replaceIf(builder, loc, arith::CmpFPredicate::OGT, raised,
                         upper);
      })
      .Case([&](nn::SigmoidOp) -> Value {
        Value one = scalar(builder, loc, type, 1);
        Value negated = builder.create<arith::NegFOp>(loc, elements[0]);
        Value exponential = builder.create<math::ExpOp>(loc, negated);
        Value sum = builder.create<arith::AddFOp>(loc, one, exponential);
        return builder.create<arith::DivFOp>(loc, one, sum);
      })
      .Case([&](nn::TanhOp) -> Value {
        return builder.create<math::TanhOp>(loc, elements[0]);
      })
      .Case([&](nn::SqrtOp) -> Value {
        return builder.create<math::SqrtOp>(loc, elements[0]);
      })
      .Case([&](nn::BatchNormOp batchNorm) {
        return buildBatchNorm(builder, loc, batchNorm, elements);
      })
      .Default([](Operation *) { return Value(); });
}

namespace {
/// All element-wise operations: one generic with the shape of the result.
struct ElementwiseLowering : public RewritePattern {
  explicit ElementwiseLowering(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op))
      return failure();
    RankedTensorType type = tensorType(op->getResult(0));
    unsigned rank = type.getRank();
    SmallVector<AffineMap> maps;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      llvm::SmallBitVector varies = elementwiseAccess(op, index);
      unsigned operandRank = tensorType(operand).getRank();
      unsigned first =
          isa<nn::BatchNormOp>(op) && index > 0 ? 1 : rank - operandRank;
      SmallVector<AffineExpr> exprs;
      for (unsigned dim = first; dim < first + operandRank; ++dim)
        exprs.push_back(varies[dim] ? rewriter.getAffineDimExpr(dim)
                                    : rewriter.getAffineConstantExpr(0));
      maps.push_back(AffineMap::get(rank, 0, exprs, rewriter.getContext()));
    }
    maps.push_back(rewriter.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    Location loc = op->getLoc();
    Value output = empty(rewriter, loc, type.getShape(), type.getElementType());
    rewriter.replaceOp(
        op, generic(rewriter, loc, op->getOperands(), output, maps, iterators,
                    [&](OpBuilder &builder, Location location,
                        ValueRange elements) {
                      return buildElementwiseScalar(builder, location, op,
                                                    elements.drop_back());
                    }));
    return success();
  }
};
} // namespace

void linalg_lowering::populateElementwisePatterns(RewritePatternSet &patterns) {
  patterns.add<ElementwiseLowering>(patterns.getContext());
}
