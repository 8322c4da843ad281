//===- Model.cpp - Write compiled models ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Model/Model.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Target/Model/SharedObject.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace soap;

LogicalResult soap::emitModel(ModuleOp module, const ModelOptions &options,
                              StringRef outputPath,
                              const ReferenceBuild *reference) {
  SmallString<128> weightsPath(outputPath);
  llvm::sys::path::replace_extension(weightsPath, "safetensors");
  StringRef weightsName = llvm::sys::path::filename(weightsPath);
  WeightsFile weights;
  ModelTables tables;
  auto emit = [&](ModuleOp from, const ModelOptions &how, std::string &table) {
    FailureOr<std::string> emitted =
        emitTables(from, how, weights, weightsName);
    if (succeeded(emitted))
      table = std::move(*emitted);
    return emitted;
  };
  if (failed(emit(module, options, tables.model)) ||
      (reference &&
       failed(emit(reference->module, reference->options, tables.reference))))
    return failure();
  SmallVector<std::string, 1> objects;
  NativeKernels natives(reference ? reference->module : module);
  if (natives.size()) {
    FailureOr<std::string> object =
        options.target->emitKernels(natives.getModule());
    if (failed(object))
      return failure();
    objects.push_back(std::move(*object));
  }
  // Weights first: a model that exists is complete.
  if (!weights.empty()) {
    if (llvm::Error error = weights.write(weightsPath))
      return module.emitError(llvm::toString(std::move(error)));
  }
  if (llvm::Error error = linkSharedObject(objects, tables, outputPath))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}
