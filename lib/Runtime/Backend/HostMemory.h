//===- HostMemory.h - Memory of the host ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_HOSTMEMORY_H
#define SOAP_LIB_RUNTIME_BACKEND_HOSTMEMORY_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace soap::runtime {

/// @{ Zeroed pages; physical memory comes with the first touch, near the core
/// that touches it. Throws SOAP_INVALID if the address space is exhausted.
char *allocatePages(size_t bytes);
void freePages(char *block, size_t bytes);
/// @}
/// Gives whole pages inside of a range of a block back; their contents are
/// lost.
void discardPages(char *block, size_t offset, size_t bytes);
/// Bytes of the whole pages inside of a range of a block.
size_t wholePageBytes(size_t offset, size_t bytes);

/// Bytes of the cache lines that so many bytes take: what lies side by side in
/// one block starts aligned, and shares no line.
inline uint64_t wholeLines(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// A block of pages, freed with this.
class Arena {
public:
  Arena() = default;
  /// Throws SOAP_INVALID if the address space is exhausted.
  explicit Arena(size_t bytes)
      : data_(bytes ? allocatePages(bytes) : nullptr), size_(bytes) {}
  ~Arena() {
    if (data_)
      freePages(data_, size_);
  }
  Arena(Arena &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Arena &operator=(Arena &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  char *data() const { return data_; }
  size_t size() const { return size_; }

private:
  char *data_ = nullptr;
  size_t size_ = 0;
};

/// Many blocks that live long, one behind the other, so that they lie in huge
/// pages: kernels that jump over a page with every element that they read, as
/// products do, otherwise wait for addresses to be translated.
class BlockList {
public:
  /// Zeroed memory for `bytes`, at a multiple of 64. It is given back when no
  /// block of the same arena is used any more. Throws SOAP_INVALID if the
  /// address space is exhausted.
  std::shared_ptr<void> allocate(size_t bytes);

private:
  std::shared_ptr<Arena> arena_;
  size_t used_ = 0; ///< Bytes of the arena.
};

/// Bytes that this process can still use: of the machine and of its control
/// group, whichever is less.
uint64_t availableHostMemory();

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_HOSTMEMORY_H
