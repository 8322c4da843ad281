//===- Sampling.cpp - Interpolation at computed points ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GridSample and DeformConv: points that are computed, each between
// elements whose weighted values are added up. Elements are looked up as rows
// of all channels.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;
using Strings = llvm::SmallVector<std::string>;

/// The product of sizes, at most maxElements.
static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  return countElements(sizes).value_or(maxElements);
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
      : body_(body), shape_(shape), spatial_(shape.drop_front(2)),
        padding_(padding), alignCorners_(alignCorners) {}

  /// x as rows of channels.
  void setOperand(const std::string &x) {
    SmallVector<int64_t> channelsLast = {0};
    for (size_t d = 0; d != spatial_.size(); ++d)
      channelsLast.push_back(static_cast<int64_t>(d) + 2);
    channelsLast.push_back(1);
    rows_ = body_.reshape(body_.transpose(x, channelsLast),
                          {shape_[0], product(spatial_), shape_[1]});
  }

  /// The element at `place`, or what stands for it outside. Points themselves
  /// stay outside, as in onnxruntime: only cubic weights tell the difference.
  Neighbor neighbor(size_t d, std::string place, std::string weight) {
    Neighbor result;
    if (padding_ == Padding::Zeros) {
      std::string last = body_.number(static_cast<double>(spatial_[d] - 1));
      result.inside = body_.add(
          "And", {body_.add("GreaterOrEqual", {place, body_.number(0)}),
                  body_.add("LessOrEqual", {place, last})});
    } else if (padding_ == Padding::Reflection) {
      place = reflected(place, alignCorners_ ? 0 : -0.5,
                        static_cast<double>(spatial_[d]) -
                            (alignCorners_ ? 1 : 0.5));
    }
    result.index = body_.add("Cast", {clipped(d, place)},
                             {{"to", int64_t{TensorProto::INT64}}});
    result.weight = std::move(weight);
    return result;
  }

  SmallVector<Neighbor> nearest(size_t d, const std::string &point) {
    return {neighbor(d, body_.add("Round", {point}), "")};
  }

  SmallVector<Neighbor> linear(size_t d, const std::string &point) {
    std::string first = body_.add("Floor", {point});
    std::string rest = body_.add("Sub", {point, first});
    std::string one = body_.number(1);
    return {neighbor(d, first, body_.add("Sub", {one, rest})),
            neighbor(d, body_.add("Add", {first, one}), rest)};
  }

  /// Keys' weights (1981) with a = -0.75.
  SmallVector<Neighbor> cubic(size_t d, const std::string &point) {
    std::string first = body_.add("Floor", {point});
    std::string rest = body_.add("Sub", {point, first});
    SmallVector<Neighbor> result;
    for (int k = -1; k != 3; ++k) {
      std::string distance =
          body_.add("Abs", {body_.add("Sub", {rest, body_.number(k)})});
      // Horner's rule begins with the highest power.
      static constexpr double a = -0.75;
      static constexpr double near[] = {a + 2, -(a + 3), 0, 1};
      static constexpr double far[] = {a, -5 * a, 8 * a, -4 * a};
      std::string weight;
      for (double factor : k == 0 || k == 1 ? near : far)
        weight = weight.empty()
                     ? body_.number(factor)
                     : body_.add("Add", {body_.add("Mul", {weight, distance}),
                                         body_.number(factor)});
      result.push_back(
          neighbor(d, body_.add("Add", {first, body_.number(k)}), weight));
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
    return terms.size() == 1 ? terms[0] : body_.add("Sum", terms);
  }

private:
  std::string clipped(size_t d, const std::string &place) {
    return body_.add("Clip",
                     {place, body_.number(0),
                      body_.number(static_cast<double>(spatial_[d] - 1))});
  }

  /// Reflects a coordinate at `low` and `high`, as often as needed: a triangle
  /// wave.
  std::string reflected(const std::string &place, double low, double high) {
    if (low == high)
      return body_.add("Mul", {place, body_.number(0)});
    std::string distance =
        body_.add("Abs", {body_.add("Sub", {place, body_.number(low)})});
    std::string phase =
        body_.add("Mod", {distance, body_.number(2 * (high - low))},
                  {{"fmod", int64_t{1}}});
    std::string down =
        body_.add("Abs", {body_.add("Sub", {phase, body_.number(high - low)})});
    return body_.add("Sub", {body_.number(high), down});
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
        all = all.empty() ? one : body_.add(op, {all, one});
    };
    for (auto [d, neighbor] : llvm::enumerate(chosen)) {
      if (d != 0)
        index = body_.add("Mul", {index, body_.integer(spatial_[d])});
      join("Add", index, neighbor->index);
      join("Mul", weight, neighbor->weight);
      join("And", inside, neighbor->inside);
    }
    // A look-up that no row answers gives 0.
    if (!inside.empty())
      index =
          body_.add("Where", {inside, index, body_.integer(product(spatial_))});
    std::string value = body_.add(
        "GatherND", {rows_, body_.reshape(index, {shape_[0], points, 1})},
        {{"batch_dims", int64_t{1}}});
    if (!weight.empty())
      value = body_.add("Mul",
                        {value, body_.reshape(weight, {shape_[0], points, 1})});
    terms.push_back(std::move(value));
  }

  Body &body_;
  llvm::ArrayRef<int64_t> shape_, spatial_;
  Padding padding_;
  bool alignCorners_;
  std::string rows_;
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
  if (places > maxTableElements || outputs > maxTableElements ||
      places * outputs > maxTableElements)
    return node.fail("expected at most " + llvm::Twine(maxTableElements) +
                     " elements in all windows of a channel, got: windows of " +
                     llvm::Twine(places) + " for an output of " +
                     llvm::Twine(outputs));
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
