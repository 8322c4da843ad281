//===- ScatterOps.cpp - Look-ups and stores, by element
//--------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// `v0`, `u0`, ..: loops over the i-th indexed dimension, and over the i-th
/// dimension of the indices.
static StringRef tableLoopName(unsigned i) {
  static constexpr StringLiteral names[] = {"v0", "v1", "v2", "v3",
                                            "v4", "v5", "v6", "v7"};
  static_assert(std::size(names) == maxRank);
  return names[i];
}
static StringRef updateLoopName(unsigned i) {
  static constexpr StringLiteral names[] = {"u0", "u1", "u2", "u3",
                                            "u4", "u5", "u6", "u7"};
  static_assert(std::size(names) == maxRank);
  return names[i];
}

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

/// Rows [base, base + rows) of a table.
static LogicalResult verifyRows(Operation *op, int64_t base, int64_t rows,
                                int64_t table) {
  if (base < 0 || base > maxTensorElements || table < base + rows)
    return op->emitOpError() << "expected rows inside of a table of " << table
                             << ", got: rows " << base << " to " << base + rows;
  return success();
}

/// Indices along `axis` of a value of shape `data`, at their own places
/// elsewhere.
static LogicalResult verifyElementIndices(Operation *op, StringRef what,
                                          ArrayRef<int64_t> data,
                                          ArrayRef<int64_t> indices,
                                          int64_t axis) {
  bool fits = data.size() == indices.size();
  for (size_t i = 0; fits && i != data.size(); ++i)
    fits = static_cast<int64_t>(i) == axis || indices[i] <= data[i];
  if (fits)
    return success();
  return op->emitOpError() << "expected indices of the rank of the " << what
                           << " " << toString(data)
                           << " that are not larger but along the axis, got: "
                           << toString(indices);
}

/// `bases` and `table_sizes` of the indexed dimensions `rows`.
template <typename Op>
static LogicalResult verifyTables(Op op, ArrayRef<int64_t> rows) {
  SmallVector<int64_t> bases(rows.size(), 0), sizes(rows);
  for (auto [name, given, list] :
       {std::tuple(StringRef("bases"), op.getBases(), &bases),
        std::tuple(StringRef("table_sizes"), op.getTableSizes(), &sizes)}) {
    if (!given)
      continue;
    if (failed(verifyList(op, name, *given, rows.size(), 0)))
      return failure();
    list->assign(given->begin(), given->end());
  }
  for (auto [base, size, table] : llvm::zip_equal(bases, rows, sizes))
    if (failed(verifyRows(op, base, size, table)))
      return failure();
  return success();
}

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

//===----------------------------------------------------------------------===//
// Shared by tiles
//===----------------------------------------------------------------------===//

/// A tile of the rows that `loop` runs over.
template <typename Op>
static void shiftRows(Op op, const LocalTile &tile, int loop) {
  if (loop < 0 || tile.tile[loop].size() == tile.spec.loops[loop].extent)
    return;
  if (!op.getTableSize())
    op.setTableSize(tile.spec.loops[loop].extent);
  op.setBase(op.getBase() + tile.tile[loop].lo);
}

/// The same for several dimensions, whose loops are `loops`.
template <typename Op>
static void shiftTables(Op op, const LocalTile &tile, ArrayRef<int> loops) {
  SmallVector<int64_t> bases(loops.size(), 0), sizes;
  if (op.getBases())
    bases.assign(op.getBases()->begin(), op.getBases()->end());
  bool split = false;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    sizes.push_back(op.getTableSizes() ? (*op.getTableSizes())[i]
                                       : tile.spec.loops[loop].extent);
    bases[i] += tile.tile[loop].lo;
    split |= tile.tile[loop].size() != tile.spec.loops[loop].extent;
  }
  if (!split)
    return;
  op.setBases(bases);
  op.setTableSizes(sizes);
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

/// Bytes of a look-up: no more of the data than elements of the result.
static double lookUpBytes(Value data, Value indices, Value result,
                          const LocalTile &tile) {
  return std::min(boxBytes(data, tile.operandBoxes[0]),
                  boxBytes(result, tile.resultBoxes[0])) +
         boxBytes(indices, tile.operandBoxes[1]) +
         boxBytes(result, tile.resultBoxes[0]);
}

//===----------------------------------------------------------------------===//
// nn.gather_elements
//===----------------------------------------------------------------------===//

LogicalResult GatherElementsOp::verify() {
  if (elementType(getData()) != elementType(getResult()))
    return emitOpError() << "expected a result of the data's element type "
                         << elementType(getData())
                         << ", got: " << elementType(getResult());
  ArrayRef<int64_t> data = shapeOf(getData()), indices = shapeOf(getIndices());
  int64_t axis = getAxis();
  if (failed(verifyAxis(*this, axis, data.size())) ||
      failed(verifyElementIndices(*this, "data", data, indices, axis)) ||
      failed(verifyRows(*this, getBase(), data[axis],
                        getTableSize().value_or(data[axis]))))
    return failure();
  return verifyResultShape(*this, indices);
}

PartitionSpec GatherElementsOp::getPartitionSpec() {
  PartitionSpec spec;
  addDimLoops(spec, shapeOf(getIndices()));
  unsigned rank = spec.loops.size(), axis = getAxis();
  int64_t rows = shapeOf(getData())[axis];
  ValueAccess data = identityAccess(rank), out = data, indices = data;
  if (!hasSums(elementType(getData()))) {
    data.dims[axis] = DimAccess::whole(rows);
  } else {
    data.dims[axis] = DimAccess::identity(rank);
    spec.loops.push_back({"v", rows});
    out.combine = Combine::Sum;
  }
  spec.operands = {data, indices};
  spec.results = {out};
  return spec;
}

