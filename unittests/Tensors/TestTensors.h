//===- TestTensors.h - Tensors of numbers -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_TENSORS_TESTTENSORS_H
#define SOAP_UNITTESTS_TENSORS_TESTTENSORS_H

#include "soap/Tensors/Tensor.h"
#include <cstring>

/// All element types.
inline constexpr soap_element allElements[] = {
    SOAP_F32, SOAP_F64, SOAP_F16, SOAP_BF16, SOAP_I8,  SOAP_I16, SOAP_I32,
    SOAP_I64, SOAP_U8,  SOAP_U16, SOAP_U32,  SOAP_U64, SOAP_BOOL};

/// A tensor of these values, whose type in memory is T; one of rank 1 if no
/// shape is given.
template <typename T>
soap::tensors::Tensor tensorOf(soap_element element,
                               const std::vector<T> &values,
                               std::vector<int64_t> shape = {}) {
  soap::tensors::Tensor tensor;
  tensor.element = element;
  tensor.shape = shape.empty()
                     ? std::vector<int64_t>{static_cast<int64_t>(values.size())}
                     : std::move(shape);
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

#endif // SOAP_UNITTESTS_TENSORS_TESTTENSORS_H
