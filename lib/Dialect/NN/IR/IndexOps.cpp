//===- IndexOps.cpp - Operations that look elements up --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

LogicalResult soap::nn::verifyRows(Operation *op, int64_t base, int64_t rows,
                                   int64_t table) {
  if (base < 0 || base > maxTensorElements || table < base + rows)
    return op->emitOpError() << "expected rows inside of a table of " << table
                             << ", got: rows " << base << " to " << base + rows;
  return success();
}

LogicalResult soap::nn::verifyElementIndices(Operation *op, StringRef what,
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

/// Checks that the result has the data's element type.
template <typename Op>
static LogicalResult verifyLookUp(Op op) {
  if (elementType(op.getData()) == elementType(op.getResult()))
    return success();
  return op.emitOpError() << "expected a result of the data's element type "
                          << elementType(op.getData())
                          << ", got: " << elementType(op.getResult());
}

//===----------------------------------------------------------------------===//
// nn.gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  if (failed(verifyLookUp(*this)))
    return failure();
  ArrayRef<int64_t> data = shapeOf(getData());
  int64_t rank = data.size(), axis = getAxis();
  if (axis < 0 || axis >= rank)
    return emitOpError() << "expected an axis in [0, " << rank
                         << "), got: " << axis;
  if (failed(verifyRows(*this, getBase(), data[axis],
                        getTableSize().value_or(data[axis]))))
    return failure();
  Shape expected(data.take_front(axis));
  llvm::append_range(expected, shapeOf(getIndices()));
  llvm::append_range(expected, data.drop_front(axis + 1));
  return verifyResultShape(*this, expected);
}

PartitionSpec GatherOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> data = shapeOf(getData());
  unsigned axis = getAxis(), indexRank = shapeOf(getIndices()).size();
  unsigned rank = shapeOf(getResult()).size();
  addDimLoops(spec, shapeOf(getResult()));
  ValueAccess table, indices, out = identityAccess(rank);
  for (unsigned i = 0; i != data.size(); ++i) {
    if (i != axis) {
      table.dims.push_back(
          DimAccess::identity(i < axis ? i : i - 1 + indexRank));
      continue;
    }
    // Sums of booleans would have to be another operation.
    if (!hasSums(elementType(getData()))) {
      table.dims.push_back(DimAccess::whole(data[i]));
      continue;
    }
    table.dims.push_back(DimAccess::identity(spec.loops.size()));
    spec.loops.push_back({"v", data[i]});
    out.combine = Combine::Sum;
  }
  for (unsigned i = 0; i != indexRank; ++i)
    indices.dims.push_back(DimAccess::identity(axis + i));
  spec.operands = {table, indices};
  spec.results = {out};
  return spec;
}

void GatherOp::setLocalAccess(const LocalTile &tile) {
  int v = tile.spec.findLoop("v");
  int64_t size = v >= 0 ? tile.spec.loops[v].extent : 0;
  if (v < 0 || tile.tile[v].size() == size)
    return;
  if (!getTableSize())
    setTableSize(size);
  setBase(getBase() + tile.tile[v].lo);
}

double GatherOp::getFlops(const LocalTile &tile) { return 0; }

double GatherOp::getBytes(const LocalTile &tile) {
  // One row per index, and none twice. Indices that another part of the table
  // answers are not known to be so: the bytes do not depend on them.
  const Box &table = tile.operandBoxes[0], &indices = tile.operandBoxes[1];
  int64_t rows = table[getAxis()].size();
  int64_t read = std::min(rows, volume(indices));
  return boxBytes(getData(), table) / rows * read +
         boxBytes(getIndices(), indices) +
         boxBytes(getResult(), tile.resultBoxes[0]);
}

/// `v0`, `v1`, ..: the loop over the i-th indexed dimension.
static StringRef tableLoopName(unsigned i) {
  static constexpr StringLiteral names[] = {"v0", "v1", "v2", "v3",
                                            "v4", "v5", "v6", "v7"};
  static_assert(std::size(names) == maxRank);
  return names[i];
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
  if (failed(verifyLookUp(*this)))
    return failure();
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
  if (failed(verifyLookUp(*this)))
    return failure();
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
// nn.tile
//===----------------------------------------------------------------------===//

LogicalResult TileOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), shape = shapeOf(getResult());
  bool multiples = x.size() == shape.size();
  for (size_t i = 0; multiples && i != x.size(); ++i)
    multiples = shape[i] % x[i] == 0;
  if (!multiples)
    return emitOpError() << "expected sizes that are multiples of "
                         << toString(x) << ", got: " << toString(shape);
  return success();
}

