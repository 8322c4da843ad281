//===- OpSupport.h - Shared by the ops of the nn dialect ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of loops, short forms of access lists and checks that several
// operations need.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_IR_OPSUPPORT_H
#define SOAP_LIB_DIALECT_NN_IR_OPSUPPORT_H

#include "soap/Dialect/NN/IR/NN.h"

namespace soap {
namespace nn {

/// `d<i>` for a dimension, `b<i>` for a batch dimension of a matrix product.
llvm::StringRef dimLoopName(unsigned i);
llvm::StringRef batchLoopName(unsigned i);
/// The names of the spatial loops: `w`, `h w` or `d h w`. At most three.
llvm::ArrayRef<llvm::StringRef> spatialLoopNames(unsigned rank);

/// Loops d0 .. dk over `shape`.
void addDimLoops(PartitionSpec &spec, llvm::ArrayRef<int64_t> shape);
/// Dimension i is loop i for all dimensions.
ValueAccess identityAccess(unsigned rank);

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}
inline mlir::Type elementType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

/// Whether tensors of this type can only be moved and cast.
bool isStorageOnly(mlir::Type element);
/// Whether partial results of which all but one are 0 can be summed.
inline bool hasSums(mlir::Type element) {
  return !element.isInteger(1) && !isStorageOnly(element);
}

/// A list of numbers as diagnostics print it: `[1, 2]`.
std::string toString(llvm::ArrayRef<int64_t> list);

/// Checks that all operands and results have the same element type.
mlir::LogicalResult verifyElementTypes(mlir::Operation *op);
/// Checks that all operands have one element type, and the result the one in
/// which sums of them are made. A third operand, which is added to a sum, may
/// have that of the result.
mlir::LogicalResult verifySummedTypes(mlir::Operation *op);
/// Checks that the first operand and the result are of one element type, or one
/// of them of f32 and the other one of f16 or bf16; and that all other operands
/// are of the first operand's type, or of f32 beside floats of 16 bits.
mlir::LogicalResult verifyRoundedTypes(mlir::Operation *op);
/// Checks the result's shape.
mlir::LogicalResult verifyResultShape(mlir::Operation *op,
                                      llvm::ArrayRef<int64_t> expected);
/// Checks the length of an attribute that has one entry per dimension of
/// `what`, and that every entry is `minimum` or more.
mlir::LogicalResult verifyList(mlir::Operation *op, llvm::StringRef attribute,
                               llvm::ArrayRef<int64_t> list, size_t length,
                               int64_t minimum);
/// Checks that `axis` is a dimension of a value of rank `rank`.
mlir::LogicalResult verifyAxis(mlir::Operation *op, int64_t axis, size_t rank);

/// Windows over spatial dimensions: conv and pools.
struct Windows {
  llvm::ArrayRef<int64_t> kernel, strides, dilations, padsLo, padsHi;

  /// Elements from the first to the last position of a window.
  int64_t extent(unsigned i) const {
    return (kernel[i] - 1) * dilations[i] + 1;
  }
  /// What unit i of `loop` reads along spatial dimension `i`: its window, and
  /// what the stride skips behind a smaller one. So windows leave no gaps, and
  /// a tile reads a whole shard where one has what it needs, without a copy.
  DimAccess access(unsigned loop, unsigned i) const {
    return DimAccess::window(loop, strides[i], -padsLo[i],
                             std::max(extent(i), strides[i]) - 1 - padsLo[i]);
  }
};

/// Checks lengths and signs of all lists.
mlir::LogicalResult verifyWindows(mlir::Operation *op, const Windows &windows,
                                  size_t spatial);
/// The spatial result shape of `windows` over `input`; an error if some window
/// is larger than the padded input.
mlir::FailureOr<Shape> windowsResultShape(mlir::Operation *op,
                                          const Windows &windows,
                                          llvm::ArrayRef<int64_t> input);

/// Pads of a tile along the spatial dimensions 2, 3, .. of operand 0, whose
/// accesses use one loop each: the shift rule, for the windows alone.
struct TilePads {
  llvm::SmallVector<int64_t, 3> lo, hi;
};
TilePads localPadsOf(const LocalTile &tile, const Windows &windows);

/// Creates a splat `nn.constant` of `type`, named after `op` with `suffix`.
mlir::Value createSplat(mlir::OpBuilder &builder, mlir::Operation *op,
                        llvm::StringRef suffix, mlir::RankedTensorType type,
                        mlir::TypedAttr value);

/// How partial results of a reduction are combined.
Combine combineOf(ReduceKind kind);

/// Bytes of the elements of `value` in `box`; 0 for a box that is not read.
double boxBytes(mlir::Value value, const Box &box);
/// Bytes that a tile touches whose operand 0 is read through `windows` along
/// dimensions 2, 3, ..: what lies between windows is in the box, but not read.
double windowBytes(mlir::Operation *op, const LocalTile &tile,
                   const Windows &windows);

/// Appends the kernel key's common part: operation, the given attributes,
/// shapes of operands that are read, shapes of results, element types.
void appendKernel(llvm::raw_ostream &os, mlir::Operation *op,
                  llvm::ArrayRef<mlir::NamedAttribute> attributes,
                  llvm::ArrayRef<Box> operandBoxes,
                  llvm::ArrayRef<Box> resultBoxes);
/// The same with `parts` in place of attributes.
void appendKernel(llvm::raw_ostream &os, mlir::Operation *op,
                  llvm::StringRef parts, llvm::ArrayRef<Box> operandBoxes,
                  llvm::ArrayRef<Box> resultBoxes);
/// Appends an attribute; `array<i64: 1, 1>` and `5 : i64` without their types.
void appendAttribute(llvm::raw_ostream &os, mlir::Attribute value);
/// Inherent attributes that determine the cost of an operation: all but those
/// that say where a tile lies.
llvm::SmallVector<mlir::NamedAttribute, 8> costAttributes(mlir::Operation *op);
/// Attributes of a tile's kernel: it has as many groups as the tile.
template <typename OpTy>
llvm::SmallVector<mlir::NamedAttribute, 8>
attributesOfGroups(OpTy op, const LocalTile &tile) {
  llvm::SmallVector<mlir::NamedAttribute, 8> attributes = costAttributes(op);
  if (int g = tile.spec.findLoop("g"); g >= 0)
    for (mlir::NamedAttribute &attribute : attributes)
      if (attribute.getName() == op.getGroupsAttrName())
        attribute.setValue(mlir::Builder(op.getContext())
                               .getI64IntegerAttr(tile.tile[g].size()));
  return attributes;
}

} // namespace nn
} // namespace soap

#endif // SOAP_LIB_DIALECT_NN_IR_OPSUPPORT_H
