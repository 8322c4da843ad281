//===- MemoryPlan.cpp - The memory that devices need ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Model/MemoryPlan.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace soap;

llvm::Error soap::planLibraryMemory(ModuleOp module,
                                    const ModelOptions &options) {
  WeightsFile weights(options.files);
  KernelCode code;
  if (NativeKernels natives(module); natives.size()) {
    FailureOr<KernelCode> planned =
        options.target->planKernels(natives.getModule());
    if (failed(planned))
      return llvm::createStringError("expected native kernels that the target "
                                     "has code for");
    code = std::move(*planned);
  }
  FailureOr<std::string> tables =
      emitTables(module, options, weights, "weights", code);
  if (failed(tables))
    return llvm::createStringError("expected planned programs");
  llvm::Expected<std::vector<LibraryMemory>> memory =
      options.target->planLibraryMemory(*tables, options.coresPerDevice);
  if (!memory)
    return memory.takeError();
  for (auto [device, needs] :
       llvm::zip_equal(module.getOps<soaprt::DeviceOp>(), *memory)) {
    device.setScratchpadBytes(needs.scratchpad);
    device.setReorderedBytes(needs.reordered);
    device.setPeakBytes(needs.peak);
    device->setAttr(communicationBytesAttrName(),
                    Builder(device).getI64IntegerAttr(
                        static_cast<int64_t>(needs.communication)));
  }
  return llvm::Error::success();
}

/// In mebibytes, or what is less in kibibytes.
static std::string sizeText(uint64_t bytes) {
  if (bytes < 1 << 20)
    return llvm::formatv("{0:f1} KiB", bytes / 1024.0).str();
  return llvm::formatv("{0:f1} MiB", bytes / 1048576.0).str();
}

/// Of several programs, how much of the arena of activations each one uses.
static std::string activationsByProgram(soaprt::DeviceOp device) {
  auto mains = device.getMains();
  if (mains.size() < 2)
    return "";
  std::string text;
  for (soaprt::MainOp main : mains)
    text += (text.empty() ? "" : ", ") + main.getProgram().str() + " " +
            sizeText(soaprt::activationBytes(main));
  return " (" + text + ")";
}

/// What `device` needs at most, with the parts that are known.
static std::string parts(soaprt::DeviceOp device) {
  return "activations " + sizeText(device.getActivationBytes().value_or(0)) +
         activationsByProgram(device) + ", parameters " +
         sizeText(device.getParameterBytes().value_or(0)) +
         ", their reordered copies " +
         sizeText(device.getReorderedBytes().value_or(0)) + ", scratchpad " +
         sizeText(device.getScratchpadBytes().value_or(0)) +
         ", communication " + sizeText(communicationBytes(device));
}

std::string soap::describeMemory(ModuleOp module) {
  soaprt::DeviceOp largest;
  for (auto device : module.getOps<soaprt::DeviceOp>())
    if (device.getPeakBytes() &&
        (!largest || *device.getPeakBytes() > *largest.getPeakBytes()))
      largest = device;
  if (!largest)
    return "";
  return llvm::formatv("memory: peak {0}, on device {1} ({2})",
                       sizeText(*largest.getPeakBytes()), largest.getId(),
                       parts(largest))
      .str();
}

llvm::Error soap::checkDeviceMemory(ModuleOp module) {
  std::string text;
  for (auto device : module.getOps<soaprt::DeviceOp>()) {
    int64_t capacity = soaprt::memoryOf(device);
    int64_t peak = soaprt::plannedBytes(device);
    if (capacity == 0 || peak <= capacity)
      continue;
    text += text.empty() ? "" : "\n  ";
    text += llvm::formatv("device {0}: expected at most {1} bytes of memory, "
                          "got: a plan of {2} ({3}); use more devices, a "
                          "smaller batch or another strategy",
                          device.getId(), capacity, peak, parts(device))
                .str() +
            soaprt::largestBuffers(device);
  }
  if (!text.empty())
    return llvm::createStringError(text);
  return llvm::Error::success();
}

llvm::SmallVector<MissingMemory> soap::missingMemory(ModuleOp module) {
  llvm::SmallVector<MissingMemory> missing;
  for (auto device : module.getOps<soaprt::DeviceOp>()) {
    int64_t capacity = soaprt::memoryOf(device);
    int64_t planned = soaprt::plannedBytes(device);
    if (capacity != 0 && planned > capacity)
      missing.push_back(
          {static_cast<int32_t>(device.getId()), capacity, planned});
  }
  return missing;
}
