//===- KernelPasses.cpp - Native kernels to the LLVM dialect --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Target/CPU/Passes.h"

namespace soap {
#define GEN_PASS_DEF_NATIVEPREPAREBUFFERS
#define GEN_PASS_DEF_NATIVEAPPROXIMATEMATH
#define GEN_PASS_DEF_NATIVEWRAPKERNELS
#define GEN_PASS_DEF_NATIVEANNOTATEKERNELS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap

using namespace mlir;
using namespace soap;

//===----------------------------------------------------------------------===//
// native-prepare-buffers
//===----------------------------------------------------------------------===//

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
struct NativePrepareBuffers
    : public soap::impl::NativePrepareBuffersBase<NativePrepareBuffers> {
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

//===----------------------------------------------------------------------===//
// native-approximate-math
//===----------------------------------------------------------------------===//

struct NativeApproximateMath
    : public soap::impl::NativeApproximateMathBase<NativeApproximateMath> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

//===----------------------------------------------------------------------===//
// native-wrap-kernels
//===----------------------------------------------------------------------===//

/// A memref of the buffer `pointer`. Sizes that are not static come from the
/// entries `dims` of `sizes`.
static Value buildMemRef(OpBuilder &builder, Location loc, MemRefType type,
                         Value pointer, Value sizes, ArrayRef<int64_t> dims) {
  LLVMTypeConverter converter(builder.getContext());
  Value descriptor;
  if (type.hasStaticShape()) {
    descriptor = MemRefDescriptor::fromStaticShape(builder, loc, converter,
                                                   type, pointer);
  } else {
    auto memref =
        MemRefDescriptor::undef(builder, loc, converter.convertType(type));
    memref.setAllocatedPtr(builder, loc, pointer);
    memref.setAlignedPtr(builder, loc, pointer);
    memref.setConstantOffset(builder, loc, 0);
    Type i64 = builder.getI64Type();
    Value stride = builder.create<LLVM::ConstantOp>(
        loc, i64, builder.getI64IntegerAttr(1));
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      Value address = builder.create<LLVM::GEPOp>(
          loc, sizes.getType(), i64, sizes,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(dims[dim])});
      Value size = builder.create<LLVM::LoadOp>(loc, i64, address);
      memref.setSize(builder, loc, dim, size);
      memref.setStride(builder, loc, dim, stride);
      stride = builder.create<LLVM::MulOp>(loc, stride, size);
    }
    descriptor = memref;
  }
  return builder.create<UnrealizedConversionCastOp>(loc, type, descriptor)
      .getResult(0);
}

struct NativeWrapKernels
    : public soap::impl::NativeWrapKernelsBase<NativeWrapKernels> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    for (auto body :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!body->hasAttr(native::keyAttr))
        continue;
      Location loc = body.getLoc();
      std::string name = body.getName().str();
      body.setName(name + "_body");
      body.setPrivate();
      builder.setInsertionPointAfter(body);
      auto wrapper = builder.create<func::FuncOp>(
          loc, name, builder.getFunctionType({pointer, pointer}, {}));
      // The key moves to the function that is called.
      wrapper->setAttr(native::keyAttr, body->removeAttr(native::keyAttr));
      builder.setInsertionPointToStart(wrapper.addEntryBlock());
      SmallVector<Value> memrefs;
      SmallVector<int64_t> noalias;
      int64_t converted = 0; // Arguments of the body in the LLVM dialect.
      for (auto [index, type] : llvm::enumerate(body.getArgumentTypes())) {
        Value address = builder.create<LLVM::GEPOp>(
            loc, pointer, pointer, wrapper.getArgument(0),
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
        Value buffer = builder.create<LLVM::LoadOp>(loc, pointer, address);
        auto dims =
            body.getArgAttrOfType<DenseI64ArrayAttr>(index, native::sizesAttr);
        memrefs.push_back(
            buildMemRef(builder, loc, cast<MemRefType>(type), buffer,
                        wrapper.getArgument(1),
                        dims ? dims.asArrayRef() : ArrayRef<int64_t>()));
        // A memref becomes two pointers (the second is used), an offset, sizes
        // and strides; its attributes are lost.
        if (body.getArgAttr(index, native::noaliasAttr))
          noalias.push_back(converted + 1);
        converted += 3 + 2 * cast<MemRefType>(type).getRank();
      }
      body->setAttr(native::noaliasAttr, builder.getDenseI64ArrayAttr(noalias));
      builder.create<func::CallOp>(loc, body, memrefs);
      builder.create<func::ReturnOp>(loc);
    }
  }
};

//===----------------------------------------------------------------------===//
// native-annotate-kernels
//===----------------------------------------------------------------------===//

struct NativeAnnotateKernels
    : public soap::impl::NativeAnnotateKernelsBase<NativeAnnotateKernels> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal())
        continue;
      auto pointers = dyn_cast_or_null<DenseI64ArrayAttr>(
          function->removeAttr(native::noaliasAttr));
      for (int64_t index :
           pointers ? pointers.asArrayRef() : ArrayRef<int64_t>())
        function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                            UnitAttr::get(&getContext()));
      if (function.isPrivate() || function->hasAttr(native::parallelAttr))
        function.setLinkage(LLVM::Linkage::Internal);
      bool parallel =
          static_cast<bool>(function->removeAttr(native::parallelAttr));
      annotateLoops(function, parallel);
    }
  }

private:
  /// Keeps LLVM from unrolling loops around loops: copies of short rows would
  /// become blocks of thousands of instructions, which LLVM schedules in time
  /// that grows with their square. In `parallel` functions all accesses are put
  /// into a group, and every loop says that accesses of this group do not
  /// depend on another iteration.
  void annotateLoops(LLVM::LLVMFuncOp function, bool parallel) {
    Region &body = function.getBody();
    if (body.hasOneBlock())
      return;
    MLIRContext *context = &getContext();
    SmallVector<LLVM::AccessGroupAttr> groups;
    if (parallel) {
      groups.push_back(LLVM::AccessGroupAttr::get(
          context, DistinctAttr::create(UnitAttr::get(context))));
      ArrayAttr list = ArrayAttr::get(context, groups[0]);
      function.walk([&](Operation *op) {
        if (auto load = dyn_cast<LLVM::LoadOp>(op))
          load.setAccessGroupsAttr(list);
        else if (auto store = dyn_cast<LLVM::StoreOp>(op))
          store.setAccessGroupsAttr(list);
      });
    }
    auto whole = LLVM::LoopUnrollAttr::get(
        context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
        {});
    DominanceInfo dominance(function);
    CFGLoopInfo loops(dominance.getDomTree(&body));
    for (CFGLoop *loop : loops.getLoopsInPreorder()) {
      LLVM::LoopUnrollAttr unroll =
          loop->isInnermost() ? LLVM::LoopUnrollAttr() : whole;
      if (!parallel && !unroll)
        continue;
      auto annotation =
          LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                        {}, {}, {}, {}, {}, {}, {}, groups);
      SmallVector<Block *> latches;
      loop->getLoopLatches(latches);
      for (Block *latch : latches)
        if (auto branch = dyn_cast<LLVM::BrOp>(latch->getTerminator()))
          branch.setLoopAnnotationAttr(annotation);
        else if (auto branch = dyn_cast<LLVM::CondBrOp>(latch->getTerminator()))
          branch.setLoopAnnotationAttr(annotation);
    }
  }
};
} // namespace
