//===- ControlFlow.h - Branches and loops that are known --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_CONTROLFLOW_H
#define SOAP_LIB_TARGET_ONNX_CONTROLFLOW_H

#include "Importer.h"

namespace soap::onnx_import {

/// A loop of more iterations is refused even if its body is empty.
inline constexpr int64_t maxIterations = int64_t{1} << 16;

/// The attribute `name` of a node, or null.
const onnx::AttributeProto *findAttribute(const onnx::NodeProto &node,
                                          llvm::StringRef name);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_CONTROLFLOW_H
