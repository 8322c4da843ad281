//===- Strategy.cpp - The strategy of a compilation -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace soap;

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

static std::string csvOf(const SearchResult &result) {
  std::string text = "seconds,proposals,best_ns\n";
  for (const SearchProgress &progress : result.history)
    text += llvm::formatv("{0:f6},{1},{2}\n", progress.seconds,
                          progress.proposals, progress.bestNs);
  return text;
}

static llvm::json::Object searchJSON(const SearchResult &result) {
  llvm::json::Object object = toJSON(result.statistics);
  object["wall_seconds"] = result.seconds;
  object["stopped_by"] = stringify(result.stop);
  object["step_ns"] = result.stepNs;
  object["attempts"] = static_cast<int64_t>(result.attempts);
  if (result.sumNs)
    object["sum_ns"] = *result.sumNs;
  if (result.lowerBoundNs)
    object["lower_bound_ns"] = *result.lowerBoundNs;
  if (result.spaceSize)
    object["space"] = *result.spaceSize;
  llvm::json::Array starts;
  for (const auto &[name, stepNs] : result.starts)
    starts.push_back(llvm::json::Object{
        {"name", name},
        {"step_ns",
         stepNs < 0 ? llvm::json::Value(nullptr) : llvm::json::Value(stepNs)}});
  object["starts"] = std::move(starts);
  return object;
}

/// What the search proved, as the end of a sentence, or nothing.
static std::string proofOf(const SearchResult &search) {
  std::string text;
  if (search.sumNs)
    text += llvm::formatv("; least sum of costs {0:f3} ms",
                          static_cast<double>(*search.sumNs) / 1e6);
  if (search.lowerBoundNs && search.stop != StopReason::Proved)
    text += llvm::formatv(
        "; no strategy of the space takes less than {0:f3} ms (gap {1:P1})",
        static_cast<double>(*search.lowerBoundNs) / 1e6,
        static_cast<double>(search.stepNs - *search.lowerBoundNs) /
            static_cast<double>(std::max<int64_t>(1, *search.lowerBoundNs)));
  if (search.spaceSize)
    text +=
        llvm::formatv("; the space has {0:e1} strategies", *search.spaceSize);
  return text;
}

void Compilation::recordSearch(const SearchResult &search) {
  remark(llvm::formatv(
      "search: {0} proposals in {1:f1} s, stopped by {2}; step time {3:f3} ms "
      "(simulated){4}",
      search.proposals, search.seconds,
      search.stop == StopReason::Cancelled
          ? "the user, the best so far is taken"
          : stringify(search.stop),
      static_cast<double>(search.stepNs) / 1e6, proofOf(search)));
  result_.search = searchJSON(search);
  result_.searchLog = csvOf(search);
  if (stateError_.empty())
    stateError_ = search.stateError;
}

