//===- CommandLine.cpp - Options of soap-compile --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "../ImportOptions.h"
#include "../Numbers.h"
#include "soap/CostModel/GeneratedTopologies.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Target/TargetRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace soap;

static llvm::Error mistake(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

namespace {
/// The options as they were written.
struct Texts {
  ImportOptions import;
  std::string target, emit = "so", mcpu, cost = "analytic", link;
  int32_t devices = 0;
  bool train = false;
};
} // namespace

static llvm::Error checkStrategy(const CommandLine &line) {
  llvm::StringRef strategy(line.strategy);
  if (strategy.ends_with(".json")) {
    if (!llvm::sys::fs::exists(strategy))
      return mistake("expected a strategy file, got: '" + strategy +
                     "', which does not exist; --export-strategy writes one");
  } else if (!strategy.empty() && strategy != "search" &&
             llvm::none_of(namedStrategies(), [&](const NamedStrategy &named) {
               return strategy == named.name;
             })) {
    return mistake("expected --strategy=" +
                   namedStrategyNames({"search", "a .json file"}) + ", got: '" +
                   strategy + "'");
  }
  if (!line.schedule.empty() && !isLaunchPolicy(line.schedule))
    return mistake(
        "expected --schedule=" + llvm::join(launchPolicyNames(), " or ") +
        ", got: '" + line.schedule + "'");
  if (!createSearchAlgorithm(line.search))
    return mistake(
        "expected --search=" + llvm::join(searchAlgorithmNames(), " or ") +
        ", got: '" + line.search + "'");
  if (!line.costFile.empty() && !llvm::sys::fs::exists(line.costFile))
    return mistake(
        "expected --cost=analytic or a file, got: '" + line.costFile +
        "', which does not exist; soap-run --profile-ops writes one");
  return llvm::Error::success();
}

static llvm::Error checkModel(const CommandLine &line, bool hasDevices) {
  llvm::StringRef model(line.model);
  if (line.emit == Emit::Topology) {
    if (!model.empty())
      return mistake("expected --emit=topology without a model, got: '" +
                     model + "'; leave it out");
    if (!hasDevices && line.topology.empty())
      return mistake("expected --topology or --devices with --emit=topology, "
                     "got: neither; say which machine to print");
    return llvm::Error::success();
  }
  if (model.empty())
    return mistake("expected a model, got: none; soap-compile --help lists the "
                   "options");
  if (!model.ends_with(".onnx") && !model.ends_with(".mlir"))
    return mistake("expected a model called *.onnx or *.mlir, got: '" + model +
                   "'");
  if (!llvm::sys::fs::exists(model))
    return mistake("expected a model, got: '" + model +
                   "', which does not exist");
  return llvm::Error::success();
}

static llvm::Error check(CommandLine &line, const Texts &texts,
                         bool hasDevices) {
  llvm::Expected<std::unique_ptr<Target>> target =
      createTarget(texts.target, {texts.mcpu});
  if (!target)
    return target.takeError();
  line.target = std::move(*target);
  if (texts.train)
    return mistake("expected inference, got: --train; training steps cannot be "
                   "compiled yet; leave --train out");
  static const std::map<std::string, Emit> levels = {
      {"so", Emit::SharedObject},   {"nn", Emit::NN},
      {"strategy", Emit::Strategy}, {"soap", Emit::SOAP},
      {"soaprt", Emit::SOAPRT},     {"llvm", Emit::LLVM},
      {"report", Emit::Report},     {"topology", Emit::Topology}};
  auto level = levels.find(texts.emit);
  if (level == levels.end())
    return mistake("expected --emit=so, nn, strategy, soap, soaprt, llvm, "
                   "report or topology, got: '" +
                   texts.emit + "'");
  line.emit = level->second;

  if (line.prove && (line.emit == Emit::Topology || line.emit == Emit::NN ||
                     line.emit == Emit::Report))
    return mistake("expected --prove with a strategy that is compiled, got: "
                   "--emit=" +
                   texts.emit + "; leave one of them out");

  if (llvm::Error error = checkModel(line, hasDevices))
    return error;
  if (line.emit == Emit::SharedObject) {
    if (line.output.empty())
      return mistake("expected -o OUT.so, got: no output; name one, or print a "
                     "level with --emit");
    if (!llvm::StringRef(line.output).ends_with(".so"))
      return mistake("expected -o to name a shared library (*.so), got: '" +
                     line.output + "'");
  }
  bool printsLevel = line.emit != Emit::SharedObject &&
                     line.emit != Emit::Report && line.output.empty();
  if (line.json && (printsLevel || line.printStrategy))
    return mistake(
        "expected --json alone on standard output, got: " +
        llvm::Twine(printsLevel ? "a level without -o" : "--print-strategy") +
        "; " + (printsLevel ? "name a file with -o" : "leave one out"));
  llvm::StringRef model(line.model);
  llvm::StringRef folder = llvm::sys::path::parent_path(line.output);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder))
    return mistake("expected -o in a folder that exists, got: '" + line.output +
                   "'; create '" + folder + "'");
  if (!line.output.empty() &&
      llvm::sys::fs::access(folder.empty() ? "." : folder,
                            llvm::sys::fs::AccessMode::Write))
    return mistake("expected -o in a folder that can be written, got: '" +
                   line.output + "'; choose another one");

  if (hasDevices && texts.devices < 1)
    return mistake("expected --devices of at least 1, got: " +
                   llvm::Twine(texts.devices));
  if (texts.devices > maxDevices)
    return mistake("expected --devices of at most " + llvm::Twine(maxDevices) +
                   ", got: " + llvm::Twine(texts.devices) +
                   "; describe larger machines with --topology");
  if (hasDevices)
    line.devices = texts.devices;
  if (line.calibration != "auto" && line.calibration != "none" &&
      !llvm::sys::fs::exists(line.calibration))
    return mistake("expected --calibration=auto, none or a file, got: '" +
                   line.calibration + "', which does not exist");
  if (hasDevices && !line.topology.empty())
    return mistake("expected --devices or --topology, got: both; leave "
                   "--devices out");
  if (!texts.link.empty()) {
    if (!line.topology.empty())
      return mistake("expected --link with --devices, got: --topology, which "
                     "describes the links; leave --link out");
    std::string error = parseLinkSpeed(texts.link, line.link.emplace());
    if (!error.empty())
      return mistake(error);
  }
  if (texts.cost != "analytic")
    line.costFile = texts.cost;
  if (model.ends_with(".mlir") && texts.import.needONNX())
    return mistake("expected --batch, --dim, --batch-dim and --bind with a "
                   "model called *.onnx, got: '" +
                   model + "', whose shapes are fixed; leave them out");
  llvm::Expected<ONNXImportOptions> import = texts.import.read();
  if (!import)
    return import.takeError();
  line.import = std::move(*import);
  if (llvm::Error error = checkStrategy(line))
    return error;
  return llvm::Error::success();
}

