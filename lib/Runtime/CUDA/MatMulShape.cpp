//===- MatMulShape.cpp - A product of stacks of matrices, as calls --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/MatMulShape.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

/// A shape with leading ones up to a rank that is at least its own.
static Shape filled(Shape shape, size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

namespace {
/// Batch dims that follow one another, and are in both operands alike.
struct DimGroup {
  int64_t extent, a, b, y; ///< Strides in elements.
};
} // namespace

/// The batch dims, innermost first, with those joined that may be; nothing if
/// they do not broadcast.
static std::optional<std::vector<DimGroup>>
groupDims(const Shape &a, const Shape &b, const Shape &y, int64_t aMatrix,
          int64_t bMatrix, int64_t yMatrix) {
  std::vector<DimGroup> groups;
  int64_t aStride = aMatrix, bStride = bMatrix, yStride = yMatrix;
  for (size_t d = y.size() - 2; d-- > 0;) {
    if ((a[d] != 1 && a[d] != y[d]) || (b[d] != 1 && b[d] != y[d]))
      return std::nullopt;
    DimGroup dim = {y[d], a[d] == 1 ? 0 : aStride, b[d] == 1 ? 0 : bStride,
                    yStride};
    aStride *= a[d];
    bStride *= b[d];
    yStride *= y[d];
    if (y[d] == 1)
      continue;
    if (!groups.empty()) {
      DimGroup &last = groups.back();
      if (dim.a == last.a * last.extent && dim.b == last.b * last.extent) {
        last.extent *= dim.extent;
        continue;
      }
    }
    groups.push_back(dim);
  }
  return groups;
}

std::optional<MatMulShape> MatMulShape::of(const fb::MatMul &op,
                                           const Shape &aGiven,
                                           const Shape &bGiven,
                                           const Shape &y) {
  size_t rank = y.size();
  if (rank < 2 || aGiven.size() < 2 || bGiven.size() < 2 ||
      aGiven.size() > rank || bGiven.size() > rank)
    return std::nullopt;
  Shape a = filled(aGiven, rank), b = filled(bGiven, rank);
  MatMulShape shape;
  shape.m = a[rank - (op.transpose_a() ? 1 : 2)];
  shape.k = a[rank - (op.transpose_a() ? 2 : 1)];
  shape.n = b[rank - (op.transpose_b() ? 2 : 1)];
  if (b[rank - (op.transpose_b() ? 1 : 2)] != shape.k ||
      y[rank - 2] != shape.m || y[rank - 1] != shape.n)
    return std::nullopt;
  auto groups = groupDims(a, b, y, shape.m * shape.k, shape.k * shape.n,
                          shape.m * shape.n);
  if (!groups)
    return std::nullopt;
  shape.calls = {{0, 0, 0}};
  if (groups->empty())
    return shape;
  DimGroup inner = groups->front();
  if (inner.b == 0 && inner.a != 0 && !op.transpose_a()) {
    shape.m *= inner.extent; // One larger product.
  } else {
    shape.batch = inner.extent;
    shape.aStride = inner.a;
    shape.bStride = inner.b;
    shape.yStride = inner.y;
  }
  for (size_t g = 1; g != groups->size(); ++g) {
    const DimGroup &group = (*groups)[g];
    std::vector<Call> all;
    for (int64_t i = 0; i != group.extent; ++i)
      for (const Call &call : shape.calls)
        all.push_back(
            {call.a + i * group.a, call.b + i * group.b, call.y + i * group.y});
    shape.calls = std::move(all);
  }
  return shape;
}

bool cuda::isRow(const Shape &bias, const Shape &y) {
  for (size_t d = 0; d + 1 < bias.size(); ++d)
    if (bias[d] != 1)
      return false;
  return !bias.empty() && bias.back() == y.back();
}

std::optional<StridedCopy> cuda::broadcast(const Shape &given, const Shape &y,
                                           size_t elementBytes) {
  if (given.size() > y.size())
    return std::nullopt;
  Shape bias = filled(given, y.size());
  StridedCopy box;
  box.run = elementBytes;
  box.extents = y;
  box.fromStrides.resize(y.size());
  box.toStrides.resize(y.size());
  auto from = static_cast<int64_t>(elementBytes), to = from;
  for (size_t d = y.size(); d-- > 0;) {
    if (bias[d] != 1 && bias[d] != y[d])
      return std::nullopt;
    box.fromStrides[d] = bias[d] == 1 ? 0 : from;
    box.toStrides[d] = to;
    from *= bias[d];
    to *= y[d];
  }
  box.simplify();
  return box;
}
