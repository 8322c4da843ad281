//===- KernelMemory.cpp - Memory that kernels ask the runtime for ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Services.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/MathExtras.h"

namespace soap::native {
#define GEN_PASS_DEF_KERNELMEMORYPASS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap::native

#define DEBUG_TYPE "native-kernel-memory"

using namespace mlir;
using namespace soap;

static int64_t bytesPerElement(MemRefType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

namespace {
/// Functions of module @kernels that call the runtime's services.
class ServiceFunctions {
public:
  explicit ServiceFunctions(ModuleOp module)
      : builder_(module.getBodyRegion()),
        pointer_(LLVM::LLVMPointerType::get(module.getContext())) {}

  LLVM::LLVMFuncOp allocate() {
    if (!allocate_) {
      allocate_ = make("soap_allocate", pointer_, builder_.getI64Type(),
                       &soap_native_services::allocate);
      // What LLVM knows of aligned_alloc, too.
      allocate_.setResultAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(),
                              builder_.getUnitAttr());
    }
    return allocate_;
  }
  LLVM::LLVMFuncOp release() {
    if (!release_)
      release_ =
          make("soap_release", LLVM::LLVMVoidType::get(builder_.getContext()),
               pointer_, &soap_native_services::release);
    return release_;
  }

private:
  /// A function (services, operand) -> result that calls one of the services.
  /// It is not inlined: attributes of its result would be lost.
  template <typename Member>
  LLVM::LLVMFuncOp make(StringRef name, Type result, Type operand,
                        Member soap_native_services::*member) {
    OpBuilder::InsertionGuard guard(builder_);
    Location loc = builder_.getUnknownLoc();
    auto function = builder_.create<LLVM::LLVMFuncOp>(
        loc, name, LLVM::LLVMFunctionType::get(result, {pointer_, operand}),
        LLVM::Linkage::Internal);
    function.setPassthroughAttr(builder_.getStrArrayAttr({"noinline"}));
    Block *body = function.addEntryBlock(builder_);
    builder_.setInsertionPointToStart(body);
    LLVM::CallOp call = callService(builder_, loc, body->getArgument(0), member,
                                    result, body->getArgument(1));
    builder_.create<LLVM::ReturnOp>(loc, call.getResults());
    return function;
  }

  OpBuilder builder_;
  Type pointer_;
  LLVM::LLVMFuncOp allocate_, release_;
};

struct KernelMemoryPass : native::impl::KernelMemoryPassBase<KernelMemoryPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect,
                    memref::MemRefDialect>();
  }

  void runOnOperation() override {
    ServiceFunctions functions(getOperation());
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(native::keyAttr))
        replaceAllocations(kernel, functions);
  }

private:
  static void replaceAllocations(func::FuncOp kernel,
                                 ServiceFunctions &functions) {
    SmallVector<memref::AllocOp> allocations;
    SmallVector<memref::DeallocOp> deallocations;
    kernel.walk([&](Operation *op) {
      if (auto allocation = dyn_cast<memref::AllocOp>(op))
        allocations.push_back(allocation);
      else if (auto deallocation = dyn_cast<memref::DeallocOp>(op))
        deallocations.push_back(deallocation);
    });
    LLVM_DEBUG(llvm::dbgs() << "kernel " << kernel.getName() << ": "
                            << allocations.size() << " allocations\n");
    // What all of them come from, and all go to.
    if (allocations.empty() ||
        !llvm::all_of(allocations, [](memref::AllocOp op) {
          return op.getType().getLayout().isIdentity() &&
                 op.getType().getElementType().isIntOrFloat();
        }))
      return;
    Value services = getServices(kernel);
    for (memref::DeallocOp op : deallocations) {
      OpBuilder builder(op);
      Location loc = op.getLoc();
      Value address = builder.create<arith::IndexCastOp>(
          loc, builder.getI64Type(),
          builder.create<memref::ExtractAlignedPointerAsIndexOp>(
              loc, op.getMemref()));
      Value block =
          builder.create<LLVM::IntToPtrOp>(loc, services.getType(), address);
      builder.create<LLVM::CallOp>(loc, functions.release(),
                                   ValueRange{services, block});
      op.erase();
    }
    for (memref::AllocOp op : allocations) {
      OpBuilder builder(op);
      Value block =
          builder
              .create<LLVM::CallOp>(op.getLoc(), functions.allocate(),
                                    ValueRange{services, sizeOf(builder, op)})
              .getResult();
      Value memref = buildMemRefAt(
          builder, op.getLoc(), op.getType(), block,
          [&](int64_t dim) -> Value { return sizeOf(builder, op, dim); });
      op.replaceAllUsesWith(memref);
      op.erase();
    }
  }

  /// The size of a dimension, an i64.
  static Value sizeOf(OpBuilder &builder, memref::AllocOp op, int64_t dim) {
    MemRefType type = op.getType();
    if (!type.isDynamicDim(dim))
      return builder.create<arith::ConstantIntOp>(op.getLoc(),
                                                  type.getDimSize(dim), 64);
    return builder.create<arith::IndexCastOp>(
        op.getLoc(), builder.getI64Type(),
        op.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
  }

  /// Of all elements, in bytes, an i64.
  static Value sizeOf(OpBuilder &builder, memref::AllocOp op) {
    MemRefType type = op.getType();
    int64_t known = bytesPerElement(type);
    for (int64_t size : type.getShape())
      known *= ShapedType::isDynamic(size) ? 1 : size;
    Value bytes = builder.create<arith::ConstantIntOp>(op.getLoc(), known, 64);
    for (int64_t dim = 0; dim != type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        bytes = builder.create<arith::MulIOp>(op.getLoc(), bytes,
                                              sizeOf(builder, op, dim));
    return bytes;
  }
};
} // namespace
