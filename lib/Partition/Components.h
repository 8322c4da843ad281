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
  llvm::SmallVector<int32_t, 2> consumers;
  /// Per tile of the need: its box, and the index (within each consumer's
  /// reads) of the read of its first copy; -1 if the tile is empty.
  llvm::SmallVector<Box, 8> boxes;
  llvm::SmallVector<int32_t, 8> firstRead;
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
  const Box &box() const { return demand->boxes[tile]; }
  int32_t read() const { return demand->firstRead[tile] + copy; }
};

class Components {
public:
  Components(const SourceGrid &grid, llvm::ArrayRef<const Demand *> demands);

  int32_t size() const { return static_cast<int32_t>(begin.size()) - 1; }
  llvm::ArrayRef<Request> requests(int32_t component) const {
    return llvm::ArrayRef<Request>(sorted).slice(
        begin[component], begin[component + 1] - begin[component]);
  }
  /// The blocks of a component, per dimension.
  Spans blocks(int32_t component) const;

private:
  /// Per dimension: first block of every cluster, and the number of blocks.
  llvm::SmallVector<llvm::SmallVector<int32_t, 5>, 5> clusters;
  llvm::SmallVector<int32_t, 5> strides;
  llvm::SmallVector<int32_t, 17> begin;
  llvm::SmallVector<Request, 16> sorted;
};

} // namespace soap::detail

#endif // SOAP_LIB_PARTITION_COMPONENTS_H
