//===- ShapeOps.cpp - Operations that move elements -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// nn.concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "expected at least one operand, got none";
  if (failed(verifyElementTypes(*this)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getResult());
  int64_t rank = shape.size(), axis = getAxis(), sum = 0;
  if (axis < 0 || axis >= rank)
    return emitOpError() << "expected an axis in [0, " << rank
                         << "), got: " << axis;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    Shape expected(shape.begin(), shape.end());
    ArrayRef<int64_t> got = shapeOf(input);
    if (got.size() == shape.size())
      expected[axis] = got[axis];
    if (got != ArrayRef(expected))
      return emitOpError() << "expected operand " << i
                           << " to have the result's shape " << toString(shape)
                           << " but along axis " << axis
                           << ", got: " << toString(got);
    sum += got[axis];
  }
  if (sum != shape[axis])
    return emitOpError() << "expected a result of size " << sum
                         << " along axis " << axis << ", got: " << shape[axis];
  return success();
}

PartitionSpec ConcatOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  unsigned axis = getAxis();
  addDimLoops(spec, shape);
  int64_t offset = 0;
  for (Value input : getInputs()) {
    ValueAccess access = identityAccess(shape.size());
    access.dims[axis] = DimAccess::window(axis, 1, -offset, -offset);
    spec.operands.push_back(std::move(access));
    offset += shapeOf(input)[axis];
  }
  spec.results.push_back(identityAccess(shape.size()));
  detail::addPartLoops(*this, spec);
  return spec;
}

FailureOr<SmallVector<Value>> ConcatOp::buildLocal(OpBuilder &builder,
                                                   ArrayRef<Value> operands,
                                                   const LocalTile &tile) {
  SmallVector<Value> present;
  for (Value operand : detail::withZeros(*this, builder, operands, tile))
    if (operand)
      present.push_back(operand);
  return detail::cloneLocal(*this, builder, present, tile);
}

double ConcatOp::getFlops(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), shape = shapeOf(getResult());
  if (x.size() != shape.size())
    return emitOpError() << "expected a result of rank " << x.size()
                         << ", got: " << shape.size();
  if (failed(verifyList(*this, "starts", getStarts(), x.size(), 0)) ||
      failed(verifyList(*this, "steps", getSteps(), x.size(), -maxListEntry)))
    return failure();
  for (auto [i, start, step] : llvm::enumerate(getStarts(), getSteps())) {
    if (step == 0)
      return emitOpError() << "expected steps other than 0, got: "
                           << toString(getSteps());
    // Steps beyond the dimension would overflow.
    int64_t last = start;
    bool overflow = llvm::MulOverflow(shape[i] - 1, step, last) ||
                    llvm::AddOverflow(last, start, last);
    if (overflow || start >= x[i] || last < 0 || last >= x[i])
      return emitOpError() << "expected elements in [0, " << x[i]
                           << ") of dimension " << i << ", got: " << start
                           << " to " << last << " by steps of " << step;
  }
  return success();
}

PartitionSpec SliceOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  addDimLoops(spec, shape);
  ValueAccess access;
  for (auto [i, start, step] : llvm::enumerate(getStarts(), getSteps()))
    access.dims.push_back(DimAccess::window(i, step, start, start));
  spec.operands.push_back(std::move(access));
  spec.results.push_back(identityAccess(shape.size()));
  detail::addPartLoops(*this, spec);
  return spec;
}

void SliceOp::setLocalAccess(const LocalTile &tile) {
  SmallVector<int64_t> starts;
  for (auto [access, box] :
       llvm::zip_equal(tile.spec.operands[0].dims, tile.operandBoxes[0]))
    starts.push_back(shiftAccess(access, tile.tile[access.loop].lo, box.lo).lo);
  setStarts(starts);
}

double SliceOp::getFlops(const LocalTile &tile) { return 0; }

double SliceOp::getBytes(const LocalTile &tile) {
  // A tile reads exactly its box: cutting that out of a shard is the
  // communication plan's work, and without steps nothing is left to do.
  if (llvm::all_of(getSteps(), [](int64_t step) { return step == 1; }))
    return 0;
  return 2 * boxBytes(getResult(), tile.resultBoxes[0]);
}

//===----------------------------------------------------------------------===//
// nn.pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  if (getValue().getType() != elementType(getX()))
    return emitOpError() << "expected a value of type " << elementType(getX())
                         << ", got: " << getValue().getType();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (failed(verifyList(*this, "pads_lo", getPadsLo(), x.size(), 0)) ||
      failed(verifyList(*this, "pads_hi", getPadsHi(), x.size(), 0)))
    return failure();
  Shape expected;
  for (auto [size, lo, hi] : llvm::zip_equal(x, getPadsLo(), getPadsHi()))
    expected.push_back(size + lo + hi);
  return verifyResultShape(*this, expected);
}

