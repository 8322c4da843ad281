//===- Functions.cpp - Bodies in place of calls -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of a function is imported as the nodes of the function's body, with
// tensors and attributes of the call in place of the function's parameters.
// Functions come from the model, or from ONNX for the operators that are
// functions there and that the table of operators does not have.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Operators.h"
#include "TensorType.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace soap;
using namespace soap::onnx_import;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

/// Bounds on bodies within bodies, and on the nodes of all bodies: in a small
/// file a function can call another one twice, which does the same, and so on.
static constexpr unsigned maxCallDepth = 64;
static constexpr int64_t maxInlinedNodes = int64_t{1} << 17;

static const std::string &nameOf(const NodeProto &node) {
  return node.name().empty() && node.output_size() ? node.output(0)
                                                   : node.name();
}

std::string GraphImporter::uniqueTensorName(const NodeProto &call,
                                            llvm::StringRef name) {
  std::string base = nameOf(call) + "/" + name.str();
  std::string unique = base;
  while (!tensorNames_.insert(unique).second)
    unique = base + "_" + std::to_string(++lastTensorName_);
  return unique;
}

NodeScope GraphImporter::scopeOf(const NodeProto &call,
                                 OperatorSets sets) const {
  // Messages name the outermost call, which is the one that the user knows.
  std::string note = scope_->note.empty() ? " (in " + call.op_type() + " " +
                                                quoted(nameOf(call)) + ")"
                                          : scope_->note;
  return {std::move(sets), std::move(note), scope_->depth + 1};
}

bool GraphImporter::countInlined(const NodeProto &call, int nodes) {
  inlinedNodes_ += nodes + 1;
  if (scope_->depth >= maxCallDepth)
    addProblem(call, "expected functions that nest at most " +
                         llvm::Twine(maxCallDepth) +
                         " deep, got: more; does a function call itself?");
  else if (inlinedNodes_ > maxInlinedNodes)
    addProblem(call, "expected at most " + llvm::Twine(maxInlinedNodes) +
                         " nodes in the bodies of all calls and loops, got: "
                         "more");
  else
    return true;
  return false;
}

void GraphImporter::alias(const std::string &name, const std::string &from) {
  if (name.empty())
    return;
  ImportedValue value = values_[from];
  values_[name] = std::move(value);
}

void GraphImporter::storeInline(const std::string &name,
                                const TensorProto &proto,
                                ImportedValue &result) {
  result = ImportedValue();
  result.elementType = proto.data_type();
  if (proto.data_location() == TensorProto::EXTERNAL) {
    result.problem = "expected the values of tensor " + quoted(name) +
                     " in the file, got: external data in a function or a "
                     "subgraph; make it an initializer of the main graph";
    return;
  }
  TensorRecord record;
  record.proto = proto;
  record.proto.clear_raw_data();
  llvm::Expected<HostTensor> host = readTensor(record, proto.raw_data());
  if (!host) {
    result.problem = llvm::toString(host.takeError());
    return;
  }
  result.kind = ImportedValue::Kind::Host;
  result.shape = host->shape;
  result.host = std::move(*host);
}

void GraphImporter::importBody(std::vector<NodeProto> nodes, NodeScope inner) {
  // Nodes are sorted, so that one pass from the end suffices.
  std::vector<bool> isNeeded(nodes.size(), false);
  for (size_t i = nodes.size(); i != 0; --i) {
    const NodeProto &node = nodes[i - 1];
    forEachRead(node, [&](const std::string &name) { ++readers_[name]; });
    isNeeded[i - 1] = llvm::any_of(node.output(), [&](const auto &output) {
      return read_.contains(output);
    });
    if (isNeeded[i - 1])
      markReads(node);
  }
  llvm::SaveAndRestore<const NodeScope *> saved(scope_, &inner);
  for (size_t i = 0; i != nodes.size(); ++i) {
    if (!isNeeded[i])
      continue;
    bool defined = true;
    forEachRead(nodes[i], [&](const std::string &name) {
      if (defined && !values_.contains(name)) {
        addProblem(nodes[i], "the tensor " + quoted(name) +
                                 " is read before it is defined");
        defined = false;
      }
    });
    if (defined)
      importNode(nodes[i], -1);
    else
      for (const std::string &output : nodes[i].output())
        values_.try_emplace(output);
  }
}

