//===- Standard.cpp - What ONNX's own library knows -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Standard.h"
#include "onnx/common/visitor.h"
#include "onnx/defs/operator_sets.h"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/attribute_binder.h"
#include "onnx/shape_inference/implementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <array>
#include <mutex>

using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

OperatorSets soap::onnx_import::operatorSets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &list) {
  OperatorSets sets;
  for (const onnx::OperatorSetIdProto &set : list)
    sets[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
  return sets;
}

//===----------------------------------------------------------------------===//
// Schemas
//===----------------------------------------------------------------------===//

/// Registers the schemas that an operator set brought, by its number less 1.
template <typename... Sets>
static constexpr std::array<void (*)(), sizeof...(Sets)> registrations = {[] {
  onnx::RegisterOpSetSchema<Sets>(0, /*fail_duplicate_schema=*/false);
}...};

/// ONNX's registry is one for the whole process, and filled on the way: this
/// mutex is held by whoever calls ONNX's library.
static std::mutex registryMutex;

/// The schema of an operator of the default domain; null if there is none.
/// Needs the mutex. Building all schemas takes 10 ms: only the operator sets
/// between the one that is asked for and the one that brought the schema are
/// registered.
static const onnx::OpSchema *findSchema(const std::string &name,
                                        int64_t opset) {
  using namespace onnx;
  static constexpr auto &all = registrations<
      OpSet_Onnx_ver1, OpSet_Onnx_ver2, OpSet_Onnx_ver3, OpSet_Onnx_ver4,
      OpSet_Onnx_ver5, OpSet_Onnx_ver6, OpSet_Onnx_ver7, OpSet_Onnx_ver8,
      OpSet_Onnx_ver9, OpSet_Onnx_ver10, OpSet_Onnx_ver11, OpSet_Onnx_ver12,
      OpSet_Onnx_ver13, OpSet_Onnx_ver14, OpSet_Onnx_ver15, OpSet_Onnx_ver16,
      OpSet_Onnx_ver17, OpSet_Onnx_ver18, OpSet_Onnx_ver19, OpSet_Onnx_ver20,
      OpSet_Onnx_ver21, OpSet_Onnx_ver22, OpSet_Onnx_ver23, OpSet_Onnx_ver24,
      OpSet_Onnx_ver25, OpSet_Onnx_ver26, OpSet_Onnx_ver27>;
  static std::array<bool, all.size()> done = {};
  auto newest = static_cast<size_t>(
      std::clamp<int64_t>(opset, 1, static_cast<int64_t>(all.size())));
  for (size_t set = newest; set != 0; --set) {
    if (!done[set - 1])
      all[set - 1]();
    done[set - 1] = true;
    const OpSchema *schema =
        OpSchemaRegistry::Schema(name, static_cast<int>(newest));
    if (schema && schema->SinceVersion() >= static_cast<int>(set))
      return schema;
  }
  return nullptr;
}

llvm::Error soap::onnx_import::checkAgainstSchema(const NodeProto &node,
                                                  int64_t opset) {
  std::lock_guard<std::mutex> lock(registryMutex);
  const onnx::OpSchema *schema = findSchema(node.op_type(), opset);
  if (!schema && findSchema(node.op_type(), INT64_MAX))
    return llvm::createStringError(
        "an operator that is not part of this operator set");
  // An operator that its set deprecates may still be in use, as
  // GroupNormalization of set 18 is.
  if (!schema || schema->Deprecated())
    return llvm::Error::success();
  try {
    schema->Verify(node);
    return llvm::Error::success();
  } catch (const std::exception &exception) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::printEscapedString(
        llvm::StringRef(exception.what()).split('\n').first, os);
    return llvm::createStringError(llvm::Twine(text));
  }
}

bool soap::onnx_import::isUnchanged(const std::string &op, int64_t oldSet,
                                    int64_t newSet) {
  const onnx::OpSchema *older = findSchema(op, oldSet);
  const onnx::OpSchema *newer = findSchema(op, newSet);
  return older && newer && older->SinceVersion() == newer->SinceVersion();
}

