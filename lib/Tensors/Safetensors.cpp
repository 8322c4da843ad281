//===- Safetensors.cpp - Named tensors in one file ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/Safetensors.h"
#include "soap/Tensors/Files.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace soap::tensors;
using Json = nlohmann::ordered_json;

/// Names of element types, by soap_element.
static constexpr const char *typeNames[] = {
#define SOAP_ELEMENT_TYPE(NAME, C_NAME, BYTES, SHORT, SAFETENSORS) SAFETENSORS,
#include "soap/Runtime/ElementTypes.def"
};

/// What the sum of the two sizes in front of the elements is a multiple of.
static constexpr size_t alignment = 64;

void soap::tensors::writeSafetensors(
    const std::string &path, const std::map<std::string, Tensor> &tensors,
    const std::map<std::string, std::string> &metadata, Durability durability) {
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  size_t end = 0;
  for (const auto &[name, tensor] : tensors) {
    size_t begin = end;
    end += tensor.bytes.size();
    header[name] = {{"dtype", typeNames[tensor.element]},
                    {"shape", tensor.shape},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump(-1, ' ', /*ensure_ascii=*/false,
                                 Json::error_handler_t::replace);
  text.resize((text.size() + 8 + alignment - 1) / alignment * alignment - 8,
              ' ');
  writeFile(
      path,
      [&](std::ostream &file) {
        for (unsigned byte = 0; byte != 8; ++byte)
          file.put(static_cast<char>(text.size() >> (8 * byte) & 0xff));
        file << text;
        for (const auto &[name, tensor] : tensors)
          file.write(reinterpret_cast<const char *>(tensor.bytes.data()),
                     static_cast<std::streamsize>(tensor.bytes.size()));
      },
      durability);
}

namespace {
class Reader {
public:
  explicit Reader(const std::string &path)
      : path_(path), file_(openFile(path)) {
    file_.seekg(0, std::ios::end);
    size_ = static_cast<uint64_t>(file_.tellg());
    file_.seekg(0);
  }

  std::map<std::string, Tensor>
  read(std::map<std::string, std::string> *metadata) {
    uint64_t length = 0;
    for (unsigned byte = 0; byte != 8; ++byte)
      length |= static_cast<uint64_t>(static_cast<unsigned char>(file_.get()))
                << (8 * byte);
    if (!file_ || size_ < 8 || length > size_ - 8)
      damaged("its header is longer than the file");
    std::string text(length, ' ');
    file_.read(text.data(), static_cast<std::streamsize>(length));
    Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!file_ || !header.is_object())
      damaged("its header is no JSON object");
    std::map<std::string, Tensor> tensors;
    dataEnd_ = 8 + length;
    for (const auto &[name, entry] : header.items())
      if (name != "__metadata__")
        tensors[name] = readTensor(name, entry, 8 + length);
      else if (metadata)
        readMetadata(entry, *metadata);
    if (dataEnd_ != size_)
      damaged("with " + std::to_string(size_ - dataEnd_) +
              " bytes behind its last tensor");
    return tensors;
  }

private:
  [[noreturn]] void damaged(const std::string &what) const {
    throw UsageError("expected a whole safetensors file, got: '" + path_ +
                     "', " + what);
  }

  void readMetadata(const Json &entry,
                    std::map<std::string, std::string> &metadata) const {
    if (!entry.is_object())
      damaged("whose metadata are no texts by name");
    for (const auto &[name, text] : entry.items()) {
      if (!text.is_string())
        damaged("whose metadata are no texts by name");
      metadata[name] = text.get<std::string>();
    }
  }

  Tensor readTensor(const std::string &name, const Json &entry,
                    uint64_t start) {
    Tensor tensor;
    uint64_t begin = 0, end = 0, bytes = 0;
    try {
      std::string type = entry.at("dtype");
      const auto *known =
          std::find(std::begin(typeNames), std::end(typeNames), type);
      if (known == std::end(typeNames))
        damaged("whose tensor '" + name + "' has the unknown type '" + type +
                "'");
      tensor.element = static_cast<soap_element>(known - typeNames);
      tensor.shape = entry.at("shape").get<std::vector<int64_t>>();
      begin = entry.at("data_offsets").at(0);
      end = entry.at("data_offsets").at(1);
    } catch (const Json::exception &) {
      damaged("whose tensor '" + name + "' is not described");
    }
    bytes = soap_element_size(tensor.element);
    for (int64_t size : tensor.shape)
      if (size < 0 ||
          __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes))
        damaged("whose tensor '" + name + "' has no such shape");
    if (begin > end || end > size_ - start || end - begin != bytes)
      damaged("whose tensor '" + name + "' has other bytes than its shape");
    tensor.bytes.resize(bytes);
    file_.seekg(static_cast<std::streamoff>(start + begin));
    file_.read(reinterpret_cast<char *>(tensor.bytes.data()),
               static_cast<std::streamsize>(bytes));
    if (!file_)
      damaged("whose tensor '" + name + "' ends too early");
    dataEnd_ = std::max(dataEnd_, start + end);
    return tensor;
  }

  std::string path_;
  std::ifstream file_;
  uint64_t size_ = 0, dataEnd_ = 0; ///< Of the file, and behind all tensors.
};
} // namespace

std::map<std::string, Tensor>
soap::tensors::readSafetensors(const std::string &path,
                               std::map<std::string, std::string> *metadata) {
  return Reader(path).read(metadata);
}
