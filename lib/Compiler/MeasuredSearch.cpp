//===- MeasuredSearch.cpp - Searching on measured costs -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches and measurements take turns: a search runs on what is known, the
// kernels of what it found are measured, until a search finds what rests on
// measured costs alone.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Search/LaunchPolicy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace soap;

/// Seconds of searches and measurements so far, which share a budget.
double Compilation::searchSeconds() const {
  auto now = std::chrono::steady_clock::now();
  double running =
      stage_ == Stage::Search || stage_ == Stage::Measure
          ? std::chrono::duration<double>(now - stageBegun_).count()
          : 0;
  return result_.seconds[static_cast<size_t>(Stage::Search)] +
         result_.seconds[static_cast<size_t>(Stage::Measure)] + running;
}

llvm::Error Compilation::openMeasurer(const ModuleProblem &problem) {
  if (measurer_)
    return llvm::Error::success();
  KernelMeasurer::Setting setting;
  setting.target = &target_;
  setting.model = model_;
  setting.choices = lowerChoices();
  setting.devices = problem.topology.numDevices();
  setting.run = {options_.coresPerDevice, options_.link};
  measurer_ = std::make_unique<KernelMeasurer>(std::move(setting));
  return measurer_->open();
}

llvm::Error Compilation::takeMeasuredCosts(ModuleProblem &problem) {
  costFile_ = measurer_->costFile();
  FailureOr<CostModel> costs = readCosts(*module_, costFile_);
  if (failed(costs))
    return emitted(mlir::failure(), Kind::Failed);
  problem.costs = std::move(*costs);
  return llvm::Error::success();
}

void Compilation::simulate(const ModuleProblem &problem,
                           Candidate &candidate) const {
  // The machine with what is set aside: see planMemory().
  Topology machine = usableMachine(problem.topology);
  TaskGraph tasks({problem.extracted.graph, machine, problem.costs});
  tasks.setStrategy(candidate.strategy);
  candidate.stepNs = FullSimulator(tasks).stepNs();
  candidate.fits = tasks.fitsMemory();
  candidate.missing = static_cast<int32_t>(
      measurer_->missing(problem.extracted.graph, candidate.strategy).size());
}

