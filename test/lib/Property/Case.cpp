//===- Case.cpp - One graph under several strategies ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Case.h"
#include "Adapt.h"
#include "Aim.h"
#include "Coverage.h"
#include "EmulatedTarget.h"
#include "Execution.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Target/CPU/Evaluate.h"
#include "soap/Target/Model/MemoryPlan.h"
#include "soap/Target/Model/Model.h"
#include "soap/Target/ONNX/Import.h"
#include "soap/Transforms/MarkFollowers.h"
#include "soap/Verification/Proof.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <set>

using namespace mlir;
using namespace soap;
using namespace soap::property;
namespace json = llvm::json;

static std::string printed(const json::Value &value) {
  return llvm::formatv("{0}", value).str();
}

Case::Case(MLIRContext &context, NativeCode &code, std::string folder)
    : context_(context), code_(code), folder_(std::move(folder)) {
  handler_ = context.getDiagEngine().registerHandler([this](Diagnostic &said) {
    if (said.getSeverity() != DiagnosticSeverity::Error)
      return;
    if (!diagnostics_.empty())
      diagnostics_ += "; ";
    diagnostics_ += said.str();
  });
}

Case::~Case() { context_.getDiagEngine().eraseHandler(handler_); }

llvm::Error Case::fail(StringRef what) {
  std::string text = (what + ": " + diagnostics_).str();
  diagnostics_.clear();
  return llvm::createStringError(text);
}

bool Case::runPasses(ModuleOp module,
                     llvm::function_ref<void(OpPassManager &)> build) {
  PassManager passes(&context_);
  build(passes);
  return succeeded(passes.run(module));
}

/// What `train` asks for, before the graph is normalized.
static void addTraining(OpPassManager &passes, const json::Object &train,
                        int64_t unrollRNN) {
  if (unrollRNN != 0) {
    nn::UnrollRNNPassOptions unroll;
    unroll.chunk = unrollRNN;
    passes.addNestedPass<func::FuncOp>(nn::createUnrollRNNPass(unroll));
  }
  nn::BuildTrainingStepPassOptions how;
  how.loss = "mean-squared-error";
  how.output = train.getString("output").value_or("").str();
  how.optimizer = "sgd";
  how.lr = train.getNumber("lr").value_or(0);
  how.momentum = train.getNumber("momentum").value_or(0);
  how.clipNorm = train.getNumber("clip").value_or(0);
  how.evaluation = true;
  how.accumulate = train.getInteger("accumulate").value_or(1);
  how.batchNormVariance = "shifted";
  if (std::optional<int64_t> parts = train.getInteger("parts")) {
    how.batchNorm = "local";
    how.batchNormParts = *parts;
  }
  passes.addPass(nn::createBuildTrainingStepPass(how));
  if (auto operations = train.getString("recompute")) {
    nn::RecomputePassOptions recompute;
    recompute.ops = SmallVector<std::string>{operations->str()};
    passes.addNestedPass<func::FuncOp>(nn::createRecomputePass(recompute));
  }
}

/// The modules of a model's programs.
static SmallVector<ModuleOp, 2> programsOf(ModuleOp model) {
  SmallVector<ModuleOp, 2> programs = {model};
  if (ModuleOp evaluation = nn::findEvaluation(model))
    programs.push_back(evaluation);
  return programs;
}

/// The names of operations that are parts of fused ones: those are split along
/// the loops of their parts.
static json::Array fusedParts(ModuleOp model) {
  std::set<StringRef> names;
  model.walk([&](Operation *op) {
    if (nn::getFusedBody(op->getParentOp()))
      names.insert(op->getName().getStringRef());
  });
  json::Array result;
  for (StringRef name : names)
    result.push_back(name);
  return result;
}

/// The target that SOAP_TEST_TARGET names; the code of both is the CPU's.
static std::unique_ptr<CPUTarget> chosenTarget() {
  const char *name = std::getenv("SOAP_TEST_TARGET");
  if (name && StringRef(name) == "emulated")
    return std::make_unique<test::EmulatedTarget>(HostProcessor::host());
  return std::make_unique<CPUTarget>(HostProcessor::host());
}

