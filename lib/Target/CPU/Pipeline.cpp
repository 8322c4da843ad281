//===- Pipeline.cpp - From module @kernels to the LLVM dialect ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Transforms/Passes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Target/CPU/Passes.h"

using namespace mlir;
using namespace soap;

void soap::buildNativeKernelPipeline(OpPassManager &passes, NativeLevel level,
                                     std::optional<int64_t> leastWork) {
  passes.addPass(createConvertNNToLinalgPass());
  addCleanup(passes);
  if (level == NativeLevel::Linalg)
    return;

  addBufferization(passes, /*onStack=*/true);
  if (level == NativeLevel::Buffers)
    return;

  passes.addNestedPass<func::FuncOp>(native::createLibraryProductsPass());
  native::SplitLoopsPassOptions split;
  if (leastWork)
    split.leastWork = *leastWork;
  passes.addPass(native::createSplitLoopsPass(split));
  passes.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  passes.addPass(native::createApproximateMathPass());
  addCleanup(passes);
  if (level == NativeLevel::Loops)
    return;

  passes.addPass(native::createKernelMemoryPass());
  passes.addPass(native::createWrapKernelsPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createConvertMathToLLVMPass());
  // What is left are functions of f64, which have no vector code here; the C
  // library computes them.
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(native::createBooleanBytesPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(native::createAnnotateKernelsPass());
}

namespace {
struct PipelineOptions : public PassPipelineOptions<PipelineOptions> {
  Option<NativeLevel> level{
      *this, "level", llvm::cl::desc("Where to stop"),
      llvm::cl::init(NativeLevel::LLVM),
      llvm::cl::values(
          clEnumValN(NativeLevel::Linalg, "linalg", "linalg on tensors"),
          clEnumValN(NativeLevel::Buffers, "buffers", "linalg on memrefs"),
          clEnumValN(NativeLevel::Loops, "loops", "scf loops"),
          clEnumValN(NativeLevel::LLVM, "llvm", "the LLVM dialect"))};
  Option<int64_t> leastWork{
      *this, "least-work",
      llvm::cl::desc("As of native-split-loops (default: its own)")};
};
} // namespace

void soap::registerNativePassesAndPipeline() {
  native::registerCPUPasses();
  PassPipelineRegistration<PipelineOptions>(
      "native-kernels-to-llvm",
      "Lower the functions of module @kernels to the LLVM dialect",
      [](OpPassManager &passes, const PipelineOptions &options) {
        buildNativeKernelPipeline(
            passes, options.level,
            options.leastWork.hasValue()
                ? std::optional(options.leastWork.getValue())
                : std::nullopt);
      });
}
