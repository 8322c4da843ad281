//===- HostMemory.cpp - Memory of the host --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>

using namespace soap::runtime;

char *soap::runtime::allocatePages(size_t bytes) {
  void *block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED)
    invalid("expected ", bytes, " bytes of memory, got: ", std::strerror(errno),
            "; use more devices or a smaller batch");
  madvise(block, bytes, MADV_HUGEPAGE);
  return static_cast<char *>(block);
}

void soap::runtime::freePages(char *block, size_t bytes) {
  munmap(block, bytes);
}

std::shared_ptr<void> soap::runtime::BlockList::allocate(size_t bytes) {
  constexpr size_t alignment = 64, arenaBytes = size_t{64} << 20;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (!arena_ || bytes > arena_->size() - used_) {
    // Pages that nobody touches are not there.
    arena_ = std::make_shared<Arena>(std::max(bytes, arenaBytes));
    used_ = 0;
  }
  void *block = arena_->data() + used_;
  used_ += bytes;
  return {arena_, block};
}

/// The first whole page of a range, and the end of the last one.
static std::pair<size_t, size_t> pagesOf(size_t offset, size_t bytes) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t begin = (offset + page - 1) / page * page;
  size_t end = (offset + bytes) / page * page;
  return {begin, std::max(begin, end)};
}

size_t soap::runtime::wholePageBytes(size_t offset, size_t bytes) {
  auto [begin, end] = pagesOf(offset, bytes);
  return end - begin;
}

void soap::runtime::discardPages(char *block, size_t offset, size_t bytes) {
  auto [begin, end] = pagesOf(offset, bytes);
  if (begin < end)
    madvise(block + begin, end - begin, MADV_DONTNEED);
}

/// The first number in a file, or the largest one ("max", no such file).
static uint64_t readNumber(const char *path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : std::numeric_limits<uint64_t>::max();
}

uint64_t soap::runtime::availableHostMemory() {
  uint64_t available = std::numeric_limits<uint64_t>::max();
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) {
      available = kibibytes * 1024;
      break;
    }
  }
  uint64_t limit = readNumber("/sys/fs/cgroup/memory.max");
  uint64_t used = readNumber("/sys/fs/cgroup/memory.current");
  if (limit != std::numeric_limits<uint64_t>::max() && used <= limit)
    available = std::min(available, limit - used);
  return available;
}
