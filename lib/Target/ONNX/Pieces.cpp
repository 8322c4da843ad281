//===- Pieces.cpp - Operators that cut and join tensors ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Folding.h"
#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

FailureOr<ConcatShape> soap::onnx_import::concatShape(NodeContext &node) {
  Shape shape(node.shape(0));
  auto axis = node.axis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  auto along = static_cast<size_t>(*axis);
  shape[along] = 0;
  for (size_t i = 0, e = node.numInputs(); i != e; ++i) {
    llvm::ArrayRef<int64_t> x = node.shape(i);
    bool fits = node.hasInput(i) && x.size() == shape.size() &&
                node.input(i).elementType == node.input(0).elementType;
    for (size_t d = 0; fits && d != shape.size(); ++d)
      fits = d == along || x[d] == shape[d];
    if (!fits)
      return node.fail("expected operands of one type and of shapes that are "
                       "equal but for axis " +
                       llvm::Twine(along) + ", got: " +
                       toString(node.shape(0)) + " and " + toString(x));
    shape[along] += x[along];
  }
  return ConcatShape{shape, *axis};
}

LogicalResult soap::onnx_import::importConcat(NodeContext &node) {
  auto joined = concatShape(node);
  if (failed(joined))
    return failure();
  SmallVector<Value> operands;
  for (size_t i = 0, e = node.numInputs(); i != e; ++i) {
    if (node.shape(i)[static_cast<size_t>(joined->axis)] == 0)
      continue;
    auto operand = node.tensor(i, ElementTypes::Any);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  if (operands.size() == 1) {
    node.setResult(0, operands.front());
    return success();
  }
  return node.finish(node.create<nn::ConcatOp>(
      joined->shape, operands, {node.attr("axis", joined->axis)}));
}

FailureOr<SliceBounds> soap::onnx_import::sliceBounds(NodeContext &node) {
  llvm::ArrayRef<int64_t> x = node.shape(0);
  SmallVector<int64_t> starts, ends, axes, steps;
  bool hasAxes = false;
  if (node.opset() < 10) {
    starts = node.integers("starts").value_or(SmallVector<int64_t>());
    ends = node.integers("ends").value_or(SmallVector<int64_t>());
    auto attribute = node.integers("axes");
    hasAxes = attribute.has_value();
    axes = attribute.value_or(SmallVector<int64_t>());
  } else {
    SmallVector<int64_t> *lists[] = {&starts, &ends, &axes, &steps};
    for (size_t i = 1; i != 5; ++i) {
      if (!node.hasInput(i))
        continue;
      auto list = node.constantIntegers(i, "bounds");
      if (failed(list))
        return failure();
      *lists[i - 1] = *list;
    }
    hasAxes = node.hasInput(3);
  }
  if (!hasAxes)
    for (size_t i = 0; i != starts.size(); ++i)
      axes.push_back(static_cast<int64_t>(i));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size())
    return node.fail(
        "expected as many starts, ends, axes and steps, got: " +
        llvm::Twine(starts.size()) + ", " + llvm::Twine(ends.size()) + ", " +
        llvm::Twine(axes.size()) + ", " + llvm::Twine(steps.size()));
  SliceBounds bounds;
  bounds.shape = Shape(x);
  bounds.starts.assign(x.size(), 0);
  bounds.steps.assign(x.size(), 1);
  SmallVector<bool> seen(x.size(), false);
  for (size_t i = 0; i != starts.size(); ++i) {
    auto axis = node.axis(axes[i], x.size());
    if (failed(axis))
      return failure();
    auto d = static_cast<size_t>(*axis);
    int64_t size = x[d], step = steps[i];
    if (step == 0 || step < -maxDim || seen[d])
      return node.fail("expected one step other than 0 per axis, got: " +
                       toString(steps));
    seen[d] = true;
    step = std::min(step, maxDim);
    // Negative bounds count from the end; then both are clamped.
    auto clamp = [&](int64_t bound, int64_t low, int64_t high) {
      if (bound < 0)
        bound = bound < -size ? low : bound + size;
      return std::clamp(bound, low, high);
    };
    int64_t count;
    int64_t start, end;
    if (step > 0) {
      start = clamp(starts[i], 0, size);
      end = clamp(ends[i], 0, size);
      count = end > start ? (end - start + step - 1) / step : 0;
    } else {
      start = size == 0 ? 0 : clamp(starts[i], 0, size - 1);
      end = clamp(ends[i], -1, size - 1);
      count = size != 0 && start > end ? (start - end - step - 1) / -step : 0;
    }
    bounds.starts[d] = start;
    bounds.steps[d] = step;
    bounds.shape[d] = count;
  }
  return bounds;
}

