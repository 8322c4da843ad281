//===- Passes.h - Passes over nn graphs -------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_TRANSFORMS_PASSES_H
#define SOAP_DIALECT_NN_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <limits>

namespace soap::nn {

#define GEN_PASS_DECL
#include "soap/Dialect/NN/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "soap/Dialect/NN/Transforms/Passes.h.inc"

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_TRANSFORMS_PASSES_H
