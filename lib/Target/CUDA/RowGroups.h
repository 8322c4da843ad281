//===- RowGroups.h - Parts of a kernel that keep to their rows --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax is a maximum per row, exponentials, a sum per row and a quotient.
// What one part writes for a row, later ones read for the same row alone. Such
// parts are one launch: a group of threads does all of them for a row, and then
// for another one. Rows are what the reductions among the parts have a result
// for. That a part keeps to its rows is read from the strides with which its
// loops go through memory, whatever the operations are.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_ROWGROUPS_H
#define SOAP_LIB_TARGET_CUDA_ROWGROUPS_H

#include "RowLayout.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace soap::cuda {

/// Parts that become one launch.
struct RowGroup {
  llvm::SmallVector<RowPart> parts;
  int64_t rows = 1;
  int64_t mostElements = 1; ///< Per row, of any part.
  /// Neighbouring elements lie in neighbouring rows, so that neighbouring
  /// threads take these.
  bool alongRows = false;
  int64_t threadsPerRow = 1; ///< A power of two.
  /// Elements of a row that follow one another and that one thread holds in
  /// registers from part to part; 0: rows are in memory. Thread i of a row has
  /// its groups i, i + threadsPerRow, ...
  int64_t heldTogether = 0;

  bool isHeld() const { return heldTogether != 0; }
  int64_t rowsPerBlock() const;
  /// @{ Of a group that is held: groups of elements in a row, and per thread.
  int64_t heldGroups() const { return mostElements / heldTogether; }
  int64_t heldPerThread() const;
  /// @}
  /// Of buffers that at least two parts touch, and that hold what these write
  /// meanwhile, in shared memory.
  llvm::MapVector<mlir::Value, RowLayout> tiles;
  /// Buffers with a tile, or held ones, that are nowhere else: nobody outside
  /// reads them.
  llvm::DenseSet<mlir::Value> unstored;
  /// Of a group that is held: buffers that it only reads, and whose rows all
  /// parts see alike.
  llvm::DenseSet<mlir::Value> alike;
};

/// The group of the most parts that begins with `ops[0]` and goes on with those
/// behind it, in the order of the kernel; nothing if it were of one.
std::optional<RowGroup>
findRowGroup(llvm::ArrayRef<mlir::linalg::LinalgOp> ops);

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_ROWGROUPS_H
