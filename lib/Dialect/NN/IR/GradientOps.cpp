//===- GradientOps.cpp - Operations of gradients --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// Zeros in place of an operation's only result.
static SmallVector<Value> buildZeros(OpBuilder &builder, Operation *op,
                                     const LocalTile &tile) {
  RankedTensorType type =
      localType(op->getResult(0).getType(), tile.resultBoxes[0]);
  return {
      createSplat(builder, op, "", type,
                  cast<TypedAttr>(builder.getZeroAttr(type.getElementType())))};
}

/// Checks that x, dy and the result have the same rank, 3 to 5, and that there
/// is a stride and a dilation for each spatial dimension.
template <typename Op>
static LogicalResult verifyRanksAndStrides(Op op) {
  size_t rank = shapeOf(op.getX()).size(), ofDy = shapeOf(op.getDy()).size(),
         ofResult = shapeOf(op.getResult()).size();
  if (rank < 3 || rank > 5)
    return op.emitOpError() << "expected an x of rank 3 to 5, got: " << rank;
  if (ofDy != rank || ofResult != rank)
    return op.emitOpError() << "expected dy and result of rank " << rank
                            << ", got: " << ofDy << " and " << ofResult;
  return success(
      succeeded(verifyList(op, "strides", op.getStrides(), rank - 2, 1)) &&
      succeeded(verifyList(op, "dilations", op.getDilations(), rank - 2, 1)));
}

//===----------------------------------------------------------------------===//
// nn.conv_backward_filter
//===----------------------------------------------------------------------===//

static Windows windowsOf(ConvBackwardFilterOp op) {
  return {shapeOf(op.getResult()).drop_front(2),
          op.getStrides(),
          op.getDilations(),
          op.getPadsLo(),
          {}};
}

LogicalResult ConvBackwardFilterOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), dy = shapeOf(getDy());
  ArrayRef<int64_t> result = shapeOf(getResult());
  if (failed(verifySummedTypes(*this)) ||
      failed(verifyRanksAndStrides(*this)) ||
      failed(verifyList(*this, "pads_lo", getPadsLo(), x.size() - 2, 0)))
    return failure();
  if (x[0] != dy[0])
    return emitOpError() << "expected a dy of batch size " << x[0]
                         << ", got: " << dy[0];
  int64_t groups = getGroups();
  if (groups < 1 || x[1] % groups != 0 || dy[1] % groups != 0)
    return emitOpError() << "expected 'groups' to divide " << x[1]
                         << " channels of x and " << dy[1]
                         << " of dy, got: " << groups;
  if (result[0] != dy[1] || result[1] != x[1] / groups)
    return emitOpError() << "expected a result with "
                         << toString({dy[1], x[1] / groups})
                         << " channels, got: "
                         << toString(result.take_front(2));
  return success();
}

PartitionSpec ConvBackwardFilterOp::getPartitionSpec() {
  ArrayRef<int64_t> x = shapeOf(getX()), dy = shapeOf(getDy());
  ArrayRef<int64_t> result = shapeOf(getResult());
  int64_t groups = getGroups();
  Windows windows = windowsOf(*this);
  auto spatial = static_cast<unsigned>(windows.strides.size());

  PartitionSpec spec;
  spec.loops = {{"n", x[0]}};
  if (groups == 1)
    spec.loops.push_back({"f", dy[1]});
  else
    spec.loops.push_back({"g", groups});
  for (auto [i, name] : llvm::enumerate(spatialLoopNames(spatial)))
    spec.loops.push_back({name, dy[2 + i]});
  DimAccess inputs, outputs;
  if (groups == 1) {
    outputs = DimAccess::identity(1);
    inputs = DimAccess::identity(spec.loops.size());
    spec.loops.push_back({"c", x[1]});
  } else {
    int64_t inside = x[1] / groups, made = dy[1] / groups;
    outputs = DimAccess::window(1, made, 0, made - 1);
    inputs = DimAccess::window(1, inside, 0, inside - 1);
  }
  ValueAccess in, gradient, out;
  in.dims = {DimAccess::identity(0), inputs};
  gradient.dims = {DimAccess::identity(0), outputs};
  out.dims = {outputs, groups == 1 ? inputs : DimAccess::whole(result[1])};
  for (unsigned i = 0; i != spatial; ++i) {
    in.dims.push_back(windows.access(2 + i, i));
    gradient.dims.push_back(DimAccess::identity(2 + i));
    out.dims.push_back(DimAccess::whole(result[2 + i]));
  }
  out.combine = Combine::Sum;
  spec.operands = {in, gradient};
  spec.results = {out};
  return spec;
}

FailureOr<SmallVector<Value>>
ConvBackwardFilterOp::buildLocal(OpBuilder &builder, ArrayRef<Value> operands,
                                 const LocalTile &tile) {
  // All windows of the tile may lie in the padding.
  if (!operands[0] || !operands[1])
    return buildZeros(builder, *this, tile);
  return detail::cloneLocal(*this, builder, operands, tile);
}

