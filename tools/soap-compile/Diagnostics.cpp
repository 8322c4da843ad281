//===- Diagnostics.cpp - Errors of soap-compile ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace soap;

void soap::printError(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
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

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context)
    : ScopedDiagnosticHandler(context, [](Diagnostic &diagnostic) {
        switch (diagnostic.getSeverity()) {
        case DiagnosticSeverity::Error:
          llvm::errs() << "error: ";
          break;
        case DiagnosticSeverity::Warning:
          llvm::errs() << "warning: ";
          break;
        default:
          break;
        }
        llvm::errs() << placeOf(diagnostic.getLocation()) << diagnostic.str()
                     << "\n";
        for (Diagnostic &note : diagnostic.getNotes())
          llvm::errs() << "  " << placeOf(note.getLocation()) << note.str()
                       << "\n";
      }) {}
