//===- WeightsFile.cpp - Weights of a compiled model ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Model/Model.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace soap;

std::string WeightsFile::add(StringRef name, RankedTensorType type,
                             StringRef path, int64_t offset, int64_t length) {
  std::string &known =
      names[{path.str(), offset, length, type.getAsOpaquePointer()}];
  if (!known.empty())
    return known;
  std::string unique = name.str();
  for (int suffix = 1; tensors.count(unique); ++suffix)
    unique = (name + "#" + Twine(suffix)).str();
  tensors[unique] = {path.str(), offset, length, type};
  return known = unique;
}

/// The safetensors name of an element type.
static std::string dtypeOf(Type type) {
  if (type.isBF16())
    return "BF16";
  if (isa<FloatType>(type))
    return "F" + std::to_string(type.getIntOrFloatBitWidth());
  if (type.isInteger(1))
    return "BOOL";
  return (type.isUnsignedInteger() ? "U" : "I") +
         std::to_string(type.getIntOrFloatBitWidth());
}

/// Copies bytes from one open file to a stream, in blocks.
static llvm::Error copyBytes(StringRef path, int64_t offset, int64_t length,
                             llvm::raw_ostream &os) {
  auto file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file)
    return llvm::createStringError(
        "expected to read the weights in '" + path +
        "', got: " + llvm::toString(file.takeError()));
  SmallVector<char, 0> block(1 << 20);
  llvm::Error error = llvm::Error::success();
  while (length > 0) {
    size_t size = std::min<int64_t>(length, block.size());
    auto read = llvm::sys::fs::readNativeFileSlice(
        *file, llvm::MutableArrayRef<char>(block.data(), size), offset);
    if (!read || *read == 0) {
      if (!read)
        llvm::consumeError(read.takeError());
      llvm::consumeError(std::move(error));
      error = llvm::createStringError(
          "expected " + Twine(length) + " more bytes of weights at " +
          Twine(offset) + " of '" + path +
          "', got: the end of the file; was it changed after the import?");
      break;
    }
    os.write(block.data(), *read);
    offset += *read;
    length -= *read;
  }
  (void)llvm::sys::fs::closeFile(*file); // It was only read.
  return error;
}

llvm::Error WeightsFile::write(StringRef outputPath) const {
  // Header: name, dtype, shape and byte range of every tensor; tensors lie in
  // the order of their names, each at a multiple of 64.
  std::string header;
  llvm::raw_string_ostream text(header);
  llvm::json::OStream json(text);
  int64_t end = 0;
  json.object([&] {
    for (auto &[name, source] : tensors) {
      int64_t begin = llvm::alignTo(end, 64);
      end = begin + source.length;
      json.attributeObject(name, [&, &source = source] {
        json.attribute("dtype", dtypeOf(source.type.getElementType()));
        json.attributeArray("shape", [&] {
          for (int64_t size : source.type.getShape())
            json.value(size);
        });
        json.attributeArray("data_offsets", [&] {
          json.value(begin);
          json.value(end);
        });
      });
    }
  });
  header.resize(llvm::alignTo(header.size() + 8, 64) - 8, ' ');

  auto file = llvm::sys::fs::TempFile::create(outputPath + ".tmp%%%%%%");
  if (!file)
    return llvm::createStringError(
        "expected to write '" + outputPath +
        "', got: " + llvm::toString(file.takeError()));
  llvm::Error error = llvm::Error::success();
  {
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    char length[8];
    llvm::support::endian::write64le(length, header.size());
    os.write(length, 8);
    os << header;
    int64_t at = 0;
    for (auto &[name, source] : tensors) {
      int64_t begin = llvm::alignTo(at, 64);
      os.write_zeros(begin - at);
      error = llvm::joinErrors(
          std::move(error),
          copyBytes(source.path, source.offset, source.length, os));
      if (error)
        break;
      at = begin + source.length;
    }
    os.flush();
    if (!error && os.has_error())
      error = llvm::createStringError("expected to write '" + outputPath +
                                      "', got: " + os.error().message() +
                                      "; is the disk full?");
    os.clear_error();
  }
  if (error)
    return llvm::joinErrors(std::move(error), file->discard());
  return file->keep(outputPath);
}
