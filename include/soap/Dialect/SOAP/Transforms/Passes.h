//===- Passes.h - Passes over the soap dialect ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_H
#define SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"

namespace soap::soapir {

#define GEN_PASS_DECL
#include "soap/Dialect/SOAP/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "soap/Dialect/SOAP/Transforms/Passes.h.inc"

} // namespace soap::soapir

#endif // SOAP_DIALECT_SOAP_TRANSFORMS_PASSES_H
