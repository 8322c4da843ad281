//===- WeightsFile.cpp - Weights of a compiled model ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"
#include "soap/Runtime/ModelHash.h"
#include "soap/Target/Model/Model.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace soap;

/// The entry of a header that is no tensor, and how all headers begin that are
/// written here.
static constexpr StringLiteral metadataName = "__metadata__";
static constexpr StringLiteral
    headerBegin(R"({"__metadata__":{"written_by":"soap-compile"})");

std::string WeightsFile::pathBeside(StringRef library) {
  SmallString<128> path(library);
  llvm::sys::path::replace_extension(path, "safetensors");
  return std::string(path);
}

llvm::Error WeightsFile::checkReplaced(StringRef library) {
  if (llvm::sys::fs::exists(library))
    return llvm::Error::success();
  std::string path = pathBeside(library);
  // What cannot be read cannot be replaced either, or is not there.
  auto begin = llvm::MemoryBuffer::getFileSlice(path, headerBegin.size(), 8);
  if (!begin || (*begin)->getBuffer() == headerBegin)
    return llvm::Error::success();
  return llvm::createStringError(
      "expected to write weights to '" + path +
      "', got: a file there that soap-compile did not write; choose another "
      "-o, or remove it");
}

std::string WeightsFile::add(StringRef name, RankedTensorType type,
                             StringRef path, int64_t offset, int64_t length) {
  std::string &known =
      names_[{path.str(), offset, length, type.getAsOpaquePointer()}];
  if (!known.empty())
    return known;
  std::string unique = name.str();
  for (int suffix = 1; tensors_.count(unique) || unique == metadataName;
       ++suffix)
    unique = (name + "#" + Twine(suffix)).str();
  tensors_[unique] = {path.str(), offset, length, type};
  return known = unique;
}

/// The safetensors name of an element type.
static const char *dtypeOf(Type type) {
  static constexpr const char *names[] = {
#define SOAP_ELEMENT_TYPE(NAME, C_NAME, BYTES, SHORT, SAFETENSORS) SAFETENSORS,
#include "soap/Runtime/ElementTypes.def"
  };
  return names[static_cast<size_t>(*elementType(type))];
}

/// Copies bytes from a file of this machine to a stream, in blocks.
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

/// The digest of a file that has been written.
static llvm::Expected<fb::WeightsDigest> digestOf(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError("expected to read '" + path +
                                   "', got: " + file.getError().message());
  return digestOfWeights((*file)->getBufferStart(), (*file)->getBufferSize(),
                         /*all=*/true);
}

std::string WeightsFile::header() const {
  // Tensors lie in the order of their names, without gaps: the format allows
  // none.
  std::string header;
  llvm::raw_string_ostream text(header);
  llvm::json::OStream json(text);
  int64_t end = 0;
  json.object([&] {
    json.attributeObject(metadataName,
                         [&] { json.attribute("written_by", "soap-compile"); });
    for (auto &[name, source] : tensors_) {
      int64_t begin = end;
      end += source.length;
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
  return header;
}

llvm::Error WeightsFile::writeTo(llvm::raw_ostream &os,
                                 llvm::function_ref<bool()> failed) const {
  std::string text = header();
  char length[8];
  llvm::support::endian::write64le(length, text.size());
  os.write(length, 8);
  os << text;
  for (auto &[name, source] : tensors_) {
    if (std::optional<StringRef> bytes = files_.find(source.path))
      os << bytes->substr(source.offset, source.length);
    else if (llvm::Error error =
                 copyBytes(source.path, source.offset, source.length, os))
      return error;
    if (failed()) // On a full disk, the rest need not be written.
      break;
  }
  return llvm::Error::success();
}

llvm::Expected<fb::WeightsDigest>
WeightsFile::write(StringRef outputPath) const {
  std::error_code code;
  llvm::raw_fd_ostream os(outputPath, code);
  if (code)
    return llvm::createStringError("expected to write '" + outputPath +
                                   "', got: " + code.message());
  llvm::Error error = writeTo(os, [&] { return os.has_error(); });
  os.close();
  if (!error && os.has_error())
    error = llvm::createStringError("expected to write '" + outputPath +
                                    "', got: " + os.error().message() +
                                    "; is the disk full?");
  os.clear_error();
  if (error) {
    (void)llvm::sys::fs::remove(outputPath);
    return std::move(error);
  }
  return digestOf(outputPath);
}

llvm::Expected<fb::WeightsDigest>
WeightsFile::append(std::string &contents) const {
  size_t begin = contents.size();
  llvm::raw_string_ostream os(contents);
  if (llvm::Error error = writeTo(os, [] { return false; }))
    return std::move(error);
  return digestOfWeights(contents.data() + begin, contents.size() - begin,
                         /*all=*/true);
}
