//===- PrepareBuffers.cpp - Copies as loops, buffers freed ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"

namespace soap::native {
#define GEN_PASS_DEF_PREPAREBUFFERSPASS
#include "soap/Conversion/NNToKernels/Passes.h.inc"
} // namespace soap::native

using namespace mlir;
using namespace soap;

/// True if a copy becomes one call of memcpy, in place of a loop nest that LLVM
/// would have to recognise.
static bool isContiguousCopy(memref::CopyOp copy) {
  return llvm::all_of(copy->getOperandTypes(), [](Type type) {
    auto buffer = cast<MemRefType>(type);
    return buffer.hasStaticShape() && buffer.getNumElements() > 0 &&
           memref::isStaticShapeAndContiguousRowMajor(buffer);
  });
}

namespace {
struct PrepareBuffersPass
    : native::impl::PrepareBuffersPassBase<PrepareBuffersPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<memref::CopyOp> copies;
      SmallVector<memref::AllocOp> allocations;
      function.walk([&](memref::CopyOp op) {
        if (!isContiguousCopy(op))
          copies.push_back(op);
      });
      function.walk([&](memref::AllocOp op) { allocations.push_back(op); });
      for (memref::CopyOp copy : copies) {
        OpBuilder builder(copy);
        int64_t rank = cast<MemRefType>(copy.getTarget().getType()).getRank();
        SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
        SmallVector<utils::IteratorType> iterators(
            rank, utils::IteratorType::parallel);
        builder.create<linalg::GenericOp>(
            copy.getLoc(), copy.getSource(), copy.getTarget(), maps, iterators,
            [](OpBuilder &nested, Location loc, ValueRange elements) {
              nested.create<linalg::YieldOp>(loc, elements[0]);
            });
        copy.erase();
      }
      for (memref::AllocOp allocation : allocations) {
        OpBuilder builder(allocation->getBlock()->getTerminator());
        builder.create<memref::DeallocOp>(allocation.getLoc(), allocation);
      }
    }
  }
};
} // namespace
