//===- CommandLine.cpp - Options of soap-compile --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "../ImportOptions.h"
#include "../Numbers.h"
#include "../OptionValues.h"
#include "Console.h"
#include "TrainingCommandLine.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/Strategy.h"
#include "soap/Target/TargetRegistry.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace soap;

static llvm::Error mistake(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

namespace {
/// The options as they were written.
struct Texts {
  ImportOptions import;
  std::string output, emit = "so", cost, link;
  int32_t devices = 0;
  bool hasDevices = false;
  TrainingOptions training;
  bool hasTraining = false; ///< Some option of training.
};
} // namespace

/// At most one thing is printed to standard output.
static llvm::Error checkPrinted(const CommandLine &line) {
  Emit emit = line.options.emit;
  bool printsLevel = emit != Emit::SharedObject && emit != Emit::Report &&
                     line.levelOutput.empty();
  if (!line.json || (!printsLevel && !line.options.strategyTable))
    return llvm::Error::success();
  return mistake(
      "expected --json alone on standard output, got: " +
      llvm::Twine(printsLevel ? "a level without -o" : "--print-strategy") +
      "; " + (printsLevel ? "name a file with -o" : "leave one out"));
}

/// Options of training that others make meaningless.
static llvm::Error checkTraining(const CLI::App &app,
                                 const TrainingOptions &how) {
  auto given = [&](std::initializer_list<const char *> options) {
    return llvm::any_of(
        options, [&](const char *option) { return app.count(option) != 0; });
  };
  if (how.optimizer == "sgd" && given({"--beta1", "--beta2", "--epsilon"}))
    return mistake("expected --beta1, --beta2 and --epsilon with --train=adam "
                   "or adamw, got: --train=sgd");
  if (how.schedule == "constant" && given({"--lr-period", "--lr-factor"}))
    return mistake("expected --lr-period and --lr-factor with "
                   "--lr-schedule=step, cosine or linear, got: constant");
  if (how.schedule != "constant" && !given({"--lr-period"}))
    return mistake("expected --lr-period with --lr-schedule=" +
                   llvm::Twine(how.schedule) + ", got none");
  if (how.schedule != "constant" && how.schedule != "step" &&
      given({"--lr-factor"}))
    return mistake("expected --lr-factor with --lr-schedule=step, got: " +
                   llvm::Twine(how.schedule));
  bool scoresClasses = how.loss == "softmax-cross-entropy" ||
                       how.loss == "negative-log-likelihood";
  if (!scoresClasses &&
      given({"--class-axis", "--ignore-index", "--label-smoothing"}))
    return mistake("expected --class-axis, --ignore-index and "
                   "--label-smoothing with --loss=softmax-cross-entropy or "
                   "negative-log-likelihood, got: " +
                   llvm::Twine(how.loss));
  if (how.batchNorm != "local" && given({"--batch-norm-parts"}))
    return mistake(
        "expected --batch-norm-parts with --batch-norm=local, got: " +
        llvm::Twine(how.batchNorm));
  if (how.batchNorm != "global" && given({"--batch-norm-variance"}))
    return mistake("expected --batch-norm-variance with --batch-norm=global, "
                   "got: " +
                   llvm::Twine(how.batchNorm));
  return llvm::Error::success();
}

static llvm::Error checkFolders(CommandLine &line) {
  line.options.otherOutputs = {{"-o", line.levelOutput},
                               {"--export-strategy", line.exportStrategy},
                               {"--export-movements", line.exportMovements},
                               {"--search-log", line.searchLog}};
  auto files = line.options.otherOutputs;
  files.emplace_back("--search-state", line.options.searchState);
  for (const auto &[option, path] : files)
    if (!path.empty())
      if (llvm::Error error = checkOutputFolder(option, path))
        return error;
  return llvm::Error::success();
}

/// Reads what stands in the texts into `line`, and checks all of it.
static llvm::Error check(CommandLine &line, const Texts &texts) {
  CompilerOptions &options = line.options;
  options.movements = !line.exportMovements.empty();
  if (!texts.training.optimizer.empty()) {
    options.training = texts.training;
    std::vector<std::string> &recompute = options.training->recompute;
    if (recompute.size() == 1 && recompute.front() == "none")
      recompute.clear();
  } else if (texts.hasTraining)
    return mistake("expected --train=sgd, adam or adamw with options of "
                   "training, got none");
  std::optional<Emit> emit = parseEmit(texts.emit);
  if (!emit)
    return mistake("expected --emit=so, nn, strategy, soap, soaprt, llvm, "
                   "report or topology, got: '" +
                   texts.emit + "'");
  options.emit = *emit;
  if (*emit != Emit::SharedObject)
    line.levelOutput = texts.output == "-" ? "" : texts.output;
  else if (texts.output.empty())
    options.output = llvm::sys::path::stem(line.source.path).str() + ".so";
  else
    options.output = texts.output;
  if (texts.hasDevices)
    options.devices = texts.devices;
  if (!texts.link.empty()) {
    std::string error = parseLinkSpeed(texts.link, options.link.emplace());
    if (!error.empty())
      return mistake(error);
  }
  if (texts.cost == "measured")
    options.measureCosts = true;
  else if (texts.cost == "analytic")
    options.measureCosts = false;
  else
    options.costFile = texts.cost;
  options.needsStrategy = !line.exportStrategy.empty();
  llvm::Expected<ONNXImportOptions> import = texts.import.read();
  if (!import)
    return import.takeError();
  options.import = std::move(*import);
  if (llvm::Error error = checkPrinted(line))
    return error;
  if (llvm::Error error = checkFolders(line))
    return error;
  if (!line.searchLog.empty() && !options.strategy.empty() &&
      options.strategy != "search")
    return mistake("expected --search-log with --strategy=search, got: '" +
                   options.strategy + "', which searches nothing");
  return checkOptions(line.source, options);
}

static void declareOutput(CLI::App &app, CommandLine &line, Texts &texts) {
  app.option_defaults()->group("Output");
  app.add_option("-o,--output", texts.output,
                 "Shared library to write (default: the model's name, in the "
                 "working directory); its weights go beside it. With --emit, "
                 "the file for what is printed (-: standard output)")
      ->type_name("OUT.so");
  app.add_option("--emit", texts.emit,
                 "Stop at a level and print it: so, nn, strategy, soap, "
                 "soaprt, llvm; report: the table of strategies and a lower "
                 "bound of what any takes, simulated (default so). "
                 "What nn, strategy and soap print can be edited and "
                 "compiled. topology: the machine as a file for --topology, "
                 "without a model")
      ->type_name("LEVEL");
  app.add_flag("--prove", line.options.prove,
               "Prove plans, coverage, order and memory on what was made, and "
               "print numbers");
  app.add_flag("--json", line.json,
               "Print --prove, --emit=report and the statistics of a search as "
               "one JSON object");
  app.add_flag("--timing", line.timing, "Print where compile time goes");
  app.add_flag("!--no-reference", line.options.reference,
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
  app.add_option("--target", line.options.target,
                 "What the devices are (default " +
                     registeredTargets().front().name + "):" + targets)
      ->type_name("NAME");
  app.add_option("--devices", texts.devices,
                 "Equal devices of this machine (default: those of the "
                 "topology in an .mlir model, else as many as the strategy "
                 "names, else 1)")
      ->check(wholeNumber<int32_t>())
      ->type_name("N");
  app.add_option("--topology", line.options.topology,
                 "A described machine: a file, or a published one of N nodes "
                 "and up to " +
                     std::to_string(maxGeneratedDevices) +
                     " devices, see the end; print it with --emit=topology")
      ->type_name("FILE.json|NAME[:nodes=N]");
  app.add_option("--link", texts.link,
                 "Links between the devices of this machine, as slow as with "
                 "soap-run --link: for example 1GB/s:10us")
      ->type_name("BANDWIDTH:LATENCY");
  app.add_option("--cores-per-device", line.options.coresPerDevice,
                 "Cores of a device (default: an even split)")
      ->check(wholeNumber<int32_t>(1))
      ->type_name("K");
  app.add_option("--mcpu,--gpu-arch", line.options.processor,
                 "Processor to make code for, by target:" + processors)
      ->type_name("NAME");
}

static void declareStrategy(CLI::App &app, CommandLine &line) {
  app.option_defaults()->group("Strategy");
  std::string strategies =
      "search, a file or one of these (default: what an .mlir model carries, "
      "else search if there is more than one device):";
  for (const NamedStrategy &named : namedStrategies())
    strategies += ("\n  " + named.name + ": " + named.description).str();
  app.add_option("--strategy", line.options.strategy, strategies)
      ->type_name("NAME|FILE.json");
  app.add_option("--schedule", line.options.schedule,
                 "Launch order: program (the strategy's own), fifo or "
                 "critical-path (default program)")
      ->type_name("POLICY");
  app.add_option("--search", line.options.search,
                 "Algorithm of the search: " +
                     llvm::join(searchAlgorithmNames(), ", ") +
                     "; or several of them in one budget, of which the best "
                     "strategy is taken")
      ->type_name("NAME|best:NAME,...")
      ->capture_default_str();
  app.add_option("--start", line.options.startSearches,
                 "Algorithms whose results are starts of the search; they take "
                 "half of its budget at most")
      ->type_name("NAME,...");
  app.add_option("--budget", line.options.budgetSeconds,
                 "Limit of the search, which ends before if it has converged, "
                 "and of measuring kernels (--cost=measured); calibrating the "
                 "machine, --tune and compiling come on top")
      ->check(positiveNumber(/*orZero=*/false))
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--proposals", line.options.proposals,
                 "Limit of the search (default: none but --budget)")
      ->check(wholeNumber<uint64_t>(1))
      ->type_name("N");
  app.add_option("--stagnation", line.options.stagnation,
                 "End the search after N proposals without a strategy that is "
                 "better by 0.1% (default: a quarter of --proposals, else "
                 "twice as many as it took to find the last one, at least "
                 "20,000 to 200,000 by the sizes of graph and machine; chains "
                 "that have begun anew by then go on until they find nothing "
                 "any more)")
      ->check(wholeNumber<uint64_t>(1))
      ->type_name("N");
  app.add_option("--chains", line.options.chains,
                 "Markov chains of --search=mcmc (up to " +
                     std::to_string(maxChains) +
                     "), each of which keeps a core busy; what is found "
                     "depends on their number, "
                     "and not on that of the cores")
      ->check(wholeNumber<int32_t>(1, maxChains))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--search-state", line.options.searchState,
                 "Keep the search in a file, and go on from there if it exists")
      ->type_name("FILE.json");
  app.add_option("--search-log", line.searchLog,
                 "Write the best step time over time: seconds, proposals, ns")
      ->type_name("FILE.csv");
  app.add_option("--random-starts", line.options.searchStarts,
                 "Search from N (up to 1000) random strategies and least sums "
                 "of costs, without named strategies")
      ->check(wholeNumber<int32_t>(1, 1000))
      ->type_name("N");
  app.add_option("--seed", line.options.seed, "Seed of search and random")
      ->check(wholeNumber<uint64_t>())
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--export-strategy", line.exportStrategy,
                 "Write the strategy, keyed by node name")
      ->type_name("FILE.json");
  app.add_option("--export-movements", line.exportMovements,
                 "Write what a step moves between devices, as planned; "
                 "soap-run --json prints the same, counted")
      ->type_name("FILE.json");
  app.add_flag("--check-local-optimality", line.options.checkLocalOptimality,
               "Simulate the strategy with every other configuration of one "
               "operation, and name the best of them if it is better; within "
               "another --budget");
  app.add_flag("--print-strategy", line.options.strategyTable,
               "Print a table: op, degrees, devices, time, bytes");
}

