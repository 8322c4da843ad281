//===- Options.cpp - What the compiler is asked for -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Compiler/Options.h"
#include "Diagnostics.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/Strategy.h"
#include "soap/Target/Model/Model.h"
#include "soap/Target/TargetRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace soap;
namespace fs = llvm::sys::fs;

static constexpr std::pair<Emit, llvm::StringLiteral> emitNames[] = {
    {Emit::SharedObject, "so"},   {Emit::NN, "nn"},
    {Emit::Strategy, "strategy"}, {Emit::SOAP, "soap"},
    {Emit::SOAPRT, "soaprt"},     {Emit::LLVM, "llvm"},
    {Emit::Report, "report"},     {Emit::Topology, "topology"}};

llvm::StringRef soap::stringify(Emit emit) {
  for (const auto &[level, name] : emitNames)
    if (level == emit)
      return name;
  llvm_unreachable("every level has a name");
}

std::optional<Emit> soap::parseEmit(llvm::StringRef name) {
  for (const auto &[level, known] : emitNames)
    if (known == name)
      return level;
  return std::nullopt;
}

static llvm::Error checkModel(const ModelSource &source,
                              const CompilerOptions &options) {
  llvm::StringRef model(source.path);
  if (options.emit == Emit::Topology) {
    if (!model.empty())
      return badInput("expected --emit=topology without a model, got: '" +
                      model + "'; leave it out");
    if (!options.devices && options.topology.empty())
      return badInput("expected --topology or --devices with --emit=topology, "
                      "got: neither; say which machine to print");
    return llvm::Error::success();
  }
  if (model.empty())
    return badInput("expected a model, got: none; soap-compile --help lists "
                    "the options");
  if (!model.ends_with(".onnx") && !model.ends_with(".mlir"))
    return badInput("expected a model called *.onnx or *.mlir, got: '" + model +
                    "'");
  if (!source.contents && !fs::exists(model))
    return badInput("expected a model, got: '" + model +
                    "', which does not exist");
  const ONNXImportOptions &import = options.import;
  if (model.ends_with(".mlir") &&
      (import.batch || !import.dims.empty() || !import.batchDims.empty() ||
       !import.bindings.empty() || import.padSelections))
    return badInput("expected --batch, --dim, --batch-dim, --bind and "
                    "--pad-selections with a model called *.onnx, got: '" +
                    model + "', whose shapes are fixed; leave them out");
  return llvm::Error::success();
}

llvm::Error soap::checkOutputFolder(llvm::StringRef option,
                                    llvm::StringRef path) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty() && !fs::is_directory(folder))
    return badInput("expected " + option + " in a folder that exists, got: '" +
                    path + "'; create '" + folder + "'");
  if (fs::access(folder.empty() ? "." : folder, fs::AccessMode::Write))
    return badInput("expected " + option +
                    " in a folder that can be written, got: '" + path +
                    "'; choose another one");
  return llvm::Error::success();
}

static llvm::Error checkOutput(const CompilerOptions &options) {
  if (options.prove &&
      (options.emit == Emit::Topology || options.emit == Emit::NN ||
       options.emit == Emit::Report))
    return badInput("expected --prove with a strategy that is compiled, got: "
                    "--emit=" +
                    stringify(options.emit) + "; leave one of them out");
  llvm::StringRef output(options.output);
  if (output.empty())
    return llvm::Error::success();
  if (options.emit == Emit::SharedObject && !output.ends_with(".so"))
    return badInput("expected -o to name a shared library (*.so), got: '" +
                    output + "'");
  return checkOutputFolder("-o", output);
}

