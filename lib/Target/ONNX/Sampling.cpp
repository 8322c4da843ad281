//===- Sampling.cpp - Interpolation at computed points ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GridSample, RoiAlign and DeformConv: points that are computed, each between
// elements whose weighted values are added up. Elements are looked up as rows
// of all channels.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include <numeric>

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;
using Strings = llvm::SmallVector<std::string>;

static int64_t product(llvm::ArrayRef<int64_t> values) {
  return std::accumulate(values.begin(), values.end(), int64_t{1},
                         std::multiplies<>());
}

namespace {
enum class Padding : uint8_t { Zeros, Border, Reflection };

/// An element beside the point, along one dimension.
struct Neighbor {
  std::string index;  ///< INT64.
  std::string weight; ///< Empty: 1.
  std::string inside; ///< BOOL, with zeros outside; else empty.
};

/// Looks points up in x of shape [n, channels, spatial..]. Coordinates are
/// tensors of shape [n, points].
class Sampler {
public:
  Sampler(Body &body, llvm::ArrayRef<int64_t> shape, Padding padding,
          bool alignCorners)
      : body(body), shape(shape), spatial(shape.drop_front(2)),
        padding(padding), alignCorners(alignCorners) {}

  /// x as rows of channels.
  void setOperand(const std::string &x) {
    SmallVector<int64_t> channelsLast = {0};
    for (size_t d = 0; d != spatial.size(); ++d)
      channelsLast.push_back(static_cast<int64_t>(d) + 2);
    channelsLast.push_back(1);
    rows = body.reshape(body.transpose(x, channelsLast),
                        {shape[0], product(spatial), shape[1]});
  }

  /// A point that lies outside of dimension d, moved inside.
  std::string bounded(size_t d, const std::string &point) {
    double low = alignCorners ? 0 : -0.5;
    double high = static_cast<double>(spatial[d]) - (alignCorners ? 1 : 0.5);
    if (padding == Padding::Zeros)
      return point;
    if (padding == Padding::Reflection)
      return reflected(point, low, high);
    std::string outside =
        body.add("Or", {body.add("Less", {point, body.number(low)}),
                        body.add("Greater", {point, body.number(high)})});
    return body.add("Where", {outside, clipped(d, point), point});
  }

  Neighbor neighbor(size_t d, std::string place, std::string weight) {
    Neighbor result;
    if (padding == Padding::Zeros) {
      std::string last = body.number(static_cast<double>(spatial[d] - 1));
      result.inside =
          body.add("And", {body.add("GreaterOrEqual", {place, body.number(0)}),
                           body.add("LessOrEqual", {place, last})});
    } else if (padding == Padding::Reflection) {
      place =
          reflected(place, alignCorners ? 0 : -0.5,
                    static_cast<double>(spatial[d]) - (alignCorners ? 1 : 0.5));
    }
    result.index = body.add("Cast", {clipped(d, place)},
                            {{"to", int64_t{TensorProto::INT64}}});
    result.weight = std::move(weight);
    return result;
  }

  SmallVector<Neighbor> nearest(size_t d, const std::string &point) {
    return {neighbor(d, bounded(d, body.add("Round", {point})), "")};
  }

  SmallVector<Neighbor> linear(size_t d, const std::string &point) {
    std::string at = bounded(d, point);
    std::string first = body.add("Floor", {at});
    std::string rest = body.add("Sub", {at, first});
    std::string one = body.number(1);
    return {neighbor(d, first, body.add("Sub", {one, rest})),
            neighbor(d, body.add("Add", {first, one}), rest)};
  }

  /// Keys' weights (1981) with a = -0.75.
  SmallVector<Neighbor> cubic(size_t d, const std::string &point) {
    std::string at = bounded(d, point);
    std::string first = body.add("Floor", {at});
    std::string rest = body.add("Sub", {at, first});
    SmallVector<Neighbor> result;
    for (int k = -1; k != 3; ++k) {
      std::string distance =
          body.add("Abs", {body.add("Sub", {rest, body.number(k)})});
      // By Horner's rule, from the highest power on.
      static constexpr double a = -0.75;
      static constexpr double near[] = {a + 2, -(a + 3), 0, 1};
      static constexpr double far[] = {a, -5 * a, 8 * a, -4 * a};
      std::string weight;
      for (double factor : k == 0 || k == 1 ? near : far)
        weight = weight.empty()
                     ? body.number(factor)
                     : body.add("Add", {body.add("Mul", {weight, distance}),
                                        body.number(factor)});
      result.push_back(
          neighbor(d, body.add("Add", {first, body.number(k)}), weight));
    }
    return result;
  }

  /// The weighted sum over all combinations of neighbors, [n, points,
  /// channels].
  std::string sum(llvm::ArrayRef<SmallVector<Neighbor>> neighbors,
                  int64_t points) {
    Strings terms;
    SmallVector<const Neighbor *> chosen;
    collect(neighbors, points, chosen, terms);
    return terms.size() == 1 ? terms[0] : body.add("Sum", terms);
  }

private:
  std::string clipped(size_t d, const std::string &place) {
    return body.add("Clip", {place, body.number(0),
                             body.number(static_cast<double>(spatial[d] - 1))});
  }

