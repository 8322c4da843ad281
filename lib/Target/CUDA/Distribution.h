//===- Distribution.h - linalg operations for many threads ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_DISTRIBUTION_H
#define SOAP_LIB_TARGET_CUDA_DISTRIBUTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace soap::cuda {

/// Who shares the work: all threads of a grid, or those of one block.
struct Workers {
  mlir::Value index, count;  ///< Of this thread among all, and how many.
  mlir::Value block, blocks; ///< Of this thread's block, and how many.
  mlir::Value thread;        ///< Of this thread in its block.
};

/// What a distributed operation asks of its launch.
struct WorkSize {
  /// Blocks in which every thread has one turn; 0: the extents are dynamic.
  int64_t blocks = 0;
  /// Elements of the iteration space per block, if the extents are dynamic.
  int64_t itemsPerBlock = 0;
};

/// Writes the loops of linalg operations on buffers for many threads.
class Distribution {
public:
  /// Adds what it makes at the place of `builder`. `module` takes the buffers
  /// in shared memory, with names that start with `name`.
  Distribution(mlir::OpBuilder &builder, mlir::Operation *module,
               llvm::StringRef name, const Workers &workers)
      : builder_(builder), module_(module), name_(name), workers_(workers) {}

  void setWorkers(const Workers &workers) { workers_ = workers; }

  /// Says that buffer `memref`, dense and row-major, starts at `pointer`, which
  /// is a multiple of 16.
  void addPointer(mlir::Value memref, mlir::Value pointer) {
    pointers_[memref] = pointer;
  }

  /// Writes loops that do the work of `op`. `initial`: what its only output
  /// holds before, in place of the bytes in memory. Threads of a block have to
  /// meet afterwards before one reads what another has written.
  WorkSize emit(mlir::linalg::LinalgOp op, mlir::Value initial = {});

private:
  using Values = llvm::SmallVector<mlir::Value>;
  struct Iteration;

  Iteration iterationOf(mlir::linalg::LinalgOp op);
  mlir::Value constant(int64_t value);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value product(llvm::ArrayRef<mlir::OpFoldResult> sizes);
  mlir::Value valueOf(mlir::OpFoldResult size);
  Values delinearize(mlir::Value index,
                     llvm::ArrayRef<mlir::OpFoldResult> sizes);
  mlir::Value load(mlir::OpOperand &operand, mlir::ValueRange ivs);
  void store(mlir::OpOperand &operand, mlir::ValueRange ivs,
             mlir::Value element);
  Values inputs(mlir::linalg::LinalgOp op, mlir::ValueRange ivs);
  Values outputs(mlir::linalg::LinalgOp op, mlir::ValueRange ivs,
                 mlir::Value initial);
  Values body(mlir::linalg::LinalgOp op, mlir::ValueRange ivs,
              mlir::ValueRange elements);
  void loop(mlir::Value from, mlir::Value to, mlir::Value step,
            llvm::function_ref<void(mlir::Value)> make);

  WorkSize emitParallel(const Iteration &iteration);
  void emitElement(const Iteration &iteration, mlir::ValueRange ivs);
  int64_t lanesOf(const Iteration &iteration);
  WorkSize emitVectors(const Iteration &iteration, int64_t lanes);
  void emitGroup(const Iteration &iteration, mlir::ValueRange ivs,
                 int64_t lanes);
  mlir::Value addressOf(const Iteration &iteration, mlir::OpOperand &operand,
                        mlir::ValueRange ivs);

  WorkSize emitThreadPerResult(const Iteration &iteration, mlir::Value initial);
  Values reduceSerially(const Iteration &iteration, Values ivs, size_t depth,
                        mlir::ValueRange partial);
  bool canReduceInBlock(const Iteration &iteration);
  WorkSize emitBlockPerResult(const Iteration &iteration, mlir::Value initial);
  mlir::Value reduceInBlock(mlir::Operation *combiner, mlir::Value partial);
  mlir::Value combine(mlir::Operation *combiner, mlir::Value a, mlir::Value b);

  mlir::OpBuilder &builder_;
  mlir::Operation *module_;
  llvm::StringRef name_;
  Workers workers_;
  mlir::Location loc_ = mlir::UnknownLoc::get(builder_.getContext());
  llvm::DenseMap<mlir::Value, mlir::Value> pointers_;
  unsigned shared_ = 0;
};

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_DISTRIBUTION_H