LogicalResult soap::onnx_import::importSlice(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Any);
  auto bounds = sliceBounds(node);
  if (failed(x) || failed(bounds))
    return failure();
  // What has no elements is known.
  if (countElements(bounds->shape) == 0) {
    node.setResult(0,
                   HostTensor::zeros(node.input(0).elementType, bounds->shape));
    return success();
  }
  auto result = node.create<nn::SliceOp>(
      bounds->shape, *x,
      {node.attr("starts", bounds->starts), node.attr("steps", bounds->steps)});
  return node.finish(result);
}

/// The sizes of the results of a Split node.
static FailureOr<SmallVector<int64_t>> splitSizes(NodeContext &node,
                                                  int64_t size) {
  size_t parts = node.numOutputs();
  if (node.opset() < 13) {
    if (auto attribute = node.integers("split"))
      return *attribute;
  } else if (node.hasInput(1)) {
    return node.constantIntegers(1, "sizes");
  }
  int64_t wanted = node.integer("num_outputs", static_cast<int64_t>(parts));
  if (wanted != static_cast<int64_t>(parts))
    return node.fail("expected " + llvm::Twine(wanted) +
                     " outputs, got: " + llvm::Twine(parts));
  bool unevenAllowed = node.hasAttribute("num_outputs");
  if (!unevenAllowed && size % wanted != 0)
    return node.fail("expected a size that " + llvm::Twine(wanted) +
                     " divides, got: " + llvm::Twine(size));
  int64_t chunk = (size + wanted - 1) / wanted;
  SmallVector<int64_t> sizes(parts, chunk);
  sizes.back() = size - chunk * (wanted - 1);
  return sizes;
}

/// The sizes of the results along the axis that they are split along.
static FailureOr<std::pair<size_t, SmallVector<int64_t>>>
splitAlong(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto axis = node.axis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  auto along = static_cast<size_t>(*axis);
  auto sizes = splitSizes(node, shape[along]);
  if (failed(sizes))
    return failure();
  int64_t total = 0;
  bool valid = sizes->size() == node.numOutputs();
  for (int64_t size : *sizes) {
    valid &= size >= 0 && size <= shape[along];
    total += valid ? size : 0;
  }
  if (!valid || total != shape[along])
    return node.fail("expected " + llvm::Twine(node.numOutputs()) +
                     " sizes that add up to " + llvm::Twine(shape[along]) +
                     ", got: " + toString(*sizes));
  return std::make_pair(along, *sizes);
}

LogicalResult soap::onnx_import::foldSplit(NodeContext &node) {
  auto split = splitAlong(node);
  if (failed(split))
    return failure();
  const auto &[along, sizes] = *split;
  const HostTensor &x = node.input(0).host;
  // Elements of one index along the axis, and behind it.
  int64_t inner = 1, start = 0;
  for (size_t d = along + 1; d < x.shape.size(); ++d)
    inner *= x.shape[d];
  for (size_t i = 0; i != sizes.size(); ++i) {
    Shape part(x.shape);
    part[along] = sizes[i];
    auto result = HostTensor::zeros(x.elementType, part);
    int64_t run = sizes[i] * inner, whole = x.shape[along] * inner;
    for (int64_t k = 0, e = result.size(); k != e; ++k)
      copyElement(x, k / run * whole + start * inner + k % run, result, k);
    start += sizes[i];
    node.setResult(i, std::move(result));
  }
  return success();
}

LogicalResult soap::onnx_import::importSplit(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Any);
  auto split = splitAlong(node);
  if (failed(x) || failed(split))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  const size_t along = split->first;
  const auto *sizes = &split->second;
  if (along + 1 == shape.size()) {
    FailureOr<bool> split = splitProduct(node, *sizes);
    if (failed(split) || *split)
      return success(succeeded(split));
  }
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  for (size_t i = 0; i != sizes->size(); ++i) {
    Shape part(shape);
    part[along] = (*sizes)[i];
    if (part[along] == 0) {
      node.setResult(i, HostTensor::zeros(node.input(0).elementType, part));
    } else if (node.usesOutput(i)) {
      auto result = node.create<nn::SliceOp>(
          part, *x, {node.attr("starts", starts), node.attr("steps", steps)},
          "_" + std::to_string(i));
      if (failed(result))
        return failure();
      node.setResult(i, *result);
    }
    starts[along] += part[along];
  }
  return success();
}