std::vector<Candidate>
Compilation::namedCandidates(const ModuleProblem &problem) const {
  std::vector<Candidate> candidates;
  for (const NamedStrategy &named : namedStrategies()) {
    if (!named.isListed || named.name == "random" ||
        (named.isOfUpdates && problem.get().graph.numUpdates() == 0))
      continue;
    Candidate candidate;
    candidate.name = named.name.str();
    candidate.strategy = named.make(problem.get(), 0, options_.seed);
    bool isKnown = llvm::any_of(candidates, [&](const Candidate &other) {
      return other.strategy == candidate.strategy;
    });
    if (!isKnown)
      candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::pair<double, double> Compilation::memoryOf(const ModuleProblem &problem,
                                                const Strategy &strategy) {
  TaskGraph tasks(problem.get());
  tasks.setStrategy(strategy);
  double needed = 0, there = 0;
  for (int64_t bytes : tasks.peakMemory())
    needed += static_cast<double>(bytes);
  for (int32_t id = 0; id < problem.topology.numDevices(); ++id)
    there += static_cast<double>(problem.topology.device(id).memoryBytes);
  return {needed, there};
}

bool Compilation::canBeReference(const ModuleProblem &problem,
                                 const Strategy &strategy) {
  constexpr double mostShare = 0.25;
  auto [needed, there] = memoryOf(problem, strategy);
  return there == 0 || needed <= mostShare * there;
}

void Compilation::loadReference(const ModuleProblem &problem) {
  std::vector<Candidate> known = namedCandidates(problem);
  for (Candidate &candidate : known)
    simulate(problem, candidate);
  llvm::erase_if(known, [&](const Candidate &candidate) {
    return !candidate.fits || candidate.missing > 0 ||
           !canBeReference(problem, candidate.strategy);
  });
  auto best =
      llvm::min_element(known, [](const Candidate &a, const Candidate &b) {
        return a.stepNs < b.stepNs;
      });
  if (best == known.end())
    return;
  auto model = measurer_->load(*module_, best->strategy);
  // The first step touches the memory. Without a reference, kernels are
  // measured nevertheless.
  if (!model)
    return llvm::consumeError(model.takeError());
  if (llvm::Expected<int64_t> ns = (*model)->step(); !ns)
    return llvm::consumeError(ns.takeError());
  setReference(*best, std::move(*model));
}

void Compilation::setReference(const Candidate &candidate,
                               std::unique_ptr<TimedModel> model) {
  measurer_->setReference(std::move(model));
  referenceName_ = candidate.name;
}

llvm::Error Compilation::measureAll(ModuleProblem &problem,
                                    std::vector<Candidate> &candidates,
                                    double untilSeconds) {
  if (llvm::Error error = begin(Stage::Measure))
    return error;
  std::vector<bool> tried(candidates.size());
  bool isFirst = true;
  double last = 0; // Seconds of the last strategy.
  for (;;) {
    // The best strategy first, as far as it is known.
    Candidate *next = nullptr;
    MeasureProgress progress;
    for (auto [index, candidate] : llvm::enumerate(candidates)) {
      simulate(problem, candidate);
      progress.missing += tried[index] ? 0 : candidate.missing;
      if (!tried[index] && candidate.fits && candidate.missing > 0 &&
          (!next || candidate.stepNs < next->stepNs))
        next = &candidate;
    }
    progress.kernels = measurer_->statistics().kernels;
    progress.runs = measurer_->statistics().runs;
    progress.seconds = measurer_->statistics().seconds;
    CompilerProgress report;
    report.stage = Stage::Measure;
    report.measuring = &progress;
    if (ask(report) != Proceed::Continue) {
      searchEnded_ = true;
      return llvm::Error::success();
    }
    double begun = searchSeconds();
    if (!next || begun + last > untilSeconds)
      return llvm::Error::success();
    if (std::exchange(isFirst, false) && !measurer_->hasReference())
      loadReference(problem);
    tried[next - candidates.data()] = true;
    auto model =
        measurer_->measure(*module_, problem.extracted.graph, next->strategy);
    if (!model)
      warn("expected to measure strategy '" + next->name +
           "', got: " + llvm::toString(model.takeError()) +
           "; its kernels keep analytic costs");
    else if (!measurer_->hasReference() &&
             canBeReference(problem, next->strategy))
      setReference(*next, std::move(*model));
    if (llvm::Error error = takeMeasuredCosts(problem))
      return error;
    last = searchSeconds() - begun;
  }
}

/// Some strategy of `candidates` that is as good as any: the fastest one in
/// simulation of those that rest on measured costs alone, if there are any.
static Candidate *bestOf(std::vector<Candidate> &candidates) {
  Candidate *best = nullptr;
  auto rank = [](const Candidate &candidate) {
    return std::pair(candidate.missing > 0, candidate.stepNs);
  };
  for (Candidate &candidate : candidates)
    if (candidate.fits && (!best || rank(candidate) < rank(*best)))
      best = &candidate;
  return best;
}

FailureOr<ChosenStrategy>
Compilation::searchAgain(const ModuleProblem &problem,
                         const StrategyRequest &request) {
  std::optional<ScopedDiagnosticHandler> handler;
  if (recomputesAsNeeded())
    handler.emplace(&context_, [](Diagnostic &diagnostic) {
      return success(diagnostic.getSeverity() == DiagnosticSeverity::Error);
    });
  return chooseStrategy(problem, request, UnknownLoc::get(&context_));
}

llvm::Error Compilation::searchMeasured(ModuleProblem &problem,
                                        std::vector<Candidate> &named) {
  constexpr int mostRounds = 12;
  std::vector<Candidate> found;
  std::optional<SearchResult> last;
  for (int round = 0; round < mostRounds && !searchEnded_; ++round) {
    double left = options_.budgetSeconds - searchSeconds();
    if (round > 0 && left <= 0)
      break;
    if (llvm::Error error = begin(Stage::Search))
      return error;
    StrategyRequest request = requestOf("search");
    // What is left of the budget serves this search, the measurements behind
    // it, and the rounds after them.
    request.search.budgetSeconds =
        std::max(left / (round == 0 ? 2 : 3), options_.budgetSeconds / 20);
    for (const Candidate &candidate : found)
      request.search.starts.push_back(candidate.strategy);
    FailureOr<ChosenStrategy> chosen = searchAgain(problem, request);
    if (failed(chosen) && !recomputesAsNeeded())
      return emitted(mlir::failure(), Kind::BadInput);
    // Nothing fits into memory unless values are made again, or nothing
    // computes.
    if (failed(chosen) || !chosen->search)
      return llvm::Error::success();
    searchEnded_ |= chosen->search->stop == StopReason::Cancelled;
    last = std::move(chosen->search);
    Candidate candidate;
    candidate.name = "found";
    candidate.strategy = std::move(chosen->strategy);
    simulate(problem, candidate);
    bool isMeasured = candidate.missing == 0;
    found.push_back(std::move(candidate));
    if (isMeasured || searchEnded_)
      break;
    if (llvm::Error error = measureAll(problem, found, options_.budgetSeconds))
      return error;
    simulate(problem, found.back());
    // What could not be measured stays as it is.
    if (found.back().missing > 0)
      break;
  }
  llvm::append_range(found, named);
  for (Candidate &candidate : found)
    simulate(problem, candidate);
  Candidate *best = bestOf(found);
  if (!best)
    return llvm::Error::success();
  // Whoever ends the measurements gets the best named strategy.
  if (last) {
    last->strategy = best->strategy;
    last->stepNs = best->stepNs;
  }
  measuredChoice_ = ChosenStrategy{best->strategy, std::move(last)};
  if (!options_.schedule.empty())
    measuredChoice_->strategy.order =
        launchOrder(options_.schedule, problem.get(), best->strategy);
  return llvm::Error::success();
}

bool Compilation::measuresCosts(const ModuleProblem &problem) const {
  if (options_.measureCosts || options_.tuneSeconds)
    return options_.measureCosts.value_or(true);
  // Seconds of measuring are worth it where there is something to choose.
  return isCalibrated_ && problem.topology.numDevices() > 1 &&
         strategyName() == "search" && options_.costFile.empty() &&
         options_.proposals == 0 && options_.searchState.empty();
}

llvm::Error Compilation::measureCosts(ModuleProblem &problem) {
  if (!measuresCosts(problem))
    return llvm::Error::success();
  measuredChoice_.reset();
  TimingScope scope = nest("measure");
  if (llvm::Error error = begin(Stage::Measure))
    return error;
  if (llvm::Error error = openMeasurer(problem)) {
    std::string reason = llvm::toString(std::move(error));
    if (options_.measureCosts || options_.tuneSeconds)
      return failedWith(reason);
    warn(reason + "; going on with the analytic model");
    return llvm::Error::success();
  }
  if (llvm::Error error = takeMeasuredCosts(problem))
    return error;
  std::string name = strategyName();
  bool searches = name == "search";
  std::vector<Candidate> candidates;
  if (searches || options_.emit == Emit::Report) {
    candidates = namedCandidates(problem);
  } else {
    FailureOr<ChosenStrategy> chosen =
        chooseStrategy(problem, requestOf(name), UnknownLoc::get(&context_));
    if (failed(chosen))
      return emitted(mlir::failure(), Kind::BadInput);
    Candidate candidate;
    candidate.name = name.empty() ? "model" : name;
    candidate.strategy = std::move(chosen->strategy);
    candidates.push_back(std::move(candidate));
  }
  // Half of the budget is the search's.
  double share = searches ? 0.5 : 1;
  if (llvm::Error error =
          measureAll(problem, candidates,
                     searchSeconds() + share * options_.budgetSeconds))
    return error;
  if (searches)
    if (llvm::Error error = searchMeasured(problem, candidates))
      return error;
  if (measuredChoice_ && (options_.tuneSeconds || !searchEnded_))
    if (llvm::Error error = tune(problem, candidates))
      return error;
  measurer_->setReference(nullptr);
  describeMeasuring(problem, candidates);
  return llvm::Error::success();
}

void Compilation::describeMeasuring(const ModuleProblem &problem,
                                    llvm::ArrayRef<Candidate> candidates) {
  const KernelMeasurer::Statistics &done = measurer_->statistics();
  auto missingOf = [&](const Strategy &strategy) {
    return static_cast<int32_t>(
        measurer_->missing(problem.extracted.graph, strategy).size());
  };
  int32_t missing = measuredChoice_ ? missingOf(measuredChoice_->strategy) : 0;
  for (const Candidate &candidate : candidates)
    missing += measuredChoice_ ? 0 : missingOf(candidate.strategy);
  remark(llvm::formatv(
      "costs: {0} kernels measured in {1} runs, {2:f1} s; {3} known{4}",
      done.kernels, done.runs, done.seconds, problem.costs.numMeasured(),
      missing ? llvm::formatv("; {0} kernels in question were not measured",
                              missing)
                    .str()
              : ""));
  if (!measurer_->keepError().empty())
    warn(measurer_->keepError() +
         "; what was measured serves this compilation alone");
  llvm::json::Array classes;
  for (const ClassError &error :
       problem.costs.classErrors(problem.topology.kindOf(0)))
    classes.push_back(
        llvm::json::Object{{"class", error.name},
                           {"kernels", static_cast<int64_t>(error.count)},
                           {"analytic_error", error.analytic},
                           {"leave_one_out_error", error.leaveOneOut}});
  result_.costs = llvm::json::Object{
      {"file", measurer_->path()},
      {"measured", done.kernels},
      {"runs", done.runs},
      {"reference", referenceName_},
      {"wall_seconds", done.seconds},
      {"known", static_cast<int64_t>(problem.costs.numMeasured())},
      {"missing", missing},
      {"classes", std::move(classes)}};
}
