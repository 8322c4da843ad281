//===- LocalBox.h - Boxes that local operations hold ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes `offsets` and `global_shape` of operations whose tiles know
// where they lie.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_IR_LOCALBOX_H
#define SOAP_LIB_DIALECT_NN_IR_LOCALBOX_H

#include "OpSupport.h"

namespace soap::nn {

/// Checks the box that a local operation holds.
template <typename OpTy>
mlir::LogicalResult verifyBox(OpTy op, llvm::ArrayRef<int64_t> shape) {
  if (!op.getOffsets() && !op.getGlobalShape())
    return mlir::success();
  if (!op.getOffsets() || !op.getGlobalShape())
    return op.emitOpError()
           << "expected both 'offsets' and 'global_shape' or "
              "neither, got only '"
           << (op.getOffsets() ? "offsets" : "global_shape") << "'";
  llvm::ArrayRef<int64_t> offsets = *op.getOffsets(),
                          global = *op.getGlobalShape();
  if (failed(verifyList(op, "offsets", offsets, shape.size(), 0)) ||
      failed(verifyList(op, "global_shape", global, shape.size(), 1)))
    return mlir::failure();
  for (auto [offset, size, extent] : llvm::zip_equal(offsets, shape, global))
    if (offset + size > extent)
      return op.emitOpError() << "expected a box inside of " << toString(global)
                              << ", got: offsets " << toString(offsets)
                              << ", shape " << toString(shape);
  return mlir::success();
}

/// Moves the box of `clone` to the tile. The boxes of a box add up.
template <typename OpTy>
void setBox(OpTy clone, const Box &box, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> offsets(box.size(), 0);
  if (clone.getOffsets())
    offsets.assign(clone.getOffsets()->begin(), clone.getOffsets()->end());
  for (auto [offset, range] : llvm::zip_equal(offsets, box))
    offset += range.lo;
  clone.setOffsets(offsets);
  if (!clone.getGlobalShape())
    clone.setGlobalShape(shape);
}

/// The whole shape that a spec of identities was made for.
inline Shape extentsOf(const PartitionSpec &spec) {
  Shape shape;
  for (const LoopSpec &loop : spec.loops)
    shape.push_back(loop.extent);
  return shape;
}

/// A tile that is the whole value needs no box.
inline bool isWhole(const Box &box, const PartitionSpec &spec) {
  return box == wholeBox(extentsOf(spec));
}

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_IR_LOCALBOX_H
