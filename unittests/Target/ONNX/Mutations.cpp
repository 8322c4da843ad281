//===- Mutations.cpp - Models with something wrong ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"
#include "onnx/onnx-ml.pb.h"
#include <iterator>

using namespace soap::test;

/// A number that is likely to break something.
static int64_t nastyNumber(Random &random) {
  static constexpr int64_t numbers[] = {
      0,         1,         -1,        2,           3,         7,
      255,       65536,     INT32_MAX, INT32_MIN,   INT64_MAX, INT64_MIN,
      1ll << 31, 1ll << 40, 1ll << 62, -(1ll << 31)};
  return numbers[below(random, std::size(numbers))];
}

static void mutateBytes(std::string &bytes, Random &random) {
  uint64_t count = 1 + below(random, 4);
  for (uint64_t i = 0; i != count && !bytes.empty(); ++i) {
    size_t at = below(random, bytes.size());
    size_t length = 1 + below(random, std::min<size_t>(16, bytes.size() - at));
    switch (below(random, 6)) {
    case 0:
      bytes[at] ^= static_cast<char>(1u << below(random, 8));
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(at, bytes.substr(at, length));
      break;
    default:
      bytes.insert(at, length, static_cast<char>(0xff));
    }
  }
}

/// Changes one thing in a well-formed model.
static void mutateField(onnx::ModelProto &model, Random &random) {
  onnx::GraphProto &graph = *model.mutable_graph();
  auto any = [&](int size) {
    return static_cast<int>(below(random, static_cast<uint64_t>(size)));
  };
  onnx::NodeProto &node = *graph.mutable_node(any(graph.node_size()));
  const onnx::NodeProto &other = graph.node(any(graph.node_size()));
  switch (below(random, 12)) {
  case 0: // Another operator.
    node.set_op_type(other.op_type());
    return;
  case 1: // Operands exchanged, or a cycle.
    if (node.input_size() && other.output_size())
      node.set_input(any(node.input_size()), other.output(0));
    return;
  case 2: // An operand more or less.
    if (below(random, 2) && node.input_size())
      node.mutable_input()->RemoveLast();
    else
      node.add_input(other.input_size() ? other.input(0) : "");
    return;
  case 3: // A result twice.
    if (node.output_size() && other.output_size())
      node.set_output(0, other.output(0));
    return;
  case 4:
  case 5: // An attribute's value.
    if (node.attribute_size()) {
      auto &attribute = *node.mutable_attribute(any(node.attribute_size()));
      if (attribute.ints_size() && below(random, 4))
        attribute.set_ints(any(attribute.ints_size()), nastyNumber(random));
      else if (attribute.ints_size())
        attribute.add_ints(nastyNumber(random));
      else if (attribute.has_i())
        attribute.set_i(nastyNumber(random));
      else if (attribute.has_f())
        attribute.set_f(static_cast<float>(nastyNumber(random)));
      else if (attribute.has_t())
        attribute.mutable_t()->add_dims(nastyNumber(random));
    }
    return;
  case 6: { // An attribute of another node.
    if (other.attribute_size()) {
      onnx::AttributeProto copy = other.attribute(any(other.attribute_size()));
      *node.add_attribute() = copy;
    }
    return;
  }
  case 7: // An initializer's shape or type.
    if (graph.initializer_size()) {
      auto &tensor = *graph.mutable_initializer(any(graph.initializer_size()));
      if (tensor.dims_size() && below(random, 2))
        tensor.set_dims(any(tensor.dims_size()), nastyNumber(random));
      else if (below(random, 2))
        tensor.add_dims(nastyNumber(random));
      else
        tensor.set_data_type(any(30));
    }
    return;
  case 8: // A shape that the graph computes with.
    if (graph.initializer_size()) {
      auto &tensor = *graph.mutable_initializer(any(graph.initializer_size()));
      std::string &raw = *tensor.mutable_raw_data();
      int64_t number = nastyNumber(random);
      if (raw.size() >= 8)
        raw.replace(8 * below(random, raw.size() / 8), 8,
                    reinterpret_cast<const char *>(&number), 8);
    }
    return;
  case 9: // An input's shape.
    for (auto &input : *graph.mutable_input()) {
      auto &shape =
          *input.mutable_type()->mutable_tensor_type()->mutable_shape();
      if (shape.dim_size() && below(random, 4) == 0)
        shape.mutable_dim(any(shape.dim_size()))
            ->set_dim_value(nastyNumber(random));
    }
    return;
  case 10: // External data somewhere.
    if (graph.initializer_size()) {
      auto &tensor = *graph.mutable_initializer(any(graph.initializer_size()));
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      auto &entry = *tensor.add_external_data();
      entry.set_key(below(random, 2) ? "location" : "offset");
      entry.set_value(below(random, 2) ? "soap-import-fuzz.onnx" : "-1");
    }
    return;
  default: // Another operator set.
    for (auto &set : *model.mutable_opset_import())
      set.set_version(5 + any(22));
  }
}

std::string soap::test::mutateModel(const std::string &model, Random &random) {
  onnx::ModelProto fields;
  if (below(random, 3) == 0 || !fields.ParseFromString(model) ||
      fields.graph().node_size() == 0) {
    std::string bytes = model;
    mutateBytes(bytes, random);
    return bytes;
  }
  uint64_t changes = 1 + below(random, 3);
  for (uint64_t k = 0; k != changes; ++k)
    mutateField(fields, random);
  return fields.SerializeAsString();
}
