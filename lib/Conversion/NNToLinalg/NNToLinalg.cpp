//===- NNToLinalg.cpp - From nn to linalg ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Transforms/DialectConversion.h"
#include "soap/Dialect/NN/IR/NNFused.h"

namespace soap {
#define GEN_PASS_DEF_CONVERTNNTOLINALGPASS
#include "soap/Conversion/NNToLinalg/Passes.h.inc"
} // namespace soap

using namespace mlir;
using namespace soap;

//===----------------------------------------------------------------------===//
// Shared builders
//===----------------------------------------------------------------------===//

Value linalg_lowering::scalar(OpBuilder &builder, Location loc, Type type,
                              double value) {
  if (isa<FloatType>(type))
    return builder.create<arith::ConstantOp>(loc,
                                             builder.getFloatAttr(type, value));
  return builder.create<arith::ConstantOp>(
      loc, builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value linalg_lowering::empty(OpBuilder &builder, Location loc,
                             ArrayRef<int64_t> shape, Type element) {
  return builder.create<tensor::EmptyOp>(loc, shape, element);
}

Value linalg_lowering::filled(OpBuilder &builder, Location loc,
                              ArrayRef<int64_t> shape, Value value) {
  Value output = empty(builder, loc, shape, value.getType());
  return builder.create<linalg::FillOp>(loc, value, output).getResult(0);
}

static SmallVector<OpFoldResult> indexAttrs(OpBuilder &builder,
                                            ArrayRef<int64_t> values) {
  SmallVector<OpFoldResult> attributes;
  for (int64_t value : values)
    attributes.push_back(builder.getIndexAttr(value));
  return attributes;
}

Value linalg_lowering::padded(OpBuilder &builder, Location loc, Value tensor,
                              ArrayRef<int64_t> lo, ArrayRef<int64_t> hi,
                              Value value) {
  ArrayRef<int64_t> shape = tensorType(tensor).getShape();
  SmallVector<int64_t> larger(shape);
  for (auto [size, before, after] : llvm::zip_equal(larger, lo, hi))
    size += before + after;
  if (ArrayRef<int64_t>(larger) == shape)
    return tensor;
  // A fill and an insertion, not a tensor.pad: both write into a destination.
  Value background = filled(builder, loc, larger, value);
  SmallVector<int64_t> ones(shape.size(), 1);
  return builder.create<tensor::InsertSliceOp>(
      loc, tensor, background, indexAttrs(builder, lo),
      indexAttrs(builder, shape), indexAttrs(builder, ones));
}

Value linalg_lowering::reshaped(OpBuilder &builder, Location loc, Value tensor,
                                ArrayRef<int64_t> shape) {
  RankedTensorType from = tensorType(tensor);
  auto to = RankedTensorType::get(shape, from.getElementType());
  if (from == to)
    return tensor;
  // Through one dim: always possible, and a view after bufferisation.
  auto flat =
      RankedTensorType::get({from.getNumElements()}, from.getElementType());
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  if (to.getRank() == 0)
    return builder.create<tensor::CollapseShapeOp>(
        loc, to, tensor, ArrayRef<ReassociationIndices>());
  if (from.getRank() == 0)
    return builder.create<tensor::ExpandShapeOp>(
        loc, to, tensor, ArrayRef<ReassociationIndices>());
  if (from.getRank() > 1)
    tensor = builder.create<tensor::CollapseShapeOp>(loc, flat, tensor,
                                                     all(from.getRank()));
  if (to.getRank() > 1)
    tensor = builder.create<tensor::ExpandShapeOp>(loc, to, tensor,
                                                   all(to.getRank()));
  return tensor;
}

Value linalg_lowering::generic(OpBuilder &builder, Location loc,
                               ValueRange inputs, Value output, Loops loops,
                               ElementBuilder element) {
  return builder
      .create<linalg::GenericOp>(
          loc, output.getType(), inputs, output, loops.maps, loops.iterators,
          [&](OpBuilder &nested, Location location, ValueRange elements) {
            nested.create<linalg::YieldOp>(location,
                                           element(nested, location, elements));
          })
      .getResult(0);
}

Value linalg_lowering::elementwise(OpBuilder &builder, Location loc,
                                   ValueRange inputs, Value output,
                                   ElementBuilder element) {
  int64_t rank = tensorType(output).getRank();
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return generic(builder, loc, inputs, output, {maps, iterators}, element);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void soap::populateNNToLinalgPatterns(RewritePatternSet &patterns,
                                      bool windowsByIndex) {
  linalg_lowering::populateAttentionPatterns(patterns);
  linalg_lowering::populateContractionPatterns(patterns);
  linalg_lowering::populateDropoutPatterns(patterns);
  linalg_lowering::populateElementwisePatterns(patterns);
  linalg_lowering::populateIndexPatterns(patterns);
  linalg_lowering::populateMaxPoolGradientPatterns(patterns);
  linalg_lowering::populateOrderPatterns(patterns);
  linalg_lowering::populateRecurrentGradientPatterns(patterns);
  linalg_lowering::populateRecurrentPatterns(patterns);
  linalg_lowering::populateReductionPatterns(patterns);
  linalg_lowering::populateScatterPatterns(patterns);
  linalg_lowering::populateShapePatterns(patterns);
  linalg_lowering::populateSuppressionPatterns(patterns);
  linalg_lowering::populateWindowPatterns(patterns, windowsByIndex);
  linalg_lowering::populateGradientPatterns(patterns);
}

namespace {
struct ConvertNNToLinalgPass
    : public soap::impl::ConvertNNToLinalgPassBase<ConvertNNToLinalgPass> {
  using ConvertNNToLinalgPassBase::ConvertNNToLinalgPassBase;

  void runOnOperation() override {
    ConversionTarget target(getContext());
    target.addLegalDialect<arith::ArithDialect, linalg::LinalgDialect,
                           math::MathDialect, scf::SCFDialect,
                           tensor::TensorDialect>();
    // What a fused operation consists of goes with it.
    target.addDynamicallyLegalDialect<nn::NNDialect>([](Operation *op) {
      return nn::getFusedBody(op->getParentOp()) != nullptr;
    });
    target.addLegalOp<nn::InputOp, nn::ParameterOp, nn::OutputOp>();
    linalg_lowering::legalizeElementTypes(getOperation());
    RewritePatternSet patterns(&getContext());
    populateNNToLinalgPatterns(patterns, windowsByIndex);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    if (!keepNarrowCasts)
      linalg_lowering::expandNarrowCasts(getOperation());
  }
};
} // namespace
