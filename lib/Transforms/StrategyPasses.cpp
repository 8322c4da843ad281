//===- StrategyPasses.cpp - Passes over strategies ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Support/FileUtilities.h"
#include "soap/CostModel/GeneratedTopologies.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Target/TargetRegistry.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/ScheduleSimulation.h"
#include "soap/Transforms/StrategyChoice.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_ATTACHTOPOLOGYPASS
#define GEN_PASS_DEF_INITSTRATEGYPASS
#define GEN_PASS_DEF_IMPORTSTRATEGYPASS
#define GEN_PASS_DEF_EXPORTSTRATEGYPASS
#define GEN_PASS_DEF_VERIFYSTRATEGYPASS
#define GEN_PASS_DEF_SEARCHPASS
#define GEN_PASS_DEF_SIMULATEPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

/// Emits the text of `error` at `op`.
LogicalResult emit(Operation *op, llvm::Error error) {
  return emitError(op->getLoc(), llvm::toString(std::move(error)));
}

/// A module whose operations are configured.
struct ConfiguredProblem {
  ModuleProblem problem;
  Strategy strategy;
};
FailureOr<ConfiguredProblem> readConfigured(ModuleOp module,
                                            StringRef costFile = "") {
  FailureOr<ModuleProblem> problem = readProblem(module, costFile);
  if (failed(problem))
    return failure();
  FailureOr<Strategy> strategy =
      readStrategy(problem->extracted, problem->topology);
  if (failed(strategy))
    return failure();
  return ConfiguredProblem{std::move(*problem), std::move(*strategy)};
}

struct AttachTopologyPass : impl::AttachTopologyPassBase<AttachTopologyPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<Topology> topology = describe();
    if (!topology) {
      (void)emit(getOperation(), topology.takeError());
      return signalPassFailure();
    }
    writeTopology(getOperation(), *topology);
  }

  llvm::Expected<Topology> describe() {
    if (!file.empty() && !name.empty())
      return llvm::createStringError("expected file= or name=, got: both; "
                                     "leave one of them out");
    if (!file.empty())
      return Topology::load(file);
    if (!name.empty())
      return generateTopology(name);
    llvm::Expected<std::unique_ptr<Target>> created = createTarget(target);
    if (!created)
      return created.takeError();
    MachineRequest request;
    request.devices = devices;
    request.coresPerDevice = coresPerDevice;
    request.calibrationFile = calibration;
    return (*created)->describeMachine(request);
  }
};

/// Chooses a strategy and configures the operations.
FailureOr<ChosenStrategy> choose(ModuleOp module, StrategyRequest request,
                                 StringRef costFile = "") {
  request.takesOrder = false;
  FailureOr<ModuleProblem> problem = readProblem(module, costFile);
  if (failed(problem))
    return failure();
  FailureOr<ChosenStrategy> chosen =
      chooseStrategy(*problem, request, module.getLoc());
  if (succeeded(chosen))
    writeStrategy(problem->extracted, chosen->strategy, problem->topology);
  return chosen;
}

struct InitStrategyPass : impl::InitStrategyPassBase<InitStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    if (llvm::none_of(namedStrategies(), [&](const NamedStrategy &named) {
          return strategy == named.name;
        })) {
      emitError(getOperation().getLoc())
          << "expected a strategy " << namedStrategyNames() << ", got: '"
          << strategy << "'";
      return signalPassFailure();
    }
    StrategyRequest request;
    request.name = strategy;
    request.search.seed = seed;
    if (failed(choose(getOperation(), request)))
      signalPassFailure();
  }
};

struct ImportStrategyPass : impl::ImportStrategyPassBase<ImportStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    StrategyRequest request;
    request.name = file;
    if (!file.empty() && !StringRef(file).ends_with(".json"))
      emitError(getOperation().getLoc())
          << "expected file=FILE.json, a strategy, got: '" << file << "'";
    else if (file.empty())
      emitError(getOperation().getLoc())
          << "expected file=FILE.json, a strategy, got: none";
    else if (succeeded(choose(getOperation(), request)))
      return;
    signalPassFailure();
  }
};

