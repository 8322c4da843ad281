//===- ContractionOps.cpp - Convolution and matrix product ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "soap/Testing/PlantedFault.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// Shared by nn.conv and nn.conv_backward_data
//===----------------------------------------------------------------------===//

namespace {
/// Names of the channel loops: of the result, and of operand 0, which is
/// summed over.
struct ChannelLoops {
  StringRef made, summed;
};
} // namespace

/// The spec of a convolution, which turns operand 0 with the weight (f, c,
/// kernel) and perhaps a bias to its result, or of its gradient by data, which
/// turns them the other way round. `spatial` says what operand 0 is read for
/// loops 2, 3, ...; without groups both kinds of channels are loops, else the
/// groups are.
template <typename OpTy>
static PartitionSpec convolutionSpec(OpTy op, ChannelLoops channels,
                                     ArrayRef<DimAccess> spatial) {
  ArrayRef<int64_t> source = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  ArrayRef<int64_t> result = shapeOf(op.getResult());
  int64_t groups = op.getGroups();

  PartitionSpec spec;
  spec.loops = {{"n", result[0]}};
  if (groups == 1)
    spec.loops.push_back({channels.made, result[1]});
  else
    spec.loops.push_back({"g", groups});
  for (auto [i, name] : llvm::enumerate(spatialLoopNames(spatial.size())))
    spec.loops.push_back({name, result[2 + i]});

  ValueAccess in, filter, bias, out;
  DimAccess made, summed;
  if (groups == 1) {
    made = DimAccess::identity(1);
    summed = DimAccess::identity(spec.loops.size());
    spec.loops.push_back({channels.summed, source[1]});
    bias.firstOnly = !SOAP_FAULT("bias-in-every-part");
    out.combine = Combine::Sum;
  } else {
    int64_t inputs = source[1] / groups, outputs = result[1] / groups;
    made = DimAccess::window(1, outputs, 0, outputs - 1);
    summed = DimAccess::window(1, inputs, 0, inputs - 1);
  }
  in.dims = {DimAccess::identity(0), summed};
  out.dims = {DimAccess::identity(0), made};
  bias.dims = {made};
  // The weight counts f over all groups, and c within one.
  filter.dims = channels.made == "f" ? decltype(filter.dims){made, summed}
                                     : decltype(filter.dims){summed, made};
  if (groups != 1)
    filter.dims[1] = DimAccess::whole(weight[1]);
  for (unsigned i = 0, e = spatial.size(); i != e; ++i) {
    in.dims.push_back(spatial[i]);
    filter.dims.push_back(DimAccess::whole(weight[2 + i]));
    out.dims.push_back(DimAccess::identity(2 + i));
  }
  spec.operands = {in, filter};
  if (op.getBias())
    spec.operands.push_back(bias);
  spec.results = {out};
  return spec;
}

/// A tile all of whose windows lie in the padding: only the bias, which may be
/// null, is left. It lies along dimension 1.
static SmallVector<Value> buildBiasOnly(OpBuilder &builder, Operation *op,
                                        Value bias, const LocalTile &tile) {
  RankedTensorType type =
      localType(op->getResult(0).getType(), tile.resultBoxes[0]);
  TypedAttr nothing = neutralElement(std::nullopt, type.getElementType());
  if (!bias)
    return {createSplat(builder, op, "", type, nothing)};
  Value zero = createSplat(builder, op, ".zero", type, nothing);
  if (elementType(bias) != type.getElementType()) {
    auto cast = builder.create<CastOp>(
        op->getLoc(),
        RankedTensorType::get(shapeOf(bias), type.getElementType()), bias);
    setName(cast, getName(op) + ".sum");
    bias = cast;
  }
  Shape channels(type.getRank(), 1);
  channels[1] = type.getDimSize(1);
  auto column = builder.create<ReshapeOp>(
      op->getLoc(), RankedTensorType::get(channels, type.getElementType()),
      bias);
  setName(column, getName(op) + ".bias");
  auto sum = builder.create<AddOp>(op->getLoc(), type, zero, column);
  setName(sum, getName(op));
  return {sum.getResult()};
}

