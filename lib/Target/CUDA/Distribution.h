//===- Distribution.h - linalg operations for many threads ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_DISTRIBUTION_H
#define SOAP_LIB_TARGET_CUDA_DISTRIBUTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Conversion/NNToKernels/LoopNests.h"
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
  bool holdsRows = false; ///< In registers.
};

/// The operation that joins output `index` of `op` with another partial result;
/// null if it is none that can be done in any order.
mlir::Operation *combinerOf(mlir::linalg::LinalgOp op, unsigned index);

/// True if vectors may have elements of `type`, and shared memory.
bool isVectorElement(mlir::Type type);

/// Whether `operand` is an output of a linalg operation whose body does not
/// read it.
bool isUnread(mlir::OpOperand &operand);

struct RowGroup;
struct RowPart;

/// A copy of an operation of a group, and what its only output holds before, or
/// null.
struct RowStep {
  mlir::linalg::LinalgOp op;
  mlir::Value initial;
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

  /// Writes one loop over what the independent loops of `nest` go through, in
  /// which a thread goes through all others; `mapping` has what the nest uses
  /// of what lies outside.
  WorkSize emitNest(const native::LoopNest &nest, mlir::IRMapping mapping);

  /// Writes one loop over the rows of `group`, in which groups of threads do
  /// all `steps`, copies of its parts.
  WorkSize emitRows(const RowGroup &group, llvm::ArrayRef<RowStep> steps);

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

  /// The copy of a nest that is being written.
  struct NestCopy {
    const native::LoopNest &nest;
    mlir::IRMapping &mapping;
    /// By loop: the iteration of the thread; null for one that it goes through.
    llvm::ArrayRef<mlir::Value> ivs;
  };
  void emitForLoop(const NestCopy &copy, unsigned number);
  void emitForBody(const NestCopy &copy, unsigned number);
  void emitComputation(const NestCopy &copy);

  WorkSize emitParallel(const Iteration &iteration);
  void emitElement(const Iteration &iteration, mlir::ValueRange ivs);
  int64_t lanesOf(const Iteration &iteration);
  void emitElements(const Iteration &iteration, mlir::Value from,
                    mlir::Value total);
  void emitVectors(const Iteration &iteration, int64_t lanes,
                   mlir::Value total);
  void emitDynamic(const Iteration &iteration, int64_t lanes, int64_t flat,
                   mlir::Value total);
  void emitGroup(mlir::linalg::LinalgOp op, int64_t lanes,
                 llvm::function_ref<mlir::Value(mlir::OpOperand &)> addressOf,
                 llvm::function_ref<Values(int64_t)> indicesOf);
  mlir::Value unreadElement(mlir::OpOperand &operand);
  mlir::Value elementAddress(mlir::Value buffer, mlir::Value offset);
  Values loadVector(mlir::Type type, int64_t count, mlir::Value address);
  void storeVector(llvm::ArrayRef<mlir::Value> elements, mlir::Value address);
  bool isFlat(mlir::OpOperand &operand);
  int64_t flatLanesOf(const Iteration &iteration);
  void emitFlat(const Iteration &iteration, int64_t lanes, mlir::Value total);
  void advance(const Iteration &iteration, Values &ivs);
  mlir::Value addressOf(const Iteration &iteration, mlir::OpOperand &operand,
                        mlir::ValueRange ivs);

  WorkSize emitThreadPerResult(const Iteration &iteration, mlir::Value initial);
  Values reduceSerially(const Iteration &iteration, Values ivs, size_t depth,
                        mlir::ValueRange partial);
  bool canReduceInBlock(const Iteration &iteration);
  WorkSize emitBlockPerResult(const Iteration &iteration, mlir::Value initial);
  mlir::Value reduceInBlock(mlir::Operation *combiner, mlir::Value partial);
  mlir::Value combine(mlir::Operation *combiner, mlir::Value a, mlir::Value b);
  mlir::Value sharedBuffer(int64_t elements, mlir::Type type);

