//===- WindowOps.cpp - Pooling, reduction, normalisation ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

template <typename PoolOp>
static Windows windowsOf(PoolOp op) {
  return {op.getKernel(), op.getStrides(), op.getDilations(), op.getPadsLo(),
          op.getPadsHi()};
}

template <typename PoolOp>
static LogicalResult verifyPool(PoolOp op) {
  if (failed(verifyElementTypes(op)))
    return failure();
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  size_t rank = input.size();
  if (rank < 3 || rank > 5)
    return op.emitOpError()
           << "expected an input of rank 3 to 5, got: " << rank;
  if (failed(verifyWindows(op, windowsOf(op), rank - 2)))
    return failure();
  Windows windows = windowsOf(op);
  for (size_t i = 0; i != rank - 2; ++i)
    if (std::max(windows.padsLo[i], windows.padsHi[i]) >= windows.extent(i))
      return op.emitOpError()
             << "expected pads smaller than the window of " << windows.extent(i)
             << " elements in spatial dimension " << i
             << ", got: " << windows.padsLo[i] << " and " << windows.padsHi[i]
             << "; a window must reach the input";
  FailureOr<Shape> spatial =
      windowsResultShape(op, windows, input.drop_front(2));
  if (failed(spatial))
    return failure();
  Shape expected = {input[0], input[1]};
  expected.append(*spatial);
  return verifyResultShape(op, expected);
}

/// Loops n, c and the spatial dimensions of `shape`.
static PartitionSpec channelSpec(ArrayRef<int64_t> shape) {
  PartitionSpec spec;
  spec.loops = {{"n", shape[0]}, {"c", shape[1]}};
  for (auto [i, name] : llvm::enumerate(spatialLoopNames(shape.size() - 2)))
    spec.loops.push_back({name, shape[2 + i]});
  spec.results = {identityAccess(shape.size())};
  return spec;
}

template <typename PoolOp>
static PartitionSpec poolSpec(PoolOp op) {
  ArrayRef<int64_t> result = shapeOf(op.getResult());
  PartitionSpec spec = channelSpec(result);
  ValueAccess input = identityAccess(result.size());
  Windows windows = windowsOf(op);
  for (unsigned i = 0, e = result.size() - 2; i != e; ++i)
    input.dims[2 + i] = windows.access(2 + i, i);
  spec.operands = {input};
  return spec;
}

template <typename PoolOp>
static double poolFlops(PoolOp op, const LocalTile &tile) {
  double flops = volume(tile.resultBoxes[0]);
  for (int64_t size : op.getKernel())
    flops *= size;
  return flops;
}

LogicalResult MaxPoolOp::verify() { return verifyPool(*this); }
PartitionSpec MaxPoolOp::getPartitionSpec() { return poolSpec(*this); }
double MaxPoolOp::getFlops(const LocalTile &tile) {
  return poolFlops(*this, tile);
}
double MaxPoolOp::getBytes(const LocalTile &tile) {
  return windowBytes(*this, tile, windowsOf(*this));
}

void MaxPoolOp::setLocalAccess(const LocalTile &tile) {
  TilePads pads = localPadsOf(tile, windowsOf(*this));
  setPadsLo(pads.lo);
  setPadsHi(pads.hi);
}

LogicalResult AvgPoolOp::verify() {
  if (failed(verifyPool(*this)))
    return failure();
  size_t spatial = getKernel().size();
  if (failed(verifyList(*this, "counted_lo", getCountedLo(), spatial, 0)) ||
      failed(verifyList(*this, "counted_hi", getCountedHi(), spatial, 0)))
    return failure();
  for (size_t i = 0; i != spatial; ++i)
    if (getCountedLo()[i] > getPadsLo()[i] ||
        getCountedHi()[i] > getPadsHi()[i])
      return emitOpError() << "expected counted pads that are at most the "
                              "pads, got: "
                           << toString(getCountedLo()) << " of "
                           << toString(getPadsLo()) << ", "
                           << toString(getCountedHi()) << " of "
                           << toString(getPadsHi());
  return success();
}

PartitionSpec AvgPoolOp::getPartitionSpec() { return poolSpec(*this); }
double AvgPoolOp::getFlops(const LocalTile &tile) {
  return poolFlops(*this, tile);
}
double AvgPoolOp::getBytes(const LocalTile &tile) {
  return windowBytes(*this, tile, windowsOf(*this));
}

