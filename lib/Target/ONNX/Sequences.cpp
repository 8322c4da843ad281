//===- Sequences.cpp - Sequences and optionals that vanish ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sequence is a list of tensors, whose length is known, and an optional is
// one tensor or nothing: operators on them choose among names, and no op is
// made for them.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/StringSwitch.h"

using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;
using Kind = ImportedValue::Kind;

static int64_t integerOf(const NodeProto &node, llvm::StringRef name,
                         int64_t otherwise) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

static bool hasInput(const NodeProto &node, int i) {
  return i < node.input_size() && !node.input(i).empty();
}

bool GraphImporter::importSequence(const NodeProto &node) {
  if (!isStandard(node))
    return false;
  using Import = void (GraphImporter::*)(const NodeProto &);
  const std::string &type = node.op_type();
  Import import =
      llvm::StringSwitch<Import>(type)
          .Cases("SequenceConstruct", "SequenceEmpty", "SequenceInsert",
                 "SequenceErase", &GraphImporter::importList)
          .Cases("SequenceAt", "SequenceLength",
                 &GraphImporter::importListReader)
          .Case("SplitToSequence", &GraphImporter::importSplitList)
          .Case("ConcatFromSequence", &GraphImporter::importJoinedList)
          .Cases("Optional", "OptionalHasElement", "OptionalGetElement",
                 &GraphImporter::importOptional)
          .Default(nullptr);
  bool isListIdentity = type == "Identity" && node.input_size() == 1 &&
                        values_[node.input(0)].kind == Kind::List;
  if (!import && !isListIdentity)
    return false;
  bool allHost = true;
  if (!checkValid(node))
    return true;
  if (isListIdentity)
    alias(node.output(0), node.input(0));
  else if (type.rfind("Optional", 0) == 0 || checkOperands(node, allHost))
    (this->*import)(node);
  return true;
}

std::optional<std::vector<std::string>>
GraphImporter::elementsOf(const NodeProto &node) {
  const ImportedValue &value = values_[node.input(0)];
  if (value.kind == Kind::List)
    return value.elements;
  addProblem(node,
             "expected a sequence, got: the tensor " + quoted(node.input(0)));
  return std::nullopt;
}

std::optional<int64_t> GraphImporter::placeIn(const NodeProto &node, int input,
                                              int64_t length) {
  std::optional<int64_t> place = knownInteger(node.input(input));
  if (!place)
    addProblem(node, "expected a position that is known at compile time, got: "
                     "one that depends on an input");
  else if (*place < -length || *place > length)
    addProblem(node, "expected a position in a sequence of " +
                         llvm::Twine(length) +
                         " elements, got: " + llvm::Twine(*place));
  else
    return *place < 0 ? *place + length : *place;
  return std::nullopt;
}

void GraphImporter::setList(const std::string &name,
                            std::vector<std::string> elements) {
  ImportedValue &value = values_[name];
  value = ImportedValue();
  value.kind = Kind::List;
  value.elements = std::move(elements);
}

void GraphImporter::importList(const NodeProto &node) {
  std::vector<std::string> elements;
  const std::string &type = node.op_type();
  if (type == "SequenceConstruct")
    elements.assign(node.input().begin(), node.input().end());
  if (type == "SequenceInsert" || type == "SequenceErase") {
    auto given = elementsOf(node);
    if (!given)
      return;
    elements = std::move(*given);
    bool inserts = type == "SequenceInsert";
    auto length = static_cast<int64_t>(elements.size());
    int64_t at = inserts ? length : length - 1;
    if (int input = inserts ? 2 : 1; hasInput(node, input)) {
      auto place = placeIn(node, input, length);
      if (!place)
        return;
      at = *place;
    }
    if (inserts) {
      elements.insert(elements.begin() + at, node.input(1));
    } else if (at >= 0 && at < length) {
      elements.erase(elements.begin() + at);
    } else {
      addProblem(node, "expected a position of an element to erase, got: " +
                           llvm::Twine(at) + " of " + llvm::Twine(length));
      return;
    }
  }
  setList(node.output(0), std::move(elements));
}

void GraphImporter::importListReader(const NodeProto &node) {
  auto elements = elementsOf(node);
  if (!elements)
    return;
  auto length = static_cast<int64_t>(elements->size());
  if (node.op_type() == "SequenceLength")
    return define(node.output(0), TensorProto::INT64, length);
  auto place = placeIn(node, 1, length);
  if (!place)
    return;
  if (*place == length)
    return addProblem(node, "expected a position in a sequence of " +
                                llvm::Twine(length) +
                                " elements, got: " + llvm::Twine(*place));
  alias(node.output(0), (*elements)[static_cast<size_t>(*place)]);
}

