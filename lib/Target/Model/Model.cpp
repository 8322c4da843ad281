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
#include "llvm/ADT/ScopeExit.h"
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

namespace {
/// A compiled model, but for linking.
struct UnlinkedModel {
  explicit UnlinkedModel(const ModelOptions &options)
      : weights(options.files) {}

  LogicalResult build(ModuleOp module, const ModelOptions &options,
                      StringRef weightsName, const ReferenceBuild *reference);
  /// Says in the tables which weights they go with.
  void setDigest(const fb::WeightsDigest &digest);

  WeightsFile weights;
  ModelTables tables;
  SmallVector<std::string, 1> objects;
};
} // namespace

LogicalResult UnlinkedModel::build(ModuleOp module, const ModelOptions &options,
                                   StringRef weightsName,
                                   const ReferenceBuild *reference) {
  KernelCode code;
  NativeKernels natives(reference ? reference->module : module);
  if (natives.size()) {
    FailureOr<KernelCode> emitted =
        options.target->emitKernels(natives.getModule());
    if (failed(emitted))
      return failure();
    code = std::move(*emitted);
  }
  auto emit = [&](ModuleOp from, const ModelOptions &how, std::string &table) {
    FailureOr<std::string> emitted =
        emitTables(from, how, weights, weightsName, code);
    if (succeeded(emitted))
      table = std::move(*emitted);
    return emitted;
  };
  if (failed(emit(module, options, tables.model)) ||
      (reference &&
       failed(emit(reference->module, reference->options, tables.reference))))
    return failure();
  if (!code.object.empty())
    objects.push_back(std::move(code.object));
  return success();
}

void UnlinkedModel::setDigest(const fb::WeightsDigest &digest) {
  setWeightsDigest(tables.model, digest);
  if (!tables.reference.empty())
    setWeightsDigest(tables.reference, digest);
}

/// Writes the weights and, once their digest is in the tables, the library.
static llvm::Error writeFiles(UnlinkedModel &model, StringRef outputPath,
                              const TemporaryFileCallback &temporaryFile) {
  OutputFiles files(temporaryFile);
  // Messages name the files that were asked for, not the temporary ones.
  auto named = [](llvm::Error error, StringRef temporary, StringRef path) {
    std::string text = llvm::toString(std::move(error));
    for (size_t at; (at = text.find(temporary.str())) != std::string::npos;)
      text.replace(at, temporary.size(), path.str());
    return llvm::createStringError(text);
  };
  if (!model.weights.empty()) {
    std::string path = WeightsFile::pathBeside(outputPath);
    if (llvm::Error error = WeightsFile::checkReplaced(outputPath))
      return error;
    std::string temporary = files.add(path);
    auto digest = model.weights.write(temporary);
    if (!digest)
      return named(digest.takeError(), temporary, path);
    model.setDigest(*digest);
  }
  std::string library = files.add(outputPath);
  llvm::Error error =
      linkSharedObject(model.objects, model.tables, library,
                       llvm::sys::path::filename(outputPath), temporaryFile);
  if (!error)
    error = seal(library);
  if (error)
    return named(std::move(error), library, outputPath);
  return files.publish();
}

LogicalResult soap::emitModel(ModuleOp module, const ModelOptions &options,
                              StringRef outputPath,
                              const ReferenceBuild *reference) {
  UnlinkedModel model(options);
  if (failed(model.build(
          module, options,
          llvm::sys::path::filename(WeightsFile::pathBeside(outputPath)),
          reference)))
    return failure();
  if (llvm::Error error = writeFiles(model, outputPath, options.temporaryFile))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}

/// Links in a folder of its own, as linkers write files only.
static llvm::Error linkInMemory(const UnlinkedModel &model, StringRef soname,
                                const TemporaryFileCallback &temporaryFile,
                                std::string &library) {
  SmallString<128> folder, path;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("soap-compile", folder))
    return llvm::createStringError(
        "expected a folder for temporary files, got: " + code.message());
  auto clean = llvm::make_scope_exit(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  path = folder;
  llvm::sys::path::append(path, "model.so");
  if (llvm::Error error = linkSharedObject(model.objects, model.tables, path,
                                           soname, temporaryFile))
    return error;
  if (llvm::Error error = seal(path))
    return error;
  auto contents = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
  if (!contents)
    return llvm::createStringError("expected to read '" + path +
                                   "', got: " + contents.getError().message());
  library = (*contents)->getBuffer().str();
  return llvm::Error::success();
}

FailureOr<ModelContents>
soap::emitModelContents(ModuleOp module, const ModelOptions &options,
                        StringRef name, const ReferenceBuild *reference) {
  ModelContents contents;
  contents.weightsName = WeightsFile::pathBeside(name);
  UnlinkedModel model(options);
  if (failed(model.build(module, options, contents.weightsName, reference)))
    return failure();
  if (!model.weights.empty()) {
    auto digest = model.weights.append(contents.weights);
    if (!digest)
      return module.emitError(llvm::toString(digest.takeError()));
    model.setDigest(*digest);
  }
  if (llvm::Error error =
          linkInMemory(model, name, options.temporaryFile, contents.library))
    return module.emitError(llvm::toString(std::move(error)));
  return contents;
}