static void declareOutput(CLI::App &app, CommandLine &line, Texts &texts) {
  app.option_defaults()->group("Output");
  app.add_option("-o,--output", line.output,
                 "Shared library to write; its weights go beside it")
      ->type_name("OUT.so");
  app.add_option("--emit", texts.emit,
                 "Stop at a level and print it: so, nn, strategy, soap, "
                 "soaprt, llvm; report: the table of strategies and a lower "
                 "bound of what any takes, simulated (default so). "
                 "What nn, strategy and soap print can be edited and "
                 "compiled. topology: the machine as a file for --topology, "
                 "without a model")
      ->type_name("LEVEL");
  app.add_flag("--prove", line.prove,
               "Prove plans, coverage, order and memory on what was made, and "
               "print numbers");
  app.add_flag("--json", line.json,
               "Print --prove, --emit=report and the statistics of a search as "
               "one JSON object");
  app.add_flag("--timing", line.timing, "Print where compile time goes");
  app.add_flag("!--no-reference", line.reference,
               "Leave out the build for one device that soap-run --verify "
               "compares with: a tenth of the compile time, a third of the "
               "file without weights");
}

static void declareMachine(CLI::App &app, CommandLine &line, Texts &texts) {
  app.option_defaults()->group("Machine");
  std::string targets, processors;
  for (const RegisteredTarget &target : registeredTargets()) {
    targets += "\n  " + target.name + ": " + target.description;
    if (!target.processors.empty())
      processors += "\n  " + target.name + ": " + target.processors;
  }
  app.add_option("--target", texts.target,
                 "What the devices are (default " +
                     registeredTargets().front().name + "):" + targets)
      ->type_name("NAME");
  app.add_option("--devices", texts.devices,
                 "Equal devices of this machine (default: those of the "
                 "topology in an .mlir model, else as many as the strategy "
                 "names, else 1)")
      ->check(wholeNumber<int32_t>())
      ->type_name("N");
  app.add_option("--topology", line.topology,
                 "A described machine: a file, or a published one of N nodes "
                 "and up to " +
                     std::to_string(maxGeneratedDevices) +
                     " devices, see the end; print it with --emit=topology")
      ->type_name("FILE.json|NAME[:nodes=N]");
  app.add_option("--link", texts.link,
                 "Links between the devices of this machine, as slow as with "
                 "soap-run --link: for example 1GB/s:10us")
      ->type_name("BANDWIDTH:LATENCY");
  app.add_option("--cores-per-device", line.coresPerDevice,
                 "Cores of a device (default: an even split)")
      ->check(wholeNumber<int32_t>(1))
      ->type_name("K");
  app.add_option("--mcpu", texts.mcpu,
                 "Processor to make code for, by target:" + processors)
      ->type_name("NAME");
}

