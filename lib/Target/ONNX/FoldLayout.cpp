//===- FoldLayout.cpp - Moving the elements of constants --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Folding.h"
#include "Operators.h"

using namespace mlir;
using namespace soap::onnx_import;

/// Element strides of a row-major tensor.
static SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * shape[i - 1];
  return strides;
}

void soap::onnx_import::forEachElement(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> visit) {
  int64_t count = countElements(shape).value_or(0);
  SmallVector<int64_t> indices(shape.size(), 0);
  for (int64_t flat = 0; flat != count; ++flat) {
    visit(indices, flat);
    for (size_t d = shape.size(); d-- != 0;) {
      if (++indices[d] != shape[d])
        break;
      indices[d] = 0;
    }
  }
}

int64_t soap::onnx_import::broadcastIndex(llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<int64_t> indices) {
  int64_t flat = 0;
  size_t skip = indices.size() - shape.size();
  for (size_t d = 0; d != shape.size(); ++d)
    flat = flat * shape[d] + (shape[d] == 1 ? 0 : indices[skip + d]);
  return flat;
}

void soap::onnx_import::copyElement(const HostTensor &from, int64_t i,
                                    HostTensor &to, int64_t j) {
  if (to.integral())
    to.ints[j] = from.ints[i];
  else
    to.floats[j] = from.floats[i];
}

FailureOr<HostTensor>
soap::onnx_import::makeResult(NodeContext &node, int elementType,
                              llvm::ArrayRef<int64_t> shape) {
  if (countElements(shape).value_or(maxElements) > maxHostElements) {
    if (node.canRun)
      return node.tooLargeToFold();
    return node.fail("expected a small constant, got: shape " +
                     toString(shape));
  }
  return HostTensor::zeros(elementType, shape);
}

LogicalResult soap::onnx_import::foldElements(
    NodeContext &node, int elementType, llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(HostTensor &, llvm::ArrayRef<int64_t>, int64_t)>
        compute) {
  auto result = makeResult(node, elementType, shape);
  if (succeeded(result))
    forEachElement(shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
      compute(*result, at, flat);
    });
  return node.finish(std::move(result));
}

LogicalResult soap::onnx_import::foldGather(NodeContext &node) {
  const HostTensor &data = node.input(0).host, &indices = node.input(1).host;
  auto axis = node.axis(node.integer("axis", 0), data.shape.size());
  if (failed(axis))
    return failure();
  if (!indices.integral())
    return node.fail("expected integer indices, got: " +
                     typeName(indices.elementType));
  auto along = static_cast<size_t>(*axis);
  int64_t size = data.shape[along];
  for (int64_t index : indices.ints)
    if (index < -size || index >= size)
      return node.fail("expected indices inside size " + llvm::Twine(size) +
                       ", got: " + llvm::Twine(index));
  Shape shape(llvm::ArrayRef<int64_t>(data.shape).take_front(along));
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape,
                     llvm::ArrayRef<int64_t>(data.shape).drop_front(along + 1));
  SmallVector<int64_t> strides = rowMajorStrides(data.shape);
  size_t indexRank = indices.shape.size();
  return foldElements(
      node, data.elementType, shape,
      [&](HostTensor &result, llvm::ArrayRef<int64_t> at, int64_t flat) {
        int64_t index = indices.ints[broadcastIndex(
            indices.shape, at.slice(along, indexRank))];
        int64_t from = (index < 0 ? index + size : index) * strides[along];
        for (size_t d = 0; d != along; ++d)
          from += at[d] * strides[d];
        for (size_t d = along + 1; d != data.shape.size(); ++d)
          from += at[d - 1 + indexRank] * strides[d];
        copyElement(data, from, result, flat);
      });
}

