//===- StepSlices.h - Slices along the steps of a sequence ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes slices along the steps of sequences and moves them towards the parts
// that they need, so that a part of one layer depends on parts of the layer
// before, not on all of it.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_STEPSLICES_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_STEPSLICES_H

#include "NodeNames.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace soap::nn {

/// `.step3` for one step, `.step8-15` for steps 8 to 15.
std::string stepSuffix(soap::Range steps);

inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// True if nothing is written on an operation but its name: a configuration,
/// say, belongs to the operation as it is.
bool isPlain(mlir::Operation *op);

class StepSlices {
public:
  explicit StepSlices(mlir::func::FuncOp function)
      : function_(function), names_(function) {}

  /// Creates an operation that is called `name`, with a number behind it if
  /// need be. It goes again if moveUp() leaves it without readers.
  template <typename OpTy, typename... Args>
  OpTy create(mlir::OpBuilder &builder, mlir::Location loc,
              const llvm::Twine &name, Args &&...args) {
    auto op = builder.create<OpTy>(loc, std::forward<Args>(args)...);
    setName(op, names_.unique(name.str()));
    made_.insert(op);
    return op;
  }
  /// `value` in `box`: `value` itself if that is all of it.
  mlir::Value slice(mlir::OpBuilder &builder, mlir::Value value, const Box &box,
                    const llvm::Twine &name);
  /// Like `value`, in another shape.
  mlir::Value reshape(mlir::OpBuilder &builder, mlir::Value value,
                      llvm::ArrayRef<int64_t> shape, const llvm::Twine &name);
  /// `value` at `steps` along its first dimension, for a part of a layer.
  mlir::Value stepsFor(mlir::OpBuilder &builder, mlir::Value value,
                       soap::Range steps, const llvm::Twine &name);
  /// Says that dimension `dim` of `value` runs over steps that are computed in
  /// parts.
  void setStepDim(mlir::Value value, unsigned dim) { stepDims_[value] = dim; }

  /// Moves slices along steps up, from what reads parts to what computes them:
  ///
  /// - a slice of a concatenation that lies in one operand reads that operand;
  ///   it disappears where it is all of it,
  /// - a slice of a slice becomes one,
  /// - an operation whose steps are computed apart (the operation's partition
  ///   spec says so) becomes one operation per slice if parts of layers read
  ///   these slices, which have no step in common; what else reads it reads the
  ///   concatenation. So it does if nothing but such slices reads it.
  ///
  /// Equal slices and reshapes of one value become one. Returns the number of
  /// operations that were cut in parts.
  unsigned moveUp();

private:
  void moveUp(SliceOp slice, ConcatOp concat);
  void moveUp(SliceOp slice, SliceOp inner);
  mlir::Value createSlice(mlir::OpBuilder &builder, mlir::Value value,
                          llvm::ArrayRef<int64_t> starts,
                          llvm::ArrayRef<int64_t> steps,
                          mlir::RankedTensorType type, llvm::StringRef name);
  /// The operation that was made before and computes the same as `op`, a new
  /// one; `op` if there is none.
  mlir::Operation *unify(mlir::Operation *op);
  /// Replaces `slice` by a slice of `value` with its type, or by `value`.
  void replaceBySlice(mlir::OpBuilder &builder, SliceOp slice,
                      mlir::Value value, llvm::ArrayRef<int64_t> starts,
                      llvm::ArrayRef<int64_t> steps);
  void settle();

  // StepParts.cpp: operations that are cut along their steps.
  std::optional<unsigned> stepDimOf(mlir::Operation *op);
  std::optional<llvm::SmallVector<soap::Range>> partsOf(mlir::Operation *op,
                                                        unsigned dim);
  bool cut(PartitionOpInterface op, unsigned dim);
  mlir::Value createTile(PartitionOpInterface op, unsigned dim,
                         soap::Range steps);

  mlir::func::FuncOp function_;
  NodeNames names_;
  llvm::DenseSet<mlir::Operation *> made_;
  llvm::DenseSet<mlir::Operation *> parts_; ///< Of operations that were cut.
  /// Slices through which a part of a layer reads its steps.
  llvm::DenseSet<mlir::Operation *> layerReads_;
  llvm::DenseMap<mlir::Value, unsigned> stepDims_;
};

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_STEPSLICES_H
