//===- IndexGradients.cpp - Gradients of look-ups, stores and sums --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a look-up is a store, and that of a store a look-up, by the
// same indices.
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using llvm::BitVector;
using Build = GradientBuilder;

static int64_t elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// 1, 2, 3, ... in row-major order.
static Value counted(Build &b, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(elementCount(shape), b.getI64Type());
  auto sums = b.join(b.create<CumSumOp>(type, b.splatInteger(type, 1),
                                        /*axis=*/0, /*exclusive=*/false,
                                        /*reverse=*/false),
                     LoopNames());
  return b.reshape(sums, shape, LoopNames());
}

/// The gradients of a store of updates (operand 1) into data (operand 2): where
/// updates are added, `dy` itself is that of the data; else `ofData` makes it.
/// Fails for other reductions.
template <typename Op>
static MaybeGradients storeGradients(Op op, Value dy, const BitVector &isNeeded,
                                     llvm::function_ref<Value()> ofData,
                                     llvm::function_ref<Value()> ofUpdates) {
  if (op.getReduction() && *op.getReduction() != ReduceKind::Sum) {
    op->emitOpError()
        << "expected stored or added updates for a gradient, got: "
           "another reduction";
    return failure();
  }
  Gradients gradients(op->getNumOperands());
  if (op.getData() && isNeeded[2])
    gradients[2] = op.getReduction() ? dy : ofData();
  if (isNeeded[1])
    gradients[1] = ofUpdates();
  return gradients;
}

//===----------------------------------------------------------------------===//
// Elements along one dimension
//===----------------------------------------------------------------------===//

/// Loops of the result of one, and of the dimension that indices name.
static LoopNames elementLoops(size_t rank, int64_t axis, StringRef of,
                              StringRef along) {
  LoopNames loops;
  for (size_t dim = 0; dim < rank; ++dim)
    loops.push_back(
        {static_cast<int64_t>(dim) == axis ? of.str() : dimName(dim),
         static_cast<int64_t>(dim) == axis ? along.str() : dimName(dim)});
  return loops;
}

namespace {
/// The elements that `indices` name along a dimension.
struct Places {
  Value indices;
  int64_t axis;

  LoopNames loops(StringRef of) const {
    return elementLoops(shapeOf(indices).size(), axis, of, dimName(axis));
  }
};
} // namespace

static Value lookUp(Build &b, Value data, Places at) {
  return b.join(
      b.create<GatherElementsOp>(
          RankedTensorType::get(shapeOf(at.indices), elementType(data)), data,
          at.indices, at.axis, /*base=*/0,
          /*table_size=*/IntegerAttr()),
      at.loops("v"));
}

/// `data`, or zeros of `type` if it is null, with the updates at their places.
static Value store(Build &b, Type type, Places at, Value updates, Value data,
                   ReduceKindAttr reduction) {
  return b.join(b.create<ScatterElementsOp>(type, at.indices, updates, data,
                                            at.axis, reduction,
                                            /*base=*/0,
                                            /*table_size=*/IntegerAttr()),
                at.loops("u"));
}

static MaybeGradients gatherElements(GatherElementsOp op, Build &b,
                                     ArrayRef<Value> results,
                                     const BitVector &isNeeded) {
  Gradients gradients(2);
  if (isNeeded[0])
    gradients[0] =
        store(b, op.getData().getType(),
              {op.getIndices(), static_cast<int64_t>(op.getAxis())}, results[0],
              Value(), ReduceKindAttr::get(op.getContext(), ReduceKind::Sum));
  return gradients;
}

