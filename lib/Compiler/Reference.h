//===- Reference.h - The single-device build in a model ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_COMPILER_REFERENCE_H
#define SOAP_LIB_COMPILER_REFERENCE_H

#include "mlir/IR/BuiltinOps.h"
#include "soap/Target/Model/Model.h"

namespace soap {

/// Compiles `reference.module`, a normalized model, for one device of this
/// machine, down to planned programs. Its kernels go behind those of `model`,
/// the same model lowered for several devices. Takes name, target and
/// fingerprint from `options`. Fails with the reason if it cannot be built (it
/// may not fit into memory).
llvm::Error buildReference(ReferenceBuild &reference, mlir::ModuleOp model,
                           const ModelOptions &options);

} // namespace soap

#endif // SOAP_LIB_COMPILER_REFERENCE_H