//===----------------------------------------------------------------------===//
// nn.conv
//===----------------------------------------------------------------------===//

static Windows windowsOf(ConvOp op) {
  return {shapeOf(op.getWeight()).drop_front(2), op.getStrides(),
          op.getDilations(), op.getPadsLo(), op.getPadsHi()};
}

LogicalResult ConvOp::verify() {
  if (failed(verifySummedTypes(*this)))
    return failure();
  ArrayRef<int64_t> input = shapeOf(getInput()), weight = shapeOf(getWeight());
  size_t rank = input.size();
  if (rank < 3 || rank > 5)
    return emitOpError() << "expected an input of rank 3 to 5, got: " << rank;
  if (weight.size() != rank)
    return emitOpError() << "expected a weight of rank " << rank
                         << ", got: " << weight.size();
  if (failed(verifyWindows(*this, windowsOf(*this), rank - 2)))
    return failure();
  int64_t groups = getGroups();
  if (groups < 1 || input[1] % groups != 0 || weight[0] % groups != 0)
    return emitOpError() << "expected 'groups' to divide " << input[1]
                         << " input and " << weight[0]
                         << " output channels, got: " << groups;
  if (weight[1] != input[1] / groups)
    return emitOpError() << "expected a weight with " << input[1] / groups
                         << " channels per group, got: " << weight[1];
  if (getBias() && shapeOf(getBias()) != ArrayRef(weight[0]))
    return emitOpError() << "expected a bias of shape [" << weight[0]
                         << "], got: " << toString(shapeOf(getBias()));
  FailureOr<Shape> spatial =
      windowsResultShape(*this, windowsOf(*this), input.drop_front(2));
  if (failed(spatial))
    return failure();
  Shape expected = {input[0], weight[0]};
  expected.append(*spatial);
  return verifyResultShape(*this, expected);
}

PartitionSpec ConvOp::getPartitionSpec() {
  Windows windows = windowsOf(*this);
  SmallVector<DimAccess, 3> spatial;
  for (unsigned i = 0, e = windows.strides.size(); i != e; ++i)
    spatial.push_back(windows.access(2 + i, i));
  return convolutionSpec(*this, {"f", "c"}, spatial);
}

FailureOr<SmallVector<Value>> ConvOp::buildLocal(OpBuilder &builder,
                                                 ArrayRef<Value> operands,
                                                 const LocalTile &tile) {
  if (operands[0])
    return detail::cloneLocal(*this, builder, operands, tile);
  return buildBiasOnly(builder, *this,
                       operands.size() > 2 ? operands[2] : Value(), tile);
}

void ConvOp::setLocalAccess(const LocalTile &tile) {
  TilePads pads = localPadsOf(tile, windowsOf(*this));
  setPadsLo(pads.lo);
  setPadsHi(pads.hi);
  if (int g = tile.spec.findLoop("g"); g >= 0)
    setGroups(tile.tile[g].size());
}

double ConvOp::getFlops(const LocalTile &tile) {
  if (isEmpty(tile.operandBoxes[0]))
    return 0;
  const Box &weight = tile.operandBoxes[1];
  double perElement = static_cast<double>(volume(weight)) / weight[0].size();
  return 2 * perElement * volume(tile.resultBoxes[0]);
}

double ConvOp::getBytes(const LocalTile &tile) {
  return windowBytes(*this, tile, windowsOf(*this));
}

void ConvOp::appendKernelKey(llvm::raw_ostream &os, const LocalTile &tile) {
  appendKernel(os, *this, attributesOfGroups(*this, tile), tile.operandBoxes,
               tile.resultBoxes);
}

//===----------------------------------------------------------------------===//
// nn.conv_backward_data
//===----------------------------------------------------------------------===//

