//===- Compilation.cpp - One compilation ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/IR/TrainingDescription.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Target/TargetRegistry.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "soap/Transforms/MarkFollowers.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace soap;

Compilation::Compilation(const Request &request, const nn::Files &files,
                         const Target &target, MLIRContext &context,
                         CompilationResult &result)
    : source_(request.source), options_(request.options),
      callbacks_(request.callbacks), files_(files), target_(target),
      context_(context), result_(result),
      stageBegun_(std::chrono::steady_clock::now()),
      costFile_(request.options.costFile) {
  model_.name = llvm::sys::path::stem(source_.path).str();
  model_.target = &target_;
  model_.coresPerDevice = options_.coresPerDevice;
  model_.tiles = options_.reference;
  model_.winograd = options_.winograd;
  model_.files = files_;
  model_.temporaryFile = callbacks_.temporaryFile;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Proceed Compilation::ask(const CompilerProgress &progress) {
  Proceed proceed =
      callbacks_.progress ? callbacks_.progress(progress) : Proceed::Continue;
  cancelled_ |= proceed == Proceed::Cancel;
  return proceed;
}

void Compilation::endStage() {
  auto now = std::chrono::steady_clock::now();
  result_.seconds[static_cast<size_t>(stage_)] +=
      std::chrono::duration<double>(now - stageBegun_).count();
  stageBegun_ = now;
}

llvm::Error Compilation::begin(Stage next) {
  endStage();
  stage_ = next;
  if (!cancelled_)
    (void)ask({next, nullptr});
  if (!cancelled_)
    return llvm::Error::success();
  return makeError(Kind::Cancelled,
                   "the compilation was cancelled before this stage: " +
                       stringify(next));
}

TimingScope Compilation::nest(StringRef what) {
  return callbacks_.timing ? callbacks_.timing->nest(what) : TimingScope();
}

void Compilation::tell(Severity severity, const Twine &text) const {
  if (callbacks_.message)
    callbacks_.message(severity, text.str());
}

llvm::Error
Compilation::runPasses(llvm::function_ref<void(OpPassManager &)> build,
                       StringRef what, Kind kind, bool evaluationToo) {
  TimingScope scope = nest(what);
  PassManager passes(&context_);
  passes.enableVerifier(true);
  build(passes);
  passes.enableTiming(scope);
  LogicalResult result = passes.run(*module_);
  if (ModuleOp inner = evaluationToo ? evaluation() : ModuleOp();
      inner && succeeded(result))
    result = passes.run(inner);
  return emitted(result, kind);
}

ModuleOp Compilation::evaluation() { return nn::findEvaluation(*module_); }

//===----------------------------------------------------------------------===//
// From a model to tasks
//===----------------------------------------------------------------------===//

llvm::Error Compilation::parseModule() {
  auto buffer = files_.open(source_.path);
  if (!buffer)
    return badInput("expected a readable file, got: '" + source_.path +
                    "': " + llvm::toString(buffer.takeError()));
  // The parser needs a NUL behind the text.
  module_ = parseSourceString<ModuleOp>((*buffer)->getBuffer().str(), &context_,
                                        source_.path);
  if (!module_)
    return emitted(mlir::failure(), Kind::BadInput);
  if (!module_->getOps<soaprt::DeviceOp>().empty())
    return badInput("expected what --emit=nn, strategy or soap prints, got: '" +
                    source_.path +
                    "', whose programs are planned; compile what --emit=soap "
                    "prints");
  level_ = levelOf(*module_);
  if (options_.training && level_ != Level::Graph)
    return badInput("expected a model without a strategy with --train, got: '" +
                    source_.path +
                    "'; compile what --emit=nn prints, or leave --train out");
  if (options_.import.initWeightsSeed)
    initializeWeights(*module_, *options_.import.initWeightsSeed, files_);
  return llvm::Error::success();
}

llvm::Error Compilation::importModel() {
  if (llvm::Error error = begin(Stage::Import))
    return error;
  TimingScope scope = nest("import");
  if (StringRef(source_.path).ends_with(".mlir"))
    return parseModule();
  ONNXImportOptions how = options_.import;
  how.files = files_;
  how.training = options_.training.has_value();
  if (!how.evaluate)
    if (Evaluator evaluator = registeredEvaluator())
      how.evaluate = evaluator;
  auto imported = importONNX(source_.path, how, context_);
  if (!imported)
    return badInput(imported.takeError());
  module_ = std::move(*imported);
  return llvm::Error::success();
}

llvm::Error Compilation::checkFilesOfModel() {
  WrittenFiles written = writtenFiles(options_);
  for (const std::string &path : files_.readFor(*module_))
    if (llvm::Error error = written.checkRead(path, "which the model reads"))
      return badInput(std::move(error));
  bool hasWeights = module_
                        ->walk([](nn::ParameterOp parameter) {
                          return isa<nn::FileAttr>(parameter.getSource())
                                     ? WalkResult::interrupt()
                                     : WalkResult::advance();
                        })
                        .wasInterrupted();
  if (!hasWeights || options_.emit != Emit::SharedObject ||
      options_.output.empty())
    return llvm::Error::success();
  llvm::Error error = WeightsFile::checkReplaced(options_.output);
  return error ? badInput(std::move(error)) : llvm::Error::success();
}

/// Whether all devices are of a target's own kind: what libraries of others
/// compute is not known.
static bool knowsLibraries(const Topology &topology, const Target &target) {
  return llvm::all_of(topology.kinds(), [&](const DeviceKind &kind) {
    return kind.name == target.getName();
  });
}

static FailureOr<bool> knowsLibraries(ModuleOp module, const Target &target) {
  FailureOr<Topology> topology = readTopology(module);
  if (failed(topology))
    return failure();
  return knowsLibraries(*topology, target);
}

bool Compilation::willKnowLibraries() {
  if (options_.topology.empty() &&
      (options_.devices || !soapir::getTopology(*module_)))
    return true; // Those of this machine.
  if (options_.topology.empty()) {
    FailureOr<bool> isKnown = knowsLibraries(*module_, target_);
    return succeeded(isKnown) && *isKnown;
  }
  llvm::Expected<Topology> topology = loadTopology(options_.topology);
  if (topology)
    return knowsLibraries(*topology, target_);
  llvm::consumeError(topology.takeError()); // attachTopology() says it.
  return false;
}

ProductRounding Compilation::productRounding() {
  ProductRounding rounding =
      target_.getProductRounding(*symbolize<Precision>(options_.precision));
  // Followers are a matter of a library that is known.
  return rounding != ProductRounding::BehindFollowers || willKnowLibraries()
             ? rounding
             : ProductRounding::Never;
}

bool Compilation::foldsAttention() const {
  // Its kernel does not read the values of hidden steps.
  return options_.fuse && options_.attention && !options_.keepNaN &&
         target_.hasAttention();
}

llvm::Error Compilation::normalize() {
  return runPasses(
      [&](OpPassManager &passes) {
        NormalizeChoices choices;
        // Layers of a step were unrolled before it was built.
        choices.unrollRNN = options_.training ? 0 : options_.unrollRNN;
        choices.precision = options_.precision;
        choices.integerProducts = options_.integerProducts;
        choices.roundLayers =
            !errorToBool(target_.checkPrecision(Precision::TF32));
        choices.separateBias = target_.separatesBias();
        choices.rounding = productRounding();
        if (level_ == Level::Graph && foldsAttention() && willKnowLibraries())
          choices.attentionScoreBytes = target_.getAttentionScoreBytes(
              *symbolize<Precision>(options_.precision));
        choices.rowAlignment = target_.getRowAlignment();
        buildNormalizePipeline(passes, choices);
      },
      "normalize", Kind::BadInput, /*evaluation=*/true);
}

llvm::Error Compilation::checkPrecisions() {
  for (auto [precision, count] : nn::countPrecisions(*module_)) {
    if (llvm::Error error = target_.checkPrecision(precision))
      return badInput(std::move(error));
    if (std::string text = target_.describePrecision(precision); !text.empty())
      warn(text);
  }
  return llvm::Error::success();
}

llvm::Error Compilation::fuse() {
  // A strategy that the model carries is one of its single operations.
  if (!options_.fuse || level_ != Level::Graph)
    return llvm::Error::success();
  FailureOr<bool> isKnown = knowsLibraries(*module_, target_);
  if (failed(isKnown))
    return emitted(mlir::failure(), Kind::BadInput);
  return runPasses(
      [&](OpPassManager &passes) {
        buildFusePipeline(passes, foldsAttention() && *isKnown,
                          productRounding());
      },
      "fuse", Kind::Failed, /*evaluationToo=*/true);
}

llvm::Error Compilation::markFollowers() {
  FailureOr<bool> isKnown = knowsLibraries(*module_, target_);
  if (failed(isKnown))
    return emitted(mlir::failure(), Kind::BadInput);
  LowerChoices choices = lowerChoices();
  bool knows = choices.followers && *isKnown;
  for (ModuleOp module : {*module_, evaluation()}) {
    if (module && knows &&
        failed(soap::markFollowers(module, target_, choices.keepNaN)))
      return emitted(mlir::failure(), Kind::BadInput);
    if (module && !knows)
      module.walk([](Operation *op) {
        op->removeAttr(soapir::SOAPDialect::getFollowsAttrName());
      });
  }
  return llvm::Error::success();
}

llvm::Error Compilation::prepareGraph() {
  if (llvm::Error error = begin(Stage::Normalize))
    return error;
  if (options_.training)
    if (llvm::Error error = buildTrainingStep(*options_.training))
      return error;
  llvm::Error normal = normalize();
  if (normal || options_.emit == Emit::NN)
    return normal;
  if (llvm::Error error = checkPrecisions())
    return error;
  if (llvm::Error error = attachTopology())
    return error;
  if (llvm::Error error = fuse())
    return error;
  if (llvm::Error error = markFollowers())
    return error;
  if (options_.emit == Emit::SharedObject && options_.reference)
    normalized_ = module_->clone();
  if (options_.emit != Emit::Report &&
      (strategyName() == "search" || recomputesAsNeeded()))
    unconfigured_ = module_->clone();
  return llvm::Error::success();
}

llvm::Error Compilation::makeTasks() {
  if (llvm::Error error = configure())
    return error;
  if (llvm::Error error = configureEvaluation())
    return error;
  if (options_.prove &&
      (failed(proof_.provePlans(*simulated_, module_->getLoc())) ||
       (simulatedEvaluation_ &&
        failed(evaluationProof_.provePlans(*simulatedEvaluation_,
                                           module_->getLoc())))))
    return emitted(mlir::failure(), Kind::Failed);
  if (options_.emit == Emit::Strategy)
    return llvm::Error::success();
  if (llvm::Error error = begin(Stage::Partition))
    return error;
  // A strategy that does not fit into memory is bad input, not a failure of the
  // compiler.
  if (llvm::Error error = runPasses(
          [&](OpPassManager &passes) {
            buildPartitionPipeline(passes, costFile_);
          },
          "partition", Kind::BadInput, /*evaluation=*/true))
    return error;
  TimingScope scope = nest("compare with the simulation");
  auto compare = [](ModuleOp module, const SimulatedProgram &simulated) {
    FailureOr<func::FuncOp> main = getMainFunction(module);
    return failed(main) ? mlir::failure() : simulated.compare(*main);
  };
  bool equal = succeeded(compare(*module_, *simulated_)) &&
               (!simulatedEvaluation_ ||
                succeeded(compare(evaluation(), *simulatedEvaluation_)));
  return emitted(mlir::success(equal), Kind::Failed);
}

//===----------------------------------------------------------------------===//
// From tasks to programs
//===----------------------------------------------------------------------===//

LowerChoices Compilation::lowerChoices() const {
  LowerChoices choices;
  choices.layouts = options_.layouts;
  choices.followers = options_.fuse && options_.followers;
  // A NaN stops or skips a step of training, so that it has to arrive.
  choices.keepNaN = options_.keepNaN || options_.training;
  return choices;
}

llvm::Error Compilation::lower(bool &again) {
  if (llvm::Error error = begin(Stage::Lower))
    return error;
  bool evaluates = static_cast<bool>(evaluation());
  // The programs are compared with what was simulated, also where devices have
  // nothing to do.
  if (soapir::TopologyOp machine = soapir::getTopology(*module_))
    model_.machineDevices = static_cast<uint32_t>(machine.getNumDevices());
  if (llvm::Error error = runPasses(
          [&](OpPassManager &passes) {
            buildLowerPipeline(passes, target_, lowerChoices());
          },
          "lower", Kind::Failed))
    return error;
  if (failed(movements_.compare(*module_)) ||
      (evaluates && failed(evaluationMovements_.compare(*module_, 1))))
    return emitted(mlir::failure(), Kind::Failed);
  if (llvm::Error error = begin(Stage::LibraryMemory))
    return error;
  return planMemory(again);
}

llvm::Error Compilation::run() {
  auto finish = llvm::make_scope_exit([&] { endStage(); });
  auto print = [&] {
    llvm::raw_string_ostream os(result_.text);
    module_->print(os);
    os << "\n";
  };
  if (options_.emit == Emit::Topology) {
    llvm::Expected<Topology> topology = describeTopology();
    if (!topology)
      return topology.takeError();
    result_.text = topology->toJSON();
    return llvm::Error::success();
  }
  if (llvm::Error error = importModel())
    return error;
  if (llvm::Error error = checkFilesOfModel())
    return error;
  bool isGraph = level_ != Level::Tasks;
  if (llvm::Error error = isGraph ? prepareGraph() : checkTasks())
    return error;
  if (auto training =
          (*module_)->getAttrOfType<StringAttr>(nn::trainingAttrName))
    model_.training = training.str();
  if (options_.emit == Emit::Report)
    return report();
  for (bool again = options_.emit != Emit::NN; again;) {
    if (isGraph)
      if (llvm::Error error = makeTasks())
        return error;
    if (options_.emit == Emit::Strategy)
      break;
    if (options_.prove &&
        (failed(proof_.proveTasks(*module_, simulated_.get())) ||
         (evaluation() && failed(evaluationProof_.proveTasks(
                              evaluation(), simulatedEvaluation_.get())))))
      return emitted(mlir::failure(), Kind::Failed);
    if (options_.emit == Emit::SOAP)
      break;
    again = false;
    if (llvm::Error error = lower(again))
      return error;
    if (again) {
      module_ = unconfigured_->clone();
      proof_ = evaluationProof_ = Proof();
    }
  }
  if (makesPrograms())
    if (llvm::Error error = emitPrograms())
      return error;
  if (options_.emit != Emit::SharedObject)
    print();
  if (options_.prove) {
    result_.proof = proof_.json();
    llvm::raw_string_ostream os(result_.proofText);
    proof_.print(os);
    if (llvm::json::Object inner = evaluationProof_.json(); !inner.empty()) {
      evaluationProof_.print(os, "eval: ");
      (*result_.proof)["eval"] = std::move(inner);
    }
  }
  // Everything else has been made, so the compilation goes on.
  if (!stateError_.empty())
    return failedWith(stateError_ + "; the search cannot be resumed");
  return llvm::Error::success();
}
