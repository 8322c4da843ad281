//===- EmitKernels.cpp - From module @kernels to object code --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/CPU/EmitKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace soap;

/// Adds the table of the functions `symbols`. They are called through it only.
static void addTable(llvm::Module &module, ArrayRef<std::string> symbols) {
  llvm::SmallVector<llvm::Constant *> entries;
  for (const std::string &symbol : symbols) {
    llvm::Function *function = module.getFunction(symbol);
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function->setDoesNotThrow();
    entries.push_back(function);
  }
  auto *type = llvm::ArrayType::get(
      llvm::PointerType::getUnqual(module.getContext()), entries.size());
  new llvm::GlobalVariable(
      module, type, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantArray::get(type, entries), native::tableName);
}

template <typename Emit>
static FailureOr<std::string>
compile(ModuleOp kernels, Emit emit,
        std::optional<int64_t> leastWork = std::nullopt) {
  MLIRContext *context = kernels.getContext();
  DialectRegistry registry;
  registerNativeDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);

  SmallVector<std::string> symbols;
  for (auto function : kernels.getOps<func::FuncOp>())
    if (function->hasAttr(native::keyAttr))
      symbols.push_back(function.getName().str());

  OwningOpRef<ModuleOp> lowered(kernels.clone());
  PassManager passes(context, ModuleOp::getOperationName());
  buildNativeKernelPipeline(passes, NativeLevel::LLVM, leastWork);
  if (failed(passes.run(*lowered)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*lowered, llvmContext, "soap_kernels");
  if (!module)
    return kernels.emitError("the native kernels have no LLVM IR");
  addTable(*module, symbols);
  llvm::Expected<std::string> code = emit(*module);
  if (!code)
    return kernels.emitError(llvm::toString(code.takeError()));
  return std::move(*code);
}

FailureOr<std::string>
soap::emitNativeObject(ModuleOp kernels, const HostProcessor &processor,
                       std::optional<int64_t> leastWork) {
  return compile(
      kernels,
      [&](llvm::Module &module) { return emitObject(module, processor); },
      leastWork);
}

FailureOr<std::string>
soap::emitNativeAssembly(ModuleOp kernels, const HostProcessor &processor) {
  return compile(kernels, [&](llvm::Module &module) {
    return emitAssembly(module, processor);
  });
}
