//===- LockedMemory.cpp - Memory of the host that is locked ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LockedMemory.h"
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace {
struct Blocks {
  std::mutex mutex;
  std::map<uintptr_t, size_t> bytes; ///< By the first one.
};
} // namespace

static Blocks &blocks() {
  // Never destroyed: threads of streams may outlive other statics.
  static auto *blocks = new Blocks;
  return *blocks;
}

void soap::emulated::setLocked(const void *host, size_t bytes) {
  std::lock_guard<std::mutex> lock(blocks().mutex);
  auto first = reinterpret_cast<uintptr_t>(host);
  if (bytes)
    blocks().bytes[first] = bytes;
  else
    blocks().bytes.erase(first);
}

bool soap::emulated::isLocked(const void *host) {
  std::lock_guard<std::mutex> lock(blocks().mutex);
  auto address = reinterpret_cast<uintptr_t>(host);
  auto after = blocks().bytes.upper_bound(address);
  if (after == blocks().bytes.begin())
    return false;
  auto block = std::prev(after);
  return address - block->first < block->second;
}
