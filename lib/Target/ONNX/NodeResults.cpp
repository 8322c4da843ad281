//===- NodeResults.cpp - Results and ops of a node ------------------------===//
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

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool NodeContext::usesOutput(size_t i) const {
  return i < numOutputs() && !node.output(static_cast<int>(i)).empty() &&
         graph_.read_.contains(node.output(static_cast<int>(i)));
}

void NodeContext::setResult(size_t i, ImportedValue value) {
  if (i < numOutputs() && !node.output(static_cast<int>(i)).empty())
    graph_.values_[node.output(static_cast<int>(i))] = std::move(value);
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
  graph_.values_[name] = tensorOf(value);
}

std::optional<HostTensor> NodeContext::known(Value value) {
  ImportedValue tensor = tensorOf(value);
  if (!graph_.evaluate(tensor))
    return std::nullopt;
  return std::move(tensor.host);
}

void NodeContext::addOutput(llvm::StringRef suffix, const std::string &name) {
  graph_.read_.insert(name);
  std::string output = node.output(0) + "_" + suffix.str();
  // Nodes of bodies have outputs of names that the model does not know.
  if (!graph_.tensorNames_.insert(output).second)
    output = graph_.uniqueTensorName(node, suffix);
  graph_.addedOutputs_.push_back({output, name});
}

void NodeContext::setResult(size_t i, HostTensor host) {
  ImportedValue result;
  graph_.hostElements_ += host.size();
  if (graph_.hostElements_ > maxHostElements * 1024) {
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
    graph_.storeInline(origin, attribute->t(), value);
    if (value.kind == ImportedValue::Kind::Failed)
      return fail(value.problem);
    return value;
  }
  llvm::Expected<TensorRecord> record =
      graph_.model_.tensorAttribute(index, name);
  if (!record)
    return fail(llvm::toString(record.takeError()));
  if (llvm::Error error = graph_.storeTensor(origin, *record, value))
    return fail(llvm::toString(std::move(error)));
  if (value.kind == ImportedValue::Kind::Failed)
    return fail(value.problem);
  return value;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

NamedAttribute NodeContext::attr(llvm::StringRef name, Attribute v) {
  return graph_.builder_.getNamedAttr(name, v);
}
NamedAttribute NodeContext::attr(llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> v) {
  return attr(name, Attribute(graph_.builder_.getDenseI64ArrayAttr(v)));
}
NamedAttribute NodeContext::attr(llvm::StringRef name, int64_t v) {
  return attr(name, Attribute(graph_.builder_.getI64IntegerAttr(v)));
}
NamedAttribute NodeContext::attr(llvm::StringRef name, float v) {
  return attr(name, Attribute(graph_.builder_.getF32FloatAttr(v)));
}
NamedAttribute NodeContext::unitAttr(llvm::StringRef name) {
  return attr(name, Attribute(graph_.builder_.getUnitAttr()));
}

Type NodeContext::elementType(int onnxType) {
  return graph_.tensorType({}, onnxType).getElementType();
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
  OpBuilder &builder = graph_.builder_;
  OperationState state(NameLoc::get(builder.getStringAttr(base)), opName);
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addAttribute(
      "nn.name", builder.getStringAttr(graph_.uniqueName(base + suffix.str())));
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
  return graph_.materialize(constant, base + suffix.str());
}

Value NodeContext::scalar(double value, llvm::StringRef suffix) {
  HostTensor number = HostTensor::zeros(numberType(), {});
  number.setNumber(0, value);
  return constantTensor(std::move(number), suffix);
}

Value NodeContext::constantOp(DenseElementsAttr value, llvm::StringRef suffix) {
  const std::string &base = node.name().empty() ? node.output(0) : node.name();
  auto constant = graph_.builder_.create<nn::ConstantOp>(
      NameLoc::get(graph_.builder_.getStringAttr(base)),
      cast<ElementsAttr>(value));
  nn::setName(constant, graph_.uniqueName(base + suffix.str()));
  return constant.getResult();
}

Value NodeContext::splat(llvm::ArrayRef<int64_t> shape, float value,
                         llvm::StringRef suffix) {
  return numbers(shape, value, suffix);
}

Value NodeContext::allTrue(llvm::ArrayRef<int64_t> shape,
                           llvm::StringRef suffix) {
  auto type = RankedTensorType::get(shape, graph_.builder_.getI1Type());
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
    elements.push_back(graph_.builder_.getFloatAttr(element, value));
  return constantOp(
      DenseElementsAttr::get(RankedTensorType::get(shape, element), elements),
      suffix);
}