  /// To and fro between `low` and `high`: a triangle wave.
  std::string reflected(const std::string &place, double low, double high) {
    if (low == high)
      return body.add("Mul", {place, body.number(0)});
    std::string distance =
        body.add("Abs", {body.add("Sub", {place, body.number(low)})});
    std::string phase =
        body.add("Mod", {distance, body.number(2 * (high - low))},
                 {{"fmod", int64_t{1}}});
    std::string down =
        body.add("Abs", {body.add("Sub", {phase, body.number(high - low)})});
    return body.add("Sub", {body.number(high), down});
  }

  void collect(llvm::ArrayRef<SmallVector<Neighbor>> neighbors, int64_t points,
               SmallVector<const Neighbor *> &chosen, Strings &terms) {
    if (chosen.size() != neighbors.size()) {
      for (const Neighbor &neighbor : neighbors[chosen.size()]) {
        chosen.push_back(&neighbor);
        collect(neighbors, points, chosen, terms);
        chosen.pop_back();
      }
      return;
    }
    std::string index, weight, inside;
    auto join = [&](llvm::StringRef op, std::string &all,
                    const std::string &one) {
      if (!one.empty())
        all = all.empty() ? one : body.add(op, {all, one});
    };
    for (auto [d, neighbor] : llvm::enumerate(chosen)) {
      if (d != 0)
        index = body.add("Mul", {index, body.integer(spatial[d])});
      join("Add", index, neighbor->index);
      join("Mul", weight, neighbor->weight);
      join("And", inside, neighbor->inside);
    }
    // A look-up that no row answers gives 0.
    if (!inside.empty())
      index =
          body.add("Where", {inside, index, body.integer(product(spatial))});
    std::string value =
        body.add("GatherND", {rows, body.reshape(index, {shape[0], points, 1})},
                 {{"batch_dims", int64_t{1}}});
    if (!weight.empty())
      value =
          body.add("Mul", {value, body.reshape(weight, {shape[0], points, 1})});
    terms.push_back(std::move(value));
  }

  Body &body;
  llvm::ArrayRef<int64_t> shape, spatial;
  Padding padding;
  bool alignCorners;
  std::string rows;
};
} // namespace

