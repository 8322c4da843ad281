//===- Numbers.cpp - Remainders, NaN and infinities -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

LogicalResult soap::onnx_import::importMod(NodeContext &node) {
  auto a = node.tensor(0, ElementTypes::Numbers),
       b = node.tensor(1, ElementTypes::Numbers);
  if (failed(a) || failed(b))
    return failure();
  if (node.input(0).elementType != node.input(1).elementType)
    return node.fail("expected operands of one type, got: " +
                     typeName(node.input(0).elementType) + " and " +
                     typeName(node.input(1).elementType));
  bool truncate = node.integer("fmod", 0) != 0;
  if (!truncate && !isIntegral(node.input(0).elementType))
    return node.fail("expected fmod 1 for operands of floats, got: 0");
  auto shape = node.broadcast(node.shape(0), node.shape(1));
  if (failed(shape))
    return failure();
  SmallVector<NamedAttribute> attributes;
  if (truncate)
    attributes.push_back(node.unitAttr("truncate"));
  return node.finish(node.create<nn::ModOp>(*shape, {*a, *b}, attributes));
}

/// Creates nn.compare of `a` with a scalar or itself.
static FailureOr<Value> compared(NodeContext &node, Value a,
                                 nn::Predicate predicate, Value b) {
  return node.createOf<nn::CompareOp>(
      node.builder().getI1Type(), node.shape(0), {a, b},
      {node.attr("predicate", nn::PredicateAttr::get(
                                  node.builder().getContext(), predicate))});
}

/// NaN is the only number that does not equal itself.
LogicalResult soap::onnx_import::importIsNaN(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  return node.finish(compared(node, *x, nn::Predicate::Ne, *x));
}

LogicalResult soap::onnx_import::importIsInf(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  bool negative = node.integer("detect_negative", 1) != 0;
  bool positive = node.integer("detect_positive", 1) != 0;
  if (!negative && !positive) // Nothing is less than itself.
    return node.finish(compared(node, *x, nn::Predicate::Lt, *x));
  FailureOr<Value> magnitude = *x;
  if (negative && positive)
    magnitude = node.create<nn::AbsOp>(node.shape(0), *x, {}, "_magnitude");
  if (failed(magnitude))
    return failure();
  float infinity = std::numeric_limits<float>::infinity();
  Value bound = node.scalar(positive ? infinity : -infinity, "_infinity");
  return node.finish(compared(node, *magnitude, nn::Predicate::Eq, bound));
}
