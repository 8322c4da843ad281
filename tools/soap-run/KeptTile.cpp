//===- KeptTile.cpp - Tiles for another process ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptTile.h"
#include <algorithm>
#include <cstring>

using namespace soap;
using namespace soap::run;

/// A message takes tiles until it is this long.
static constexpr size_t messageBytes = size_t{64} << 20;

bool run::isPartOfSum(const soap_tile &tile) {
  return tile.parts_held && tile.summed && tile.origin == SOAP_COMPUTED &&
         (tile.element == SOAP_F32 || tile.element == SOAP_F64);
}

KeptTile::KeptTile(const soap_tile &tile)
    : numbers_(tile), value_(tile.value), rowName_(tile.row_name),
      shape_(tile.shape, tile.shape + tile.rank),
      box_(tile.box, tile.box + 2 * tile.rank),
      parts_(tile.parts, tile.parts + tile.parts_held) {
  if (tile.parts_held && !isPartOfSum(tile))
    return;
  size_t size = soap_element_size(tile.element);
  for (size_t d = 0; d != tile.rank; ++d)
    size *= static_cast<size_t>(box_[2 * d + 1] - box_[2 * d]);
  data_.assign(static_cast<const char *>(tile.data), size);
}

soap_tile KeptTile::view() const {
  soap_tile tile = numbers_;
  tile.value = value_.c_str();
  tile.row_name = rowName_.c_str();
  tile.rank = shape_.size();
  tile.shape = shape_.data();
  tile.box = box_.data();
  tile.parts_held = parts_.size();
  tile.parts = parts_.data();
  tile.data = data_.data();
  return tile;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

// The processes of a run are of one program: numbers are as they lie in memory,
// after their count.
template <typename List>
static void appendList(std::string &message, const List &list) {
  size_t count = list.size();
  message.append(reinterpret_cast<const char *>(&count), sizeof(count));
  message.append(reinterpret_cast<const char *>(list.data()),
                 count * sizeof(typename List::value_type));
}

template <typename List>
static void takeList(const char *&at, List &list) {
  size_t count;
  std::memcpy(&count, at, sizeof(count));
  at += sizeof(count);
  list.resize(count);
  size_t bytes = count * sizeof(typename List::value_type);
  if (bytes)
    std::memcpy(list.data(), at, bytes);
  at += bytes;
}

void KeptTile::append(std::string &message) const {
  message.append(reinterpret_cast<const char *>(&numbers_), sizeof(numbers_));
  appendList(message, value_);
  appendList(message, rowName_);
  appendList(message, shape_);
  appendList(message, box_);
  appendList(message, parts_);
  appendList(message, data_);
}

KeptTile KeptTile::take(const char *&at) {
  KeptTile tile;
  std::memcpy(&tile.numbers_, at, sizeof(tile.numbers_));
  at += sizeof(tile.numbers_);
  takeList(at, tile.value_);
  takeList(at, tile.rowName_);
  takeList(at, tile.shape_);
  takeList(at, tile.box_);
  takeList(at, tile.parts_);
  takeList(at, tile.data_);
  return tile;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// What every rank gives, on rank 0.
static std::vector<std::pair<const char *, size_t>>
gather(Session &session, const std::string &mine) {
  const void *const *all;
  const size_t *sizes;
  size_t count;
  require(soap_model_gather(session.get(), mine.data(), mine.size(), &all,
                            &sizes, &count));
  std::vector<std::pair<const char *, size_t>> result;
  for (size_t rank = 0; rank != count; ++rank)
    result.emplace_back(static_cast<const char *>(all[rank]), sizes[rank]);
  return result;
}

void run::bringTiles(Session &session, const std::vector<KeptTile> &mine,
                     const std::function<void(const KeptTile &)> &use) {
  // The first tile of every message.
  std::vector<size_t> starts;
  size_t filled = messageBytes;
  for (size_t i = 0; i != mine.size(); ++i) {
    if (filled >= messageBytes) {
      starts.push_back(i);
      filled = 0;
    }
    filled += mine[i].bytes();
  }
  starts.push_back(mine.size());
  uint64_t messages = mine.empty() ? 0 : starts.size() - 1;
  std::string count(reinterpret_cast<const char *>(&messages),
                    sizeof(messages));
  std::vector<uint64_t> counts;
  for (auto [data, size] : gather(session, count))
    std::memcpy(&counts.emplace_back(), data, size);
  uint64_t ranks = counts.size();
  require(soap_model_broadcast(session.get(), &ranks, sizeof(ranks)));
  counts.resize(ranks);
  require(soap_model_broadcast(session.get(), counts.data(),
                               ranks * sizeof(uint64_t)));
  // One rank after the other: rank 0 has room for one message at a time.
  for (uint32_t rank = 0; rank != ranks; ++rank)
    for (uint64_t i = 0; i != counts[rank]; ++i) {
      std::string message;
      if (rank == soap_model_rank(session.get()))
        for (size_t t = starts[i]; t != starts[i + 1]; ++t)
          mine[t].append(message);
      for (auto [data, size] : gather(session, message))
        for (const char *at = data; at != data + size;)
          use(KeptTile::take(at));
    }
}
