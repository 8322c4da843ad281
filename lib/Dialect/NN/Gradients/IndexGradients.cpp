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

static std::string dimName(size_t dim) { return ("d" + Twine(dim)).str(); }

static int64_t elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

static Value reshaped(Build &b, Value x, ArrayRef<int64_t> shape,
                      const LoopNames &loops = {}) {
  if (shapeOf(x) == shape)
    return x;
  return b.join(
      b.create<ReshapeOp>(RankedTensorType::get(shape, elementType(x)), x),
      loops);
}

/// 1, 2, 3, ... in row-major order.
static Value counted(Build &b, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(elementCount(shape), b.getI64Type());
  auto sums = b.join(b.create<CumSumOp>(type, b.splatInteger(type, 1),
                                        /*axis=*/0, /*exclusive=*/false,
                                        /*reverse=*/false),
                     LoopNames());
  return reshaped(b, sums, shape);
}

/// The error of a reduction without a gradient.
static MaybeGradients refuse(Operation *op) {
  op->emitOpError() << "expected stored or added updates for a gradient, got: "
                       "another reduction";
  return failure();
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

static Value lookUp(Build &b, Value data, Value indices, int64_t axis) {
  return b.join(
      b.create<GatherElementsOp>(
          RankedTensorType::get(shapeOf(indices), elementType(data)), data,
          indices, axis, /*base=*/0,
          /*table_size=*/IntegerAttr()),
      elementLoops(shapeOf(indices).size(), axis, "v", dimName(axis)));
}

static Value store(Build &b, Type type, Value indices, Value updates,
                   Value data, int64_t axis, ReduceKindAttr reduction) {
  return b.join(
      b.create<ScatterElementsOp>(type, indices, updates, data, axis, reduction,
                                  /*base=*/0,
                                  /*table_size=*/IntegerAttr()),
      elementLoops(shapeOf(indices).size(), axis, "u", dimName(axis)));
}

static MaybeGradients gatherElements(GatherElementsOp op, Build &b,
                                     ArrayRef<Value> results,
                                     const BitVector &isNeeded) {
  Gradients gradients(2);
  if (isNeeded[0])
    gradients[0] = store(b, op.getData().getType(), op.getIndices(), results[0],
                         Value(), op.getAxis(),
                         ReduceKindAttr::get(op.getContext(), ReduceKind::Sum));
  return gradients;
}

static MaybeGradients scatterElements(ScatterElementsOp op, Build &b,
                                      ArrayRef<Value> results,
                                      const BitVector &isNeeded) {
  Value dy = results[0], indices = op.getIndices();
  auto axis = static_cast<int64_t>(op.getAxis());
  if (op.getReduction() && *op.getReduction() != ReduceKind::Sum)
    return refuse(op);
  Gradients gradients(op->getNumOperands());
  if (op.getData() && isNeeded[2])
    gradients[2] =
        op.getReduction()
            ? dy
            : store(b, dy.getType(), indices,
                    b.splat(op.getUpdates().getType(), 0), dy, axis, nullptr);
  if (!isNeeded[1])
    return gradients;
  Value updates = lookUp(b, dy, indices, axis);
  if (!op.getReduction()) {
    // Of several updates of one element only one is there.
    Value numbers = counted(b, shapeOf(indices));
    auto table = RankedTensorType::get(shapeOf(dy), b.getI64Type());
    Value kept =
        lookUp(b, store(b, table, indices, numbers, Value(), axis, nullptr),
               indices, axis);
    updates = b.where(b.compare(Predicate::Eq, kept, numbers), updates,
                      b.scalar(elementType(dy), 0));
  }
  gradients[1] = updates;
  return gradients;
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
                                  reshaped(b, places, row)),
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
  if (op.getReduction() && *op.getReduction() != ReduceKind::Sum)
    return refuse(op);
  Gradients gradients(op->getNumOperands());
  if (op.getData() && isNeeded[2])
    gradients[2] =
        op.getReduction()
            ? dy
            : storeSlices(b, dy.getType(), indices,
                          b.splat(op.getUpdates().getType(), 0), dy, nullptr);
  if (!isNeeded[1])
    return gradients;
  Value updates = lookUpSlices(b, dy, indices);
  if (!op.getReduction()) {
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
    updates =
        b.join(b.create<WhereOp>(updates.getType(), reshaped(b, isKept, rows),
                                 updates, b.scalar(elementType(dy), 0)),
               LoopNames());
  }
  gradients[1] = updates;
  return gradients;
}

//===----------------------------------------------------------------------===//
// Orders and running sums
//===----------------------------------------------------------------------===//

/// The values came from the places that the indices name.
static MaybeGradients topK(TopKOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &) {
  if (!results[0])
    return Gradients{Value()};
  return Gradients{store(b, op.getX().getType(), op.getIndices(), results[0],
                         Value(), op.getAxis(), nullptr)};
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
                           reshaped(b, dy, shape, loops), ReduceKind::Sum,
                           static_cast<int64_t>(dim), /*keepdims=*/false,
                           llvm::APFloat(1.0f)),
        loops);
  }
  return Gradients{dy};
}

