//===- SeparateResults.cpp - A tensor per use of an empty one -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"

namespace soap::native {
#define GEN_PASS_DEF_SEPARATERESULTSPASS
#include "soap/Conversion/NNToKernels/Passes.h.inc"
} // namespace soap::native

using namespace mlir;
using namespace soap;

/// Lets what is reshaped be written where the result is wanted, seen in its
/// shape; else elimination of empty tensors would not find the place, and the
/// result would be copied.
static void materializeUnshaped(bufferization::MaterializeInDestinationOp op) {
  // Elimination needs the place in front of what is written.
  OpBuilder builder = OpBuilder::atBlockBegin(op->getBlock());
  while (Operation *reshape = op.getSource().getDefiningOp()) {
    Value place;
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
      place = builder.create<memref::CollapseShapeOp>(
          op.getLoc(), op.getDest(), expand.getReassociationIndices());
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape))
      place = builder.create<memref::ExpandShapeOp>(
          op.getLoc(), collapse.getSrcType().getShape(), op.getDest(),
          collapse.getReassociationIndices());
    else
      return;
    op.getSourceMutable().assign(reshape->getOperand(0));
    op.getDestMutable().assign(place);
  }
}

namespace {
struct SeparateResultsPass
    : native::impl::SeparateResultsPassBase<SeparateResultsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<memref::MemRefDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](bufferization::MaterializeInDestinationOp op) {
      auto place = dyn_cast<MemRefType>(op.getDest().getType());
      if (place && place.hasStaticShape() && place.getLayout().isIdentity() &&
          isa<BlockArgument>(op.getDest()))
        materializeUnshaped(op);
    });
    SmallVector<tensor::EmptyOp> shared;
    getOperation().walk([&](tensor::EmptyOp op) {
      if (!op->use_empty() && !op->hasOneUse())
        shared.push_back(op);
    });
    for (tensor::EmptyOp op : shared) {
      OpBuilder builder(op);
      for (OpOperand &use :
           llvm::make_early_inc_range(llvm::drop_begin(op->getUses())))
        use.set(builder.clone(*op)->getResult(0));
    }
  }
};
} // namespace
