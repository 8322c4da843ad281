//===- RowLayout.h - Where the rows of a kernel lie -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_ROWLAYOUT_H
#define SOAP_LIB_TARGET_CUDA_ROWLAYOUT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace soap::cuda {

/// A loop, as it goes through memory.
struct Digit {
  int64_t extent, stride; ///< Iterations; elements from one to the next.

  bool operator==(const Digit &other) const {
    return extent == other.extent && stride == other.stride;
  }
};

/// Where rows lie in a buffer. Digits of extent 1 are left out, and two that
/// count on from each other are one.
struct RowLayout {
  int64_t offset = 0;              ///< Of the first element.
  llvm::SmallVector<Digit> rows;   ///< From one row to the next, slowest first.
  llvm::SmallVector<Digit> within; ///< Within a row, largest stride first.

  bool operator==(const RowLayout &other) const {
    return offset == other.offset && rows == other.rows &&
           within == other.within;
  }
  int64_t rowCount() const;
  int64_t elementsPerRow() const;
};

/// How the loops of an operation go through a buffer.
struct BufferAccess {
  mlir::Value buffer;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides; ///< In elements, by loop.
};

/// Nothing if it is not a sum of multiples of the loops' variables, or unknown.
std::optional<BufferAccess> accessOf(mlir::OpOperand &operand);

/// One linalg operation of a group.
struct RowPart {
  mutable mlir::linalg::LinalgOp op;    ///< The interface is not const.
  llvm::SmallVector<int64_t> extents;   ///< Of its loops.
  llvm::SmallVector<unsigned> rowLoops; ///< In the order of the rows.
  llvm::SmallVector<unsigned> elementLoops;

  int64_t elementsPerRow() const;
  bool isReduction() const { return op.getNumReductionLoops() != 0; }
};

/// Whether `access` goes through the elements of a row one by one, in the order
/// of the element loops.
bool isDense(const RowPart &part, const BufferAccess &access);
/// Whether `access` is the same for all elements of a row.
bool isRowScalar(const RowPart &part, const BufferAccess &access);

/// Where the rows of `part` lie in what it accesses; nothing if several rows
/// have the same elements.
std::optional<RowLayout> layoutOf(const RowPart &part,
                                  const BufferAccess &access);

/// Divides the loops of `part` into those over rows and those within one, as
/// `layout` has the rows in what `access` reaches. False if they do not go
/// through it like this.
bool divideLoops(RowPart &part, const BufferAccess &access,
                 const RowLayout &layout);

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_ROWLAYOUT_H
