//===- Memory.h - Arenas and what the machine has ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_MEMORY_H
#define SOAP_LIB_RUNTIME_ENGINE_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace soap::runtime {

/// A block of zeroed pages; physical memory comes with the first touch, near
/// the core that touches it.
class Arena {
public:
  Arena() = default;
  /// Throws SOAP_INVALID if the address space is exhausted.
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;

  char *data() const { return base; }
  size_t size() const { return length; }
  /// Gives whole pages inside of a range back; their contents are lost. Returns
  /// their bytes.
  size_t discard(size_t offset, size_t bytes);
  /// Bytes of the whole pages inside of a range of an arena.
  static size_t wholePages(size_t offset, size_t bytes);

private:
  char *base = nullptr;
  size_t length = 0;
};

/// Bytes that this process can still use: of the machine and of its control
/// group, whichever is less.
uint64_t availableMemory();

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_MEMORY_H
