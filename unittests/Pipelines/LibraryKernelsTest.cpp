//===- LibraryKernelsTest.cpp - The library has what is left to it --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `isLibraryKernel` promises of the CPU library (oneDNN), it has: random
// operations under random strategies, whose tiles have pads, dilations and
// extents that no model states. SOAP_TEST_SEED and SOAP_TEST_CASES (per kind of
// operation) set the seed and the amount.
//
//===----------------------------------------------------------------------===//

#include "../FromEnvironment.h"
#include "../NN/RandomOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Pipelines/SimulatedProgram.h"
#include "soap/Target/Memory/LibraryMemory.h"
#include "soap/Target/Model/Model.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace soap;
using soap::test::fromEnvironment;

namespace {
/// A model of one operation of `kind`, all of whose operands are inputs.
OwningOpRef<ModuleOp> buildModel(MLIRContext &context, StringRef kind,
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

TEST(LibraryKernels, TheLibraryHasAllOfEveryTile) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, nn::NNDialect, ir::SOAPDialect>();
  context.disableMultithreading();
  DeviceKind device;
  device.name = "cpu";
  Topology topology = Topology::machine(
      4, device, /*copyBandwidth=*/5e9, /*latencyNs=*/1000, /*memoryBytes=*/0,
      /*coresPerDevice=*/1, /*occupiesReceiver=*/false);
  ModelOptions options;
  options.target = NativeTarget::host();
  options.coresPerDevice = 1;

  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  uint64_t cases = fromEnvironment("SOAP_TEST_CASES", 150);
  for (StringRef kind : {"nn.conv", "nn.matmul", "nn.max_pool", "nn.avg_pool",
                         "nn.softmax", "nn.lrn"}) {
    int64_t inLibrary = 0;
    for (uint64_t i = 0; i != cases; ++i) {
      SCOPED_TRACE(kind.str() + " case " + std::to_string(i) + " of seed " +
                   std::to_string(seed));
      nn::test::Random random(seed * 1000003 + i);
      OwningOpRef<ModuleOp> module = buildModel(context, kind, random);
      writeTopology(*module, topology);
      FailureOr<ModuleProblem> problem = readProblem(*module);
      ASSERT_TRUE(succeeded(problem));
      llvm::Expected<Strategy> strategy =
          expertStrategy("random", problem->extracted.graph, topology,
                         problem->costs, seed + i);
      ASSERT_TRUE(bool(strategy)) << llvm::toString(strategy.takeError());
      writeStrategy(problem->extracted, *strategy, topology);
      PassManager passes(&context);
      buildPartitionPipeline(passes);
      buildLowerPipeline(passes);
      ASSERT_TRUE(succeeded(passes.run(*module)));
      for (auto kernel : module->getOps<soaprt::KernelOp>())
        inLibrary += !kernel.getNative();
      llvm::Error error = planLibraryMemory(*module, options);
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    }
    // Others are native: LRN of an even size, pads that count in part.
    EXPECT_GT(inLibrary, int64_t(cases) / 5) << kind.str();
  }
}
} // namespace
