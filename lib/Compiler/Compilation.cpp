//===- Compilation.cpp - One compilation ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Target/TargetRegistry.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace soap;

Compilation::Compilation(const ModelSource &source,
                         const CompilerOptions &options,
                         const CompilerCallbacks &callbacks,
                         const nn::Files &files, const Target &target,
                         MLIRContext &context, CompilationResult &result)
    : source(source), options(options), callbacks(callbacks), files(files),
      target(target), context(context), result(result),
      stageBegun(std::chrono::steady_clock::now()) {
  model.name = llvm::sys::path::stem(source.path).str();
  model.target = &target;
  model.coresPerDevice = options.coresPerDevice;
  model.tiles = options.reference;
  model.files = files;
  model.temporaryFile = callbacks.temporaryFile;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Proceed Compilation::ask(const CompilerProgress &progress) {
  Proceed proceed =
      callbacks.progress ? callbacks.progress(progress) : Proceed::Continue;
  cancelled |= proceed == Proceed::Cancel;
  return proceed;
}

void Compilation::endStage() {
  auto now = std::chrono::steady_clock::now();
  result.seconds[static_cast<size_t>(stage)] +=
      std::chrono::duration<double>(now - stageBegun).count();
  stageBegun = now;
}

llvm::Error Compilation::begin(Stage next) {
  endStage();
  stage = next;
  if (!cancelled)
    (void)ask({next, nullptr});
  if (!cancelled)
    return llvm::Error::success();
  return makeError(Kind::Cancelled,
                   "the compilation was cancelled before this stage: " +
                       stringify(next));
}

TimingScope Compilation::nest(StringRef what) {
  return callbacks.timing ? callbacks.timing->nest(what) : TimingScope();
}

void Compilation::tell(Severity severity, const Twine &text) const {
  if (callbacks.message)
    callbacks.message(severity, text.str());
}

llvm::Error
Compilation::runPasses(llvm::function_ref<void(OpPassManager &)> build,
                       StringRef what, Kind kind) {
  TimingScope scope = nest(what);
  PassManager passes(&context);
  passes.enableVerifier(true);
  build(passes);
  passes.enableTiming(scope);
  return emitted(passes.run(*module), kind);
}

//===----------------------------------------------------------------------===//
// From a model to tasks
//===----------------------------------------------------------------------===//

llvm::Error Compilation::parseModule() {
  auto buffer = files.open(source.path);
  if (!buffer)
    return badInput("expected a readable file, got: '" + source.path +
                    "': " + llvm::toString(buffer.takeError()));
  // The parser needs a NUL behind the text.
  module = parseSourceString<ModuleOp>((*buffer)->getBuffer().str(), &context,
                                       source.path);
  if (!module)
    return emitted(mlir::failure(), Kind::BadInput);
  if (!module->getOps<soaprt::DeviceOp>().empty())
    return badInput("expected what --emit=nn, strategy or soap prints, got: '" +
                    source.path +
                    "', whose programs are planned; compile what --emit=soap "
                    "prints");
  level = levelOf(*module);
  if (options.import.initWeightsSeed)
    initializeWeights(*module, *options.import.initWeightsSeed, files);
  return llvm::Error::success();
}

llvm::Error Compilation::importModel() {
  if (llvm::Error error = begin(Stage::Import))
    return error;
  TimingScope scope = nest("import");
  if (StringRef(source.path).ends_with(".mlir"))
    return parseModule();
  ONNXImportOptions how = options.import;
  how.files = files;
  if (!how.evaluate)
    if (Evaluator evaluator = registeredEvaluator())
      how.evaluate = evaluator;
  auto imported = importONNX(source.path, how, context);
  if (!imported)
    return badInput(imported.takeError());
  module = std::move(*imported);
  return llvm::Error::success();
}

llvm::Error Compilation::prepareGraph() {
  if (llvm::Error error = begin(Stage::Normalize))
    return error;
  llvm::Error normal = runPasses(
      [&](OpPassManager &passes) {
        buildNormalizePipeline(passes, options.unrollRNN);
      },
      "normalize", Kind::BadInput);
  if (normal || options.emit == Emit::NN)
    return normal;
  if (options.emit == Emit::SharedObject && options.reference)
    normalized = module->clone();
  if (llvm::Error error = attachTopology())
    return error;
  if (options.emit != Emit::Report && strategyName() == "search")
    unconfigured = module->clone();
  return llvm::Error::success();
}

llvm::Error Compilation::makeTasks() {
  if (llvm::Error error = configure())
    return error;
  if (options.prove && failed(proof.provePlans(*simulated, module->getLoc())))
    return emitted(mlir::failure(), Kind::Failed);
  if (options.emit == Emit::Strategy)
    return llvm::Error::success();
  if (llvm::Error error = begin(Stage::Partition))
    return error;
  // What the strategy asks for may not fit: bad input, not a failure.
  if (llvm::Error error = runPasses(
          [&](OpPassManager &passes) {
            buildPartitionPipeline(passes, options.costFile);
          },
          "partition", Kind::BadInput))
    return error;
  TimingScope scope = nest("compare with the simulation");
  FailureOr<func::FuncOp> main = getMainFunction(*module);
  return emitted(failed(main) ? mlir::failure() : simulated->compare(*main),
                 Kind::Failed);
}

//===----------------------------------------------------------------------===//
// From tasks to programs
//===----------------------------------------------------------------------===//

llvm::Error Compilation::lower(bool &again) {
  if (llvm::Error error = begin(Stage::Lower))
    return error;
  // What was simulated is what runs, also where devices have nothing to do.
  if (soapir::TopologyOp machine = soapir::getTopology(*module))
    model.machineDevices = static_cast<uint32_t>(machine.getNumDevices());
  if (llvm::Error error = runPasses(
          [&](OpPassManager &passes) { buildLowerPipeline(passes, target); },
          "lower", Kind::Failed))
    return error;
  if (failed(movements.compare(*module)))
    return emitted(mlir::failure(), Kind::Failed);
  if (llvm::Error error = begin(Stage::LibraryMemory))
    return error;
  return planMemory(again);
}

llvm::Error Compilation::run() {
  auto finish = llvm::make_scope_exit([&] { endStage(); });
  auto print = [&] {
    llvm::raw_string_ostream os(result.text);
    module->print(os);
    os << "\n";
  };
  if (options.emit == Emit::Topology) {
    llvm::Expected<Topology> topology = describeTopology();
    if (!topology)
      return topology.takeError();
    result.text = topology->toJSON();
    return llvm::Error::success();
  }
  if (llvm::Error error = importModel())
    return error;
  bool isGraph = level != Level::Tasks;
  if (llvm::Error error = isGraph ? prepareGraph() : checkTasks())
    return error;
  if (options.emit == Emit::Report)
    return report();
  for (bool again = options.emit != Emit::NN; again;) {
    if (isGraph)
      if (llvm::Error error = makeTasks())
        return error;
    if (options.emit == Emit::Strategy)
      break;
    if (options.prove && failed(proof.proveTasks(*module, simulated.get())))
      return emitted(mlir::failure(), Kind::Failed);
    if (options.emit == Emit::SOAP)
      break;
    again = false;
    if (llvm::Error error = lower(again))
      return error;
    if (again) {
      module = unconfigured->clone();
      proof = Proof();
    }
  }
  bool planned = options.emit == Emit::SOAPRT || options.emit == Emit::LLVM ||
                 options.emit == Emit::SharedObject;
  if (planned)
    if (llvm::Error error = emitPrograms())
      return error;
  if (options.emit != Emit::SharedObject)
    print();
  if (options.prove) {
    result.proof = proof.json();
    llvm::raw_string_ostream os(result.proofText);
    proof.print(os);
  }
  // Everything else was made all the same.
  if (!stateError.empty())
    return failedWith(stateError + "; the search cannot be resumed");
  return llvm::Error::success();
}
