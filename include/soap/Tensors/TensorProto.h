//===- TensorProto.h - Element types of ONNX --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_TENSORPROTO_H
#define SOAP_TENSORS_TENSORPROTO_H

#include "soap/Tensors/Tensor.h"

namespace soap::tensors {

/// The type in a TensorProto (its enumeration DataType) of elements.
int onnxType(soap_element element);

} // namespace soap::tensors

#endif // SOAP_TENSORS_TENSORPROTO_H
