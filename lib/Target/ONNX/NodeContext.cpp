//===- NodeContext.cpp - What the importer of an operator sees --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeContext.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::TensorProto;

NodeContext::NodeContext(GraphImporter &graph, const onnx::NodeProto &node,
                         int index)
    : node(node), index(index), graph_(graph) {}

LogicalResult NodeContext::fail(const llvm::Twine &message) {
  graph_.addProblem(node, message);
  return failure();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *NodeContext::find(llvm::StringRef name) const {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t NodeContext::integer(llvm::StringRef name, int64_t otherwise) const {
  const AttributeProto *attribute = find(name);
  return attribute && attribute->has_i() ? attribute->i() : otherwise;
}

float NodeContext::number(llvm::StringRef name, float otherwise) const {
  const AttributeProto *attribute = find(name);
  return attribute && attribute->has_f() ? attribute->f() : otherwise;
}

std::string NodeContext::string(llvm::StringRef name,
                                llvm::StringRef otherwise) const {
  const AttributeProto *attribute = find(name);
  return attribute && attribute->has_s() ? attribute->s() : otherwise.str();
}

std::optional<SmallVector<int64_t>>
NodeContext::integers(llvm::StringRef name) const {
  const AttributeProto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

FailureOr<int64_t> NodeContext::axis(int64_t value, size_t rank) {
  auto signedRank = static_cast<int64_t>(rank);
  if (value < -signedRank || value >= signedRank)
    return fail("expected an axis inside rank " + llvm::Twine(rank) +
                ", got: " + llvm::Twine(value));
  return value < 0 ? value + signedRank : value;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool NodeContext::hasInput(size_t i) const {
  return i < numInputs() && !node.input(static_cast<int>(i)).empty();
}

ImportedValue &NodeContext::input(size_t i) {
  return graph_.values_[node.input(static_cast<int>(i))];
}

bool NodeContext::isConstant(size_t i) {
  ImportedValue &value = input(i);
  return value.kind == ImportedValue::Kind::Host ||
         (value.kind == ImportedValue::Kind::Stored &&
          countElements(value.shape).value_or(maxElements) <= maxHostElements);
}

FailureOr<HostTensor> NodeContext::constant(size_t i, llvm::StringRef role) {
  ImportedValue &value = input(i);
  if (graph_.evaluate(value))
    return value.host;
  if (!isConstant(i))
    return fail("expected " + role +
                " that are known at compile time, got: operand '" +
                node.input(static_cast<int>(i)) +
                "' that depends on an input; --bind can make it a constant");
  if (auto splat = dyn_cast<nn::SplatAttr>(value.source)) {
    HostTensor host = HostTensor::zeros(value.elementType, value.shape);
    for (int64_t k = 0, e = host.size(); k != e; ++k)
      if (auto number = dyn_cast<FloatAttr>(splat.getValue()))
        host.setNumber(k, number.getValueAsDouble());
      else
        host.setInteger(
            k,
            static_cast<int64_t>(
                cast<IntegerAttr>(splat.getValue()).getValue().getZExtValue()));
    return host;
  }
  auto file = cast<nn::FileAttr>(value.source);
  llvm::Expected<std::string> bytes = Model::readBytes(
      files(), {file.getPath().str(), static_cast<uint64_t>(file.getOffset()),
                static_cast<uint64_t>(file.getLength())});
  if (!bytes)
    return fail(llvm::toString(bytes.takeError()));
  TensorRecord record;
  record.proto.set_data_type(value.elementType);
  for (int64_t dim : value.shape)
    record.proto.add_dims(dim);
  llvm::Expected<HostTensor> host = readTensor(record, *bytes);
  if (!host)
    return fail(llvm::toString(host.takeError()));
  return *host;
}

FailureOr<SmallVector<int64_t>>
NodeContext::constantIntegers(size_t i, llvm::StringRef role) {
  FailureOr<HostTensor> host = constant(i, role);
  if (failed(host))
    return failure();
  if (!host->integral() || host->shape.size() > 1)
    return fail("expected " + role +
                " as a list of integers, got: " + typeName(host->elementType) +
                " of shape " + toString(host->shape));
  return SmallVector<int64_t>(host->ints.begin(), host->ints.end());
}

static bool isOneOf(int type, ElementTypes types) {
  bool isBool = type == TensorProto::BOOL;
  bool isNumber = isKnownType(type) && !isBool && !isStorageOnly(type);
  switch (types) {
  case ElementTypes::Floats:
    return isNumber && !isIntegral(type);
  case ElementTypes::Integers:
    return isNumber && isIntegral(type);
  case ElementTypes::Numbers:
    return isNumber;
  case ElementTypes::Booleans:
    return isBool;
  case ElementTypes::Indices:
    return type == TensorProto::INT32 || type == TensorProto::INT64;
  case ElementTypes::NumbersOrBooleans:
    return isNumber || isBool;
  case ElementTypes::Any:
    return isKnownType(type);
  }
  return false;
}

int NodeContext::numberType() {
  if (computeType)
    return onnxTypeOf(computeType);
  bool isFloat =
      hasInput(0) && isOneOf(input(0).elementType, ElementTypes::Floats);
  return isFloat ? input(0).elementType : TensorProto::FLOAT;
}

FailureOr<Value> NodeContext::tensor(size_t i, ElementTypes types) {
  static constexpr llvm::StringLiteral names[] = {"floats",
                                                  "integers",
                                                  "numbers",
                                                  "booleans",
                                                  "INT32 or INT64",
                                                  "numbers or booleans",
                                                  "numbers or booleans"};
  ImportedValue &value = input(i);
  const std::string &name = node.input(static_cast<int>(i));
  if (!isOneOf(value.elementType, types))
    return fail("expected operands of " + names[static_cast<size_t>(types)] +
                ", got: " + typeName(value.elementType) + " for '" + name +
                "'");
  if (countElements(value.shape).value_or(0) == 0)
    return fail("expected operands with elements, got: " +
                toString(value.shape) + " for '" + name + "'");
  return widened(graph_.materialize(value, name), i);
}

/// Operand i in the type that the node computes in.
FailureOr<Value> NodeContext::widened(Value value, size_t i) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!computeType || type.getElementType() == computeType ||
      type.getElementType() != elementType(input(0).elementType))
    return value;
  return createOf<nn::CastOp>(computeType, type.getShape(), value, {},
                              "_wide" + std::to_string(i));
}

FailureOr<Value> NodeContext::tensorAs(size_t i, llvm::ArrayRef<int64_t> shape,
                                       llvm::StringRef suffix) {
  ImportedValue &value = input(i);
  if (value.kind == ImportedValue::Kind::Stored &&
      llvm::ArrayRef<int64_t>(value.shape) != shape) {
    ImportedValue view = value;
    view.shape.assign(shape.begin(), shape.end());
    view.value = nullptr;
    return widened(graph_.materialize(view, node.input(static_cast<int>(i))),
                   i);
  }
  auto x = tensor(i);
  return failed(x) ? x : reshape(*x, shape, suffix);
}

FailureOr<Shape> NodeContext::broadcast(llvm::ArrayRef<int64_t> a,
                                        llvm::ArrayRef<int64_t> b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t k = 0; k != result.size(); ++k) {
    int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1;
    int64_t y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1)
      return fail("expected shapes that broadcast, got: " + toString(a) +
                  " and " + toString(b));
    result[result.size() - 1 - k] = x == 1 ? y : x;
  }
  return result;
}

size_t NodeContext::numReaders(size_t i) const {
  return graph_.readers_.lookup(node.input(static_cast<int>(i)));
}

Value NodeContext::partOf(nn::ParameterOp whole, int64_t dim, int64_t start,
                          int64_t size) {
  RankedTensorType type = whole.getResult().getType();
  SmallVector<int64_t> offsets(type.getShape().size(), 0),
      part(type.getShape());
  offsets[static_cast<size_t>(dim)] = start;
  part[static_cast<size_t>(dim)] = size;
  // The location stays that of the tensor, of which this is a view.
  auto result = graph_.builder_.create<nn::ParameterOp>(
      whole.getLoc(), type.clone(part), whole.getSource());
  result.setOffsets(offsets);
  result.setGlobalShape(type.getShape());
  result.setTensor(nn::getName(whole));
  nn::setName(result, graph_.uniqueName(nn::getName(whole)));
  return result.getResult();
}
