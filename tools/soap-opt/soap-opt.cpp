//===- soap-opt.cpp - Passes and pipelines over MLIR ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Dialect/SOAP/Transforms/Passes.h"
#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Target/CPU/Passes.h"
#include "soap/Target/CUDA/Passes.h"
#include "soap/Target/Registration/AllTargets.h"
#include "soap/Target/TargetRegistry.h"
#include "soap/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"

namespace soap::test {
void registerEmulatedTarget();
void registerTestPartitionSpec();
} // namespace soap::test

#ifndef NDEBUG
/// LLVM's own option --debug-only is there only if LLVM has assertions, too.
static llvm::cl::list<std::string> logged(
    "log", llvm::cl::CommaSeparated, llvm::cl::value_desc("pass,..."),
    llvm::cl::desc("Print what these passes decide (builds with assertions)"),
    llvm::cl::callback([](const std::string &name) {
      static std::vector<std::string> names;
      names.push_back(name);
      std::vector<const char *> types;
      for (const std::string &one : names)
        types.push_back(one.c_str());
      llvm::DebugFlag = true;
      llvm::setCurrentDebugTypes(types.data(),
                                 static_cast<unsigned>(types.size()));
    }));
#endif

int main(int argc, char **argv) {
  // What the compiler knows with any of its targets.
  soap::registerAllTargets();
  soap::test::registerEmulatedTarget();
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, soap::nn::NNDialect,
                  soap::soapir::SOAPDialect, soap::soaprt::SOAPRTDialect>();
  for (const soap::RegisteredTarget &target : soap::registeredTargets())
    llvm::cantFail(target.create({}))->registerDialects(registry);
  mlir::registerTransformsPasses();
  soap::soapir::registerSOAPPasses();
  soap::nn::registerNNPasses();
  soap::native::registerNNToKernelsPasses();
  soap::registerNNToLinalgPasses();
  soap::registerSOAPToSOAPRTPasses();
  soap::registerNativePassesAndPipeline();
  soap::registerDevicePassesAndPipeline();
  soap::registerPipelines();
  soap::soaprt::registerSOAPRTPasses();
  soap::test::registerTestPartitionSpec();
  soap::registerSOAPTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "SOAP's optimizer driver\n", registry));
}
