//===- Bufferization.cpp - Kernels from tensors to buffers ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;

void soap::registerNativeDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, func::FuncDialect,
                  linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, nn::NNDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  // Without these, no buffer leaves a loop or comes to lie on the stack.
  memref::registerAllocationOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
}

void soap::addCleanup(OpPassManager &passes) {
  passes.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  passes.addNestedPass<func::FuncOp>(createCSEPass());
}

void soap::addBufferization(OpPassManager &passes, bool onStack) {
  passes.addNestedPass<func::FuncOp>(native::createSeparateResultsPass());
  passes.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizationOptions bufferize;
  passes.addPass(bufferization::createOneShotBufferizePass(bufferize));
  // Views that are equal become one, and copies of them onto themselves and the
  // windows of pools, which nobody reads, are removed.
  passes.addNestedPass<func::FuncOp>(createCSEPass());
  addCleanup(passes);
  passes.addNestedPass<func::FuncOp>(
      bufferization::createBufferLoopHoistingPass());
  if (onStack)
    passes.addNestedPass<func::FuncOp>(
        bufferization::createPromoteBuffersToStackPass());
  passes.addPass(native::createPrepareBuffersPass());
}

Value soap::buildMemRefAt(OpBuilder &builder, Location loc, MemRefType type,
                          Value pointer,
                          function_ref<Value(int64_t dim)> sizeOf) {
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
    Value stride =
        builder.create<LLVM::ConstantOp>(loc, builder.getI64IntegerAttr(1));
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      Value size = sizeOf(dim);
      memref.setSize(builder, loc, dim, size);
      memref.setStride(builder, loc, dim, stride);
      stride = builder.create<LLVM::MulOp>(loc, stride, size);
    }
    descriptor = memref;
  }
  return builder.create<UnrealizedConversionCastOp>(loc, type, descriptor)
      .getResult(0);
}
