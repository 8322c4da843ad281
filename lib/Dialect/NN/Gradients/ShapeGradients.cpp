//===- ShapeGradients.cpp - Gradients of moves ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using llvm::BitVector;
using Build = GradientBuilder;

static TypedAttr zeroOf(Type element) { return FloatAttr::get(element, 0.0); }

static MaybeGradients reshape(ReshapeOp op, Build &b, ArrayRef<Value> results,
                              const BitVector &) {
  // The loops of both directions are the same groups of dimensions, called
  // after the first of each in the result.
  auto back = b.create<ReshapeOp>(op.getX().getType(), results[0]);
  PartitionSpec spec =
      cast<PartitionOpInterface>(back.getOperation()).getPartitionSpec();
  LoopNames loops;
  if (spec.loops.size() == b.spec().loops.size())
    for (auto [own, same] : llvm::zip_equal(spec.loops, b.spec().loops))
      loops.push_back({own.name.str(), same.name.str()});
  return Gradients{b.join(back, loops)};
}

static MaybeGradients transpose(TransposeOp op, Build &b,
                                ArrayRef<Value> results, const BitVector &) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    inverse[from] = static_cast<int64_t>(to);
  return Gradients{b.transpose(results[0], inverse)};
}

static MaybeGradients concat(ConcatOp op, Build &b, ArrayRef<Value> results,
                             const BitVector &isNeeded) {
  Gradients gradients(op->getNumOperands());
  size_t rank = shapeOf(results[0]).size();
  SmallVector<int64_t> starts(rank, 0), steps(rank, 1);
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    if (isNeeded[index])
      gradients[index] =
          b.join(b.create<SliceOp>(input.getType(), results[0], starts, steps),
                 b.operandAccess(index));
    starts[op.getAxis()] += shapeOf(input)[op.getAxis()];
  }
  return gradients;
}

/// Zeros between the elements of `x`, so that those along dimension `dim` are
/// `step` apart: each element becomes a row of one and zeros.
static Value spread(Build &b, Value x, size_t dim, int64_t step) {
  Type element = elementType(x);
  Shape shape(shapeOf(x));
  shape.insert(shape.begin() + dim + 1, 1);
  size_t rank = shape.size();
  Value rows =
      b.join(b.create<ReshapeOp>(RankedTensorType::get(shape, element), x),
             LoopNames());
  SmallVector<int64_t> lo(rank, 0), hi(rank, 0);
  hi[dim + 1] = step - 1;
  shape[dim + 1] = step;
  Value padded = b.join(b.create<PadOp>(RankedTensorType::get(shape, element),
                                        rows, lo, hi, zeroOf(element)),
                        LoopNames());
  Shape flat(shapeOf(x));
  flat[dim] *= step;
  return b.join(
      b.create<ReshapeOp>(RankedTensorType::get(flat, element), padded),
      LoopNames());
}

static MaybeGradients slice(SliceOp op, Build &b, ArrayRef<Value> results,
                            const BitVector &) {
  Value gradient = results[0];
  Type element = elementType(gradient);
  ArrayRef<int64_t> whole = shapeOf(op.getX());
  size_t rank = whole.size();
  SmallVector<int64_t> lo(rank), hi(rank), back(rank, 0), steps(rank, 1);
  // Along negative steps, the gradient is reversed first.
  bool isTurned = false;
  for (size_t dim = 0; dim < rank; ++dim)
    if (op.getSteps()[dim] < 0) {
      back[dim] = shapeOf(gradient)[dim] - 1;
      steps[dim] = -1;
      isTurned = true;
    }
  if (isTurned)
    gradient =
        b.join(b.create<SliceOp>(gradient.getType(), gradient, back, steps),
               b.resultAccess());
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t step = op.getSteps()[dim], count = shapeOf(gradient)[dim];
    int64_t first = op.getStarts()[dim];
    if (step < 0)
      first += (count - 1) * step;
    step = std::abs(step);
    if (step > 1 && count > 1)
      gradient = spread(b, gradient, dim, step);
    else
      step = 1;
    lo[dim] = first;
    // The zeros behind the last element may reach over the end.
    hi[dim] = whole[dim] - first - shapeOf(gradient)[dim];
    if (hi[dim] < 0) {
      Shape shape(shapeOf(gradient));
      shape[dim] += std::exchange(hi[dim], 0);
      gradient =
          b.join(b.create<SliceOp>(RankedTensorType::get(shape, element),
                                   gradient, SmallVector<int64_t>(rank, 0),
                                   SmallVector<int64_t>(rank, 1)),
                 LoopNames());
    }
  }
  return Gradients{b.join(
      b.create<PadOp>(op.getX().getType(), gradient, lo, hi, zeroOf(element)),
      b.operandAccess(0))};
}

