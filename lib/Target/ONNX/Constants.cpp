//===- Constants.cpp - Operators that make constants ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;
using onnx::TensorProto;

LogicalResult soap::onnx_import::importConstant(NodeContext &node) {
  if (node.node.attribute_size() != 1)
    return node.fail("expected one attribute, got: " +
                     llvm::Twine(node.node.attribute_size()));
  const AttributeProto &attribute = node.node.attribute(0);
  const std::string &name = attribute.name();
  if (name == "value")
    return node.finish(node.tensorAttribute("value"));
  bool list = name == "value_ints" || name == "value_floats";
  bool integral = name == "value_int" || name == "value_ints";
  int64_t count = !list      ? 1
                  : integral ? attribute.ints_size()
                             : attribute.floats_size();
  if (count > maxHostElements)
    return node.fail("expected at most " + llvm::Twine(maxHostElements) +
                     " elements, got: " + llvm::Twine(count));
  HostTensor host =
      HostTensor::zeros(integral ? TensorProto::INT64 : TensorProto::FLOAT,
                        list ? Shape{count} : Shape{});
  for (int64_t i = 0; i != count; ++i) {
    int k = static_cast<int>(i);
    if (integral)
      host.setInteger(i, list ? attribute.ints(k) : attribute.i());
    else
      host.setNumber(
          i, static_cast<double>(list ? attribute.floats(k) : attribute.f()));
  }
  node.setResult(0, std::move(host));
  return success();
}

LogicalResult soap::onnx_import::importConstantOfShape(NodeContext &node) {
  auto dims = node.constantIntegers(0, "shapes");
  if (failed(dims))
    return failure();
  Shape shape(dims->begin(), dims->end());
  std::optional<int64_t> count = countElements(shape);
  if (!count)
    return node.fail("expected a shape within bounds, got: " + toString(shape));
  HostTensor value = HostTensor::zeros(TensorProto::FLOAT, {});
  if (node.hasAttribute("value")) {
    auto attribute = node.tensorAttribute("value");
    if (failed(attribute))
      return failure();
    // A tensor of one element; rank 1 makes it a stored one.
    if (attribute->kind == ImportedValue::Kind::Stored) {
      auto file = cast<nn::FileAttr>(attribute->source);
      auto bytes = Model::readBytes(node.files(),
                                    {file.getPath().str(),
                                     static_cast<uint64_t>(file.getOffset()),
                                     static_cast<uint64_t>(file.getLength())});
      if (!bytes)
        return node.fail(llvm::toString(bytes.takeError()));
      TensorRecord record;
      record.proto.set_data_type(attribute->elementType);
      for (int64_t dim : attribute->shape)
        record.proto.add_dims(dim);
      auto host = readTensor(record, *bytes);
      if (!host)
        return node.fail(llvm::toString(host.takeError()));
      value = *host;
    } else {
      value = attribute->host;
    }
    if (value.size() != 1)
      return node.fail("expected one element as value, got: shape " +
                       toString(value.shape));
  }
  ImportedValue result;
  result.elementType = value.elementType;
  result.shape = shape;
  bool isWeight = !value.integral() || *count > maxHostElements;
  if (isWeight && !shape.empty() && *count != 0) {
    Type element = node.elementType(value.elementType);
    result.kind = ImportedValue::Kind::Stored;
    result.origin = node.node.output(0);
    auto number =
        value.integral()
            ? TypedAttr(node.builder().getIntegerAttr(element, value.ints[0]))
            : TypedAttr(node.builder().getFloatAttr(element, value.floats[0]));
    result.source = nn::SplatAttr::get(node.builder().getContext(), number);
    node.setResult(0, std::move(result));
    return success();
  }
  HostTensor host = HostTensor::zeros(value.elementType, shape);
  for (int64_t i = 0; i != *count; ++i)
    if (host.integral())
      host.ints[i] = value.ints[0];
    else
      host.floats[i] = value.floats[0];
  node.setResult(0, std::move(host));
  return success();
}

LogicalResult soap::onnx_import::importShape(NodeContext &node) {
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  auto rank = static_cast<int64_t>(shape.size());
  auto bound = [&](llvm::StringRef name, int64_t otherwise) {
    int64_t value = node.integer(name, otherwise);
    value = std::clamp(value, -rank, rank);
    return value < 0 ? value + rank : value;
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  size_t count = end > start ? static_cast<size_t>(end - start) : 0;
  node.setResult(0, HostTensor::vector(shape.slice(
                        count ? static_cast<size_t>(start) : 0, count)));
  return success();
}

LogicalResult soap::onnx_import::importSize(NodeContext &node) {
  HostTensor host = HostTensor::zeros(TensorProto::INT64, {});
  host.ints[0] = countElements(node.shape(0)).value_or(0);
  node.setResult(0, std::move(host));
  return success();
}
