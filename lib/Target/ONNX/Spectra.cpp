//===- Spectra.cpp - Fourier transforms and what goes with them -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Fourier transform of a length that is known is a product with a constant
// matrix. This takes n^2 operations, not n log n, but they are those of a
// matrix product, and speech has n = 400.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

/// More elements than this has no matrix of a transform.
static constexpr int64_t maxMatrix = maxTableElements;

namespace {
/// A transform along one dimension, of `inputs` elements with `inputParts`
/// parts (real, imaginary) to `outputs` elements with `outputParts` parts.
struct Transform {
  int64_t length; ///< N of the definition.
  int64_t inputs, inputParts, outputs, outputParts;
  bool inverse;
  bool oneSided; ///< Half of a symmetric spectrum is left out.
};
} // namespace

static int64_t countOf(const Transform &transform) {
  return transform.inputs * transform.inputParts * transform.outputs *
         transform.outputParts;
}

/// The matrix that rows (element, part) are multiplied with from the right.
static SmallVector<double> matrixOf(const Transform &t) {
  SmallVector<double> matrix(static_cast<size_t>(countOf(t)), 0);
  int64_t columns = t.outputs * t.outputParts;
  double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
  for (int64_t in = 0; in < std::min(t.inputs, t.length); ++in) {
    // What is left out of the spectrum mirrors what is there.
    bool twice = t.inverse && t.oneSided && in != 0 && 2 * in != t.length;
    for (int64_t out = 0; out != t.outputs; ++out) {
      double angle = 2 * M_PI * static_cast<double>(in * out % t.length) /
                     static_cast<double>(t.length);
      double real = std::cos(angle) * scale * (twice ? 2 : 1);
      double imaginary =
          (t.inverse ? 1 : -1) * std::sin(angle) * scale * (twice ? 2 : 1);
      auto at = [&](int64_t inPart, int64_t outPart) -> double & {
        return matrix[static_cast<size_t>((in * t.inputParts + inPart) *
                                              columns +
                                          out * t.outputParts + outPart)];
      };
      at(0, 0) = real;
      if (t.inputParts == 2)
        at(1, 0) = -imaginary;
      if (t.outputParts == 2) {
        at(0, 1) = imaginary;
        if (t.inputParts == 2)
          at(1, 1) = real;
      }
    }
  }
  return matrix;
}

/// `x` of shape [.., inputs, inputParts] becomes [.., outputs, outputParts].
static std::string apply(Body &body, const Transform &transform,
                         const std::string &x, llvm::ArrayRef<int64_t> batch) {
  int64_t rows = transform.inputs * transform.inputParts;
  int64_t columns = transform.outputs * transform.outputParts;
  Shape flat(batch), result(batch);
  flat.push_back(rows);
  result.push_back(transform.outputs);
  result.push_back(transform.outputParts);
  std::string matrix = body.numbers({rows, columns}, matrixOf(transform));
  return body.reshape(body.add("MatMul", {body.reshape(x, flat), matrix}),
                      result);
}

LogicalResult soap::onnx_import::importDFT(NodeContext &node) {
  Shape shape(node.shape(0));
  if (shape.size() < 2 || shape.back() < 1 || shape.back() > 2)
    return node.fail("expected a last dimension of size 1 (real) or 2 "
                     "(complex), got: " +
                     toString(shape));
  // An attribute before operator set 20.
  int64_t wanted = node.opset() < 20 ? node.integer("axis", 1) : -2;
  std::optional<int64_t> length;
  for (size_t i = 1; i != 3; ++i) {
    if (!node.hasInput(i))
      continue;
    auto value = node.constantIntegers(i, i == 1 ? "lengths" : "axes");
    if (failed(value))
      return failure();
    if (value->size() != 1)
      return node.fail("expected one number as length and axis, got: " +
                       toString(*value));
    if (i == 1)
      length = value->front();
    else
      wanted = value->front();
  }
  auto axis = node.axis(wanted, shape.size());
  if (failed(axis))
    return failure();
  if (*axis == static_cast<int64_t>(shape.size()) - 1)
    return node.fail("expected an axis in front of the last one, got: " +
                     llvm::Twine(wanted));
  Transform transform;
  transform.inverse = node.integer("inverse", 0) != 0;
  transform.oneSided = node.integer("onesided", 0) != 0;
  transform.inputs = shape[static_cast<size_t>(*axis)];
  transform.inputParts = shape.back();
  bool back = transform.inverse && transform.oneSided;
  transform.length =
      length.value_or(back ? 2 * (transform.inputs - 1) : transform.inputs);
  transform.outputs =
      transform.oneSided && !back ? transform.length / 2 + 1 : transform.length;
  transform.outputParts = back ? 1 : 2;
  if (transform.length < 1 || transform.length > maxMatrix ||
      countOf(transform) > maxMatrix)
    return node.fail("expected a transform whose matrix has at most " +
                     llvm::Twine(maxMatrix) + " elements, got: length " +
                     llvm::Twine(transform.length));
  // A spectrum that is longer than half of the result is cut, too.
  Body body(node);
  std::string x = body.input(0);
  if (int64_t most = back ? transform.length / 2 + 1 : transform.length;
      transform.inputs > most) {
    x = body.slice(x, *axis, 0, most);
    transform.inputs = most;
  }
  SmallVector<int64_t> order(shape.size()), inverse(shape.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + *axis);
  order.insert(order.end() - 1, *axis);
  Shape batch;
  for (auto [to, from] : llvm::enumerate(order)) {
    inverse[static_cast<size_t>(from)] = static_cast<int64_t>(to);
    if (to + 2 < order.size())
      batch.push_back(shape[static_cast<size_t>(from)]);
  }
  bool moves = order != inverse || !llvm::is_sorted(order);
  if (moves)
    x = body.transpose(x, order);
  std::string result = apply(body, transform, x, batch);
  return body.finish({moves ? body.transpose(result, inverse) : result});
}