std::vector<onnx::TypeProto> soap::onnx_import::inferTypes(
    const NodeProto &node, int64_t opset,
    llvm::ArrayRef<onnx::TypeProto> inputTypes,
    const std::map<int, onnx::TensorProto> &constants) {
  std::vector<onnx::TypeProto> result(static_cast<size_t>(node.output_size()));
  if (!findSchema(node.op_type(), opset))
    return result;
  onnx::ModelProto model;
  model.set_ir_version(onnx::Version::IR_VERSION);
  onnx::OperatorSetIdProto &set = *model.add_opset_import();
  set.set_version(opset);
  GraphProto &graph = *model.mutable_graph();
  NodeProto &copy = *graph.add_node();
  copy = node;
  for (int i = 0; i != node.input_size(); ++i) {
    if (node.input(i).empty())
      continue;
    std::string name = "x" + std::to_string(i);
    copy.set_input(i, name);
    auto constant = constants.find(i);
    if (constant != constants.end()) {
      onnx::TensorProto &tensor = *graph.add_initializer();
      tensor = constant->second;
      tensor.set_name(name);
      continue;
    }
    onnx::ValueInfoProto &input = *graph.add_input();
    input.set_name(name);
    *input.mutable_type() = inputTypes[static_cast<size_t>(i)];
  }
  for (int i = 0; i != node.output_size(); ++i) {
    copy.set_output(i, "y" + std::to_string(i));
    graph.add_output()->set_name(copy.output(i));
  }
  try {
    onnx::shape_inference::InferShapes(model);
  } catch (const std::exception &) {
    return result;
  }
  for (size_t i = 0; i != result.size(); ++i)
    result[i] = graph.output(static_cast<int>(i)).type();
  return result;
}

/// Operators whose schema of the second number differs from older ones in types
/// alone, so that the body that it brought stands for those, too.
static constexpr std::pair<llvm::StringLiteral, int64_t> sameMeaning[] = {
    {"LeakyRelu", 16}, {"PRelu", 16}};

