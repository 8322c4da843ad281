//===- Safetensors.cpp - Reads weights by reference -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Safetensors.h"
#include <cstring>
#include <nlohmann/json.hpp>

using namespace soap;
using namespace soap::runtime;

static const char *typeName(fb::ElementType element) {
  switch (element) {
  case fb::ElementType::F32:
    return "F32";
  case fb::ElementType::F64:
    return "F64";
  case fb::ElementType::F16:
    return "F16";
  case fb::ElementType::BF16:
    return "BF16";
  case fb::ElementType::I8:
    return "I8";
  case fb::ElementType::I16:
    return "I16";
  case fb::ElementType::I32:
    return "I32";
  case fb::ElementType::I64:
    return "I64";
  case fb::ElementType::U8:
    return "U8";
  case fb::ElementType::U16:
    return "U16";
  case fb::ElementType::U32:
    return "U32";
  case fb::ElementType::U64:
    return "U64";
  case fb::ElementType::Bool:
    return "BOOL";
  }
  return "unknown";
}

Safetensors::Safetensors(std::shared_ptr<MappedFile> mapped)
    : file(std::move(mapped)) {
  auto damaged = [&](const std::string &what) {
    invalid("expected a complete safetensors file in '", file->path(),
            "', got: ", what, "; compile the model again");
  };
  uint64_t length = 0;
  if (file->size() < sizeof(length))
    damaged("a truncated file");
  std::memcpy(&length, file->data(), sizeof(length));
  if (length > file->size() - sizeof(length))
    damaged("a header beyond the end of the file");
  dataOffset = sizeof(length) + length;
  uint64_t dataSize = file->size() - dataOffset;
  const char *text =
      reinterpret_cast<const char *>(file->data()) + sizeof(length);
  auto header = nlohmann::json::parse(text, text + length, nullptr, false);
  if (!header.is_object())
    damaged("a header that is no JSON object");
  for (auto &[name, value] : header.items()) {
    if (name == "__metadata__")
      continue;
    Entry entry;
    try {
      entry.type = value.at("dtype").get<std::string>();
      entry.shape = value.at("shape").get<Shape>();
      entry.begin = value.at("data_offsets").at(0).get<uint64_t>();
      entry.end = value.at("data_offsets").at(1).get<uint64_t>();
    } catch (const nlohmann::json::exception &) {
      damaged("no dtype, shape or data_offsets of '" + name + "'");
    }
    if (entry.begin > entry.end || entry.end > dataSize)
      damaged("tensor '" + name + "' beyond the end of the file");
    entries.emplace(name, std::move(entry));
  }
}

const unsigned char *Safetensors::find(const std::string &name,
                                       fb::ElementType element,
                                       const Shape &shape) const {
  auto it = entries.find(name);
  if (it == entries.end())
    invalid("expected a tensor '", name, "' in '", file->path(),
            "', got: none; keep the weights file of this model beside it");
  const Entry &entry = it->second;
  auto bytes = static_cast<uint64_t>(byteCount(element, shape));
  if (entry.type != typeName(element) || entry.shape != shape ||
      entry.end - entry.begin != bytes)
    invalid("expected tensor '", name, "' of ", typeName(element), " ",
            toString(shape), " in '", file->path(), "', got: ", entry.type, " ",
            toString(entry.shape),
            "; keep the weights file of this model beside it");
  return file->data() + dataOffset + entry.begin;
}
