//===- KernelBuffers.cpp - What the parts of a kernel touch ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuffers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

DenseSet<Value> cuda::writtenBuffers(func::FuncOp kernel) {
  DenseSet<Value> written;
  kernel.walk([&](Operation *op) {
    if (auto shared = dyn_cast<linalg::LinalgOp>(op))
      for (Value output : shared.getDpsInits())
        written.insert(bufferOf(output));
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      written.insert(bufferOf(store.getMemRef()));
  });
  return written;
}

void cuda::hoistBuffers(func::FuncOp kernel) {
  SmallVector<Operation *> made;
  kernel.walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      made.push_back(op);
  });
  for (Operation *op : made) {
    auto type = cast<MemRefType>(op->getResult(0).getType());
    OpBuilder builder(op);
    bool isPrivate = op->getParentOfType<linalg::LinalgOp>() != nullptr;
    if (!isPrivate && type.hasStaticShape())
      builder.setInsertionPointToStart(&kernel.getBody().front());
    Operation *other =
        isPrivate ? builder.create<memref::AllocaOp>(op->getLoc(), type)
                        .getOperation()
                  : builder.create<memref::AllocOp>(op->getLoc(), type)
                        .getOperation();
    op->replaceAllUsesWith(other);
    op->erase();
  }
  SmallVector<memref::DeallocOp> freed;
  kernel.walk([&](memref::DeallocOp op) { freed.push_back(op); });
  for (memref::DeallocOp op : freed)
    op.erase();
}

void cuda::shareCopies(func::FuncOp kernel) {
  SmallVector<memref::CopyOp> copies;
  kernel.walk([&](memref::CopyOp op) { copies.push_back(op); });
  for (memref::CopyOp copy : copies) {
    OpBuilder builder(copy);
    int64_t rank = cast<MemRefType>(copy.getTarget().getType()).getRank();
    SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    builder.create<linalg::GenericOp>(
        copy.getLoc(), copy.getSource(), copy.getTarget(), maps, iterators,
        [](OpBuilder &nested, Location loc, ValueRange elements) {
          nested.create<linalg::YieldOp>(loc, elements[0]);
        });
    copy.erase();
  }
}

linalg::FillOp cuda::fillBefore(linalg::LinalgOp op) {
  auto fill = dyn_cast_or_null<linalg::FillOp>(op->getPrevNode());
  if (!fill || op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return {};
  OpOperand *output = op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(output);
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  bool covers = map.isProjectedPermutation() &&
                map.getNumResults() == op.getNumParallelLoops() &&
                llvm::all_of(map.getResults(), [&](AffineExpr expr) {
                  return kinds[cast<AffineDimExpr>(expr).getPosition()] ==
                         utils::IteratorType::parallel;
                });
  bool isRead = llvm::any_of(op.getDpsInputs(), [&](Value input) {
    return isa<MemRefType>(input.getType()) &&
           bufferOf(input) == bufferOf(output->get());
  });
  bool sameType =
      fill.value().getType() == getElementTypeOrSelf(output->get().getType());
  if (!covers || isRead || !sameType || fill.getDpsInits()[0] != output->get())
    return {};
  return fill;
}

bool cuda::isTakenUp(Operation &op) {
  auto next = dyn_cast_or_null<linalg::LinalgOp>(op.getNextNode());
  return isa<linalg::FillOp>(op) && next && fillBefore(next);
}
