//===- Console.cpp - What soap-compile says on its way --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Console.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <unistd.h>

using namespace soap;
using std::chrono::steady_clock;

void soap::printError(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
}

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

namespace soap {
/// While it lives, the first SIGINT or SIGTERM is noted. The next one does what
/// it did before, which ends the program.
class StopSignals {
public:
  StopSignals() {
    received = 0;
    for (auto [number, before] : llvm::zip_equal(numbers, before_)) {
      struct sigaction action = {};
      action.sa_handler = [](int signal) { received = signal; };
      action.sa_flags = SA_RESETHAND;
      sigemptyset(&action.sa_mask);
      sigaction(number, &action, &before);
    }
  }
  ~StopSignals() {
    for (auto [number, before] : llvm::zip_equal(numbers, before_))
      sigaction(number, &before, nullptr);
  }
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  static int signal() { return received; }

private:
  static constexpr int numbers[] = {SIGINT, SIGTERM};
  static volatile std::sig_atomic_t received;
  struct sigaction before_[2];
};
volatile std::sig_atomic_t StopSignals::received = 0;
} // namespace soap

//===----------------------------------------------------------------------===//
// Messages and progress
//===----------------------------------------------------------------------===//

Console::Console()
    : isTerminal(isatty(STDERR_FILENO)), stageBegun(steady_clock::now()),
      ticker([this] { tick(); }) {}

Console::~Console() { finish(); }

void Console::finish() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isFinished = true;
    clearLine();
    signals.reset();
  }
  finished.notify_all();
  if (ticker.joinable())
    ticker.join();
}

void Console::clearLine() {
  if (isLineShown)
    llvm::errs() << "\r\033[K";
  isLineShown = false;
}

void Console::tick() {
  std::chrono::milliseconds period(isTerminal ? 200 : 5000);
  std::unique_lock<std::mutex> lock(mutex);
  while (!finished.wait_for(lock, period, [&] { return isFinished; })) {
    double seconds =
        std::chrono::duration<double>(steady_clock::now() - stageBegun).count();
    // Short stages would only flicker.
    if (isTerminal && seconds < 0.5)
      continue;
    std::string line =
        llvm::formatv("{0}: {1:f1} s", stringify(stage), seconds);
    if (search.proposals)
      line = llvm::formatv(
          "{0}: {1} proposals, {2:f1} s, best {3:f3} ms (simulated)",
          stringify(stage), search.proposals, search.seconds,
          static_cast<double>(search.bestNs) / 1e6);
    clearLine();
    llvm::errs() << line << (isTerminal ? "" : "\n");
    isLineShown = isTerminal;
  }
}

void Console::print(Severity severity, llvm::StringRef text) {
  std::lock_guard<std::mutex> lock(mutex);
  clearLine();
  llvm::errs() << (severity == Severity::Warning ? "warning: " : "") << text
               << "\n";
}

Proceed Console::proceed(const CompilerProgress &progress) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!progress.search) { // A stage begins.
    stage = progress.stage;
    stageBegun = steady_clock::now();
    search = {};
    signals.reset();
    if (stage == Stage::Search)
      signals = std::make_unique<StopSignals>();
    return Proceed::Continue;
  }
  search = *progress.search;
  int signal = StopSignals::signal();
  if (!signal)
    return Proceed::Continue;
  if (!signalIsTold) {
    clearLine();
    llvm::errs() << "search: ended by "
                 << (signal == SIGINT ? "SIGINT" : "SIGTERM") << "\n";
  }
  signalIsTold = true;
  return Proceed::EndSearch;
}

CompilerCallbacks Console::callbacks() {
  CompilerCallbacks callbacks;
  callbacks.message = [this](Severity severity, llvm::StringRef text) {
    print(severity, text);
  };
  callbacks.progress = [this](const CompilerProgress &progress) {
    return proceed(progress);
  };
  callbacks.temporaryFile = [](llvm::StringRef path, bool exists) {
    if (exists)
      (void)llvm::sys::RemoveFileOnSignal(path);
    else
      llvm::sys::DontRemoveFileOnSignal(path);
  };
  return callbacks;
}