void ConvBackwardFilterOp::setLocalAccess(const LocalTile &tile) {
  setPadsLo(localPadsOf(tile, windowsOf(*this)).lo);
  if (int g = tile.spec.findLoop("g"); g >= 0)
    setGroups(tile.tile[g].size());
}

double ConvBackwardFilterOp::getFlops(const LocalTile &tile) {
  if (isEmpty(tile.operandBoxes[0]) || isEmpty(tile.operandBoxes[1]))
    return 0;
  const Box &result = tile.resultBoxes[0];
  double perElement = static_cast<double>(volume(result)) / result[0].size();
  return 2 * perElement * volume(tile.operandBoxes[1]);
}

void ConvBackwardFilterOp::appendKernelKey(llvm::raw_ostream &os,
                                           const LocalTile &tile) {
  appendKernel(os, *this, attributesOfGroups(*this, tile), tile.operandBoxes,
               tile.resultBoxes);
}

//===----------------------------------------------------------------------===//
// nn.max_pool_backward
//===----------------------------------------------------------------------===//

LogicalResult MaxPoolBackwardOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), dy = shapeOf(getDy());
  ArrayRef<int64_t> result = shapeOf(getResult());
  size_t rank = x.size();
  if (failed(verifyElementTypes(*this)) ||
      failed(verifyRanksAndStrides(*this)) ||
      failed(verifyList(*this, "kernel", getKernel(), rank - 2, 1)) ||
      failed(
          verifyList(*this, "pads_lo", getPadsLo(), rank - 2, -maxListEntry)))
    return failure();
  if (getOffsets() &&
      failed(verifyList(*this, "offsets", *getOffsets(), rank - 2, 0)))
    return failure();
  if (x.take_front(2) != dy.take_front(2) ||
      x.take_front(2) != result.take_front(2))
    return emitOpError() << "expected dy and result of "
                         << toString(x.take_front(2))
                         << " samples and channels, got: "
                         << toString(dy.take_front(2)) << " and "
                         << toString(result.take_front(2));
  for (size_t i = 0; i + 2 < rank; ++i) {
    int64_t offset = getOffsets() ? (*getOffsets())[i] : 0;
    if (offset + result[2 + i] > x[2 + i])
      return emitOpError() << "expected a result inside of the " << x[2 + i]
                           << " elements of x in spatial dimension " << i
                           << ", got: " << result[2 + i] << " elements behind "
                           << offset;
  }
  return success();
}

PartitionSpec MaxPoolBackwardOp::getPartitionSpec() {
  ArrayRef<int64_t> result = shapeOf(getResult());
  PartitionSpec spec;
  spec.loops = {{"n", result[0]}, {"c", result[1]}};
  for (auto [i, name] : llvm::enumerate(spatialLoopNames(result.size() - 2)))
    spec.loops.push_back({name, result[2 + i]});
  ValueAccess x = identityAccess(result.size()), dy = x;
  for (unsigned i = 0, e = result.size() - 2; i != e; ++i) {
    int64_t stride = getStrides()[i];
    int64_t reach = (getKernel()[i] - 1) * getDilations()[i];
    int64_t offset = getOffsets() ? (*getOffsets())[i] : 0;
    int64_t pad = getPadsLo()[i] + offset;
    x.dims[2 + i] = DimAccess::window(2 + i, 1, offset - reach, offset + reach);
    dy.dims[2 + i] = {static_cast<int16_t>(2 + i), 1,
                      std::min(pad - reach + stride - 1, pad), pad, stride};
  }
  spec.operands = {x, dy};
  spec.results = {identityAccess(result.size())};
  return spec;
}

FailureOr<SmallVector<Value>>
MaxPoolBackwardOp::buildLocal(OpBuilder &builder, ArrayRef<Value> operands,
                              const LocalTile &tile) {
  // No window reaches the tile.
  if (!operands[1])
    return buildZeros(builder, *this, tile);
  return detail::cloneLocal(*this, builder, operands, tile);
}

void MaxPoolBackwardOp::setLocalAccess(const LocalTile &tile) {
  SmallVector<int64_t, 3> pads(getPadsLo()), offsets(pads.size(), 0);
  if (getOffsets())
    offsets.assign(getOffsets()->begin(), getOffsets()->end());
  for (size_t i = 0, e = pads.size(); i != e; ++i) {
    // The shift rule: windows start at o*stride - pads_lo of x, the result at
    // offsets.
    int64_t start = tile.operandBoxes[0][2 + i].lo;
    pads[i] += start - getStrides()[i] * tile.operandBoxes[1][2 + i].lo;
    offsets[i] += tile.tile[2 + i].lo - start;
  }
  setPadsLo(pads);
  setOffsets(offsets);
}

double MaxPoolBackwardOp::getFlops(const LocalTile &tile) {
  if (isEmpty(tile.operandBoxes[1]))
    return 0;
  double flops = volume(tile.operandBoxes[1]) + volume(tile.resultBoxes[0]);
  for (int64_t size : getKernel())
    flops *= size;
  return flops;
}
