//===- Recomputation.h - Values made again in a step ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step keeps what its forward pass makes until the backward pass has
// read it. Recomputation makes such values again, from others that are kept, in
// place of keeping them (Chen et al., "Training deep nets with sublinear memory
// cost", 2016).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_TRANSFORMS_RECOMPUTATION_H
#define SOAP_DIALECT_NN_TRANSFORMS_RECOMPUTATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace mlir {
class IRMapping;
} // namespace mlir

namespace soap::nn {

class NodeNames;

/// A copy is called like the operation that it makes again, with this behind it
/// and, where that is taken, a number.
constexpr llvm::StringLiteral copySuffix(".again");

/// The passes of a training step that nn-build-training-step has made, and that
/// nothing has changed since: which of its operations can be made again.
class Recomputation {
public:
  /// Keeps a reference to the operations of `step`.
  explicit Recomputation(mlir::func::FuncOp step);

  /// False if `step` has no gradients.
  bool isTrainingStep() const { return !forward_.empty(); }
  /// True for an operation that computes what the loss depends on, from inputs
  /// or from parameters that change.
  bool isForward(mlir::Operation *op) const { return forward_.contains(op); }
  /// True for an operation that a trained parameter's next value depends on, or
  /// a gradient that is an output, and the loss does not. What keeps running
  /// statistics is neither.
  bool isBackward(mlir::Operation *op) const { return backward_.contains(op); }

  /// The forward operations that a list means: each entry is "elementwise", a
  /// kind of operations ("softmax", for nn.softmax), or a regular expression
  /// that matches whole names of operations (POSIX extended). Error, at the
  /// step: an entry that means none; it says which kinds there are.
  mlir::FailureOr<llvm::DenseSet<mlir::Operation *>>
  select(llvm::ArrayRef<std::string> entries) const;
  /// The forward operations of these names.
  llvm::DenseSet<mlir::Operation *>
  select(const llvm::StringSet<> &names) const;

  /// Has the backward pass read copies of `selected` operations: each is made
  /// again right before the first backward operation that needs it, in the
  /// group of the original, from what is kept, or from other copies. A reshape
  /// of what is made again is made again, too. Copies, and derivatives that
  /// need no gradient, are launched behind (`nn.after`) the gradient that the
  /// operation that needs them reads. Returns how many copies there are. The
  /// object is of no use afterwards.
  unsigned recompute(const llvm::DenseSet<mlir::Operation *> &selected);

private:
  void findNeeds();
  std::vector<mlir::Operation *>
  findCopied(const llvm::DenseSet<mlir::Operation *> &selected) const;
  mlir::Operation *launchedBehind(mlir::Operation *reader,
                                  unsigned before) const;

  void updateStatisticsAgain(const mlir::IRMapping &copies, NodeNames &names);

  mlir::func::FuncOp function_;
  std::vector<mlir::Operation *> ops_; ///< In the order of the block.
  llvm::DenseMap<mlir::Operation *, unsigned> position_;
  llvm::DenseSet<mlir::Operation *> forward_, backward_;
  /// Neither constant nor moved to @init.
  llvm::DenseSet<mlir::Operation *> varying_;
  /// Backward operations that depend on the gradient of the loss.
  llvm::DenseSet<mlir::Operation *> gradients_;
  /// Per backward operation, the first one of gradients_ that needs it.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> neededBy_;
};

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_TRANSFORMS_RECOMPUTATION_H
