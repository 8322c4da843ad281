//===- Elementwise.cpp - Operators per element ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

/// A chain of binary ops over all operands (Sum, Max and Min take any number).
template <typename Op>
static LogicalResult importChain(NodeContext &node) {
  auto result = node.tensor(0);
  if (failed(result))
    return failure();
  Shape shape(node.shape(0));
  for (size_t i = 1, e = node.numInputs(); i != e; ++i) {
    auto operand = node.tensor(i);
    if (failed(operand))
      return failure();
    auto joined = node.broadcast(shape, node.shape(i));
    if (failed(joined))
      return failure();
    shape = *joined;
    std::string suffix = i + 1 == e ? "" : "_" + std::to_string(i);
    result = node.create<Op>(shape, {*result, *operand}, {}, suffix);
    if (failed(result))
      return failure();
  }
  node.setResult(0, *result);
  return success();
}

template <typename Op>
static LogicalResult importUnary(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  auto result = node.create<Op>(node.shape(0), *x);
  if (failed(result))
    return failure();
  node.setResult(0, *result);
  return success();
}

LogicalResult soap::onnx_import::importAdd(NodeContext &node) {
  return importChain<nn::AddOp>(node);
}
LogicalResult soap::onnx_import::importSub(NodeContext &node) {
  return importChain<nn::SubOp>(node);
}
LogicalResult soap::onnx_import::importMul(NodeContext &node) {
  return importChain<nn::MulOp>(node);
}
LogicalResult soap::onnx_import::importDiv(NodeContext &node) {
  return importChain<nn::DivOp>(node);
}
LogicalResult soap::onnx_import::importMax(NodeContext &node) {
  return importChain<nn::MaxOp>(node);
}
LogicalResult soap::onnx_import::importMin(NodeContext &node) {
  return importChain<nn::MinOp>(node);
}
LogicalResult soap::onnx_import::importRelu(NodeContext &node) {
  return importUnary<nn::ReluOp>(node);
}
LogicalResult soap::onnx_import::importSigmoid(NodeContext &node) {
  return importUnary<nn::SigmoidOp>(node);
}
LogicalResult soap::onnx_import::importTanh(NodeContext &node) {
  return importUnary<nn::TanhOp>(node);
}
LogicalResult soap::onnx_import::importSqrt(NodeContext &node) {
  return importUnary<nn::SqrtOp>(node);
}

/// A bound of Clip: an attribute before operator set 11, an operand since.
static FailureOr<float> clipBound(NodeContext &node, llvm::StringRef name,
                                  size_t operand, float otherwise) {
  if (node.opset() < 11)
    return node.number(name, otherwise);
  if (node.hasAttribute(name))
    return node.fail("expected the bound '" + name +
                     "' as an operand, got: an "
                     "attribute, which ended with operator set 11");
  if (!node.hasInput(operand))
    return otherwise;
  auto bound = node.constant(operand, "bounds");
  if (failed(bound))
    return failure();
  if (bound->size() != 1)
    return node.fail("expected one number as bound '" + name +
                     "', got: shape " + toString(bound->shape));
  return static_cast<float>(bound->number(0));
}

LogicalResult soap::onnx_import::importClip(NodeContext &node) {
  auto x = node.tensor(0);
  auto lo = clipBound(node, "min", 1, -std::numeric_limits<float>::infinity());
  auto hi = clipBound(node, "max", 2, std::numeric_limits<float>::infinity());
  if (failed(x) || failed(lo) || failed(hi))
    return failure();
  if (std::isnan(*lo) || std::isnan(*hi))
    return node.fail("expected bounds that are numbers, got: NaN");
  auto result = node.create<nn::ClipOp>(
      node.shape(0), *x, {node.attr("min", *lo), node.attr("max", *hi)});
  if (failed(result))
    return failure();
  node.setResult(0, *result);
  return success();
}

LogicalResult soap::onnx_import::importCast(NodeContext &node) {
  if (node.input(0).elementType != node.integer("to", 0))
    return node.fail(
        "expected a cast to the same type or of a constant, got: " +
        typeName(node.input(0).elementType) + " to " +
        typeName(static_cast<int>(node.integer("to", 0))));
  return importIdentity(node);
}
