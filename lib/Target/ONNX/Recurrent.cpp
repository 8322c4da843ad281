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

/// The inputs of LSTM, GRU and RNN, by their place; the last two of LSTM only.
enum LayerInput : size_t {
  X,
  W,
  R,
  B,
  Lengths,
  FirstHidden,
  FirstCell,
  Peephole
};

namespace {
/// One layer: what its node says, in ONNX's layout 0 (steps first).
struct LayerNode {
  NodeContext &node;
  int64_t gates; ///< 4: LSTM, 3: GRU, 1: RNN.
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
  bool isReverse = false, batchFirst = false;
  Value lengths = {}; ///< Null if all sequences have all steps.

  LogicalResult read();
  FailureOr<Value> inputs0();
  FailureOr<Value> state(size_t input, llvm::StringRef suffix);
  LogicalResult readLengths();
  LogicalResult addAttributes(SmallVector<NamedAttribute> &attributes);
  FailureOr<Value> bias();
  LogicalResult finish(Operation *op);

private:
  LogicalResult checkShapes();
  FailureOr<Value> rows(Value whole, int64_t first, int64_t count,
                        llvm::StringRef suffix);
  FailureOr<Value> transposed(Value value, llvm::ArrayRef<int64_t> permutation,
                              llvm::StringRef suffix);
  FailureOr<Value> withoutEnds(Value states);
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LogicalResult LayerNode::read() {
  llvm::ArrayRef<int64_t> x = node.shape(X), w = node.shape(W);
  std::string direction = node.string("direction", "forward");
  isReverse = direction == "reverse";
  if (!isReverse && direction != "bidirectional" && direction != "forward")
    return node.fail("expected direction forward, reverse or bidirectional, "
                     "got: '" +
                     direction + "'");
  directions = direction == "bidirectional" ? 2 : 1;
  int64_t layout = node.integer("layout", 0);
  if (layout != 0 && layout != 1)
    return node.fail("expected layout 0 or 1, got: " + llvm::Twine(layout));
  batchFirst = layout == 1;
  if (x.size() != 3 || w.size() != 3 || w[1] % gates != 0)
    return node.fail(
        "expected X of rank 3 and W of [directions, " + llvm::Twine(gates) +
        "*hidden, inputs], got: " + toString(x) + " and " + toString(w));
  steps = x[batchFirst ? 1 : 0];
  batch = x[batchFirst ? 0 : 1];
  inputs = x[2];
  hidden = w[1] / gates;
  return checkShapes();
}

LogicalResult LayerNode::checkShapes() {
  auto check = [&](size_t i, const Shape &expected) -> LogicalResult {
    if (!node.hasInput(i) || node.shape(i) == llvm::ArrayRef<int64_t>(expected))
      return success();
    return node.fail("expected input " + llvm::Twine(i) + " of shape " +
                     toString(expected) + ", got: " + toString(node.shape(i)));
  };
  Shape state = {directions, batch, hidden};
  if (batchFirst)
    std::swap(state[0], state[1]);
  if (failed(check(W, {directions, gates * hidden, inputs})) ||
      failed(check(R, {directions, gates * hidden, hidden})) ||
      failed(check(B, {directions, 2 * gates * hidden})) ||
      failed(check(Lengths, {batch})) || failed(check(FirstHidden, state)) ||
      failed(check(FirstCell, state)))
    return failure();
  return check(Peephole, {directions, 3 * hidden});
}

FailureOr<Value> LayerNode::transposed(Value value,
                                       llvm::ArrayRef<int64_t> permutation,
                                       llvm::StringRef suffix) {
  llvm::ArrayRef<int64_t> from =
      cast<RankedTensorType>(value.getType()).getShape();
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(from[static_cast<size_t>(dim)]);
  return node.create<nn::TransposeOp>(
      shape, value, {node.attr("permutation", permutation)}, suffix);
}

/// X, steps first.
FailureOr<Value> LayerNode::inputs0() {
  auto x = node.tensor(X);
  if (failed(x) || !batchFirst)
    return x;
  return transposed(*x, {1, 0, 2}, "_x");
}

/// A first state, or zeros.
FailureOr<Value> LayerNode::state(size_t input, llvm::StringRef suffix) {
  if (!node.hasInput(input))
    return node.splat({directions, batch, hidden}, 0, suffix);
  auto first = node.tensor(input);
  if (failed(first) || !batchFirst)
    return first;
  return transposed(*first, {1, 0, 2}, suffix);
}

/// Lengths that are known to be all steps say nothing.
LogicalResult LayerNode::readLengths() {
  if (!node.hasInput(Lengths))
    return success();
  if (node.isConstant(Lengths)) {
    auto known = node.constantIntegers(Lengths, "sequence lengths");
    if (failed(known))
      return failure();
    for (int64_t length : *known)
      if (length < 0 || length > steps)
        return node.fail("expected sequences of at most " + llvm::Twine(steps) +
                         " steps, got: " + llvm::Twine(length));
    if (llvm::all_of(*known, [&](int64_t length) { return length == steps; }))
      return success();
  }
  auto given = node.tensor(Lengths, ElementTypes::Indices);
  if (failed(given))
    return failure();
  lengths = *given;
  return success();
}

/// Entries [first, first + count) of dimension 1 of three.
FailureOr<Value> LayerNode::rows(Value whole, int64_t first, int64_t count,
                                 llvm::StringRef suffix) {
  return node.create<nn::SliceOp>(
      {directions, count, hidden}, whole,
      {node.attr("starts", {0, first, 0}), node.attr("steps", {1, 1, 1})},
      suffix);
}

/// The sums of ONNX's two biases; of GRU's last gate, both.
FailureOr<Value> LayerNode::bias() {
  bool isGRU = gates == 3;
  int64_t summed = isGRU ? 2 : gates, all = isGRU ? 4 : gates;
  if (!node.hasInput(B))
    return node.splat({directions, all, hidden}, 0, "_bias");
  auto both = node.tensorAs(B, {directions, 2 * gates, hidden}, "_biases");
  if (failed(both))
    return failure();
  auto ofInputs = rows(*both, 0, summed, "_bias_w");
  auto ofStates = rows(*both, gates, summed, "_bias_r");
  if (failed(ofInputs) || failed(ofStates))
    return failure();
  auto sum = node.create<nn::AddOp>({directions, summed, hidden},
                                    {*ofInputs, *ofStates}, {},
                                    isGRU ? "_bias_gates" : "_bias");
  if (failed(sum) || !isGRU)
    return sum;
  auto lastOfInputs = rows(*both, 2, 1, "_bias_wh");
  auto lastOfStates = rows(*both, 5, 1, "_bias_rh");
  if (failed(lastOfInputs) || failed(lastOfStates))
    return failure();
  return node.create<nn::ConcatOp>({directions, 4, hidden},
                                   {*sum, *lastOfInputs, *lastOfStates},
                                   {node.attr("axis", int64_t(1))}, "_bias");
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult
LayerNode::addAttributes(SmallVector<NamedAttribute> &attributes) {
  if (isReverse)
    attributes.push_back(node.unitAttr("reverse"));
  auto activations = readActivations(node, gates, directions);
  if (failed(activations))
    return failure();
  if (*activations)
    attributes.push_back(node.attr("activations", *activations));
  if (!node.hasAttribute("clip"))
    return success();
  float clip = node.number("clip", 0);
  if (!(clip > 0))
    return node.fail("expected a positive clip, got: " + std::to_string(clip));
  attributes.push_back(node.attr("clip", clip));
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

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

/// Zeros in the steps behind the end of a sequence.
FailureOr<Value> LayerNode::withoutEnds(Value states) {
  Type type = cast<RankedTensorType>(lengths.getType()).getElementType();
  HostTensor numbers = HostTensor::zeros(
      type.isInteger(32) ? onnx::TensorProto::INT32 : onnx::TensorProto::INT64,
      {steps, 1, 1, 1});
  for (int64_t i = 0; i != steps; ++i)
    numbers.setInteger(i, i);
  Value places = node.constantTensor(std::move(numbers), "_places");
  auto ends = node.reshape(lengths, {batch, 1}, "_ends");
  if (failed(ends))
    return failure();
  auto runs = node.createOf<nn::CompareOp>(
      node.builder().getI1Type(), {steps, 1, batch, 1}, {places, *ends},
      {node.attr("predicate",
                 nn::PredicateAttr::get(node.builder().getContext(),
                                        nn::Predicate::Lt))},
      "_runs");
  if (failed(runs))
    return failure();
  return node.createOf<nn::WhereOp>(
      cast<RankedTensorType>(states.getType()).getElementType(),
      {steps, directions, batch, hidden},
      {*runs, states, node.scalar(0, "_zero")}, {}, "_states");
}

/// Sets the results that somebody reads.
LogicalResult LayerNode::finish(Operation *op) {
  Value states = op->getResult(0);
  if (node.usesOutput(0)) {
    FailureOr<Value> all = states;
    if (lengths)
      all = withoutEnds(states);
    if (succeeded(all) && batchFirst)
      all = transposed(*all, {2, 0, 1, 3}, "_y");
    if (failed(all))
      return failure();
    node.setResult(0, *all);
  }
  if (node.usesOutput(1)) {
    auto last = lastHidden(node, states, isReverse);
    if (succeeded(last) && batchFirst)
      last = transposed(*last, {1, 0, 2}, "_y_h");
    if (failed(last))
      return failure();
    node.setResult(1, *last);
  }
  if (op->getNumResults() == 1 || !node.usesOutput(2))
    return success();
  FailureOr<Value> cell = op->getResult(1);
  if (batchFirst)
    cell = transposed(*cell, {1, 0, 2}, "_y_c");
  if (failed(cell))
    return failure();
  node.setResult(2, *cell);
  return success();
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

/// The op `name` of a layer.
static LogicalResult importLayer(LayerNode &layer, llvm::StringRef name) {
  NodeContext &node = layer.node;
  if (failed(layer.read()) || failed(layer.readLengths()))
    return failure();
  auto [gates, hidden, directions] =
      std::tuple(layer.gates, layer.hidden, layer.directions);
  bool isLSTM = gates == 4;
  SmallVector<Value> operands;
  SmallVector<NamedAttribute> attributes;
  auto add = [&](FailureOr<Value> operand) -> LogicalResult {
    if (succeeded(operand))
      operands.push_back(*operand);
    return operand;
  };
  // Gates become a dimension.
  if (failed(add(layer.inputs0())) ||
      failed(add(
          node.tensorAs(W, {directions, gates, hidden, layer.inputs}, "_w"))) ||
      failed(
          add(node.tensorAs(R, {directions, gates, hidden, hidden}, "_r"))) ||
      failed(add(layer.bias())) ||
      failed(add(layer.state(FirstHidden, "_first_hidden"))))
    return failure();
  if (isLSTM && failed(add(layer.state(FirstCell, "_first_cell"))))
    return failure();
  if (layer.lengths)
    operands.push_back(layer.lengths);
  bool peeps = isLSTM && node.hasInput(Peephole);
  if (peeps &&
      failed(add(node.tensorAs(Peephole, {directions, 3, hidden}, "_p"))))
    return failure();
  if (failed(layer.addAttributes(attributes)))
    return failure();
  if (isLSTM)
    attributes.push_back(node.attr(
        "operandSegmentSizes",
        node.builder().getDenseI32ArrayAttr(
            {1, 1, 1, 1, 1, 1, layer.lengths ? 1 : 0, peeps ? 1 : 0})));
  for (llvm::StringRef flag : {"input_forget", "linear_before_reset"})
    if (node.integer(flag, 0) != 0)
      attributes.push_back(node.unitAttr(flag));
  Type element = cast<RankedTensorType>(operands[0].getType()).getElementType();
  SmallVector<RankedTensorType> types = {RankedTensorType::get(
      {layer.steps, directions, layer.batch, hidden}, element)};
  if (isLSTM)
    types.push_back(
        RankedTensorType::get({directions, layer.batch, hidden}, element));
  auto op = node.createNamed(name, types, operands, attributes);
  return failed(op) ? failure() : layer.finish(*op);
}

LogicalResult soap::onnx_import::importLSTM(NodeContext &node) {
  LayerNode layer{node, 4};
  return importLayer(layer, nn::LSTMOp::getOperationName());
}

LogicalResult soap::onnx_import::importGRU(NodeContext &node) {
  LayerNode layer{node, 3};
  return importLayer(layer, nn::GRUOp::getOperationName());
}

LogicalResult soap::onnx_import::importRNN(NodeContext &node) {
  LayerNode layer{node, 1};
  return importLayer(layer, nn::RNNOp::getOperationName());
}
