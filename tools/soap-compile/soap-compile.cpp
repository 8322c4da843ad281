//===- soap-compile.cpp - From a model to a shared library ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/Registration/AllTargets.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace soap;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAllTargets();
  int exitCode = 0;
  llvm::Expected<std::optional<CommandLine>> line =
      parseCommandLine(argc, argv, exitCode);
  if (!line) {
    printError(llvm::toString(line.takeError()));
    return 2;
  }
  if (!*line)
    return exitCode;

  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, nn::NNDialect, ir::SOAPDialect,
                  soaprt::SOAPRTDialect>();
  (*line)->target->registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, nn::NNDialect, ir::SOAPDialect,
                      soaprt::SOAPRTDialect>();
  // Diagnostics name the node; whole modules are never printed.
  context.printOpOnDiagnostic(false);
  DiagnosticPrinter diagnostics(&context);
  exitCode = Compilation(**line, context).run();
  // Checked here, so that LLVM does not end the program for it. Messages that
  // nobody sees are no failure.
  llvm::errs().clear_error();
  llvm::outs().flush();
  if (std::error_code error = llvm::outs().error()) {
    llvm::outs().clear_error();
    printError("expected to write to the standard output, got: " +
               error.message());
    return exitCode == 0 ? 1 : exitCode;
  }
  return exitCode;
}
