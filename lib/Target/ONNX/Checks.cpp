//===- Checks.cpp - Is the graph well-formed, do options fit? ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace soap;
using namespace soap::onnx_import;
using onnx::NodeProto;

/// Names go through interfaces whose strings end at a NUL.
static void findNuls(const Model &model, std::vector<std::string> &lines) {
  const onnx::GraphProto &graph = model.graph();
  auto check = [&](const char *what, const std::string &name) {
    if (name.find('\0') != std::string::npos)
      lines.push_back(std::string(what) + " " + quoted(name) +
                      " has a NUL in its name");
  };
  check("graph", graph.name());
  for (const TensorRecord &tensor : model.initializers())
    check("initializer", tensor.proto.name());
  for (const onnx::ValueInfoProto &input : graph.input()) {
    check("input", input.name());
    for (const auto &dim : input.type().tensor_type().shape().dim())
      check("dimension", dim.dim_param());
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    check("output", output.name());
  for (const NodeProto &node : graph.node()) {
    check("node", node.name());
    for (const std::string &output : node.output())
      check("tensor", output);
  }
}

llvm::Error GraphImporter::checkNames() const {
  const onnx::GraphProto &graph = model_.graph();
  std::vector<std::string> lines;
  findNuls(model_, lines);
  llvm::StringMap<int> definedBy; // Node, or -1.
  llvm::StringSet<> initializers;
  for (const TensorRecord &tensor : model_.initializers()) {
    initializers.insert(tensor.proto.name());
    if (!definedBy.try_emplace(tensor.proto.name(), -1).second)
      lines.push_back("initializer " + quoted(tensor.proto.name()) +
                      " is defined twice");
  }
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!definedBy.try_emplace(input.name(), -1).second &&
        !initializers.erase(input.name()))
      lines.push_back("input " + quoted(input.name()) + " is defined twice");
  for (int i = 0; i != graph.node_size(); ++i)
    for (const std::string &output : graph.node(i).output())
      if (!output.empty() && !definedBy.try_emplace(output, i).second)
        lines.push_back("tensor " + quoted(output) + " is defined twice");
  for (int i = 0; i != graph.node_size(); ++i)
    forEachRead(graph.node(i), [&](const std::string &name) {
      auto it = definedBy.find(name);
      if (it == definedBy.end())
        lines.push_back("tensor " + quoted(name) + " is read but not defined");
      else if (it->second >= i)
        lines.push_back("tensor " + quoted(name) +
                        " is read before it is defined (a cycle, or nodes that "
                        "are not sorted)");
    });
  for (const onnx::ValueInfoProto &output : graph.output())
    if (!definedBy.contains(output.name()))
      lines.push_back("output " + quoted(output.name()) + " is not defined");
  if (graph.output_size() == 0)
    lines.push_back("the graph has no outputs");
  if (lines.empty())
    return llvm::Error::success();
  return listError(
      "expected a well-formed graph, got: " + llvm::Twine(lines.size()) +
          (lines.size() == 1 ? " mistake" : " mistakes") +
          "; check the model with onnx.checker",
      lines);
}

void GraphImporter::findNeededNodes() {
  const onnx::GraphProto &graph = model_.graph();
  for (const onnx::ValueInfoProto &output : graph.output())
    read_.insert(output.name());
  for (const onnx::ValueInfoProto &output : graph.output())
    ++readers_[output.name()];
  for (const onnx::ValueInfoProto &input : graph.input())
    tensorNames_.insert(input.name());
  for (const auto &name : initializerNames_)
    tensorNames_.insert(name.getKey());
  for (const NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      tensorNames_.insert(output);
    forEachRead(node, [&](const std::string &name) { ++readers_[name]; });
  }
  needed_.assign(static_cast<size_t>(graph.node_size()), false);
  // Nodes are sorted, so that one pass from the end suffices.
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const NodeProto &node = graph.node(i);
    if (llvm::none_of(node.output(), [&](const std::string &output) {
          return read_.contains(output);
        }))
      continue;
    needed_[static_cast<size_t>(i)] = true;
    markReads(node);
  }
}

void GraphImporter::markReads(const NodeProto &node) {
  forEachRead(node, [&](const std::string &name) { read_.insert(name); });
}

/// What --dim may name.
static std::set<std::string> symbolicDims(const onnx::GraphProto &graph) {
  std::set<std::string> result;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    const auto &shape = input.type().tensor_type().shape();
    for (int k = 0; k != shape.dim_size(); ++k)
      if (!shape.dim(k).has_dim_value())
        result.insert(keyOfDim(input, k));
  }
  return result;
}

llvm::Error GraphImporter::checkOptions() const {
  std::map<std::string, bool> inputs;
  std::string list;
  for (const onnx::ValueInfoProto &input : model_.graph().input())
    if (!initializerNames_.contains(input.name())) {
      inputs[input.name()] = true;
      list += (list.empty() ? "" : ", ") + quoted(input.name());
    }
  auto unknown = [&](llvm::StringRef flag, const std::string &name) {
    return makeError("expected one of the inputs " + list + " in " + flag +
                     ", got: " + quoted(name));
  };
  for (const auto &[name, dim] : options_.batchDims)
    if (!inputs.count(name))
      return unknown("--batch-dim", name);
  for (const auto &[name, file] : options_.bindings)
    if (!inputs.count(name))
      return unknown("--bind", name);
  auto checkSize = [](const llvm::Twine &flag, int64_t size,
                      bool mayBeEmpty = false) -> llvm::Error {
    if ((size > 0 || (size == 0 && mayBeEmpty)) && size <= maxDim)
      return llvm::Error::success();
    return makeError((mayBeEmpty ? "expected a size of 0 or more in "
                                 : "expected a positive size in ") +
                     flag + ", got: " + llvm::Twine(size));
  };
  if (options_.batch)
    if (llvm::Error error = checkSize("--batch", *options_.batch))
      return error;
  std::set<std::string> symbols = symbolicDims(model_.graph());
  for (const auto &[name, size] : options_.dims) {
    if (!symbols.count(name))
      return makeError(
          symbols.empty()
              ? "expected no --dim, as all dimensions have sizes, got: " +
                    quoted(name) + "; --batch=N replaces the batch size"
              : "expected one of the symbolic dimensions '" +
                    llvm::join(symbols, "', '") +
                    "' in --dim, got: " + quoted(name));
    if (llvm::Error error =
            checkSize("--dim=" + name, size, /*mayBeEmpty=*/true))
      return error;
  }
  return llvm::Error::success();
}