llvm::Error Case::import(StringRef path, const Form &form) {
  const json::Object *train = form.train;
  ONNXImportOptions options;
  options.evaluate = evaluateNatively;
  options.padSelections = true;
  options.training = train != nullptr;
  auto imported = importONNX(path, options, context_);
  if (!imported)
    return imported.takeError();
  model_ = std::move(*imported);
  if (train)
    trainingSteps_ = train->getInteger("steps").value_or(1);
  if (!runPasses(*model_, [&](OpPassManager &passes) {
        if (train)
          addTraining(passes, *train, form.unrollRNN);
      }))
    return fail("training step");
  auto say = [&](ModuleOp program, StringRef attribute, StringRef option) {
    if (auto bytes = train ? train->getInteger(option) : std::nullopt)
      program.lookupSymbol("main")->setAttr(
          attribute, IntegerAttr::get(IntegerType::get(&context_, 64), *bytes));
  };
  choices_.followers = form.fuse;
  choices_.keepNaN = train != nullptr;
  say(*model_, soapir::SOAPDialect::getBucketBytesAttrName(), "buckets");
  for (ModuleOp program : programsOf(*model_))
    say(program, soapir::SOAPDialect::getPrefetchBytesAttrName(), "prefetch");
  for (ModuleOp program : programsOf(*model_))
    if (!runPasses(program, [&](OpPassManager &passes) {
          NormalizeChoices normal;
          normal.unrollRNN = form.unrollRNN;
          normal.precision = form.precision;
          // What other targets choose is right on this one, too.
          normal.separateBias = form.fuse;
          if (form.fuse && form.precision != "f32")
            normal.rounding = form.roundBias ? ProductRounding::SumAlone
                                             : ProductRounding::BehindFollowers;
          normal.rowAlignment = form.fuse ? 16 : 1;
          buildNormalizePipeline(passes, normal);
          if (form.fuse)
            buildFusePipeline(passes, chosenTarget()->hasAttention(),
                              normal.rounding);
        }))
      return fail("normalize");
  return llvm::Error::success();
}

/// An update that the devices which would have copies of it share, in tiles
/// that may differ in size; none if there are other tiles already, or a device
/// would have none.
static std::optional<Configuration> unevenShards(const Strategy &strategy,
                                                 const OperatorGraph &graph,
                                                 int32_t update) {
  Configuration config = followingUpdate(strategy, graph, update);
  int32_t copies = config.degrees.replicate;
  std::set<int32_t> distinct(config.devices.begin(), config.devices.end());
  if (copies == 1 || config.degrees.numTiles() != 1 ||
      distinct.size() != static_cast<size_t>(copies))
    return std::nullopt;
  for (auto [degree, loop] :
       llvm::zip_equal(config.degrees.loops,
                       graph.node(graph.update(update).front()).spec.loops))
    if (loop.extent >= copies) {
      degree = std::exchange(config.degrees.replicate, 1);
      return config;
    }
  return std::nullopt;
}

/// Shards updates over the devices that have copies, as "zero-1" and "fsdp" do,
/// however small their parameters are, and evenly or not.
static void shardUpdates(Strategy &strategy, const OperatorGraph &graph,
                         const Topology &topology, bool regather) {
  for (int32_t update = 0; update < graph.numUpdates(); ++update) {
    auto shards = shardedUpdate(strategy, graph, update, /*leastElements=*/1);
    if (!shards)
      shards = unevenShards(strategy, graph, update);
    if (!shards)
      continue;
    assignUpdate(strategy, graph, update, *shards);
    setRegathered(strategy, graph, update, regather);
  }
  deriveEnds(strategy, graph, topology);
}

/// Collectives that reduce several gradients to shards.
static int64_t countBucketsOfShares(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](soapir::ReduceScatterOp op) {
    soapir::ReductionOpInterface reduction = op;
    count +=
        !reduction.joinsPrevious() && reduction.isJoinedBy(op->getNextNode());
  });
  return count;
}

