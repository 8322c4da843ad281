//===- KernelMeasurer.cpp - Times of a strategy's kernels -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMeasurer.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Search/KernelDescription.h"
#include "soap/Support/JSON.h"
#include "soap/Target/Model/MemoryPlan.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <cmath>

using namespace mlir;
using namespace soap;
namespace fs = llvm::sys::fs;

namespace {
/// Adds the time of its life to some seconds.
class Stopwatch {
public:
  explicit Stopwatch(double &seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(Clock::now() - begun_).count();
  }
  Stopwatch(const Stopwatch &) = delete;

private:
  using Clock = std::chrono::steady_clock;
  double &seconds_;
  Clock::time_point begun_ = Clock::now();
};
} // namespace

/// What changes the kernels that have one key.
static std::string variantOf(const KernelMeasurer::Setting &setting) {
  std::string variant;
  if (!setting.model.winograd)
    variant += "; direct convolutions";
  if (!setting.choices.layouts)
    variant += "; row-major";
  if (setting.choices.followers)
    variant +=
        setting.choices.keepNaN ? "; followers that keep NaN" : "; followers";
  return variant;
}

KernelMeasurer::KernelMeasurer(Setting setting)
    : setting_(std::move(setting)),
      path_(measuredCostsPath(*setting_.target, setting_.devices,
                              setting_.run.coresPerDevice,
                              variantOf(setting_))),
      costs_(setting_.target->getName().str()) {
  // What only soap-run --verify and reports read is left out.
  setting_.model.tiles = false;
  setting_.model.temporaryFile = {};
  setting_.model.simulatedNs.clear();
  setting_.model.simulated.clear();
}

KernelMeasurer::~KernelMeasurer() {
  if (!folder_.empty())
    (void)fs::remove_directories(folder_);
}

llvm::Error KernelMeasurer::open() {
  llvm::SmallString<128> folder;
  if (std::error_code code = fs::createUniqueDirectory("soap-measure", folder))
    return llvm::createStringError(
        "expected to make a folder for what is measured, got: " +
        code.message());
  folder_ = folder.str().str();
  if (!path_.empty()) {
    llvm::Expected<MeasuredCosts> known =
        MeasuredCosts::load(path_, setting_.target->getName());
    // A damaged file is written anew.
    if (known)
      costs_ = std::move(*known);
    else
      llvm::consumeError(known.takeError());
  }
  return writeCosts();
}

void KernelMeasurer::stopKeeping(llvm::Error error) {
  path_.clear();
  keepError_ = llvm::toString(std::move(error));
}

llvm::Error KernelMeasurer::writeCosts() {
  llvm::SmallString<128> path(folder_);
  llvm::sys::path::append(path, "costs-" + Twine(numWritten_++) + ".json");
  costFile_ = path.str().str();
  return writeWholeFile(costFile_, costs_.toJSON());
}

