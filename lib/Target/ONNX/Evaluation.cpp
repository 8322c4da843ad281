//===- Evaluation.cpp - Values that follow from constants -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a shape, an axis or an index depends on may follow from constants
// through any operators. These were imported as nn ops; they are computed as a
// compiled model would compute them.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <climits>
#include <cstring>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

/// More ops or elements than this are not computed to know a value.
static constexpr size_t maxOps = 4096;
static constexpr int64_t maxEvaluated = maxHostElements * 16;

static size_t elementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), CHAR_BIT);
}

/// Elements as they lie in memory. The host is little-endian, as all targets.
static std::vector<char> bytesOf(ElementsAttr elements) {
  Type element = elements.getElementType();
  size_t size = elementBytes(element);
  std::vector<char> bytes;
  auto add = [&](const APInt &bits) {
    uint64_t word = bits.getZExtValue();
    const char *first = reinterpret_cast<const char *>(&word);
    bytes.insert(bytes.end(), first, first + size);
  };
  if (isa<FloatType>(element))
    for (const APFloat &value : elements.getValues<APFloat>())
      add(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      add(value);
  return bytes;
}

/// The elements of a small parameter, if the model has them.
static std::optional<std::vector<char>> bytesOf(nn::ParameterOp parameter,
                                                const nn::Files &files) {
  auto type = parameter.getResult().getType();
  if (parameter.getOffsets())
    return std::nullopt;
  if (auto splat = dyn_cast<nn::SplatAttr>(parameter.getSource()))
    return bytesOf(
        DenseElementsAttr::get(type, cast<Attribute>(splat.getValue())));
  auto file = dyn_cast<nn::FileAttr>(parameter.getSource());
  if (!file)
    return std::nullopt;
  auto bytes = Model::readBytes(
      files, {file.getPath().str(), static_cast<uint64_t>(file.getOffset()),
              static_cast<uint64_t>(file.getLength())});
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return std::nullopt;
  }
  return std::vector<char>(bytes->begin(), bytes->end());
}

/// The ops that `value` follows from, in the order of execution, and the
/// elements of the constants among them. False if it depends on an input, or on
/// too much.
static bool collect(Value value, llvm::SetVector<Operation *> &ops,
                    llvm::DenseMap<Value, std::vector<char>> &known,
                    const nn::Files &files) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<nn::InputOp>(op) || ops.size() > maxOps)
    return false;
  if (ops.contains(op) || known.contains(value))
    return true;
  for (Value result : op->getResults())
    if (cast<RankedTensorType>(result.getType()).getNumElements() >
        maxEvaluated)
      return false;
  if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    known[value] = bytesOf(constant.getValue());
    return true;
  }
  if (auto parameter = dyn_cast<nn::ParameterOp>(op)) {
    auto bytes = bytesOf(parameter, files);
    if (bytes)
      known[value] = std::move(*bytes);
    return bytes.has_value();
  }
  for (Value operand : op->getOperands())
    if (!collect(operand, ops, known, files))
      return false;
  ops.insert(op);
  return true;
}

bool GraphImporter::evaluate(ImportedValue &value) {
  if (value.kind == ImportedValue::Kind::Host)
    return true;
  if (value.kind != ImportedValue::Kind::Tensor || !options_.evaluate ||
      countElements(value.shape).value_or(maxElements) > maxHostElements)
    return false;
  llvm::SetVector<Operation *> ops;
  llvm::DenseMap<Value, std::vector<char>> known;
  if (!collect(value.value, ops, known, options_.files))
    return false;
  if (llvm::Error error = options_.evaluate(ops.getArrayRef(), known)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  const std::vector<char> &bytes = known[value.value];
  Type element = cast<RankedTensorType>(value.value.getType()).getElementType();
  size_t size = elementBytes(element);
  value.host = HostTensor::zeros(value.elementType, value.shape);
  for (int64_t i = 0, e = value.host.size(); i != e; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + static_cast<size_t>(i) * size, size);
    APInt bits(element.getIntOrFloatBitWidth(), word);
    if (auto type = dyn_cast<FloatType>(element)) {
      APFloat number(type.getFloatSemantics(), bits);
      bool lost;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &lost);
      value.host.setNumber(i, number.convertToDouble());
    } else {
      bool isSigned = !element.isInteger(1) && !element.isUnsignedInteger();
      value.host.setInteger(i, !isSigned ? bits.getZExtValue()
                                         : bits.getSExtValue());
    }
  }
  value.kind = ImportedValue::Kind::Host;
  // The ops go at the end if nothing else reads them.
  replaced_.append(ops.begin(), ops.end());
  for (const auto &[leaf, bytes] : known)
    replaced_.push_back(leaf.getDefiningOp());
  return true;
}
