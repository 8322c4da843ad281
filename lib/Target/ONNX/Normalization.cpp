//===- Normalization.cpp - Normalisation and reduction ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

LogicalResult soap::onnx_import::importLRN(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  int64_t size = node.integer("size", 0);
  if (size < 1 || size > maxDim)
    return node.fail("expected a positive size, got: " + llvm::Twine(size));
  size_t rank = node.shape(0).size();
  if (rank < 2 || rank > 5)
    return node.fail("expected an input of rank 2 to 5, got: " +
                     toString(node.shape(0)));
  auto result = node.create<nn::LRNOp>(
      node.shape(0), *x,
      {node.attr("size", size), node.attr("alpha", node.number("alpha", 1e-4f)),
       node.attr("beta", node.number("beta", 0.75f)),
       node.attr("bias", node.number("bias", 1.0f))});
  return node.finish(result);
}

LogicalResult soap::onnx_import::importSoftmax(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  Shape shape(node.shape(0));
  if (shape.empty())
    return node.fail("expected an input of rank 1 or more, got: a scalar");
  bool coerces = node.opset() < 13;
  auto axis = node.axis(node.integer("axis", coerces ? 1 : -1), shape.size());
  if (failed(axis))
    return failure();
  // Before operator set 13 all dimensions from the axis on are one row.
  Shape flat = shape;
  int64_t rowAxis = *axis;
  if (coerces) {
    int64_t outer = 1, inner = 1, last = -1;
    for (size_t i = 0; i != shape.size(); ++i) {
      if (static_cast<int64_t>(i) < *axis) {
        outer *= shape[i];
        continue;
      }
      inner *= shape[i];
      if (shape[i] != 1 && last == -1)
        last = static_cast<int64_t>(i);
      else if (shape[i] != 1)
        last = -2; // More than one dimension in a row.
    }
    if (last >= 0) {
      rowAxis = last;
    } else if (last == -2) {
      flat = {outer, inner};
      rowAxis = 1;
    }
  }
  auto rows = node.reshape(*x, flat, "_rows");
  if (failed(rows))
    return failure();
  SmallVector<NamedAttribute> attributes = {node.attr("axis", rowAxis)};
  if (node.node.op_type() == "LogSoftmax")
    attributes.push_back(node.unitAttr("log"));
  auto result = node.create<nn::SoftmaxOp>(flat, *rows, attributes,
                                           flat == shape ? "" : "_softmax");
  if (succeeded(result))
    result = node.reshape(*result, shape);
  return node.finish(result);
}

/// The ratio of a node of any operator set.
static FailureOr<double> ratioOf(NodeContext &node) {
  double ratio = static_cast<double>(node.number("ratio", 0.5f));
  if (node.hasInput(1)) {
    auto given = node.constant(1, "ratios");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.fail("expected one ratio, got: " +
                       llvm::Twine(given->size()));
    ratio = given->number(0);
  }
  if (!(ratio >= 0 && ratio < 1))
    return node.fail("expected a ratio of at least 0 and below 1, got: " +
                     llvm::Twine(std::to_string(ratio)));
  return ratio;
}

/// In training, whether the model was exported for it (training_mode) says
/// nothing.
static LogicalResult importTrainingDropout(NodeContext &node) {
  if (node.usesOutput(1))
    return node.fail("expected no use of the mask in training, got: one of "
                     "output 1");
  FailureOr<double> ratio = ratioOf(node);
  if (failed(ratio))
    return failure();
  if (*ratio == 0)
    return importIdentity(node);
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  return node.finish(node.create<nn::DropoutOp>(
      node.shape(0), *x,
      {node.attr("ratio", node.builder().getF64FloatAttr(*ratio))}));
}

LogicalResult soap::onnx_import::importDropout(NodeContext &node) {
  if (node.isForTraining() && node.input(0).kind != ImportedValue::Kind::Host)
    return importTrainingDropout(node);
  if (node.hasInput(2)) {
    auto training = node.constant(2, "training modes");
    if (failed(training))
      return failure();
    bool drops = training->size() != 1 || training->number(0) != 0;
    if (drops && node.hasInput(1)) {
      auto ratio = node.constant(1, "ratios");
      if (failed(ratio))
        return failure();
      drops = ratio->size() != 1 || ratio->number(0) != 0;
    }
    if (drops)
      return node.fail("expected inference, got: training_mode true; export "
                       "the model for inference");
  }
  if (node.usesOutput(1)) {
    // Nothing is dropped. Before operator set 10 the mask had the operand's
    // type.
    if (node.opset() < 10)
      node.setResult(1, node.splat(node.shape(0), 1, "_mask"));
    else
      node.setResult(1, node.allTrue(node.shape(0), "_mask"));
  }
  return importIdentity(node);
}

