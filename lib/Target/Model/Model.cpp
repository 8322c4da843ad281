//===- Model.cpp - Write compiled models ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Model/Model.h"
#include "OutputFiles.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Runtime/ModelHash.h"
#include "soap/Target/Model/SharedObject.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace soap;

/// Appends the seal of a finished file.
static llvm::Error seal(StringRef path) {
  auto contents = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
  std::error_code code = contents.getError();
  if (!code) {
    llvm::raw_fd_ostream os(path, code, llvm::sys::fs::CD_OpenExisting,
                            llvm::sys::fs::FA_Write, llvm::sys::fs::OF_Append);
    if (!code) {
      os << sealOf((*contents)->getBufferStart(), (*contents)->getBufferSize());
      os.close();
      code = os.error();
      os.clear_error();
    }
  }
  if (code)
    return llvm::createStringError("expected to write '" + path +
                                   "', got: " + code.message());
  return llvm::Error::success();
}

/// Writes the weights and, once their digest is in the tables, the library.
static llvm::Error writeFiles(const WeightsFile &weights, StringRef weightsPath,
                              StringRef outputPath, ModelTables &tables,
                              llvm::function_ref<llvm::Error(StringRef)> link) {
  OutputFiles files;
  // Messages name the files that were asked for.
  auto named = [](llvm::Error error, StringRef temporary, StringRef path) {
    std::string text = llvm::toString(std::move(error));
    for (size_t at; (at = text.find(temporary.str())) != std::string::npos;)
      text.replace(at, temporary.size(), path.str());
    return llvm::createStringError(text);
  };
  if (!weights.empty()) {
    std::string temporary = files.add(weightsPath);
    auto digest = weights.write(temporary);
    if (!digest)
      return named(digest.takeError(), temporary, weightsPath);
    setWeightsDigest(tables.model, *digest);
    if (!tables.reference.empty())
      setWeightsDigest(tables.reference, *digest);
  }
  std::string library = files.add(outputPath);
  if (llvm::Error error = link(library))
    return named(std::move(error), library, outputPath);
  if (llvm::Error error = seal(library))
    return named(std::move(error), library, outputPath);
  return files.publish();
}

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
  auto link = [&](StringRef path) {
    return linkSharedObject(objects, tables, path,
                            llvm::sys::path::filename(outputPath));
  };
  if (llvm::Error error =
          writeFiles(weights, weightsPath, outputPath, tables, link))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}
