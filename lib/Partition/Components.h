//===- Components.h - Independent regions of a value ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the library: per dimension, blocks of the source that some need
// spans form a cluster; a component is a product of one cluster per dimension.
// No need crosses a component, so each is planned on its own.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_PARTITION_COMPONENTS_H
#define SOAP_LIB_PARTITION_COMPONENTS_H

#include "SourceGrid.h"

namespace soap::detail {

/// All consumers with one and the same need.
struct Demand {
  const Need *need = nullptr;
  int32_t index = 0; ///< Among all demands.
  int32_t round = 0; ///< Need::startsRound.
  llvm::SmallVector<int32_t, 2> consumers;
  int32_t firstBox = 0; ///< The box of tile 0; the others follow.
  /// Per tile of the need, the index (within each consumer's reads) of the read
  /// of its first copy; -1 if the tile is empty.
  llvm::SmallVector<int32_t, 0> firstRead;
  /// Per consumer: its first read.
  llvm::SmallVector<int32_t, 2> readBase;
};

/// Copy `copy` of tile `tile` of a demand: one box on one device.
struct Request {
  const Demand *demand;
  int32_t tile, copy;

  int32_t device() const {
    return demand->need->devices[tile * demand->need->copies + copy];
  }
  int32_t box() const { return demand->firstBox + tile; }
  int32_t read() const { return demand->firstRead[tile] + copy; }
};

/// Keeps its memory from one build() to the next.
class Components {
public:
  void build(const SourceGrid &grid, llvm::ArrayRef<const Demand *> demands);

  int32_t size() const { return static_cast<int32_t>(begin_.size()) - 1; }
  llvm::ArrayRef<Request> requests(int32_t component) const {
    return llvm::ArrayRef<Request>(sorted_).slice(
        begin_[component], begin_[component + 1] - begin_[component]);
  }
  /// The blocks of a component, per dimension.
  void blocks(int32_t component, Spans &spans) const;

private:
  /// Joins the blocks of each dimension that ranges overlap to clusters, and
  /// finds the cluster of every range. Returns the number of components.
  int32_t cluster(const SourceGrid &grid,
                  llvm::ArrayRef<const Demand *> demands);
  /// A counting sort of the requests by component.
  void sortRequests(llvm::ArrayRef<const Demand *> demands,
                    int32_t numComponents);

  /// Per dimension: first block of every cluster, and the number of blocks. All
  /// in one array; firstCluster_[d] is where those of dimension d begin.
  llvm::SmallVector<int32_t, 0> clusters_;
  llvm::SmallVector<int32_t, 5> firstCluster_, strides_;
  llvm::SmallVector<int32_t, 0> begin_;
  llvm::SmallVector<Request, 0> sorted_;
  /// @{ Scratch memory.
  llvm::SmallVector<int32_t, 0> clusterOf_, componentOf_, opened_,
      clusterOfBlock_, next_;
  llvm::SmallVector<size_t, 16> firstRange_;
  /// @}
};

} // namespace soap::detail

#endif // SOAP_LIB_PARTITION_COMPONENTS_H
