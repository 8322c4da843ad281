//===- Scan.cpp - Scans of a known length ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Scan becomes its body, once per row of the sequences that it scans.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

static int64_t integerOf(const NodeProto &node, llvm::StringRef name,
                         int64_t otherwise) {
  const AttributeProto *attribute = findAttribute(node, name);
  return attribute ? attribute->i() : otherwise;
}

/// Entry `i` of a list attribute of Scan; 0 without it.
static int64_t entryOf(const NodeProto &node, llvm::StringRef name, int i) {
  const AttributeProto *attribute = findAttribute(node, name);
  return attribute && i < attribute->ints_size() ? attribute->ints(i) : 0;
}

/// A node with an axis.
static NodeProto makeNode(llvm::StringRef op, std::vector<std::string> inputs,
                          const std::string &output, int64_t axis) {
  NodeProto node;
  node.set_op_type(op.str());
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(axis);
  return node;
}

/// The Scan of one sample of a Scan of operator set 8, as newer sets have it.
static NodeProto sampleOf(const NodeProto &node, int64_t scanned) {
  NodeProto sample;
  sample.set_op_type("Scan");
  sample.set_name(node.name());
  sample.set_domain(node.domain());
  AttributeProto axes;
  axes.set_name("scan_input_axes");
  axes.set_type(AttributeProto::INTS);
  for (int64_t k = 0; k != scanned; ++k)
    axes.add_ints(0);
  *sample.add_attribute() = axes;
  for (const AttributeProto &attribute : node.attribute()) {
    AttributeProto &copy = *sample.add_attribute();
    copy = attribute;
    if (attribute.name() == "directions")
      copy.set_name("scan_input_directions");
  }
  return sample;
}

/// Dimension 0 is the batch, dimension 1 the sequence; each sample is a Scan of
/// its own. What stands behind a sequence that is shorter than the others is
/// undefined: its last row.
void GraphImporter::importScan(const NodeProto &node) {
  if (opset() >= 9 || findAttribute(node, "scan_input_axes"))
    return scanSample(node);
  int64_t scanned = integerOf(node, "num_scan_inputs", 0);
  auto states = static_cast<int>(node.input_size() - 1 - scanned);
  Shape shape;
  if (scanned >= 1 && states >= 0)
    shape = values_[node.input(node.input_size() - 1)].shape;
  bool fits = shape.size() >= 2 && shape[0] > 0 && shape[1] > 0;
  for (int k = 1; fits && k != node.input_size(); ++k) {
    const Shape &other = values_[node.input(k)].shape;
    fits = !other.empty() && other[0] == shape[0] &&
           (k <= states || (other.size() >= 2 && other[1] == shape[1]));
  }
  std::vector<int64_t> lengths(fits ? static_cast<size_t>(shape[0]) : 0,
                               fits ? shape[1] : 0);
  if (fits && !node.input(0).empty()) {
    ImportedValue &given = values_[node.input(0)];
    if (!evaluate(given))
      return addProblem(node, "expected lengths of sequences that are known at "
                              "compile time, got: ones that depend on an "
                              "input; --bind can make them constants");
    fits = given.host.integral() && given.host.ints.size() == lengths.size();
    if (fits)
      lengths = given.host.ints;
  }
  for (int64_t length : lengths)
    fits &= length > 0 && length <= shape[1];
  if (!fits)
    return addProblem(node, "expected states and sequences of one batch, and "
                            "lengths above 0, got: num_scan_inputs " +
                                llvm::Twine(scanned) + " and shape " +
                                toString(shape));
  std::vector<std::vector<std::string>> samples(
      static_cast<size_t>(node.output_size()));
  size_t before = problems_.size();
  for (int64_t n = 0; n != shape[0] && problems_.size() == before; ++n) {
    int64_t length = lengths[static_cast<size_t>(n)];
    // Row i of a sequence: at most the last one.
    auto rowsOf = [&](const std::string &tensor, int64_t count) {
      std::string rows = uniqueTensorName(node, "rows");
      std::vector<int64_t> wanted;
      for (int64_t i = 0; i != count; ++i)
        wanted.push_back(std::min(i, length - 1));
      std::string indices = uniqueTensorName(node, "indices");
      ImportedValue &known = values_[indices];
      known.kind = ImportedValue::Kind::Host;
      known.host = HostTensor::vector(wanted);
      known.elementType = known.host.elementType;
      known.shape = known.host.shape;
      read_.insert(rows);
      importBody({makeNode("Gather", {tensor, indices}, rows, 0)},
                 scopeOf(node, {{"", 13}}));
      return rows;
    };
    NodeProto sample = sampleOf(node, scanned);
    for (int k = 1; k != node.input_size(); ++k) {
      std::string part = rowOf(node, node.input(k), 0, n);
      sample.add_input(k > states && length != shape[1] ? rowsOf(part, length)
                                                        : part);
    }
    for (const std::string &output : node.output()) {
      sample.add_output(uniqueTensorName(node, "sample"));
      if (read_.contains(output))
        read_.insert(sample.output(sample.output_size() - 1));
      values_.try_emplace(sample.output(sample.output_size() - 1));
    }
    scanSample(sample);
    for (int k = 0; problems_.size() == before && k != node.output_size(); ++k)
      if (read_.contains(node.output(k)))
        samples[static_cast<size_t>(k)].push_back(
            k >= states && length != shape[1]
                ? rowsOf(sample.output(k), shape[1])
                : sample.output(k));
  }
  for (int k = 0; problems_.size() == before && k != node.output_size(); ++k)
    if (read_.contains(node.output(k)))
      stack(node, node.output(k), samples[static_cast<size_t>(k)], 0);
}

