//===- LoopNests.h - Loops whose iterations are independent -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loops of a kernel on buffers may run in any order, or at the same time:
// those of a linalg operation, and scf.for loops around one, or around loads
// and stores, as stores by index, sorted lists and selections of boxes have
// them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOKERNELS_LOOPNESTS_H
#define SOAP_CONVERSION_NNTOKERNELS_LOOPNESTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace soap::native {

/// The buffer behind all views of it.
mlir::Value bufferOf(mlir::Value value);

/// How a nest touches a buffer while one of its loops runs.
struct LoopAccess {
  mlir::Value root; ///< The buffer, behind all views.
  bool writes = false;
  /// Whether iterations touch different elements: those of one index of one
  /// dimension, which is told by the following three.
  bool isSplit = false;
  /// Whose dimension: a view; null for a whole buffer, perhaps reshaped.
  mlir::Value view;
  /// Of a whole buffer, elements outside of that dimension, and of one of its
  /// iterations inside; of a view, the number of the dimension, and 1.
  int64_t outer = 0, inner = 1;
};

/// Whether iterations of two loops that run equally often may touch memory in
/// these ways, if threads have different iterations.
bool areCompatible(llvm::ArrayRef<LoopAccess> accesses,
                   llvm::ArrayRef<LoopAccess> others);

/// A linalg operation on buffers of static shape, or loops of known extents
/// around one, or around loads and stores. Loops are numbered from the
/// outermost one on, those of scf.for first.
class LoopNest {
public:
  /// None if `op` is no such nest, or does something else besides. Loops around
  /// an operation are none either if some of its parallel loops are not
  /// independent over all iterations: threads share more of it by itself.
  static std::optional<LoopNest> find(mlir::Operation *op);

  mlir::Operation *getOperation() const { return op_; }
  /// The outermost one is the operation itself, if there are any. They begin
  /// at 0, and count by ones.
  llvm::ArrayRef<mlir::scf::ForOp> forLoops() const { return forLoops_; }
  /// Null if loads and stores are all that there is.
  mlir::linalg::LinalgOp computation() const { return computation_; }

  size_t numLoops() const { return sizes_.size(); }
  /// How often each loop runs, at least once.
  llvm::ArrayRef<int64_t> sizes() const { return sizes_; }

  /// All accesses, as they are while loop number `loop` runs.
  llvm::SmallVector<LoopAccess> accessesOf(unsigned loop) const;
  /// Whether iterations of a loop touch nothing that another one writes. Then
  /// threads may have different iterations of it, and go through all iterations
  /// of the other loops, also if several loops are divided in this way.
  bool isIndependent(unsigned loop) const;

  /// What the loops and their bodies use of what lies outside.
  llvm::SetVector<mlir::Value> usedValues() const;

private:
  bool addForLoops(mlir::scf::ForOp outermost);

  mlir::Operation *op_ = nullptr;
  llvm::SmallVector<mlir::scf::ForOp> forLoops_;
  mutable mlir::linalg::LinalgOp computation_; ///< Accessors are not const.
  llvm::SmallVector<int64_t> sizes_;
};

/// True if an operation is repeated in a function rather than its result handed
/// to it: views of buffers, constants.
bool isRepeated(mlir::Operation *op);

} // namespace soap::native

#endif // SOAP_CONVERSION_NNTOKERNELS_LOOPNESTS_H