LogicalResult ConvBackwardDataOp::verify() {
  if (failed(verifySummedTypes(*this)))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy()), weight = shapeOf(getWeight());
  ArrayRef<int64_t> result = shapeOf(getResult());
  size_t rank = dy.size();
  if (rank < 3 || rank > 5)
    return emitOpError() << "expected a dy of rank 3 to 5, got: " << rank;
  if (weight.size() != rank || result.size() != rank)
    return emitOpError() << "expected weight and result of rank " << rank
                         << ", got: " << weight.size() << " and "
                         << result.size();
  if (failed(verifyList(*this, "strides", getStrides(), rank - 2, 1)) ||
      failed(verifyList(*this, "dilations", getDilations(), rank - 2, 1)) ||
      failed(verifyList(*this, "pads_lo", getPadsLo(), rank - 2, 0)))
    return failure();
  int64_t groups = getGroups();
  if (groups < 1 || dy[1] % groups != 0 || result[1] % groups != 0)
    return emitOpError() << "expected 'groups' to divide " << dy[1]
                         << " channels of dy and " << result[1]
                         << " of the result, got: " << groups;
  if (weight[0] != dy[1] || weight[1] != result[1] / groups)
    return emitOpError() << "expected a weight with "
                         << toString({dy[1], result[1] / groups})
                         << " channels, got: "
                         << toString(weight.take_front(2));
  if (dy[0] != result[0])
    return emitOpError() << "expected a result of batch size " << dy[0]
                         << ", got: " << result[0];
  if (getBias() && shapeOf(getBias()) != ArrayRef(result[1]))
    return emitOpError() << "expected a bias of shape [" << result[1]
                         << "], got: " << toString(shapeOf(getBias()));
  return success();
}

PartitionSpec ConvBackwardDataOp::getPartitionSpec() {
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  SmallVector<DimAccess, 3> spatial;
  for (unsigned i = 0, e = getStrides().size(); i != e; ++i) {
    int64_t stride = getStrides()[i], pad = getPadsLo()[i];
    int64_t reach = (weight[2 + i] - 1) * getDilations()[i];
    spatial.push_back({static_cast<int16_t>(2 + i), 1,
                       std::min(pad - reach + stride - 1, pad), pad, stride});
  }
  return convolutionSpec(*this, {"c", "f"}, spatial);
}

FailureOr<SmallVector<Value>>
ConvBackwardDataOp::buildLocal(OpBuilder &builder, ArrayRef<Value> operands,
                               const LocalTile &tile) {
  if (operands[0])
    return detail::cloneLocal(*this, builder, operands, tile);
  return buildBiasOnly(builder, *this,
                       operands.size() > 2 ? operands[2] : Value(), tile);
}

void ConvBackwardDataOp::setLocalAccess(const LocalTile &tile) {
  // The shift rule, for o*stride = h + pad.
  SmallVector<int64_t, 3> pads(getPadsLo());
  for (auto [i, pad] : llvm::enumerate(pads))
    pad +=
        tile.tile[2 + i].lo - getStrides()[i] * tile.operandBoxes[0][2 + i].lo;
  setPadsLo(pads);
  if (int g = tile.spec.findLoop("g"); g >= 0)
    setGroups(tile.tile[g].size());
}

double ConvBackwardDataOp::getFlops(const LocalTile &tile) {
  // Every element of dy meets all of the kernel, but for the borders.
  if (isEmpty(tile.operandBoxes[0]))
    return 0;
  const Box &weight = tile.operandBoxes[1];
  double perElement = static_cast<double>(volume(weight)) / weight[0].size();
  return 2 * perElement * volume(tile.operandBoxes[0]);
}

void ConvBackwardDataOp::appendKernelKey(llvm::raw_ostream &os,
                                         const LocalTile &tile) {
  appendKernel(os, *this, attributesOfGroups(*this, tile), tile.operandBoxes,
               tile.resultBoxes);
}

//===----------------------------------------------------------------------===//
// nn.matmul
//===----------------------------------------------------------------------===//

/// The sizes of one operand: batch dimensions, rows, columns.
namespace {
struct Matrix {
  ArrayRef<int64_t> batch;
  int64_t rows, columns;
  bool transposed;
};
} // namespace