LogicalResult soap::onnx_import::foldConcat(NodeContext &node) {
  auto joined = concatShape(node);
  if (failed(joined))
    return failure();
  auto result = makeResult(node, node.input(0).elementType, joined->shape);
  if (failed(result))
    return failure();
  auto along = static_cast<size_t>(joined->axis);
  SmallVector<int64_t> strides = rowMajorStrides(joined->shape);
  int64_t offset = 0;
  for (size_t i = 0, e = node.numInputs(); i != e; ++i) {
    const HostTensor &x = node.input(i).host;
    forEachElement(x.shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
      int64_t to = offset * strides[along];
      for (size_t d = 0; d != at.size(); ++d)
        to += at[d] * strides[d];
      copyElement(x, flat, *result, to);
    });
    offset += x.shape[along];
  }
  return node.finish(std::move(result));
}

LogicalResult soap::onnx_import::foldSlice(NodeContext &node) {
  auto bounds = sliceBounds(node);
  if (failed(bounds))
    return failure();
  const HostTensor &x = node.input(0).host;
  SmallVector<int64_t> strides = rowMajorStrides(x.shape);
  return foldElements(
      node, x.elementType, bounds->shape,
      [&](HostTensor &result, llvm::ArrayRef<int64_t> at, int64_t flat) {
        int64_t from = 0;
        for (size_t d = 0; d != at.size(); ++d)
          from += (bounds->starts[d] + at[d] * bounds->steps[d]) * strides[d];
        copyElement(x, from, result, flat);
      });
}

LogicalResult soap::onnx_import::foldTranspose(NodeContext &node) {
  auto permutation = permutationOf(node);
  if (failed(permutation))
    return failure();
  const HostTensor &x = node.input(0).host;
  Shape shape;
  for (int64_t dim : *permutation)
    shape.push_back(x.shape[static_cast<size_t>(dim)]);
  HostTensor result = HostTensor::zeros(x.elementType, shape);
  SmallVector<int64_t> strides = rowMajorStrides(x.shape);
  forEachElement(shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    int64_t from = 0;
    for (size_t d = 0; d != at.size(); ++d)
      from += at[d] * strides[static_cast<size_t>((*permutation)[d])];
    copyElement(x, from, result, flat);
  });
  node.setResult(0, std::move(result));
  return success();
}

LogicalResult soap::onnx_import::foldExpand(NodeContext &node) {
  auto wanted = node.constantIntegers(1, "shapes");
  if (failed(wanted))
    return failure();
  const HostTensor &x = node.input(0).host;
  if (!countElements(*wanted))
    return node.fail("expected a shape within bounds, got: " +
                     toString(*wanted));
  auto shape = node.broadcast(x.shape, *wanted);
  if (failed(shape))
    return failure();
  return foldElements(
      node, x.elementType, *shape,
      [&](HostTensor &result, llvm::ArrayRef<int64_t> at, int64_t flat) {
        copyElement(x, broadcastIndex(x.shape, at), result, flat);
      });
}

LogicalResult soap::onnx_import::foldTile(NodeContext &node) {
  auto repeats = node.constantIntegers(1, "repeats");
  if (failed(repeats))
    return failure();
  const HostTensor &x = node.input(0).host;
  Shape shape(x.shape);
  if (repeats->size() != shape.size())
    return node.fail("expected one repeat per dimension of " + toString(shape) +
                     ", got: " + toString(*repeats));
  for (auto [size, repeat] : llvm::zip_equal(shape, *repeats)) {
    if (repeat < 0 || repeat > maxDim || size > maxDim)
      return node.fail("expected repeats within bounds, got: " +
                       toString(*repeats));
    size *= repeat;
  }
  SmallVector<int64_t> strides = rowMajorStrides(x.shape);
  return foldElements(
      node, x.elementType, shape,
      [&](HostTensor &result, llvm::ArrayRef<int64_t> at, int64_t flat) {
        int64_t from = 0;
        for (size_t d = 0; d != at.size(); ++d)
          from += at[d] % x.shape[d] * strides[d];
        copyElement(x, from, result, flat);
      });
}
