//===- StrategySearch.cpp - The search of soap-compile --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "soap/Transforms/StrategyIR.h"
#include "llvm/Support/FormatVariadic.h"
#include <csignal>
#include <unistd.h>

using namespace mlir;
using namespace soap;

namespace {
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

std::string csvOf(const SearchResult &result) {
  std::string text = "seconds,proposals,best_ns\n";
  for (const SearchProgress &progress : result.history)
    text += llvm::formatv("{0:f6},{1},{2}\n", progress.seconds,
                          progress.proposals, progress.bestNs);
  return text;
}
} // namespace

static llvm::json::Object searchJSON(const SearchResult &result) {
  llvm::json::Object object = toJSON(result.statistics);
  object["wall_seconds"] = result.seconds;
  object["stopped_by"] = stringify(result.stop);
  object["step_ns"] = result.stepNs;
  llvm::json::Array starts;
  for (const auto &[name, stepNs] : result.starts)
    starts.push_back(llvm::json::Object{
        {"name", name},
        {"step_ns",
         stepNs < 0 ? llvm::json::Value(nullptr) : llvm::json::Value(stepNs)}});
  object["starts"] = std::move(starts);
  return object;
}

llvm::Expected<Strategy>
Compilation::searchStrategy(const ModuleProblem &problem) {
  TimingScope scope = timer.nest("search");
  ++searches;
  Topology machine = problem.topology;
  for (auto [device, bytes] : reserved)
    machine.reserveMemory(device, bytes);
  SearchOptions options;
  options.budgetSeconds = line.budgetSeconds;
  options.proposals = line.proposals;
  options.stagnation = line.stagnation;
  options.seed = line.seed;
  options.stateFile = line.searchState;
  if (line.searchStarts) {
    options.namedStarts = false;
    options.randomStarts = *line.searchStarts;
  }
  if (level == Level::Configured) {
    FailureOr<Strategy> own = readStrategy(problem.extracted, problem.topology);
    if (failed(own))
      return llvm::createStringError(
          "expected configurations that can be a start of the search; correct "
          "them, or remove them all");
    options.starts.push_back(std::move(*own));
  }
  bool terminal = isatty(STDERR_FILENO);
  options.progress = [&](const SearchProgress &progress) {
    if (terminal)
      llvm::errs() << llvm::formatv(
          "\rsearch: {0} proposals, {1:f1} s, best {2:f3} ms (simulated) ",
          progress.proposals, progress.seconds, progress.bestNs / 1e6);
    return StopSignals::signal() == 0;
  };
  std::optional<StopSignals> signals(std::in_place);
  llvm::Expected<SearchResult> result =
      createSearchAlgorithm(line.search)
          ->run({problem.extracted.graph, machine, problem.costs}, options);
  int signal = StopSignals::signal();
  signals.reset();
  if (terminal)
    llvm::errs() << "\r\033[K";
  if (!result)
    return result.takeError();
  llvm::errs() << llvm::formatv(
      "search: {0} proposals in {1:f1} s, stopped by {2}; step time {3:f3} ms "
      "(simulated)\n",
      result->proposals, result->seconds,
      signal == SIGINT    ? "SIGINT, the best so far is taken"
      : signal == SIGTERM ? "SIGTERM, the best so far is taken"
                          : stringify(result->stop),
      result->stepNs / 1e6);
  if (!result->stateError.empty())
    llvm::errs() << "warning: " << result->stateError
                 << "; the search cannot be resumed\n";
  searchReport = searchJSON(*result);
  if (!line.searchLog.empty() && !writeText(line.searchLog, csvOf(*result)))
    return llvm::createStringError("the log of the search is missing");
  return std::move(result->strategy);
}