void GraphImporter::importFunction(const NodeProto &call,
                                   FunctionProto function) {
  if (call.input_size() > function.input_size() ||
      call.output_size() > function.output_size()) {
    addProblem(call, "expected at most " + llvm::Twine(function.input_size()) +
                         " inputs and " + llvm::Twine(function.output_size()) +
                         " outputs, as the function has, got: " +
                         llvm::Twine(call.input_size()) + " and " +
                         llvm::Twine(call.output_size()));
    return;
  }
  if (!countInlined(call, function.node_size()))
    return;
  bindAttributes(call, function);

  Renaming names;
  for (int i = 0; i != function.input_size(); ++i)
    names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  auto unique = [&](llvm::StringRef name) {
    return uniqueTensorName(call, name);
  };
  std::vector<NodeProto> nodes(function.node().begin(), function.node().end());
  std::string twice;
  for (const NodeProto &node : nodes)
    for (const std::string &output : node.output())
      if (!output.empty() && !names.try_emplace(output, std::string()).second)
        twice = output;
      else if (!output.empty())
        names[output] = unique(output);
  if (!twice.empty()) {
    addProblem(call,
               "the function defines the tensor " + quoted(twice) + " twice");
    return;
  }
  renameTensors(nodes, names, unique);
  for (int i = 0; i != call.output_size(); ++i) {
    if (!read_.contains(call.output(i)))
      continue;
    std::string name = names.lookup(function.output(i));
    if (name.empty()) {
      addProblem(call, "the function does not define its output " +
                           quoted(function.output(i)));
      return;
    }
    read_.insert(name);
  }
  for (NodeProto &node : nodes)
    if (!node.name().empty())
      node.set_name(nameOf(call) + "/" + node.name());

  OperatorSets sets = operatorSets(function.opset_import());
  // A function that names no operator sets has those of its caller.
  sets.insert(scope_->sets.begin(), scope_->sets.end());
  importBody(std::move(nodes), scopeOf(call, std::move(sets)));
  for (int i = 0; i != call.output_size(); ++i)
    if (read_.contains(call.output(i)))
      alias(call.output(i), names.lookup(function.output(i)));
}

bool GraphImporter::importCall(const NodeProto &node) {
  bool allHost = true;
  if (const FunctionProto *function = model_.findFunction(node)) {
    if (checkOperands(node, allHost))
      importFunction(node, *function);
    return true;
  }
  const OperatorEntry *entry = findOperator(node.op_type());
  if (!isStandard(node) || (entry && (entry->import || entry->fold)))
    return false;
  for (const std::string &name : node.input())
    if (!name.empty() && values_[name].kind == ImportedValue::Kind::Failed)
      return values_[name].problem.empty();
  std::vector<onnx::TypeProto> types(static_cast<size_t>(node.input_size()));
  for (int i = 0; i != node.input_size(); ++i) {
    if (node.input(i).empty())
      continue;
    const ImportedValue &value = values_[node.input(i)];
    types[static_cast<size_t>(i)] = typeProto(value.elementType, value.shape);
  }
  NodeProto call = node;
  auto function = standardFunction(call, opset(), types);
  if (!function) {
    if (!entry || llvm::errorToBool(checkAgainstSchema(node, opset())))
      return false;
    addProblem(node, "ONNX has no function body for it in this operator set");
    return true;
  }
  importFunction(call, std::move(*function));
  return true;
}

std::optional<std::vector<std::string>>
GraphImporter::importSubgraph(const NodeProto &node, const GraphProto &graph,
                              llvm::ArrayRef<std::string> operands,
                              const std::vector<bool> &isRead) {
  // Initializers may be listed, too, as IR version 3 wants them to be.
  llvm::StringSet<> initializers;
  for (const TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  std::vector<std::string> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!initializers.contains(input.name()) ||
        static_cast<size_t>(graph.input_size()) == operands.size())
      inputs.push_back(input.name());
  if (inputs.size() != operands.size() ||
      static_cast<size_t>(graph.output_size()) != isRead.size()) {
    addProblem(node, "expected a subgraph of " + llvm::Twine(operands.size()) +
                         " inputs and " + llvm::Twine(isRead.size()) +
                         " outputs, got: " + llvm::Twine(inputs.size()) +
                         " and " + llvm::Twine(graph.output_size()));
    return std::nullopt;
  }
  if (!countInlined(node, graph.node_size() + graph.initializer_size()))
    return std::nullopt;
  Renaming names;
  for (auto [input, operand] : llvm::zip_equal(inputs, operands))
    names[input] = operand;
  auto unique = [&](llvm::StringRef name) {
    return uniqueTensorName(node, name);
  };
  for (const TensorProto &tensor : graph.initializer()) {
    std::string name = unique(tensor.name());
    names[tensor.name()] = name;
    storeInline(name, tensor, values_[name]);
  }
  std::vector<NodeProto> nodes(graph.node().begin(), graph.node().end());
  for (const NodeProto &inner : nodes)
    for (const std::string &output : inner.output())
      if (!output.empty())
        names[output] = unique(output);
  renameTensors(nodes, names, unique);
  std::vector<std::string> outputs;
  for (int i = 0; i != graph.output_size(); ++i) {
    const std::string &name = graph.output(i).name();
    auto it = names.find(name);
    outputs.push_back(it == names.end() ? name : it->second);
    if (isRead[static_cast<size_t>(i)])
      read_.insert(outputs.back());
  }
  for (NodeProto &inner : nodes)
    if (!inner.name().empty())
      inner.set_name(nameOf(node) + "/" + inner.name());
  importBody(std::move(nodes), scopeOf(node, scope_->sets));
  return outputs;
}
