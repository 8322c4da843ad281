//===- Compilation.cpp - One run of soap-compile --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "Reference.h"
#include "mlir/Parser/Parser.h"
#include "soap/CostModel/JSON.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Target/Model/MemoryPlan.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include <unistd.h>

using namespace mlir;
using namespace soap;

Compilation::Compilation(const CommandLine &line, MLIRContext &context)
    : line(line), context(context) {
  if (line.timing) {
    timing.setEnabled(true);
    timing.setDisplayMode(DefaultTimingManager::DisplayMode::Tree);
  }
  timer = timing.getRootScope();
  model.name = llvm::sys::path::stem(line.model).str();
  model.target = line.target.get();
  model.coresPerDevice = line.coresPerDevice;
  model.tiles = line.reference;
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

bool Compilation::import() {
  TimingScope scope = timer.nest("import");
  if (StringRef(line.model).ends_with(".mlir")) {
    bool other = false;
    if (!llvm::sys::fs::is_other(line.model, other) && other) {
      printError("expected a readable file, got: '" + line.model +
                 "': not a regular file");
      return false;
    }
    module = parseSourceFile<ModuleOp>(line.model, &context);
    if (!module)
      return false;
    if (!module->getOps<soaprt::DeviceOp>().empty()) {
      printError("expected what --emit=nn, strategy or soap prints, got: '" +
                 line.model +
                 "', whose programs are planned; compile what "
                 "--emit=soap prints");
      return false;
    }
    level = levelOf(*module);
    if (line.import.initWeightsSeed)
      initializeWeights(*module, *line.import.initWeightsSeed);
    return true;
  }
  auto imported = importONNX(line.model, line.import, context);
  if (!imported) {
    printError(llvm::toString(imported.takeError()));
    return false;
  }
  module = std::move(*imported);
  return true;
}

//===----------------------------------------------------------------------===//
// Strategy
//===----------------------------------------------------------------------===//

llvm::Expected<Strategy>
Compilation::importStrategy(const ModuleProblem &problem) {
  auto buffer = readRegularFile(line.strategy);
  if (!buffer)
    return llvm::createStringError(
        "expected to read '" + line.strategy +
        "', got: " + llvm::toString(buffer.takeError()));
  return parseStrategy((*buffer)->getBuffer(), problem.extracted.graph,
                       problem.topology, /*info=*/nullptr, problem.costs);
}

std::string Compilation::strategyName() const {
  if (!line.strategy.empty() || level == Level::Configured)
    return line.strategy;
  return ir::getTopology(*module).getNumDevices() > 1 ? "search" : "single";
}

std::optional<Strategy>
Compilation::decideStrategy(const ModuleProblem &problem) {
  std::string name = strategyName();
  if (name.empty()) {
    FailureOr<Strategy> own = readStrategy(problem.extracted, problem.topology);
    return failed(own) ? std::nullopt : std::optional(std::move(*own));
  }
  llvm::Expected<Strategy> strategy =
      name == "search" ? searchStrategy(problem)
      : StringRef(name).ends_with(".json")
          ? importStrategy(problem)
          : expertStrategy(name, problem.extracted.graph, problem.topology,
                           problem.costs, line.seed);
  if (strategy)
    return std::move(*strategy);
  printError(llvm::toString(strategy.takeError()));
  return std::nullopt;
}

bool Compilation::chooseStrategy() {
  FailureOr<ModuleProblem> problem = readProblem(*module, line.costFile);
  if (failed(problem))
    return false;
  std::optional<Strategy> strategy = decideStrategy(*problem);
  if (!strategy)
    return false;
  if (strategy->order.empty()) {
    // The order that the model asks for, whatever the configurations.
    FailureOr<std::vector<int32_t>> order = readLaunchOrder(problem->extracted);
    if (failed(order))
      return false;
    strategy->order = std::move(*order);
    if (std::string error =
            verify(*strategy, problem->extracted.graph, problem->topology);
        !error.empty()) {
      printError(error);
      return false;
    }
  }
  if (!line.schedule.empty())
    strategy->order = launchOrder(line.schedule, problem->extracted.graph,
                                  *strategy, problem->topology, problem->costs);
  TimingScope scope = timer.nest("strategy");
  StrategyInfo info;
  info.fingerprint = problem->extracted.graph.fingerprint;
  info.topology = problem->topology.name;
  info.seed = line.seed;
  simulated = std::make_unique<SimulatedProgram>(*problem, *strategy);
  movements = simulated->movements();
  info.simulatedNs = simulated->stepNs();
  model.fingerprint = info.fingerprint;
  model.simulatedNs = info.simulatedNs;
  model.strategy = toJSON(*strategy, problem->extracted.graph, info);
  if (!line.exportStrategy.empty() &&
      !writeText(line.exportStrategy, model.strategy + "\n"))
    return false;
  if (!line.exportMovements.empty() &&
      !writeText(line.exportMovements, movements.json() + "\n"))
    return false;
  if (line.printStrategy)
    printStrategy(llvm::outs(), *problem, *strategy);
  writeStrategy(problem->extracted, *strategy, problem->topology);
  return true;
}

bool Compilation::report() {
  FailureOr<ModuleProblem> problem = readProblem(*module, line.costFile);
  if (failed(problem))
    return false;
  const OperatorGraph &graph = problem->extracted.graph;
  SmallVector<StrategyReport> rows;
  auto add = [&](StringRef name, const Strategy &strategy) {
    // Nobody asked for the random row of a large machine.
    bool isOptional = name == "random" && line.strategy != name;
    rows.push_back(soap::report(name, strategy, graph, problem->topology,
                                problem->costs, isOptional));
  };
  for (const NamedStrategy &named : namedStrategies())
    if (named.isListed)
      add(named.name, named.make(graph, problem->topology, problem->costs,
                                 /*devices=*/0, line.seed));
  StringRef chosen(line.strategy);
  if (llvm::none_of(rows, [&](const StrategyReport &row) {
        return row.name == chosen;
      })) {
    std::optional<Strategy> strategy = decideStrategy(*problem);
    if (!strategy)
      return false;
    if (chosen.empty() && level == Level::Configured)
      chosen = "model";
    else if (chosen.empty() || chosen == "search")
      chosen = "found";
    else
      chosen = llvm::sys::path::filename(chosen);
    add(chosen, *strategy);
  }
  LowerBound bound = lowerBound(graph, problem->topology, problem->costs);
  if (line.json) {
    llvm::json::Object object = reportJSON(rows, bound);
    if (searchReport)
      object["search"] = std::move(*searchReport);
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(std::move(object)));
  } else {
    printReport(llvm::outs(), rows, bound, chosen);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

bool Compilation::runPasses(llvm::function_ref<void(OpPassManager &)> build,
                            StringRef what) {
  TimingScope scope = timer.nest(what);
  PassManager passes(&context);
  passes.enableVerifier(true);
  build(passes);
  passes.enableTiming(scope);
  return succeeded(passes.run(*module));
}

bool Compilation::writeText(StringRef path, StringRef text) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_Text);
  bool opened = !code;
  if (opened) {
    file.os() << text;
    file.os().flush();
    code = file.os().error();
    file.os().clear_error();
  }
  if (code) {
    printError("expected to write '" + path + "', got: " + code.message());
    writeFailed |= opened;
    return false;
  }
  file.keep();
  return true;
}