StrategyRequest Compilation::requestOf(const std::string &name) {
  StrategyRequest request;
  request.name = name;
  request.schedule = options_.schedule;
  request.algorithm = options_.search;
  request.startAlgorithms = options_.startSearches;
  request.reservedBytes = reserved_;
  SearchOptions &search = request.search;
  search.proposals = options_.proposals;
  search.stagnation = options_.stagnation;
  search.seed = options_.seed;
  search.chains = options_.chains;
  search.choosesBuckets = choosesBuckets();
  search.stateFile = options_.searchState;
  if (options_.searchStarts) {
    search.namedStarts = false;
    search.randomStarts = *options_.searchStarts;
  }
  // The budget is that of all searches together, but a repeated one gets enough
  // time to find something.
  search.budgetSeconds = std::max(options_.budgetSeconds - searchSeconds(),
                                  searches_ > 0 ? options_.budgetSeconds / 10
                                                : options_.budgetSeconds);
  search.progress = [this,
                     ends = false](const SearchProgress &progress) mutable {
    // Other chains may report before they see that the search ends.
    ends = ends || ask({Stage::Search, &progress}) != Proceed::Continue;
    return !ends;
  };
  return request;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

std::string Compilation::strategyName() const {
  if (!options_.strategy.empty() || level_ == Level::Configured)
    return options_.strategy;
  // A lowered module has no topology any more.
  ModuleOp module = unconfigured_ ? *unconfigured_ : *module_;
  return soapir::getTopology(module).getNumDevices() > 1 ? "search" : "single";
}

bool Compilation::choosesBuckets() const {
  return options_.training && !options_.training->bucketBytes;
}

void Compilation::chooseBuckets(ModuleProblem &problem,
                                const Strategy &strategy) {
  OperatorGraph &graph = problem.extracted.graph;
  if (strategy.bucketBytes > 0)
    graph.bucketBytes = strategy.bucketBytes;
  else if (choosesBuckets())
    chooseBucketBytes(graph, usableMachine(problem.topology), problem.costs,
                      strategy);
  else
    return;
  auto bytes =
      IntegerAttr::get(IntegerType::get(&context_, 64), graph.bucketBytes);
  for (auto *module : {&module_, &unconfigured_, &step_})
    if (*module)
      (*module)->lookupSymbol("main")->setAttr(
          soapir::SOAPDialect::getBucketBytesAttrName(), bytes);
}

llvm::Expected<Strategy> Compilation::decideStrategy(ModuleProblem &problem) {
  std::string name = strategyName();
  bool searches = name == "search";
  bool isFound = measuredChoice_.has_value();
  if (llvm::Error error =
          begin(searches && !isFound ? Stage::Search : Stage::Strategy))
    return std::move(error);
  std::optional<TimingScope> scope;
  if (searches && !isFound)
    scope = nest("search");
  Location loc = UnknownLoc::get(module_->getContext());
  std::vector<std::string> mistakes;
  FailureOr<ChosenStrategy> chosen = mlir::failure();
  {
    // Where nothing fits into memory, values may be made again, or less be set
    // aside.
    std::optional<ScopedDiagnosticHandler> handler;
    if (searches && (recomputesAsNeeded() || !reserved_.empty()))
      handler.emplace(&context_, [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return mlir::failure();
        mistakes.push_back(diagnostic.str());
        return mlir::success();
      });
    chosen = isFound ? FailureOr<ChosenStrategy>(std::move(*measuredChoice_))
                     : chooseStrategy(problem, requestOf(name), loc);
    // What is set aside is what the library needed for a strategy that did not
    // fit. Others need less. (Where values may be made again, they are.)
    constexpr int64_t little = int64_t{1} << 20;
    while (failed(chosen) && searches && !recomputesAsNeeded() && !cancelled_ &&
           !reserved_.empty()) {
      mistakes.clear();
      for (auto it = reserved_.begin(); it != reserved_.end();)
        it = (it->second /= 2) < little ? reserved_.erase(it) : std::next(it);
      chosen = chooseStrategy(problem, requestOf(name), loc);
    }
  }
  measuredChoice_.reset();
  if (succeeded(chosen) && (chosen->search || isFound))
    ++searches_;
  if (succeeded(chosen) && chosen->search)
    recordSearch(*chosen->search);
  FailureOr<Strategy> strategy = mlir::failure();
  if (succeeded(chosen)) {
    strategy = std::move(chosen->strategy);
    // What the command line says counts more than a file.
    if (options_.training && options_.training->bucketBytes)
      strategy->bucketBytes = 0;
  }
  if (recomputesAsNeeded() && !cancelled_) {
    if (!searches)
      ++searches_;
    if (llvm::Error error = recomputeAsNeeded(problem, strategy, searches))
      return std::move(error);
  }
  if (failed(strategy)) {
    for (const std::string &text : mistakes)
      emitError(loc, text);
    return emitted(mlir::failure(), Kind::BadInput);
  }
  if (searches && !isFound)
    if (llvm::Error error = begin(Stage::Strategy))
      return std::move(error);
  chooseBuckets(problem, *strategy);
  return std::move(*strategy);
}

llvm::Error Compilation::configure() {
  FailureOr<ModuleProblem> problem = readProblem(*module_, costFile_);
  if (failed(problem))
    return emitted(mlir::failure(), Kind::BadInput);
  // Searches see buckets that suit data parallelism, of which there is most to
  // reduce.
  if (strategyName() == "search")
    chooseBuckets(*problem,
                  dataParallel(problem->extracted.graph, problem->topology));
  if (llvm::Error error = measureCosts(*problem))
    return error;
  llvm::Expected<Strategy> strategy = decideStrategy(*problem);
  if (!strategy)
    return strategy.takeError();
  TimingScope scope = nest("strategy");
  explainIdleDevices(*problem, *strategy);
  checkCosts(*problem, *strategy);
  if (llvm::Error error = describeRecomputation(*problem, *strategy))
    return error;
  describeStrategy(*problem, *strategy);
  checkNeighbours(*problem, *strategy);
  writeStrategy(problem->extracted, *strategy, problem->topology);
  return llvm::Error::success();
}

void Compilation::describeStrategy(const ModuleProblem &problem,
                                   const Strategy &strategy) {
  const OperatorGraph &graph = problem.extracted.graph;
  simulated_ = std::make_unique<SimulatedProgram>(problem, strategy);
  movements_ = {};
  if (options_.movements || makesPrograms())
    movements_ = simulated_->movements();
  StrategyInfo info;
  info.fingerprint = graph.fingerprint;
  info.topology = problem.topology.name;
  info.seed = options_.seed;
  info.simulatedNs = simulated_->stepNs();
  model_.fingerprint = info.fingerprint;
  model_.simulatedNs = {static_cast<uint64_t>(info.simulatedNs)};
  model_.strategy = toJSON(strategy, graph, info);
  result_.simulatedNs = info.simulatedNs;
  result_.strategy = model_.strategy;
  if (options_.movements)
    result_.movements = movements_.json();
  if (options_.strategyTable) {
    result_.strategyTable.clear();
    llvm::raw_string_ostream os(result_.strategyTable);
    printStrategy(os, problem, strategy);
  }
}

llvm::Error Compilation::configureEvaluation() {
  simulatedEvaluation_.reset();
  ModuleOp inner = evaluation();
  if (!inner)
    return llvm::Error::success();
  FailureOr<ModuleProblem> problem = readProblem(inner, costFile_);
  if (failed(problem))
    return emitted(mlir::failure(), Kind::BadInput);
  Strategy strategy = evaluationStrategy(
      simulated_->problem().extracted.graph, simulated_->strategy(),
      problem->extracted.graph, problem->topology);
  // What the model carries has been edited, or comes from here.
  if (strategyName().empty() && isConfigured(problem->extracted)) {
    FailureOr<Strategy> own =
        readStrategy(problem->extracted, problem->topology);
    if (failed(own))
      return emitted(mlir::failure(), Kind::BadInput);
    strategy = std::move(*own);
  }
  if (llvm::Error error =
          verify(strategy, problem->extracted.graph, problem->topology))
    return failedWith("the evaluation program: " +
                      llvm::toString(std::move(error)));
  simulatedEvaluation_ = std::make_unique<SimulatedProgram>(*problem, strategy);
  if (makesPrograms())
    evaluationMovements_ = simulatedEvaluation_->movements();
  model_.simulatedNs.push_back(
      static_cast<uint64_t>(simulatedEvaluation_->stepNs()));
  writeStrategy(problem->extracted, strategy, problem->topology);
  return llvm::Error::success();
}

int64_t Compilation::evaluationNs(const ModuleProblem &step,
                                  const Strategy &strategy,
                                  const ModuleProblem &inner) const {
  TaskGraph tasks(inner.get());
  tasks.setStrategy(evaluationStrategy(step.extracted.graph, strategy,
                                       inner.extracted.graph, inner.topology));
  return FullSimulator(tasks).run().stepNs;
}

/// The largest batch of an operation; 0: none has samples.
static int64_t batchOf(const OperatorGraph &graph) {
  int64_t batch = 0;
  for (const GraphNode &node : graph.nodes())
    for (auto [loop, kind] : llvm::zip(node.spec.loops, node.kinds))
      if (node.role == NodeRole::Compute && kind == LoopKind::Sample)
        batch = std::max(batch, loop.extent);
  return batch;
}

void Compilation::explainIdleDevices(const ModuleProblem &problem,
                                     const Strategy &strategy) {
  const OperatorGraph &graph = problem.extracted.graph;
  size_t used = usedDevices(strategy, graph).size();
  auto all = static_cast<size_t>(problem.topology.numDevices());
  std::string name = strategyName();
  if (used == 0 || used >= all)
    return;
  std::string counts =
      std::to_string(used) + " of " + std::to_string(all) + " devices";
  if (name == "search") {
    StringRef why = "; no strategy that uses more and was tried was faster "
                    "(simulated); --search=mcmc tries others";
    if (options_.search == "optcnn")
      why = "; no choice that uses more has a smaller sum of costs";
    else if (options_.search == "mcmc")
      why = "; no strategy that uses more was faster (simulated)";
    remark("search: the strategy uses " + counts + why);
    return;
  }
  // A user who names devices has decided which ones are used.
  bool isNamed = !name.empty() && !StringRef(name).ends_with(".json");
  if (!isNamed || name == "single" || StringRef(name).starts_with("random"))
    return;
  std::string reason = "the model has too little of what it splits";
  std::string cure = "--strategy=search looks for other ways to split it";
  if (name == "data-parallel") {
    int64_t batch = batchOf(graph);
    reason = batch ? "the batch is " + std::to_string(batch)
                   : "no operation has a batch";
    cure = "give a batch of at least " + std::to_string(all) +
           ", or --strategy=search, which splits other dimensions, too";
  }
  warn("expected --strategy=" + name + " to use all devices, got: " + counts +
       ", as " + reason + "; " + cure);
}

void Compilation::checkCosts(const ModuleProblem &problem,
                             const Strategy &strategy) {
  const OperatorGraph &graph = problem.extracted.graph;
  if (options_.costFile.empty())
    return;
  llvm::SetVector<StringRef> kinds;
  bool knowsKinds = false;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    if (graph.node(id).role != NodeRole::Compute)
      continue;
    const Configuration &config = strategy.configs[id];
    const DeviceKind &kind = problem.topology.kindOf(config.devices.front());
    kinds.insert(kind.name);
    knowsKinds |= problem.costs.wantsKeys(kind);
    if (problem.costs.isMeasured(graph.taskWork(id, config.degrees, 0).key,
                                 kind))
      return;
  }
  if (kinds.empty())
    return;
  warn("expected --cost=" + options_.costFile +
       " to have kernels that the strategy launches on its devices (" +
       llvm::join(kinds, ", ") + "), got: " +
       (knowsKinds ? "none of them; times are estimated from others"
                   : "none of that kind; times are those of the analytic "
                     "model"));
}

