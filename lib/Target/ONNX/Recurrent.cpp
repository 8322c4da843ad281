//===- Recurrent.cpp - Recurrent layers -------------------------*- C++ -*-===//
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
using onnx::AttributeProto;

/// The inputs of an LSTM node, by their place.
enum LSTMInput : size_t {
  X,
  W,
  R,
  B,
  Lengths,
  FirstHidden,
  FirstCell,
  Peephole
};

static LogicalResult checkLSTM(NodeContext &node, int64_t directions,
                               int64_t steps) {
  if (node.integer("layout", 0) != 0)
    return node.fail("expected layout 0 (steps first), got: 1; transpose the "
                     "operands");
  if (node.integer("input_forget", 0) != 0)
    return node.fail("expected input_forget 0, got: 1");
  if (node.hasInput(Peephole))
    return node.fail("peepholes (input P) are not supported");
  if (const AttributeProto *list = node.find("activations")) {
    static constexpr llvm::StringLiteral names[] = {"Sigmoid", "Tanh", "Tanh"};
    bool fits = list->strings_size() == 3 * directions;
    for (int i = 0; fits && i != list->strings_size(); ++i)
      fits = llvm::StringRef(list->strings(i)).equals_insensitive(names[i % 3]);
    if (!fits)
      return node.fail("expected the activations Sigmoid, Tanh and Tanh, got: "
                       "others");
  }
  if (!node.hasInput(Lengths))
    return success();
  auto lengths = node.constantIntegers(Lengths, "sequence lengths");
  if (failed(lengths))
    return failure();
  for (int64_t length : *lengths)
    if (length != steps)
      return node.fail("expected sequences of all " + llvm::Twine(steps) +
                       " steps, got: " + llvm::Twine(length));
  return success();
}

/// The sum of ONNX's two biases, [directions, 4, hidden].
static FailureOr<Value> biasOf(NodeContext &node, int64_t directions,
                               int64_t hidden) {
  Shape shape = {directions, 4, hidden};
  if (!node.hasInput(B))
    return node.splat(shape, 0, "_bias");
  auto both = node.tensorAs(B, {directions, 8, hidden}, "_biases");
  if (failed(both))
    return failure();
  FailureOr<Value> halves[2];
  for (int64_t i = 0; i != 2; ++i) {
    halves[i] = node.create<nn::SliceOp>(
        shape, *both,
        {node.attr("starts", {0, 4 * i, 0}), node.attr("steps", {1, 1, 1})},
        i == 0 ? "_bias_w" : "_bias_r");
    if (failed(halves[i]))
      return failure();
  }
  return node.create<nn::AddOp>(shape, {*halves[0], *halves[1]}, {}, "_bias");
}

/// The hidden state after the last step of every direction: a slice of all.
static FailureOr<Value> lastHidden(NodeContext &node, Value hidden,
                                   bool reverse) {
  llvm::ArrayRef<int64_t> shape =
      cast<RankedTensorType>(hidden.getType()).getShape();
  Shape part(shape), last = {shape[1], shape[2], shape[3]};
  part[0] = part[1] = 1;
  SmallVector<Value> parts;
  for (int64_t direction = 0; direction != shape[1]; ++direction) {
    bool backwards = reverse || direction == 1;
    auto slice = node.create<nn::SliceOp>(
        part, hidden,
        {node.attr("starts", {backwards ? 0 : shape[0] - 1, direction, 0, 0}),
         node.attr("steps", {1, 1, 1, 1})},
        "_last_" + std::to_string(direction));
    if (failed(slice))
      return failure();
    parts.push_back(*slice);
  }
  FailureOr<Value> joined = parts[0];
  if (parts.size() == 2) {
    part[1] = 2;
    joined = node.create<nn::ConcatOp>(
        part, parts, {node.attr("axis", int64_t(1))}, "_last");
  }
  if (failed(joined))
    return failure();
  return node.reshape(*joined, last, "_hidden");
}

LogicalResult soap::onnx_import::importLSTM(NodeContext &node) {
  llvm::ArrayRef<int64_t> x = node.shape(X), w = node.shape(W);
  std::string direction = node.string("direction", "forward");
  bool reverse = direction == "reverse", both = direction == "bidirectional";
  if (!reverse && !both && direction != "forward")
    return node.fail("expected direction forward, reverse or bidirectional, "
                     "got: '" +
                     direction + "'");
  int64_t directions = both ? 2 : 1;
  if (x.size() != 3 || w.size() != 3 || w[1] % 4 != 0)
    return node.fail("expected X of [steps, batch, inputs] and W of "
                     "[directions, 4*hidden, inputs], got: " +
                     toString(x) + " and " + toString(w));
  int64_t hidden = w[1] / 4;
  if (failed(checkLSTM(node, directions, x[0])))
    return failure();
  auto check = [&](size_t i,
                   llvm::ArrayRef<int64_t> expected) -> LogicalResult {
    if (!node.hasInput(i) || node.shape(i) == expected)
      return success();
    return node.fail("expected input " + llvm::Twine(i) + " of shape " +
                     toString(expected) + ", got: " + toString(node.shape(i)));
  };
  Shape state = {directions, x[1], hidden};
  if (failed(check(W, {directions, 4 * hidden, x[2]})) ||
      failed(check(R, {directions, 4 * hidden, hidden})) ||
      failed(check(B, {directions, 8 * hidden})) ||
      failed(check(FirstHidden, state)) || failed(check(FirstCell, state)))
    return failure();

  auto input = node.tensor(X);
  // Gates become a dimension.
  auto inputWeight = node.tensorAs(W, {directions, 4, hidden, x[2]}, "_w");
  auto recurrentWeight =
      node.tensorAs(R, {directions, 4, hidden, hidden}, "_r");
  if (failed(input) || failed(inputWeight) || failed(recurrentWeight))
    return failure();
  auto bias = biasOf(node, directions, hidden);
  if (failed(bias))
    return failure();
  SmallVector<Value> operands = {*input, *inputWeight, *recurrentWeight, *bias};
  for (size_t i : {FirstHidden, FirstCell}) {
    if (!node.hasInput(i)) {
      operands.push_back(node.splat(
          state, 0, i == FirstHidden ? "_first_hidden" : "_first_cell"));
      continue;
    }
    auto first = node.tensor(i);
    if (failed(first))
      return failure();
    operands.push_back(*first);
  }
  SmallVector<NamedAttribute> attributes;
  if (reverse)
    attributes.push_back(node.unitAttr("reverse"));
  Type element = node.builder().getF32Type();
  auto op = node.createNamed(
      nn::LSTMOp::getOperationName(),
      {RankedTensorType::get({x[0], directions, x[1], hidden}, element),
       RankedTensorType::get(state, element)},
      operands, attributes);
  if (failed(op))
    return failure();
  node.setResult(0, (*op)->getResult(0));
  if (node.usesOutput(1)) {
    auto last = lastHidden(node, (*op)->getResult(0), reverse);
    if (failed(last))
      return failure();
    node.setResult(1, *last);
  }
  node.setResult(2, (*op)->getResult(1));
  return success();
}
