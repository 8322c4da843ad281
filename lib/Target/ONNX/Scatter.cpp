//===- Scatter.cpp - Look-ups and stores, by element ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

/// Reports indices that have not the rank of `whole`, or are larger but along
/// `axis`.
static LogicalResult checkElementIndices(NodeContext &node,
                                         llvm::ArrayRef<int64_t> whole,
                                         llvm::ArrayRef<int64_t> indices,
                                         int64_t axis) {
  bool fits = whole.size() == indices.size();
  for (size_t i = 0; fits && i != whole.size(); ++i)
    fits = static_cast<int64_t>(i) == axis || indices[i] <= whole[i];
  if (fits)
    return success();
  return node.fail("expected indices that fit into " + toString(whole) +
                   " but along the axis, got: " + toString(indices));
}

LogicalResult soap::onnx_import::importGatherElements(NodeContext &node) {
  auto data = node.tensor(0, ElementTypes::Any);
  auto indices = node.tensor(1, ElementTypes::Indices);
  if (failed(data) || failed(indices))
    return failure();
  auto axis = node.axis(node.integer("axis", 0), node.shape(0).size());
  if (failed(axis) ||
      failed(checkElementIndices(node, node.shape(0), node.shape(1), *axis)))
    return failure();
  return node.finish(node.create<nn::GatherElementsOp>(
      node.shape(1), {*data, *indices}, {node.attr("axis", *axis)}));
}

LogicalResult soap::onnx_import::importGatherND(NodeContext &node) {
  auto data = node.tensor(0, ElementTypes::Any);
  auto indices = node.tensor(1, ElementTypes::Indices);
  if (failed(data) || failed(indices))
    return failure();
  llvm::ArrayRef<int64_t> x = node.shape(0), at = node.shape(1);
  int64_t batch = node.integer("batch_dims", 0);
  int64_t most = static_cast<int64_t>(std::min(x.size(), at.size())) - 1;
  if (batch < 0 || batch > most)
    return node.fail("expected batch_dims of 0 to " + llvm::Twine(most) +
                     ", got: " + llvm::Twine(batch));
  auto shared = static_cast<size_t>(batch);
  int64_t indexed = at.back();
  if (x.take_front(shared) != at.take_front(shared) ||
      indexed > static_cast<int64_t>(x.size()) - batch)
    return node.fail("expected indices of dimensions of " + toString(x) +
                     " behind the first " + llvm::Twine(batch) +
                     ", which are equal, got: " + toString(at));
  Shape shape(at.drop_back());
  llvm::append_range(shape,
                     x.drop_front(shared + static_cast<size_t>(indexed)));
  if (shape.size() > static_cast<size_t>(nn::maxRank))
    return node.fail("expected a result of rank 8 or less, got: " +
                     toString(shape));
  return node.finish(node.create<nn::GatherNDOp>(
      shape, {*data, *indices}, {node.attr("batch_dims", batch)}));
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Then the data stay as they are.
static bool hasNoUpdates(NodeContext &node) {
  return llvm::is_contained(node.shape(1), 0) &&
         llvm::is_contained(node.shape(2), 0);
}

/// The operands of a scatter, in the order of the op, and its reduction.
static LogicalResult readStore(NodeContext &node, SmallVector<Value> &operands,
                               SmallVector<NamedAttribute> &attributes) {
  auto data = node.tensor(0, ElementTypes::Any);
  auto indices = node.tensor(1, ElementTypes::Indices);
  auto updates = node.tensor(2, ElementTypes::Any);
  if (failed(data) || failed(indices) || failed(updates))
    return failure();
  if (node.input(0).elementType != node.input(2).elementType)
    return node.fail("expected data and updates of one type, got: " +
                     typeName(node.input(0).elementType) + " and " +
                     typeName(node.input(2).elementType));
  operands = {*indices, *updates, *data};
  std::string name = node.string("reduction", "none");
  if (name == "none")
    return success();
  auto kind = llvm::StringSwitch<std::optional<nn::ReduceKind>>(name)
                  .Case("add", nn::ReduceKind::Sum)
                  .Case("mul", nn::ReduceKind::Prod)
                  .Case("max", nn::ReduceKind::Max)
                  .Case("min", nn::ReduceKind::Min)
                  .Default(std::nullopt);
  if (!kind)
    return node.fail("expected reduction none, add, mul, max or min, got: '" +
                     name + "'");
  if (node.input(0).elementType == onnx::TensorProto::BOOL)
    return node.fail("expected numbers for reduction '" + name +
                     "', got: BOOL");
  attributes.push_back(
      node.attr("reduction",
                nn::ReduceKindAttr::get(node.builder().getContext(), *kind)));
  return success();
}

LogicalResult soap::onnx_import::importScatterElements(NodeContext &node) {
  if (hasNoUpdates(node))
    return importIdentity(node);
  SmallVector<Value> operands;
  SmallVector<NamedAttribute> attributes;
  if (failed(readStore(node, operands, attributes)))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto axis = node.axis(node.integer("axis", 0), shape.size());
  if (failed(axis) ||
      failed(checkElementIndices(node, shape, node.shape(1), *axis)))
    return failure();
  if (node.shape(2) != node.shape(1))
    return node.fail("expected updates of the indices' shape " +
                     toString(node.shape(1)) +
                     ", got: " + toString(node.shape(2)));
  attributes.push_back(node.attr("axis", *axis));
  return node.finish(node.createOf<nn::ScatterElementsOp>(
      cast<RankedTensorType>(operands.back().getType()).getElementType(), shape,
      operands, attributes));
}

LogicalResult soap::onnx_import::importScatterND(NodeContext &node) {
  if (hasNoUpdates(node))
    return importIdentity(node);
  SmallVector<Value> operands;
  SmallVector<NamedAttribute> attributes;
  if (failed(readStore(node, operands, attributes)))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0), at = node.shape(1);
  if (at.empty() || at.back() > static_cast<int64_t>(shape.size()))
    return node.fail("expected indices of dimensions of " + toString(shape) +
                     ", got: " + toString(at));
  Shape updates(at.drop_back());
  llvm::append_range(updates, shape.drop_front(static_cast<size_t>(at.back())));
  if (node.shape(2) != llvm::ArrayRef<int64_t>(updates))
    return node.fail("expected updates of shape " + toString(updates) +
                     ", got: " + toString(node.shape(2)));
  return node.finish(node.createOf<nn::ScatterNDOp>(
      cast<RankedTensorType>(operands.back().getType()).getElementType(), shape,
      operands, attributes));
}