static void declareCosts(CLI::App &app, CommandLine &line, Texts &texts) {
  app.option_defaults()->group("Costs");
  app.add_option(
         "--cost", texts.cost,
         "What kernels cost: by the analytic model (analytic); measured "
         "on the devices of this machine, within --budget, and kept "
         "for later (measured, the default where a strategy for "
         "several of them is searched, without --proposals and "
         "--search-state); or as a file says, over the analytic model")
      ->type_name("analytic|measured|FILE.json");
  app.add_option("--tune", line.options.tuneSeconds,
                 "Run the best strategies found and named for so long (60 if "
                 "no number is given), search again with what their kernels "
                 "took, and take the one that ran fastest; implies "
                 "--cost=measured, with which a search by itself ends with a "
                 "comparison of three strategies")
      ->expected(0, 1)
      ->default_str("60")
      ->check(positiveNumber(/*orZero=*/false))
      ->type_name("SECONDS");
  app.add_option("--calibration", line.options.calibration,
                 "Rates of this machine: measured once and kept (auto; for one "
                 "device only with --devices=1 or if times are printed), a "
                 "file, or round figures (none)")
      ->type_name("auto|none|FILE.json")
      ->capture_default_str();
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
  app.add_option("model", line.source.path,
                 "Model to compile (none with --emit=topology)")
      ->type_name("MODEL.onnx|MODEL.mlir");
  app.footer(
      "Topologies by name, and what is in a node (rates of products are "
      "those of --precision, as far as devices have tensor cores for it; "
      "docs/CostModel.md has figures and assumptions):\n" +
      describeGeneratedTopologies());
  declareOutput(app, line, texts);
  texts.import.declare(app, "Model", "Model");
  app.add_option("--unroll-rnn", line.options.unrollRNN,
                 "Split recurrent layers into operations of K steps each, so "
                 "that a strategy can place them apart; 0: leave them whole")
      ->check(wholeNumber<int64_t>(0))
      ->type_name("K")
      ->capture_default_str();
  app.add_option(
         "--precision", line.options.precision,
         "What products multiply: f32, bf16, f16, or, with --target=cuda, tf32 "
         "(f32 rounded to 10 bits behind the point by tensor cores); they sum "
         "in f32, and all else stays f32; with bf16 and f16, products of "
         "recurrent layers are of f32, or of tf32 where the target has it, and "
         "where the target rounds what products make (GPUs; bf16 on processors "
         "that multiply it faster than f32) values between other products have "
         "16 bits in inference")
      ->capture_default_str();
  app.add_flag(
      "!--no-integer-products", line.options.integerProducts,
      "Multiply dequantized tensors as floats: by default the integers "
      "of 8 bits are multiplied, and scales applied to their sums");
  app.add_flag("!--no-fuse", line.options.fuse,
               "Keep operations per element apart: by default those that only "
               "each other read become one, with the name of the last");
  app.add_flag("!--no-attention", line.options.attention,
               "Keep the products and the softmax of attention apart (as "
               "--no-fuse does, too): by default they become one operation, "
               "whose kernel never holds all scores, where all devices are of "
               "this machine and the target has such a kernel");
  app.add_flag(
      "!--no-followers", line.options.followers,
      "Keep what follows a convolution or product per element a kernel "
      "of its own (as --no-fuse does, too): by default the library "
      "applies what it can, and on GPUs, operations without a library kernel "
      "that pass rows on to each other are one kernel");
  app.add_flag("--keep-nan", line.options.keepNaN,
               "Hand NaN on, as ONNX says: by default a relu, clip or gelu "
               "behind a convolution or product, which the library applies, "
               "may make a number of it (never in a training step)");
  app.add_flag("!--no-layouts", line.options.layouts,
               "Keep all tensors in row-major order: by default those between "
               "convolutions, pools and operations per element have channels "
               "last where kernels are faster so");
  app.add_flag(
      "!--no-winograd", line.options.winograd,
      "Sum up all convolutions directly: by default those of 3x3 and "
      "their gradients are computed by Winograd's algorithm where that "
      "is faster, and differ in the last digits");
  declareTraining(app, texts.training);
  declareOptimizer(app, texts.training);
  declareMachine(app, line, texts);
  declareStrategy(app, line);
  declareCosts(app, line, texts);
  takeOneValueEach(app);
  try {
    checkValues(llvm::ArrayRef(argv, argc).drop_front());
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return mistake(error.what() +
                     llvm::Twine("; soap-compile --help lists the options"));
    std::string failure = printHelp(app, error);
    if (!failure.empty()) {
      printError(failure);
      exitCode = 1;
    }
    return std::nullopt;
  }
  if (llvm::Error error = checkTraining(app, texts.training))
    return std::move(error);
  texts.hasDevices = app.count("--devices") != 0;
  for (const CLI::Option *option : app.get_options())
    texts.hasTraining |=
        option->get_group() == trainingGroup && option->count() != 0;
  if (llvm::Error error = check(line, texts))
    return std::move(error);
  return line;
}
