//===- PlanCache.h - Compiled plans -----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_PLANCACHE_H
#define SOAP_LIB_SEARCH_PLANCACHE_H

#include "Hashing.h"
#include "PlanArena.h"
#include "soap/Search/CompiledTasks.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace soap::detail {

/// Compiled plans by what they were made from. They live in one arena; when it
/// is full, those in use move to a new one and the others are forgotten.
class PlanCache {
public:
  /// Plans are forgotten when the arena has grown to `limitBytes`.
  explicit PlanCache(size_t limitBytes)
      : limitBytes_(limitBytes), arena_(std::make_unique<PlanArena>(pool_)) {}

  const ValueTasks *find(Key key) const { return plans_.lookup(key); }
  /// Where the lists of the next plan go.
  PlanArena &arena() { return *arena_; }
  SlabPool &pool() { return pool_; }
  const ValueTasks *insert(Key key, const ValueTasks &tasks);

  size_t bytes() const { return arena_->getBytesAllocated(); }
  bool isFull() const { return bytes() > limitBytes_; }
  /// Forgets all but the plans in `live`, which move.
  void collect(llvm::MutableArrayRef<const ValueTasks *> live);

private:
  size_t limitBytes_;
  SlabPool pool_;
  std::unique_ptr<PlanArena> arena_;
  llvm::DenseMap<Key, const ValueTasks *> plans_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_PLANCACHE_H