bool Compilation::isOptionalRow(StringRef name) const {
  return name == "random" && options_.strategy != name;
}

llvm::Error Compilation::addRow(SmallVectorImpl<StrategyReport> &rows,
                                StringRef name, const ModuleProblem &problem,
                                const Strategy &strategy,
                                const ModuleProblem *inner) {
  StrategyReport row = soap::report(name, strategy, problem.get(),
                                    /*isOptional=*/isOptionalRow(name));
  const ModuleProblem *of = &problem;
  const Strategy *how = &strategy;
  std::unique_ptr<RepeatedStep> step;
  if (recomputesAsNeeded() && row.isExact && !row.fits) {
    auto made = fitByRecomputation(problem, strategy);
    if (!made)
      return made.takeError();
    step = std::move(*made);
    if (step) {
      of = step->problem.get();
      how = &step->strategy;
      row = soap::report(name, *how, of->get());
    }
  }
  if (step_ && row.isExact) {
    llvm::Expected<RecomputationReport> recomputation =
        compareRecomputation(*of, *how);
    if (!recomputation)
      return recomputation.takeError();
    row.numRepeated = static_cast<int32_t>(recomputation->nodes.size());
    row.savedBytes = recomputation->peakBytesBefore - recomputation->peakBytes;
    row.addedNs = recomputation->stepNs - recomputation->stepNsBefore;
  }
  if (inner && row.isExact)
    row.evaluationNs = evaluationNs(*of, *how, *inner);
  rows.push_back(std::move(row));
  return llvm::Error::success();
}

