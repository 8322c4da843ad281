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
    : isTerminal_(isatty(STDERR_FILENO)), stageBegun_(steady_clock::now()),
      ticker_([this] { tick(); }) {}

Console::~Console() { finish(); }

void Console::finish() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    isFinished_ = true;
    clearLine();
    signals_.reset();
  }
  finished_.notify_all();
  if (ticker_.joinable())
    ticker_.join();
}

void Console::clearLine() {
  if (isLineShown_)
    llvm::errs() << "\r\033[K";
  isLineShown_ = false;
}

void Console::tick() {
  std::chrono::milliseconds period(isTerminal_ ? 200 : 5000);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!finished_.wait_for(lock, period, [&] { return isFinished_; })) {
    double seconds =
        std::chrono::duration<double>(steady_clock::now() - stageBegun_)
            .count();
    // Short stages would only flicker.
    if (isTerminal_ && seconds < 0.5)
      continue;
    std::string line =
        llvm::formatv("{0}: {1:f1} s", stringify(stage_), seconds);
    if (search_.proposals)
      line = llvm::formatv(
          "{0}: {1} proposals, {2:f1} s, best {3:f3} ms{4} (simulated)",
          stringify(stage_), search_.proposals, search_.seconds,
          static_cast<double>(search_.bestNs) / 1e6,
          search_.lowerBoundNs
              ? llvm::formatv(", at least {0:f3} ms",
                              static_cast<double>(search_.lowerBoundNs) / 1e6)
                    .str()
              : "");
    else if (measuring_)
      line = llvm::formatv("{0}: {1} kernels in {2} runs, {3:f1} s, {4} left",
                           stringify(stage_), measuring_->kernels,
                           measuring_->runs, measuring_->seconds,
                           measuring_->missing);
    clearLine();
    llvm::errs() << line << (isTerminal_ ? "" : "\n");
    isLineShown_ = isTerminal_;
  }
}

void Console::print(Severity severity, llvm::StringRef text) {
  std::lock_guard<std::mutex> lock(mutex_);
  clearLine();
  llvm::errs() << (severity == Severity::Warning ? "warning: " : "") << text
               << "\n";
}

Proceed Console::proceed(const CompilerProgress &progress) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!progress.search && !progress.measuring) { // A stage begins.
    stage_ = progress.stage;
    stageBegun_ = steady_clock::now();
    search_ = {};
    measuring_.reset();
    signals_.reset();
    if (stage_ == Stage::Search || stage_ == Stage::Measure)
      signals_ = std::make_unique<StopSignals>();
    return Proceed::Continue;
  }
  if (progress.search)
    search_ = *progress.search;
  if (progress.measuring)
    measuring_ = *progress.measuring;
  int signal = StopSignals::signal();
  if (!signal)
    return Proceed::Continue;
  if (!signalIsTold_) {
    clearLine();
    llvm::errs() << "search: ended by "
                 << (signal == SIGINT ? "SIGINT" : "SIGTERM") << "\n";
  }
  signalIsTold_ = true;
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