static Matrix matrixOf(Value value, bool transposed) {
  ArrayRef<int64_t> shape = shapeOf(value);
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  if (transposed)
    std::swap(rows, columns);
  return {shape.drop_back(2), rows, columns, transposed};
}

LogicalResult MatMulOp::verify() {
  if (failed(verifySummedTypes(*this)))
    return failure();
  for (auto [name, value] : {std::pair("a", getA()), std::pair("b", getB())})
    if (shapeOf(value).size() < 2)
      return emitOpError() << "expected operand '" << name
                           << "' to have a rank of 2 or more, got: "
                           << shapeOf(value).size()
                           << "; reshape a vector to a matrix";
  if (!isa<FloatType>(elementType(getA())) && !getAlpha().isExactlyValue(1.0))
    return emitOpError() << "expected an alpha of 1 for integers, got: "
                         << getAlpha().convertToDouble();
  Matrix a = matrixOf(getA(), getTransposeA());
  Matrix b = matrixOf(getB(), getTransposeB());
  if (a.columns != b.rows)
    return emitOpError() << "expected operands that share K, got: " << a.columns
                         << " columns of a, " << b.rows << " rows of b";
  if (getBias() && shapeOf(getBias()) != ArrayRef(b.columns))
    return emitOpError() << "expected a bias of shape [" << b.columns
                         << "], got: " << toString(shapeOf(getBias()));
  size_t rank = std::max(a.batch.size(), b.batch.size());
  Shape expected(rank, 1);
  for (size_t i = 1; i <= rank; ++i) {
    int64_t x = i <= a.batch.size() ? a.batch[a.batch.size() - i] : 1;
    int64_t y = i <= b.batch.size() ? b.batch[b.batch.size() - i] : 1;
    if (x != y && x != 1 && y != 1)
      return emitOpError()
             << "expected batch dimensions that broadcast, got: "
             << toString(a.batch) << ", " << toString(b.batch)
             << "; sizes must be equal or 1, aligned on the right";
    expected[rank - i] = std::max(x, y);
  }
  expected.push_back(a.rows);
  expected.push_back(b.columns);
  return verifyResultShape(*this, expected);
}

PartitionSpec MatMulOp::getPartitionSpec() {
  ArrayRef<int64_t> result = shapeOf(getResult());
  unsigned batch = result.size() - 2, n = batch, f = batch + 1, k = batch + 2;
  Matrix a = matrixOf(getA(), getTransposeA());
  Matrix b = matrixOf(getB(), getTransposeB());

  PartitionSpec spec;
  for (unsigned i = 0; i != batch; ++i)
    spec.loops.push_back({batchLoopName(i), result[i]});
  spec.loops.push_back({"n", a.rows});
  spec.loops.push_back({"f", b.columns});
  spec.loops.push_back({"k", a.columns});

  auto access = [&](const Matrix &matrix, unsigned row, unsigned column) {
    ValueAccess access;
    unsigned missing = batch - matrix.batch.size();
    for (auto [i, size] : llvm::enumerate(matrix.batch))
      access.dims.push_back(size == result[missing + i]
                                ? DimAccess::identity(missing + i)
                                : DimAccess::whole(1));
    if (matrix.transposed)
      std::swap(row, column);
    access.dims.push_back(DimAccess::identity(row));
    access.dims.push_back(DimAccess::identity(column));
    return access;
  };
  spec.operands = {access(a, n, k), access(b, k, f)};
  if (getBias()) {
    ValueAccess bias;
    bias.dims = {DimAccess::identity(f)};
    bias.firstOnly = !SOAP_FAULT("bias-in-every-part");
    spec.operands.push_back(bias);
  }
  ValueAccess out = identityAccess(result.size());
  out.combine = Combine::Sum;
  spec.results = {out};
  return spec;
}

double MatMulOp::getFlops(const LocalTile &tile) {
  double k = tile.tile[tile.spec.findLoop("k")].size();
  return 2 * k * volume(tile.resultBoxes[0]);
}