static llvm::Error checkMachine(const CompilerOptions &options) {
  llvm::Expected<std::unique_ptr<Target>> target =
      createTarget(options.target, {options.processor});
  if (!target)
    return badInput(target.takeError());
  if (options.devices && *options.devices < 1)
    return badInput("expected --devices of at least 1, got: " +
                    llvm::Twine(*options.devices));
  if (options.devices && *options.devices > maxLocalDevices)
    return badInput("expected --devices of at most " +
                    llvm::Twine(maxLocalDevices) +
                    ", got: " + llvm::Twine(*options.devices) +
                    "; describe larger machines with --topology");
  if (options.coresPerDevice < 0)
    return badInput("expected --cores-per-device of at least 1, got: " +
                    llvm::Twine(options.coresPerDevice));
  if (options.calibration != "auto" && options.calibration != "none" &&
      !fs::exists(options.calibration))
    return badInput("expected --calibration=auto, none or a file, got: '" +
                    options.calibration + "', which does not exist");
  if (options.devices && !options.topology.empty())
    return badInput("expected --devices or --topology, got: both; leave "
                    "--devices out");
  if (options.link && !options.topology.empty())
    return badInput("expected --link with --devices, got: --topology, which "
                    "describes the links; leave --link out");
  if (!options.costFile.empty() && !fs::exists(options.costFile))
    return badInput("expected --cost=analytic, measured or a file, got: '" +
                    options.costFile +
                    "', which does not exist; soap-run --profile-ops writes "
                    "one");
  return llvm::Error::success();
}

static llvm::Error checkPrecision(const CompilerOptions &options) {
  std::optional<Precision> precision = symbolize<Precision>(options.precision);
  if (!precision || *precision == Precision::I8)
    return badInput("expected --precision=f32, tf32, bf16 or f16, got: '" +
                    options.precision + "'");
  // What is printed as operations of the nn dialect is for any target.
  if (options.emit == Emit::NN || options.emit == Emit::Topology)
    return llvm::Error::success();
  llvm::Expected<std::unique_ptr<Target>> target =
      createTarget(options.target, {options.processor});
  if (!target)
    return badInput(target.takeError());
  if (llvm::Error error = (*target)->checkPrecision(*precision))
    return badInput(std::move(error));
  return llvm::Error::success();
}

static llvm::Error checkMeasuring(const CompilerOptions &options) {
  bool measures = options.measureCosts.value_or(options.tuneSeconds &&
                                                options.costFile.empty());
  if (measures && !options.topology.empty())
    return badInput("expected --cost=measured with devices of this machine, "
                    "got: --topology; give --devices, or a file with --cost");
  if (measures && !options.costFile.empty())
    return badInput("expected --cost=measured or a file, got: both");
  if (measures && !options.searchState.empty())
    return badInput("expected --search-state with costs that stay the same, "
                    "got: --cost=measured; give a file with --cost");
  if (!options.tuneSeconds)
    return llvm::Error::success();
  if (!(*options.tuneSeconds > 0) || !std::isfinite(*options.tuneSeconds))
    return badInput("expected --tune above 0 seconds, got: " +
                    llvm::Twine(std::to_string(*options.tuneSeconds)));
  if (!measures)
    return badInput("expected --tune with --cost=measured, got: other costs; "
                    "leave one of them out");
  if (!options.strategy.empty() && options.strategy != "search")
    return badInput("expected --tune with --strategy=search, got: '" +
                    options.strategy + "'; leave one of them out");
  return llvm::Error::success();
}