static void declareStrategy(CLI::App &app, CommandLine &line, Texts &texts) {
  app.option_defaults()->group("Strategy");
  std::string strategies =
      "search, a file or one of these (default: what an .mlir model carries, "
      "else search if there is more than one device):";
  for (const NamedStrategy &named : namedStrategies())
    strategies += ("\n  " + named.name + ": " + named.description).str();
  app.add_option("--strategy", line.strategy, strategies)
      ->type_name("NAME|FILE.json");
  app.add_option("--schedule", line.schedule,
                 "Launch order: program (the strategy's own), fifo or "
                 "critical-path (default program)")
      ->type_name("POLICY");
  app.add_option("--search", line.search, "Algorithm of the search")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--budget", line.budgetSeconds, "Limit of the search")
      ->check(positiveNumber(/*orZero=*/false))
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--proposals", line.proposals,
                 "Limit of the search (default: by graph size)")
      ->check(wholeNumber<uint64_t>(1))
      ->type_name("N");
  app.add_option("--stagnation", line.stagnation,
                 "End the search after N proposals without a better strategy "
                 "(default: a quarter of --proposals)")
      ->check(wholeNumber<uint64_t>(1))
      ->type_name("N");
  app.add_option("--search-state", line.searchState,
                 "Keep the search in a file, and go on from there if it exists")
      ->type_name("FILE.json");
  app.add_option("--search-log", line.searchLog,
                 "Write the best step time over time: seconds, proposals, ns")
      ->type_name("FILE.csv");
  app.add_option("--random-starts", line.searchStarts,
                 "Search from N random strategies and no named ones, as in the "
                 "paper's experiments")
      ->check(wholeNumber<int32_t>(1))
      ->type_name("N");
  app.add_option("--seed", line.seed, "Seed of search and random")
      ->check(wholeNumber<uint64_t>())
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--cost", texts.cost,
                 "analytic, or a file of measured costs over the analytic ones")
      ->type_name("analytic|FILE.json");
  app.add_option("--calibration", line.calibration,
                 "Rates of this machine: measured once and kept (auto, with "
                 "more than one device), a file, or round figures (none)")
      ->type_name("auto|none|FILE.json")
      ->capture_default_str();
  app.add_option("--export-strategy", line.exportStrategy,
                 "Write the strategy, keyed by node name")
      ->type_name("FILE.json");
  app.add_option("--export-movements", line.exportMovements,
                 "Write what a step moves between devices, as planned; "
                 "soap-run --json prints the same, counted")
      ->type_name("FILE.json");
  app.add_flag("--print-strategy", line.printStrategy,
               "Print a table: op, degrees, devices, time, bytes");
}

llvm::Expected<std::optional<CommandLine>>
soap::parseCommandLine(int argc, char **argv, int &exitCode) {
  CommandLine line;
  Texts texts;
  CLI::App app(
      "Compiles a model to a shared library that soap-run and the C "
      "API run, on one device or many.\n\n"
      "Example:\n"
      "  soap-compile resnet50.onnx --batch=8 --devices=2 "
      "--strategy=search --proposals=2000 \\\n"
      "      --export-strategy=s.json --print-strategy -o resnet50.so\n"
      "  soap-run resnet50.so --iterations=20\n",
      "soap-compile");
  app.set_version_flag("--version", "soap-compile " SOAP_VERSION);
  app.add_option("model", line.model,
                 "Model to compile (none with --emit=topology)")
      ->type_name("MODEL.onnx|MODEL.mlir");
  app.footer("Topologies by name, and what is in a node (rates of fp32 without "
             "tensor cores; docs/CostModel.md has figures and assumptions):\n" +
             describeGeneratedTopologies());
  declareOutput(app, line, texts);
  texts.import.declare(app, "Model", "Model");
  app.add_option("--unroll-rnn", line.unrollRNN,
                 "Split recurrent layers into operations of K steps each, so "
                 "that a strategy can place them apart; 0: leave them whole")
      ->check(wholeNumber<int64_t>(0))
      ->type_name("K")
      ->capture_default_str();
  app.add_flag("--train", texts.train, "Compile a training step (not yet)");
  declareMachine(app, line, texts);
  declareStrategy(app, line, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return mistake(error.what() +
                     llvm::Twine("; soap-compile --help lists the options"));
    exitCode = app.exit(error);
    return std::nullopt;
  }
  if (llvm::Error error = check(line, texts, app.count("--devices") != 0))
    return std::move(error);
  return line;
}
