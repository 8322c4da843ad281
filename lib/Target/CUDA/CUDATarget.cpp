//===- CUDATarget.cpp - GPUs as devices -----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/CUDA/CUDATarget.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/CUDA/Passes.h"
#include "soap/Target/TargetRegistry.h"

using namespace mlir;
using namespace soap;

void CUDATarget::registerDialects(DialectRegistry &registry) const {
  registerNativeDialects(registry);
  registerDeviceDialects(registry);
}

void CUDATarget::buildKernelPipeline(OpPassManager &passes) const {
  buildDeviceKernelPipeline(passes);
}

FailureOr<KernelCode> CUDATarget::emitKernels(ModuleOp kernels) const {
  return emitDeviceKernels(kernels, architecture_);
}

FailureOr<KernelCode> CUDATarget::planKernels(ModuleOp kernels) const {
  return planDeviceKernels(kernels);
}

void CUDATarget::buildJoinedPipeline(OpPassManager &passes) const {
  buildDeviceKernelPipeline(passes, DeviceLevel::GPU);
}

bool CUDATarget::paysJoined(ModuleOp kernels) const {
  auto tables = kernels->getAttrOfType<ArrayAttr>(cuda::kernelsAttr);
  return tables &&
         llvm::all_of(
             tables.getAsRange<DictionaryAttr>(), [](DictionaryAttr table) {
               auto launches = table.getAs<ArrayAttr>("launches");
               return launches.size() == 1 &&
                      cast<DictionaryAttr>(launches[0]).contains("held") &&
                      table.getAs<IntegerAttr>("scratch").getInt() == 0;
             });
}

llvm::Error CUDATarget::checkPrecision(Precision) const {
  return llvm::Error::success();
}

llvm::Error CUDATarget::addRequirements(fb::ModelT &) const {
  return llvm::Error::success();
}

llvm::Expected<std::vector<LibraryMemory>>
CUDATarget::planLibraryMemory(StringRef table, uint32_t) const {
  const fb::Model *model = fb::GetModel(table.data());
  std::vector<LibraryMemory> result;
  if (!model->devices())
    return result;
  for (const fb::Device *device : *model->devices()) {
    LibraryMemory &needs = result.emplace_back();
    auto add =
        [&](const flatbuffers::Vector<flatbuffers::Offset<fb::Row>> *rows) {
          if (!rows)
            return;
          for (const fb::Row *row : *rows) {
            const auto *launch = row->body_as_Launch();
            if (!launch)
              continue;
            const fb::Kernel *kernel = model->kernels()->Get(launch->kernel());
            uint64_t bytes = kernel->workspace_bytes();
            if (const auto *op = kernel->op_as_Native()) {
              const auto *native = model->natives()->Get(op->symbol());
              bytes = native->scratch_bytes() + native->workspace_bytes();
            }
            needs.scratchpad = std::max(needs.scratchpad, bytes);
          }
        };
    add(device->init());
    if (device->programs())
      for (const fb::DeviceProgram *program : *device->programs())
        add(program->rows());
    needs.peak = device->activation_bytes() + device->parameter_bytes() +
                 needs.scratchpad;
  }
  return result;
}

std::string CUDATarget::getMachineName() const {
  return "GPUs of NVIDIA, not measured";
}

llvm::Expected<Topology>
CUDATarget::describeMachine(const MachineRequest &) const {
  return llvm::createStringError(
      "expected a topology for target cuda, got: none; the compiler does not "
      "look for GPUs: pass a file or a name with --topology");
}

static llvm::Expected<std::unique_ptr<Target>>
create(const TargetOptions &options) {
  llvm::Expected<GPUArchitecture> architecture =
      GPUArchitecture::find(options.processor);
  if (!architecture)
    return architecture.takeError();
  return std::make_unique<CUDATarget>(*architecture);
}

void soap::registerCUDATarget() {
  registerTarget({"cuda", "GPUs of NVIDIA, with cuBLASLt and cuDNN",
                  "sm_80 (default), or a newer one that LLVM knows", create});
}
