//===- PartitionInterface.h - How an op can be split ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface by which an operation says how it can be split, and functions
// over it: boxes of a task, local operations, kernel keys.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_PARTITIONINTERFACE_H
#define SOAP_DIALECT_NN_IR_PARTITIONINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "soap/Partition/PartitionSpec.h"
#include "llvm/Support/raw_ostream.h"

namespace soap {
namespace nn {

class PartitionOpInterface;

/// One tile of an operation: the units of every loop and what it reads and
/// writes, in the coordinates of the whole values.
struct LocalTile {
  PartitionSpec spec;
  Tile tile;
  /// One box per operand; empty: not read.
  llvm::SmallVector<Box, 4> operandBoxes;
  llvm::SmallVector<Box, 2> resultBoxes;
};

/// A shape, as lib/Partition takes it.
using Shape = llvm::SmallVector<int64_t, 5>;

/// The greatest rank of a tensor (loops have names for so many dimensions).
constexpr int64_t maxRank = 8;

/// The greatest number of elements of a tensor, and the greatest entry of a
/// list of strides, pads and the like: sums and products of them do not
/// overflow.
constexpr int64_t maxTensorElements = int64_t(1) << 48;
constexpr int64_t maxListEntry = (int64_t(1) << 31) - 1;

/// True for a ranked tensor type of static shape without empty dimensions, of
/// at most maxRank dimensions and maxTensorElements elements.
bool isStaticTensor(mlir::Type type);

llvm::SmallVector<Shape, 4> operandShapes(mlir::Operation *op);
llvm::SmallVector<Shape, 2> resultShapes(mlir::Operation *op);

/// The name of an operation (`nn.name`); empty if it has none.
llvm::StringRef getName(mlir::Operation *op);
void setName(mlir::Operation *op, const llvm::Twine &name);

/// The attribute that makes an operation a member of a group (`#nn.group`).
constexpr llvm::StringLiteral groupAttrName("nn.group");
/// The name of the leader of the group that an operation is a member of; empty
/// for leaders and for operations without a group.
llvm::StringRef getGroupLeader(mlir::Operation *op);
/// The attribute that makes an operation part of the update of a parameter: the
/// name of the operation that leads the update, which is in the same group. A
/// strategy may decide about an update apart from its group; loops run along
/// the leader's loops of the same names then.
constexpr llvm::StringLiteral updateAttrName("nn.update");
/// The name of the leader of the update that an operation is part of; empty for
/// leaders and for operations that are part of none.
llvm::StringRef getUpdateLeader(mlir::Operation *op);
/// Makes an operation part of the update that `leader` leads.
void joinUpdate(mlir::Operation *op, mlir::Operation *leader);
/// Makes an operation a member of no group, and part of no update.
void leaveGroup(mlir::Operation *op);
/// Lets the members of groups whose leaders are no more in `block` decide for
/// themselves: for passes that erase operations.
void leaveLostGroups(mlir::Block &block);
/// Per loop of `spec`, the spec of the member `op` of a group, the loop of the
/// leader that it runs along, or -1. Error: a loop that there is not, or one of
/// the leader's for two of the member's.
mlir::FailureOr<llvm::SmallVector<int16_t, 6>>
getLeaderLoops(mlir::Operation *op, const PartitionSpec &spec,
               const PartitionSpec &leader);

/// The tile of task `task` of an operation that is split by `degrees`.
LocalTile makeLocalTile(PartitionOpInterface op, const Degrees &degrees,
                        int64_t task);
/// The whole operation as one tile.
LocalTile makeWholeTile(PartitionOpInterface op);
/// The smallest tile whose box of result `result` contains `demanded` (not
/// empty, inside the result). The box may be larger where a unit of a loop is a
/// window of the result. Loops that are absent from the result are whole.
LocalTile makeLocalTileForBox(PartitionOpInterface op, unsigned result,
                              const Box &demanded);

/// What determines the cost of a tile of `op`, as one line of text: the key of
/// measured costs and of the runtime's kernels. For a local operation: the key
/// of the tile that it was built from.
std::string kernelKey(PartitionOpInterface op, const LocalTile &tile);
std::string kernelKey(PartitionOpInterface localOp);

/// Traits of the results, given those of the operands: where sample dimensions
/// and values that come from parameters only start (`nn.input`, `nn.parameter`,
/// `nn.constant`) and how they flow through the other operations.
llvm::SmallVector<DimTraits, 2>
inferTraits(PartitionOpInterface op, llvm::ArrayRef<DimTraits> operandTraits);

/// Kinds of the loops of `op`, those of inputs and parameters included.
llvm::SmallVector<LoopKind, 6>
inferKinds(PartitionOpInterface op, llvm::ArrayRef<DimTraits> operandTraits);

/// Trait of operations each of whose result elements depends on one element of
/// each operand.
template <typename ConcreteType>
class PerElement : public mlir::OpTrait::TraitBase<ConcreteType, PerElement> {};

/// Trait of operations whose kernel writes the one result over the first
/// operand, of the same type, most of which it leaves as it is: whoever calls
/// it copies the operand to where the result is to be, unless it lies there.
template <typename ConcreteType>
class OverwritesFirst
    : public mlir::OpTrait::TraitBase<ConcreteType, OverwritesFirst> {};

/// Trait of operations that are additive in all their operands together:
/// applied to parts of sums, they give parts of a sum.
template <typename ConcreteType>
class Additive : public mlir::OpTrait::TraitBase<ConcreteType, Additive> {};

/// The attribute by which an additive operation declares loops of parts, an
/// array of their extents. They index no operand and no result: tasks along
/// them take partial results of the operands as they are
/// (ValueAccess::unreduced) and make partial results.
constexpr llvm::StringLiteral partsAttrName("nn.parts");
/// True for operations that may have `nn.parts`: of an additive kind (padding
/// is, if it pads with zeros), on f32 or f64.
bool isAdditive(mlir::Operation *op);
/// The greatest number of loops of parts.
constexpr unsigned maxParts = 8;
/// The names of the loops of parts: part0, part1, ...
llvm::StringRef partLoopName(unsigned index);

/// `type` with the shape of `box`.
mlir::RankedTensorType localType(mlir::Type type, const Box &box);

namespace detail {
/// The operands of a task: zeros for what it takes a part of (unreduced) where
/// another task takes all of that.
llvm::SmallVector<mlir::Value> withZeros(mlir::Operation *op,
                                         mlir::OpBuilder &builder,
                                         llvm::ArrayRef<mlir::Value> operands,
                                         const LocalTile &tile);
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
cloneLocal(mlir::Operation *op, mlir::OpBuilder &builder,
           llvm::ArrayRef<mlir::Value> operands, const LocalTile &tile);
double defaultFlops(const LocalTile &tile);
/// Bytes of all elements of the boxes of a tile of `op`, each counted once.
double boxBytes(mlir::Operation *op, const LocalTile &tile);
void appendDefaultKernelKey(llvm::raw_ostream &os, mlir::Operation *op,
                            const LocalTile &tile);
mlir::LogicalResult verifyPartitionOp(mlir::Operation *op);

/// Declares the loops of parts of an operation, if it has such.
void addPartLoops(mlir::Operation *op, PartitionSpec &spec);
/// The spec of an operation that broadcasts its operands to its result.
PartitionSpec elementwiseSpec(mlir::Operation *op);
/// Checks that operands of equal element type broadcast to the result.
mlir::LogicalResult verifyBroadcast(mlir::Operation *op);
/// The same for operands of any element types.
mlir::LogicalResult verifyBroadcastShape(mlir::Operation *op);
} // namespace detail

} // namespace nn
} // namespace soap

#include "soap/Dialect/NN/IR/PartitionInterface.h.inc"

#endif // SOAP_DIALECT_NN_IR_PARTITIONINTERFACE_H
