//===- Tensor.cpp - Constant tensors of a model -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"
#include "WireFormat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace soap::onnx_import;
using onnx::TensorProto;

std::optional<int64_t>
soap::onnx_import::countElements(llvm::ArrayRef<int64_t> shape) {
  if (shape.size() > maxRank)
    return std::nullopt;
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0 || dim > maxDim)
      return std::nullopt;
    empty |= dim == 0;
    // Bounded even when another dimension is zero.
    if (dim > 0 && count > maxElements / dim)
      return std::nullopt;
    count *= dim > 0 ? dim : 1;
  }
  return empty ? 0 : count;
}

std::string soap::onnx_import::toString(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i != shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string soap::onnx_import::typeName(int elementType) {
  if (TensorProto::DataType_IsValid(elementType))
    return TensorProto::DataType_Name(
        static_cast<TensorProto::DataType>(elementType));
  return "type " + std::to_string(elementType);
}

int64_t soap::onnx_import::elementSize(int elementType) {
  switch (elementType) {
  case TensorProto::BOOL:
  case TensorProto::INT8:
  case TensorProto::UINT8:
    return 1;
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
    return 8;
  default:
    return 0;
  }
}

bool soap::onnx_import::isIntegral(int elementType) {
  return elementType != TensorProto::FLOAT &&
         elementType != TensorProto::DOUBLE;
}

llvm::Error soap::onnx_import::makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message.str());
}

/// Problems beyond this many are counted, not listed.
static constexpr size_t maxListed = 100;

std::string soap::onnx_import::quoted(llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::printEscapedString(name, os);
  return "'" + os.str() + "'";
}

llvm::Error soap::onnx_import::listError(const llvm::Twine &headline,
                                         llvm::ArrayRef<std::string> lines) {
  std::string text = headline.str();
  for (const std::string &line : lines.take_front(maxListed))
    text += "\n  " + line;
  if (lines.size() > maxListed)
    text += "\n  and " + std::to_string(lines.size() - maxListed) + " more";
  return makeError(text);
}

llvm::Expected<TensorRecord>
soap::onnx_import::parseTensor(llvm::StringRef message) {
  constexpr uint32_t floatDataField = 4, rawDataField = 9;
  TensorRecord record;
  std::string rest;
  unsigned floatChunks = 0;
  llvm::StringRef floatData;
  bool wellFormed = walkFields(message, [&](const WireField &field) {
    if (field.number == rawDataField && field.type == WireType::Bytes) {
      record.raw = field.content; // The last one counts, as in protobuf.
      return true;
    }
    if (field.number == floatDataField) {
      ++floatChunks;
      floatData = field.type == WireType::Bytes ? field.content : "";
    }
    if (field.number != floatDataField)
      rest.append(field.whole.data(), field.whole.size());
    return true;
  });
  if (!wellFormed || !record.proto.ParseFromString(rest))
    return makeError(
        "expected an ONNX tensor, got: bytes that are truncated or "
        "corrupt; get the file again");
  if (floatChunks != 0) {
    if (floatChunks > 1 || floatData.empty() || !record.raw.empty() ||
        record.proto.data_type() != TensorProto::FLOAT)
      return makeError("expected the values of tensor '" + record.proto.name() +
                       "' in one piece, got: float_data in several pieces; "
                       "save the model again with raw_data");
    record.raw = floatData;
  }
  return record;
}

HostTensor HostTensor::zeros(int elementType, llvm::ArrayRef<int64_t> shape) {
  HostTensor tensor;
  tensor.elementType = elementType;
  tensor.shape.assign(shape.begin(), shape.end());
  size_t count = static_cast<size_t>(countElements(shape).value_or(0));
  if (isIntegral(elementType))
    tensor.ints.resize(count);
  else
    tensor.floats.resize(count);
  return tensor;
}

HostTensor HostTensor::vector(llvm::ArrayRef<int64_t> values) {
  HostTensor tensor;
  tensor.elementType = TensorProto::INT64;
  tensor.shape = {static_cast<int64_t>(values.size())};
  tensor.ints.assign(values.begin(), values.end());
  return tensor;
}