static MaybeGradients scatterElements(ScatterElementsOp op, Build &b,
                                      ArrayRef<Value> results,
                                      const BitVector &isNeeded) {
  Value dy = results[0];
  Places at{op.getIndices(), static_cast<int64_t>(op.getAxis())};
  auto ofData = [&] {
    return store(b, dy.getType(), at, b.splat(op.getUpdates().getType(), 0), dy,
                 nullptr);
  };
  auto ofUpdates = [&] {
    Value updates = lookUp(b, dy, at);
    if (op.getReduction())
      return updates;
    // Of several updates of one element only one is there.
    Value numbers = counted(b, shapeOf(at.indices));
    auto table = RankedTensorType::get(shapeOf(dy), b.getI64Type());
    Value kept = lookUp(b, store(b, table, at, numbers, Value(), nullptr), at);
    return b.where(b.compare(Predicate::Eq, kept, numbers), updates,
                   b.scalar(elementType(dy), 0));
  };
  return storeGradients(op, dy, isNeeded, ofData, ofUpdates);
}

//===----------------------------------------------------------------------===//
// Slices by several indices
//===----------------------------------------------------------------------===//

static Value lookUpSlices(Build &b, Value data, Value indices) {
  Shape shape(shapeOf(indices).drop_back());
  llvm::append_range(shape, shapeOf(data).drop_front(shapeOf(indices).back()));
  return b.join(
      b.create<GatherNDOp>(RankedTensorType::get(shape, elementType(data)),
                           data, indices, /*batch_dims=*/0,
                           /*bases=*/DenseI64ArrayAttr(),
                           /*table_sizes=*/DenseI64ArrayAttr()),
      LoopNames());
}

static Value storeSlices(Build &b, Type type, Value indices, Value updates,
                         Value data, ReduceKindAttr reduction) {
  return b.join(b.create<ScatterNDOp>(type, indices, updates, data, reduction,
                                      /*bases=*/DenseI64ArrayAttr(),
                                      /*table_sizes=*/DenseI64ArrayAttr()),
                LoopNames());
}

/// The indices with those of the first `count` dimensions, which they share
/// with the data, in front.
static Value withBatch(Build &b, Value indices, size_t count) {
  Type element = elementType(indices);
  Shape shape(shapeOf(indices));
  shape.back() = 1;
  SmallVector<Value> parts;
  for (size_t dim = 0; dim < count; ++dim) {
    Shape row(shape.size(), 1);
    row[dim] = shape[dim];
    auto type = RankedTensorType::get(shape[dim], element);
    Value places = b.join(b.create<CumSumOp>(type, b.splatInteger(type, 1),
                                             /*axis=*/0, /*exclusive=*/true,
                                             /*reverse=*/false),
                          LoopNames());
    parts.push_back(
        b.join(b.create<ExpandOp>(RankedTensorType::get(shape, element),
                                  b.reshape(places, row, LoopNames())),
               LoopNames()));
  }
  parts.push_back(indices);
  shape.back() = shapeOf(indices).back() + static_cast<int64_t>(count);
  return b.join(b.create<ConcatOp>(RankedTensorType::get(shape, element), parts,
                                   shape.size() - 1),
                LoopNames());
}

static MaybeGradients gatherND(GatherNDOp op, Build &b, ArrayRef<Value> results,
                               const BitVector &isNeeded) {
  Gradients gradients(2);
  if (!isNeeded[0])
    return gradients;
  Value indices = op.getIndices();
  if (op.getBatchDims())
    indices = withBatch(b, indices, op.getBatchDims());
  gradients[0] =
      storeSlices(b, op.getData().getType(), indices, results[0], Value(),
                  ReduceKindAttr::get(op.getContext(), ReduceKind::Sum));
  return gradients;
}

