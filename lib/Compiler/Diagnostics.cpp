//===- Diagnostics.cpp - Errors of a compilation --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace soap;

char CompileError::ID = 0;

void CompileError::log(llvm::raw_ostream &os) const {
  llvm::interleave(messages, os, "\n");
}

std::error_code CompileError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

/// `model.mlir:3:5: ` or `conv1: `; empty if nothing is known.
static std::string placeOf(Location location) {
  std::string place;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner))
      place = name.getName().str() + ": ";
    else if (auto file = dyn_cast<FileLineColLoc>(inner);
             file && file.getLine() != 0) // Line 0: the file as a whole.
      place = (file.getFilename().getValue() + ":" + Twine(file.getLine()) +
               ":" + Twine(file.getColumn()) + ": ")
                  .str();
    return place.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return place;
}

static std::string textOf(Diagnostic &diagnostic) {
  std::string text = placeOf(diagnostic.getLocation()) + diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    text += "\n  " + placeOf(note.getLocation()) + note.str();
  return text;
}

DiagnosticCollector::DiagnosticCollector(
    MLIRContext *context,
    const std::function<void(Severity, llvm::StringRef)> &message)
    : ScopedDiagnosticHandler(context) {
  setHandler([this, message](Diagnostic &diagnostic) {
    std::string text = textOf(diagnostic);
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors.push_back(std::move(text));
    else if (message)
      message(diagnostic.getSeverity() == DiagnosticSeverity::Warning
                  ? Severity::Warning
                  : Severity::Remark,
              text);
    return success();
  });
}
