//===- Empty.cpp - Tensors without elements ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor without elements is known by its shape: there is nothing to compute.
// Examples are the past keys and values of a first step, and slices that end
// where they start.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "TensorType.h"
#include "llvm/ADT/StringSwitch.h"
#include <limits>

using namespace soap;
using namespace soap::onnx_import;
using onnx::NodeProto;
using onnx::TensorProto;
using onnx::TypeProto;

static bool lacksElements(const ImportedValue &value) {
  return value.kind == ImportedValue::Kind::Host &&
         countElements(value.shape) == 0;
}

/// Operators whose results may be empty although no operand is.
static bool mayEndEmpty(llvm::StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases("Slice", "Split", "Expand", "Tile", "TopK", true)
      .Default(false);
}

/// Operators whose every element is a sum of products: without elements in an
/// operand, the sums are empty.
static bool sumsProducts(llvm::StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases("MatMul", "MatMulInteger", "Einsum", true)
      .Default(false);
}

/// Integers that shape inference may need, as a tensor.
static TensorProto tensorOf(const HostTensor &host) {
  TensorProto tensor;
  tensor.set_data_type(host.elementType);
  for (int64_t dim : host.shape)
    tensor.add_dims(dim);
  for (int64_t value : host.ints)
    if (host.elementType == TensorProto::INT32)
      tensor.add_int32_data(static_cast<int32_t>(value));
    else
      tensor.add_int64_data(value);
  return tensor;
}

bool GraphImporter::importEmpty(const NodeProto &node) {
  bool anyEmpty = false;
  std::vector<TypeProto> types(static_cast<size_t>(node.input_size()));
  std::map<int, TensorProto> constants;
  for (int i = 0; i != node.input_size(); ++i) {
    if (node.input(i).empty())
      continue;
    const ImportedValue &value = values_[node.input(i)];
    if (value.elementType == TensorProto::UNDEFINED)
      return false;
    anyEmpty |= lacksElements(value);
  }
  if (!isStandard(node) || (!anyEmpty && !mayEndEmpty(node.op_type())))
    return false;
  for (int i = 0; i != node.input_size(); ++i) {
    if (node.input(i).empty())
      continue;
    const ImportedValue &value = values_[node.input(i)];
    types[static_cast<size_t>(i)] = typeProto(value.elementType, value.shape);
    if (value.kind == ImportedValue::Kind::Host &&
        (value.elementType == TensorProto::INT32 ||
         value.elementType == TensorProto::INT64))
      constants[i] = tensorOf(value.host);
  }
  std::vector<TypeProto> results = inferTypes(node, opset(), types, constants);
  std::vector<Shape> shapes;
  for (size_t i = 0; i != results.size(); ++i) {
    const auto &type = results[i].tensor_type();
    Shape &shape = shapes.emplace_back();
    for (const auto &dim : type.shape().dim())
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    bool isUsed = !node.output(static_cast<int>(i)).empty();
    bool isZero = anyEmpty && sumsProducts(node.op_type());
    int64_t most = isZero ? maxHostElements : 0;
    if (isUsed && (!type.has_shape() ||
                   countElements(shape).value_or(maxElements) > most))
      return false;
  }
  for (size_t i = 0; i != results.size(); ++i) {
    const std::string &name = node.output(static_cast<int>(i));
    if (name.empty())
      continue;
    ImportedValue &value = values_[name];
    value.kind = ImportedValue::Kind::Host;
    value.elementType = results[i].tensor_type().elem_type();
    value.shape = shapes[i];
    value.host = HostTensor::zeros(value.elementType, shapes[i]);
  }
  return !results.empty();
}

HostTensor soap::onnx_import::reducedNothing(llvm::StringRef op,
                                             int elementType,
                                             llvm::ArrayRef<int64_t> shape) {
  HostTensor result = HostTensor::zeros(elementType, shape);
  bool isMax = op == "ReduceMax", isMin = op == "ReduceMin";
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (int64_t i = 0, e = result.size(); i != e; ++i)
    if (op == "ReduceProd")
      result.setNumber(i, 1);
    else if (op == "ReduceMean")
      result.setNumber(i, std::numeric_limits<double>::quiet_NaN());
    else if (op == "ReduceLogSum" || op == "ReduceLogSumExp")
      result.setNumber(i, -infinity);
    else if ((isMax || isMin) && !result.integral())
      result.setNumber(i, isMax ? -infinity : infinity);
    else if (isMax || isMin)
      result.setInteger(i, elementType == TensorProto::BOOL ? isMin
                           : elementType == TensorProto::INT32
                               ? (isMax ? INT32_MIN : INT32_MAX)
                               : (isMax ? INT64_MIN : INT64_MAX));
  return result;
}
