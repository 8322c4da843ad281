//===- ElementTypes.cpp - Element types of ONNX -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

namespace {
enum class Kind : uint8_t { Signed, Unsigned, Float };
struct ElementType {
  int onnx;
  Kind kind;
  unsigned bits; ///< In a file's raw data; a boolean takes a byte.
  llvm::APFloat::Semantics format = llvm::APFloat::S_IEEEsingle;
};
} // namespace

/// The types of nn, by the place in TensorProto.DataType.
static constexpr ElementType types[] = {
    {TensorProto::FLOAT, Kind::Float, 32, llvm::APFloat::S_IEEEsingle},
    {TensorProto::UINT8, Kind::Unsigned, 8},
    {TensorProto::INT8, Kind::Signed, 8},
    {TensorProto::UINT16, Kind::Unsigned, 16},
    {TensorProto::INT16, Kind::Signed, 16},
    {TensorProto::INT32, Kind::Signed, 32},
    {TensorProto::INT64, Kind::Signed, 64},
    {TensorProto::BOOL, Kind::Unsigned, 8},
    {TensorProto::FLOAT16, Kind::Float, 16, llvm::APFloat::S_IEEEhalf},
    {TensorProto::DOUBLE, Kind::Float, 64, llvm::APFloat::S_IEEEdouble},
    {TensorProto::UINT32, Kind::Unsigned, 32},
    {TensorProto::UINT64, Kind::Unsigned, 64},
    {TensorProto::BFLOAT16, Kind::Float, 16, llvm::APFloat::S_BFloat},
    {TensorProto::FLOAT8E4M3FN, Kind::Float, 8, llvm::APFloat::S_Float8E4M3FN},
    {TensorProto::FLOAT8E4M3FNUZ, Kind::Float, 8,
     llvm::APFloat::S_Float8E4M3FNUZ},
    {TensorProto::FLOAT8E5M2, Kind::Float, 8, llvm::APFloat::S_Float8E5M2},
    {TensorProto::FLOAT8E5M2FNUZ, Kind::Float, 8,
     llvm::APFloat::S_Float8E5M2FNUZ},
    {TensorProto::UINT4, Kind::Unsigned, 4},
    {TensorProto::INT4, Kind::Signed, 4},
};

static const ElementType *find(int elementType) {
  for (const ElementType &type : types)
    if (type.onnx == elementType)
      return &type;
  return nullptr;
}

std::string soap::onnx_import::typeName(int elementType) {
  if (TensorProto::DataType_IsValid(elementType))
    return TensorProto::DataType_Name(
        static_cast<TensorProto::DataType>(elementType));
  return "type " + std::to_string(elementType);
}

bool soap::onnx_import::isKnownType(int elementType) {
  return find(elementType) != nullptr;
}

unsigned soap::onnx_import::storedBits(int elementType) {
  const ElementType *type = find(elementType);
  return type ? type->bits : 0;
}

bool soap::onnx_import::isIntegral(int elementType) {
  const ElementType *type = find(elementType);
  return !type || type->kind != Kind::Float;
}

bool soap::onnx_import::isUnsigned(int elementType) {
  const ElementType *type = find(elementType);
  return type && type->kind == Kind::Unsigned;
}

bool soap::onnx_import::isStorageOnly(int elementType) {
  return storedBits(elementType) < 8 ||
         (!isIntegral(elementType) && storedBits(elementType) < 16);
}

Type soap::onnx_import::elementTypeOf(MLIRContext *context, int elementType) {
  switch (elementType) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TensorProto::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TensorProto::BOOL:
    return IntegerType::get(context, 1);
  default:
    return IntegerType::get(context, storedBits(elementType),
                            isUnsigned(elementType) ? IntegerType::Unsigned
                                                    : IntegerType::Signless);
  }
}

int soap::onnx_import::onnxTypeOf(Type element) {
  for (const ElementType &type : types)
    if (elementTypeOf(element.getContext(), type.onnx) == element)
      return type.onnx;
  return TensorProto::UNDEFINED;
}

double soap::onnx_import::roundTo(int elementType, double value) {
  const ElementType *type = find(elementType);
  if (!type || type->format == llvm::APFloat::S_IEEEdouble)
    return value;
  llvm::APFloat number(value);
  bool inexact;
  number.convert(llvm::APFloat::EnumToSemantics(type->format),
                 llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

double soap::onnx_import::largestOf(int elementType) {
  const ElementType *type = find(elementType);
  return llvm::APFloat::getLargest(llvm::APFloat::EnumToSemantics(type->format))
      .convertToDouble();
}

double soap::onnx_import::smallestOf(int elementType) {
  const ElementType *type = find(elementType);
  return llvm::APFloat::getSmallestNormalized(
             llvm::APFloat::EnumToSemantics(type->format))
      .convertToDouble();
}

double soap::onnx_import::fromBits(int elementType, uint64_t bits) {
  const ElementType *type = find(elementType);
  return llvm::APFloat(llvm::APFloat::EnumToSemantics(type->format),
                       llvm::APInt(type->bits, bits))
      .convertToDouble();
}