/// log(sum(exp(x))) as m + log(sum(exp(x - m))), where m is the maximum, or the
/// finite number that is closest to it.
static LogicalResult reduceLogSumExp(NodeContext &node, Value x,
                                     llvm::ArrayRef<int64_t> axes,
                                     llvm::ArrayRef<int64_t> result) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  Shape row(shape);
  for (int64_t axis : axes)
    row[static_cast<size_t>(axis)] = 1;
  auto reduce = [&](Value value, nn::ReduceKind kind, llvm::StringRef suffix) {
    return node.create<nn::ReduceOp>(
        row, value,
        {node.attr("kind",
                   nn::ReduceKindAttr::get(node.builder().getContext(), kind)),
         node.attr("axes", axes),
         node.attr("keepdims", Attribute(node.builder().getBoolAttr(true))),
         node.attr("scale", 1.0f)},
        suffix);
  };
  double most = largestOf(node.numberType());
  auto largest = reduce(x, nn::ReduceKind::Max, "_max");
  if (succeeded(largest))
    largest = node.create<nn::MinOp>(
        row, {*largest, node.scalar(most, "_most")}, {}, "_below_most");
  if (succeeded(largest))
    largest = node.create<nn::MaxOp>(
        row, {*largest, node.scalar(-most, "_least")}, {}, "_finite");
  if (failed(largest))
    return failure();
  auto value = node.create<nn::SubOp>(shape, {x, *largest}, {}, "_below");
  if (succeeded(value))
    value = node.create<nn::ExpOp>(shape, *value, {}, "_exp");
  if (succeeded(value))
    value = reduce(*value, nn::ReduceKind::Sum, "_sum");
  if (succeeded(value))
    value = node.create<nn::LogOp>(row, *value, {}, "_log");
  bool keeps = llvm::ArrayRef<int64_t>(row) == result;
  if (succeeded(value))
    value = node.create<nn::AddOp>(row, {*value, *largest}, {},
                                   keeps ? "" : "_row");
  if (succeeded(value))
    value = node.reshape(*value, result);
  return node.finish(value);
}

LogicalResult soap::onnx_import::importReduce(NodeContext &node) {
  llvm::StringRef name = node.node.op_type();
  bool mean = name == "ReduceMean", absolute = name == "ReduceL1";
  bool root = name == "ReduceL2", logarithm = name == "ReduceLogSum";
  bool squares = name == "ReduceSumSquare" || root;
  bool exponential = name == "ReduceLogSumExp";
  bool floats = mean || root || logarithm || exponential;
  if (countElements(node.shape(0)) == 0)
    return foldReduce(node);
  if (floats && isIntegral(node.input(0).elementType))
    node.computeType = node.builder().getF64Type();
  bool orders = name == "ReduceMax" || name == "ReduceMin";
  auto x = node.tensor(0, orders ? ElementTypes::NumbersOrBooleans
                                 : ElementTypes::Numbers);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  SmallVector<int64_t> axes;
  if (node.hasInput(1)) {
    auto values = node.constantIntegers(1, "axes");
    if (failed(values))
      return failure();
    axes = *values;
  } else {
    axes = node.integers("axes").value_or(SmallVector<int64_t>());
  }
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0)
    return importIdentity(node);
  SmallVector<bool> reduced(shape.size(), axes.empty());
  for (int64_t axis : axes) {
    auto index = node.axis(axis, shape.size());
    if (failed(index))
      return failure();
    reduced[static_cast<size_t>(*index)] = true;
  }
  bool keep = node.integer("keepdims", 1) != 0;
  Shape result;
  axes.clear();
  int64_t count = 1;
  for (size_t i = 0; i != shape.size(); ++i) {
    if (!reduced[i]) {
      result.push_back(shape[i]);
      continue;
    }
    axes.push_back(static_cast<int64_t>(i));
    count *= shape[i];
    if (keep)
      result.push_back(1);
  }
  if (exponential)
    return reduceLogSumExp(node, *x, axes, result);
  // L1 and L2 norms and the like are sums of something else.
  if (squares || absolute) {
    x = squares ? node.create<nn::MulOp>(shape, {*x, *x}, {}, "_squares")
                : node.create<nn::AbsOp>(shape, *x, {}, "_magnitudes");
    if (failed(x))
      return failure();
  }
  nn::ReduceKind kind = name == "ReduceMax"    ? nn::ReduceKind::Max
                        : name == "ReduceMin"  ? nn::ReduceKind::Min
                        : name == "ReduceProd" ? nn::ReduceKind::Prod
                                               : nn::ReduceKind::Sum;
  auto value = node.create<nn::ReduceOp>(
      result, *x,
      {node.attr("kind",
                 nn::ReduceKindAttr::get(node.builder().getContext(), kind)),
       node.attr("axes", axes),
       node.attr("keepdims", Attribute(node.builder().getBoolAttr(keep))),
       node.attr("scale", mean ? 1.0f / static_cast<float>(count) : 1.0f)},
      root || logarithm ? "_sum" : "");
  if (succeeded(value) && root)
    value = node.create<nn::SqrtOp>(result, *value);
  if (succeeded(value) && logarithm)
    value = node.create<nn::LogOp>(result, *value);
  return node.finish(value);
}