llvm::Error Compilation::report() {
  FailureOr<ModuleProblem> problem = readProblem(*module_, costFile_);
  if (failed(problem))
    return emitted(mlir::failure(), Kind::BadInput);
  std::optional<ModuleProblem> inner;
  if (ModuleOp module = evaluation()) {
    FailureOr<ModuleProblem> read = readProblem(module, costFile_);
    if (failed(read))
      return emitted(mlir::failure(), Kind::BadInput);
    inner.emplace(std::move(*read));
  }
  if (llvm::Error error = measureCosts(*problem))
    return error;
  LowerBound bound = lowerBound(problem->get());
  SmallVector<StrategyReport> rows;
  StringRef chosen(options_.strategy);
  bool isListed = false;
  for (const NamedStrategy &named : namedStrategies()) {
    if (!named.isListed ||
        (named.isOfUpdates && problem->get().graph.numUpdates() == 0))
      continue;
    Strategy strategy =
        named.make(problem->get(), /*devices=*/0, options_.seed);
    if (!isOptionalRow(named.name))
      chooseBuckets(*problem, strategy);
    if (llvm::Error error = addRow(rows, named.name, *problem, strategy,
                                   inner ? &*inner : nullptr))
      return error;
    if (chosen == named.name) {
      isListed = true;
      describeStrategy(*problem, strategy);
      checkNeighbours(*problem, strategy);
    }
  }
  if (!isListed) {
    chooseBuckets(*problem,
                  dataParallel(problem->extracted.graph, problem->topology));
    llvm::Expected<Strategy> strategy = decideStrategy(*problem);
    if (!strategy)
      return strategy.takeError();
    if (llvm::Error error = describeRecomputation(*problem, *strategy))
      return error;
    describeStrategy(*problem, *strategy);
    checkNeighbours(*problem, *strategy);
    if (chosen.empty() && level_ == Level::Configured)
      chosen = "model";
    else if (chosen.empty() || chosen == "search")
      chosen = "found";
    else
      chosen = llvm::sys::path::filename(chosen);
    if (llvm::Error error = addRow(rows, chosen, *problem, *strategy,
                                   inner ? &*inner : nullptr))
      return error;
  }
  result_.report = reportJSON(rows, bound);
  llvm::raw_string_ostream os(result_.text);
  printReport(os, rows, bound, chosen);
  llvm::json::Object products;
  SmallVector<std::string> counts;
  FailureOr<func::FuncOp> main = getMainFunction(*module_);
  if (failed(main))
    return emitted(mlir::failure(), Kind::BadInput);
  for (auto [precision, count] : nn::countPrecisions(*main)) {
    products[stringify(precision)] = count;
    counts.push_back(
        llvm::formatv("{0} of {1}", count, stringify(precision)).str());
  }
  if (!counts.empty())
    os << "products: " << llvm::join(counts, ", ") << "\n";
  (*result_.report)["products"] = std::move(products);
  return llvm::Error::success();
}
