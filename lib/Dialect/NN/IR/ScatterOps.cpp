//===- ScatterOps.cpp - Operations that store by index --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// `u0`, `u1`, ..: the loop over the i-th dimension of the indices.
static StringRef updateLoopName(unsigned i) {
  static constexpr StringLiteral names[] = {"u0", "u1", "u2", "u3",
                                            "u4", "u5", "u6", "u7"};
  static_assert(std::size(names) == maxRank);
  return names[i];
}

//===----------------------------------------------------------------------===//
// What both scatters share
//===----------------------------------------------------------------------===//

/// What both scatters ask of their element types and shapes.
template <typename Op>
static LogicalResult verifyStore(Op op) {
  Type element = elementType(op.getResult());
  if (elementType(op.getUpdates()) != element ||
      (op.getData() && elementType(op.getData()) != element))
    return op.emitOpError()
           << "expected updates and data of the result's "
              "element type "
           << element << ", got: " << elementType(op.getUpdates())
           << (op.getData() ? " and other data" : "");
  if (op.getReduction() && (element.isInteger(1) || isStorageOnly(element)))
    return op.emitOpError()
           << "expected numbers for a reduction, got: " << element;
  bool isSum = op.getReduction() == ReduceKind::Sum ||
               op.getReduction() == ReduceKind::Prod;
  if (isSum && accumulatorType(element) != element)
    return op.emitOpError()
           << "expected sums and products of type " << accumulatorType(element)
           << ", got: " << element << "; cast the operands and the result";
  if (op.getData() && shapeOf(op.getData()) != shapeOf(op.getResult()))
    return op.emitOpError()
           << "expected a result of shape " << toString(shapeOf(op.getData()))
           << ", got: " << toString(shapeOf(op.getResult()));
  return success();
}

/// Checks indices of slices of a result of shape `shape`, and the shape of the
/// slices, which messages call `what`.
static LogicalResult verifySlices(Operation *op, StringRef what,
                                  ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> indices,
                                  ArrayRef<int64_t> slices) {
  if (indices.empty() || indices.back() > static_cast<int64_t>(shape.size()))
    return op->emitOpError()
           << "expected indices of at most " << shape.size()
           << " dimensions in their last one, got: " << toString(indices);
  Shape expected(indices.drop_back());
  llvm::append_range(expected, shape.drop_front(indices.back()));
  if (slices != ArrayRef<int64_t>(expected))
    return op->emitOpError()
           << "expected " << what << " of shape " << toString(expected)
           << ", got: " << toString(slices);
  return success();
}

/// How indices of slices and the slices are accessed whose result has `rank`
/// dimensions, the first `indexed` of which are named: `outer` is the access of
/// the other dimensions of the indices.
static std::pair<ValueAccess, ValueAccess>
accessSlices(ArrayRef<DimAccess> outer, unsigned rank, unsigned indexed) {
  ValueAccess indices, slices;
  llvm::append_range(indices.dims, outer);
  slices = indices;
  indices.dims.push_back(DimAccess::whole(indexed));
  for (unsigned i = indexed; i != rank; ++i)
    slices.dims.push_back(DimAccess::identity(i));
  return {indices, slices};
}

/// A tile that no update reaches: the data, or the neutral element.
template <typename Op>
static FailureOr<SmallVector<Value>> buildStore(Op op, OpBuilder &builder,
                                                ArrayRef<Value> operands,
                                                const LocalTile &tile) {
  if (operands[0] && operands[1])
    return nn::detail::cloneLocal(op, builder, operands, tile);
  RankedTensorType type =
      localType(op.getResult().getType(), tile.resultBoxes[0]);
  if (operands.size() > 2 && operands[2]) {
    SmallVector<int64_t> zeros(type.getRank(), 0), ones(type.getRank(), 1);
    auto copy =
        builder.create<SliceOp>(op.getLoc(), type, operands[2], zeros, ones);
    setName(copy, getName(op));
    return SmallVector<Value>{copy.getResult()};
  }
  auto constant = builder.create<ConstantOp>(
      op.getLoc(),
      cast<ElementsAttr>(DenseElementsAttr::get(
          type, neutralElement(op.getReduction(), type.getElementType()))));
  setName(constant, getName(op));
  return SmallVector<Value>{constant.getResult()};
}

/// Result and data of a scatter, and the reduction loops of its parts.
template <typename Op>
static void addStore(Op op, PartitionSpec &spec, ValueAccess indices,
                     ValueAccess updates) {
  unsigned rank = shapeOf(op.getResult()).size();
  ValueAccess out = identityAccess(rank), data = out;
  if (auto kind = op.getReduction())
    out.combine = combineOf(*kind);
  data.firstOnly = op.getReduction().has_value();
  spec.operands = {std::move(indices), std::move(updates)};
  if (op.getData())
    spec.operands.push_back(data);
  spec.results = {out};
}

//===----------------------------------------------------------------------===//
// nn.scatter_elements
//===----------------------------------------------------------------------===//

