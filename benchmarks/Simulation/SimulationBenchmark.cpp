//===- SimulationBenchmark.cpp - Full simulations of a real model ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   soap-bench-simulation MODEL.onnx BATCH DEVICES...
//
// Full simulations per second of the expert strategies of a model, on one
// thread. Prints one line of JSON per number of devices and strategy.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/Simulator.h"
#include "soap/Target/ONNX/Import.h"
#include "soap/Transforms/OperatorGraphExtraction.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace soap;

/// Simulations per second over at least a quarter of a second.
static double rateOf(FullSimulator &simulator) {
  using Clock = std::chrono::steady_clock;
  int64_t count = 0, sum = 0;
  auto start = Clock::now();
  double seconds = 0;
  while (seconds < 0.25) {
    for (int i = 0; i < 16; ++i, ++count)
      sum += simulator.stepNs();
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return sum < 0 ? 0 : static_cast<double>(count) / seconds;
}

/// What one simulation goes through.
struct Work {
  size_t nodes = 0, taskGroups = 0, actions = 0, members = 0, transfers = 0,
         waits = 0;
};
static Work workOf(const TaskGraph &tasks) {
  Work work;
  work.nodes = tasks.nodes().size();
  for (int32_t node = 0; node < tasks.graph().numNodes(); ++node)
    work.taskGroups += tasks.nodeTasks(node).devices.size();
  for (int32_t value = 0; value < tasks.graph().numValues(); ++value) {
    const detail::ValueTasks &plan = tasks.valueTasks(value);
    for (const detail::ActionTasks &action : plan.actions) {
      ++work.actions;
      work.members += action.devices.size();
      work.transfers += action.transfers.size();
      work.waits += action.packWaits.size() + action.moveWaits.size() +
                    action.producerWaits.size();
    }
    for (const detail::UseTasks &use : plan.uses)
      work.waits += use.unpackWaits.size() + use.computeWaits.size();
  }
  return work;
}

/// A cluster with the ratios of one GPU per device; rates do not matter here.
static Topology cluster(int32_t devices) {
  DeviceKind kind;
  kind.name = "gpu";
  kind.peakFlops = 9e12;
  kind.memoryBandwidth = 5e11;
  return Topology::machine(
      devices, {kind, 1e10, 2000, 0, 0, /*occupiesReceiver=*/false});
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return 2;
}

int main(int argc, char **argv) {
  ONNXImportOptions options;
  int64_t batch;
  if (argc < 4 || llvm::StringRef(argv[2]).getAsInteger(10, batch) || batch < 1)
    return fail("expected MODEL.onnx BATCH DEVICES...");
  options.batch = batch;
  mlir::DialectRegistry registry;
  registry
      .insert<mlir::func::FuncDialect, nn::NNDialect, soapir::SOAPDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = importONNX(argv[1], options, context);
  if (!module)
    return fail(llvm::toString(module.takeError()));
  mlir::PassManager passes(&context);
  buildNormalizePipeline(passes);
  if (mlir::failed(passes.run(**module)))
    return 1;
  auto function = getMainFunction(**module);
  if (mlir::failed(function))
    return 1;
  auto extracted = extractOperatorGraph(*function);
  if (mlir::failed(extracted))
    return 1;

  CostModel costs;
  for (int i = 3; i < argc; ++i) {
    int32_t devices;
    if (llvm::StringRef(argv[i]).getAsInteger(10, devices) || devices < 1)
      return fail("expected a number of devices, got: '" +
                  llvm::Twine(argv[i]) + "'");
    Topology topology = cluster(devices);
    TaskGraph tasks({extracted->graph, topology, costs});
    for (llvm::StringRef name : {"data-parallel", "model-parallel",
                                 "tensor-parallel", "spatial", "random"}) {
      llvm::Expected<Strategy> strategy =
          expertStrategy(name, {extracted->graph, topology, costs}, /*seed=*/1);
      if (!strategy)
        return fail(llvm::toString(strategy.takeError()));
      tasks.setStrategy(*strategy);
      FullSimulator simulator(tasks);
      Work work = workOf(tasks);
      llvm::outs() << llvm::formatv(
          "{{\"devices\": {0}, \"strategy\": \"{1}\", \"nodes\": {2}, "
          "\"task_groups\": {3}, \"actions\": {4}, \"members\": {5}, "
          "\"transfers\": {6}, \"waits\": {7}, \"per_second\": {8:f0}}\n",
          devices, name, work.nodes, work.taskGroups, work.actions,
          work.members, work.transfers, work.waits, rateOf(simulator));
    }
  }
  return 0;
}
