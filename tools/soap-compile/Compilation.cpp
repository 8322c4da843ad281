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
#include "soap/Calibration/MachineCalibration.h"
#include "soap/CostModel/Calibration.h"
#include "soap/CostModel/GeneratedTopologies.h"
#include "soap/CostModel/Machine.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Target/Memory/LibraryMemory.h"
#include "soap/Target/Native/NativeKernels.h"
#include "soap/Target/Native/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include <cmath>
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
  model.target = line.target;
  model.coresPerDevice = line.coresPerDevice;
  model.tiles = line.reference;
}

//===----------------------------------------------------------------------===//
// Model and machine
//===----------------------------------------------------------------------===//

bool Compilation::import() {
  TimingScope scope = timer.nest("import");
  if (StringRef(line.model).ends_with(".mlir")) {
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

/// On a quiet machine the model is within a factor of 1.2 to 1.5 of the probes.
static void warnOfNoise(const std::string &path) {
  llvm::Expected<Calibration> calibration = Calibration::load(path);
  double factor = calibration ? std::exp(calibration->fitError) : 1;
  llvm::consumeError(calibration.takeError());
  if (factor > 1.6)
    llvm::errs() << llvm::formatv(
        "warning: calibration: times are off by a factor of {0:f1} from what "
        "was measured, as on a busy machine; remove '{1}' to measure again\n",
        factor, path);
}

std::string Compilation::findCalibration(int32_t devices) {
  if (line.calibration == "none")
    return "";
  if (line.calibration != "auto")
    return line.calibration;
  // One device has nothing to weigh; no folder, nowhere to keep it.
  if (devices < 2 || calibrationPath(devices, line.coresPerDevice).empty())
    return "";
  TimingScope scope = timer.nest("calibration");
  bool measured = false;
  llvm::Expected<std::string> path =
      ensureCalibration(devices, line.coresPerDevice, [&] {
        measured = true;
        llvm::errs() << "calibration: measuring this machine with " << devices
                     << " busy devices, once; kept in '"
                     << calibrationPath(devices, line.coresPerDevice) << "'\n";
      });
  if (path) {
    if (measured)
      warnOfNoise(*path);
    return *path;
  }
  llvm::errs() << "warning: " << llvm::toString(path.takeError())
               << "; going on with round figures, as --calibration=none\n";
  return "";
}

llvm::Expected<int32_t> Compilation::devicesOfStrategy() {
  if (StringRef(line.strategy).ends_with(".json")) {
    auto buffer = llvm::MemoryBuffer::getFile(line.strategy);
    if (!buffer)
      return llvm::createStringError("expected to read '" + line.strategy +
                                     "', got: " + buffer.getError().message());
    return soap::devicesOfStrategy((*buffer)->getBuffer());
  }
  int32_t devices = 1;
  if (level == Level::Configured && line.strategy.empty())
    module->walk([&](Operation *op) {
      if (ir::ConfigAttr config = ir::getConfig(op))
        for (int32_t device : config.getDevices())
          devices = std::max(devices, device + 1);
    });
  return devices;
}

llvm::Expected<Topology> Compilation::describeTopology() {
  if (!line.topology.empty())
    return loadTopology(line.topology);
  llvm::Expected<int32_t> named = devicesOfStrategy();
  if (!named)
    return named.takeError();
  int32_t devices = line.devices.value_or(*named);
  if (devices > maxDevices)
    return llvm::createStringError(
        "expected devices below " + llvm::Twine(maxDevices) +
        " in the strategy, got: " + llvm::Twine(devices - 1) +
        "; describe larger machines with --topology");
  return describeMachine(devices, line.coresPerDevice, findCalibration(devices),
                         line.link);
}

int Compilation::printTopology() {
  llvm::Expected<Topology> topology = describeTopology();
  if (!topology) {
    printError(llvm::toString(topology.takeError()));
    return BadInput;
  }
  return writeText(line.output.empty() ? "-" : line.output, topology->toJSON())
             ? Fine
             : BadInput;
}

bool Compilation::attachTopology() {
  // A model may bring its own.
  if (ir::getTopology(*module) && !line.devices && line.topology.empty())
    return true;
  llvm::Expected<Topology> topology = describeTopology();
  if (!topology) {
    printError(llvm::toString(topology.takeError()));
    return false;
  }
  writeTopology(*module, *topology);
  return true;
}

//===----------------------------------------------------------------------===//
// Strategy
//===----------------------------------------------------------------------===//

llvm::Expected<Strategy>
Compilation::importStrategy(const ModuleProblem &problem) {
  auto buffer = llvm::MemoryBuffer::getFile(line.strategy);
  if (!buffer)
    return llvm::createStringError("expected to read '" + line.strategy +
                                   "', got: " + buffer.getError().message());
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
    rows.push_back(
        soap::report(name, strategy, graph, problem->topology, problem->costs));
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
  if (!code) {
    file.os() << text;
    file.os().flush();
    code = file.os().error();
    file.os().clear_error();
  }
  if (code) {
    printError("expected to write '" + path + "', got: " + code.message());
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
    if (!runPasses(buildLowerPipeline, "lower") ||
        failed(movements.compare(*module)))
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
        [](OpPassManager &passes) {
          buildNativeKernelPipeline(passes.nest<ModuleOp>());
        },
        "native kernels");
    return lowered ? print() : Failed;
  }
  return emitSharedObject();
}