std::optional<FunctionProto> soap::onnx_import::standardFunction(
    NodeProto &node, int64_t opset,
    llvm::ArrayRef<onnx::TypeProto> inputTypes) {
  std::lock_guard<std::mutex> lock(registryMutex);
  for (const auto &[name, version] : sameMeaning)
    if (name == node.op_type())
      opset = std::max(opset, version);
  const onnx::OpSchema *schema = findSchema(node.op_type(), opset);
  if (!schema ||
      (!schema->HasFunction() && !schema->HasContextDependentFunction()))
    return std::nullopt;
  try {
    schema->Verify(node);
    for (const auto &[name, attribute] : schema->attributes()) {
      const std::string &wanted = name;
      bool given = llvm::any_of(node.attribute(), [&](const auto &other) {
        return other.name() == wanted;
      });
      if (!given && attribute.default_value.has_name())
        *node.add_attribute() = attribute.default_value;
    }
    if (schema->HasFunction()) {
      // A body may have been written for later operator sets alone; it names
      // the one whose operators it consists of.
      std::vector<int> versions = schema->function_opset_versions();
      int version = *std::min_element(versions.begin(), versions.end());
      return *schema->GetFunction(std::max(version, static_cast<int>(opset)));
    }
    std::vector<int> versions =
        schema->context_dependent_function_opset_versions();
    int version = *std::min_element(versions.begin(), versions.end());
    onnx::FunctionBodyBuildContextImpl context(
        node,
        std::vector<onnx::TypeProto>(inputTypes.begin(), inputTypes.end()));
    FunctionProto function;
    if (!schema->BuildContextDependentFunction(
            context, function, std::max(version, static_cast<int>(opset))))
      return std::nullopt;
    return function;
  } catch (const std::exception &) {
    // The node is not valid, or its body cannot be built for these types.
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

void soap::onnx_import::bindAttributes(const NodeProto &call,
                                       FunctionProto &function) {
  onnx::internal::AttributeMap values;
  for (const AttributeProto &attribute : function.attribute_proto())
    values[attribute.name()] = &attribute;
  for (const AttributeProto &attribute : call.attribute())
    values[attribute.name()] = &attribute;
  onnx::internal::AttributeBinder(values).VisitFunction(&function);
}

namespace {

/// Names of tensors in nested graphs; an inner one hides an outer one.
class Renamer final : public onnx::internal::MutableVisitor {
public:
  Renamer(const Renaming &names,
          llvm::function_ref<std::string(llvm::StringRef)> uniqueName)
      : outermost_(names), uniqueName_(uniqueName) {}

  bool ProcessNode(NodeProto *node) override {
    for (std::string &name : *node->mutable_input())
      rename(name);
    for (std::string &name : *node->mutable_output())
      rename(name);
    return true;
  }

  void VisitGraph(GraphProto *graph) override {
    inner_.emplace_back();
    auto define = [&](const std::string &name) {
      if (!name.empty())
        inner_.back()[name] = uniqueName_(name);
    };
    for (const auto &input : graph->input())
      define(input.name());
    for (const auto &tensor : graph->initializer())
      define(tensor.name());
    for (const NodeProto &node : graph->node())
      for (const std::string &output : node.output())
        define(output);
    for (auto &input : *graph->mutable_input())
      rename(*input.mutable_name());
    for (auto &tensor : *graph->mutable_initializer())
      rename(*tensor.mutable_name());
    for (NodeProto &node : *graph->mutable_node())
      VisitNode(&node);
    for (auto &output : *graph->mutable_output())
      rename(*output.mutable_name());
    inner_.pop_back();
  }

private:
  void rename(std::string &name) const {
    for (size_t i = inner_.size(); i != 0; --i)
      if (auto it = inner_[i - 1].find(name); it != inner_[i - 1].end()) {
        name = it->second;
        return;
      }
    if (auto it = outermost_.find(name); it != outermost_.end())
      name = it->second;
  }

  const Renaming &outermost_;
  std::vector<Renaming> inner_;
  llvm::function_ref<std::string(llvm::StringRef)> uniqueName_;
};

/// Finds what a node reads from outside of its subgraphs.
class ReadFinder final : public onnx::internal::Visitor {
public:
  explicit ReadFinder(llvm::function_ref<void(const std::string &)> read)
      : read_(read) {}

  bool ProcessNode(const NodeProto &node) override {
    for (const std::string &name : node.input())
      report(name);
    return true;
  }

  void VisitGraph(const GraphProto &graph) override {
    inner_.emplace_back();
    for (const auto &input : graph.input())
      inner_.back().insert(input.name());
    for (const auto &tensor : graph.initializer())
      inner_.back().insert(tensor.name());
    for (const NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        inner_.back().insert(output);
    for (const NodeProto &node : graph.node())
      VisitNode(node);
    for (const auto &output : graph.output())
      report(output.name());
    inner_.pop_back();
  }

private:
  void report(const std::string &name) const {
    if (!name.empty() && llvm::none_of(inner_, [&](const auto &names) {
          return names.contains(name);
        }))
      read_(name);
  }

  std::vector<llvm::StringSet<>> inner_;
  llvm::function_ref<void(const std::string &)> read_;
};

} // namespace

void soap::onnx_import::renameTensors(
    llvm::MutableArrayRef<NodeProto> nodes, const Renaming &names,
    llvm::function_ref<std::string(llvm::StringRef)> uniqueName) {
  Renamer renamer(names, uniqueName);
  for (NodeProto &node : nodes)
    renamer.VisitNode(&node);
}

void soap::onnx_import::forEachRead(
    const NodeProto &node, llvm::function_ref<void(const std::string &)> read) {
  ReadFinder(read).VisitNode(node);
}
