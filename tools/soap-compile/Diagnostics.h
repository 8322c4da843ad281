//===- Diagnostics.h - Errors of soap-compile -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPCOMPILE_DIAGNOSTICS_H
#define SOAP_TOOLS_SOAPCOMPILE_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace soap {

/// Prints one `error: …` line.
void printError(const llvm::Twine &message);

/// Prints MLIR's errors as one `error: …` line, with the place in a file or the
/// name of the node, and notes as indented lines; warnings as `warning: …`.
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  explicit DiagnosticPrinter(mlir::MLIRContext *context);
};

} // namespace soap

#endif // SOAP_TOOLS_SOAPCOMPILE_DIAGNOSTICS_H
