//===- Order.cpp - Operators on places and orders ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include <algorithm>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

/// Operand i as one integer that is known at compile time.
static FailureOr<int64_t> constantInteger(NodeContext &node, size_t i,
                                          llvm::StringRef role) {
  auto host = node.constant(i, role);
  if (failed(host))
    return failure();
  if (host->size() != 1)
    return node.fail("expected one number as " + role + ", got: shape " +
                     toString(host->shape));
  return host->integral() ? host->ints[0]
                          : static_cast<int64_t>(host->number(0));
}

LogicalResult soap::onnx_import::importArg(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Numbers);
  if (failed(x))
    return failure();
  Shape shape(node.shape(0));
  auto axis = node.axis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  bool keepdims = node.integer("keepdims", 1) != 0;
  if (keepdims)
    shape[static_cast<size_t>(*axis)] = 1;
  else
    shape.erase(shape.begin() + *axis);
  SmallVector<NamedAttribute> attributes = {
      node.attr("axis", *axis),
      node.attr("keepdims", node.builder().getBoolAttr(keepdims))};
  if (node.integer("select_last_index", 0) != 0)
    attributes.push_back(node.unitAttr("select_last"));
  Type index = node.builder().getI64Type();
  return node.finish(
      node.node.op_type() == "ArgMax"
          ? node.createOf<nn::ArgMaxOp>(index, shape, *x, attributes)
          : node.createOf<nn::ArgMinOp>(index, shape, *x, attributes));
}

/// K is an attribute before operator set 10, an operand since.
LogicalResult soap::onnx_import::importTopK(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Numbers);
  if (failed(x))
    return failure();
  FailureOr<int64_t> count = node.integer("k", 0);
  if (node.opset() >= 10) {
    if (!node.hasInput(1))
      return node.fail("expected K as an operand, got: none");
    count = constantInteger(node, 1, "K");
  }
  Shape shape(node.shape(0));
  auto axis = node.axis(node.integer("axis", -1), shape.size());
  if (failed(count) || failed(axis))
    return failure();
  int64_t &size = shape[static_cast<size_t>(*axis)];
  if (*count < 1 || *count > size)
    return node.fail("expected K of 1 to " + llvm::Twine(size) +
                     ", got: " + llvm::Twine(*count));
  size = *count;
  SmallVector<NamedAttribute> attributes = {node.attr("axis", *axis)};
  if (node.integer("largest", 1) == 0)
    attributes.push_back(node.unitAttr("smallest"));
  auto element = cast<RankedTensorType>(x->getType()).getElementType();
  auto op = node.createNamed(
      nn::TopKOp::getOperationName(),
      {RankedTensorType::get(shape, element),
       RankedTensorType::get(shape, node.builder().getI64Type())},
      *x, attributes);
  if (failed(op))
    return failure();
  node.setResult(0, (*op)->getResult(0));
  node.setResult(1, (*op)->getResult(1));
  return success();
}

LogicalResult soap::onnx_import::importCumSum(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Numbers);
  auto along = constantInteger(node, 1, "axes");
  if (failed(x) || failed(along))
    return failure();
  auto axis = node.axis(*along, node.shape(0).size());
  if (failed(axis))
    return failure();
  SmallVector<NamedAttribute> attributes = {node.attr("axis", *axis)};
  for (llvm::StringRef name : {"exclusive", "reverse"})
    if (node.integer(name, 0) != 0)
      attributes.push_back(node.unitAttr(name));
  return node.finish(node.create<nn::CumSumOp>(node.shape(0), *x, attributes));
}

LogicalResult soap::onnx_import::importTrilu(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  if (node.shape(0).size() < 2)
    return node.fail("expected matrices, got: " + toString(node.shape(0)));
  FailureOr<int64_t> diagonal = 0;
  if (node.hasInput(1))
    diagonal = constantInteger(node, 1, "diagonals");
  if (failed(diagonal))
    return failure();
  // Beyond the corners all diagonals are alike.
  SmallVector<NamedAttribute> attributes = {
      node.attr("diagonal", std::clamp(*diagonal, -maxDim, maxDim))};
  if (node.integer("upper", 1) != 0)
    attributes.push_back(node.unitAttr("upper"));
  return node.finish(node.create<nn::TriluOp>(node.shape(0), *x, attributes));
}

LogicalResult soap::onnx_import::importOneHot(NodeContext &node) {
  auto indices = node.tensor(0, ElementTypes::Numbers);
  auto depth = constantInteger(node, 1, "depths");
  auto values = node.tensor(2, ElementTypes::Any);
  if (failed(indices) || failed(depth) || failed(values))
    return failure();
  if (*depth < 1 || *depth > maxDim)
    return node.fail("expected a depth within bounds, got: " +
                     llvm::Twine(*depth));
  if (node.shape(2) != llvm::ArrayRef<int64_t>{2})
    return node.fail("expected two values, got: " + toString(node.shape(2)));
  Shape shape(node.shape(0));
  auto axis = node.axis(node.integer("axis", -1), shape.size() + 1);
  if (failed(axis))
    return failure();
  if (shape.size() == static_cast<size_t>(nn::maxRank))
    return node.fail("expected indices of rank 7 or less, got: " +
                     toString(shape));
  int type = node.input(0).elementType;
  if (type != onnx::TensorProto::INT32 && type != onnx::TensorProto::INT64)
    indices = node.createOf<nn::CastOp>(node.builder().getI64Type(), shape,
                                        *indices, {}, "_indices");
  if (failed(indices))
    return failure();
  shape.insert(shape.begin() + *axis, *depth);
  return node.finish(node.createOf<nn::OneHotOp>(
      node.elementType(node.input(2).elementType), shape, {*indices, *values},
      {node.attr("axis", *axis)}));
}
