//===- EntryBuilder.h - A function of the device ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_ENTRYBUILDER_H
#define SOAP_LIB_TARGET_CUDA_ENTRYBUILDER_H

#include "Distribution.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include <memory>

namespace soap::cuda {

/// Where buffers lie that a kernel makes, in its scratch memory. Those that are
/// in shared memory alone have no place.
struct ScratchPlan {
  llvm::DenseMap<mlir::Operation *, uint64_t> offsets; ///< Of memref.alloc.
  uint64_t bytes = 0;
};

/// Makes one entry of the device code, behind its kernel: a function with the
/// parameters that DeviceLaunch in Model.fbs lists, that does a part of the
/// kernel's work.
class EntryBuilder {
public:
  /// `loops`: those of the kernel around the part; their induction variables
  /// are the constants of a launch.
  EntryBuilder(mlir::ModuleOp module, mlir::func::FuncOp kernel,
               const ScratchPlan &scratch, llvm::StringRef name,
               llvm::ArrayRef<mlir::scf::ForOp> loops);

  /// One operation of the kernel, shared by all threads.
  WorkSize emitOnGrid(mlir::linalg::LinalgOp op, mlir::Value initial);

  /// Loops of the kernel, of which threads share those that are independent.
  WorkSize emitNest(const native::LoopNest &nest);

  /// Several, row by row.
  WorkSize emitRows(const RowGroup &group);

  /// An operation, or the whole kernel, for a grid of one block. Emits an error
  /// if it has what a block cannot do.
  mlir::LogicalResult emitOnBlock(mlir::Operation *op);

private:
  mlir::Value parameter(unsigned index) { return entry_.getArgument(index); }
  mlir::Value memrefAt(mlir::MemRefType type, mlir::Value pointer,
                       llvm::ArrayRef<int64_t> dims);
  void mapArguments(llvm::ArrayRef<mlir::scf::ForOp> loops);
  void mapBuffer(mlir::memref::AllocOp op);
  void require(mlir::Value value);
  void requireOperands(mlir::Operation *op);
  RowStep cloneShared(mlir::linalg::LinalgOp op, mlir::Value initial);
  WorkSize emitShared(mlir::linalg::LinalgOp op, mlir::Value initial);
  void shareWritten(llvm::function_ref<bool(mlir::Value)> isShared);

  void barrier(mlir::Location loc);
  mlir::LogicalResult emitUniform(mlir::Operation &op);
  mlir::LogicalResult emitUniformRegions(mlir::Operation &op);
  void emitAlone(mlir::Operation &op);

  mlir::ModuleOp module_;
  mlir::func::FuncOp kernel_;
  const ScratchPlan &scratch_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp entry_;
  mlir::IRMapping mapping_;
  mlir::Value scratchPointer_;
  Workers workers_;
  std::unique_ptr<Distribution> distribution_;
  unsigned sizeCount_ = 0, firstSize_ = 0;
};

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_ENTRYBUILDER_H
