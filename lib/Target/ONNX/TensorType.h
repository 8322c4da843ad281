//===- TensorType.h - Types of tensors as ONNX writes them ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_TENSORTYPE_H
#define SOAP_LIB_TARGET_ONNX_TENSORTYPE_H

#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/ArrayRef.h"

namespace soap::onnx_import {

/// The type of a tensor of ONNX's element type `elementType`.
inline onnx::TypeProto typeProto(int elementType,
                                 llvm::ArrayRef<int64_t> shape) {
  onnx::TypeProto result;
  onnx::TypeProto::Tensor &type = *result.mutable_tensor_type();
  type.set_elem_type(elementType);
  type.mutable_shape(); // A scalar has a shape, too.
  for (int64_t dim : shape)
    type.mutable_shape()->add_dim()->set_dim_value(dim);
  return result;
}

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_TENSORTYPE_H
