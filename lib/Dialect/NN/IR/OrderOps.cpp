//===- OrderOps.cpp - Operations on places and orders ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// Loops over all dimensions of `shape` but `axis`.
static void addLoopsWithout(PartitionSpec &spec, ArrayRef<int64_t> shape,
                            int64_t axis) {
  for (auto [i, size] : llvm::enumerate(shape))
    if (static_cast<int64_t>(i) != axis)
      spec.loops.push_back({dimLoopName(i), size});
}

/// The loops of addLoopsWithout() and `size` elements along `axis`, which is
/// whole.
static ValueAccess accessWithWhole(unsigned rank, int64_t axis, int64_t size) {
  ValueAccess access;
  unsigned loop = 0;
  for (unsigned i = 0; i != rank; ++i)
    access.dims.push_back(static_cast<int64_t>(i) == axis
                              ? DimAccess::whole(size)
                              : DimAccess::identity(loop++));
  return access;
}

//===----------------------------------------------------------------------===//
// nn.arg_max, nn.arg_min
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult verifyArg(Op op) {
  ArrayRef<int64_t> x = shapeOf(op.getX());
  int64_t axis = op.getAxis();
  if (failed(verifyAxis(op, axis, x.size())))
    return failure();
  if (!elementType(op.getResult()).isInteger(64))
    return op.emitOpError() << "expected a result of indices (i64), got: "
                            << elementType(op.getResult());
  Shape expected(x);
  if (op.getKeepdims())
    expected[axis] = 1;
  else
    expected.erase(expected.begin() + axis);
  return verifyResultShape(op, expected);
}

template <typename Op>
static PartitionSpec argSpec(Op op) {
  PartitionSpec spec;
  ArrayRef<int64_t> x = shapeOf(op.getX());
  int64_t axis = op.getAxis();
  addLoopsWithout(spec, x, axis);
  spec.operands = {accessWithWhole(x.size(), axis, x[axis])};
  spec.results = {op.getKeepdims() ? accessWithWhole(x.size(), axis, 1)
                                   : identityAccess(x.size() - 1)};
  return spec;
}

LogicalResult ArgMaxOp::verify() { return verifyArg(*this); }
PartitionSpec ArgMaxOp::getPartitionSpec() { return argSpec(*this); }
double ArgMaxOp::getFlops(const LocalTile &tile) {
  return volume(tile.operandBoxes[0]);
}

LogicalResult ArgMinOp::verify() { return verifyArg(*this); }
PartitionSpec ArgMinOp::getPartitionSpec() { return argSpec(*this); }
double ArgMinOp::getFlops(const LocalTile &tile) {
  return volume(tile.operandBoxes[0]);
}

//===----------------------------------------------------------------------===//
// nn.top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), shape = shapeOf(getValues());
  int64_t axis = getAxis();
  if (failed(verifyAxis(*this, axis, x.size())))
    return failure();
  if (elementType(getValues()) != elementType(getX()) ||
      !elementType(getIndices()).isInteger(64))
    return emitOpError() << "expected results of " << elementType(getX())
                         << " and i64, got: " << elementType(getValues())
                         << ", " << elementType(getIndices());
  bool fits = x.size() == shape.size() && shapeOf(getIndices()) == shape;
  for (size_t i = 0; fits && i != x.size(); ++i)
    fits =
        static_cast<int64_t>(i) == axis ? shape[i] <= x[i] : shape[i] == x[i];
  if (!fits)
    return emitOpError() << "expected two results of the shape of x, "
                         << toString(x) << ", with fewer elements along axis "
                         << axis << " only, got: " << toString(shape) << ", "
                         << toString(shapeOf(getIndices()));
  return success();
}

PartitionSpec TopKOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t axis = getAxis(), count = shapeOf(getValues())[axis];
  addLoopsWithout(spec, x, axis);
  ValueAccess out = accessWithWhole(x.size(), axis, count);
  spec.operands = {accessWithWhole(x.size(), axis, x[axis])};
  spec.results = {out, out};
  return spec;
}

double TopKOp::getFlops(const LocalTile &tile) {
  // Comparisons: every element with those that are kept, by halves.
  double kept = tile.resultBoxes[0][getAxis()].size();
  return volume(tile.operandBoxes[0]) * (1 + std::log2(kept));
}

//===----------------------------------------------------------------------===//
// nn.cum_sum
//===----------------------------------------------------------------------===//

LogicalResult CumSumOp::verify() {
  if (elementType(getX()).isInteger(1))
    return emitOpError() << "expected numbers, got: " << elementType(getX());
  return verifyAxis(*this, getAxis(), shapeOf(getX()).size());
}

PartitionSpec CumSumOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t axis = getAxis();
  addLoopsWithout(spec, x, axis);
  ValueAccess access = accessWithWhole(x.size(), axis, x[axis]);
  spec.operands = {access};
  spec.results = {access};
  return spec;
}

//===----------------------------------------------------------------------===//
// nn.trilu
//===----------------------------------------------------------------------===//

