//===- Body.cpp - Nodes that take the place of a node -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

using namespace mlir;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

std::string Body::input(size_t i) const {
  return i < node_.numInputs() ? node_.node.input(static_cast<int>(i)) : "";
}

std::string Body::add(llvm::StringRef op, llvm::ArrayRef<std::string> operands,
                      llvm::ArrayRef<Attribute> attributes) {
  NodeProto &added = nodes_.emplace_back();
  added.set_op_type(op.str());
  for (const std::string &operand : operands)
    added.add_input(operand);
  for (const Attribute &attribute : attributes) {
    AttributeProto &proto = *added.add_attribute();
    proto.set_name(attribute.name.str());
    if (const auto *integer = std::get_if<int64_t>(&attribute.value)) {
      proto.set_type(AttributeProto::INT);
      proto.set_i(*integer);
    } else if (const auto *number = std::get_if<float>(&attribute.value)) {
      proto.set_type(AttributeProto::FLOAT);
      proto.set_f(*number);
    } else if (const auto *text = std::get_if<std::string>(&attribute.value)) {
      proto.set_type(AttributeProto::STRING);
      proto.set_s(*text);
    } else {
      proto.set_type(AttributeProto::INTS);
      for (int64_t value :
           std::get<llvm::SmallVector<int64_t>>(attribute.value))
        proto.add_ints(value);
    }
  }
  added.add_output(node_.graph_.uniqueTensorName(node_.node, op));
  return added.output(0);
}

std::string Body::constant(HostTensor value) {
  std::string name = node_.graph_.uniqueTensorName(node_.node, "constant");
  if (value.size() > maxHostElements &&
      value.elementType == TensorProto::FLOAT) {
    // So many elements take no part in shape arithmetic.
    std::vector<float> floats(value.floats.begin(), value.floats.end());
    node_.setValue(name, node_.numbers(value.shape, floats, "_constant",
                                       TensorProto::FLOAT));
    return name;
  }
  ImportedValue &result = node_.graph_.values_[name];
  result.kind = ImportedValue::Kind::Host;
  result.elementType = value.elementType;
  result.shape = value.shape;
  result.host = std::move(value);
  return name;
}

std::string Body::integers(llvm::ArrayRef<int64_t> values) {
  return constant(HostTensor::vector(values));
}

std::string Body::integers(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> values) {
  HostTensor host = HostTensor::vector(values);
  host.shape = Shape(shape);
  return constant(std::move(host));
}

std::string Body::integer(int64_t value) { return integers({}, {value}); }

std::string Body::number(double value) { return numbers({}, {value}); }

std::string Body::numbers(llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<double> values) {
  HostTensor host = HostTensor::zeros(node_.input(0).elementType, shape);
  for (auto [i, value] : llvm::enumerate(values))
    host.setNumber(static_cast<int64_t>(i), value);
  return constant(std::move(host));
}

LogicalResult Body::finish(llvm::ArrayRef<std::string> results) {
  GraphImporter &graph = node_.graph_;
  size_t before = graph.problems_.size();
  for (size_t i = 0; i != results.size(); ++i)
    if (node_.usesOutput(i))
      graph.read_.insert(results[i]);
  if (!graph.countInlined(node_.node, static_cast<int>(nodes_.size())))
    return failure();
  graph.importBody(std::move(nodes_), graph.scopeOf(node_.node, {{"", 18}}));
  if (graph.problems_.size() != before)
    return failure();
  for (size_t i = 0; i != results.size(); ++i)
    if (node_.usesOutput(i))
      graph.alias(node_.node.output(static_cast<int>(i)), results[i]);
  return success();
}
