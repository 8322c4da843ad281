//===- AttentionOps.cpp - Attention as one operation ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

namespace {
/// The dimensions of an attention.
struct AttentionShape {
  explicit AttentionShape(AttentionOp op)
      : batch(shapeOf(op.getQuery()).drop_back(2)),
        rows(shapeOf(op.getQuery()).drop_back().back()),
        depth(shapeOf(op.getQuery()).back()),
        steps(shapeOf(op.getValues()).drop_back().back()),
        features(shapeOf(op.getValues()).back()) {}

  /// The shape of `batch` and two dimensions.
  Shape with(int64_t a, int64_t b) const {
    Shape shape(batch);
    shape.append({a, b});
    return shape;
  }

  ArrayRef<int64_t> batch;
  int64_t rows, depth, steps, features; ///< N, K, S and F.
};
} // namespace

LogicalResult AttentionOp::verify() {
  Type element = elementType(getQuery());
  for (Value value : {Value(getKeys()), Value(getValues()), Value(getResult())})
    if (elementType(value) != element)
      return emitOpError() << "expected query, keys, values and result of one "
                              "element type, got: "
                           << element << " and " << elementType(value);
  size_t rank = shapeOf(getQuery()).size();
  if (rank < 2)
    return emitOpError() << "expected a query of rank 2 or more, got: " << rank;
  for (auto [name, value] :
       {std::pair("keys", getKeys()), std::pair("values", getValues())})
    if (shapeOf(value).size() != rank)
      return emitOpError() << "expected " << name << " of rank " << rank
                           << ", as the query, got: " << shapeOf(value).size();
  AttentionShape shape(*this);
  Shape keys = getTransposedKeys() ? shape.with(shape.depth, shape.steps)
                                   : shape.with(shape.steps, shape.depth);
  if (shapeOf(getKeys()) != ArrayRef(keys))
    return emitOpError() << "expected keys of shape " << toString(keys)
                         << ", got: " << toString(shapeOf(getKeys()));
  Shape values = shape.with(shape.steps, shape.features);
  if (shapeOf(getValues()) != ArrayRef(values))
    return emitOpError() << "expected values of shape " << toString(values)
                         << ", got: " << toString(shapeOf(getValues()));
  if (shape.steps < 1 || shape.depth < 1)
    return emitOpError() << "expected keys that are not empty, got: "
                         << toString(shapeOf(getKeys()));
  if (Value mask = getMask()) {
    if (Type type = elementType(mask); type != element && !type.isInteger(1))
      return emitOpError() << "expected a mask of " << element
                           << " or booleans, got: " << type;
    ArrayRef<int64_t> given = shapeOf(mask);
    Shape scores = shape.with(shape.rows, shape.steps);
    SmallVector<int64_t> joined;
    if (!OpTrait::util::getBroadcastedShape(given, scores, joined) ||
        joined != scores)
      return emitOpError() << "expected a mask that broadcasts to "
                           << toString(scores) << ", got: " << toString(given);
  }
  return verifyResultShape(*this, shape.with(shape.rows, shape.features));
}

PartitionSpec AttentionOp::getPartitionSpec() {
  AttentionShape shape(*this);
  unsigned batch = shape.batch.size(), n = batch;
  PartitionSpec spec;
  for (auto [i, size] : llvm::enumerate(shape.batch))
    spec.loops.push_back({batchLoopName(i), size});
  spec.loops.push_back({"n", shape.rows});

  auto access = [&](DimAccess row, int64_t columns) {
    ValueAccess access = identityAccess(batch);
    access.dims.push_back(row);
    access.dims.push_back(DimAccess::whole(columns));
    return access;
  };
  ValueAccess keys = access(DimAccess::whole(shape.steps), shape.depth);
  if (getTransposedKeys())
    std::swap(keys.dims[batch], keys.dims[batch + 1]);
  spec.operands = {access(DimAccess::identity(n), shape.depth), keys,
                   access(DimAccess::whole(shape.steps), shape.features)};
  if (Value mask = getMask()) {
    ValueAccess read;
    ArrayRef<int64_t> sizes = shapeOf(mask);
    size_t missing = batch + 2 - sizes.size();
    for (auto [i, size] : llvm::enumerate(sizes)) {
      bool isLoop = missing + i <= n && size == spec.loops[missing + i].extent;
      read.dims.push_back(isLoop ? DimAccess::identity(missing + i)
                                 : DimAccess::whole(size));
    }
    spec.operands.push_back(read);
  }
  spec.results = {access(DimAccess::identity(n), shape.features)};
  return spec;
}

double AttentionOp::getFlops(const LocalTile &tile) {
  // Of each score: its product, what the softmax does, and its share of the
  // result.
  AttentionShape shape(*this);
  double perScore = 2 * static_cast<double>(shape.depth) + 4 +
                    2 * static_cast<double>(shape.features);
  double scores = static_cast<double>(shape.steps);
  for (const auto &range : tile.tile)
    scores *= range.size();
  return perScore * scores;
}