static llvm::Error checkStrategy(const CompilerOptions &options) {
  llvm::StringRef strategy(options.strategy);
  bool isNamed = llvm::any_of(namedStrategies(), [&](const auto &named) {
    return strategy == named.name;
  });
  if (strategy.ends_with(".json")) {
    if (!fs::exists(strategy))
      return badInput("expected a strategy file, got: '" + strategy +
                      "', which does not exist; --export-strategy writes one");
  } else if (!strategy.empty() && strategy != "search" && !isNamed) {
    return badInput("expected --strategy=" +
                    namedStrategyNames({"search", "a .json file"}) +
                    ", got: '" + strategy + "'");
  }
  if (!options.schedule.empty() && !isLaunchPolicy(options.schedule))
    return badInput(
        "expected --schedule=" + llvm::join(launchPolicyNames(), " or ") +
        ", got: '" + options.schedule + "'");
  if (!createSearchAlgorithm(options.search))
    return badInput(
        "expected --search=" + llvm::join(searchAlgorithmNames(), " or ") +
        ", or best: and some of them separated by commas, got: '" +
        options.search + "'");
  if (!options.startSearches.empty() &&
      !createSearchAlgorithm(options.search, options.startSearches))
    return badInput(
        "expected --start=" + llvm::join(searchAlgorithmNames(), " or ") +
        ", or several of them separated by commas, got: '" +
        options.startSearches + "'");
  if (!options.searchState.empty() &&
      !createSearchAlgorithm(options.search)->keepsState())
    return badInput("expected --search-state with --search=mcmc, got: '" +
                    options.search + "', which keeps no state");
  if (!options.strategy.empty() && options.strategy != "search") {
    // Limits may stand in a command for all strategies.
    const std::pair<const char *, bool> ofSearches[] = {
        {"--search", options.search != CompilerOptions().search},
        {"--start", !options.startSearches.empty()},
        {"--random-starts", options.searchStarts.has_value()},
        {"--chains", options.chains != CompilerOptions().chains},
        {"--search-state", !options.searchState.empty()}};
    for (const auto &[option, isGiven] : ofSearches)
      if (isGiven)
        return badInput("expected " + llvm::Twine(option) +
                        " with --strategy=search, got: '" + options.strategy +
                        "', which searches nothing");
  }
  if (!(options.budgetSeconds > 0) || !std::isfinite(options.budgetSeconds))
    return badInput("expected --budget above 0, got: " +
                    llvm::Twine(std::to_string(options.budgetSeconds)));
  if (options.searchStarts && *options.searchStarts < 1)
    return badInput("expected --random-starts of at least 1, got: " +
                    llvm::Twine(*options.searchStarts));
  if (options.unrollRNN < 0)
    return badInput("expected --unroll-rnn of at least 0, got: " +
                    llvm::Twine(options.unrollRNN));
  return llvm::Error::success();
}

WrittenFiles soap::writtenFiles(const CompilerOptions &options) {
  WrittenFiles files;
  files.add("-o", options.output);
  if (options.emit == Emit::SharedObject && !options.output.empty())
    files.add("weights beside -o", WeightsFile::pathBeside(options.output));
  for (const auto &[option, path] : options.otherOutputs)
    files.add(option, path);
  files.add("--search-state", options.searchState);
  return files;
}

/// Nothing that is written is also read, as far as options say what is.
static llvm::Error checkFiles(const ModelSource &source,
                              const CompilerOptions &options) {
  WrittenFiles files = writtenFiles(options);
  if (llvm::Error error = files.checkApart())
    return badInput(std::move(error));
  auto check = [&](llvm::StringRef path, llvm::StringRef what) {
    llvm::Error error =
        path.empty() ? llvm::Error::success() : files.checkRead(path, what);
    return error ? badInput(std::move(error)) : llvm::Error::success();
  };
  if (!source.contents)
    if (llvm::Error error = check(source.path, "which the model is in"))
      return error;
  for (auto [option, path] : {std::pair<const char *, llvm::StringRef>(
                                  "--strategy", options.strategy),
                              {"--cost", options.costFile},
                              {"--calibration", options.calibration},
                              {"--topology", options.topology}}) {
    if (!fs::exists(path))
      continue; // It is a name.
    if (llvm::Error error =
            check(path, ("which " + llvm::Twine(option) + " reads").str()))
      return error;
  }
  // Another file might never end.
  bool isOther = false;
  if (!options.searchState.empty() &&
      !fs::is_other(options.searchState, isOther) && isOther)
    return badInput("expected --search-state to name a regular file, got: '" +
                    options.searchState + "'");
  return llvm::Error::success();
}

static llvm::Error checkTraining(const CompilerOptions &options) {
  if (!options.training)
    return llvm::Error::success();
  const std::vector<std::string> &list = options.training->recompute;
  if (list.size() > 1 &&
      (llvm::is_contained(list, "auto") || llvm::is_contained(list, "none")))
    return badInput("expected --recompute=none, auto or a list of operations, "
                    "got: '" +
                    llvm::join(list, ",") + "'");
  return llvm::Error::success();
}

llvm::Error soap::checkOptions(const ModelSource &source,
                               const CompilerOptions &options) {
  for (auto check : {checkMachine, checkPrecision, checkMeasuring,
                     checkStrategy, checkOutput, checkTraining})
    if (llvm::Error error = check(options))
      return error;
  if (llvm::Error error = checkModel(source, options))
    return error;
  return checkFiles(source, options);
}
