//===- NodeContext.cpp - What the importer of an operator sees --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::TensorProto;

NodeContext::NodeContext(GraphImporter &graph, const onnx::NodeProto &node,
                         int index)
    : node(node), index(index), graph(graph) {}

LogicalResult NodeContext::fail(const llvm::Twine &message) {
  graph.addProblem(node, message);
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
  return graph.values[node.input(static_cast<int>(i))];
}

bool NodeContext::isConstant(size_t i) {
  ImportedValue &value = input(i);
  return value.kind == ImportedValue::Kind::Host ||
         (value.kind == ImportedValue::Kind::Stored &&
          countElements(value.shape).value_or(maxElements) <= maxHostElements);
}

FailureOr<HostTensor> NodeContext::constant(size_t i, llvm::StringRef role) {
  ImportedValue &value = input(i);
  if (graph.evaluate(value))
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
  return widened(graph.materialize(value, name), i);
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
    return widened(graph.materialize(view, node.input(static_cast<int>(i))), i);
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
  return graph.readers.lookup(node.input(static_cast<int>(i)));
}

Value NodeContext::partOf(nn::ParameterOp whole, int64_t dim, int64_t start,
                          int64_t size) {
  RankedTensorType type = whole.getResult().getType();
  SmallVector<int64_t> offsets(type.getShape().size(), 0),
      part(type.getShape());
  offsets[static_cast<size_t>(dim)] = start;
  part[static_cast<size_t>(dim)] = size;
  // The location stays that of the tensor, of which this is a view.
  auto result = graph.builder.create<nn::ParameterOp>(
      whole.getLoc(), type.clone(part), whole.getSource());
  result.setOffsets(offsets);
  result.setGlobalShape(type.getShape());
  result.setTensor(nn::getName(whole));
  nn::setName(result, graph.uniqueName(nn::getName(whole)));
  return result.getResult();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool NodeContext::usesOutput(size_t i) const {
  return i < numOutputs() && !node.output(static_cast<int>(i)).empty() &&
         graph.read.contains(node.output(static_cast<int>(i)));
}

void NodeContext::setResult(size_t i, ImportedValue value) {
  if (i < numOutputs() && !node.output(static_cast<int>(i)).empty())
    graph.values[node.output(static_cast<int>(i))] = std::move(value);
}

static ImportedValue tensorOf(Value value) {
  ImportedValue result;
  result.kind = ImportedValue::Kind::Tensor;
  auto type = cast<RankedTensorType>(value.getType());
  result.elementType = onnxTypeOf(type.getElementType());
  result.shape.assign(type.getShape().begin(), type.getShape().end());
  result.value = value;
  return result;
}

void NodeContext::setResult(size_t i, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  // Rounded once, behind all that the node computes. The shape is one that an
  // op already has.
  if (computeType && type.getElementType() == computeType)
    value = *createOf<nn::CastOp>(elementType(input(0).elementType),
                                  type.getShape(), value, {}, "_rounded");
  setResult(i, tensorOf(value));
}

void NodeContext::setValue(llvm::StringRef name, Value value) {
  graph.values[name] = tensorOf(value);
}

std::optional<HostTensor> NodeContext::known(Value value) {
  ImportedValue tensor = tensorOf(value);
  if (!graph.evaluate(tensor))
    return std::nullopt;
  return std::move(tensor.host);
}

void NodeContext::addOutput(llvm::StringRef suffix, const std::string &name) {
  graph.read.insert(name);
  std::string output = node.output(0) + "_" + suffix.str();
  // Nodes of bodies have outputs of names that the model does not know.
  if (!graph.tensorNames.insert(output).second)
    output = graph.uniqueTensorName(node, suffix);
  graph.addedOutputs.push_back({output, name});
}

void NodeContext::setResult(size_t i, HostTensor host) {
  ImportedValue result;
  graph.hostElements += host.size();
  if (graph.hostElements > maxHostElements * 1024) {
    result.problem = "expected less shape arithmetic, got: constants of more "
                     "than " +
                     std::to_string(maxHostElements * 1024) + " elements";
    (void)fail(result.problem);
    return setResult(i, std::move(result));
  }
  result.kind = ImportedValue::Kind::Host;
  result.elementType = host.elementType;
  result.shape = host.shape;
  result.host = std::move(host);
  setResult(i, std::move(result));
}

FailureOr<ImportedValue> NodeContext::tensorAttribute(llvm::StringRef name) {
  ImportedValue value;
  std::string origin = numOutputs() ? node.output(0) : node.name();
  if (index < 0) {
    const AttributeProto *attribute = find(name);
    if (!attribute || !attribute->has_t())
      return fail("expected the tensor attribute '" + name + "', got: none");
    graph.storeInline(origin, attribute->t(), value);
    if (value.kind == ImportedValue::Kind::Failed)
      return fail(value.problem);
    return value;
  }
  llvm::Expected<TensorRecord> record =
      graph.model.tensorAttribute(index, name);
  if (!record)
    return fail(llvm::toString(record.takeError()));
  if (llvm::Error error = graph.storeTensor(origin, *record, value))
    return fail(llvm::toString(std::move(error)));
  if (value.kind == ImportedValue::Kind::Failed)
    return fail(value.problem);
  return value;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

NamedAttribute NodeContext::attr(llvm::StringRef name, Attribute v) {
  return graph.builder.getNamedAttr(name, v);
}
NamedAttribute NodeContext::attr(llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> v) {
  return attr(name, Attribute(graph.builder.getDenseI64ArrayAttr(v)));
}
NamedAttribute NodeContext::attr(llvm::StringRef name, int64_t v) {
  return attr(name, Attribute(graph.builder.getI64IntegerAttr(v)));
}
NamedAttribute NodeContext::attr(llvm::StringRef name, float v) {
  return attr(name, Attribute(graph.builder.getF32FloatAttr(v)));
}
NamedAttribute NodeContext::unitAttr(llvm::StringRef name) {
  return attr(name, Attribute(graph.builder.getUnitAttr()));
}

Type NodeContext::elementType(int onnxType) {
  return graph.tensorType({}, onnxType).getElementType();
}

/// Whether results of an op are sums or products of many elements, which an
/// op with partial results makes.
static bool isSummed(llvm::StringRef opName,
                     llvm::ArrayRef<NamedAttribute> attributes) {
  if (opName == nn::ReduceOp::getOperationName())
    for (NamedAttribute attribute : attributes)
      if (auto kind = dyn_cast<nn::ReduceKindAttr>(attribute.getValue()))
        return kind.getValue() == nn::ReduceKind::Sum ||
               kind.getValue() == nn::ReduceKind::Prod;
  return opName == nn::MatMulOp::getOperationName() ||
         opName == nn::ConvOp::getOperationName() ||
         opName == nn::ConvBackwardDataOp::getOperationName();
}

FailureOr<Value>
NodeContext::createOp(llvm::StringRef opName, Type element,
                      llvm::ArrayRef<int64_t> shape, ValueRange operands,
                      llvm::ArrayRef<NamedAttribute> attributes,
                      llvm::StringRef suffix) {
  if (!element)
    element = cast<RankedTensorType>(operands[0].getType()).getElementType();
  Type made =
      isSummed(opName, attributes) ? nn::accumulatorType(element) : element;
  auto op = createNamed(opName, RankedTensorType::get(shape, made), operands,
                        attributes,
                        made == element ? suffix.str() : suffix.str() + "_sum");
  if (succeeded(op) && made != element)
    op = createNamed(nn::CastOp::getOperationName(),
                     RankedTensorType::get(shape, element), (*op)->getResult(0),
                     {}, suffix);
  if (failed(op))
    return failure();
  return (*op)->getResult(0);
}

FailureOr<Operation *> NodeContext::createNamed(
    llvm::StringRef opName, llvm::ArrayRef<RankedTensorType> types,
    ValueRange operands, llvm::ArrayRef<NamedAttribute> attributes,
    llvm::StringRef suffix) {
  for (RankedTensorType type : types) {
    std::optional<int64_t> count = countElements(type.getShape());
    if (!count || *count == 0)
      return fail("expected a result with elements and within bounds, got: " +
                  toString(type.getShape()));
  }
  const std::string &base = node.name().empty() ? node.output(0) : node.name();
  OpBuilder &builder = graph.builder;
  OperationState state(NameLoc::get(builder.getStringAttr(base)), opName);
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addAttribute(
      "nn.name", builder.getStringAttr(graph.uniqueName(base + suffix.str())));
  for (RankedTensorType type : types)
    state.addTypes(type);
  return builder.create(state);
}

FailureOr<Value> NodeContext::reshape(Value value,
                                      llvm::ArrayRef<int64_t> shape,
                                      llvm::StringRef suffix) {
  if (cast<RankedTensorType>(value.getType()).getShape() == shape)
    return value;
  return create<nn::ReshapeOp>(shape, value, {}, suffix);
}

Value NodeContext::constantTensor(HostTensor elements, llvm::StringRef suffix) {
  ImportedValue constant;
  constant.kind = ImportedValue::Kind::Host;
  constant.elementType = elements.elementType;
  constant.shape = elements.shape;
  constant.host = std::move(elements);
  const std::string &base = node.name().empty() ? node.output(0) : node.name();
  return graph.materialize(constant, base + suffix.str());
}

int NodeContext::numberType() {
  if (computeType)
    return onnxTypeOf(computeType);
  bool isFloat =
      hasInput(0) && isOneOf(input(0).elementType, ElementTypes::Floats);
  return isFloat ? input(0).elementType : TensorProto::FLOAT;
}

Value NodeContext::scalar(double value, llvm::StringRef suffix) {
  HostTensor number = HostTensor::zeros(numberType(), {});
  number.setNumber(0, value);
  return constantTensor(std::move(number), suffix);
}

Value NodeContext::constantOp(DenseElementsAttr value, llvm::StringRef suffix) {
  const std::string &base = node.name().empty() ? node.output(0) : node.name();
  auto constant = graph.builder.create<nn::ConstantOp>(
      NameLoc::get(graph.builder.getStringAttr(base)),
      cast<ElementsAttr>(value));
  nn::setName(constant, graph.uniqueName(base + suffix.str()));
  return constant.getResult();
}

Value NodeContext::splat(llvm::ArrayRef<int64_t> shape, float value,
                         llvm::StringRef suffix) {
  return numbers(shape, value, suffix);
}

Value NodeContext::allTrue(llvm::ArrayRef<int64_t> shape,
                           llvm::StringRef suffix) {
  auto type = RankedTensorType::get(shape, graph.builder.getI1Type());
  return constantOp(DenseElementsAttr::get(type, true), suffix);
}

Value NodeContext::numbers(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<float> values, llvm::StringRef suffix,
                           int type) {
  Type element =
      elementType(type == TensorProto::UNDEFINED ? numberType() : type);
  if (element.isF32())
    return constantOp(
        DenseElementsAttr::get(RankedTensorType::get(shape, element), values),
        suffix);
  SmallVector<Attribute> elements;
  for (float value : values)
    elements.push_back(graph.builder.getFloatAttr(element, value));
  return constantOp(
      DenseElementsAttr::get(RankedTensorType::get(shape, element), elements),
      suffix);
}
