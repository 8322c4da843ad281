//===- Evaluate.cpp - nn operations in this process -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/CPU/Evaluate.h"
#include "mlir/IR/BuiltinOps.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Runtime/NativeKernel.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <climits>

using namespace mlir;
using namespace soap;

static size_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return static_cast<size_t>(type.getNumElements()) *
         llvm::divideCeil(type.getElementTypeBitWidth(), CHAR_BIT);
}

/// Links an object file that defines the table of kernels.
static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
link(const std::string &object) {
  auto linker = llvm::orc::LLJITBuilder().create();
  if (!linker)
    return linker.takeError();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*linker)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*linker)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = (*linker)->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object, "kernels")))
    return std::move(error);
  return linker;
}

llvm::Error
soap::evaluateNatively(llvm::ArrayRef<Operation *> ops,
                       llvm::DenseMap<Value, std::vector<char>> &values) {
  if (ops.empty())
    return llvm::Error::success();
  auto failure = [&](const llvm::Twine &why) {
    return llvm::createStringError("expected operations with native kernels, "
                                   "got: " +
                                   why);
  };
  MLIRContext *context = ops[0]->getContext();
  DialectRegistry registry;
  registerKernelDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  OwningOpRef<ModuleOp> parent = ModuleOp::create(ops[0]->getLoc());
  NativeKernels kernels(*parent);
  llvm::SmallVector<NativeKernelCall> calls;
  for (Operation *op : ops) {
    FailureOr<NativeKernelCall> call = kernels.getOrCreate(op);
    if (failed(call))
      return failure(op->getName().getStringRef());
    calls.push_back(std::move(*call));
  }
  HostProcessor processor = HostProcessor::host();
  processor.optLevel = 0; // Each kernel runs once, on few elements.
  FailureOr<std::string> object =
      emitNativeObject(kernels.getModule(), processor);
  if (failed(object))
    return failure("kernels that cannot be compiled");
  auto linker = link(*object);
  if (!linker)
    return linker.takeError();
  auto table = (*linker)->lookup(native::tableName);
  if (!table)
    return table.takeError();
  const auto *entries = table->toPtr<const soap_native_kernel *>();
  soap_native_services services = soap_plain_services();
  for (auto [op, call] : llvm::zip_equal(ops, calls)) {
    llvm::SmallVector<void *> buffers;
    for (Value result : op->getResults())
      values[result].resize(bytesOf(result));
    for (Value operand : op->getOperands()) {
      auto known = values.find(operand);
      if (known == values.end() || known->second.size() != bytesOf(operand))
        return failure("an operand without its elements");
      buffers.push_back(known->second.data());
    }
    for (Value result : op->getResults())
      buffers.push_back(values[result].data());
    buffers.push_back(&services);
    entries[call.index](buffers.data(), call.sizes.data());
  }
  return llvm::Error::success();
}