LogicalResult soap::onnx_import::importGridSample(NodeContext &node) {
  Shape shape(node.shape(0)), grid(node.shape(1));
  size_t rank = shape.size() < 3 ? 0 : shape.size() - 2;
  if (rank < 1 || rank > 3 || grid.size() != shape.size() ||
      grid[0] != shape[0] || grid.back() != static_cast<int64_t>(rank))
    return node.fail("expected a grid of points in 1 to 3 spatial dimensions "
                     "of " +
                     toString(shape) + ", got: " + toString(grid));
  // Operator set 20 renamed the modes.
  std::string mode = node.string("mode", "linear");
  bool nearest = mode == "nearest",
       cubic = mode == "cubic" || mode == "bicubic";
  if (!nearest && !cubic && mode != "linear" && mode != "bilinear")
    return node.fail("expected mode linear, nearest or cubic, got: " +
                     quoted(mode));
  std::string outside = node.string("padding_mode", "zeros");
  if (outside != "zeros" && outside != "border" && outside != "reflection")
    return node.fail(
        "expected padding_mode zeros, border or reflection, got: " +
        quoted(outside));
  bool alignCorners = node.integer("align_corners", 0) != 0;
  Body body(node);
  Sampler sampler(body, shape,
                  outside == "zeros"    ? Padding::Zeros
                  : outside == "border" ? Padding::Border
                                        : Padding::Reflection,
                  alignCorners);
  sampler.setOperand(body.input(0));
  auto sizes = llvm::ArrayRef<int64_t>(grid).drop_front().drop_back();
  int64_t points = product(sizes);
  std::string flat =
      body.reshape(body.input(1), {shape[0], points, grid.back()});
  SmallVector<SmallVector<Neighbor>> neighbors;
  for (size_t d = 0; d != rank; ++d) {
    // The last dimension's coordinates are the first ones. -1 and 1 are the
    // centers of the elements at the ends, or the ends.
    auto place = static_cast<int64_t>(rank - 1 - d);
    std::string x =
        body.reshape(body.slice(flat, 2, place, place + 1), {shape[0], points});
    auto size = static_cast<double>(shape[d + 2]);
    x = body.add("Mul", {x, body.number((alignCorners ? size - 1 : size) / 2)});
    x = body.add("Add", {x, body.number((size - 1) / 2)});
    neighbors.push_back(nearest ? sampler.nearest(d, x)
                        : cubic ? sampler.cubic(d, x)
                                : sampler.linear(d, x));
  }
  Shape result = {shape[0], shape[1]};
  llvm::append_range(result, sizes);
  return body.finish({body.reshape(
      body.transpose(sampler.sum(neighbors, points), {0, 2, 1}), result)});
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

namespace {
/// The points of all regions along one dimension, [regions, bins * samples]:
/// the elements before and behind them, and their weights.
struct RegionPoints {
  std::string index[2], weight[2];
};
} // namespace

/// `first` and `last` are the columns of the regions' ends.
static RegionPoints regionPoints(NodeContext &node, Body &body, int64_t first,
                                 int64_t last, int64_t bins, int64_t samples,
                                 int64_t size) {
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
  Body body(node);
  int64_t count = regions[0], channels = shape[1];
  RegionPoints y = regionPoints(node, body, 1, 3, height, samples, shape[2]);
  RegionPoints x = regionPoints(node, body, 0, 2, width, samples, shape[3]);
  Shape rowShape = {count, height * samples, 1},
        columnShape = {count, 1, width * samples};
  std::string rows = body.reshape(body.transpose(body.input(0), {0, 2, 3, 1}),
                                  {shape[0] * shape[2] * shape[3], channels});
  std::string image = body.reshape(
      body.add("Mul", {body.add("Cast", {body.input(2)},
                                {{"to", int64_t{TensorProto::INT64}}}),
                       body.integer(shape[2] * shape[3])}),
      {count, 1, 1});
  Strings terms;
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

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

LogicalResult soap::onnx_import::importDeformConv(NodeContext &node) {
  Shape x(node.shape(0)), w(node.shape(1)), offset(node.shape(2));
  int64_t groups = node.integer("group", 1);
  int64_t offsetGroups = node.integer("offset_group", 1);
  auto strides = node.integers("strides").value_or(SmallVector<int64_t>(2, 1));
  auto dilations =
      node.integers("dilations").value_or(SmallVector<int64_t>(2, 1));
  auto pads = node.integers("pads").value_or(SmallVector<int64_t>(4, 0));
  bool fits = x.size() == 4 && w.size() == 4 && offset.size() == 4 &&
              groups > 0 && offsetGroups > 0 && strides.size() == 2 &&
              dilations.size() == 2 && pads.size() == 4 &&
              x[1] == w[1] * groups && w[0] % groups == 0 &&
              x[1] % offsetGroups == 0 && offset[0] == x[0] &&
              offset[1] == offsetGroups * w[2] * w[3] * 2;
  if (auto kernel = node.integers("kernel_shape"); fits && kernel)
    fits = llvm::ArrayRef<int64_t>(*kernel) ==
           llvm::ArrayRef<int64_t>(w).drop_front(2);
  for (size_t d = 0; fits && d != 2; ++d)
    fits = strides[d] > 0 &&
           (x[d + 2] + pads[d] + pads[d + 2] - dilations[d] * (w[d + 2] - 1) -
            1) / strides[d] +
                   1 ==
               offset[d + 2];
  if (!fits)
    return node.fail("expected a weight and offsets that fit the input, got: " +
                     toString(x) + ", weight " + toString(w) + " and offsets " +
                     toString(offset));
  int64_t places = w[2] * w[3], outputs = offset[2] * offset[3];
  int64_t points = places * outputs, images = x[0] * offsetGroups;
  Shape grouped = {images, x[1] / offsetGroups, x[2], x[3]};
  Body body(node);
  Sampler sampler(body, grouped, Padding::Zeros, /*alignCorners=*/true);
  sampler.setOperand(body.reshape(body.input(0), grouped));
  std::string offsets =
      body.reshape(body.input(2), {images, places, 2, outputs});
  SmallVector<SmallVector<Neighbor>> neighbors;
  for (size_t d = 0; d != 2; ++d) {
    SmallVector<double> undeformed;
    for (int64_t k = 0; k != places; ++k)
      for (int64_t o = 0; o != outputs; ++o) {
        int64_t tap = d == 0 ? k / w[3] : k % w[3];
        int64_t at = d == 0 ? o / offset[3] : o % offset[3];
        undeformed.push_back(static_cast<double>(at * strides[d] - pads[d] +
                                                 tap * dilations[d]));
      }
    auto place = static_cast<int64_t>(d);
    std::string moved =
        body.add("Add", {body.reshape(body.slice(offsets, 2, place, place + 1),
                                      {images, points}),
                         body.numbers({points}, undeformed)});
    neighbors.push_back(sampler.linear(d, moved));
  }
  std::string value = sampler.sum(neighbors, points);
  if (node.hasInput(4))
    value = body.add("Mul",
                     {value, body.reshape(body.input(4), {images, points, 1})});
  value = body.reshape(
      value, {x[0], offsetGroups, places, outputs, x[1] / offsetGroups});
  value = body.reshape(body.transpose(value, {0, 1, 4, 2, 3}),
                       {x[0], groups, w[1] * places, outputs});
  std::string weight =
      body.reshape(body.input(1), {groups, w[0] / groups, w[1] * places});
  std::string result = body.reshape(body.add("MatMul", {weight, value}),
                                    {x[0], w[0], offset[2], offset[3]});
  if (node.hasInput(3))
    result =
        body.add("Add", {result, body.reshape(body.input(3), {w[0], 1, 1})});
  return body.finish({result});
}
