//===- ControlFlow.cpp - Branches and loops that are known ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph that a strategy places has no branches: If becomes the branch that
// is taken, Loop and Scan become their bodies, once per iteration.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

const AttributeProto *soap::onnx_import::findAttribute(const NodeProto &node,
                                                       llvm::StringRef name) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

std::optional<int64_t> GraphImporter::knownInteger(const std::string &name) {
  ImportedValue &value = values_[name];
  if (!evaluate(value) || !value.host.integral() || value.host.size() != 1)
    return std::nullopt;
  return value.host.ints[0];
}

void GraphImporter::define(const std::string &name, int elementType,
                           int64_t value) {
  ImportedValue &result = values_[name];
  result = ImportedValue();
  result.kind = ImportedValue::Kind::Host;
  result.elementType = elementType;
  result.host = HostTensor::zeros(elementType, {});
  result.host.setInteger(0, value);
}

bool GraphImporter::importControlFlow(const NodeProto &node) {
  if (!isStandard(node))
    return false;
  const std::string &type = node.op_type();
  if (type != "If" && type != "Loop" && type != "Scan")
    return false;
  bool allHost = true;
  if (!checkValid(node) || !checkOperands(node, allHost))
    return true;
  if (type == "If")
    importIf(node);
  else if (type == "Loop")
    importLoop(node);
  else
    importScan(node);
  return true;
}

void GraphImporter::importIf(const NodeProto &node) {
  std::optional<int64_t> condition = knownInteger(node.input(0));
  if (!condition)
    return addProblem(node, "expected a condition that is known at compile "
                            "time, got: one that depends on an input; --bind "
                            "can make it a constant");
  const AttributeProto *branch =
      findAttribute(node, *condition ? "then_branch" : "else_branch");
  std::vector<bool> isRead;
  for (const std::string &output : node.output())
    isRead.push_back(read_.contains(output));
  auto outputs = importSubgraph(node, branch->g(), {}, isRead);
  for (int i = 0; outputs && i != node.output_size(); ++i)
    if (isRead[static_cast<size_t>(i)])
      alias(node.output(i), (*outputs)[static_cast<size_t>(i)]);
}

void GraphImporter::stack(const NodeProto &node, const std::string &name,
                          llvm::ArrayRef<std::string> parts, int64_t axis) {
  std::string axes = uniqueTensorName(node, "axis");
  values_[axes].kind = ImportedValue::Kind::Host;
  values_[axes].elementType = TensorProto::INT64;
  values_[axes].shape = {1};
  values_[axes].host = HostTensor::vector({axis});
  std::vector<NodeProto> nodes;
  NodeProto concat;
  concat.set_op_type("Concat");
  AttributeProto &attribute = *concat.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(axis);
  concat.add_output(name);
  for (const std::string &part : parts) {
    NodeProto &row = nodes.emplace_back();
    row.set_op_type("Unsqueeze");
    row.add_input(part);
    row.add_input(axes);
    row.add_output(uniqueTensorName(node, "row"));
    concat.add_input(row.output(0));
  }
  nodes.push_back(std::move(concat));
  importBody(std::move(nodes), scopeOf(node, {{"", 13}}));
}

void GraphImporter::importLoop(const NodeProto &node) {
  const GraphProto &body = findAttribute(node, "body")->g();
  std::string countName = node.input(0);
  std::string conditionName = node.input_size() > 1 ? node.input(1) : "";
  std::optional<int64_t> count, condition = 1;
  if (!countName.empty())
    count = knownInteger(countName);
  if (!conditionName.empty())
    condition = knownInteger(conditionName);
  auto unknown = [&](llvm::StringRef what) {
    addProblem(node, "expected a " + what +
                         " that is known at compile time, got: one that "
                         "depends on an input; --bind can make it a constant");
  };
  if (!countName.empty() && !count)
    return unknown("trip count");
  if (!condition)
    return unknown("condition");
  int states = std::max(node.input_size() - 2, 0);
  if (node.output_size() < states || body.output_size() < states + 1) {
    addProblem(node, "expected at least as many outputs as the loop has "
                     "states, got: fewer");
    return;
  }
  // States are read by the next iteration, whoever reads the loop's outputs.
  std::vector<bool> isRead(static_cast<size_t>(body.output_size()), true);
  int scans = std::min(body.output_size() - 1, node.output_size()) - states;
  for (int k = 1 + states; k != body.output_size(); ++k)
    isRead[static_cast<size_t>(k)] =
        k - 1 < node.output_size() && read_.contains(node.output(k - 1));

  std::vector<std::string> state(
      node.input().begin() + (node.input_size() - states), node.input().end());
  std::vector<std::vector<std::string>> rows(static_cast<size_t>(scans));
  size_t before = problems_.size();
  auto iterate = [&](int64_t i) {
    std::vector<std::string> operands = {uniqueTensorName(node, "iteration"),
                                         uniqueTensorName(node, "condition")};
    define(operands[0], TensorProto::INT64, i);
    define(operands[1], TensorProto::BOOL, 1);
    operands.insert(operands.end(), state.begin(), state.end());
    auto outputs = importSubgraph(node, body, operands, isRead);
    return problems_.size() == before ? outputs : std::nullopt;
  };
  for (int64_t i = 0; *condition && (!count || i < *count); ++i) {
    if (i == maxIterations) {
      addProblem(node, "expected at most " + llvm::Twine(maxIterations) +
                           " iterations, got: more");
      return;
    }
    auto outputs = iterate(i);
    if (!outputs)
      return;
    condition = knownInteger((*outputs)[0]);
    if (!condition)
      return unknown("condition");
    state.assign(outputs->begin() + 1, outputs->begin() + 1 + states);
    for (int k = 0; k != scans; ++k)
      rows[static_cast<size_t>(k)].push_back(
          (*outputs)[static_cast<size_t>(1 + states + k)]);
  }
  // A loop that ends at once stacks no rows, whose shapes are those of its
  // body: of operations that nothing reads.
  std::optional<std::vector<std::string>> unread;
  for (int k = 0; k != scans; ++k) {
    const std::string &name = node.output(states + k);
    if (!read_.contains(name))
      continue;
    if (!rows[static_cast<size_t>(k)].empty()) {
      stack(node, name, rows[static_cast<size_t>(k)], 0);
      continue;
    }
    if (!unread) {
      Block *block = builder_.getInsertionBlock();
      Operation *last = block->empty() ? nullptr : &block->back();
      unread = iterate(0);
      if (!unread)
        return;
      auto first = last ? std::next(last->getIterator()) : block->begin();
      for (Operation &op : llvm::make_range(first, block->end()))
        replaced_.push_back(&op);
    }
    const ImportedValue &row =
        values_[(*unread)[static_cast<size_t>(1 + states + k)]];
    ImportedValue empty;
    empty.kind = ImportedValue::Kind::Host;
    empty.elementType = row.elementType;
    empty.shape = {0};
    llvm::append_range(empty.shape, row.shape);
    empty.host = HostTensor::zeros(empty.elementType, empty.shape);
    values_[name] = std::move(empty);
  }
  for (int k = 0; k != states; ++k)
    alias(node.output(k), state[static_cast<size_t>(k)]);
}
