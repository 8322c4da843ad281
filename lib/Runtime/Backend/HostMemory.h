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

/// A block of pages, freed with this.
class Arena {
public:
  Arena() = default;
  /// Throws SOAP_INVALID if the address space is exhausted.
  explicit Arena(size_t bytes)
      : base(bytes ? allocatePages(bytes) : nullptr), length(bytes) {}
  ~Arena() {
    if (base)
      freePages(base, length);
  }
  Arena(Arena &&other) noexcept
      : base(std::exchange(other.base, nullptr)),
        length(std::exchange(other.length, 0)) {}
  Arena &operator=(Arena &&other) noexcept {
    std::swap(base, other.base);
    std::swap(length, other.length);
    return *this;
  }

  char *data() const { return base; }
  size_t size() const { return length; }

private:
  char *base = nullptr;
  size_t length = 0;
};

/// Bytes that this process can still use: of the machine and of its control
/// group, whichever is less.
uint64_t availableHostMemory();

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_HOSTMEMORY_H
