//===- Places.cpp - Operators that move elements by index -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include <numeric>

using namespace mlir;
using namespace soap::onnx_import;

/// 1 at the first greatest element, 0 elsewhere. Before operator set 13 rows
/// are all dimensions from the axis on.
LogicalResult soap::onnx_import::importHardmax(NodeContext &node) {
  Shape shape(node.shape(0));
  bool flattens = node.opset() < 13;
  auto axis = node.axis(node.integer("axis", flattens ? 1 : -1), shape.size());
  if (failed(axis))
    return failure();
  Body body(node);
  std::string x = body.input(0);
  Shape whole = shape;
  if (flattens) {
    auto split = shape.begin() + *axis;
    whole = {
        std::accumulate(shape.begin(), split, int64_t{1}, std::multiplies<>()),
        std::accumulate(split, shape.end(), int64_t{1}, std::multiplies<>())};
    *axis = 1;
    x = body.reshape(x, whole);
  }
  std::string place =
      body.add("ArgMax", {x}, {{"axis", *axis}, {"keepdims", int64_t{0}}});
  std::string result =
      body.add("OneHot",
               {place, body.integers({whole[static_cast<size_t>(*axis)]}),
                body.numbers({2}, {0, 1})},
               {{"axis", *axis}});
  return body.finish({flattens ? body.reshape(result, shape) : result});
}

/// Step t of a sequence with n steps becomes step n - 1 - t.
LogicalResult soap::onnx_import::importReverseSequence(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  int64_t batchAxis = node.integer("batch_axis", 1);
  int64_t timeAxis = node.integer("time_axis", 0);
  if (shape.size() < 2 || batchAxis < 0 || batchAxis > 1 || timeAxis < 0 ||
      timeAxis > 1 || batchAxis == timeAxis)
    return node.fail("expected batch_axis and time_axis 0 and 1 of rank 2 or "
                     "more, got: " +
                     llvm::Twine(batchAxis) + " and " + llvm::Twine(timeAxis) +
                     " of " + toString(shape));
  int64_t batch = shape[static_cast<size_t>(batchAxis)];
  int64_t steps = shape[static_cast<size_t>(timeAxis)];
  if (node.shape(1) != llvm::ArrayRef<int64_t>(batch))
    return node.fail("expected lengths of shape " + toString(batch) +
                     ", got: " + toString(node.shape(1)));
  Body body(node);
  SmallVector<int64_t> swapped(shape.size()), times(static_cast<size_t>(steps));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[0], swapped[1]);
  std::iota(times.begin(), times.end(), 0);
  std::string x = body.input(0);
  if (timeAxis == 0)
    x = body.transpose(x, swapped);
  std::string time = body.integers({1, steps}, times);
  std::string length =
      body.reshape(body.add("Cast", {body.input(1)},
                            {{"to", int64_t{onnx::TensorProto::INT64}}}),
                   {batch, 1});
  std::string mirrored =
      body.add("Sub", {body.add("Sub", {length, body.integer(1)}), time});
  std::string index =
      body.add("Where", {body.add("Less", {time, length}), mirrored, time});
  std::string result =
      body.add("GatherND", {x, body.reshape(index, {batch, steps, 1})},
               {{"batch_dims", int64_t{1}}});
  return body.finish(
      {timeAxis == 0 ? body.transpose(result, swapped) : result});
}

/// Stores the update at a place of its own per batch element, for instance new
/// keys in a cache.
LogicalResult soap::onnx_import::importTensorScatter(NodeContext &node) {
  llvm::ArrayRef<int64_t> whole = node.shape(0);
  Shape update(node.shape(1));
  auto axis = node.axis(node.integer("axis", -2), whole.size());
  if (failed(axis))
    return failure();
  auto along = static_cast<size_t>(*axis);
  bool fits = update.size() == whole.size() && along != 0;
  for (size_t d = 0; fits && d != whole.size(); ++d)
    fits = d == along ? update[d] <= whole[d] : update[d] == whole[d];
  std::string mode = node.string("mode", "linear");
  if (!fits || (mode != "linear" && mode != "circular"))
    return node.fail("expected mode linear or circular and an update that fits "
                     "into " +
                     toString(whole) +
                     " along an axis behind the first, got: " + quoted(mode) +
                     " and " + toString(update));
  Body body(node);
  Shape row(whole.size(), 1), column(whole.size(), 1);
  row[0] = whole[0];
  column[along] = update[along];
  SmallVector<int64_t> steps(static_cast<size_t>(update[along]));
  std::iota(steps.begin(), steps.end(), 0);
  std::string index = body.integers(column, steps);
  if (node.hasInput(2)) {
    if (node.shape(2) != llvm::ArrayRef<int64_t>(whole[0]))
      return node.fail("expected write_indices of shape " + toString(whole[0]) +
                       ", got: " + toString(node.shape(2)));
    index = body.add("Add", {body.reshape(body.input(2), row), index});
  }
  if (mode == "circular")
    index = body.add("Mod", {index, body.integer(whole[along])});
  index = body.add("Expand", {index, body.integers(update)});
  return body.finish(
      {body.add("ScatterElements", {body.input(0), index, body.input(1)},
                {{"axis", *axis}})});
}

