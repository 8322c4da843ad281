//===- Tensor.cpp - Constant tensors of a model -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"
#include "WireFormat.h"
#include "llvm/ADT/StringExtras.h"
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
    // The size is bounded even if another dimension is zero.
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

int64_t soap::onnx_import::storedBytes(int elementType, int64_t count) {
  return (count * static_cast<int64_t>(storedBits(elementType)) + 7) / 8;
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
    floats[i] = roundTo(elementType, value);
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
  case TensorProto::INT4:
    ints[i] = llvm::SignExtend64<4>(static_cast<uint64_t>(value));
    break;
  case TensorProto::UINT4:
    ints[i] = value & 15;
    break;
  default:
    if (integral())
      ints[i] = value;
    else
      floats[i] = roundTo(elementType, static_cast<double>(value));
  }
}

/// Element i of little-endian `raw`; two of 4 bits share a byte, the first one
/// has its low half.
static void readRaw(HostTensor &tensor, int64_t i, llvm::StringRef raw) {
  unsigned width = storedBits(tensor.elementType);
  size_t size = std::max(width / 8, 1u);
  size_t first = static_cast<size_t>(i) * width / 8;
  uint64_t bits = 0;
  for (size_t k = size; k-- != 0;)
    bits = bits << 8 | static_cast<unsigned char>(raw[first + k]);
  if (width == 4)
    bits >>= 4 * (i % 2);
  if (tensor.integral())
    tensor.setInteger(i, static_cast<int64_t>(bits));
  else
    tensor.floats[static_cast<size_t>(i)] = fromBits(tensor.elementType, bits);
}

llvm::Expected<HostTensor>
soap::onnx_import::readTensor(const TensorRecord &record, llvm::StringRef raw) {
  const TensorProto &proto = record.proto;
  std::string what = "tensor '" + proto.name() + "'";
  int type = proto.data_type();
  if (!isKnownType(type))
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
    if (raw.size() != static_cast<uint64_t>(storedBytes(type, *count)))
      return makeError("expected " + llvm::Twine(storedBytes(type, *count)) +
                       " bytes of " + what + " of shape " + toString(shape) +
                       ", got: " + llvm::Twine(raw.size()) +
                       "; the file is corrupt");
    for (int64_t i = 0; i != *count; ++i)
      readRaw(tensor, i, raw);
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
  // Entries of int32_data that hold the bits of one element, or of two.
  auto readBits = [&](int64_t perEntry) -> llvm::Expected<HostTensor> {
    if (proto.int32_data_size() != (*count + perEntry - 1) / perEntry)
      return wrongSize(static_cast<uint64_t>(proto.int32_data_size()));
    std::string bytes;
    for (int32_t entry : proto.int32_data()) {
      bytes += static_cast<char>(entry & 255);
      if (storedBits(type) == 16)
        bytes += static_cast<char>(entry >> 8 & 255);
    }
    for (int64_t i = 0; i != *count; ++i)
      readRaw(tensor, i, bytes);
    return tensor;
  };
  switch (type) {
  case TensorProto::INT64:
    return readList(proto.int64_data());
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return readList(proto.uint64_data());
  case TensorProto::DOUBLE:
    return readList(proto.double_data());
  case TensorProto::FLOAT:
    return readList(proto.float_data());
  case TensorProto::INT4:
  case TensorProto::UINT4:
    return readBits(/*perEntry=*/2);
  default:
    if (!tensor.integral())
      return readBits(/*perEntry=*/1);
    return readList(proto.int32_data());
  }
}
