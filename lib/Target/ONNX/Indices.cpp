//===- Indices.cpp - Operators that look elements up ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Resize.h"
#include "soap/Dialect/NN/IR/NN.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// Start and step of indices that follow one another, counted from the front.
/// Nullopt for others, and for indices that no row answers.
static std::optional<std::pair<int64_t, int64_t>>
progression(const HostTensor &indices, int64_t size) {
  if (indices.shape.size() > 1 || indices.ints.empty())
    return std::nullopt;
  SmallVector<int64_t> rows;
  for (int64_t index : indices.ints)
    rows.push_back(index < 0 ? index + size : index);
  int64_t step = rows.size() > 1 ? rows[1] - rows[0] : 1;
  for (size_t i = 0; i != rows.size(); ++i)
    if (rows[i] < 0 || rows[i] >= size || step == 0 ||
        rows[i] != rows[0] + static_cast<int64_t>(i) * step)
      return std::nullopt;
  return std::pair(rows[0], step);
}

/// What an input that indexes a table of parameters may hold.
static void boundIndices(NodeContext &node, Value indices, int64_t size) {
  Operation *op = indices.getDefiningOp();
  while (isa_and_nonnull<nn::ReshapeOp, nn::TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto input = dyn_cast_or_null<nn::InputOp>(op);
  if (!input || node.input(0).kind != ImportedValue::Kind::Stored)
    return;
  int64_t known = input.getIndexBound().value_or(size);
  input.setIndexBound(std::min(known, size));
}

LogicalResult soap::onnx_import::importGather(NodeContext &node) {
  auto data = node.tensor(0, ElementTypes::Any);
  if (failed(data))
    return failure();
  llvm::ArrayRef<int64_t> x = node.shape(0), at = node.shape(1);
  auto axis = node.axis(node.integer("axis", 0), x.size());
  if (failed(axis))
    return failure();
  auto along = static_cast<size_t>(*axis);
  Shape shape(x.take_front(along));
  llvm::append_range(shape, at);
  llvm::append_range(shape, x.drop_front(along + 1));
  if (shape.size() > static_cast<size_t>(nn::maxRank))
    return node.fail("expected a result of rank 8 or less, got: " +
                     toString(shape));

  // Known rows that follow one another are a slice.
  FailureOr<Value> result;
  if (node.isConstant(1)) {
    auto indices = node.constant(1, "indices");
    if (failed(indices))
      return failure();
    if (!indices->integral())
      return node.fail("expected integer indices, got: " +
                       typeName(indices->elementType));
    if (auto range = progression(*indices, x[along])) {
      SmallVector<int64_t> starts(x.size(), 0), steps(x.size(), 1);
      starts[along] = range->first;
      steps[along] = range->second;
      Shape sliced(x);
      sliced[along] = indices->size();
      result = node.create<nn::SliceOp>(
          sliced, *data,
          {node.attr("starts", starts), node.attr("steps", steps)},
          sliced == shape ? "" : "_slice");
      if (succeeded(result))
        result = node.reshape(*result, shape);
      return node.finish(result);
    }
  }
  auto indices = node.tensor(1, ElementTypes::Indices);
  if (failed(indices))
    return failure();
  boundIndices(node, *indices, x[along]);
  result = node.create<nn::GatherOp>(shape, {*data, *indices},
                                     {node.attr("axis", *axis)});
  return node.finish(result);
}

LogicalResult soap::onnx_import::importTile(NodeContext &node) {
  auto repeats = node.constantIntegers(1, "repeats");
  if (failed(repeats))
    return failure();
  Shape shape(node.shape(0));
  if (repeats->size() != shape.size())
    return node.fail("expected one repeat per dimension of " + toString(shape) +
                     ", got: " + toString(*repeats));
  bool repeated = false;
  for (auto [size, repeat] : llvm::zip_equal(shape, *repeats)) {
    if (repeat < 0 || repeat > maxDim || size > maxDim)
      return node.fail("expected repeats within bounds, got: " +
                       toString(*repeats));
    size *= repeat;
    repeated |= repeat != 1;
  }
  if (!repeated)
    return importIdentity(node);
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  auto result = node.create<nn::TileOp>(shape, *x);
  return node.finish(result);
}

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

namespace {
/// Element i of the result lies at (num*i + off) / den.
struct Coordinates {
  int64_t num = 1, off = 0, den = 1;
};
} // namespace

/// The simplest rational that rounds to the float `value`: what was meant by a
/// scale such as 0.6. By continued fractions.
static std::optional<Rational> rationalOf(float value) {
  double rest = static_cast<double>(value);
  int64_t p = 1, q = 0, previousP = 0, previousQ = 1;
  for (int i = 0; i != 40 && std::isfinite(rest); ++i) {
    double whole = std::floor(rest);
    if (whole > static_cast<double>(maxDim))
      break;
    auto digit = static_cast<int64_t>(whole);
    int64_t nextP = digit * p + previousP, nextQ = digit * q + previousQ;
    if (nextP > maxDim || nextQ > maxDim)
      break;
    previousP = std::exchange(p, nextP);
    previousQ = std::exchange(q, nextQ);
    if (p > 0 && static_cast<float>(static_cast<double>(p) /
                                    static_cast<double>(q)) == value)
      return Rational{p, q};
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

/// The coordinate transformation of one dimension; nullopt for an unknown mode.
static std::optional<Coordinates> coordinatesOf(llvm::StringRef mode,
                                                Rational scale, int64_t size,
                                                int64_t result) {
  auto [p, q] = scale;
  if (mode == "asymmetric")
    return Coordinates{q, 0, p};
  if (mode == "align_corners") {
    // There is one element only, which is the first.
    if (size == 1 || result == 1)
      return Coordinates{};
    return Coordinates{size - 1, 0, result - 1};
  }
  if (mode == "pytorch_half_pixel" && result == 1)
    return Coordinates{};
  if (mode == "half_pixel" || mode == "pytorch_half_pixel")
    return Coordinates{2 * q, q - p, 2 * p};
  if (mode == "half_pixel_symmetric")
    return Coordinates{2 * q, q + p * size - result * q - p, 2 * p};
  // Operator sets 11 and 12. As in onnxruntime, a scale of 1 moves nothing.
  if (mode == "tf_half_pixel_for_nn")
    return p == q ? Coordinates{} : Coordinates{2 * q, q, 2 * p};
  return std::nullopt;
}

/// Makes floor() of a rounding mode; false for an unknown one.
static bool applyRounding(llvm::StringRef mode, Coordinates &at) {
  if (mode == "floor")
    return true;
  if (mode == "ceil") {
    at.off += at.den - 1;
    return true;
  }
  bool down = mode == "round_prefer_floor";
  if (!down && mode != "round_prefer_ceil")
    return false;
  at = {2 * at.num, 2 * at.off + at.den - (down ? 1 : 0), 2 * at.den};
  return true;
}

/// Divides by common factors. `nearest` takes floor() of the coordinate, so
/// that a remainder that floor() drops is left out, too.
static void reduce(Coordinates &at, bool nearest) {
  int64_t factor = std::gcd(at.num, at.den);
  if (!nearest)
    factor = std::gcd(factor, at.off);
  at.num /= factor;
  at.den /= factor;
  at.off = at.off / factor - (at.off % factor < 0 ? 1 : 0);
}

/// Result sizes and scales, from operands for all or some axes.
static LogicalResult readSizes(NodeContext &node, ResizeRequest &request) {
  llvm::ArrayRef<int64_t> x = node.shape(0);
  bool old = node.opset() < 11;
  size_t scalesInput = old ? 1 : 2;
  SmallVector<int64_t> &axes = request.axes;
  if (auto listed = node.integers("axes")) {
    for (int64_t axis : *listed) {
      auto index = node.axis(axis, x.size());
      if (failed(index))
        return failure();
      axes.push_back(*index);
    }
  } else {
    axes =
        llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(x.size())));
  }
  request.shape.assign(x.begin(), x.end());
  request.scales.assign(x.size(), {});
  auto checkCount = [&](int64_t count) -> LogicalResult {
    if (count == static_cast<int64_t>(axes.size()))
      return success();
    return node.fail("expected " + llvm::Twine(axes.size()) +
                     " scales or sizes, got: " + llvm::Twine(count));
  };
  auto isGiven = [&](size_t i) {
    return node.hasInput(i) && countElements(node.shape(i)) != 0;
  };
  if (!old && isGiven(3)) {
    auto sizes = node.constantIntegers(3, "sizes");
    if (failed(sizes) ||
        failed(checkCount(static_cast<int64_t>(sizes->size()))))
      return failure();
    for (auto [axis, size] : llvm::zip_equal(axes, *sizes)) {
      if (size < 1 || size > maxDim)
        return node.fail("expected sizes within bounds, got: " +
                         toString(*sizes));
      auto d = static_cast<size_t>(axis);
      request.shape[d] = size;
      request.scales[d] = {size, x[d]};
    }
    return keepAspectRatio(node, request);
  }
  if (!isGiven(scalesInput))
    return node.fail("expected scales or sizes, got: none");
  auto scales = node.constant(scalesInput, "scales");
  if (failed(scales) || failed(checkCount(scales->size())))
    return failure();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    auto d = static_cast<size_t>(axis);
    auto value = static_cast<float>(scales->number(static_cast<int64_t>(i)));
    std::optional<Rational> scale = rationalOf(value);
    // Of floats, as in ONNX's shape inference: 7/5 of 5 are 7.
    double size = std::floor(static_cast<float>(x[d]) * value);
    if (!scale || !(size >= 1) || size > static_cast<double>(maxDim))
      return node.fail("expected positive scales within bounds, got: " +
                       std::to_string(value));
    request.shape[d] = static_cast<int64_t>(size);
    request.scales[d] = *scale;
  }
  return success();
}

