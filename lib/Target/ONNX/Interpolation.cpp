//===- Interpolation.cpp - Resize by matrices -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nn.resize has the coordinates that are the same rational everywhere. What
// else Resize knows (antialias, a region to crop) is still linear in the
// elements of each dimension: a product with a constant matrix.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include "Resize.h"
#include <cmath>

using namespace mlir;
using namespace soap::onnx_import;

/// Keys' weight (1981) at a distance, or the triangle of linear interpolation.
static double weightAt(bool cubic, double a, double distance) {
  double x = std::fabs(distance);
  if (!cubic)
    return std::max(1 - x, 0.0);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Where element i of the result lies in an operand of `size` elements.
static double coordinateOf(const ResizeDimension &d, llvm::StringRef mode,
                           int64_t i) {
  auto at = static_cast<double>(i), size = static_cast<double>(d.size);
  auto result = static_cast<double>(d.result);
  if (mode == "align_corners")
    return d.result == 1 ? 0 : at * (size - 1) / (result - 1);
  if (mode == "asymmetric")
    return at / d.scale;
  if (mode == "tf_crop_and_resize")
    return d.result > 1 ? d.start * (size - 1) +
                              at * (d.end - d.start) * (size - 1) / (result - 1)
                        : (d.start + d.end) * (size - 1) / 2;
  if (mode == "pytorch_half_pixel" && d.result == 1)
    return 0;
  double half = (at + 0.5) / d.scale - 0.5;
  if (mode == "half_pixel_symmetric")
    half += size / 2 * (1 - result / (size * d.scale));
  return half;
}

static double nearestOf(llvm::StringRef rounding, double x) {
  if (rounding == "floor")
    return std::floor(x);
  if (rounding == "ceil")
    return std::ceil(x);
  return rounding == "round_prefer_ceil" ? std::floor(x + 0.5)
                                         : std::ceil(x - 0.5);
}

/// The row of result element i: the weights of the operand's elements.
static void fillRow(const ResizeDimension &d, const ResizeWeights &weights,
                    int64_t i, llvm::MutableArrayRef<double> row) {
  double x = coordinateOf(d, weights.coordinates, i);
  auto last = static_cast<double>(d.size - 1);
  if (weights.coordinates == "tf_crop_and_resize" && (x < 0 || x > last))
    return; // The extrapolation value.
  auto add = [&](double at, double weight) {
    double inside = std::clamp(at, 0.0, last);
    if (inside == at || !weights.excludeOutside)
      row[static_cast<size_t>(inside)] += weight;
  };
  if (weights.mode == "nearest")
    return add(nearestOf(weights.rounding, x), 1);
  bool cubic = weights.mode == "cubic";
  // Antialiasing makes the filter as wide as the elements that become one.
  double stretch = weights.antialias ? std::min(d.scale, 1.0) : 1;
  double reach = (cubic ? 2 : 1) / stretch;
  for (double at = std::floor(x - reach) + 1; at < x + reach; ++at)
    add(at, weightAt(cubic, weights.cubicA, (x - at) * stretch));
  if (!weights.antialias && !weights.excludeOutside)
    return;
  double sum = 0;
  for (double weight : row)
    sum += weight;
  for (double &weight : row)
    weight /= sum;
}

LogicalResult
soap::onnx_import::resizeByMatrices(NodeContext &node,
                                    const ResizeWeights &weights,
                                    llvm::ArrayRef<ResizeDimension> dims) {
  Body body(node);
  std::string x = body.input(0);
  bool crops = weights.coordinates == "tf_crop_and_resize";
  Shape shape(node.shape(0));
  // 1 where an element is inside of the operand along all dimensions.
  SmallVector<SmallVector<double>> inside;
  for (size_t k = 0; k != dims.size(); ++k) {
    const ResizeDimension &d = dims[k];
    SmallVector<double> matrix(static_cast<size_t>(d.size * d.result), 0);
    if (d.size * d.result > maxHostElements * 64)
      return node.fail("expected an interpolation whose matrix has at most " +
                       llvm::Twine(maxHostElements * 64) + " elements, got: " +
                       llvm::Twine(d.size) + " to " + llvm::Twine(d.result));
    SmallVector<double> &known =
        inside.emplace_back(static_cast<size_t>(d.result), 0);
    bool isIdentity = d.size == d.result;
    for (int64_t i = 0; i != d.result; ++i) {
      auto row = llvm::MutableArrayRef<double>(matrix).slice(
          static_cast<size_t>(i * d.size), static_cast<size_t>(d.size));
      fillRow(d, weights, i, row);
      for (auto [j, weight] : llvm::enumerate(row)) {
        known[static_cast<size_t>(i)] += weight;
        isIdentity &= weight == (static_cast<int64_t>(j) == i ? 1 : 0);
      }
    }
    if (isIdentity)
      continue;
    int64_t outer = 1, inner = 1;
    for (int64_t dim : llvm::ArrayRef<int64_t>(shape).take_front(k))
      outer *= dim;
    for (int64_t dim : llvm::ArrayRef<int64_t>(shape).drop_front(k + 1))
      inner *= dim;
    x = body.reshape(x, {outer, d.size, inner});
    x = body.add("MatMul", {body.numbers({d.result, d.size}, matrix), x});
    shape[k] = d.result;
    x = body.reshape(x, shape);
  }
  bool allInside = true;
  for (const auto &known : inside)
    for (double weight : known)
      allInside &= weight != 0;
  if (crops && !allInside && weights.extrapolation != 0) {
    // What is outside along one dimension is 0 so far.
    std::string mask;
    for (size_t k = 0; k != dims.size(); ++k) {
      if (llvm::all_of(inside[k], [](double w) { return w != 0; }))
        continue;
      Shape along(dims.size(), 1);
      along[k] = dims[k].result;
      SmallVector<double> marks;
      for (double weight : inside[k])
        marks.push_back(weight != 0 ? 1 : 0);
      std::string next = body.numbers(along, marks);
      mask = mask.empty() ? next : body.add("Mul", {mask, next});
    }
    mask = body.add("Greater", {mask, body.number(0)});
    x = body.add("Where", {mask, x, body.number(weights.extrapolation)});
  }
  return body.finish({x});
}
