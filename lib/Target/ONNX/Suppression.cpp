//===- Suppression.cpp - NonMaxSuppression ----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many boxes are selected depends on their values. Either these are known
// when the model is compiled, or the result is padded to the most there can be
// (--pad-selections).
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::TensorProto;

/// Operand i as one number that is known at compile time, or `otherwise`.
static FailureOr<double> numberOf(NodeContext &node, size_t i,
                                  llvm::StringRef role, double otherwise) {
  if (!node.hasInput(i))
    return otherwise;
  auto host = node.constant(i, role);
  if (failed(host))
    return failure();
  if (host->size() != 1 || std::isnan(host->number(0)))
    return node.fail("expected one number as " + role + ", got: " +
                     (host->size() == 1 ? std::string("NaN")
                                        : "shape " + toString(host->shape)));
  return host->number(0);
}

/// The rows (image, class, box) of `places`, the indices of boxes per image and
/// class, behind which entries are -1.
static HostTensor selectedRows(const HostTensor &places) {
  SmallVector<int64_t> rows;
  int64_t classes = places.shape[1], boxes = places.shape[2];
  for (int64_t i = 0, e = places.size(); i != e; ++i)
    if (int64_t box = places.ints[static_cast<size_t>(i)]; box >= 0)
      rows.append({i / boxes / classes, i / boxes % classes, box});
  HostTensor result = HostTensor::vector(rows);
  result.shape = {static_cast<int64_t>(rows.size()) / 3, 3};
  return result;
}

/// The same rows of values that are not known, one behind the other, then rows
/// of -1; and their number.
static LogicalResult padRows(NodeContext &node, const std::string &places,
                             llvm::ArrayRef<int64_t> shape) {
  int64_t count = shape[0] * shape[1] * shape[2];
  if (!countElements({count, 3}) || count > maxTableElements)
    return node.fail("expected at most " + llvm::Twine(maxTableElements) +
                     " boxes that may be selected, got: " + llvm::Twine(count));
  Body body(node);
  SmallVector<int64_t> groups, padding(static_cast<size_t>(3 * count), -1);
  for (int64_t i = 0; i != count; ++i)
    groups.append({i / shape[2] / shape[1], i / shape[2] % shape[1]});
  std::string flat = body.reshape(places, {count, 1});
  std::string isRow =
      body.add("GreaterOrEqual", {flat, body.integers({1, 1}, {0})});
  std::string one =
      body.add("Cast", {isRow}, {{"to", int64_t{TensorProto::INT64}}});
  // A row's place is the number of rows before it. What is none goes behind
  // the result, where nothing is stored.
  std::string before =
      body.add("CumSum", {one, body.integer(0)}, {{"exclusive", int64_t{1}}});
  std::string target =
      body.add("Where", {isRow, before, body.integers({1, 1}, {count})});
  std::string rows =
      body.add("Concat", {body.integers({count, 2}, groups), flat},
               {{"axis", int64_t{1}}});
  std::string result =
      body.add("ScatterND", {body.integers({count, 3}, padding), target, rows});
  std::string number = body.add("ReduceSum", {one, body.integers({0, 1})},
                                {{"keepdims", int64_t{0}}});
  node.addOutput("count", number);
  return body.finish({result});
}

LogicalResult soap::onnx_import::importNonMaxSuppression(NodeContext &node) {
  auto limit = numberOf(node, 2, "a number of boxes per class", 0);
  auto overlap = numberOf(node, 3, "a threshold of overlaps", 0);
  auto score = numberOf(node, 4, "a threshold of scores", 0);
  if (failed(limit) || failed(overlap) || failed(score))
    return failure();
  llvm::ArrayRef<int64_t> boxes = node.shape(0), scores = node.shape(1);
  int64_t format = node.integer("center_point_box", 0);
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 ||
      boxes[0] != scores[0] || boxes[1] != scores[2] || format < 0 ||
      format > 1)
    return node.fail("expected boxes of shape [n, N, 4], scores of shape "
                     "[n, c, N] and center_point_box 0 or 1, got: " +
                     toString(boxes) + ", " + toString(scores) + " and " +
                     llvm::Twine(format));
  auto most = static_cast<int64_t>(
      std::clamp(*limit, 0.0, static_cast<double>(boxes[1])));
  if (most == 0 || countElements(scores) == 0) {
    node.setResult(0, HostTensor::zeros(TensorProto::INT64, {0, 3}));
    return success();
  }
  auto x = node.tensor(0), y = node.tensor(1);
  if (failed(x) || failed(y))
    return failure();
  SmallVector<NamedAttribute> attributes = {
      node.attr("iou_threshold", static_cast<float>(*overlap))};
  if (node.hasInput(4))
    attributes.push_back(
        node.attr("score_threshold", static_cast<float>(*score)));
  if (format == 1)
    attributes.push_back(node.unitAttr("center_point_box"));
  Shape shape = {scores[0], scores[1], most};
  auto places = node.createOf<nn::NonMaxSuppressionOp>(
      node.elementType(TensorProto::INT64), shape, {*x, *y}, attributes);
  if (failed(places))
    return failure();
  node.mayGo(places->getDefiningOp());
  if (auto known = node.known(*places)) {
    node.setResult(0, selectedRows(*known));
    return success();
  }
  if (!node.padsSelections())
    return node.fail("expected boxes and scores that are known at compile "
                     "time, as the number of those that are selected depends "
                     "on them, got: ones that depend on an input; "
                     "--pad-selections pads the result to the most there can "
                     "be, and adds an output with the number");
  std::string name = node.node.output(0) + "/places";
  node.setValue(name, *places);
  return padRows(node, name, shape);
}
