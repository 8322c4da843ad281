//===- ModelHash.cpp - Hashes of the files of a compiled model ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Runtime/ModelHash.h"
#include <algorithm>
#include <cstring>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace soap;

static constexpr char magic[] = "SOAPSEAL";
static constexpr size_t magicBytes = sizeof(magic) - 1;

std::string soap::sealOf(const void *data, size_t size) {
  uint64_t hash = XXH3_64bits(data, size);
  std::string seal(magic, magicBytes);
  for (unsigned shift = 0; shift != 64; shift += 8)
    seal += static_cast<char>(hash >> shift);
  return seal;
}

Seal soap::checkSeal(const void *data, size_t size) {
  if (size < sealBytes)
    return Seal::Missing;
  const char *seal = static_cast<const char *>(data) + (size - sealBytes);
  if (std::memcmp(seal, magic, magicBytes) != 0)
    return Seal::Missing;
  return sealOf(data, size - sealBytes) == std::string(seal, sealBytes)
             ? Seal::Fine
             : Seal::Broken;
}

/// The hash of blocks of `size` bytes of data.
static uint64_t hashOfSamples(const char *data, size_t size) {
  constexpr size_t blocks = 64, blockBytes = 4096;
  if (size <= blocks * blockBytes)
    return XXH3_64bits(data, size);
  std::string sampled;
  sampled.reserve(blocks * blockBytes);
  // The distance is rounded down, so the last block is placed by the end.
  size_t distance = (size - blockBytes) / (blocks - 1);
  for (size_t block = 0; block + 1 != blocks; ++block)
    sampled.append(data + block * distance, blockBytes);
  sampled.append(data + (size - blockBytes), blockBytes);
  return XXH3_64bits(sampled.data(), sampled.size());
}

fb::WeightsDigest soap::digestOfWeights(const void *file, size_t size,
                                        bool all) {
  const char *bytes = static_cast<const char *>(file);
  uint64_t header = 0;
  if (size >= sizeof(header))
    std::memcpy(&header, bytes, sizeof(header));
  size_t begin = std::min<uint64_t>(size, sizeof(header));
  begin += std::min<uint64_t>(size - begin, header);
  return fb::WeightsDigest(size, XXH3_64bits(bytes, begin),
                           hashOfSamples(bytes + begin, size - begin),
                           all ? XXH3_64bits(bytes + begin, size - begin) : 0);
}
