//===- NativeCode.cpp - Native kernels in this process --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NativeCode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace soap;
using namespace soap::property;

llvm::Expected<std::unique_ptr<NativeCode>>
NativeCode::create(const HostProcessor &target) {
  // The target machine registers LLVM's targets, which the linker looks up.
  auto machine = target.createTargetMachine();
  if (!machine)
    return machine.takeError();
  auto linker = llvm::orc::LLJITBuilder().create();
  if (!linker)
    return linker.takeError();
  return std::unique_ptr<NativeCode>(
      new NativeCode(target, std::move(*linker)));
}

llvm::Expected<llvm::orc::ExecutorAddr>
NativeCode::link(const std::string &object) {
  auto library =
      linker_->createJITDylib("kernels" + std::to_string(libraries_++));
  if (!library)
    return library.takeError();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      linker_->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library->addGenerator(std::move(*process));
  if (llvm::Error error = linker_->addObjectFile(
          *library, llvm::MemoryBuffer::getMemBufferCopy(object, "kernels")))
    return std::move(error);
  return linker_->lookup(*library, native::tableName);
}

FailureOr<std::vector<soap_native_kernel>>
NativeCode::kernelsOf(ModuleOp module) {
  std::vector<soap_native_kernel> result;
  ModuleOp all = NativeKernels(module).getModule();
  if (!all)
    return result;
  auto keyOf = [](func::FuncOp function) {
    auto key = function->getAttrOfType<StringAttr>(native::keyAttr);
    return key ? key.getValue() : StringRef();
  };

  OwningOpRef<ModuleOp> fresh(all.clone());
  SmallVector<std::string> keys;
  for (auto function :
       llvm::make_early_inc_range(fresh->getOps<func::FuncOp>()))
    if (StringRef key = keyOf(function); kernels_.contains(key))
      function.erase();
    else if (!key.empty())
      keys.push_back(key.str());
  if (!keys.empty()) {
    FailureOr<std::string> object = emitNativeObject(*fresh, target_);
    if (failed(object))
      return failure();
    auto table = link(*object);
    if (!table)
      return module.emitError(llvm::toString(table.takeError()));
    auto *entries = table->toPtr<const soap_native_kernel *>();
    for (auto [index, key] : llvm::enumerate(keys))
      kernels_[key] = entries[index];
  }
  for (auto function : all.getOps<func::FuncOp>())
    if (StringRef key = keyOf(function); !key.empty())
      result.push_back(kernels_.lookup(key));
  return result;
}
