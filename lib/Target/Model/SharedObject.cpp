//===- SharedObject.cpp - Link a compiled model ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Model/SharedObject.h"
#include "soap/Target/Host/HostProcessor.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>

using namespace llvm;
using namespace soap;

Expected<std::string> soap::findLinker() {
  // Outputs are small, since weights have a file of their own: what counts is
  // how fast the linker starts, and Debian's ld.lld loads all of LLVM first.
  for (const char *name : {"ld", "ld.lld"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  if (ErrorOr<std::string> path =
          sys::findProgramByName("ld.lld", {SOAP_LLVM_TOOLS_DIR}))
    return *path;
  return createStringError("expected the linker ld or ld.lld in PATH or in " +
                           Twine(SOAP_LLVM_TOOLS_DIR) +
                           ", got: none; install binutils or lld-19");
}

/// An object file that defines the tables.
static Expected<std::string> emitData(const ModelTables &tables) {
  LLVMContext context;
  Module module("soap_model", context);
  auto define = [&](StringRef name, StringRef table) {
    Constant *bytes = ConstantDataArray::getRaw(table, table.size(),
                                                Type::getInt8Ty(context));
    auto *data =
        new GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                           GlobalValue::ExternalLinkage, bytes, name);
    data->setAlignment(Align(64));
  };
  define("soap_model_data", tables.model);
  if (!tables.reference.empty())
    define("soap_reference_data", tables.reference);
  HostProcessor host = HostProcessor::host();
  host.optLevel = 0;
  return emitObject(module, host);
}

namespace {
/// Files that are gone at the end.
class TemporaryFiles {
public:
  explicit TemporaryFiles(const TemporaryFileCallback &callback)
      : callback_(callback) {}
  ~TemporaryFiles() {
    for (const std::string &path : paths_) {
      (void)sys::fs::remove(path);
      if (callback_)
        callback_(path, /*exists=*/false);
    }
  }

  Error write(StringRef contents, StringRef directory) {
    SmallString<128> model(directory), path;
    sys::path::append(model, ".soap-%%%%%%%%.o");
    int descriptor;
    if (std::error_code error =
            sys::fs::createUniqueFile(model, descriptor, path))
      return createStringError("cannot write into " + directory + ": " +
                               error.message());
    add(path);
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << contents;
    stream.close();
    if (std::error_code error = stream.error()) {
      stream.clear_error();
      return createStringError("cannot write " + path + ": " + error.message());
    }
    return Error::success();
  }

  void add(StringRef path) {
    paths_.push_back(path.str());
    if (callback_)
      callback_(paths_.back(), /*exists=*/true);
  }

  const std::string &back() const { return paths_.back(); }

private:
  const TemporaryFileCallback &callback_;
  std::deque<std::string> paths_;
};
} // namespace

/// Runs the linker; its messages become the error.
static Error runLinker(StringRef linker, ArrayRef<StringRef> arguments,
                       TemporaryFiles &files, StringRef directory) {
  if (Error error = files.write("", directory))
    return error;
  std::string log = files.back(), message;
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log),
                                          StringRef(log)};
  if (sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects, 0, 0,
                          &message) == 0)
    return Error::success();
  if (ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(log))
    message += (*text)->getBuffer().rtrim();
  // The linker writes through mapped memory: a full disk kills it by SIGBUS.
  ErrorOr<sys::fs::space_info> space = sys::fs::disk_space(directory);
  if (space && space->available < (1 << 20))
    message += "; free space in '" + directory.str() + "', which has " +
               std::to_string(space->available) + " bytes left";
  return createStringError("the linker " + linker + " failed: " + message);
}

Error soap::linkSharedObject(ArrayRef<std::string> objects,
                             const ModelTables &tables, StringRef outputPath,
                             StringRef soname,
                             const TemporaryFileCallback &temporaryFile) {
  Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  Expected<std::string> data = emitData(tables);
  if (!data)
    return data.takeError();

  // Temporary files lie beside the output, so that the last step is a rename.
  SmallString<128> directory(sys::path::parent_path(outputPath));
  if (directory.empty())
    directory = ".";
  TemporaryFiles files(temporaryFile);
  SmallVector<std::string> inputs;
  if (Error error = files.write(*data, directory))
    return error;
  inputs.push_back(files.back());
  for (const std::string &object : objects) {
    if (Error error = files.write(object, directory))
      return error;
    inputs.push_back(files.back());
  }
  SmallString<128> linked(directory), path;
  sys::path::append(linked, ".soap-%%%%%%%%.so");
  sys::fs::createUniquePath(linked, path, /*MakeAbsolute=*/false);
  files.add(path);

  StringRef name = soname.empty() ? sys::path::filename(outputPath) : soname;
  SmallVector<StringRef> arguments = {
      *linker,         "-shared", "-o",          path, "-soname", name,
      "--gc-sections", "-z",      "noexecstack", "-z", "relro"};
  for (const std::string &input : inputs)
    arguments.push_back(input);
  if (Error error = runLinker(*linker, arguments, files, directory))
    return error;
  if (std::error_code error = sys::fs::rename(path, outputPath))
    return createStringError("cannot write " + outputPath + ": " +
                             error.message());
  return Error::success();
}