int Compilation::planMemory(bool &again) {
  {
    TimingScope scope = timer.nest("library memory");
    if (llvm::Error error = planLibraryMemory(*module, model))
      llvm::errs() << "warning: " << llvm::toString(std::move(error))
                   << "; going on without the memory of library kernels\n";
  }
  // A search knows values and copies. What the library needs beside them, it
  // learns here.
  auto missing = missingMemory(*module);
  if (!missing.empty() && unconfigured && searches < maxSearches) {
    std::vector<int64_t> known = simulated->tasks().peakMemory();
    for (auto [device, capacity, planned] : missing) {
      int64_t &bytes = reserved[device];
      bytes = std::max(bytes + planned - capacity, planned - known[device]);
    }
    llvm::errs() << "search: device " << missing[0].device << " needs "
                 << missing[0].planned
                 << " bytes with those of the kernel library, and has "
                 << missing[0].capacity << "; searching again, with "
                 << reserved[missing[0].device] << " set aside\n";
    again = true;
    return Fine;
  }
  // Exact, and for this strategy: bad input.
  if (std::string error = checkDeviceMemory(*module); !error.empty()) {
    printError(error);
    return BadInput;
  }
  std::string description = describeMemory(*module);
  if (line.emit == Emit::SharedObject && !description.empty())
    llvm::errs() << description << "\n";
  return Fine;
}

