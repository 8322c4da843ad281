//===- Pipeline.cpp - From module @kernels to NVVM ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Transforms/Passes.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Target/CUDA/Passes.h"

using namespace mlir;
using namespace soap;

void soap::registerDeviceDialects(DialectRegistry &registry) {
  registry.insert<gpu::GPUDialect, NVVM::NVVMDialect>();
}

void soap::buildDeviceKernelPipeline(OpPassManager &passes, DeviceLevel level) {
  ConvertNNToLinalgPassOptions linalg;
  linalg.keepNarrowCasts = linalg.windowsByIndex = true;
  passes.addPass(createConvertNNToLinalgPass(linalg));
  addCleanup(passes);
  if (level == DeviceLevel::Linalg)
    return;

  addBufferization(passes, /*onStack=*/false);
  if (level == DeviceLevel::Buffers)
    return;

  passes.addPass(cuda::createDistributeKernelsPass());
  addCleanup(passes);
  if (level == DeviceLevel::GPU)
    return;

  passes.addPass(cuda::createFloatMathPass());
  passes.addPass(native::createApproximateMathPass());
  passes.addPass(cuda::createDoubleMathPass());
  passes.addPass(cuda::createLowerDeviceOpsPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(cuda::createAnnotateEntriesPass());
}

namespace {
struct PipelineOptions : public PassPipelineOptions<PipelineOptions> {
  Option<DeviceLevel> level{
      *this, "level", llvm::cl::desc("Where to stop"),
      llvm::cl::init(DeviceLevel::NVVM),
      llvm::cl::values(
          clEnumValN(DeviceLevel::Linalg, "linalg", "linalg on tensors"),
          clEnumValN(DeviceLevel::Buffers, "buffers", "linalg on memrefs"),
          clEnumValN(DeviceLevel::GPU, "gpu",
                     "functions of the device, with gpu and scf"),
          clEnumValN(DeviceLevel::NVVM, "nvvm", "the NVVM dialect"))};
};
} // namespace

void soap::registerDevicePassesAndPipeline() {
  cuda::registerCUDAPasses();
  PassPipelineRegistration<PipelineOptions>(
      "cuda-kernels-to-nvvm",
      "Lower the functions of module @kernels to functions of a GPU",
      [](OpPassManager &passes, const PipelineOptions &options) {
        buildDeviceKernelPipeline(passes, options.level);
      });
}
