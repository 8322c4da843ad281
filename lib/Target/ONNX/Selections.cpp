//===- Selections.cpp - Operators whose results' shapes are data -*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shapes of these operators' results follow from values, which therefore
// have to be known at compile time.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Folding.h"
#include "Operators.h"
#include <numeric>

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

/// The rows whose condition holds, of all dimensions without an axis.
LogicalResult soap::onnx_import::importCompress(NodeContext &node) {
  auto condition = node.constant(1, "conditions");
  if (failed(condition))
    return failure();
  Shape shape(node.shape(0));
  std::optional<int64_t> axis;
  Body body(node);
  std::string x = body.input(0);
  if (node.hasAttribute("axis")) {
    auto given = node.axis(node.integer("axis", 0), shape.size());
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    shape = {countElements(shape).value_or(0)};
    x = body.reshape(x, shape);
  }
  int64_t size = shape[static_cast<size_t>(axis.value_or(0))];
  SmallVector<int64_t> rows;
  for (int64_t i = 0; i != std::min(size, condition->size()); ++i)
    if (condition->number(i) != 0)
      rows.push_back(i);
  return body.finish({body.add("Gather", {x, body.integers(rows)},
                               {{"axis", axis.value_or(0)}})});
}

LogicalResult soap::onnx_import::importNonZero(NodeContext &node) {
  auto operand = node.constant(0, "elements");
  if (failed(operand))
    return failure();
  const HostTensor &x = *operand;
  auto rank = static_cast<int64_t>(x.shape.size());
  if (rank == 0)
    return node.fail("expected an operand of rank 1 or more, got: a scalar");
  SmallVector<Shape> places;
  forEachElement(x.shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    if (x.number(flat) != 0)
      places.emplace_back(at);
  });
  auto count = static_cast<int64_t>(places.size());
  HostTensor result = HostTensor::zeros(TensorProto::INT64, {rank, count});
  for (auto [column, at] : llvm::enumerate(places))
    for (int64_t d = 0; d != rank; ++d)
      result.setInteger(d * count + static_cast<int64_t>(column),
                        at[static_cast<size_t>(d)]);
  node.setResult(0, std::move(result));
  return success();
}

/// Less, equal or greater: two rows, element by element.
static int compareRows(const HostTensor &x, llvm::ArrayRef<int64_t> a,
                       llvm::ArrayRef<int64_t> b) {
  for (auto [i, j] : llvm::zip_equal(a, b)) {
    if (x.integral() && x.ints[i] != x.ints[j])
      return x.ints[i] < x.ints[j] ? -1 : 1;
    if (!x.integral() && x.floats[i] != x.floats[j])
      return x.floats[i] < x.floats[j] ? -1 : 1;
  }
  return 0;
}

LogicalResult soap::onnx_import::importUnique(NodeContext &node) {
  auto operand = node.constant(0, "elements");
  if (failed(operand))
    return failure();
  HostTensor &x = *operand;
  size_t along = 0;
  if (node.hasAttribute("axis")) {
    auto axis = node.axis(node.integer("axis", 0), x.shape.size());
    if (failed(axis))
      return failure();
    along = static_cast<size_t>(*axis);
  } else {
    x.shape = {x.size()};
  }
  // The elements of each row along the axis.
  SmallVector<SmallVector<int64_t>> rows(static_cast<size_t>(x.shape[along]));
  forEachElement(x.shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    rows[static_cast<size_t>(at[along])].push_back(flat);
  });
  SmallVector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return compareRows(x, rows[a], rows[b]) < 0;
  });
  SmallVector<int64_t> first, inverse(rows.size()), counts;
  for (size_t i = 0; i != order.size(); ++i) {
    if (i == 0 || compareRows(x, rows[order[i - 1]], rows[order[i]]) != 0) {
      first.push_back(static_cast<int64_t>(order[i]));
      counts.push_back(0);
    }
    ++counts.back();
    inverse[order[i]] = static_cast<int64_t>(first.size()) - 1;
  }
  if (node.integer("sorted", 1) == 0) { // In the order of appearance.
    SmallVector<int64_t> places(first.size()), rank(first.size());
    std::iota(places.begin(), places.end(), 0);
    llvm::sort(places, [&](int64_t a, int64_t b) {
      return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)];
    });
    SmallVector<int64_t> oldFirst = first, oldCounts = counts;
    for (auto [to, from] : llvm::enumerate(places)) {
      first[to] = oldFirst[static_cast<size_t>(from)];
      counts[to] = oldCounts[static_cast<size_t>(from)];
      rank[static_cast<size_t>(from)] = static_cast<int64_t>(to);
    }
    for (int64_t &place : inverse)
      place = rank[static_cast<size_t>(place)];
  }
  Shape shape = x.shape;
  shape[along] = static_cast<int64_t>(first.size());
  HostTensor values = HostTensor::zeros(x.elementType, shape);
  int64_t inner = 1;
  for (int64_t dim : llvm::ArrayRef<int64_t>(shape).drop_front(along + 1))
    inner *= dim;
  forEachElement(shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    size_t row = static_cast<size_t>(first[static_cast<size_t>(at[along])]);
    int64_t outer = flat / (inner * shape[along]);
    copyElement(x, rows[row][static_cast<size_t>(outer * inner + flat % inner)],
                values, flat);
  });
  node.setResult(0, std::move(values));
  node.setResult(1, HostTensor::vector(first));
  node.setResult(2, HostTensor::vector(inverse));
  node.setResult(3, HostTensor::vector(counts));
  return success();
}
