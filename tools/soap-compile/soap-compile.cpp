//===- soap-compile.cpp - From a model to a shared library ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Console.h"
#include "mlir/Support/Timing.h"
#include "soap/Support/JSON.h"
#include "soap/Target/Registration/AllTargets.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace soap;

/// Prints an error; returns the exit code that says of what kind it is.
static int report(llvm::Error error) {
  int code = 1;
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompileError &failed) {
        if (failed.kind == CompileError::Kind::BadInput)
          code = 2;
        for (const std::string &message : failed.messages)
          printError(message);
      },
      [](const llvm::ErrorInfoBase &other) { printError(other.message()); });
  return code;
}

static llvm::json::Value jsonOf(CompilationResult &result) {
  llvm::json::Object object;
  if (result.report)
    object = std::move(*result.report);
  if (result.proof)
    object["proof"] = std::move(*result.proof);
  if (result.search)
    object["search"] = std::move(*result.search);
  if (result.costs)
    object["costs"] = std::move(*result.costs);
  if (result.tuning)
    object["tuning"] = std::move(*result.tuning);
  if (result.localOptimality)
    object["local_optimality"] = std::move(*result.localOptimality);
  if (result.recomputation)
    object["recomputation"] = std::move(*result.recomputation);
  return object;
}

/// Writes `text`, unless nobody asked for it or there is none.
static llvm::Error write(const std::string &path, const std::string &text) {
  return path.empty() || text.empty() ? llvm::Error::success()
                                      : writeWholeFile(path, text);
}

/// Writes what is asked for beside the model, as far as it was made: a strategy
/// that took an hour to find is not lost if what follows fails.
static llvm::Error writeExports(const CommandLine &line,
                                const CompilationResult &result) {
  auto withNewline = [](const std::string &text) {
    return text.empty() ? text : text + "\n";
  };
  if (llvm::Error error =
          write(line.exportStrategy, withNewline(result.strategy)))
    return error;
  if (llvm::Error error =
          write(line.exportMovements, withNewline(result.movements)))
    return error;
  return write(line.searchLog, result.searchLog);
}

/// Writes or prints the level that was asked for, and prints proofs and
/// statistics.
static llvm::Error printResults(const CommandLine &line,
                                CompilationResult &result) {
  bool hasJSON = line.json && (result.report || result.proof || result.search ||
                               result.costs || result.localOptimality ||
                               result.recomputation);
  std::string level = std::move(result.text), rest = result.proofText;
  if (hasJSON)
    rest = llvm::formatv("{0:2}\n", jsonOf(result)).str();
  if (line.options.emit == Emit::Report) {
    // A report in JSON has all that there is to say.
    if (line.json)
      level = std::move(rest);
    rest.clear();
  }
  if (line.levelOutput.empty())
    llvm::outs() << level;
  else if (llvm::Error error = write(line.levelOutput, level))
    return error;
  llvm::outs() << rest;
  return llvm::Error::success();
}

/// Says what took time beside the search, which has a budget.
static void printSeconds(const CompilationResult &result) {
  auto of = [&](Stage stage) {
    return result.seconds[static_cast<size_t>(stage)];
  };
  double total = 0;
  for (double seconds : result.seconds)
    total += seconds;
  double search = of(Stage::Search), calibration = of(Stage::Calibration);
  double measure = of(Stage::Measure);
  if (total < 1 || (search == 0 && calibration == 0 && measure == 0))
    return;
  llvm::errs() << llvm::formatv("time: {0:f1} s", total);
  if (calibration > 0)
    llvm::errs() << llvm::formatv(", {0:f1} s of them for calibration",
                                  calibration);
  if (measure > 0)
    llvm::errs() << llvm::formatv(", {0:f1} s for measuring kernels", measure);
  if (search > 0)
    llvm::errs() << llvm::formatv(", {0:f1} s {1}for the search", search,
                                  calibration > 0 || measure > 0 ? ""
                                                                 : "of them ");
  llvm::errs() << "\n";
}

static int compile(const CommandLine &line) {
  CompilationResult result;
  mlir::DefaultTimingManager timing;
  if (line.timing) {
    timing.setEnabled(true);
    timing.setDisplayMode(mlir::DefaultTimingManager::DisplayMode::Tree);
  }
  mlir::TimingScope timer = timing.getRootScope();
  Console console;
  CompilerCallbacks callbacks = console.callbacks();
  callbacks.timing = &timer;
  llvm::Error error =
      compileModel(line.source, line.options, callbacks, result);
  console.finish();
  int code = error ? report(std::move(error)) : 0;
  llvm::outs() << result.strategyTable;
  llvm::Error failed = writeExports(line, result);
  // The level was written, although the state of its search was not.
  if (!failed && (code == 0 || !result.text.empty()))
    failed = printResults(line, result);
  if (failed) {
    int other = report(std::move(failed));
    code = code ? code : other;
  }
  if (code == 0)
    printSeconds(result);
  return code;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAllTargets();
  int code = 0;
  llvm::Expected<std::optional<CommandLine>> line =
      parseCommandLine(argc, argv, code);
  if (!line) {
    report(line.takeError());
    return 2;
  }
  if (!*line)
    return code;
  code = compile(**line);
  // The streams are checked here, since LLVM would end the program otherwise.
  // Messages that nobody sees are no failure.
  llvm::errs().clear_error();
  llvm::outs().flush();
  if (std::error_code error = llvm::outs().error()) {
    llvm::outs().clear_error();
    printError("expected to write to the standard output, got: " +
               error.message());
    return code == 0 ? 1 : code;
  }
  return code;
}