LogicalResult TriluOp::verify() {
  size_t rank = shapeOf(getX()).size();
  if (rank < 2)
    return emitOpError() << "expected an operand of rank 2 or more, got: "
                         << rank;
  auto diagonal = static_cast<int64_t>(getDiagonal());
  if (diagonal < -maxTensorElements || diagonal > maxTensorElements)
    return emitOpError() << "expected a diagonal of at most "
                         << maxTensorElements << ", got: " << diagonal;
  return success();
}

PartitionSpec TriluOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}

void TriluOp::setLocalAccess(const LocalTile &tile) {
  size_t rank = tile.tile.size();
  setDiagonal(getDiagonal() + tile.tile[rank - 2].lo - tile.tile[rank - 1].lo);
}

double TriluOp::getFlops(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.one_hot
//===----------------------------------------------------------------------===//

LogicalResult OneHotOp::verify() {
  if (elementType(getValues()) != elementType(getResult()))
    return emitOpError() << "expected a result of the values' element type "
                         << elementType(getValues())
                         << ", got: " << elementType(getResult());
  if (shapeOf(getValues()) != ArrayRef<int64_t>{2})
    return emitOpError() << "expected two values, got: shape "
                         << toString(shapeOf(getValues()));
  ArrayRef<int64_t> shape = shapeOf(getResult());
  int64_t axis = getAxis();
  if (failed(verifyAxis(*this, axis, shape.size())))
    return failure();
  int64_t base = getBase(), table = getTableSize().value_or(shape[axis]);
  if (base < 0 || base > maxTensorElements || table < base + shape[axis])
    return emitOpError() << "expected places inside of " << table
                         << ", got: places " << base << " to "
                         << base + shape[axis];
  Shape expected(shapeOf(getIndices()));
  if (axis > static_cast<int64_t>(expected.size()))
    return emitOpError() << "expected a result of rank " << expected.size() + 1
                         << ", got: " << shape.size();
  expected.insert(expected.begin() + axis, shape[axis]);
  return verifyResultShape(*this, expected);
}

PartitionSpec OneHotOp::getPartitionSpec() {
  PartitionSpec spec;
  addDimLoops(spec, shapeOf(getResult()));
  ValueAccess indices, values, out = identityAccess(spec.loops.size());
  indices = out;
  indices.dims.erase(indices.dims.begin() + getAxis());
  values.dims = {DimAccess::whole(2)};
  spec.operands = {indices, values};
  spec.results = {out};
  return spec;
}

void OneHotOp::setLocalAccess(const LocalTile &tile) {
  const soap::Range &places = tile.tile[getAxis()];
  int64_t size = tile.spec.loops[getAxis()].extent;
  if (places.size() == size)
    return;
  if (!getTableSize())
    setTableSize(size);
  setBase(getBase() + places.lo);
}

double OneHotOp::getFlops(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.non_max_suppression
//===----------------------------------------------------------------------===//

LogicalResult NonMaxSuppressionOp::verify() {
  ArrayRef<int64_t> boxes = shapeOf(getBoxes()), scores = shapeOf(getScores()),
                    shape = shapeOf(getResult());
  if (elementType(getBoxes()) != elementType(getScores()))
    return emitOpError() << "expected boxes and scores of one element type, "
                            "got: "
                         << elementType(getBoxes()) << ", "
                         << elementType(getScores()) << "; cast one of them";
  if (!elementType(getResult()).isInteger(64))
    return emitOpError() << "expected a result of indices (i64), got: "
                         << elementType(getResult());
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 ||
      boxes[0] != scores[0] || boxes[1] != scores[2])
    return emitOpError()
           << "expected boxes of shape (n, N, 4) and scores of shape "
              "(n, c, N), got: "
           << toString(boxes) << ", " << toString(scores);
  if (shape.size() != 3 || shape.drop_back() != scores.drop_back())
    return emitOpError() << "expected a result of shape [" << scores[0] << ", "
                         << scores[1] << ", K], got: " << toString(shape);
  if (getIouThreshold().isNaN() ||
      (getScoreThreshold() && getScoreThreshold()->isNaN()))
    return emitOpError() << "expected thresholds that are numbers, got: NaN";
  return success();
}

PartitionSpec NonMaxSuppressionOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> scores = shapeOf(getScores());
  spec.loops = {{"n", scores[0]}, {"c", scores[1]}};
  ValueAccess boxes, each, out;
  boxes.dims = {DimAccess::identity(0), DimAccess::whole(scores[2]),
                DimAccess::whole(4)};
  each.dims = {DimAccess::identity(0), DimAccess::identity(1),
               DimAccess::whole(scores[2])};
  out.dims = {DimAccess::identity(0), DimAccess::identity(1),
              DimAccess::whole(shapeOf(getResult())[2])};
  spec.operands = {boxes, each};
  spec.results = {out};
  return spec;
}

double NonMaxSuppressionOp::getFlops(const LocalTile &tile) {
  // Every selected box is compared with all others, by 15 operations.
  return 15 * volume(tile.operandBoxes[1]) * tile.resultBoxes[0][2].size();
}
