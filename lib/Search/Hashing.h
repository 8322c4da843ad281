//===- Hashing.h - Keys of caches -------------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_HASHING_H
#define SOAP_LIB_SEARCH_HASHING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/xxhash.h"
#include <cstdint>

namespace soap::detail {

/// 128 bits of what a cache entry was made from. They stand for it: with a
/// billion entries two different ones share a key with probability 1e-21.
struct Key {
  uint64_t low = 0, high = 0;
  bool operator==(const Key &o) const { return low == o.low && high == o.high; }
};

/// Collects integers and hashes them.
class KeyBuilder {
public:
  void clear() { words_.clear(); }
  void add(int64_t number) { words_.push_back(static_cast<uint64_t>(number)); }
  void add(Key key) {
    words_.push_back(key.low);
    words_.push_back(key.high);
  }
  template <typename Int>
  void addAll(llvm::ArrayRef<Int> numbers) {
    add(static_cast<int64_t>(numbers.size()));
    for (Int number : numbers)
      add(static_cast<int64_t>(number));
  }
  Key key() const {
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
        {reinterpret_cast<const uint8_t *>(words_.data()), words_.size() * 8});
    return {hash.low64, hash.high64};
  }

private:
  llvm::SmallVector<uint64_t, 128> words_;
};

} // namespace soap::detail

template <>
struct llvm::DenseMapInfo<soap::detail::Key> {
  static soap::detail::Key getEmptyKey() { return {~0ull, ~0ull}; }
  static soap::detail::Key getTombstoneKey() { return {~0ull, ~0ull - 1}; }
  static unsigned getHashValue(const soap::detail::Key &key) {
    return static_cast<unsigned>(key.low);
  }
  static bool isEqual(const soap::detail::Key &a, const soap::detail::Key &b) {
    return a == b;
  }
};

#endif // SOAP_LIB_SEARCH_HASHING_H
