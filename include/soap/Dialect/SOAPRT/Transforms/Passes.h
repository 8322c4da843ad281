//===- Passes.h - Passes over soaprt programs -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_TRANSFORMS_PASSES_H
#define SOAP_DIALECT_SOAPRT_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"

namespace soap::soaprt {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "soap/Dialect/SOAPRT/Transforms/Passes.h.inc"

/// Checks a memory plan: every buffer has an offset inside of its arena, and no
/// two that are live together overlap. Emits an error for the first violation.
mlir::LogicalResult checkMemoryPlan(DeviceOp device);

} // namespace soap::soaprt

#endif // SOAP_DIALECT_SOAPRT_TRANSFORMS_PASSES_H