void HostTensor::setNumber(int64_t i, double value) {
  if (!integral()) {
    floats[i] = elementType == TensorProto::FLOAT
                    ? static_cast<double>(static_cast<float>(value))
                    : value;
    return;
  }
  // Truncation as in C, but defined for every double.
  constexpr double limit = 9.2e18;
  if (elementType == TensorProto::BOOL)
    setInteger(i, value != 0);
  else if (value != value)
    setInteger(i, 0);
  else if (value >= limit || value <= -limit)
    setInteger(i, value > 0 ? INT64_MAX : INT64_MIN);
  else
    setInteger(i, static_cast<int64_t>(value));
}

void HostTensor::setInteger(int64_t i, int64_t value) {
  switch (elementType) {
  case TensorProto::BOOL:
    ints[i] = value != 0;
    break;
  case TensorProto::INT8:
    ints[i] = llvm::SignExtend64<8>(static_cast<uint64_t>(value));
    break;
  case TensorProto::UINT8:
    ints[i] = static_cast<uint8_t>(value);
    break;
  case TensorProto::INT16:
    ints[i] = static_cast<int16_t>(value);
    break;
  case TensorProto::UINT16:
    ints[i] = static_cast<uint16_t>(value);
    break;
  case TensorProto::INT32:
    ints[i] = static_cast<int32_t>(value);
    break;
  case TensorProto::UINT32:
    ints[i] = static_cast<uint32_t>(value);
    break;
  case TensorProto::FLOAT:
  case TensorProto::DOUBLE:
    setNumber(i, static_cast<double>(value));
    break;
  default:
    ints[i] = value;
  }
}

/// Element i of little-endian `raw`, as an integer or a number.
static void readRaw(HostTensor &tensor, int64_t i, const char *data) {
  using namespace llvm::support::endian;
  switch (tensor.elementType) {
  case TensorProto::FLOAT:
    tensor.floats[i] = llvm::bit_cast<float>(read32le(data));
    return;
  case TensorProto::DOUBLE:
    tensor.floats[i] = llvm::bit_cast<double>(read64le(data));
    return;
  case TensorProto::INT64:
    tensor.ints[i] = static_cast<int64_t>(read64le(data));
    return;
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return tensor.setInteger(i, read32le(data));
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return tensor.setInteger(i, read16le(data));
  default:
    return tensor.setInteger(i, static_cast<unsigned char>(*data));
  }
}

llvm::Expected<HostTensor>
soap::onnx_import::readTensor(const TensorRecord &record, llvm::StringRef raw) {
  const TensorProto &proto = record.proto;
  std::string what = "tensor '" + proto.name() + "'";
  int type = proto.data_type();
  int64_t bytes = elementSize(type);
  if (bytes == 0)
    return makeError("expected a tensor of numbers, got: " + what +
                     " of type " + typeName(type));
  Shape shape = record.shape();
  std::optional<int64_t> count = countElements(shape);
  if (!count || *count > maxHostElements)
    return makeError("expected a tensor of at most " +
                     llvm::Twine(maxHostElements) + " elements, got: " + what +
                     " of shape " + toString(shape));
  HostTensor tensor = HostTensor::zeros(type, shape);
  auto wrongSize = [&](uint64_t got) {
    return makeError("expected " + llvm::Twine(*count) + " elements in " +
                     what + " of shape " + toString(shape) +
                     ", got: " + llvm::Twine(got) + "; the file is corrupt");
  };
  if (!raw.empty()) {
    if (raw.size() != static_cast<uint64_t>(*count * bytes))
      return wrongSize(raw.size() / static_cast<uint64_t>(bytes));
    for (int64_t i = 0; i != *count; ++i)
      readRaw(tensor, i, raw.data() + i * bytes);
    return tensor;
  }
  auto readList = [&](const auto &list) -> llvm::Expected<HostTensor> {
    if (list.size() != *count)
      return wrongSize(static_cast<uint64_t>(list.size()));
    for (int64_t i = 0; i != *count; ++i) {
      auto value = list[static_cast<int>(i)];
      if (tensor.integral())
        tensor.setInteger(i, static_cast<int64_t>(value));
      else
        tensor.setNumber(i, static_cast<double>(value));
    }
    return tensor;
  };
  switch (type) {
  case TensorProto::INT64:
    return readList(proto.int64_data());
  case TensorProto::UINT32:
    return readList(proto.uint64_data());
  case TensorProto::DOUBLE:
    return readList(proto.double_data());
  case TensorProto::FLOAT:
    return readList(proto.float_data());
  default:
    return readList(proto.int32_data());
  }
}
