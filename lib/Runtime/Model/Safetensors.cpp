//===- Safetensors.cpp - Reads weights by reference -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Safetensors.h"
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

using namespace soap;
using namespace soap::runtime;

Safetensors::Safetensors(std::shared_ptr<MappedFile> mapped)
    : file_(std::move(mapped)) {
  uint64_t length = 0;
  if (file_->size() < sizeof(length))
    damaged("a truncated file");
  std::memcpy(&length, file_->data(), sizeof(length));
  if (length > file_->size() - sizeof(length))
    damaged("a header beyond the end of the file");
  dataOffset_ = sizeof(length) + length;
  uint64_t dataSize = file_->size() - dataOffset_;
  const char *begin =
      reinterpret_cast<const char *>(file_->data()) + sizeof(length);
  std::string repeated;
  std::set<std::string> names;
  auto onKey = [&](int depth, nlohmann::json::parse_event_t event,
                   nlohmann::json &parsed) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key &&
        !names.insert(parsed.get<std::string>()).second)
      repeated = parsed.get<std::string>();
    return true;
  };
  auto header = nlohmann::json::parse(begin, begin + length, onKey,
                                      /*allow_exceptions=*/false);
  if (!header.is_object())
    damaged("a header that is no JSON object");
  if (!repeated.empty())
    damaged("two tensors '" + repeated + "'");
  for (auto &[name, value] : header.items()) {
    if (name == "__metadata__")
      continue;
    Entry entry;
    try {
      entry.type = value.at("dtype").get<std::string>();
      entry.shape = value.at("shape").get<Shape>();
      const auto &offsets = value.at("data_offsets");
      for (const auto &number : {offsets.at(0), offsets.at(1)})
        if (offsets.size() != 2 || !number.is_number_unsigned())
          damaged("no two data_offsets of '" + name + "'");
      entry.begin = offsets.at(0).get<uint64_t>();
      entry.end = offsets.at(1).get<uint64_t>();
    } catch (const nlohmann::json::exception &) {
      damaged("no dtype, shape or data_offsets of '" + name + "'");
    }
    if (entry.begin > entry.end || entry.end > dataSize)
      damaged("tensor '" + name + "' beyond the end of the file");
    checkSize(name, entry);
    entries_.emplace(name, std::move(entry));
  }
  checkCoverage(dataSize);
}

void Safetensors::damaged(const std::string &what) const {
  invalid("expected a complete safetensors file in '", file_->path(),
          "', got: ", what, "; compile the model again");
}

/// A tensor has the bytes of its shape. Types that no model reads are left.
void Safetensors::checkSize(const std::string &name, const Entry &entry) const {
  for (int64_t extent : entry.shape)
    if (extent < 0)
      damaged("tensor '" + name + "' with a negative extent");
  for (fb::ElementType element : fb::EnumValuesElementType())
    if (entry.type == storedName(element) &&
        static_cast<uint64_t>(byteCount(element, entry.shape)) !=
            entry.end - entry.begin)
      damaged(text("tensor '", name, "' of ", entry.end - entry.begin,
                   " bytes for ", entry.type, " ", toString(entry.shape)));
}

/// The format wants every byte of the data to be one tensor's.
void Safetensors::checkCoverage(uint64_t dataSize) const {
  std::vector<const std::pair<const std::string, Entry> *> order;
  for (const auto &entry : entries_)
    order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return std::tie(a->second.begin, a->second.end) <
           std::tie(b->second.begin, b->second.end);
  });
  uint64_t at = 0;
  const std::string *previous = nullptr;
  for (const auto *entry : order) {
    uint64_t begin = entry->second.begin;
    if (begin > at)
      damaged(text("a hole of ", begin - at, " bytes before tensor '",
                   entry->first, "'"));
    if (begin < at)
      damaged(text("tensors '", *previous, "' and '", entry->first,
                   "' that overlap"));
    at = entry->second.end;
    previous = &entry->first;
  }
  if (at != dataSize)
    damaged(text(dataSize - at, " bytes behind the last tensor"));
}

const unsigned char *Safetensors::find(const std::string &name,
                                       fb::ElementType element,
                                       const Shape &shape) const {
  auto it = entries_.find(name);
  if (it == entries_.end())
    invalid("expected a tensor '", name, "' in '", file_->path(),
            "', got: none; keep the weights file of this model beside it");
  const Entry &entry = it->second;
  auto bytes = static_cast<uint64_t>(byteCount(element, shape));
  if (entry.type != storedName(element) || entry.shape != shape ||
      entry.end - entry.begin != bytes)
    invalid("expected tensor '", name, "' of ", storedName(element), " ",
            toString(shape), " in '", file_->path(), "', got: ", entry.type,
            " ", toString(entry.shape),
            "; keep the weights file of this model beside it");
  return file_->data() + dataOffset_ + entry.begin;
}
