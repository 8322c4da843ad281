//===- ParallelLoops.h - Loops that threads may share -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loop of a linalg operation on buffers can be dealt out to threads, and
// which neighbouring operations can be dealt out together, so that a thread
// goes on with the next operation without waiting for the others.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CPU_PARALLELLOOPS_H
#define SOAP_LIB_TARGET_CPU_PARALLELLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include <optional>

namespace soap::native {

/// How an operation touches a buffer while one of its loops runs.
struct LoopAccess {
  mlir::Value root; ///< The buffer, behind all views.
  bool writes = false;
  /// Whether iterations touch different elements: those of one index of one
  /// dimension, which is told by the following three.
  bool isSplit = false;
  /// Whose dimension: a view; null for a reshaped whole buffer.
  mlir::Value view;
  /// Of a whole buffer, elements outside of that dimension, and of one of its
  /// iterations inside; of a view, the number of the dimension, and 1.
  int64_t outer = 0, inner = 1;
};

/// A loop whose iterations may run in any order and at the same time.
struct ParallelLoop {
  unsigned dim = 0; ///< Of the operation's iteration space.
  int64_t size = 0;
  bool isInnermost = false;
  llvm::SmallVector<LoopAccess> accesses;

  /// Iterations that one thread runs at least.
  int64_t grain() const { return isInnermost ? elementsOfPiece : 1; }
  /// Into how many parts it can be split.
  int64_t pieces() const { return (size + grain() - 1) / grain(); }
};

/// An operation with at least one such loop.
struct ParallelOp {
  mlir::linalg::LinalgOp op;
  int64_t work = 0; ///< Operations and elements loaded or stored, about.
  llvm::SmallVector<ParallelLoop> loops; ///< The best one first.

  /// None if `op` has no such loop, or if a function of its own could not be
  /// given all that it uses.
  static std::optional<ParallelOp> find(mlir::linalg::LinalgOp op);
};

/// How several operations, one behind the other, are dealt out in `pieces`.
struct LoopPlan {
  /// The loop of an operation, of which a piece has so many iterations, and the
  /// last one perhaps fewer.
  struct Loop {
    unsigned dim = 0;
    int64_t size = 0, grain = 1;
  };
  llvm::SmallVector<Loop> loops; ///< One per operation.
  int64_t pieces = 0;
};

/// A plan for `ops` where a thread that runs a piece of the first operation,
/// then that of the next, touches nothing that another thread writes. None if
/// there is none, or if it has fewer pieces than one of those operations alone
/// that take more than `leastWork`.
std::optional<LoopPlan> planLoops(llvm::ArrayRef<ParallelOp> ops,
                                  int64_t leastWork);

/// Operations and elements of a copy of a buffer, as in ParallelOp.
int64_t workOfCopy(mlir::MemRefType type);

/// All that an operation and its body use of what lies outside.
llvm::SetVector<mlir::Value> usedValues(mlir::Operation *op);

/// True if an operation is repeated in a function rather than its result handed
/// to it: views of buffers, constants.
bool isRepeated(mlir::Operation *op);

} // namespace soap::native

#endif // SOAP_LIB_TARGET_CPU_PARALLELLOOPS_H
