//===- GuardedMemory.cpp - Memory between guard pages ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GuardedMemory.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace soap::test;

static constexpr size_t page = 4096, alignment = 64;
static constexpr char pattern = 0x5a;

static size_t roundUp(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

/// The system's function, whatever this program calls `mmap`.
static void *mapPages(size_t bytes, int protection) {
  auto *result = reinterpret_cast<void *>(
      syscall(SYS_mmap, nullptr, bytes, protection,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return result;
}

GuardedBlock::GuardedBlock(size_t bytes, bool atEnd)
    : bytes_(bytes), whole_(roundUp(std::max<size_t>(bytes, 1), page)) {
  mapped_ = static_cast<char *>(mapPages(whole_ + 2 * page, PROT_NONE));
  if (mapped_ == MAP_FAILED ||
      mprotect(mapped_ + page, whole_, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  begin_ = mapped_ + page;
  if (atEnd)
    begin_ += whole_ - roundUp(bytes, alignment);
  // At most a page on each side.
  std::memset(mapped_ + page, pattern, begin_ - (mapped_ + page));
  std::memset(begin_ + bytes, pattern,
              mapped_ + page + whole_ - begin_ - bytes);
}

GuardedBlock::~GuardedBlock() {
  syscall(SYS_munmap, mapped_, whole_ + 2 * page);
}

bool GuardedBlock::isIntact() const {
  auto isPattern = [](char c) { return c == pattern; };
  return std::all_of(mapped_ + page, begin_, isPattern) &&
         std::all_of(begin_ + bytes_, mapped_ + page + whole_, isPattern);
}

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

namespace {
struct Arenas {
  std::mutex mutex;
  std::map<void *, std::unique_ptr<GuardedBlock>> blocks;
  std::atomic<size_t> count{0}, broken{0};
  std::atomic<bool> atEnd{true};

  static Arenas &get() {
    static auto *arenas = new Arenas;
    return *arenas;
  }
};
} // namespace

void soap::test::guardEnds(bool atEnd) { Arenas::get().atEnd = atEnd; }
size_t soap::test::guardedArenas() { return Arenas::get().count; }
size_t soap::test::brokenArenas() { return Arenas::get().broken; }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void *mmap(void *address, size_t bytes, int protection, int flags,
                      int file, off_t offset) noexcept {
  constexpr int arena = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (address || flags != arena)
    return reinterpret_cast<void *>(
        syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
  Arenas &arenas = Arenas::get();
  try {
    auto block = std::make_unique<GuardedBlock>(bytes, arenas.atEnd);
    void *data = block->data();
    std::lock_guard<std::mutex> lock(arenas.mutex);
    arenas.blocks[data] = std::move(block);
    ++arenas.count;
    return data;
  } catch (const std::bad_alloc &) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
}

extern "C" int munmap(void *address, size_t bytes) noexcept {
  Arenas &arenas = Arenas::get();
  {
    std::lock_guard<std::mutex> lock(arenas.mutex);
    auto found = arenas.blocks.find(address);
    if (found != arenas.blocks.end()) {
      if (!found->second->isIntact())
        ++arenas.broken;
      arenas.blocks.erase(found);
      return 0;
    }
  }
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}
#endif
