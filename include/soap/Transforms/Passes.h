//===- Passes.h - Passes over strategies ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRANSFORMS_PASSES_H
#define SOAP_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace soap {

#define GEN_PASS_DECL
#include "soap/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "soap/Transforms/Passes.h.inc"

} // namespace soap

#endif // SOAP_TRANSFORMS_PASSES_H
