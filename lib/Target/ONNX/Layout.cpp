//===- Layout.cpp - Operators that reshape and transpose --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

LogicalResult soap::onnx_import::importIdentity(NodeContext &node) {
  node.setResult(0, ImportedValue(node.input(0)));
  return success();
}

/// Gives operand 0 another shape with as many elements. Constants stay
/// constants: the elements do not move.
static LogicalResult reshapeTo(NodeContext &node,
                               llvm::ArrayRef<int64_t> shape) {
  ImportedValue &input = node.input(0);
  if (!countElements(shape) ||
      countElements(shape) != countElements(input.shape))
    return node.fail("expected a shape of " +
                     llvm::Twine(countElements(input.shape).value_or(0)) +
                     " elements for an input of shape " +
                     toString(input.shape) + ", got: " + toString(shape));
  if (input.kind != ImportedValue::Kind::Tensor) {
    ImportedValue view = input;
    view.shape.assign(shape.begin(), shape.end());
    view.host.shape = view.shape;
    if (view.shape != input.shape)
      view.value = nullptr;
    // A scalar is a constant, not a parameter.
    if (view.kind == ImportedValue::Kind::Stored && shape.empty()) {
      auto host = node.constant(0, "scalars");
      if (failed(host))
        return failure();
      host->shape.clear();
      node.setResult(0, std::move(*host));
      return success();
    }
    node.setResult(0, std::move(view));
    return success();
  }
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  auto result = node.reshape(*x, shape);
  return node.finish(result);
}

LogicalResult soap::onnx_import::importReshape(NodeContext &node) {
  auto wanted = node.constantIntegers(1, "shapes");
  if (failed(wanted))
    return failure();
  llvm::ArrayRef<int64_t> x = node.shape(0);
  if (wanted->size() > maxRank)
    return node.fail("expected a rank of at most " + llvm::Twine(maxRank) +
                     ", got: " + llvm::Twine(wanted->size()));
  bool zeroIsZero = node.integer("allowzero", 0) != 0;
  // The shape with `first` as its first entry, 0 copied and -1 inferred, or
  // nullopt if no number of elements fits.
  auto resolve = [&](std::optional<int64_t> first) -> std::optional<Shape> {
    Shape shape(wanted->begin(), wanted->end());
    if (first)
      shape[0] = *first;
    std::optional<size_t> inferred;
    for (size_t i = 0; i != shape.size(); ++i) {
      if (shape[i] == 0 && !zeroIsZero) {
        if (i >= x.size())
          return std::nullopt;
        shape[i] = x[i];
      } else if (shape[i] == -1) {
        if (inferred)
          return std::nullopt;
        inferred = i;
        shape[i] = 1;
      }
    }
    std::optional<int64_t> known = countElements(shape);
    int64_t total = countElements(x).value_or(0);
    if (inferred && known && *known != 0 && total % *known == 0)
      shape[*inferred] = total / *known;
    if (countElements(shape) != total)
      return std::nullopt;
    return shape;
  };
  std::optional<Shape> shape = resolve(std::nullopt);
  // --batch replaces the size that the file fixes, here too.
  std::optional<int64_t> oldBatch = node.oldBatch();
  bool infers = llvm::is_contained(*wanted, -1);
  bool fixesBatch = oldBatch && !wanted->empty() &&
                    wanted->front() == *oldBatch && !x.empty() &&
                    node.input(0).kind == ImportedValue::Kind::Tensor;
  if (fixesBatch && (!shape || (infers && x[0] == *node.newBatch())))
    if (std::optional<Shape> batched = resolve(*node.newBatch()))
      shape = batched;
  if (!shape)
    return node.fail("expected a shape that fits an input of shape " +
                     toString(x) + ", got: " + toString(*wanted) +
                     (oldBatch ? "; the model fixes its batch size here" : ""));
  return reshapeTo(node, *shape);
}