void AvgPoolOp::setLocalAccess(const LocalTile &tile) {
  TilePads pads = localPadsOf(tile, windowsOf(*this));
  // Where a tile has a pad, its box ends with the input: counted pads lie in
  // the same place as in the whole operation.
  SmallVector<int64_t, 3> countedLo, countedHi;
  for (auto [counted, pad] : llvm::zip_equal(getCountedLo(), pads.lo))
    countedLo.push_back(std::min(counted, pad));
  for (auto [counted, pad] : llvm::zip_equal(getCountedHi(), pads.hi))
    countedHi.push_back(std::min(counted, pad));
  setPadsLo(pads.lo);
  setPadsHi(pads.hi);
  setCountedLo(countedLo);
  setCountedHi(countedHi);
}

//===----------------------------------------------------------------------===//
// nn.reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  bool isSum = getKind() == ReduceKind::Sum || getKind() == ReduceKind::Prod;
  if (failed(isSum ? verifySummedTypes(*this) : verifyElementTypes(*this)))
    return failure();
  if (!isa<FloatType>(elementType(getInput())) &&
      !getScale().isExactlyValue(1.0))
    return emitOpError() << "expected a scale of 1 for integers, got: "
                         << getScale().convertToDouble();
  ArrayRef<int64_t> input = shapeOf(getInput());
  int64_t rank = input.size(), previous = -1;
  for (int64_t axis : getAxes()) {
    if (axis <= previous || axis >= rank)
      return emitOpError() << "expected ascending axes in [0, " << rank
                           << "), got: " << toString(getAxes());
    previous = axis;
  }
  if (getKind() != ReduceKind::Sum && !getScale().isExactlyValue(1.0))
    return emitOpError() << "expected a scale of 1 for a reduction other than "
                            "sum, got: "
                         << getScale().convertToDouble();
  Shape expected;
  for (auto [i, size] : llvm::enumerate(input)) {
    if (!llvm::is_contained(getAxes(), static_cast<int64_t>(i)))
      expected.push_back(size);
    else if (getKeepdims())
      expected.push_back(1);
  }
  return verifyResultShape(*this, expected);
}

Combine soap::nn::combineOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return Combine::Sum;
  case ReduceKind::Prod:
    return Combine::Prod;
  case ReduceKind::Max:
    return Combine::Max;
  case ReduceKind::Min:
    return Combine::Min;
  }
  llvm_unreachable("unknown kind of a reduction");
}

PartitionSpec ReduceOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> input = shapeOf(getInput());
  addDimLoops(spec, input);
  spec.operands = {identityAccess(input.size())};
  ValueAccess out;
  for (unsigned i = 0, e = input.size(); i != e; ++i) {
    if (!llvm::is_contained(getAxes(), static_cast<int64_t>(i)))
      out.dims.push_back(DimAccess::identity(i));
    else if (getKeepdims())
      out.dims.push_back(DimAccess::whole(1));
  }
  if (!getAxes().empty())
    out.combine = combineOf(getKind());
  spec.results = {out};
  return spec;
}

double ReduceOp::getFlops(const LocalTile &tile) {
  return volume(tile.operandBoxes[0]);
}

//===----------------------------------------------------------------------===//
// nn.batch_norm
//===----------------------------------------------------------------------===//

/// Checks that `x` has channels and at most three spatial dimensions.
static LogicalResult verifyChannels(Operation *op, Value x) {
  size_t rank = shapeOf(x).size();
  if (rank < 2 || rank > 5)
    return op->emitOpError()
           << "expected an input of rank 2 to 5, got: " << rank;
  return success();
}

LogicalResult BatchNormOp::verify() {
  if (failed(verifyElementTypes(*this)) ||
      failed(verifyChannels(*this, getX())))
    return failure();
  int64_t channels = shapeOf(getX())[1];
  if (shapeOf(getScale()) != ArrayRef(channels))
    return emitOpError() << "expected scale, bias, mean and variance of shape ["
                         << channels
                         << "], got: " << toString(shapeOf(getScale()));
  return success();
}

PartitionSpec BatchNormOp::getPartitionSpec() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  PartitionSpec spec = channelSpec(shape);
  ValueAccess perChannel;
  perChannel.dims = {DimAccess::identity(1)};
  spec.operands.assign(5, perChannel);
  spec.operands[0] = identityAccess(shape.size());
  return spec;
}

double BatchNormOp::getFlops(const LocalTile &tile) {
  return 2.0 * volume(tile.resultBoxes[0]);
}