static MaybeGradients scatterND(ScatterNDOp op, Build &b,
                                ArrayRef<Value> results,
                                const BitVector &isNeeded) {
  Value dy = results[0], indices = op.getIndices();
  auto ofData = [&] {
    return storeSlices(b, dy.getType(), indices,
                       b.splat(op.getUpdates().getType(), 0), dy, nullptr);
  };
  auto ofUpdates = [&] {
    Value updates = lookUpSlices(b, dy, indices);
    if (op.getReduction())
      return updates;
    // Of several updates of one slice only one is there.
    Value numbers = counted(b, shapeOf(indices).drop_back());
    auto table = RankedTensorType::get(
        shapeOf(dy).take_front(shapeOf(indices).back()), b.getI64Type());
    Value kept = lookUpSlices(
        b, storeSlices(b, table, indices, numbers, Value(), nullptr), indices);
    auto bits = RankedTensorType::get(shapeOf(numbers), b.getI1Type());
    Value isKept = b.join(
        b.create<CompareOp>(bits, kept, numbers, Predicate::Eq), LoopNames());
    Shape rows(shapeOf(numbers));
    rows.resize(shapeOf(updates).size(), 1);
    Value result =
        b.join(b.create<WhereOp>(updates.getType(),
                                 b.reshape(isKept, rows, LoopNames()), updates,
                                 b.scalar(elementType(dy), 0)),
               LoopNames());
    return result;
  };
  return storeGradients(op, dy, isNeeded, ofData, ofUpdates);
}

//===----------------------------------------------------------------------===//
// Orders and running sums
//===----------------------------------------------------------------------===//

/// The values came from the places that the indices name.
static MaybeGradients topK(TopKOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &) {
  if (!results[0])
    return Gradients{Value()};
  Places at{op.getIndices(), static_cast<int64_t>(op.getAxis())};
  return Gradients{
      store(b, op.getX().getType(), at, results[0], Value(), nullptr)};
}

static MaybeGradients cumSum(CumSumOp op, Build &b, ArrayRef<Value> results,
                             const BitVector &) {
  return Gradients{
      b.join(b.create<CumSumOp>(results[0].getType(), results[0], op.getAxis(),
                                op.getExclusive(), !op.getReverse()),
             b.sameLoops())};
}

static MaybeGradients trilu(TriluOp op, Build &b, ArrayRef<Value> results,
                            const BitVector &) {
  return Gradients{b.join(b.create<TriluOp>(results[0].getType(), results[0],
                                            op.getDiagonal(), op.getUpper()),
                          b.sameLoops())};
}

/// The copies are summed, dimension by dimension.
static MaybeGradients tile(TileOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &) {
  Value dy = results[0];
  ArrayRef<int64_t> x = shapeOf(op.getX());
  for (size_t dim = 0; dim < x.size(); ++dim) {
    if (shapeOf(dy)[dim] == x[dim])
      continue;
    Shape shape(shapeOf(dy)), summed(shape);
    int64_t copies = shape[dim] / x[dim];
    shape[dim] = x[dim];
    shape.insert(shape.begin() + dim, copies);
    summed[dim] = x[dim];
    LoopNames loops{{dimName(dim), dimName(dim)}};
    dy = b.join(
        b.create<ReduceOp>(RankedTensorType::get(summed, elementType(dy)),
                           b.reshape(dy, shape, loops), ReduceKind::Sum,
                           static_cast<int64_t>(dim), /*keepdims=*/false,
                           llvm::APFloat(1.0f)),
        loops);
  }
  return Gradients{dy};
}

void soap::nn::attachIndexGradients(MLIRContext *context) {
  GatherElementsOp::attachInterface<
      GradientModel<GatherElementsOp, gatherElements>>(*context);
  GatherNDOp::attachInterface<GradientModel<GatherNDOp, gatherND>>(*context);
  ScatterElementsOp::attachInterface<
      GradientModel<ScatterElementsOp, scatterElements>>(*context);
  ScatterNDOp::attachInterface<GradientModel<ScatterNDOp, scatterND>>(*context);
  TopKOp::attachInterface<GradientModel<TopKOp, topK>>(*context);
  CumSumOp::attachInterface<GradientModel<CumSumOp, cumSum>>(*context);
  TriluOp::attachInterface<GradientModel<TriluOp, trilu>>(*context);
  TileOp::attachInterface<GradientModel<TileOp, tile>>(*context);
}