LogicalResult soap::onnx_import::importGlobalPool(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  if (shape.size() < 3)
    return node.fail("expected spatial dimensions, got: " + toString(shape));
  Shape result(shape.size(), 1);
  result[0] = shape[0];
  result[1] = shape[1];
  SmallVector<int64_t> axes;
  int64_t count = 1;
  for (size_t i = 2; i != shape.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
    count *= shape[i];
  }
  bool mean = node.node.op_type() == "GlobalAveragePool";
  auto kind = mean ? nn::ReduceKind::Sum : nn::ReduceKind::Max;
  auto value = node.create<nn::ReduceOp>(
      result, *x,
      {node.attr("kind",
                 nn::ReduceKindAttr::get(node.builder().getContext(), kind)),
       node.attr("axes", axes),
       node.attr("keepdims", Attribute(node.builder().getBoolAttr(true))),
       node.attr("scale", mean ? 1.0f / static_cast<float>(count) : 1.0f)});
  return node.finish(value);
}

/// Operand i with the shape `inner`, to which it broadcasts.
static FailureOr<Value> expanded(NodeContext &node, size_t i,
                                 llvm::ArrayRef<int64_t> inner,
                                 llvm::StringRef suffix) {
  llvm::ArrayRef<int64_t> shape = node.shape(i);
  if (countElements(shape) == countElements(inner))
    return node.tensorAs(i, inner, suffix);
  auto joined = node.broadcast(shape, inner);
  if (failed(joined))
    return failure();
  if (llvm::ArrayRef<int64_t>(*joined) != inner)
    return node.fail("expected scale and bias that broadcast to " +
                     toString(inner) + ", got: " + toString(shape));
  auto value = node.tensor(i);
  return failed(value) ? value
                       : node.create<nn::ExpandOp>(inner, *value, {}, suffix);
}

/// Results 1 and 2 of a LayerNormalization: means and 1 / deviations of rows.
static LogicalResult importRowStatistics(NodeContext &node, int64_t axis) {
  Body body(node);
  auto rank = static_cast<int64_t>(node.shape(0).size());
  std::string axes =
      body.integers(llvm::to_vector(llvm::seq<int64_t>(axis, rank)));
  std::string x = body.input(0), mean = body.add("ReduceMean", {x, axes});
  std::string centered = body.add("Sub", {x, mean});
  std::string variance =
      body.add("ReduceMean", {body.add("Mul", {centered, centered}), axes});
  std::string epsilon =
      body.number(static_cast<double>(node.number("epsilon", 1e-5f)));
  std::string deviation =
      body.add("Sqrt", {body.add("Add", {variance, epsilon})});
  return body.finish({"", mean, body.add("Reciprocal", {deviation})});
}

LogicalResult soap::onnx_import::importLayerNormalization(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto axis = node.axis(node.integer("axis", -1), shape.size());
  if (failed(axis))
    return failure();
  llvm::ArrayRef<int64_t> inner = shape.drop_front(static_cast<size_t>(*axis));
  SmallVector<Value> operands = {*x};
  for (size_t i = 1; i != 3; ++i) {
    if (!node.hasInput(i))
      continue;
    auto operand = expanded(node, i, inner, i == 1 ? "_scale" : "_bias");
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  if ((node.usesOutput(1) || node.usesOutput(2)) &&
      failed(importRowStatistics(node, *axis)))
    return failure();
  auto result = node.create<nn::LayerNormOp>(
      shape, operands,
      {node.attr("axis", *axis),
       node.attr("epsilon", node.number("epsilon", 1e-5f))});
  return node.finish(result);
}

/// x / sqrt(mean of squares + epsilon) * scale: there is no layer for it in the
/// libraries, so that it stays a sum of parts.
LogicalResult soap::onnx_import::importRMSNormalization(NodeContext &node) {
  auto x = node.tensor(0), scale = node.tensor(1);
  if (failed(x) || failed(scale))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto axis = node.axis(node.integer("axis", -1), shape.size());
  if (failed(axis))
    return failure();
  Shape row(shape);
  SmallVector<int64_t> axes;
  float count = 1;
  for (auto d = static_cast<size_t>(*axis); d != shape.size(); ++d) {
    count *= static_cast<float>(shape[d]);
    axes.push_back(static_cast<int64_t>(d));
    row[d] = 1;
  }
  Value epsilon = node.scalar(node.number("epsilon", 1e-5f), "_epsilon");
  auto kind =
      nn::ReduceKindAttr::get(node.builder().getContext(), nn::ReduceKind::Sum);
  auto value = node.create<nn::MulOp>(shape, {*x, *x}, {}, "_squares");
  if (succeeded(value))
    value = node.create<nn::ReduceOp>(
        row, *value,
        {node.attr("kind", kind), node.attr("axes", axes),
         node.attr("keepdims", Attribute(node.builder().getBoolAttr(true))),
         node.attr("scale", 1 / count)},
        "_mean");
  if (succeeded(value))
    value = node.create<nn::AddOp>(row, {*value, epsilon}, {}, "_sum");
  if (succeeded(value))
    value = node.create<nn::SqrtOp>(row, *value, {}, "_root");
  if (succeeded(value))
    value = node.create<nn::DivOp>(shape, {*x, *value}, {}, "_normalized");
  if (succeeded(value))
    value = node.create<nn::MulOp>(shape, {*value, *scale});
  return node.finish(value);
}
