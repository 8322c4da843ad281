//===- Compiler.cpp - From a model to a shared library --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Compiler/Compiler.h"
#include "Compilation.h"
#include "Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/TargetRegistry.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace soap;

llvm::StringRef soap::stringify(Stage stage) {
  static constexpr std::array<llvm::StringLiteral, numStages> names = {
      "import",   "normalize", "calibration", "measure",        "search",
      "strategy", "partition", "lower",       "library memory", "emit"};
  return names[static_cast<size_t>(stage)];
}

/// The files in memory.
static nn::Files filesOf(const ModelSource &source) {
  nn::Files files;
  if (source.contents)
    files.add(source.path, *source.contents);
  for (const auto &[location, bytes] : source.files) {
    llvm::SmallString<128> path(llvm::sys::path::parent_path(source.path));
    llvm::sys::path::append(path, location);
    files.add(path, bytes);
  }
  return files;
}

/// Adds what was emitted to an error, before its own message.
static llvm::Error withDiagnostics(llvm::Error error,
                                   std::vector<std::string> messages) {
  auto kind = CompileError::Kind::Failed;
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompileError &known) {
        kind = known.kind;
        messages.insert(messages.end(), known.messages.begin(),
                        known.messages.end());
      },
      [&](const llvm::ErrorInfoBase &other) {
        messages.push_back(other.message());
      });
  return llvm::make_error<CompileError>(kind, std::move(messages));
}

llvm::Error soap::compileModel(const ModelSource &source,
                               const CompilerOptions &options,
                               const CompilerCallbacks &callbacks,
                               CompilationResult &result) {
  result = CompilationResult();
  if (llvm::Error error = checkOptions(source, options))
    return error;
  llvm::Expected<std::unique_ptr<Target>> target =
      createTarget(options.target, {options.processor});
  if (!target)
    return badInput(target.takeError());

  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, nn::NNDialect, soapir::SOAPDialect,
                  soaprt::SOAPRTDialect>();
  (*target)->registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                      soapir::SOAPDialect, soaprt::SOAPRTDialect>();
  // Diagnostics name the node; whole modules are never printed.
  context.printOpOnDiagnostic(false);
  DiagnosticCollector diagnostics(&context, callbacks.message);
  nn::Files files = filesOf(source);
  if (llvm::Error error = Compilation({source, options, callbacks}, files,
                                      **target, context, result)
                              .run())
    return withDiagnostics(std::move(error), std::move(diagnostics.errors));
  return llvm::Error::success();
}
