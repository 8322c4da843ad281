//===- CPUTarget.cpp - The cores of a host as devices ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/CPU/CPUTarget.h"
#include "soap/Probe/ProbeModel.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Runtime/Runtime.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "soap/Target/CPU/Evaluate.h"
#include "soap/Target/CPU/Passes.h"
#include "soap/Target/TargetRegistry.h"

using namespace mlir;
using namespace soap;

llvm::Expected<std::vector<LibraryMemory>>
CPUTarget::planLibraryMemory(StringRef table, uint32_t coresPerDevice) const {
  const auto *devices = fb::GetModel(table.data())->devices();
  std::vector<soap_memory> memory(devices ? devices->size() : 0);
  if (soap_plan_memory(table.data(), table.size(), coresPerDevice,
                       memory.data(), memory.size()) != SOAP_OK)
    return llvm::createStringError(soap_last_error());
  std::vector<LibraryMemory> result;
  for (const soap_memory &needs : memory)
    result.push_back({needs.scratchpad_bytes, needs.reordered_bytes,
                      needs.peak_bytes, needs.communication_bytes});
  return result;
}

void CPUTarget::registerDialects(DialectRegistry &registry) const {
  registerNativeDialects(registry);
}

void CPUTarget::buildKernelPipeline(OpPassManager &passes) const {
  buildNativeKernelPipeline(passes);
}

FailureOr<KernelCode> CPUTarget::emitKernels(ModuleOp kernels) const {
  FailureOr<std::string> object = emitNativeObject(kernels, processor_);
  if (failed(object))
    return failure();
  KernelCode code;
  code.object = std::move(*object);
  return code;
}

llvm::Error CPUTarget::addRequirements(fb::ModelT &model) const {
  auto features = processor_.requiredFeatures();
  if (!features)
    return features.takeError();
  model.host_features = std::move(*features);
  return llvm::Error::success();
}

bool CPUTarget::multipliesBF16(const HostProcessor &processor) {
  // As the backend decides (multipliesBF16() there); those of AMD are Zen 4 and
  // newer.
  return processor.hasFeature("amx-bf16") ||
         (llvm::StringRef(processor.name).starts_with("znver") &&
          processor.hasFeature("avx512bf16"));
}

ProductRounding CPUTarget::getProductRounding(Precision precision) const {
  return precision == Precision::BF16 && multipliesBF16_
             ? ProductRounding::BehindFollowers
             : ProductRounding::Never;
}

int64_t CPUTarget::getAttentionScoreBytes(Precision precision) const {
  if (precision != Precision::BF16 || !multipliesBF16_)
    return 0;
  // Measured on one core with AMX, which multiplies attention's bf16: with 12
  // heads of 128 steps (0.75 MiB) four layers of BERT take 14.3 ms where
  // attention is products and 14.7 where it is one operation, with 197 steps
  // (1.8 MiB) ViT-B/16 76.9 and 74.9. Where it stays f32, 0.33 and 0.49 ms of
  // 12 heads of 128 steps, 36 and 20 of 1,024 (48 MiB).
  return processor_.hasFeature("amx-bf16") ? int64_t{1} << 20
                                           : int64_t{4} << 20;
}

std::string CPUTarget::describePrecision(Precision precision) const {
  constexpr llvm::StringLiteral widened =
      ": factors are widened to f32, and products are no faster than with "
      "--precision=f32";
  if (precision == Precision::F16)
    return ("oneDNN multiplies f16 on no processor" + widened).str();
  if (precision != Precision::BF16)
    return "";
  // What oneDNN calls avx512_core.
  for (llvm::StringRef needed : {"avx512f", "avx512bw", "avx512dq", "avx512vl"})
    if (!processor_.hasFeature(needed))
      return (processor_.name +
              " has no AVX-512, without which oneDNN does not multiply bf16" +
              widened)
          .str();
  if (!multipliesBF16_)
    return (processor_.name +
            " multiplies bf16 no faster than f32 without AMX" + widened)
        .str();
  return "";
}

soap_native_kernel CPUTarget::getStreamKernel() const {
  return hostStreamKernel();
}

static llvm::Expected<std::unique_ptr<Target>>
create(const TargetOptions &options) {
  llvm::Expected<HostProcessor> processor =
      HostProcessor::find(options.processor);
  if (!processor)
    return processor.takeError();
  return std::make_unique<CPUTarget>(std::move(*processor));
}

void soap::registerCPUTarget() {
  registerTarget({"cpu", "sets of cores of the host, with oneDNN",
                  "native (default) or LLVM's name of a processor", create});
  registerEvaluator(evaluateNatively);
}