LogicalResult soap::onnx_import::importResize(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  ResizeRequest request;
  bool old = node.opset() < 11;
  request.mode = node.string("mode", "nearest");
  request.coordinates =
      old ? "asymmetric"
          : node.string("coordinate_transformation_mode", "half_pixel");
  request.rounding = node.string("nearest_mode", "round_prefer_floor");
  bool nearest = request.mode == "nearest";
  bool cubic = request.mode == "cubic";
  if (!nearest && !cubic && request.mode != "linear")
    return node.fail("expected mode nearest, linear or cubic, got: '" +
                     request.mode + "'");
  if (!nearest && request.coordinates == "tf_half_pixel_for_nn")
    return node.fail("expected mode nearest for tf_half_pixel_for_nn, got: '" +
                     request.mode + "'");
  bool excludes = node.integer("exclude_outside", 0) != 0;
  if (failed(readSizes(node, request)))
    return failure();
  if (request.coordinates == "tf_crop_and_resize" ||
      node.integer("antialias", 0) != 0 || (excludes && !cubic))
    return resizeByMatrices(node, request);
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  SmallVector<int64_t> numerators, offsets, denominators;
  for (size_t d = 0; d != shape.size(); ++d) {
    auto at = coordinatesOf(request.coordinates, request.scales[d], shape[d],
                            request.shape[d]);
    if (!at)
      return node.fail("expected coordinate_transformation_mode half_pixel, "
                       "half_pixel_symmetric, pytorch_half_pixel, "
                       "tf_half_pixel_for_nn, tf_crop_and_resize, "
                       "align_corners or asymmetric, got: '" +
                       request.coordinates + "'");
    reduce(*at, /*nearest=*/false);
    // Operator set 10 does not say how to round; this follows onnxruntime.
    Rational scale = request.scales[d];
    std::string rounding = !old                ? request.rounding
                           : scale.p < scale.q ? "ceil"
                                               : "floor";
    if (nearest && !applyRounding(rounding, *at))
      return node.fail("expected a nearest_mode of ONNX, got: '" + rounding +
                       "'");
    reduce(*at, nearest);
    int64_t greatest = std::max({at->num, at->den, std::abs(at->off)});
    if (greatest > maxDim / request.shape[d])
      return node.fail("expected scales that are simple fractions, got: " +
                       llvm::Twine(at->den) + " / " + llvm::Twine(at->num));
    numerators.push_back(at->num);
    offsets.push_back(at->off);
    denominators.push_back(at->den);
  }
  auto mode = nn::ResizeModeAttr::get(node.builder().getContext(),
                                      nearest ? nn::ResizeMode::Nearest
                                      : cubic ? nn::ResizeMode::Cubic
                                              : nn::ResizeMode::Linear);
  SmallVector<NamedAttribute> attributes = {
      node.attr("mode", mode), node.attr("numerators", numerators),
      node.attr("offsets", offsets), node.attr("denominators", denominators)};
  if (cubic)
    attributes.push_back(
        node.attr("cubic_a", node.number("cubic_coeff_a", -0.75f)));
  if (excludes)
    attributes.push_back(node.unitAttr("exclude_outside"));
  return node.finish(node.create<nn::ResizeOp>(request.shape, *x, attributes));
}
