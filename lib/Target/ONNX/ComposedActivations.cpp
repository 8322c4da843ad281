//===- ComposedActivations.cpp - Activations as several ops -----*- C++ -*-===//
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

/// max(x, alpha x), or a choice where that is another function.
LogicalResult soap::onnx_import::importLeakyRelu(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  float alpha = node.number("alpha", 0.01f);
  auto scaled = node.create<nn::MulOp>(
      shape, {*x, node.scalar(alpha, "_alpha")}, {}, "_scaled");
  if (failed(scaled))
    return failure();
  if (alpha > 0 && alpha <= 1)
    return node.finish(node.create<nn::MaxOp>(shape, {*x, *scaled}));
  auto negative = node.createOf<nn::CompareOp>(
      node.builder().getI1Type(), shape, {*x, node.scalar(0, "_zero")},
      {node.attr("predicate",
                 nn::PredicateAttr::get(node.builder().getContext(),
                                        nn::Predicate::Lt))},
      "_negative");
  if (failed(negative))
    return failure();
  return node.finish(node.createOf<nn::WhereOp>(
      cast<RankedTensorType>(x->getType()).getElementType(), shape,
      {*negative, *scaled, *x}));
}

/// exp(x) of operand 0, with x bounded so that nothing computed with it
/// overflows; beyond the bound the callers' results do not depend on it.
static FailureOr<Value> boundedExp(NodeContext &node, float bound) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto low = node.create<nn::MinOp>(shape, {*x, node.scalar(bound, "_bound")},
                                    {}, "_bounded");
  return failed(low) ? low : node.create<nn::ExpOp>(shape, *low, {}, "_exp");
}

/// max(x, log(1 + exp(min(x, 30)))): from 17 on, log(1 + exp(x)) rounds to x.
LogicalResult soap::onnx_import::importSoftplus(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto value = boundedExp(node, 30);
  if (succeeded(value))
    value = node.create<nn::AddOp>(shape, {*value, node.scalar(1, "_one")}, {},
                                   "_plus");
  if (succeeded(value))
    value = node.create<nn::LogOp>(shape, *value, {}, "_log");
  if (failed(value))
    return failure();
  return node.finish(node.create<nn::MaxOp>(shape, {*node.tensor(0), *value}));
}

/// x tanh(softplus(x)) = x n / (n + 2) with n = e (e + 2), e = exp(x): from 10
/// on, the fraction rounds to 1.
LogicalResult soap::onnx_import::importMish(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto e = boundedExp(node, 20);
  if (failed(e))
    return failure();
  Value two = node.scalar(2, "_two");
  auto value = node.create<nn::AddOp>(shape, {*e, two}, {}, "_plus");
  if (succeeded(value))
    value = node.create<nn::MulOp>(shape, {*e, *value}, {}, "_numerator");
  if (failed(value))
    return failure();
  auto below = node.create<nn::AddOp>(shape, {*value, two}, {}, "_denominator");
  if (succeeded(below))
    value = node.create<nn::DivOp>(shape, {*value, *below}, {}, "_tanh");
  if (failed(below) || failed(value))
    return failure();
  return node.finish(node.create<nn::MulOp>(shape, {*node.tensor(0), *value}));
}

/// HardSigmoid and HardSwish, x times a HardSigmoid.
LogicalResult soap::onnx_import::importHardSigmoid(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  bool swish = node.node.op_type() == "HardSwish";
  float alpha = swish ? 1.0f / 6 : node.number("alpha", 0.2f);
  float beta = swish ? 0.5f : node.number("beta", 0.5f);
  auto value = node.create<nn::MulOp>(shape, {*x, node.scalar(alpha, "_alpha")},
                                      {}, "_scaled");
  if (succeeded(value))
    value = node.create<nn::AddOp>(shape, {*value, node.scalar(beta, "_beta")},
                                   {}, "_shifted");
  if (succeeded(value))
    value = node.create<nn::ClipOp>(
        shape, *value, {node.attr("min", 0.0f), node.attr("max", 1.0f)},
        swish ? "_gate" : "");
  if (succeeded(value) && swish)
    value = node.create<nn::MulOp>(shape, {*x, *value});
  return node.finish(value);
}