LogicalResult soap::onnx_import::importFlatten(NodeContext &node) {
  llvm::ArrayRef<int64_t> x = node.shape(0);
  int64_t axis = node.integer("axis", 1);
  auto rank = static_cast<int64_t>(x.size());
  if (axis < -rank || axis > rank)
    return node.fail("expected an axis inside rank " + llvm::Twine(rank) +
                     ", got: " + llvm::Twine(axis));
  if (axis < 0)
    axis += rank;
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i != rank; ++i)
    (i < axis ? outer : inner) *= x[static_cast<size_t>(i)];
  return reshapeTo(node, {outer, inner});
}

/// The axes of Squeeze and Unsqueeze: an attribute before operator set 13, an
/// operand since. Sorted, without repetitions; `found` says whether there are.
static FailureOr<SmallVector<int64_t>> axesOf(NodeContext &node, size_t rank,
                                              bool &found) {
  SmallVector<int64_t> axes;
  found = true;
  if (node.opset() < 13) {
    auto attribute = node.integers("axes");
    found = attribute.has_value();
    axes = attribute.value_or(SmallVector<int64_t>());
  } else if (node.hasInput(1)) {
    auto operand = node.constantIntegers(1, "axes");
    if (failed(operand))
      return failure();
    axes = *operand;
  } else {
    found = false;
  }
  rank += node.node.op_type() == "Unsqueeze" ? axes.size() : 0;
  for (int64_t &axis : axes) {
    auto index = node.axis(axis, rank);
    if (failed(index))
      return failure();
    axis = *index;
  }
  llvm::sort(axes);
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return node.fail("expected different axes, got: " + toString(axes));
  return axes;
}

LogicalResult soap::onnx_import::importSqueeze(NodeContext &node) {
  llvm::ArrayRef<int64_t> x = node.shape(0);
  bool found;
  auto axes = axesOf(node, x.size(), found);
  if (failed(axes))
    return failure();
  Shape shape;
  for (size_t i = 0; i != x.size(); ++i) {
    bool drop =
        found ? llvm::is_contained(*axes, static_cast<int64_t>(i)) : x[i] == 1;
    if (!drop)
      shape.push_back(x[i]);
    else if (x[i] != 1)
      return node.fail("expected dimension " + llvm::Twine(i) +
                       " of size 1, got: " + toString(x));
  }
  return reshapeTo(node, shape);
}

LogicalResult soap::onnx_import::importUnsqueeze(NodeContext &node) {
  llvm::ArrayRef<int64_t> x = node.shape(0);
  bool found;
  auto axes = axesOf(node, x.size(), found);
  if (failed(axes))
    return failure();
  if (!found)
    return node.fail("expected axes, got: none");
  if (x.size() + axes->size() > maxRank)
    return node.fail("expected a rank of at most " + llvm::Twine(maxRank) +
                     ", got: " + llvm::Twine(x.size() + axes->size()));
  Shape shape(x);
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + axis, 1);
  return reshapeTo(node, shape);
}

FailureOr<SmallVector<int64_t>>
soap::onnx_import::permutationOf(NodeContext &node) {
  size_t rank = node.shape(0).size();
  SmallVector<int64_t> permutation;
  if (auto attribute = node.integers("perm"))
    permutation = *attribute;
  else
    for (size_t i = rank; i-- != 0;)
      permutation.push_back(static_cast<int64_t>(i));
  SmallVector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  bool valid = sorted.size() == rank;
  for (size_t i = 0; valid && i != rank; ++i)
    valid = sorted[i] == static_cast<int64_t>(i);
  if (!valid)
    return node.fail("expected a permutation of " + llvm::Twine(rank) +
                     " dimensions, got: " + toString(permutation));
  return permutation;
}

LogicalResult soap::onnx_import::importTranspose(NodeContext &node) {
  auto permutation = permutationOf(node);
  if (failed(permutation))
    return failure();
  Shape shape;
  for (int64_t dim : *permutation)
    shape.push_back(node.shape(0)[static_cast<size_t>(dim)]);
  ImportedValue &input = node.input(0);
  // All elements of a splat are equal.
  if (input.kind == ImportedValue::Kind::Stored &&
      isa<nn::SplatAttr>(input.source) && shape == input.shape)
    return importIdentity(node);
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  auto result = node.create<nn::TransposeOp>(
      shape, *x, {node.attr("permutation", *permutation)});
  return node.finish(result);
}
