//===- ComposedNormalization.cpp - Norms as several ops -------------------===//
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

/// x divided by its norm along an axis.
LogicalResult soap::onnx_import::importLpNormalization(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto axis = node.axis(node.integer("axis", -1), shape.size());
  int64_t p = node.integer("p", 2);
  if (failed(axis))
    return failure();
  if (p != 1 && p != 2)
    return node.fail("expected p 1 or 2, got: " + llvm::Twine(p));
  Shape row(shape);
  row[static_cast<size_t>(*axis)] = 1;
  auto value = p == 2 ? node.create<nn::MulOp>(shape, {*x, *x}, {}, "_squares")
                      : node.create<nn::AbsOp>(shape, *x, {}, "_magnitudes");
  if (succeeded(value))
    value = node.create<nn::ReduceOp>(
        row, *value,
        {node.attr("kind", nn::ReduceKindAttr::get(node.builder().getContext(),
                                                   nn::ReduceKind::Sum)),
         node.attr("axes", llvm::ArrayRef<int64_t>(*axis)),
         node.attr("keepdims", Attribute(node.builder().getBoolAttr(true))),
         node.attr("scale", 1.0f)},
        "_sum");
  if (succeeded(value) && p == 2)
    value = node.create<nn::SqrtOp>(row, *value, {}, "_norm");
  // Where all elements are 0 the result is, too.
  Value least = node.scalar(smallestOf(node.numberType()), "_least");
  if (succeeded(value))
    value = node.create<nn::MaxOp>(row, {*value, least}, {}, "_divisor");
  if (succeeded(value))
    value = node.create<nn::DivOp>(shape, {*x, *value});
  return node.finish(value);
}

/// (x - mean) / (sqrt(variance) + 1e-9) along axes. ONNX's function body takes
/// E[x^2] - E[x]^2 for the variance, which loses all digits where the mean is
/// large beside the deviation; here it is the mean of (x - mean)^2.
LogicalResult
soap::onnx_import::importMeanVarianceNormalization(NodeContext &node) {
  Builder &builder = node.builder();
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  Shape row(shape);
  SmallVector<int64_t> axes;
  int64_t count = 1;
  for (int64_t axis :
       node.integers("axes").value_or(SmallVector<int64_t>{0, 2, 3})) {
    auto index = node.axis(axis, shape.size());
    if (failed(index))
      return failure();
    if (llvm::is_contained(axes, *index))
      continue;
    axes.push_back(*index);
    count *= std::exchange(row[static_cast<size_t>(*index)], 1);
  }
  llvm::sort(axes);
  auto mean = [&](Value value, llvm::StringRef suffix) {
    return node.create<nn::ReduceOp>(
        row, value,
        {node.attr("kind", nn::ReduceKindAttr::get(builder.getContext(),
                                                   nn::ReduceKind::Sum)),
         node.attr("axes", axes),
         node.attr("keepdims", Attribute(builder.getBoolAttr(true))),
         node.attr("scale", 1.0f / static_cast<float>(count))},
        suffix);
  };
  auto value = mean(*x, "_mean");
  if (succeeded(value))
    value = node.create<nn::SubOp>(shape, {*x, *value}, {}, "_centered");
  if (failed(value))
    return failure();
  Value centered = *value;
  value = node.create<nn::MulOp>(shape, {centered, centered}, {}, "_squares");
  if (succeeded(value))
    value = mean(*value, "_variance");
  if (succeeded(value))
    value = node.create<nn::SqrtOp>(row, *value, {}, "_deviation");
  if (succeeded(value))
    value = node.create<nn::AddOp>(row, {*value, node.scalar(1e-9, "_epsilon")},
                                   {}, "_divisor");
  if (succeeded(value))
    value = node.create<nn::DivOp>(shape, {centered, *value});
  return node.finish(value);
}

/// InstanceNormalization and GroupNormalization: rows of one instance and one
/// group are normalised, then scaled per channel (per group before operator set
/// 21).
LogicalResult soap::onnx_import::importGroupNormalization(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  bool instances = node.node.op_type() == "InstanceNormalization";
  if (shape.size() < 2)
    return node.fail("expected an input of rank 2 or more, got: " +
                     toString(shape));
  int64_t channels = shape[1];
  int64_t groups = instances ? channels : node.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0)
    return node.fail("expected num_groups that divides " +
                     llvm::Twine(channels) +
                     " channels, got: " + llvm::Twine(groups));
  bool perGroup = !instances && node.opset() < 21;
  int64_t scaled = perGroup ? groups : channels;
  for (size_t i = 1; i != 3; ++i)
    if (node.shape(i) != llvm::ArrayRef<int64_t>(scaled))
      return node.fail("expected scale and bias of shape " + toString(scaled) +
                       ", got: " + toString(node.shape(i)));
  int64_t row = channels / groups;
  for (int64_t dim : shape.drop_front(2))
    row *= dim;
  Shape rows = {shape[0], groups, row};
  auto value = node.reshape(*x, rows, "_rows");
  if (failed(value))
    return failure();
  value = node.create<nn::LayerNormOp>(
      rows, {*value, node.splat({row}, 1, "_ones")},
      {node.attr("axis", int64_t{2}),
       node.attr("epsilon", node.number("epsilon", 1e-5f))},
      "_normalized");
  if (succeeded(value) && !perGroup)
    value = node.reshape(*value, shape, "_channels");
  if (failed(value))
    return failure();
  llvm::ArrayRef<int64_t> whole =
      perGroup ? llvm::ArrayRef<int64_t>(rows) : shape;
  Shape factor(whole.size() - 1, 1);
  factor[0] = scaled;
  auto scale = node.tensorAs(1, factor, "_scale");
  auto bias = node.tensorAs(2, factor, "_bias");
  if (failed(scale) || failed(bias))
    return failure();
  value = node.create<nn::MulOp>(whole, {*value, *scale}, {}, "_scaled");
  if (succeeded(value))
    value = node.create<nn::AddOp>(whole, {*value, *bias}, {},
                                   perGroup ? "_shifted" : "");
  if (succeeded(value) && perGroup)
    value = node.reshape(*value, shape);
  return node.finish(value);
}
