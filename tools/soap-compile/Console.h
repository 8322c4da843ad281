//===- Console.h - What soap-compile says on its way ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPCOMPILE_CONSOLE_H
#define SOAP_TOOLS_SOAPCOMPILE_CONSOLE_H

#include "soap/Compiler/Compiler.h"
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace soap {

/// Prints one `error: …` line, or several.
void printError(const llvm::Twine &message);

class StopSignals;

/// Standard error while a model is compiled: messages, and where the
/// compilation is, in one line of a terminal that is written again and again,
/// else in a line every few seconds. While a search runs, the first SIGINT or
/// SIGTERM ends the search alone; the next one does what it did before.
class Console {
public:
  Console();
  ~Console();
  Console(const Console &) = delete;
  Console &operator=(const Console &) = delete;

  /// They refer to this object.
  CompilerCallbacks callbacks();
  /// Stops showing progress.
  void finish();

private:
  void print(Severity severity, llvm::StringRef text);
  Proceed proceed(const CompilerProgress &progress);
  /// Shows where the compilation is, until finish().
  void tick();
  /// Removes the line from a terminal. Needs the mutex.
  void clearLine();

  const bool isTerminal_;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool isFinished_ = false, isLineShown_ = false;
  Stage stage_ = Stage::Import;
  std::chrono::steady_clock::time_point stageBegun_;
  SearchProgress search_; ///< The last of the stage; 0 proposals: none yet.
  std::optional<MeasureProgress> measuring_; ///< The last of the stage.
  /// While a search runs, or what it needs is measured.
  std::unique_ptr<StopSignals> signals_;
  bool signalIsTold_ = false;
  std::thread ticker_;
};

} // namespace soap

#endif // SOAP_TOOLS_SOAPCOMPILE_CONSOLE_H