//===----------------------------------------------------------------------===//
// nn.lrn
//===----------------------------------------------------------------------===//

LogicalResult LRNOp::verify() {
  if (failed(verifyChannels(*this, getX())))
    return failure();
  if (static_cast<int64_t>(getSize()) < 1)
    return emitOpError() << "expected a 'size' of 1 or more, got: "
                         << static_cast<int64_t>(getSize());
  return success();
}

PartitionSpec LRNOp::getPartitionSpec() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  PartitionSpec spec = channelSpec(shape);
  int64_t size = getSize();
  ValueAccess x = identityAccess(shape.size());
  x.dims[1] = DimAccess::window(1, 1, -((size - 1) / 2), size / 2);
  spec.operands = {x};
  return spec;
}

FailureOr<SmallVector<Value>> LRNOp::buildLocal(OpBuilder &builder,
                                                ArrayRef<Value> operands,
                                                const LocalTile &tile) {
  // All channels that are read are normalised, then those of the tile are
  // kept: the others lack neighbours.
  const Box &halo = tile.operandBoxes[0], &kept = tile.resultBoxes[0];
  LocalTile whole = tile;
  whole.resultBoxes[0] = halo;
  FailureOr<SmallVector<Value>> result =
      detail::cloneLocal(*this, builder, operands, whole);
  if (failed(result) || halo == kept)
    return result;
  setName(result->front().getDefiningOp(), getName(*this) + ".halo");
  SmallVector<int64_t> starts, steps(kept.size(), 1);
  for (auto [from, to] : llvm::zip_equal(halo, kept))
    starts.push_back(to.lo - from.lo);
  auto crop =
      builder.create<SliceOp>(getLoc(), localType(getResult().getType(), kept),
                              result->front(), starts, steps);
  setName(crop, getName(*this));
  return SmallVector<Value>{crop.getResult()};
}

double LRNOp::getFlops(const LocalTile &tile) {
  return (static_cast<double>(getSize()) + 4) * volume(tile.operandBoxes[0]);
}

double LRNOp::getBytes(const LocalTile &tile) {
  // The channels of the halo are normalised too.
  return 2 * boxBytes(getX(), tile.operandBoxes[0]);
}

void LRNOp::appendKernelKey(llvm::raw_ostream &os, const LocalTile &tile) {
  appendKernel(os, *this, costAttributes(*this), tile.operandBoxes,
               tile.operandBoxes);
}

//===----------------------------------------------------------------------===//
// nn.softmax
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyRoundedTypes(*this)))
    return failure();
  int64_t rank = shapeOf(getX()).size(), axis = getAxis();
  if (axis < 0 || axis >= rank)
    return emitOpError() << "expected an axis in [0, " << rank
                         << "), got: " << axis;
  return success();
}

PartitionSpec SoftmaxOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getX());
  ValueAccess access;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (i == getAxis()) {
      access.dims.push_back(DimAccess::whole(size));
      continue;
    }
    access.dims.push_back(DimAccess::identity(spec.loops.size()));
    spec.loops.push_back({dimLoopName(i), size});
  }
  spec.operands = {access};
  spec.results = {access};
  return spec;
}

double SoftmaxOp::getFlops(const LocalTile &tile) {
  return 4.0 * volume(tile.resultBoxes[0]);
}

//===----------------------------------------------------------------------===//
// nn.layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::verify() {
  if (failed(verifyRoundedTypes(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t rank = x.size(), axis = getAxis();
  if (axis < 0 || axis >= rank)
    return emitOpError() << "expected an axis in [0, " << rank
                         << "), got: " << axis;
  ArrayRef<int64_t> expected = x.drop_front(axis);
  for (Value value : {getScale(), getBias()})
    if (value && shapeOf(value) != expected)
      return emitOpError() << "expected scale and bias of shape "
                           << toString(expected)
                           << ", got: " << toString(shapeOf(value));
  return success();
}

PartitionSpec LayerNormOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getX());
  addDimLoops(spec, shape.take_front(getAxis()));
  ValueAccess x = identityAccess(getAxis()), inner;
  for (int64_t size : shape.drop_front(getAxis())) {
    x.dims.push_back(DimAccess::whole(size));
    inner.dims.push_back(DimAccess::whole(size));
  }
  spec.operands.assign(getNumOperands(), inner);
  spec.operands[0] = x;
  spec.results = {x};
  return spec;
}

double LayerNormOp::getFlops(const LocalTile &tile) {
  return 8.0 * volume(tile.resultBoxes[0]);
}