LogicalResult soap::onnx_import::importSTFT(NodeContext &node) {
  Shape shape(node.shape(0));
  auto step = node.constantIntegers(1, "frame steps");
  if (failed(step))
    return failure();
  int64_t length =
      node.hasInput(2) && node.shape(2).size() == 1 ? node.shape(2)[0] : 0;
  if (node.hasInput(3)) {
    auto given = node.constantIntegers(3, "frame lengths");
    if (failed(given))
      return failure();
    length = given->empty() ? 0 : given->front();
  }
  if (shape.size() == 2)
    shape.push_back(1);
  if (shape.size() != 3 || shape[2] < 1 || shape[2] > 2 || step->size() != 1 ||
      step->front() < 1 || length < 1 || length > shape[1] ||
      (node.hasInput(2) && node.shape(2) != llvm::ArrayRef<int64_t>(length)))
    return node.fail("expected signals of shape [n, samples, 1 or 2], a frame "
                     "length of at most as many samples, a window of this "
                     "length and a positive step, got: " +
                     toString(shape) + ", length " + llvm::Twine(length));
  int64_t frames = (shape[1] - length) / step->front() + 1;
  Transform transform;
  transform.inverse = false;
  transform.oneSided = node.integer("onesided", 1) != 0;
  transform.length = transform.inputs = length;
  transform.inputParts = shape[2];
  transform.outputs = transform.oneSided ? length / 2 + 1 : length;
  transform.outputParts = 2;
  if (countOf(transform) > maxMatrix || frames > maxMatrix / length)
    return node.fail("expected a transform whose matrix has at most " +
                     llvm::Twine(maxMatrix) + " elements, got: length " +
                     llvm::Twine(length));
  Body body(node);
  SmallVector<int64_t> samples;
  for (int64_t frame = 0; frame != frames; ++frame)
    for (int64_t k = 0; k != length; ++k)
      samples.push_back(frame * step->front() + k);
  std::string x = body.add("Gather",
                           {body.reshape(body.input(0), shape),
                            body.integers({frames, length}, samples)},
                           {{"axis", int64_t{1}}});
  if (node.hasInput(2))
    x = body.add("Mul", {x, body.reshape(body.input(2), {length, 1})});
  return body.finish({apply(body, transform, x, {shape[0], frames})});
}

/// Triangles over a spectrum, equally wide on the mel scale.
LogicalResult soap::onnx_import::foldMelWeightMatrix(NodeContext &node) {
  for (size_t i = 0; i != 5; ++i)
    if (node.input(i).host.size() != 1)
      return node.fail("expected five numbers, got: shape " +
                       toString(node.shape(i)));
  auto value = [&](size_t i) { return node.input(i).host.number(0); };
  double bins = value(0), length = value(1), rate = value(2);
  double rows = std::floor(length / 2) + 1;
  if (!(bins >= 1 && length >= 1 && rate > 0 &&
        bins * rows <= static_cast<double>(maxHostElements)))
    return node.fail("expected a matrix of at most " +
                     llvm::Twine(maxHostElements) + " elements, got: " +
                     std::to_string(rows) + " x " + std::to_string(bins));
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = mel(value(3)), step = (mel(value(4)) - low) / (bins + 2);
  SmallVector<int64_t> ends; // Rows where triangles start, in their order.
  for (int64_t k = 0; k != static_cast<int64_t>(bins) + 2; ++k) {
    double hertz =
        700 * (std::pow(10, (low + static_cast<double>(k) * step) / 2595) - 1);
    double row = std::floor((length + 1) * hertz / rate);
    if (!(row >= 0 && row < rows))
      return node.fail("expected frequencies inside the spectrum, got: " +
                       std::to_string(hertz) + " Hz at " +
                       std::to_string(rate) + " samples per second");
    ends.push_back(static_cast<int64_t>(row));
  }
  auto columns = static_cast<int64_t>(bins);
  auto type =
      static_cast<int>(node.integer("output_datatype", TensorProto::FLOAT));
  if (!isKnownType(type))
    return node.fail("expected a type of numbers, got: " + typeName(type));
  HostTensor result =
      HostTensor::zeros(type, {static_cast<int64_t>(rows), columns});
  for (int64_t k = 0; k != columns; ++k) {
    auto at = static_cast<size_t>(k);
    int64_t first = ends[at], middle = ends[at + 1], last = ends[at + 2];
    auto set = [&](int64_t row, int64_t part, int64_t whole) {
      result.setNumber(row * columns + k,
                       static_cast<double>(part) / static_cast<double>(whole));
    };
    if (first == middle)
      set(middle, 1, 1);
    else
      for (int64_t row = first; row <= middle; ++row)
        set(row, row - first, middle - first);
    for (int64_t row = middle; row < last; ++row)
      set(row, last - row, last - middle);
  }
  node.setResult(0, std::move(result));
  return success();
}
