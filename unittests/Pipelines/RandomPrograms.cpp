//===- RandomPrograms.cpp - Programs of random operations -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomPrograms.h"
#include "Dialect/NN/RandomOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Transforms/StrategyIR.h"

using namespace mlir;
using namespace soap;
using namespace soap::test;

static Topology fourDevices(const Target &target) {
  DeviceKind kind;
  kind.name = target.getName().str();
  kind.alignment = target.getAlignment();
  return Topology::machine(4, kind, /*copyBandwidth=*/5e9, /*latencyNs=*/1000,
                           /*memoryBytes=*/0, /*coresPerDevice=*/1,
                           /*occupiesReceiver=*/false);
}

RandomPrograms::RandomPrograms(const Target &target)
    : target(target), topology(fourDevices(target)) {
  context.loadDialect<func::FuncDialect, nn::NNDialect, soapir::SOAPDialect>();
  context.disableMultithreading();
}

/// A model of one operation of `kind`, all of whose operands are inputs.
static OwningOpRef<ModuleOp> buildModel(MLIRContext &context, StringRef kind,
                                        nn::test::Random &random) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
  builder.setInsertionPointToEnd(module->getBody());
  auto main = builder.create<func::FuncOp>(loc, "main",
                                           builder.getFunctionType({}, {}));
  Block &block = *main.addEntryBlock();
  Operation *op = nn::test::buildRandomOp(block, kind, random, &context);
  builder.setInsertionPointToStart(&block);
  for (BlockArgument operand : block.getArguments()) {
    auto input = builder.create<nn::InputOp>(loc, operand.getType());
    input.setSampleDims({});
    nn::setName(input, "x" + Twine(operand.getArgNumber()));
    operand.replaceAllUsesWith(input);
  }
  block.eraseArguments(0, block.getNumArguments());
  builder.setInsertionPointToEnd(&block);
  for (OpResult result : op->getResults())
    nn::setName(builder.create<nn::OutputOp>(loc, result),
                "y" + Twine(result.getResultNumber()));
  builder.create<func::ReturnOp>(loc);
  return module;
}

OwningOpRef<ModuleOp> RandomPrograms::make(StringRef kind, uint64_t seed) {
  nn::test::Random random(seed);
  OwningOpRef<ModuleOp> module = buildModel(context, kind, random);
  writeTopology(*module, topology);
  FailureOr<ModuleProblem> problem = readProblem(*module);
  if (failed(problem)) {
    ADD_FAILURE() << "the graph cannot be read";
    return {};
  }
  llvm::Expected<Strategy> strategy = expertStrategy(
      "random", {problem->extracted.graph, topology, problem->costs}, seed);
  if (!strategy) {
    ADD_FAILURE() << llvm::toString(strategy.takeError());
    return {};
  }
  writeStrategy(problem->extracted, *strategy, topology);
  PassManager passes(&context);
  buildPartitionPipeline(passes);
  buildLowerPipeline(passes, target);
  if (failed(passes.run(*module))) {
    ADD_FAILURE() << "the strategy cannot be lowered";
    return {};
  }
  return module;
}
