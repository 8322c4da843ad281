//===- TensorProto.cpp - ONNX's tensor files ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/TensorProto.h"
#include "soap/Tensors/Files.h"
#include <cstring>
#include <onnx/onnx-ml.pb.h>

using namespace soap;
using namespace soap::tensors;

using Proto = onnx::TensorProto;

static constexpr std::pair<int, soap_element> types[] = {
    {Proto::FLOAT, SOAP_F32},
    {Proto::DOUBLE, SOAP_F64},
    {Proto::FLOAT16, SOAP_F16},
    {Proto::BFLOAT16, SOAP_BF16},
    {Proto::INT8, SOAP_I8},
    {Proto::INT16, SOAP_I16},
    {Proto::INT32, SOAP_I32},
    {Proto::INT64, SOAP_I64},
    {Proto::UINT8, SOAP_U8},
    {Proto::UINT16, SOAP_U16},
    {Proto::UINT32, SOAP_U32},
    {Proto::UINT64, SOAP_U64},
    {Proto::BOOL, SOAP_BOOL},
    {Proto::FLOAT8E4M3FN, SOAP_F8E4M3FN},
    {Proto::FLOAT8E5M2, SOAP_F8E5M2},
    {Proto::FLOAT8E4M3FNUZ, SOAP_F8E4M3FNUZ},
    {Proto::FLOAT8E5M2FNUZ, SOAP_F8E5M2FNUZ},
    {Proto::INT4, SOAP_I4},
    {Proto::UINT4, SOAP_U4}};

static bool elementOf(int type, soap_element &element) {
  for (auto [number, known] : types)
    if (type == number) {
      element = known;
      return true;
    }
  return false;
}

int tensors::onnxType(soap_element element) {
  for (auto [number, known] : types)
    if (element == known)
      return number;
  return Proto::UNDEFINED;
}

/// Appends the low bytes of every value (little endian), as ONNX stores small
/// types in wider fields.
template <typename Field>
static void append(std::vector<unsigned char> &bytes, const Field &field,
                   size_t size) {
  for (auto value : field) {
    const auto *raw = reinterpret_cast<const unsigned char *>(&value);
    bytes.insert(bytes.end(), raw, raw + size);
  }
}

/// Two integers of 4 bits share a byte of the file, the first one has its low
/// half.
static void unpack(Tensor &tensor, size_t count) {
  if (tensor.bytes.size() != (count + 1) / 2)
    return; // Reported as a wrong number of bytes.
  std::vector<unsigned char> packed = std::move(tensor.bytes);
  tensor.bytes.clear();
  for (size_t i = 0; i != count; ++i) {
    unsigned low = packed[i / 2] >> 4 * (i % 2) & 15;
    bool isNegative = tensor.element == SOAP_I4 && low >= 8;
    tensor.bytes.push_back(
        static_cast<unsigned char>(isNegative ? low | 0xf0 : low));
  }
}

Tensor tensors::readTensorProto(const std::string &path) {
  std::ifstream file = openFile(path);
  onnx::TensorProto proto;
  if (!proto.ParseFromIstream(&file))
    throw UsageError("expected an ONNX TensorProto in '" + path +
                     "', got: another or a damaged file");
  Tensor result;
  if (!elementOf(proto.data_type(), result.element))
    throw UsageError("expected a tensor of numbers in '" + path +
                     "', got: ONNX type " + std::to_string(proto.data_type()));
  size_t size = soap_element_size(result.element), total = size;
  for (int64_t extent : proto.dims()) {
    result.shape.push_back(extent);
    if (extent < 0 ||
        __builtin_mul_overflow(total, static_cast<size_t>(extent), &total))
      throw UsageError("expected a shape in '" + path + "', got: extent " +
                       std::to_string(extent));
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL)
    throw UsageError("expected the data in '" + path +
                     "', got: external data; write the tensor as .npy");
  if (proto.has_raw_data()) {
    const std::string &raw = proto.raw_data();
    result.bytes.assign(raw.begin(), raw.end());
  } else {
    append(result.bytes, proto.float_data(), 4);
    append(result.bytes, proto.double_data(), 8);
    append(result.bytes, proto.int32_data(), size);
    append(result.bytes, proto.int64_data(), 8);
    append(result.bytes, proto.uint64_data(), size);
  }
  if (result.element == SOAP_I4 || result.element == SOAP_U4)
    unpack(result, total);
  if (result.bytes.size() != total)
    throw UsageError("expected " + std::to_string(total) +
                     " bytes of data in '" + path +
                     "', got: " + std::to_string(result.bytes.size()));
  return result;
}
