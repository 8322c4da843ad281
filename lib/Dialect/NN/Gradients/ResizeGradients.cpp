//===- ResizeGradients.cpp - Gradients of interpolations ------------------===//
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
    dy = b.reshape(dy, {1, count}, LoopNames());
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
    dy = b.reshape(dy, size, LoopNames());
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

void soap::nn::attachResizeGradients(MLIRContext *context) {
  ResizeOp::attachInterface<GradientModel<ResizeOp, resize>>(*context);
}