/// Collectives on the priority streams.
static int64_t countPriority(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](soapir::CommunicationOpInterface op) {
    auto reduction = dyn_cast<soapir::ReductionOpInterface>(*op);
    count += op.getPriority() && !(reduction && reduction.joinsPrevious());
  });
  return count;
}

llvm::Expected<Strategy> Case::chooseStrategy(const ModuleProblem &problem,
                                              const json::Object &request,
                                              StringRef name) {
  const OperatorGraph &graph = problem.extracted.graph;
  if (!name.empty()) {
    llvm::Expected<Strategy> strategy = expertStrategy(
        name, problem.get(), request.getInteger("seed").value_or(0));
    const json::Object *aim = request.getObject("split");
    if (strategy && aim)
      if (llvm::Error error = aimStrategy(*strategy, *aim, graph,
                                          problem.topology.numDevices()))
        return std::move(error);
    if (std::optional<StringRef> shards = request.getString("shard");
        strategy && shards)
      shardUpdates(*strategy, graph, problem.topology, *shards == "fsdp");
    return strategy;
  }
  const json::Object *file = request.getObject("strategy");
  if (!file)
    return llvm::createStringError("expected a strategy, got: none");
  json::Object object = request.getBoolean("adapt").value_or(false)
                            ? adaptStrategy(*file, graph, problem.topology)
                            : *file;
  return parseStrategy(printed(std::move(object)), problem.get());
}

/// The first difference between what was planned and what was counted, or "".
static std::string compareMovements(const json::Array &planned,
                                    const json::Array &counted) {
  auto sorted = [](const json::Array &movements) {
    std::vector<std::string> texts;
    for (const json::Value &movement : movements)
      texts.push_back(printed(movement));
    llvm::sort(texts);
    return texts;
  };
  std::vector<std::string> expected = sorted(planned), got = sorted(counted);
  auto [left, right] =
      std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  if (left == expected.end() && right == got.end())
    return "";
  return "expected the movements that were planned, " +
         (left == expected.end() ? "no more" : *left) +
         ", got: " + (right == got.end() ? "no more" : *right);
}

llvm::Error Case::partition(ModuleOp module, const ModuleProblem &problem,
                            const Strategy &strategy, const Topology &topology,
                            std::vector<MovementList> &movements) {
  SimulatedProgram simulated(problem, strategy);
  Proof proof;
  if (failed(proof.provePlans(simulated, module.getLoc())))
    return fail("proof of plans");
  writeStrategy(problem.extracted, strategy, topology);
  if (!runPasses(module,
                 [](OpPassManager &passes) { buildPartitionPipeline(passes); }))
    return fail("partition");
  FailureOr<func::FuncOp> main = getMainFunction(module);
  if (failed(main) || failed(simulated.compare(*main)))
    return fail("compare with the simulation");
  if (failed(proof.proveTasks(module, &simulated)))
    return fail("proof of tasks");
  movements.push_back(simulated.movements());
  return llvm::Error::success();
}

