//===- ParallelLoops.h - Loops that threads may share -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loop of a nest can be dealt out to threads, and which neighbouring
// nests can be dealt out together, so that a thread goes on with the next one
// without waiting for the others.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CPU_PARALLELLOOPS_H
#define SOAP_LIB_TARGET_CPU_PARALLELLOOPS_H

#include "soap/Conversion/NNToKernels/LoopNests.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"

namespace soap::native {

/// A loop whose iterations may run in any order and at the same time.
struct ParallelLoop {
  unsigned number = 0; ///< Among those of the nest.
  int64_t size = 0;
  bool isInnermost = false;
  llvm::SmallVector<LoopAccess> accesses;

  /// Iterations that one thread runs at least.
  int64_t grain() const { return isInnermost ? elementsOfPiece : 1; }
  /// Into how many parts it can be split.
  int64_t pieces() const { return (size + grain() - 1) / grain(); }
};

/// A nest with at least one such loop.
struct ParallelNest {
  LoopNest nest;
  int64_t work = 0; ///< Operations and elements loaded or stored, about.
  llvm::SmallVector<ParallelLoop> loops; ///< The best one first.

  /// None if `op` is no nest, or has no such loop.
  static std::optional<ParallelNest> find(mlir::Operation *op);
};

/// How several nests, one behind the other, are dealt out in `pieces`.
struct LoopPlan {
  /// The loop of a nest, of which a piece has so many iterations, and the last
  /// one perhaps fewer.
  struct Loop {
    unsigned number = 0;
    int64_t size = 0, grain = 1;
  };
  llvm::SmallVector<Loop> loops; ///< One per nest.
  int64_t pieces = 0;
};

/// A plan for `nests` where a thread that runs a piece of the first one, then
/// that of the next, touches nothing that another thread writes. None if there
/// is none, or if it has fewer pieces than one of those nests alone that take
/// more than `leastWork`.
std::optional<LoopPlan> planLoops(llvm::ArrayRef<ParallelNest> nests,
                                  int64_t leastWork);

/// Operations and elements of a copy of a buffer, as in ParallelNest.
int64_t workOfCopy(mlir::MemRefType type);

} // namespace soap::native

#endif // SOAP_LIB_TARGET_CPU_PARALLELLOOPS_H