struct ExportStrategyPass : impl::ExportStrategyPassBase<ExportStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<ConfiguredProblem> read = readConfigured(getOperation());
    if (failed(read) || failed(write(read->problem, read->strategy)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult write(const ModuleProblem &problem, const Strategy &strategy) {
    StrategyInfo info;
    info.fingerprint = problem.extracted.graph.fingerprint;
    info.topology = problem.topology.name;
    TaskGraph tasks(problem.extracted.graph, problem.topology, problem.costs);
    tasks.setStrategy(strategy);
    info.simulatedNs = FullSimulator(tasks).stepNs();
    if (file.empty())
      return emitError(getOperation().getLoc(),
                       "expected file=FILE.json to write, got: none");
    std::string message;
    auto output = mlir::openOutputFile(file, &message);
    if (!output)
      return emitError(getOperation().getLoc(), message);
    output->os() << toJSON(strategy, problem.extracted.graph, info) << '\n';
    output->keep();
    return success();
  }
};

struct VerifyStrategyPass : impl::VerifyStrategyPassBase<VerifyStrategyPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<ConfiguredProblem> read = readConfigured(getOperation(), cost);
    if (failed(read))
      return signalPassFailure();
    if (std::string error = read->problem.get().verify(read->strategy);
        !error.empty()) {
      emitError(getOperation().getLoc(), error);
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

struct SearchPass : impl::SearchPassBase<SearchPass> {
  using Base::Base;

  void runOnOperation() override {
    StrategyRequest request;
    request.name = "search";
    request.algorithm = algorithm;
    request.search.budgetSeconds = budget;
    request.search.proposals = proposals;
    request.search.seed = seed;
    FailureOr<ChosenStrategy> chosen = choose(getOperation(), request, cost);
    if (failed(chosen))
      return signalPassFailure();
    if (!chosen->search)
      return;
    numProposals += chosen->search->proposals;
    numAccepted += chosen->search->accepted;
  }
};

struct SimulatePass : impl::SimulatePassBase<SimulatePass> {
  using Base::Base;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && ir::isPartitioned(main)) {
      if (failed(simulateTasks(main)))
        signalPassFailure();
      return;
    }
    FailureOr<ConfiguredProblem> read = readConfigured(getOperation(), cost);
    if (failed(read))
      return signalPassFailure();
    const ModuleProblem &problem = read->problem;
    TaskGraph tasks(problem.extracted.graph, problem.topology, problem.costs);
    tasks.setStrategy(read->strategy);
    SimulationResult result = FullSimulator(tasks).run();
    Builder builder(&getContext());
    getOperation().lookupSymbol("main")->setAttr(
        "soap.simulated_ns", builder.getI64IntegerAttr(result.stepNs));
    if (times)
      annotate(problem.extracted, result);
    if (report)
      printStrategy(llvm::outs(), problem, read->strategy);
  }

  LogicalResult simulateTasks(func::FuncOp main) {
    FailureOr<Topology> topology = readTopology(getOperation());
    FailureOr<CostModel> costs = readCosts(getOperation(), cost);
    if (failed(topology) || failed(costs))
      return failure();
    FailureOr<ScheduleTimes> simulated =
        simulateSchedule(main, *topology, *costs);
    if (failed(simulated))
      return failure();
    main->setAttr("soap.simulated_ns",
                  Builder(&getContext()).getI64IntegerAttr(simulated->stepNs));
    if (times)
      writeTimes(*simulated);
    if (report)
      llvm::outs() << "simulated step time: "
                   << llvm::formatv("{0:f3}", simulated->stepNs / 1e6)
                   << " ms\n";
    return success();
  }

  /// Sets `soap.times` on operations: [device, start, end] of every device.
  static void annotate(const ExtractedGraph &extracted,
                       const SimulationResult &result) {
    for (auto [node, nodeTimes] : llvm::zip(result.nodes, result.times)) {
      if (node.kind != TaskNode::Kind::Compute)
        continue;
      Operation *op = extracted.ops[node.node];
      Builder builder(op->getContext());
      SmallVector<Attribute> rows;
      for (auto [index, device] : llvm::enumerate(node.devices))
        rows.push_back(builder.getDenseI64ArrayAttr(
            {device, nodeTimes.start[index], nodeTimes.end[index]}));
      op->setAttr("soap.times", builder.getArrayAttr(rows));
    }
  }
};

} // namespace
} // namespace soap