/// Running products in log2(n) steps: each multiplies with what lies 1, 2, 4,
/// ... places before.
LogicalResult soap::onnx_import::importCumProd(NodeContext &node) {
  auto along = node.constant(1, "axes");
  if (failed(along))
    return failure();
  if (along->size() != 1 || !along->integral())
    return node.fail("expected one integer as axis, got: shape " +
                     toString(along->shape));
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto axis = node.axis(along->ints[0], shape.size());
  if (failed(axis))
    return failure();
  int64_t size = shape[static_cast<size_t>(*axis)];
  bool reverse = node.integer("reverse", 0) != 0;
  Body body(node);
  // Elements that lie `shift` places before (behind, if `reverse`), or 1.
  auto shifted = [&](const std::string &x, int64_t shift) {
    Shape part(shape);
    part[static_cast<size_t>(*axis)] = shift;
    std::string ones =
        body.add("Expand", {body.number(1), body.integers(part)});
    if (shift == size)
      return ones;
    std::string rest = reverse ? body.slice(x, *axis, shift, size)
                               : body.slice(x, *axis, 0, size - shift);
    return body.add("Concat", {reverse ? rest : ones, reverse ? ones : rest},
                    {{"axis", *axis}});
  };
  std::string result = body.input(0);
  if (node.integer("exclusive", 0) != 0)
    result = shifted(result, 1);
  for (int64_t shift = 1; shift < size; shift *= 2)
    result = body.add("Mul", {result, shifted(result, shift)});
  return body.finish({result});
}

/// Determinants by Gaussian elimination with row pivoting. A body of its own
/// per row.
LogicalResult soap::onnx_import::importDet(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  static constexpr int64_t largest = 64;
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2] ||
      shape.back() > largest)
    return node.fail("expected square matrices of at most " +
                     llvm::Twine(largest) + " rows, got: " + toString(shape));
  Shape batch(shape.drop_back(2));
  int64_t count = std::accumulate(batch.begin(), batch.end(), int64_t{1},
                                  std::multiplies<>());
  Body body(node);
  std::string x =
      body.reshape(body.input(0), {count, shape.back(), shape.back()});
  std::string product, one = body.number(1), zero = body.number(0);
  for (int64_t size = shape.back();; --size) {
    std::string pivot, row;
    if (size == 1) {
      pivot = body.reshape(x, {count});
    } else {
      std::string column = body.reshape(body.slice(x, 2, 0, 1), {count, size});
      std::string place =
          body.add("ArgMax", {body.add("Abs", {column})},
                   {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
      row = body.reshape(body.add("GatherND",
                                  {x, body.reshape(place, {count, 1})},
                                  {{"batch_dims", int64_t{1}}}),
                         {count, 1, size});
      // The first row takes the place of the pivot's row, and is left out from
      // then on.
      std::string mask = body.add(
          "OneHot", {place, body.integers({size}), body.numbers({2}, {0, 1})},
          {{"axis", int64_t{-1}}});
      mask = body.add("Greater", {body.reshape(mask, {count, size, 1}), zero});
      x = body.slice(body.add("Where", {mask, body.slice(x, 1, 0, 1), x}), 1, 1,
                     size);
      std::string moved = body.add("Equal", {place, body.integer(0)});
      pivot = body.reshape(body.slice(row, 2, 0, 1), {count});
      std::string divisor =
          body.add("Where", {body.add("Equal", {pivot, zero}), one, pivot});
      std::string factor =
          body.add("Div", {body.slice(x, 2, 0, 1),
                           body.reshape(divisor, {count, 1, 1})});
      x = body.slice(body.add("Sub", {x, body.add("Mul", {factor, row})}), 2, 1,
                     size);
      pivot = body.add("Where", {moved, pivot, body.add("Neg", {pivot})});
    }
    product = product.empty() ? pivot : body.add("Mul", {product, pivot});
    if (size == 1)
      break;
  }
  return body.finish({body.reshape(product, batch)});
}
