//===- SOAPToSOAPRT.h - soap to soaprt --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_SOAPTOSOAPRT_SOAPTOSOAPRT_H
#define SOAP_CONVERSION_SOAPTOSOAPRT_SOAPTOSOAPRT_H

#include "mlir/Pass/Pass.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"

namespace soap {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "soap/Conversion/SOAPToSOAPRT/Passes.h.inc"

/// True for the local nn operations that the library computes on the CPU
/// (oneDNN): convolution, matrix product, pooling, softmax and local response
/// normalisation, of f32, as far as the library has their attributes. All
/// others become native code.
bool isLibraryKernel(mlir::Operation *op);

} // namespace soap

#endif // SOAP_CONVERSION_SOAPTOSOAPRT_SOAPTOSOAPRT_H
