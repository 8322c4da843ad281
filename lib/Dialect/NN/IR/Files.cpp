//===- Files.cpp - The files that a model refers to -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/NN/IR/Files.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace soap::nn;
using llvm::StringRef;

static llvm::SmallString<128> normalized(StringRef path) {
  llvm::SmallString<128> result(path);
  llvm::sys::path::remove_dots(result);
  return result;
}

void Files::add(StringRef path, StringRef bytes) {
  memory_[normalized(path)] = bytes;
}

std::optional<StringRef> Files::find(StringRef path) const {
  auto it = memory_.find(normalized(path));
  return it == memory_.end() ? std::nullopt : std::optional(it->second);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
Files::open(StringRef path) const {
  if (std::optional<StringRef> bytes = find(path))
    return llvm::MemoryBuffer::getMemBuffer(*bytes, path,
                                            /*RequiresNullTerminator=*/false);
  bool other = false;
  if (!llvm::sys::fs::is_other(path, other) && other)
    return llvm::createStringError("not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError().message());
  opened_->insert(path.str());
  return std::move(*buffer);
}

std::set<std::string> Files::readFor(mlir::Operation *module) const {
  std::set<std::string> read = *opened_;
  module->walk([&](ParameterOp parameter) {
    if (auto file = mlir::dyn_cast<FileAttr>(parameter.getSource());
        file && !find(file.getPath()))
      read.insert(file.getPath().str());
  });
  return read;
}
