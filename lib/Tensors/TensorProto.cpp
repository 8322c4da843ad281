//===- TensorProto.cpp - ONNX's tensor files ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/Files.h"
#include "soap/Tensors/Tensor.h"
#include <cstring>
#include <onnx/onnx-ml.pb.h>

using namespace soap;
using namespace soap::tensors;

static bool elementOf(int type, soap_element &element) {
  using Proto = onnx::TensorProto;
  switch (type) {
  case Proto::FLOAT:
    element = SOAP_F32;
    return true;
  case Proto::DOUBLE:
    element = SOAP_F64;
    return true;
  case Proto::FLOAT16:
    element = SOAP_F16;
    return true;
  case Proto::BFLOAT16:
    element = SOAP_BF16;
    return true;
  case Proto::INT8:
    element = SOAP_I8;
    return true;
  case Proto::INT16:
    element = SOAP_I16;
    return true;
  case Proto::INT32:
    element = SOAP_I32;
    return true;
  case Proto::INT64:
    element = SOAP_I64;
    return true;
  case Proto::UINT8:
    element = SOAP_U8;
    return true;
  case Proto::UINT16:
    element = SOAP_U16;
    return true;
  case Proto::UINT32:
    element = SOAP_U32;
    return true;
  case Proto::UINT64:
    element = SOAP_U64;
    return true;
  case Proto::BOOL:
    element = SOAP_BOOL;
    return true;
  case Proto::FLOAT8E4M3FN:
    element = SOAP_F8E4M3FN;
    return true;
  case Proto::FLOAT8E5M2:
    element = SOAP_F8E5M2;
    return true;
  case Proto::FLOAT8E4M3FNUZ:
    element = SOAP_F8E4M3FNUZ;
    return true;
  case Proto::FLOAT8E5M2FNUZ:
    element = SOAP_F8E5M2FNUZ;
    return true;
  case Proto::INT4:
    element = SOAP_I4;
    return true;
  case Proto::UINT4:
    element = SOAP_U4;
    return true;
  default:
    return false;
  }
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