PartitionSpec TileOp::getPartitionSpec() {
  PartitionSpec spec;
  ValueAccess in, out;
  for (auto [i, size, total] :
       llvm::enumerate(shapeOf(getX()), shapeOf(getResult()))) {
    bool repeats = size != total;
    spec.loops.push_back({dimLoopName(i), repeats ? total / size : size});
    in.dims.push_back(repeats ? DimAccess::whole(size)
                              : DimAccess::identity(i));
    out.dims.push_back(repeats ? DimAccess::window(i, size, 0, size - 1)
                               : DimAccess::identity(i));
  }
  spec.operands = {in};
  spec.results = {out};
  return spec;
}

double TileOp::getFlops(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.resize
//===----------------------------------------------------------------------===//

LogicalResult ResizeOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  size_t rank = shapeOf(getX()).size();
  if (shapeOf(getResult()).size() != rank)
    return emitOpError() << "expected a result of rank " << rank
                         << ", got: " << shapeOf(getResult()).size();
  if (failed(verifyList(*this, "numerators", getNumerators(), rank, 1)) ||
      failed(verifyList(*this, "denominators", getDenominators(), rank, 1)) ||
      failed(verifyList(*this, "offsets", getOffsets(), rank, -maxListEntry)))
    return failure();
  if (getExcludeOutside() && getMode() != ResizeMode::Cubic)
    return emitOpError() << "expected 'exclude_outside' with mode cubic only, "
                            "got: mode "
                         << stringifyResizeMode(getMode());
  return success();
}

PartitionSpec ResizeOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  addDimLoops(spec, shape);
  ValueAccess access;
  for (auto [i, size] : llvm::enumerate(shapeOf(getX()))) {
    int64_t num = getNumerators()[i], offset = getOffsets()[i];
    int64_t den = getDenominators()[i];
    bool exact = num % den == 0 && offset % den == 0;
    bool linear = getMode() == ResizeMode::Linear && !exact;
    bool cubic = getMode() == ResizeMode::Cubic && !exact;
    DimAccess dim{static_cast<int16_t>(i), num, offset - (cubic ? den : 0),
                  offset + (cubic    ? 2 * den
                            : linear ? den
                                     : 0),
                  den};
    // A window outside of x reads the element at the border: it is at most so
    // far away. What no window reads goes to a neighbour, so that tiles leave
    // no gaps.
    Range first = unclampedRange(dim, {0, 1});
    Range last = unclampedRange(dim, {shape[i] - 1, shape[i]});
    dim.hi += (std::max<int64_t>(0, 1 - first.hi) +
               std::max<int64_t>(0, size - last.hi)) *
              den;
    dim.lo -= (std::max<int64_t>(0, first.lo) +
               std::max<int64_t>(0, last.lo + 1 - size)) *
              den;
    access.dims.push_back(dim);
  }
  spec.operands = {access};
  spec.results = {identityAccess(shape.size())};
  return spec;
}

void ResizeOp::setLocalAccess(const LocalTile &tile) {
  // The shift rule, for q alone.
  SmallVector<int64_t> offsets(getOffsets());
  for (auto [i, offset] : llvm::enumerate(offsets))
    offset += getNumerators()[i] * tile.tile[i].lo -
              getDenominators()[i] * tile.operandBoxes[0][i].lo;
  setOffsets(offsets);
}

/// Elements that one element of the result reads along a dimension.
static int64_t readsOf(ResizeMode mode) {
  return mode == ResizeMode::Cubic ? 4 : mode == ResizeMode::Linear ? 2 : 1;
}

double ResizeOp::getFlops(const LocalTile &tile) {
  int64_t reads = readsOf(getMode());
  return reads == 1 ? 0 : (2.0 * reads - 1) * volume(tile.resultBoxes[0]);
}

double ResizeOp::getBytes(const LocalTile &tile) {
  // Where the result has fewer elements than x, some of x is not read.
  const Box &box = tile.operandBoxes[0];
  double bytes = boxBytes(getX(), box);
  for (auto [i, range] : llvm::enumerate(box)) {
    int64_t read = tile.resultBoxes[0][i].size() * readsOf(getMode());
    bytes *= static_cast<double>(std::min(range.size(), read)) / range.size();
  }
  return bytes + boxBytes(getResult(), tile.resultBoxes[0]);
}
