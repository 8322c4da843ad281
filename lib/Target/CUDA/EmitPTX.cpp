//===- EmitPTX.cpp - From module @kernels to PTX --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/CUDA/EmitPTX.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "soap/Target/CUDA/Passes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace mlir;
using namespace soap;

static constexpr llvm::StringLiteral triple = "nvptx64-nvidia-cuda";

//===----------------------------------------------------------------------===//
// The architecture
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const GPUArchitecture &architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target)
    return llvm::createStringError(
        "expected an LLVM with the backend NVPTX, got: one without (" + error +
        ")");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  // The oldest language that has all that is used, for old drivers' sake.
  const char *language = architecture.capability >= 90 ? "+ptx78" : "+ptx71";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, architecture.name(), language, options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

llvm::Expected<GPUArchitecture> GPUArchitecture::find(llvm::StringRef name) {
  GPUArchitecture architecture;
  if (name.empty())
    return architecture;
  llvm::StringRef number = name;
  if (!number.consume_front("sm_") ||
      number.getAsInteger(10, architecture.capability) ||
      architecture.capability < GPUArchitecture().capability)
    return llvm::createStringError(
        "expected a GPU of compute capability 8.0 or higher (sm_80), got: '" +
        name + "'");
  auto machine = createTargetMachine(GPUArchitecture());
  if (!machine)
    return machine.takeError();
  if (!(*machine)->getMCSubtargetInfo()->isCPUStringValid(name))
    return llvm::createStringError("expected a GPU that LLVM knows, got: '" +
                                   name +
                                   "'; code for sm_80 runs on all newer ones");
  return architecture;
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

static ProductMatrix matrixOf(DictionaryAttr table, StringRef name) {
  ArrayRef<int64_t> values = table.getAs<DenseI64ArrayAttr>(name).asArrayRef();
  return {static_cast<uint32_t>(values[0]), values[1], values[2], values[3]};
}

static DeviceProduct productOf(DictionaryAttr table, bool tf32) {
  ArrayRef<int64_t> sizes =
      table.getAs<DenseI64ArrayAttr>("sizes").asArrayRef();
  DeviceProduct product;
  product.batch = sizes[0];
  product.rows = sizes[1];
  product.columns = sizes[2];
  product.depth = sizes[3];
  product.a = matrixOf(table, "a");
  product.b = matrixOf(table, "b");
  product.c = matrixOf(table, "c");
  product.adds = table.contains("adds");
  product.tf32 = tf32;
  return product;
}

/// What the attribute `cuda.kernels` lists.
static std::vector<DeviceKernel> launchesOf(ModuleOp lowered) {
  std::vector<DeviceKernel> kernels;
  for (Attribute attribute :
       lowered->getAttrOfType<ArrayAttr>(cuda::kernelsAttr)) {
    auto table = cast<DictionaryAttr>(attribute);
    DeviceKernel &kernel = kernels.emplace_back();
    kernel.scratchBytes = table.getAs<IntegerAttr>("scratch").getInt();
    if (auto products = table.getAs<ArrayAttr>("products")) {
      kernel.workspaceBytes = cuda::productWorkspaceBytes;
      for (Attribute product : products)
        kernel.products.push_back(
            productOf(cast<DictionaryAttr>(product), table.contains("tf32")));
    }
    for (Attribute entry : table.getAs<ArrayAttr>("launches")) {
      auto row = cast<DictionaryAttr>(entry);
      DeviceLaunch &launch = kernel.launches.emplace_back();
      auto constants = row.getAs<DenseI64ArrayAttr>("constants").asArrayRef();
      launch.constants.assign(constants.begin(), constants.end());
      if (auto product = row.getAs<IntegerAttr>("product")) {
        launch.product = static_cast<int32_t>(product.getInt());
        continue;
      }
      launch.entry = row.getAs<StringAttr>("entry").getValue();
      launch.threads = cuda::threadsPerBlock;
      if (auto blocks = row.getAs<IntegerAttr>("blocks"))
        launch.blocks = blocks.getInt();
      else
        launch.itemsPerBlock = row.getAs<IntegerAttr>("items").getInt();
    }
  }
  return kernels;
}

/// A lowered copy of `kernels`.
static FailureOr<OwningOpRef<ModuleOp>> lower(ModuleOp kernels,
                                              DeviceLevel level) {
  MLIRContext *context = kernels.getContext();
  DialectRegistry registry;
  registerNativeDialects(registry);
  registerDeviceDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> lowered(kernels.clone());
  PassManager passes(context, ModuleOp::getOperationName());
  buildDeviceKernelPipeline(passes, level);
  if (failed(passes.run(*lowered)))
    return failure();
  return lowered;
}

FailureOr<KernelCode> soap::planDeviceKernels(ModuleOp kernels) {
  auto lowered = lower(kernels, DeviceLevel::GPU);
  if (failed(lowered))
    return failure();
  KernelCode code;
  code.kernels = launchesOf(**lowered);
  return code;
}

FailureOr<KernelCode>
soap::translateDeviceKernels(ModuleOp kernels, llvm::LLVMContext &context,
                             std::unique_ptr<llvm::Module> &module) {
  auto lowered = lower(kernels, DeviceLevel::NVVM);
  if (failed(lowered))
    return failure();
  KernelCode code;
  code.kernels = launchesOf(**lowered);
  (**lowered)->removeAttr(cuda::kernelsAttr);
  module = translateModuleToLLVMIR(**lowered, context, "soap_kernels");
  if (!module)
    return kernels.emitError("the native kernels have no LLVM IR");
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*module, &stream))
    return kernels.emitError("the LLVM IR of the native code is broken: " +
                             broken);
  return code;
}

/// Intrinsics that the backend has no code for end the program there.
static llvm::Error checkFunctions(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    if (!function.isDeclaration() || function.use_empty())
      continue;
    if (!function.isIntrinsic())
      return llvm::createStringError("expected no calls in device code, got: " +
                                     function.getName());
    switch (function.getIntrinsicID()) {
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::pow:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::tan:
    case llvm::Intrinsic::tanh:
      return llvm::createStringError(
          "expected functions that have device code, got: " +
          function.getName());
    default:
      break;
    }
  }
  return llvm::Error::success();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

FailureOr<KernelCode>
soap::emitDeviceKernels(ModuleOp kernels, const GPUArchitecture &architecture) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  FailureOr<KernelCode> code = translateDeviceKernels(kernels, context, module);
  if (failed(code))
    return failure();
  auto machine = createTargetMachine(architecture);
  llvm::Error error = machine ? checkFunctions(*module) : machine.takeError();
  if (error)
    return kernels.emitError(llvm::toString(std::move(error)));
  module->setTargetTriple(triple);
  module->setDataLayout((*machine)->createDataLayout());
  optimize(*module, **machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager codeGen;
  if ((*machine)->addPassesToEmitFile(codeGen, stream, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return kernels.emitError("LLVM cannot write PTX");
  codeGen.run(*module);
  code->deviceText = text.str().str();
  code->architecture = architecture.capability;
  return code;
}
