//===- BatchNormalization.cpp - Batch norms ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

/// Whether a value depends on an input of the model.
static bool dependsOnInput(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<nn::InputOp>(op))
      return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// With training_mode 1 a batch norm takes mean and variance of its input, over
/// all dimensions but the channels, in place of those that it is given (ONNX,
/// BatchNormalization 15). Networks that standardise their weights are exported
/// so, for inference as well. Results 1 and 2 are the next running statistics.
static LogicalResult importOwnStatistics(NodeContext &node,
                                         llvm::ArrayRef<int64_t> shape) {
  for (size_t i = 1; i != 5; ++i)
    if (node.input(i).elementType != node.input(0).elementType)
      return node.fail("expected scale, bias and statistics of the element "
                       "type of the input in training_mode 1, got: another "
                       "one for operand " +
                       llvm::Twine(i));
  Body body(node);
  SmallVector<int64_t> perChannel(shape.size() - 1, 1), axes = {0};
  perChannel[0] = shape[1];
  for (size_t d = 2; d != shape.size(); ++d)
    axes.push_back(static_cast<int64_t>(d));
  auto operand = [&](size_t i) {
    return body.reshape(body.input(i), perChannel);
  };
  std::string x = body.input(0), over = body.integers(axes);
  std::string mean = body.add("ReduceMean", {x, over});
  std::string centered = body.add("Sub", {x, mean});
  std::string variance =
      body.add("ReduceMean", {body.add("Mul", {centered, centered}), over});
  std::string epsilon =
      body.number(static_cast<double>(node.number("epsilon", 1e-5f)));
  std::string deviation =
      body.add("Sqrt", {body.add("Add", {variance, epsilon})});
  std::string normalized = body.add("Div", {centered, deviation});
  std::string y =
      body.add("Add", {body.add("Mul", {normalized, operand(1)}), operand(2)});

  double momentum = static_cast<double>(node.number("momentum", 0.9f));
  auto running = [&](size_t i, const std::string &ofBatch) {
    std::string kept = body.add("Mul", {body.input(i), body.number(momentum)});
    std::string added = body.add(
        "Mul", {body.reshape(ofBatch, {shape[1]}), body.number(1 - momentum)});
    return body.add("Add", {kept, added});
  };
  return body.finish({y, node.usesOutput(1) ? running(3, mean) : "",
                      node.usesOutput(2) ? running(4, variance) : ""});
}

LogicalResult soap::onnx_import::importBatchNormalization(NodeContext &node) {
  if (node.integer("spatial", 1) != 1)
    return node.fail("expected one statistic per channel, got: spatial 0");
  bool ofBatch = node.integer("training_mode", 0) != 0;
  for (size_t i = 1; i < node.numOutputs() && !ofBatch; ++i)
    if (node.usesOutput(i))
      return node.fail("expected inference, got: a use of the running "
                       "statistics in output " +
                       llvm::Twine(i));
  SmallVector<Value> operands;
  for (size_t i = 0; i != 5; ++i) {
    auto operand = node.tensor(i);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  llvm::ArrayRef<int64_t> x = node.shape(0);
  if (x.size() < 2 || x.size() > 5)
    return node.fail("expected an input of rank 2 to 5, got: " + toString(x));
  for (size_t i = 1; i != 5; ++i)
    if (node.shape(i) != llvm::ArrayRef<int64_t>{x[1]})
      return node.fail("expected statistics of shape " + toString(x[1]) +
                       ", got: " + toString(node.shape(i)));
  // A model that was exported for training keeps running statistics while it is
  // trained, and takes them afterwards. Standardised weights have none.
  bool keepsRunning = node.isForTraining() && dependsOnInput(operands[0]) &&
                      !node.usesOutput(1) && !node.usesOutput(2);
  if (ofBatch && !keepsRunning)
    return importOwnStatistics(node, x);
  auto result = node.create<nn::BatchNormOp>(
      x, operands, {node.attr("epsilon", node.number("epsilon", 1e-5f))});
  return node.finish(result);
}