void GatherElementsOp::setLocalAccess(const LocalTile &tile) {
  shiftRows(*this, tile, tile.spec.findLoop("v"));
}

double GatherElementsOp::getFlops(const LocalTile &tile) { return 0; }

double GatherElementsOp::getBytes(const LocalTile &tile) {
  return lookUpBytes(getData(), getIndices(), getResult(), tile);
}

//===----------------------------------------------------------------------===//
// nn.gather_nd
//===----------------------------------------------------------------------===//

LogicalResult GatherNDOp::verify() {
  if (elementType(getData()) != elementType(getResult()))
    return emitOpError() << "expected a result of the data's element type "
                         << elementType(getData())
                         << ", got: " << elementType(getResult());
  ArrayRef<int64_t> data = shapeOf(getData()), indices = shapeOf(getIndices());
  int64_t batch = getBatchDims();
  int64_t most = std::min<int64_t>(data.size(), indices.size()) - 1;
  if (batch < 0 || batch > most)
    return emitOpError() << "expected 'batch_dims' of 0 to " << most
                         << ", got: " << batch;
  if (data.take_front(batch) != indices.take_front(batch))
    return emitOpError() << "expected the same " << batch
                         << " first dimensions of data and indices, got: "
                         << toString(data) << ", " << toString(indices);
  int64_t indexed = indices.back();
  if (indexed > static_cast<int64_t>(data.size()) - batch)
    return emitOpError() << "expected at most " << data.size() - batch
                         << " indexed dimensions, got: " << indexed;
  if (failed(verifyTables(*this, data.slice(batch, indexed))))
    return failure();
  Shape expected(indices.drop_back());
  llvm::append_range(expected, data.drop_front(batch + indexed));
  return verifyResultShape(*this, expected);
}

PartitionSpec GatherNDOp::getPartitionSpec() {
  PartitionSpec spec;
  addDimLoops(spec, shapeOf(getResult()));
  ArrayRef<int64_t> data = shapeOf(getData()), indices = shapeOf(getIndices());
  unsigned batch = getBatchDims(), indexed = indices.back();
  unsigned outer = indices.size() - 1;
  ValueAccess table, at = identityAccess(outer),
                     out = identityAccess(spec.loops.size());
  at.dims.push_back(DimAccess::whole(indexed));
  bool isWhole = !hasSums(elementType(getData()));
  for (unsigned i = 0; i != data.size(); ++i) {
    bool isIndexed = i >= batch && i < batch + indexed;
    if (isIndexed && isWhole) {
      table.dims.push_back(DimAccess::whole(data[i]));
    } else if (isIndexed) {
      table.dims.push_back(DimAccess::identity(spec.loops.size()));
      spec.loops.push_back({tableLoopName(i - batch), data[i]});
      out.combine = Combine::Sum;
    } else {
      table.dims.push_back(
          DimAccess::identity(i < batch ? i : outer + i - batch - indexed));
    }
  }
  spec.operands = {table, at};
  spec.results = {out};
  return spec;
}

void GatherNDOp::setLocalAccess(const LocalTile &tile) {
  SmallVector<int> loops;
  for (int64_t i = 0; i != shapeOf(getIndices()).back(); ++i)
    if (int loop = tile.spec.findLoop(tableLoopName(i)); loop >= 0)
      loops.push_back(loop);
  if (!loops.empty())
    shiftTables(*this, tile, loops);
}

double GatherNDOp::getFlops(const LocalTile &tile) { return 0; }

double GatherNDOp::getBytes(const LocalTile &tile) {
  return lookUpBytes(getData(), getIndices(), getResult(), tile);
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
  if (indices.empty() || indices.back() > static_cast<int64_t>(shape.size()))
    return emitOpError() << "expected indices of at most " << shape.size()
                         << " dimensions in their last one, got: "
                         << toString(indices);
  Shape expected(indices.drop_back());
  llvm::append_range(expected, shape.drop_front(indices.back()));
  if (shapeOf(getUpdates()) != ArrayRef<int64_t>(expected))
    return emitOpError() << "expected updates of shape " << toString(expected)
                         << ", got: " << toString(shapeOf(getUpdates()));
  return verifyTables(*this, shape.take_front(indices.back()));
}

PartitionSpec ScatterNDOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  ArrayRef<int64_t> indices = shapeOf(getIndices());
  addDimLoops(spec, shape);
  unsigned rank = shape.size(), indexed = indices.back();
  ValueAccess at, updates;
  for (auto [i, size] : llvm::enumerate(indices.drop_back())) {
    at.dims.push_back(getReduction() ? DimAccess::identity(rank + i)
                                     : DimAccess::whole(size));
    if (getReduction())
      spec.loops.push_back({updateLoopName(i), size});
  }
  updates = at;
  at.dims.push_back(DimAccess::whole(indexed));
  for (unsigned i = indexed; i != rank; ++i)
    updates.dims.push_back(DimAccess::identity(i));
  addStore(*this, spec, at, updates);
  return spec;
}

FailureOr<SmallVector<Value>> ScatterNDOp::buildLocal(OpBuilder &builder,
                                                      ArrayRef<Value> operands,
                                                      const LocalTile &tile) {
  return buildStore(*this, builder, operands, tile);
}

void ScatterNDOp::setLocalAccess(const LocalTile &tile) {
  SmallVector<int> loops;
  for (int64_t i = 0; i != shapeOf(getIndices()).back(); ++i)
    loops.push_back(i);
  shiftTables(*this, tile, loops);
}

double ScatterNDOp::getFlops(const LocalTile &tile) {
  return getReduction() ? volume(tile.operandBoxes[1]) : 0;
}
