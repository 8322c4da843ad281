//===- Pad.cpp - Pad in all its modes ---------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include <algorithm>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

namespace {
/// What a Pad node asks for, per dimension.
struct Padding {
  SmallVector<int64_t> lo, hi; ///< Negative where elements are cut off.
  Attribute value;             ///< Of the operand's type.

  bool isNone() const {
    auto isZero = [](int64_t pad) { return pad == 0; };
    return llvm::all_of(lo, isZero) && llvm::all_of(hi, isZero);
  }
};
} // namespace

/// Pads and value: attributes before operator set 11, operands since.
static LogicalResult readPads(NodeContext &node, Padding &padding) {
  size_t rank = node.shape(0).size();
  SmallVector<int64_t> pads,
      axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  HostTensor value = HostTensor::zeros(node.input(0).elementType, {});
  value.setNumber(0, static_cast<double>(node.number("value", 0)));
  if (node.opset() < 11) {
    pads = node.integers("pads").value_or(SmallVector<int64_t>());
  } else {
    if (!node.hasInput(1))
      return node.fail("expected pads, got: none");
    auto operand = node.constantIntegers(1, "pads");
    if (failed(operand))
      return failure();
    pads = *operand;
    if (node.hasInput(2)) {
      auto constant = node.constant(2, "values");
      if (failed(constant))
        return failure();
      if (constant->size() != 1)
        return node.fail("expected one number as value, got: shape " +
                         toString(constant->shape));
      if (constant->elementType != value.elementType)
        return node.fail("expected a value of the operand's type, got: " +
                         typeName(constant->elementType));
      value = *constant;
    }
    if (node.hasInput(3)) {
      auto listed = node.constantIntegers(3, "axes");
      if (failed(listed))
        return failure();
      axes = *listed;
    }
  }
  Type type = node.elementType(value.elementType);
  if (value.integral())
    padding.value = node.builder().getIntegerAttr(type, value.ints[0]);
  else
    padding.value = node.builder().getFloatAttr(type, value.floats[0]);
  if (pads.size() != 2 * axes.size())
    return node.fail(
        "expected two pads per axis, got: " + llvm::Twine(pads.size()) +
        " for " + llvm::Twine(axes.size()) + " axes");
  padding.lo.assign(rank, 0);
  padding.hi.assign(rank, 0);
  for (size_t i = 0; i != axes.size(); ++i) {
    auto axis = node.axis(axes[i], rank);
    if (failed(axis))
      return failure();
    int64_t before = pads[i], behind = pads[axes.size() + i];
    if (std::abs(before) > maxDim || std::abs(behind) > maxDim)
      return node.fail("expected pads within bounds, got: " + toString(pads));
    padding.lo[static_cast<size_t>(*axis)] = before;
    padding.hi[static_cast<size_t>(*axis)] = behind;
  }
  return success();
}

/// Negative pads crop: they become a slice, and are 0 behind it.
static FailureOr<Value> crop(NodeContext &node, Value x, Padding &padding) {
  Shape cropped(cast<RankedTensorType>(x.getType()).getShape());
  SmallVector<int64_t> starts(cropped.size(), 0), steps(cropped.size(), 1);
  bool crops = false;
  for (size_t d = 0; d != cropped.size(); ++d) {
    starts[d] = std::max<int64_t>(-padding.lo[d], 0);
    int64_t cut = starts[d] + std::max<int64_t>(-padding.hi[d], 0);
    crops |= cut != 0;
    cropped[d] -= cut;
    padding.lo[d] = std::max<int64_t>(padding.lo[d], 0);
    padding.hi[d] = std::max<int64_t>(padding.hi[d], 0);
  }
  if (!crops)
    return x;
  return node.create<nn::SliceOp>(
      cropped, x, {node.attr("starts", starts), node.attr("steps", steps)},
      padding.isNone() ? "" : "_crop");
}

/// The element of [0, size) that place `at`, inside or outside, repeats.
static int64_t repeatedPlace(llvm::StringRef mode, int64_t at, int64_t size) {
  if (mode == "edge" || size == 1)
    return std::clamp<int64_t>(at, 0, size - 1);
  int64_t period = mode == "wrap" ? size : 2 * (size - 1);
  int64_t place = (at % period + period) % period;
  return place < size ? place : period - place;
}

/// A look-up of known rows per dimension that is padded.
static FailureOr<Value> repeat(NodeContext &node, Value x,
                               const Padding &padding, llvm::StringRef mode) {
  SmallVector<size_t> padded;
  for (size_t d = 0; d != padding.lo.size(); ++d)
    if (padding.lo[d] != 0 || padding.hi[d] != 0)
      padded.push_back(d);
  FailureOr<Value> result = x;
  for (size_t d : padded) {
    Shape shape(cast<RankedTensorType>(result->getType()).getShape());
    int64_t size = shape[d];
    shape[d] += padding.lo[d] + padding.hi[d];
    if (shape[d] > maxHostElements)
      return node.fail(
          "expected at most " + llvm::Twine(maxHostElements) +
          " elements along a dimension that repeats others, got: " +
          llvm::Twine(shape[d]));
    HostTensor rows = HostTensor::zeros(onnx::TensorProto::INT64, {shape[d]});
    for (int64_t i = 0; i != shape[d]; ++i)
      rows.setInteger(i, repeatedPlace(mode, i - padding.lo[d], size));
    std::string suffix = "_" + std::to_string(d);
    Value indices = node.constantTensor(std::move(rows), suffix + "_rows");
    result = node.create<nn::GatherOp>(
        shape, {*result, indices}, {node.attr("axis", static_cast<int64_t>(d))},
        d == padded.back() ? "" : suffix);
    if (failed(result))
      return failure();
  }
  return result;
}

/// Nothing, padded: the value in every place.
static LogicalResult importFilled(NodeContext &node, const Padding &padding) {
  Shape shape(node.shape(0));
  for (auto [size, before, behind] :
       llvm::zip_equal(shape, padding.lo, padding.hi))
    size += before + behind;
  Body body(node);
  std::string value = node.opset() >= 11 && node.hasInput(2)
                          ? body.input(2)
                          : body.number(node.number("value", 0));
  return body.finish(
      {body.add("Expand", {body.reshape(value, {}), body.integers(shape)})});
}

LogicalResult soap::onnx_import::importPad(NodeContext &node) {
  std::string mode = node.string("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" &&
      mode != "wrap")
    return node.fail("expected mode constant, reflect, edge or wrap, got: '" +
                     mode + "'");
  Padding padding;
  if (failed(readPads(node, padding)))
    return failure();
  if (mode == "constant" && llvm::is_contained(node.shape(0), 0))
    return importFilled(node, padding);
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  bool crops = llvm::any_of(llvm::concat<int64_t>(padding.lo, padding.hi),
                            [](int64_t pad) { return pad < 0; });
  auto source = crop(node, *x, padding);
  if (failed(source))
    return failure();
  if (padding.isNone() && crops)
    return node.finish(source);
  if (mode != "constant" && padding.isNone())
    return importIdentity(node);
  if (mode != "constant")
    return node.finish(repeat(node, *source, padding, mode));
  Shape result(cast<RankedTensorType>(source->getType()).getShape());
  for (auto [size, before, behind] :
       llvm::zip_equal(result, padding.lo, padding.hi))
    size += before + behind;
  return node.finish(node.create<nn::PadOp>(
      result, *source,
      {node.attr("pads_lo", padding.lo), node.attr("pads_hi", padding.hi),
       node.attr("value", padding.value)}));
}