void GraphImporter::scanSample(const NodeProto &node) {
  const GraphProto &body = findAttribute(node, "body")->g();
  int64_t scanned = integerOf(node, "num_scan_inputs", 0);
  if (scanned < 1 || scanned > node.input_size() ||
      body.output_size() < node.input_size() - scanned ||
      body.output_size() != node.output_size()) {
    addProblem(node, "expected a Scan with inputs that it scans and an output "
                     "per state, got: num_scan_inputs " +
                         llvm::Twine(scanned));
    return;
  }
  int states = node.input_size() - static_cast<int>(scanned);
  int64_t length = -1;
  std::vector<int64_t> axes;
  for (int k = 0; k != scanned; ++k) {
    const Shape &shape = values_[node.input(states + k)].shape;
    auto rank = static_cast<int64_t>(shape.size());
    int64_t axis = entryOf(node, "scan_input_axes", k);
    axes.push_back(axis < 0 ? axis + rank : axis);
    int64_t size = axes.back() >= 0 && axes.back() < rank
                       ? shape[static_cast<size_t>(axes.back())]
                       : -1;
    if (size < 1 || (length >= 0 && size != length)) {
      addProblem(node, "expected inputs of one length along the axes of the "
                       "scan, got: shape " +
                           toString(shape) + " for " +
                           quoted(node.input(states + k)));
      return;
    }
    length = size;
  }
  std::vector<bool> isRead(static_cast<size_t>(body.output_size()), true);
  int scans = node.output_size() - states;
  for (int k = states; k != node.output_size(); ++k)
    isRead[static_cast<size_t>(k)] = read_.contains(node.output(k));
  std::vector<std::string> state(node.input().begin(),
                                 node.input().begin() + states);
  std::vector<std::vector<std::string>> rows(static_cast<size_t>(scans));
  size_t before = problems_.size();
  for (int64_t i = 0; i != length; ++i) {
    std::vector<std::string> operands = state;
    for (int k = 0; k != scanned; ++k) {
      bool backward = entryOf(node, "scan_input_directions", k) == 1;
      operands.push_back(rowOf(node, node.input(states + k),
                               axes[static_cast<size_t>(k)],
                               backward ? length - 1 - i : i));
    }
    auto outputs = importSubgraph(node, body, operands, isRead);
    if (!outputs || problems_.size() != before)
      return;
    state.assign(outputs->begin(), outputs->begin() + states);
    for (int k = 0; k != scans; ++k) {
      bool backward = entryOf(node, "scan_output_directions", k) == 1;
      auto &list = rows[static_cast<size_t>(k)];
      list.insert(backward ? list.begin() : list.end(),
                  (*outputs)[static_cast<size_t>(states + k)]);
    }
  }
  for (int k = 0; k != states; ++k)
    alias(node.output(k), state[static_cast<size_t>(k)]);
  for (int k = 0; k != scans; ++k) {
    if (!isRead[static_cast<size_t>(states + k)])
      continue;
    int64_t axis = entryOf(node, "scan_output_axes", k);
    auto &list = rows[static_cast<size_t>(k)];
    auto rank = static_cast<int64_t>(values_[list[0]].shape.size()) + 1;
    stack(node, node.output(states + k), list, axis < 0 ? axis + rank : axis);
  }
}

std::string GraphImporter::rowOf(const NodeProto &node,
                                 const std::string &tensor, int64_t axis,
                                 int64_t index) {
  std::vector<NodeProto> nodes(1);
  NodeProto &gather = nodes[0];
  gather.set_op_type("Gather");
  gather.add_input(tensor);
  gather.add_input(uniqueTensorName(node, "index"));
  define(gather.input(1), TensorProto::INT64, index);
  AttributeProto &attribute = *gather.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(axis);
  std::string row = uniqueTensorName(node, "row");
  gather.add_output(row);
  read_.insert(row);
  importBody(std::move(nodes), scopeOf(node, {{"", 13}}));
  return row;
}
