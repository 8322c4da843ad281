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
#define SOAP_ELEMENT_TYPE(NAME, C_NAME, BYTES, SHORT, SAFETENSORS)             \
  SOAP_##C_NAME,
#include "soap/Runtime/ElementTypes.def"
};

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
