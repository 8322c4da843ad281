//===- NodeTaskCache.h - Compiled tasks of nodes ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_NODETASKCACHE_H
#define SOAP_LIB_SEARCH_NODETASKCACHE_H

#include "DegreesCosts.h"
#include "PlanArena.h"
#include "soap/Search/CompiledTasks.h"
#include "soap/Search/Strategy.h"

namespace soap::detail {

/// The tasks of nodes by what they were made from: a search gives few kinds of
/// nodes few configurations, again and again. They live in one arena; when it
/// is full, those in use move to a new one and the others are forgotten.
class NodeTaskCache {
public:
  NodeTaskCache(const Topology &topology, SlabPool &pool)
      : topology_(topology), pool_(pool),
        arena_(std::make_unique<PlanArena>(pool_)),
        inUse_(topology.numDevices() + 1, 0) {}

  /// The tasks of a node under `config`, whose key is `key`. Nodes that have
  /// the same costs (DegreesCosts::classOf()) share them. They hold until
  /// collect().
  const NodeTasks &of(const OperatorGraph &graph, int32_t node,
                      const Configuration &config, Key key,
                      DegreesCosts &costs);

  bool isFull() const { return arena_->getBytesAllocated() > limitBytes_; }
  /// Forgets all but the tasks in `live`, which move.
  void collect(llvm::MutableArrayRef<NodeTasks> live);

private:
  static constexpr size_t leastBytes = size_t(8) << 20;

  NodeTasks compile(const OperatorGraph &graph, int32_t node,
                    const Configuration &config, DegreesCosts &costs);

  const Topology &topology_;
  SlabPool &pool_;
  std::unique_ptr<PlanArena> arena_;
  size_t limitBytes_ = leastBytes;
  llvm::DenseMap<Key, NodeTasks> tasks_;
  std::vector<int32_t> classOf_; ///< Per node; -1: not asked for yet.
  std::vector<int64_t> inUse_;   ///< Per device; 0 between uses.
  llvm::SmallVector<int32_t, 64> devices_;
  llvm::SmallVector<int64_t, 64> ns_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_NODETASKCACHE_H
