//===- ElementTypes.h - Element types of ONNX -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of the values of TensorProto.DataType (onnx.proto).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_ELEMENTTYPES_H
#define SOAP_LIB_TARGET_ONNX_ELEMENTTYPES_H

#include <cstdint>
#include <string>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace soap::onnx_import {

/// "FLOAT", "INT64", ... or "type 99".
std::string typeName(int elementType);
/// Whether there are tensors of this type in nn: not of strings, complex
/// numbers, and some types of 8 bits and fewer.
bool isKnownType(int elementType);
/// Bits per element in raw data; 0 for unknown types.
unsigned storedBits(int elementType);
/// Integers and booleans; unknown types count as such.
bool isIntegral(int elementType);
bool isUnsigned(int elementType);
/// Types that are only moved and cast: integers of 4 bits, floats of 8.
bool isStorageOnly(int elementType);

/// The element type of a known ONNX type in nn, and the other way round.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int elementType);
int onnxTypeOf(mlir::Type element);

/// The number of a float type that is nearest to `value`.
double roundTo(int elementType, double value);
/// The largest and the smallest normal number of a float type.
double largestOf(int elementType);
double smallestOf(int elementType);
/// The number of a float type with these bits.
double fromBits(int elementType, uint64_t bits);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_ELEMENTTYPES_H