llvm::Expected<json::Object>
Case::run(const json::Object &request,
          const llvm::StringMap<std::string> &inputs, StringRef output) {
  OwningOpRef<ModuleOp> module(model_->clone());
  std::unique_ptr<CPUTarget> chosen = chosenTarget();
  CPUTarget &target = *chosen;
  MachineRequest machine;
  machine.devices =
      static_cast<int32_t>(request.getInteger("devices").value_or(1));
  machine.coresPerDevice = 1;
  auto topology = target.describeMachine(machine);
  if (!topology)
    return topology.takeError();
  topology->priorityBytes = request.getInteger("priority").value_or(0);
  writeTopology(*module, *topology);
  // Simulations of the graph and of its tasks know what follows what.
  for (ModuleOp program : programsOf(*module))
    if (choices_.followers &&
        mlir::failed(markFollowers(program, target, choices_.keepNaN)))
      return fail("followers");
  FailureOr<ModuleProblem> problem = readProblem(*module);
  if (failed(problem))
    return fail("graph");
  const OperatorGraph &graph = problem->extracted.graph;
  StringRef name = request.getString("strategy").value_or("");
  llvm::Expected<Strategy> strategy = chooseStrategy(*problem, request, name);
  if (!strategy)
    return strategy.takeError();

  StrategyInfo info;
  info.fingerprint = graph.fingerprint;
  info.topology = topology->name;
  json::Object result;
  auto text = json::parse(toJSON(*strategy, graph, info));
  if (!text)
    return text.takeError();
  result["strategy"] = std::move(*text);
  json::Object coverage = coverageOf(graph, *strategy, *topology);
  coverage["parts"] = fusedParts(*model_);
  result["coverage"] = std::move(coverage);
  // What fails from here on is the strategy's failure.
  auto failed = [&](llvm::Error error) {
    result["error"] = llvm::toString(std::move(error));
    return std::move(result);
  };

  std::vector<MovementList> movements;
  if (llvm::Error error =
          partition(*module, *problem, *strategy, *topology, movements))
    return failed(std::move(error));
  result["shares"] = countBucketsOfShares(*module);
  result["priority"] = countPriority(*module);
  if (ModuleOp evaluation = nn::findEvaluation(*module)) {
    writeTopology(evaluation, *topology);
    FailureOr<ModuleProblem> inner = readProblem(evaluation);
    if (mlir::failed(inner))
      return failed(fail("graph of the evaluation"));
    Strategy follows =
        evaluationStrategy(graph, *strategy, inner->extracted.graph, *topology);
    if (llvm::Error mistake =
            verify(follows, inner->extracted.graph, *topology))
      return failed(std::move(mistake));
    if (llvm::Error error =
            partition(evaluation, *inner, follows, *topology, movements))
      return failed(std::move(error));
  }
  auto planned = json::parse(movements.back().json());
  if (!planned)
    return planned.takeError();
  auto lower = [&](OpPassManager &passes) {
    buildLowerPipeline(passes, target, choices_);
  };
  if (!runPasses(*module, lower))
    return failed(fail("lower"));
  for (auto [number, moved] : llvm::enumerate(movements))
    if (mlir::failed(moved.compare(*module, number)))
      return failed(fail("movements of programs"));
  Proof proof;

  ModelOptions options;
  options.name = "case";
  options.target = &target;
  options.coresPerDevice = 1;
  if (llvm::Error error = planLibraryMemory(*module, options))
    return failed(std::move(error));
  if (mlir::failed(proof.provePrograms(*module)))
    return failed(fail("proof of programs"));
  FailureOr<std::vector<soap_native_kernel>> natives = code_.kernelsOf(*module);
  if (mlir::failed(natives))
    return failed(fail("native kernels"));
  WeightsFile weights;
  FailureOr<std::string> tables =
      emitTables(*module, options, weights, "case.safetensors");
  if (mlir::failed(tables))
    return failed(fail("tables"));
  if (!weights.empty()) {
    auto digest = weights.write(folder_ + "/case.safetensors");
    if (!digest)
      return failed(digest.takeError());
    setWeightsDigest(*tables, *digest);
  }

  llvm::Expected<Executed> executed =
      execute(*tables, *natives, folder_, inputs, trainingSteps_);
  if (!executed)
    return failed(executed.takeError());
  std::error_code code;
  llvm::raw_fd_ostream file(output, code);
  file << executed->outputs;
  file.close();
  if (code || file.has_error()) {
    file.clear_error();
    return llvm::createStringError("expected to write '" + output + "'");
  }
  result["outputs"] = std::move(executed->names);
  if (trainingSteps_ != 0) {
    result["shapes"] = std::move(executed->shapes);
    result["types"] = std::move(executed->types);
  }
  result["movements"] = static_cast<int64_t>(executed->movements.size());
  if (std::string difference = compareMovements(
          *planned->getAsObject()->getArray("movements"), executed->movements);
      !difference.empty())
    return failed(llvm::createStringError(difference));
  return result;
}
