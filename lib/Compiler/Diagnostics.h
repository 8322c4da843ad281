//===- Diagnostics.h - Errors of a compilation ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of a compilation fail with a CompileError. One whose reason MLIR's
// diagnostics say has no message of its own: compileModel() adds them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_COMPILER_DIAGNOSTICS_H
#define SOAP_LIB_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "soap/Compiler/Compiler.h"

namespace soap {

inline llvm::Error makeError(CompileError::Kind kind, const llvm::Twine &text) {
  return llvm::make_error<CompileError>(kind, std::vector{text.str()});
}
inline llvm::Error badInput(const llvm::Twine &text) {
  return makeError(CompileError::Kind::BadInput, text);
}
inline llvm::Error badInput(llvm::Error error) {
  return badInput(llvm::toString(std::move(error)));
}
inline llvm::Error failedWith(const llvm::Twine &text) {
  return makeError(CompileError::Kind::Failed, text);
}

/// Success, or an error of this kind whose reason was emitted.
inline llvm::Error emitted(mlir::LogicalResult result,
                           CompileError::Kind kind) {
  if (mlir::succeeded(result))
    return llvm::Error::success();
  return llvm::make_error<CompileError>(kind, std::vector<std::string>());
}

/// While it lives, collects MLIR's errors as messages, with the place in a file
/// or the name of the node, and notes as indented lines; warnings and remarks
/// are told to `message` at once.
class DiagnosticCollector : public mlir::ScopedDiagnosticHandler {
public:
  DiagnosticCollector(
      mlir::MLIRContext *context,
      const std::function<void(Severity, llvm::StringRef)> &message);

  std::vector<std::string> errors;
};

} // namespace soap

#endif // SOAP_LIB_COMPILER_DIAGNOSTICS_H