//===----------------------------------------------------------------------===//
// Interpolation
//===----------------------------------------------------------------------===//

/// Keys' weight (1981) of the element at `distance` of a point.
static double cubicWeight(double a, double distance) {
  double d = std::abs(distance);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

/// What every element of the result along dimension `dim` takes of those of x:
/// [result, x], row-major.
static SmallVector<double> resizeMatrix(ResizeOp op, size_t dim) {
  int64_t size = shapeOf(op.getX())[dim];
  int64_t count = shapeOf(op.getResult())[dim];
  int64_t den = op.getDenominators()[dim];
  SmallVector<double> matrix(count * size);
  for (int64_t i = 0; i < count; ++i) {
    int64_t above = op.getNumerators()[dim] * i + op.getOffsets()[dim];
    int64_t below = above / den - (above % den < 0);
    double part =
        static_cast<double>(above - below * den) / static_cast<double>(den);
    SmallVector<std::pair<int64_t, double>> taken;
    switch (op.getMode()) {
    case ResizeMode::Nearest:
      taken = {{below, 1}};
      break;
    case ResizeMode::Linear:
      taken = {{below, 1 - part}, {below + 1, part}};
      break;
    case ResizeMode::Cubic:
      for (int64_t k = -1; k < 3; ++k)
        taken.push_back(
            {below + k,
             cubicWeight(op.getCubicA().convertToDouble(), part - double(k))});
      break;
    }
    double sum = 0;
    for (auto &[at, weight] : taken) {
      if (op.getExcludeOutside() && (at < 0 || at >= size))
        weight = 0;
      at = std::clamp<int64_t>(at, 0, size - 1);
      sum += weight;
    }
    for (auto [at, weight] : taken)
      matrix[i * size + at] += weight / sum;
  }
  return matrix;
}

/// Dimension `dim` of `dy`, times the matrix of that dimension. It is the last
/// but one of a product, or the last.
static Value multiplied(Build &b, ResizeOp op, Value dy, size_t dim) {
  size_t rank = shapeOf(dy).size();
  int64_t size = shapeOf(op.getX())[dim], count = shapeOf(dy)[dim];
  Value matrix =
      b.numbers({count, size}, elementType(dy), resizeMatrix(op, dim));
  // Another one goes to the end and comes back.
  bool isTurned = dim + 2 < rank;
  SmallVector<int64_t> turn;
  for (size_t i = 0; i < rank; ++i)
    turn.push_back(static_cast<int64_t>(i));
  if (isTurned)
    std::swap(turn[dim], turn[rank - 1]);
  if (isTurned)
    dy = b.transpose(dy, turn);
  if (rank == 1)
    dy = reshaped(b, dy, {1, count});
  bool isLast = dim + 2 != rank;
  Shape shape(shapeOf(dy));
  shape[shape.size() - (isLast ? 1 : 2)] = size;
  auto type = RankedTensorType::get(shape, elementType(dy));
  LoopNames loops;
  for (size_t i = 0; i + 2 < rank; ++i)
    loops.push_back({("b" + Twine(i)).str(), dimName(turn[i])});
  auto one = llvm::APFloat(1.0f);
  if (isLast) {
    loops.push_back({"k", dimName(turn[rank - 1])});
    if (rank > 1)
      loops.push_back({"n", dimName(turn[rank - 2])});
    dy = b.join(b.create<MatMulOp>(type, dy, matrix, Value(),
                                   /*transpose_a=*/false,
                                   /*transpose_b=*/false, one),
                loops);
  } else {
    loops.push_back({"k", dimName(dim)});
    loops.push_back({"f", dimName(rank - 1)});
    dy = b.join(b.create<MatMulOp>(type, matrix, dy, Value(),
                                   /*transpose_a=*/true,
                                   /*transpose_b=*/false, one),
                loops);
  }
  if (rank == 1)
    dy = reshaped(b, dy, size);
  return isTurned ? b.transpose(dy, turn) : dy;
}

/// Interpolation is a matrix along each dimension.
static MaybeGradients resize(ResizeOp op, Build &b, ArrayRef<Value> results,
                             const BitVector &) {
  Value dy = results[0];
  for (size_t dim = shapeOf(dy).size(); dim-- > 0;) {
    int64_t size = shapeOf(op.getX())[dim];
    bool isIdentity = shapeOf(dy)[dim] == size;
    if (isIdentity) {
      SmallVector<double> matrix = resizeMatrix(op, dim);
      for (int64_t i = 0; i < size; ++i)
        isIdentity &= matrix[i * size + i] == 1;
    }
    if (!isIdentity)
      dy = multiplied(b, op, dy, dim);
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
  ResizeOp::attachInterface<GradientModel<ResizeOp, resize>>(*context);
}