void GraphImporter::importSplitList(const NodeProto &node) {
  const std::string &x = node.input(0);
  Shape shape = values_[x].shape;
  auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = integerOf(node, "axis", 0);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return addProblem(node, "expected an axis inside rank " +
                                llvm::Twine(rank) + ", got: another one");
  int64_t size = shape[static_cast<size_t>(axis)];
  if (size > maxHostElements)
    return addProblem(
        node, "expected at most " + llvm::Twine(maxHostElements) +
                  " elements along the axis, got: " + llvm::Twine(size));
  bool keeps = integerOf(node, "keepdims", 1) != 0 || hasInput(node, 1);
  std::vector<int64_t> sizes(static_cast<size_t>(size), 1);
  if (hasInput(node, 1)) {
    ImportedValue &split = values_[node.input(1)];
    if (!evaluate(split) || !split.host.integral())
      return addProblem(node, "expected sizes that are known at compile time, "
                              "got: ones that depend on an input");
    sizes = split.host.ints;
    if (split.shape.empty() && sizes[0] > 0) {
      int64_t chunk = sizes[0];
      sizes.clear();
      for (int64_t at = 0; at < size; at += chunk)
        sizes.push_back(std::min(chunk, size - at));
    }
  }
  int64_t sum = 0;
  bool fits = true;
  for (int64_t part : sizes) {
    fits &= part >= 0 && part <= size;
    sum += fits ? part : 0;
  }
  if (!fits || sum != size)
    return addProblem(node, "expected sizes of 0 or more whose sum is " +
                                llvm::Twine(size) +
                                ", got: " + toString(sizes));
  auto integers = [&](int64_t value) {
    std::string name = uniqueTensorName(node, "constant");
    ImportedValue &result = values_[name];
    result.kind = Kind::Host;
    result.elementType = TensorProto::INT64;
    result.shape = {1};
    result.host = HostTensor::vector({value});
    return name;
  };
  std::vector<std::string> elements;
  std::vector<NodeProto> nodes;
  int64_t start = 0;
  std::string along = integers(axis);
  for (int64_t part : sizes) {
    NodeProto &slice = nodes.emplace_back();
    slice.set_op_type("Slice");
    for (const std::string &operand :
         {x, integers(start), integers(start + part), along})
      slice.add_input(operand);
    slice.add_output(uniqueTensorName(node, "part"));
    elements.push_back(slice.output(0));
    start += part;
    if (keeps)
      continue;
    NodeProto &row = nodes.emplace_back();
    row.set_op_type("Squeeze");
    row.add_input(elements.back());
    row.add_input(along);
    row.add_output(uniqueTensorName(node, "row"));
    elements.back() = row.output(0);
  }
  for (const std::string &element : elements)
    read_.insert(element);
  importBody(std::move(nodes), scopeOf(node, {{"", 18}}));
  setList(node.output(0), std::move(elements));
}

void GraphImporter::importJoinedList(const NodeProto &node) {
  auto elements = elementsOf(node);
  if (!elements)
    return;
  if (elements->empty())
    return addProblem(node, "expected a sequence with elements, got: none");
  int64_t axis = integerOf(node, "axis", 0);
  if (integerOf(node, "new_axis", 0) != 0) {
    auto rank = static_cast<int64_t>(values_[(*elements)[0]].shape.size()) + 1;
    return stack(node, node.output(0), *elements,
                 axis < 0 ? axis + rank : axis);
  }
  NodeProto concat;
  concat.set_op_type("Concat");
  concat.set_name(node.name());
  for (const std::string &element : *elements)
    concat.add_input(element);
  AttributeProto &attribute = *concat.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(axis);
  concat.add_output(node.output(0));
  importBody({concat}, scopeOf(node, {{"", 18}}));
}

void GraphImporter::importOptional(const NodeProto &node) {
  const std::string &type = node.op_type();
  bool given = hasInput(node, 0);
  if (given && values_[node.input(0)].kind == Kind::Failed) {
    if (!values_[node.input(0)].problem.empty())
      addProblem(node, values_[node.input(0)].problem);
    return;
  }
  given = given && values_[node.input(0)].kind != Kind::Nothing;
  if (type == "OptionalHasElement")
    return define(node.output(0), TensorProto::BOOL, given ? 1 : 0);
  if (given)
    return alias(node.output(0), node.input(0));
  if (type == "OptionalGetElement")
    return addProblem(node, "expected an optional that holds something, got: "
                            "an empty one");
  values_[node.output(0)] = ImportedValue();
  values_[node.output(0)].kind = Kind::Nothing;
}
