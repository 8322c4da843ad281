//===- Programs.cpp - From planned programs to a library ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "Reference.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/Model/MemoryPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace soap;

llvm::Error Compilation::planMemory(bool &again) {
  {
    TimingScope scope = nest("library memory");
    if (llvm::Error error = planLibraryMemory(*module, model))
      warn(llvm::toString(std::move(error)) +
           "; going on without the memory of library kernels");
  }
  // A search knows values and copies. What the library needs beside them, it
  // learns here.
  auto missing = missingMemory(*module);
  if (!missing.empty() && unconfigured && searches < maxSearches) {
    const Topology &topology = simulated->problem().topology;
    std::vector<int64_t> known = simulated->tasks().peakMemory();
    for (auto [device, capacity, planned] : missing) {
      int64_t bytes = std::max(reserved[device] + planned - capacity,
                               planned - known[static_cast<size_t>(device)]);
      reserved[device] = bytes;
      // A search that only took another device learns no more from the next
      // one.
      for (int32_t other = 0; searches > 1 && other != topology.numDevices();
           ++other)
        if (topology.device(other).kind == topology.device(device).kind)
          reserved[other] = std::max(reserved[other], bytes);
    }
    remark("search: device " + Twine(missing[0].device) + " needs " +
           Twine(missing[0].planned) +
           " bytes with those of the kernel library, and has " +
           Twine(missing[0].capacity) + "; searching again, with " +
           Twine(reserved[missing[0].device]) + " set aside");
    again = true;
    return llvm::Error::success();
  }
  // Exact, and for this strategy: bad input.
  if (llvm::Error error = checkDeviceMemory(*module))
    return badInput(llvm::toString(std::move(error)));
  std::string description = describeMemory(*module);
  if (options.emit == Emit::SharedObject && !description.empty())
    remark(description);
  return llvm::Error::success();
}

llvm::Error Compilation::emitSharedObject() {
  if (llvm::Error error = begin(Stage::Emit))
    return error;
  // A program of one device is its own reference.
  auto devices = module->getOps<soaprt::DeviceOp>();
  ReferenceBuild reference;
  bool hasReference = false;
  if (normalized && !llvm::hasNItemsOrLess(devices, 1)) {
    TimingScope scope = nest("reference");
    reference.module = *normalized;
    llvm::Error error = buildReference(reference, *module, model);
    hasReference = !error;
    if (error)
      warn("expected to build the model for one device too, got: " +
           llvm::toString(std::move(error)) +
           "; soap-run --verify will have nothing to compare with");
  }
  TimingScope scope = nest("emit");
  const ReferenceBuild *build = hasReference ? &reference : nullptr;
  if (!options.output.empty())
    return emitted(emitModel(*module, model, options.output, build),
                   Kind::Failed);
  FailureOr<ModelContents> contents =
      emitModelContents(*module, model, model.name + ".so", build);
  if (failed(contents))
    return emitted(mlir::failure(), Kind::Failed);
  result.model = std::move(*contents);
  return llvm::Error::success();
}

llvm::Error Compilation::emitPrograms() {
  if (options.prove && failed(proof.provePrograms(*module)))
    return emitted(mlir::failure(), Kind::Failed);
  if (options.emit == Emit::LLVM)
    return runPasses(
        [&](OpPassManager &passes) {
          target.buildKernelPipeline(passes.nest<ModuleOp>());
        },
        "native kernels", Kind::Failed);
  if (options.emit == Emit::SharedObject)
    return emitSharedObject();
  return llvm::Error::success();
}
