//===- Elementwise.cpp - Element-wise nn operations to linalg -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "Training.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Dialect/NN/IR/NNFused.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

bool soap::isElementwise(Operation *op) {
  return op->hasTrait<nn::PerElement>();
}

/// The dim of the result that an operand's first dim goes along. Operands align
/// on the right, the vectors of a batch norm with the channels.
static unsigned firstDim(Operation *op, unsigned operand) {
  if (auto fused = dyn_cast<nn::FusedOp>(op)) {
    OpOperand &use = *fused.getBody().getArgument(operand).use_begin();
    return firstDim(use.getOwner(), use.getOperandNumber());
  }
  if (isa<nn::BatchNormOp>(op) && operand > 0)
    return 1;
  return tensorType(op->getResult(0)).getRank() -
         tensorType(op->getOperand(operand)).getRank();
}

llvm::SmallBitVector soap::elementwiseAccess(Operation *op, unsigned operand) {
  ArrayRef<int64_t> result = tensorType(op->getResult(0)).getShape();
  ArrayRef<int64_t> shape = tensorType(op->getOperand(operand)).getShape();
  llvm::SmallBitVector varies(result.size());
  size_t first = firstDim(op, operand);
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i] == 1 || (i >= first && i - first < shape.size() &&
                           shape[i - first] == result[i]))
      varies.set(i);
  return varies;
}

/// The element of an operation's only result.
static Value buildScalar(OpBuilder &builder, Location loc, Operation *op,
                         ValueRange elements) {
  unsigned result = op->getNumOperands();
  if (auto cast = dyn_cast<nn::CastOp>(op))
    return converted(builder, loc, elements[0], elementTypeOf(op, 0),
                     elementTypeOf(op, result), cast.getSaturate());
  if (isa<nn::BitCastOp>(op))
    return sameBits(builder, loc, elements[0], elementTypeOf(op, result));
  if (isa<nn::ExpandOp>(op))
    return elements[0];
  if (isa<nn::WhereOp>(op))
    return builder.create<arith::SelectOp>(loc, elements[0], elements[1],
                                           elements[2]);
  SmallVector<Value> wide;
  for (auto [i, element] : llvm::enumerate(elements))
    wide.push_back(widened(builder, loc, element, elementTypeOf(op, i)));
  return narrowed(builder, loc,
                  computeScalar(builder, loc, op, wide, isUnsigned(op)),
                  elementTypeOf(op, result));
}

Value soap::buildPartScalars(OpBuilder &builder, Location loc,
                             ValueRange arguments,
                             llvm::iterator_range<Block::iterator> parts,
                             ValueRange elements,
                             ArrayRef<nn::BatchNormOp> norms) {
  IRMapping known;
  known.map(arguments, elements.drop_back(norms.size()));
  Value last;
  for (Operation &part : parts) {
    SmallVector<Value> read;
    for (Value operand : part.getOperands())
      read.push_back(known.lookup(operand));
    const auto *norm = llvm::find(norms, dyn_cast<nn::BatchNormOp>(part));
    last =
        norm == norms.end()
            ? buildElementwiseScalars(builder, loc, &part, read)[0]
            : normalised(builder, loc, read,
                         elements[arguments.size() + (norm - norms.begin())]);
    known.map(part.getResult(0), last);
  }
  return last;
}

SmallVector<nn::BatchNormOp>
soap::normsOfArguments(llvm::iterator_range<Block::iterator> parts) {
  SmallVector<nn::BatchNormOp> norms;
  for (Operation &part : parts)
    if (auto norm = dyn_cast<nn::BatchNormOp>(part);
        norm && isa<BlockArgument>(norm.getScale()) &&
        isa<BlockArgument>(norm.getVariance()) &&
        llvm::all_of(norm->getOperandTypes(), [](Type type) {
          return getElementTypeOrSelf(type).isF32();
        }))
      norms.push_back(norm);
  return norms;
}

SmallVector<Value> soap::buildElementwiseScalars(OpBuilder &builder,
                                                 Location loc, Operation *op,
                                                 ValueRange elements) {
  if (auto fused = dyn_cast<nn::FusedOp>(op))
    return {buildPartScalars(builder, loc, fused.getBody().getArguments(),
                             fused.getParts(), elements)};
  SmallVector<Value> results = computeUpdate(builder, loc, op, elements);
  if (results.empty())
    results.push_back(buildScalar(builder, loc, op, elements));
  return results;
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
      unsigned first = firstDim(op, index);
      SmallVector<AffineExpr> exprs;
      for (unsigned dim = first; dim < first + operandRank; ++dim)
        exprs.push_back(varies[dim] ? rewriter.getAffineDimExpr(dim)
                                    : rewriter.getAffineConstantExpr(0));
      maps.push_back(AffineMap::get(rank, 0, exprs, rewriter.getContext()));
    }
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    Location loc = op->getLoc();
    SmallVector<Value> outputs;
    for (Value result : op->getResults()) {
      maps.push_back(rewriter.getMultiDimIdentityMap(rank));
      outputs.push_back(empty(rewriter, loc, type.getShape(),
                              tensorType(result).getElementType()));
    }
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, TypeRange(ValueRange(outputs)), op->getOperands(), outputs, maps,
        iterators,
        [&](OpBuilder &builder, Location location, ValueRange elements) {
          builder.create<linalg::YieldOp>(
              location,
              buildElementwiseScalars(builder, location, op,
                                      elements.drop_back(outputs.size())));
        });
    return success();
  }
};
} // namespace

void linalg_lowering::populateElementwisePatterns(RewritePatternSet &patterns) {
  patterns.add<ElementwiseLowering>(patterns.getContext());
}
