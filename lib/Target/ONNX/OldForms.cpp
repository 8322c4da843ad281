//===- OldForms.cpp - What operator set 6 says otherwise --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operator set 7 brought the broadcasting of today. Before, an attribute asked
// for broadcasting, and another one said which dimension of the first operand
// is the first dimension of the second. An attribute of a layer said that it is
// not being trained.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/StringSwitch.h"

using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

/// Removes the integer attribute `name` and returns its value.
static std::optional<int64_t> takeInteger(NodeProto &node,
                                          llvm::StringRef name) {
  auto &attributes = *node.mutable_attribute();
  for (auto it = attributes.begin(); it != attributes.end(); ++it)
    if (it->name() == name) {
      int64_t value = it->i();
      attributes.erase(it);
      return value;
    }
  return std::nullopt;
}

static bool broadcasts(llvm::StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases("Add", "Sub", "Mul", "Div", "Pow", true)
      .Cases("And", "Or", "Xor", true)
      .Cases("Equal", "Greater", "Less", "PRelu", "Gemm", true)
      .Default(false);
}

/// Scales are an attribute before operator set 9, and an operand since.
void GraphImporter::importOldUpsample(NodeProto node) {
  NodeProto scales;
  scales.set_op_type("Constant");
  scales.add_output(uniqueTensorName(node, "scales"));
  auto &attributes = *node.mutable_attribute();
  for (auto it = attributes.begin(); it != attributes.end(); ++it)
    if (it->name() == "scales") {
      AttributeProto &value = *scales.add_attribute();
      value.set_name("value");
      value.set_type(AttributeProto::TENSOR);
      TensorProto &tensor = *value.mutable_t();
      tensor.set_data_type(TensorProto::FLOAT);
      tensor.add_dims(it->floats_size());
      *tensor.mutable_float_data() = it->floats();
      attributes.erase(it);
      break;
    }
  node.add_input(scales.output(0));
  NodeScope scope = *scope_;
  scope.sets[""] = 9;
  std::vector<NodeProto> nodes = {std::move(scales), std::move(node)};
  importBody(std::move(nodes), std::move(scope));
}

bool GraphImporter::importOldForm(const NodeProto &old) {
  if (isStandard(old) && old.op_type() == "Upsample" && opset() >= 7 &&
      opset() < 9) {
    if (checkValid(old))
      importOldUpsample(old);
    return true;
  }
  if (opset() > 6 || !isStandard(old))
    return false;
  if (opset() < 6 && !isUnchanged(old.op_type(), opset(), 6)) {
    addProblem(old, "expected an operator that operator set 6 did not change, "
                    "got: an older one; convert the model, for instance with "
                    "onnx.version_converter");
    return true;
  }
  NodeProto node = old;
  const std::string &type = node.op_type();
  std::optional<int64_t> axis;
  if (broadcasts(type)) {
    takeInteger(node, "broadcast");
    axis = takeInteger(node, "axis");
    // A slope per channel.
    if (type == "PRelu" && node.input_size() == 2 &&
        values_[node.input(1)].shape.size() == 1)
      axis = 1;
  } else if (type == "BatchNormalization" || type == "Dropout") {
    bool isTest = takeInteger(node, "is_test").value_or(0) != 0;
    if (!isTest && !options_.training) {
      addProblem(old, "expected inference, got: is_test 0; export the model "
                      "for inference");
      return true;
    }
  } else {
    return false;
  }
  std::vector<NodeProto> nodes;
  if (axis && node.input_size() == 2) {
    auto rank = static_cast<int64_t>(values_[node.input(0)].shape.size());
    auto own = static_cast<int64_t>(values_[node.input(1)].shape.size());
    // Dimensions of size 1 behind those of the second operand.
    int64_t behind = rank - own - (*axis < 0 ? *axis + rank : *axis);
    if (behind > 0) {
      NodeProto &shaped = nodes.emplace_back();
      shaped.set_op_type("Unsqueeze");
      shaped.add_input(node.input(1));
      shaped.add_output(uniqueTensorName(node, "operand"));
      AttributeProto &attribute = *shaped.add_attribute();
      attribute.set_name("axes");
      attribute.set_type(AttributeProto::INTS);
      for (int64_t d = own; d != own + behind; ++d)
        attribute.add_ints(d);
      node.set_input(1, shaped.output(0));
    }
  }
  nodes.push_back(std::move(node));
  NodeScope scope = *this->scope_;
  scope.sets[""] = 7;
  importBody(std::move(nodes), std::move(scope));
  return true;
}
