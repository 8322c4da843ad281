//===- Reference.h - The single-device build in a model ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPCOMPILE_REFERENCE_H
#define SOAP_TOOLS_SOAPCOMPILE_REFERENCE_H

#include "mlir/IR/BuiltinOps.h"
#include "soap/Target/Model/Model.h"

namespace soap {

/// Compiles `reference.module`, a normalized model, for one device of this
/// machine, down to planned programs. Its kernels go behind those of `model`,
/// the same model lowered for several devices. Takes name, target and
/// fingerprint from `options`. False, with a warning that says why, if it
/// cannot be built (it may not fit into memory).
bool buildReference(ReferenceBuild &reference, mlir::ModuleOp model,
                    const ModelOptions &options);

} // namespace soap

#endif // SOAP_TOOLS_SOAPCOMPILE_REFERENCE_H
