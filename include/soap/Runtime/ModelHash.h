//===- ModelHash.h - Hashes of the files of a compiled model ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler writes into a model, and the runtime compares, so that no
// damaged file runs, and no model with the weights of another. The hash is XXH3
// with 64 bits (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). It finds
// accidents, not forgeries: a model is code and must come from a trusted place.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_RUNTIME_MODELHASH_H
#define SOAP_RUNTIME_MODELHASH_H

#include "soap/Runtime/Model.fbs.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace soap {

/// Bytes of a seal.
constexpr size_t sealBytes = 16;

/// What stands behind a compiled model of these bytes: a magic word, and the
/// hash of all that comes before the seal, little endian.
std::string sealOf(const void *data, size_t size);

/// Whether a file ends in a seal.
enum class Seal { Missing, Broken, Fine };
Seal checkSeal(const void *data, size_t size);

/// The digest of a safetensors file of `size` bytes. `samples` hashes 64 blocks
/// of 4 KiB, spread evenly over the data from its first byte to its last, or
/// all data where there is no more. `data` is 0 unless `all`. A file that is
/// shorter than its header has the digest of its bytes as the header's.
fb::WeightsDigest digestOfWeights(const void *file, size_t size, bool all);

} // namespace soap

#endif // SOAP_RUNTIME_MODELHASH_H
