//===- PlanArena.h - Memory of compiled plans -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_PLANARENA_H
#define SOAP_LIB_SEARCH_PLANARENA_H

#include "llvm/Support/Allocator.h"
#include <vector>

namespace soap::detail {

/// Slabs of memory that outlive the arenas which they were cut up in. A search
/// writes some gigabytes of plans a minute: memory from the operating system
/// would cost more than the plans, since each page comes as a fault.
class SlabPool {
public:
  static constexpr size_t slabBytes = size_t(1) << 20;

  SlabPool() = default;
  SlabPool(const SlabPool &) = delete;
  SlabPool &operator=(const SlabPool &) = delete;
  ~SlabPool() {
    for (void *slab : free_)
      llvm::deallocate_buffer(slab, slabBytes, alignof(std::max_align_t));
  }

  /// @{ What BumpPtrAllocatorImpl calls.
  void *Allocate(size_t bytes, size_t alignment) {
    if (bytes != slabBytes || free_.empty())
      return llvm::allocate_buffer(bytes, alignment);
    void *slab = free_.back();
    free_.pop_back();
    return slab;
  }
  void Deallocate(const void *slab, size_t bytes, size_t alignment) {
    if (bytes == slabBytes)
      free_.push_back(const_cast<void *>(slab));
    else
      llvm::deallocate_buffer(const_cast<void *>(slab), bytes, alignment);
  }
  /// @}

private:
  std::vector<void *> free_;
};

/// Takes its slabs, all of one size, from a pool and gives them back.
using PlanArena =
    llvm::BumpPtrAllocatorImpl<SlabPool &, SlabPool::slabBytes,
                               SlabPool::slabBytes, /*GrowthDelay=*/1 << 30>;

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_PLANARENA_H
