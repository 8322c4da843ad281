//===- Reference.cpp - The single-device build in a model -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Transforms/StrategyIR.h"

using namespace mlir;
using namespace soap;

/// Places a whole program on the one device of a machine; `json` is the
/// strategy.
static llvm::Error placeOnOneDevice(ModuleOp module, const Topology &machine,
                                    std::string &json) {
  writeTopology(module, machine);
  FailureOr<ModuleProblem> problem = readProblem(module);
  if (failed(problem))
    return llvm::createStringError("the graph cannot be read");
  const OperatorGraph &graph = problem->extracted.graph;
  llvm::Expected<Strategy> strategy =
      expertStrategy("single", problem->get(), 0);
  if (!strategy)
    return strategy.takeError();
  StrategyInfo info;
  info.fingerprint = graph.fingerprint;
  info.topology = problem->topology.name;
  json = toJSON(*strategy, graph, info);
  writeStrategy(problem->extracted, *strategy, problem->topology);
  return llvm::Error::success();
}

/// One device of this machine; where the target cannot look at it, one like the
/// first that the program is for.
static llvm::Expected<Topology> describeDevice(const Target &target,
                                               ModuleOp program) {
  llvm::Expected<Topology> machine = target.describeMachine({});
  soapir::TopologyOp op = soapir::getTopology(program);
  if (machine || !op)
    return machine;
  llvm::consumeError(machine.takeError());
  llvm::Expected<Topology> planned = op.getTopology();
  if (!planned)
    return planned.takeError();
  MachineDevice device;
  device.kind = planned->kindOf(0);
  device.copyBandwidth = device.kind.memoryBandwidth;
  device.memoryBytes = planned->device(0).memoryBytes;
  return Topology::machine(1, device);
}

/// Places the model, partitions and lowers it. Errors may be emitted.
static llvm::Error build(ModuleOp module, ModuleOp model,
                         ModelOptions &options) {
  llvm::Expected<Topology> machine = describeDevice(*options.target, module);
  if (!machine)
    return machine.takeError();
  if (llvm::Error error = placeOnOneDevice(module, *machine, options.strategy))
    return error;
  ModuleOp evaluation = nn::findEvaluation(module);
  std::string evaluationStrategy;
  if (evaluation)
    if (llvm::Error error =
            placeOnOneDevice(evaluation, *machine, evaluationStrategy))
      return error;
  PassManager partition(module.getContext());
  buildPartitionPipeline(partition, "");
  if (failed(partition.run(module)) ||
      (evaluation && failed(partition.run(evaluation))))
    return llvm::createStringError("the model cannot be partitioned");
  if (ModuleOp kernels = NativeKernels(model).getModule())
    module.push_back(kernels.clone());
  PassManager lower(module.getContext());
  // Row-major, so that orders are compared with none, and all kernels apart.
  LowerChoices none;
  none.layouts = none.followers = false;
  buildLowerPipeline(lower, *options.target, none);
  if (failed(lower.run(module)))
    return llvm::createStringError("the model cannot be lowered");
  return llvm::Error::success();
}

llvm::Error soap::buildReference(ReferenceBuild &reference, ModuleOp model,
                                 const ModelOptions &options) {
  reference.options = options;
  reference.options.coresPerDevice = 0;
  reference.options.machineDevices = 0;
  // Convolutions as they are defined, so that Winograd's are compared with
  // them.
  reference.options.winograd = false;
  reference.options.simulatedNs.clear();
  reference.options.simulated.clear();
  // The model itself is correct, so that an error here is not one of the
  // compilation.
  std::string reason;
  ScopedDiagnosticHandler diagnostics(
      model.getContext(), [&](Diagnostic &diagnostic) {
        if (reason.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          reason = diagnostic.str();
      });
  llvm::Error error = build(reference.module, model, reference.options);
  if (!error || reason.empty())
    return error;
  llvm::consumeError(std::move(error));
  return llvm::createStringError(reason);
}