  /// Who works on a row: as many threads on each.
  struct RowWorkers {
    mlir::Value row, slot; ///< Of all rows, and of those of this block.
    mlir::Value lane;      ///< Of this thread, among those of the row.
    mlir::Value exists;    ///< Whether there is such a row; null: there is.
    int64_t lanes, rowsPerBlock;
    bool alongRows; ///< Threads that follow one another are on other rows.
  };
  /// Where an operand is, if parts of a group hold it in shared memory.
  struct RowPlace {
    mlir::Value tile;
    int64_t elements;                   ///< Per row.
    llvm::SmallVector<int64_t> strides; ///< In a row of the tile, by loop.
    /// It is read from memory first; what is written goes to memory, too, and
    /// to the tile.
    bool fromMemory, toMemory, toTile;
  };
  void placeOperands(const RowGroup &group, llvm::ArrayRef<RowStep> steps);
  void emitRow(const RowPart &part, const RowStep &step,
               const RowWorkers &workers);
  void reduceRow(const RowPart &part, const RowStep &step,
                 const RowWorkers &workers);
  RowWorkers makeRowWorkers(const RowGroup &group);
  void makeJoints(const RowWorkers &workers, llvm::ArrayRef<RowStep> steps);
  WorkSize forEachRow(const RowGroup &group, RowWorkers &workers,
                      llvm::function_ref<void(mlir::Value first)> make);

  /// What the threads of a row hold of it: of a buffer with an element per row
  /// its value, else those of this thread's elements.
  struct HeldRow {
    const RowGroup &group;
    const RowWorkers &workers;
    mlir::Value safeRow; ///< As `row`, or another one that exists.
    /// Whether this thread writes what there is one of per row.
    mlir::Value writesScalars;
    llvm::DenseMap<mlir::Value, Values> values{}; ///< By buffer.
    /// The first elements of buffers that all parts see alike.
    llvm::DenseMap<mlir::Value, Values> read{};
    /// The last part that writes a buffer in memory.
    llvm::DenseMap<mlir::Value, mlir::Operation *> storedBy{};
  };
  /// Elements that one thread takes at once.
  struct HeldElements {
    int64_t number;    ///< Among those of this thread.
    mlir::Value first; ///< In the row, or another one that exists.
    mlir::Value exist; ///< Whether there are such elements; null: there are.
  };
  WorkSize emitHeldRows(const RowGroup &group, llvm::ArrayRef<RowStep> steps);
  HeldElements heldElements(const HeldRow &row, int64_t number);
  Values loadHeld(HeldRow &row, const RowPart &part, const RowStep &step,
                  unsigned number, const HeldElements &elements,
                  mlir::ValueRange ivs);
  Values elementIndices(const RowPart &part, const HeldElements &elements,
                        mlir::ValueRange ivs, int64_t i);
  Values loadGroup(const HeldRow &row, const RowPart &part,
                   mlir::OpOperand &copy, const HeldElements &elements,
                   mlir::ValueRange ivs, bool isRow);
  void emitHeldElements(HeldRow &row, const RowPart &part, const RowStep &step);
  void emitHeldScalar(HeldRow &row, const RowPart &part, const RowStep &step);
  void reduceHeld(HeldRow &row, const RowPart &part, const RowStep &step);
  void storeHeld(HeldRow &row, const RowPart &part, const RowStep &step,
                 unsigned output, llvm::ArrayRef<mlir::Value> values,
                 mlir::ValueRange ivs, mlir::Value isWritten);
  mlir::Value heldAddress(mlir::OpOperand &copy, mlir::ValueRange ivs);

  Values rowIndices(const RowPart &part, mlir::Value row);
  void setElement(const RowPart &part, mlir::Value element, Values &ivs);
  mlir::Value joinLanes(mlir::Operation *combiner, mlir::Value partial,
                        const RowWorkers &workers);
  mlir::Value joinWarp(mlir::Operation *combiner, mlir::Value partial,
                       int64_t threads);
  mlir::Value joinHeld(mlir::Operation *combiner, mlir::Value partial,
                       const RowWorkers &workers);
  mlir::Value tileIndex(const RowPlace &place, mlir::ValueRange ivs);

  mlir::OpBuilder &builder_;
  mlir::Operation *module_;
  llvm::StringRef name_;
  Workers workers_;
  mlir::Location loc_ = mlir::UnknownLoc::get(builder_.getContext());
  llvm::DenseMap<mlir::Value, mlir::Value> pointers_;
  bool isNarrow_ = false; ///< Dynamic extents are known to fit into 32 bits.
  unsigned shared_ = 0;
  /// Of the rows that are being written: who works on them, the operands that
  /// are in shared memory, and buffers to join partial results in, by type.
  const RowWorkers *rowWorkers_ = nullptr;
  llvm::DenseMap<mlir::OpOperand *, RowPlace> places_;
  llvm::DenseMap<mlir::Type, mlir::Value> joints_;
};

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_DISTRIBUTION_H