static MaybeGradients pad(PadOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &) {
  return Gradients{
      b.join(b.create<SliceOp>(op.getX().getType(), results[0], op.getPadsLo(),
                               SmallVector<int64_t>(op.getPadsLo().size(), 1)),
             b.operandAccess(0))};
}

/// The rows of dy are added to the rows of the table that they came from.
static MaybeGradients gather(GatherOp op, Build &b, ArrayRef<Value> results,
                             const BitVector &isNeeded) {
  Gradients gradients(2);
  if (!isNeeded[0])
    return gradients;
  ArrayRef<int64_t> data = shapeOf(op.getData());
  ArrayRef<int64_t> indices = shapeOf(op.getIndices());
  auto axis = static_cast<size_t>(op.getAxis());
  Value dy = results[0];
  // The dimensions of the indices first, as a scatter has them.
  SmallVector<int64_t> turn;
  for (size_t i = 0; i < indices.size(); ++i)
    turn.push_back(static_cast<int64_t>(axis + i));
  for (size_t dim = 0, rank = shapeOf(dy).size(); dim < rank; ++dim)
    if (dim < axis || dim >= axis + indices.size())
      turn.push_back(static_cast<int64_t>(dim));
  if (axis != 0)
    dy = b.transpose(dy, turn);

  Shape rows(indices);
  rows.push_back(1);
  auto indexType = RankedTensorType::get(rows, elementType(op.getIndices()));
  LoopNames indexLoops, loops{{"d0", "v"}};
  for (size_t i = 0; i < indices.size(); ++i) {
    std::string loop = ("d" + Twine(axis + i)).str();
    indexLoops.push_back({("d" + Twine(i)).str(), loop});
    loops.push_back({("u" + Twine(i)).str(), loop});
  }
  Value at =
      b.join(b.create<ReshapeOp>(indexType, op.getIndices()), indexLoops);
  Shape shape{data[axis]};
  for (size_t dim = 0; dim < data.size(); ++dim) {
    if (dim == axis)
      continue;
    loops.push_back(
        {("d" + Twine(shape.size())).str(),
         ("d" + Twine(dim < axis ? dim : dim + indices.size() - 1)).str()});
    shape.push_back(data[dim]);
  }
  Value table =
      b.join(b.create<ScatterNDOp>(
                 RankedTensorType::get(shape, elementType(dy)), at, dy, Value(),
                 ReduceKindAttr::get(op.getContext(), ReduceKind::Sum),
                 /*bases=*/nullptr, /*table_sizes=*/nullptr),
             loops);
  if (axis != 0) {
    SmallVector<int64_t> back;
    for (size_t dim = 0; dim < data.size(); ++dim)
      back.push_back(static_cast<int64_t>(dim < axis    ? dim + 1
                                          : dim == axis ? 0
                                                        : dim));
    Shape turned;
    for (int64_t dim : back)
      turned.push_back(shape[dim]);
    table =
        b.join(b.create<TransposeOp>(
                   RankedTensorType::get(turned, elementType(dy)), table, back),
               b.operandAccess(0));
  }
  gradients[0] = table;
  return gradients;
}

void soap::nn::attachShapeGradients(MLIRContext *context) {
  ReshapeOp::attachInterface<GradientModel<ReshapeOp, reshape>>(*context);
  TransposeOp::attachInterface<GradientModel<TransposeOp, transpose>>(*context);
  ConcatOp::attachInterface<GradientModel<ConcatOp, concat>>(*context);
  SliceOp::attachInterface<GradientModel<SliceOp, slice>>(*context);
  PadOp::attachInterface<GradientModel<PadOp, pad>>(*context);
  GatherOp::attachInterface<GradientModel<GatherOp, gather>>(*context);
}
