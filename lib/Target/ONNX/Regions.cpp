//===- Regions.cpp - Pooling of regions of interest -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

namespace {
/// The points of all regions along one dimension, [regions, bins * samples]:
/// the elements before and behind them, and their weights.
struct RegionPoints {
  std::string index[2], weight[2];
};

/// A spatial dimension: the columns of the regions' ends, the numbers of bins
/// and of samples per bin, and the size of the input.
struct RegionDimension {
  int64_t first, last, bins, samples, size;
};
} // namespace

static RegionPoints regionPoints(NodeContext &node, Body &body,
                                 const RegionDimension &dimension) {
  auto [first, last, bins, samples, size] = dimension;
  bool halfPixel =
      node.string("coordinate_transformation_mode",
                  node.opset() < 16 ? "output_half_pixel" : "half_pixel") ==
      "half_pixel";
  std::string scale =
      body.number(static_cast<double>(node.number("spatial_scale", 1)));
  auto end = [&](int64_t column) {
    std::string x = body.add(
        "Mul", {body.slice(body.input(1), 1, column, column + 1), scale});
    return halfPixel ? body.add("Sub", {x, body.number(0.5)}) : x;
  };
  std::string start = end(first);
  std::string length = body.add("Sub", {end(last), start});
  if (!halfPixel)
    length = body.add("Max", {length, body.number(1)});
  SmallVector<double> places;
  for (int64_t bin = 0; bin != bins; ++bin)
    for (int64_t k = 0; k != samples; ++k)
      places.push_back(
          (static_cast<double>(bin) +
           (static_cast<double>(k) + 0.5) / static_cast<double>(samples)) /
          static_cast<double>(bins));
  std::string x = body.add(
      "Add",
      {start,
       body.add("Mul", {length, body.numbers({1, bins * samples}, places)})});
  std::string zero = body.number(0), one = body.number(1);
  std::string greatest = body.number(static_cast<double>(size - 1));
  // Points more than one element outside count as 0.
  std::string outside = body.add(
      "Or", {body.add("Less", {x, body.number(-1)}),
             body.add("Greater", {x, body.number(static_cast<double>(size))})});
  x = body.add("Clip", {x, zero, greatest});
  std::string low = body.add("Floor", {x});
  std::string rest = body.add("Sub", {x, low});
  std::string high = body.add("Min", {body.add("Add", {low, one}), greatest});
  RegionPoints points;
  points.weight[0] =
      body.add("Where", {outside, zero, body.add("Sub", {one, rest})});
  points.weight[1] = body.add("Where", {outside, zero, rest});
  for (int k = 0; k != 2; ++k)
    points.index[k] = body.add("Cast", {k == 0 ? low : high},
                               {{"to", int64_t{TensorProto::INT64}}});
  return points;
}

LogicalResult soap::onnx_import::importRoiAlign(NodeContext &node) {
  Shape shape(node.shape(0)), regions(node.shape(1));
  if (shape.size() != 4 || regions.size() != 2 || regions[1] != 4 ||
      node.shape(2) != llvm::ArrayRef<int64_t>(regions[0]))
    return node.fail("expected an input of rank 4, regions of shape [n, 4] and "
                     "n batch indices, got: " +
                     toString(shape) + ", " + toString(regions) + " and " +
                     toString(node.shape(2)));
  int64_t height = node.integer("output_height", 1);
  int64_t width = node.integer("output_width", 1);
  int64_t samples = node.integer("sampling_ratio", 0);
  std::string mode = node.string("mode", "avg");
  if (height < 1 || width < 1 || height > maxDim || width > maxDim ||
      (mode != "avg" && mode != "max"))
    return node.fail("expected mode avg or max and a positive output_height "
                     "and output_width, got: " +
                     quoted(mode) + ", " + llvm::Twine(height) + " and " +
                     llvm::Twine(width));
  if (samples < 1 || samples > 64)
    return node.fail(
        "expected a sampling_ratio of 1 to 64, got: " + llvm::Twine(samples) +
        "; 0 makes the number of samples depend on the regions");
  if (std::max(height, width) * samples > maxTableElements)
    return node.fail("expected at most " + llvm::Twine(maxTableElements) +
                     " samples along a dimension, got: " +
                     llvm::Twine(std::max(height, width) * samples));
  Body body(node);
  int64_t count = regions[0], channels = shape[1];
  RegionPoints y = regionPoints(node, body, {1, 3, height, samples, shape[2]});
  RegionPoints x = regionPoints(node, body, {0, 2, width, samples, shape[3]});
  Shape rowShape = {count, height * samples, 1},
        columnShape = {count, 1, width * samples};
  std::string rows = body.reshape(body.transpose(body.input(0), {0, 2, 3, 1}),
                                  {shape[0] * shape[2] * shape[3], channels});
  std::string image = body.reshape(
      body.add("Mul", {body.add("Cast", {body.input(2)},
                                {{"to", int64_t{TensorProto::INT64}}}),
                       body.integer(shape[2] * shape[3])}),
      {count, 1, 1});
  llvm::SmallVector<std::string> terms;
  for (int i = 0; i != 2; ++i)
    for (int j = 0; j != 2; ++j) {
      std::string row = body.add(
          "Mul", {body.reshape(y.index[i], rowShape), body.integer(shape[3])});
      std::string index =
          body.add("Add", {body.add("Add", {image, row}),
                           body.reshape(x.index[j], columnShape)});
      std::string weight =
          body.add("Mul", {body.reshape(y.weight[i], rowShape),
                           body.reshape(x.weight[j], columnShape)});
      weight =
          body.reshape(weight, {count, height * samples, width * samples, 1});
      terms.push_back(
          body.add("Mul", {body.add("Gather", {rows, index}), weight}));
    }
  // As in onnxruntime, the maximum is that of weighted elements.
  std::string result = body.add(mode == "avg" ? "Sum" : "Max", terms);
  result =
      body.reshape(result, {count, height, samples, width, samples, channels});
  result =
      body.add(mode == "avg" ? "ReduceMean" : "ReduceMax",
               {result, body.integers({2, 4})}, {{"keepdims", int64_t{0}}});
  return body.finish({body.transpose(result, {0, 3, 1, 2})});
}