int Compilation::print() {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  os << "\n";
  return writeText(line.output.empty() ? "-" : line.output, text) ? Fine
                                                                  : BadInput;
}

int Compilation::emitSharedObject() {
  // A program of one device is its own reference.
  auto devices = module->getOps<soaprt::DeviceOp>();
  ReferenceBuild reference;
  bool hasReference = false;
  if (normalized && !llvm::hasNItemsOrLess(devices, 1)) {
    TimingScope scope = timer.nest("reference");
    reference.module = *normalized;
    hasReference = buildReference(reference, *module, model);
  }
  TimingScope scope = timer.nest("emit");
  return succeeded(emitModel(*module, model, line.output,
                             hasReference ? &reference : nullptr))
             ? Fine
             : Failed;
}

void Compilation::printResults() {
  if (!line.json) {
    if (line.prove)
      proof.print(llvm::outs());
    return;
  }
  llvm::json::Object object;
  if (line.prove)
    object["proof"] = proof.json();
  if (searchReport)
    object["search"] = std::move(*searchReport);
  if (!object.empty())
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(std::move(object)));
}

int Compilation::makeTasks(bool &done) {
  done = true;
  bool normal = runPasses(
      [&](OpPassManager &passes) {
        buildNormalizePipeline(passes, line.unrollRNN);
      },
      "normalize");
  if (!normal)
    return BadInput;
  if (line.emit == Emit::NN)
    return print();
  if (line.emit == Emit::SharedObject && line.reference)
    normalized = module->clone();
  if (!attachTopology())
    return BadInput;
  if (line.emit == Emit::Report)
    return report() ? Fine : BadInput;
  if (strategyName() == "search")
    unconfigured = module->clone();
  return makeConfiguredTasks(done);
}

int Compilation::makeConfiguredTasks(bool &done) {
  done = true;
  if (!chooseStrategy())
    return BadInput;
  if (line.prove && failed(proof.provePlans(*simulated, module->getLoc())))
    return Failed;
  if (line.emit == Emit::Strategy)
    return print();
  done = false;
  // What the strategy asks for may not fit: bad input, not a failure.
  bool partitioned = runPasses(
      [&](OpPassManager &passes) {
        buildPartitionPipeline(passes, line.costFile);
      },
      "partition");
  if (!partitioned)
    return BadInput;
  TimingScope scope = timer.nest("compare with the simulation");
  FailureOr<func::FuncOp> main = getMainFunction(*module);
  if (failed(main) || failed(simulated->compare(*main)))
    return Failed;
  return Fine;
}

int Compilation::run() {
  int exit = runSteps();
  return writeFailed ? Failed : exit;
}

int Compilation::runSteps() {
  if (line.emit == Emit::Topology)
    return printTopology();
  if (!import())
    return BadInput;
  bool done = false;
  int exit = level == Level::Tasks ? checkTasks() : makeTasks(done);
  for (bool again = true; again;) {
    again = false;
    if (exit == Fine && line.prove && !done &&
        failed(proof.proveTasks(*module, simulated.get())))
      return Failed;
    if (exit != Fine || done || line.emit == Emit::SOAP) {
      if (exit == Fine && !done)
        exit = print();
      if (exit == Fine && line.emit != Emit::Report)
        printResults();
      return exit;
    }
    auto lower = [&](OpPassManager &passes) {
      buildLowerPipeline(passes, *line.target);
    };
    if (!runPasses(lower, "lower") || failed(movements.compare(*module)))
      return Failed;
    exit = planMemory(again);
    if (exit != Fine)
      return exit;
    if (!again)
      break;
    module = unconfigured->clone();
    proof = Proof();
    exit = makeConfiguredTasks(done);
  }
  if (line.prove && failed(proof.provePrograms(*module)))
    return Failed;
  exit = emitPrograms();
  if (exit == Fine)
    printResults();
  return exit;
}

int Compilation::emitPrograms() {
  if (line.emit == Emit::SOAPRT)
    return print();
  if (line.emit == Emit::LLVM) {
    bool lowered = runPasses(
        [&](OpPassManager &passes) {
          line.target->buildKernelPipeline(passes.nest<ModuleOp>());
        },
        "native kernels");
    return lowered ? print() : Failed;
  }
  return emitSharedObject();
}