llvm::StringSet<> KernelMeasurer::missing(const OperatorGraph &graph,
                                          const Strategy &strategy) const {
  llvm::StringSet<> result;
  for (const auto &[key, work] : kernelsOf(graph, strategy))
    if (!costs_.kernels().count(key) && !unmet_.contains(key))
      result.insert(key);
  return result;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// From a graph to a compiled model. Errors may be emitted.
static LogicalResult compile(ModuleOp module, const Strategy &strategy,
                             const ModelOptions &options,
                             const LowerChoices &choices, StringRef path) {
  // A step is what is measured.
  if (ModuleOp evaluation = nn::findEvaluation(module))
    evaluation.erase();
  FailureOr<ModuleProblem> problem = readProblem(module);
  if (failed(problem))
    return failure();
  ModelOptions model = options;
  const OperatorGraph &graph = problem->extracted.graph;
  StrategyInfo info;
  info.fingerprint = model.fingerprint = graph.fingerprint;
  info.topology = problem->topology.name;
  model.strategy = toJSON(strategy, graph, info);
  model.machineDevices = static_cast<uint32_t>(problem->topology.numDevices());
  writeStrategy(problem->extracted, strategy, problem->topology);
  PassManager passes(module.getContext());
  buildPartitionPipeline(passes, "");
  buildLowerPipeline(passes, *model.target, choices);
  if (failed(passes.run(module)))
    return failure();
  if (llvm::Error error = planLibraryMemory(module, model))
    return emitError(module.getLoc(), llvm::toString(std::move(error)));
  if (llvm::Error error = checkDeviceMemory(module))
    return emitError(module.getLoc(), llvm::toString(std::move(error)));
  return emitModel(module, model, path);
}

llvm::Expected<std::string> KernelMeasurer::build(ModuleOp graph,
                                                  const Strategy &strategy) {
  Stopwatch watch(statistics_.seconds), compiling(statistics_.compiling);
  llvm::SmallString<128> path(folder_);
  llvm::sys::path::append(path,
                          "model-" + Twine(statistics_.programs++) + ".so");
  std::string reason;
  ScopedDiagnosticHandler diagnostics(
      graph.getContext(), [&](Diagnostic &diagnostic) {
        if (reason.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          reason = diagnostic.str();
      });
  OwningOpRef<ModuleOp> module = graph.clone();
  if (failed(
          compile(*module, strategy, setting_.model, setting_.choices, path)))
    return llvm::createStringError(
        reason.empty() ? "the model cannot be compiled" : reason);
  return path.str().str();
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

llvm::Error KernelMeasurer::time(TimedModel &model, const OperatorGraph &graph,
                                 const Strategy &strategy,
                                 const llvm::StringSet<> &wanted) {
  // What is known to 3% is as good as the machine's own drift; what varies more
  // than that is given up after a while.
  constexpr double spread = 0.03, mostSeconds = 2, patience = 60;
  Stopwatch watch(statistics_.seconds);
  std::unique_ptr<MeasuredCostsLock> lock;
  if (!path_.empty()) {
    auto taken = MeasuredCostsLock::take(path_, patience);
    if (taken)
      lock = std::move(*taken);
    else
      stopKeeping(taken.takeError());
  }
  auto measurement =
      model.timeKernels(wanted, spread, mostSeconds, reference_.get());
  if (!measurement)
    return measurement.takeError();
  MeasuredRun times = comparableTimes(*measurement, costs_);
  MeasuredRun run{times.baseline, times.slowdown, {}};
  for (const auto &[key, work] : kernelsOf(graph, strategy)) {
    auto measured = times.kernels.find(key);
    if (measured == times.kernels.end()) {
      unmet_.insert(key);
      continue;
    }
    statistics_.kernels += !costs_.kernels().count(key);
    run.kernels[key] = {measured->second.ns, work};
  }
  ++statistics_.runs;
  costs_.add(run);
  if (lock) {
    auto all =
        extendMeasuredCosts(*lock, path_, setting_.target->getName(), run);
    if (all)
      costs_ = std::move(*all);
    else
      stopKeeping(all.takeError());
  }
  return writeCosts();
}

llvm::Expected<std::unique_ptr<TimedModel>>
KernelMeasurer::load(ModuleOp graph, const Strategy &strategy) {
  llvm::Expected<std::string> path = build(graph, strategy);
  if (!path)
    return path.takeError();
  Stopwatch watch(statistics_.seconds);
  auto model = TimedModel::load(*path, setting_.run);
  llvm::SmallString<128> weights(*path);
  llvm::sys::path::replace_extension(weights, "safetensors");
  (void)fs::remove(*path);
  (void)fs::remove(weights);
  return model;
}

llvm::Expected<std::unique_ptr<TimedModel>>
KernelMeasurer::measure(ModuleOp module, const OperatorGraph &graph,
                        const Strategy &strategy) {
  llvm::StringSet<> wanted = missing(graph, strategy);
  auto model = load(module, strategy);
  if (!model)
    return model.takeError();
  if (llvm::Error error = time(**model, graph, strategy, wanted))
    return std::move(error);
  return model;
}