PartitionSpec PadOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  addDimLoops(spec, shape);
  ValueAccess access;
  for (auto [i, lo] : llvm::enumerate(getPadsLo()))
    access.dims.push_back(DimAccess::window(i, 1, -lo, -lo));
  spec.operands.push_back(std::move(access));
  spec.results.push_back(identityAccess(shape.size()));
  detail::addPartLoops(*this, spec);
  return spec;
}

FailureOr<SmallVector<Value>> PadOp::buildLocal(OpBuilder &builder,
                                                ArrayRef<Value> operands,
                                                const LocalTile &tile) {
  if (!isEmpty(tile.operandBoxes[0]))
    return detail::cloneLocal(*this, builder, operands, tile);
  // The tile lies in the padding.
  return SmallVector<Value>{createSplat(
      builder, *this, "", localType(getResult().getType(), tile.resultBoxes[0]),
      getValue())};
}

void PadOp::setLocalAccess(const LocalTile &tile) {
  SmallVector<int64_t> padsLo, padsHi;
  for (auto [access, box] :
       llvm::zip_equal(tile.spec.operands[0].dims, tile.operandBoxes[0])) {
    Range units = tile.tile[access.loop];
    LocalPads pads = localPads(shiftAccess(access, units.lo, box.lo),
                               units.size(), box.size());
    padsLo.push_back(pads.lo);
    padsHi.push_back(pads.hi);
  }
  setPadsLo(padsLo);
  setPadsHi(padsHi);
}

double PadOp::getFlops(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  int64_t from = cast<RankedTensorType>(getX().getType()).getNumElements();
  int64_t to = cast<RankedTensorType>(getResult().getType()).getNumElements();
  if (from != to)
    return emitOpError() << "expected a result of " << from
                         << " elements, got: " << to;
  return success();
}

/// The accesses of one group of dimensions of a reshape: the first dimension
/// runs with `loop`, the others are whole.
static void setGroup(ValueAccess &access, ArrayRef<int64_t> shape,
                     ArrayRef<unsigned> group, unsigned loop, int64_t inner,
                     int64_t unit) {
  int64_t step = unit / inner;
  access.dims[group.front()] = DimAccess::window(loop, step, 0, step - 1);
  for (unsigned dim : group.drop_front())
    access.dims[dim] = DimAccess::whole(shape[dim]);
}

PartitionSpec ReshapeOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> in = shapeOf(getX()), out = shapeOf(getResult());
  // Dimensions of size 1 belong to no group.
  ValueAccess inAccess, outAccess;
  inAccess.dims.assign(in.size(), DimAccess::whole(1));
  outAccess.dims.assign(out.size(), DimAccess::whole(1));

  size_t i = 0, o = 0;
  while (true) {
    while (i != in.size() && in[i] == 1)
      ++i;
    while (o != out.size() && out[o] == 1)
      ++o;
    if (i == in.size() || o == out.size())
      break;
    // The side with the smaller product grows until both products are equal.
    SmallVector<unsigned, 4> inGroup = {unsigned(i)}, outGroup = {unsigned(o)};
    int64_t inProduct = in[i++], outProduct = out[o++];
    while (inProduct != outProduct) {
      if (inProduct < outProduct) {
        if (in[i] != 1)
          inGroup.push_back(i);
        inProduct *= in[i++];
      } else {
        if (out[o] != 1)
          outGroup.push_back(o);
        outProduct *= out[o++];
      }
    }
    int64_t inInner = inProduct / in[inGroup.front()];
    int64_t outInner = outProduct / out[outGroup.front()];
    int64_t unit = std::lcm(inInner, outInner);
    unsigned loop = spec.loops.size();
    spec.loops.push_back({dimLoopName(outGroup.front()), inProduct / unit});
    setGroup(inAccess, in, inGroup, loop, inInner, unit);
    setGroup(outAccess, out, outGroup, loop, outInner, unit);
  }
  spec.operands.push_back(std::move(inAccess));
  spec.results.push_back(std::move(outAccess));
  detail::addPartLoops(*this, spec);
  return spec;
}

double ReshapeOp::getFlops(const LocalTile &tile) { return 0; }
double ReshapeOp::getBytes(const LocalTile &tile) { return 0; }

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  return getX().getType() == getResult().getType() ? getX() : Value();
}

//===----------------------------------------------------------------------===//
// nn.transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, x.size())))
    return emitOpError() << "expected every dimension of rank " << x.size()
                         << " once in 'permutation', got: "
                         << toString(getPermutation());
  Shape expected;
  for (int64_t dim : getPermutation())
    expected.push_back(x[dim]);
  return verifyResultShape(*this, expected);
}

PartitionSpec TransposeOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  addDimLoops(spec, shape);
  ValueAccess access;
  access.dims.resize(shape.size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    access.dims[dim] = DimAccess::identity(i);
  spec.operands.push_back(std::move(access));
  spec.results.push_back(identityAccess(shape.size()));
  detail::addPartLoops(*this, spec);
  return spec;
}

double TransposeOp::getFlops(const LocalTile &tile) { return 0; }

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  bool identity = llvm::equal(getPermutation(),
                              llvm::seq<int64_t>(0, getPermutation().size()));
  return identity ? getX() : Value();
}