LogicalResult ScatterElementsOp::verify() {
  if (failed(verifyStore(*this)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getResult());
  ArrayRef<int64_t> indices = shapeOf(getIndices());
  int64_t axis = getAxis();
  if (shapeOf(getUpdates()) != indices)
    return emitOpError() << "expected updates of the indices' shape "
                         << toString(indices)
                         << ", got: " << toString(shapeOf(getUpdates()));
  if (failed(verifyAxis(*this, axis, shape.size())) ||
      failed(verifyElementIndices(*this, "result", shape, indices, axis)))
    return failure();
  return verifyRows(*this, getBase(), shape[axis],
                    getTableSize().value_or(shape[axis]));
}

PartitionSpec ScatterElementsOp::getPartitionSpec() {
  PartitionSpec spec;
  addDimLoops(spec, shapeOf(getResult()));
  unsigned rank = spec.loops.size(), axis = getAxis();
  int64_t updates = shapeOf(getIndices())[axis];
  ValueAccess at = identityAccess(rank);
  if (getReduction()) {
    at.dims[axis] = DimAccess::identity(rank);
    spec.loops.push_back({"u", updates});
  } else {
    at.dims[axis] = DimAccess::whole(updates);
  }
  addStore(*this, spec, at, at);
  return spec;
}

FailureOr<SmallVector<Value>>
ScatterElementsOp::buildLocal(OpBuilder &builder, ArrayRef<Value> operands,
                              const LocalTile &tile) {
  return buildStore(*this, builder, operands, tile);
}

void ScatterElementsOp::setLocalAccess(const LocalTile &tile) {
  shiftRows(*this, tile, getAxis());
}

double ScatterElementsOp::getFlops(const LocalTile &tile) {
  const Box &updates = tile.operandBoxes[1];
  return getReduction() && !isEmpty(updates) ? volume(updates) : 0;
}

//===----------------------------------------------------------------------===//
// nn.scatter_nd
//===----------------------------------------------------------------------===//

LogicalResult ScatterNDOp::verify() {
  if (failed(verifyStore(*this)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getResult());
  ArrayRef<int64_t> indices = shapeOf(getIndices());
  if (failed(verifySlices(*this, "updates", shape, indices,
                          shapeOf(getUpdates()))))
    return failure();
  return verifyTables(*this, shape.take_front(indices.back()));
}

PartitionSpec ScatterNDOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  ArrayRef<int64_t> indices = shapeOf(getIndices());
  addDimLoops(spec, shape);
  unsigned rank = shape.size();
  SmallVector<DimAccess> outer;
  for (auto [i, size] : llvm::enumerate(indices.drop_back())) {
    outer.push_back(getReduction() ? DimAccess::identity(rank + i)
                                   : DimAccess::whole(size));
    if (getReduction())
      spec.loops.push_back({updateLoopName(i), size});
  }
  auto [at, updates] = accessSlices(outer, rank, indices.back());
  addStore(*this, spec, at, updates);
  return spec;
}

FailureOr<SmallVector<Value>> ScatterNDOp::buildLocal(OpBuilder &builder,
                                                      ArrayRef<Value> operands,
                                                      const LocalTile &tile) {
  return buildStore(*this, builder, operands, tile);
}

/// Makes a store of slices a tile of its table, whose loops are the first ones.
template <typename Op>
static void shiftIndexed(Op op, const LocalTile &tile) {
  auto count = static_cast<int>(shapeOf(op.getIndices()).back());
  shiftTables(op, tile, llvm::to_vector(llvm::seq(0, count)));
}

void ScatterNDOp::setLocalAccess(const LocalTile &tile) {
  shiftIndexed(*this, tile);
}

double ScatterNDOp::getFlops(const LocalTile &tile) {
  return getReduction() ? volume(tile.operandBoxes[1]) : 0;
}

//===----------------------------------------------------------------------===//
// nn.sparse_sgd
//===----------------------------------------------------------------------===//

LogicalResult SparseSGDOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  ArrayRef<int64_t> indices = shapeOf(getIndices());
  Type element = elementType(getResult());
  if (getW().getType() != getResult().getType())
    return emitOpError() << "expected w of the result's type "
                         << getResult().getType()
                         << ", got: " << getW().getType();
  for (auto [name, value] :
       {std::pair("slices", getSlices()), std::pair("a rate", getRate())})
    if (elementType(value) != element)
      return emitOpError() << "expected " << name << " of " << element
                           << ", got: " << elementType(value);
  if (!shapeOf(getRate()).empty())
    return emitOpError() << "expected a scalar as rate, got: "
                         << getRate().getType();
  if (failed(
          verifySlices(*this, "slices", shape, indices, shapeOf(getSlices()))))
    return failure();
  return verifyTables(*this, shape.take_front(indices.back()));
}

PartitionSpec SparseSGDOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  ArrayRef<int64_t> indices = shapeOf(getIndices());
  addDimLoops(spec, shape);
  unsigned rank = shape.size();
  auto whole = llvm::map_to_vector(indices.drop_back(), DimAccess::whole);
  auto [at, slices] = accessSlices(whole, rank, indices.back());
  spec.operands = {identityAccess(rank), at, slices, ValueAccess()};
  spec.results = {identityAccess(rank)};
  return spec;
}

void SparseSGDOp::setLocalAccess(const LocalTile &tile) {
  shiftIndexed(*this, tile);
}

double SparseSGDOp::getFlops(const LocalTile &tile) {
  return 2.0 * volume(tile.operandBoxes[2]);
}

// A slice is read, and its place in w read and written: none twice, as they are
// not known.
double SparseSGDOp::getBytes(const LocalTile &tile) {
  double slices = boxBytes(getSlices(), tile.operandBoxes[2]);
  return boxBytes(getIndices(), tile.operandBoxes[1]) + slices +
         2 * std::min(slices, boxBytes(getW(), tile.operandBoxes[0]));
}
