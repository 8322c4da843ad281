//===- SimulatedProgramTest.cpp - What is simulated is what runs ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The comparison that every compilation makes: it accepts the programs of a
// strategy, at both levels, and notices those of another one.
//
//===----------------------------------------------------------------------===//

#include "soap/Verification/SimulatedProgram.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Target/CPU/CPUTarget.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace soap;

namespace {
/// Two branches that meet.
const char *const model = R"mlir(
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x16xf32> from #nn.splat<1.0 : f32>
  %a = nn.matmul %x, %w {nn.name = "a"} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = nn.tanh %a {nn.name = "b"} : tensor<4x16xf32>
  %c = nn.softmax %a {nn.name = "c", axis = 1 : i64} : tensor<4x16xf32>
  nn.output %c {nn.name = "raw"} : tensor<4x16xf32>
  %d = nn.add %b, %c {nn.name = "d"} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  nn.output %d {nn.name = "out"} : tensor<4x16xf32>
  return
}
)mlir";

class SimulatedProgramTest : public testing::Test {
protected:
  SimulatedProgramTest() {
    context_
        .loadDialect<func::FuncDialect, nn::NNDialect, soapir::SOAPDialect>();
    DeviceKind kind;
    kind.name = "cpu";
    topology_ = Topology::machine(2, {kind, /*copyBandwidth=*/5e9,
                                      /*latencyNs=*/1000, /*memoryBytes=*/0,
                                      /*coresPerDevice=*/1,
                                      /*occupiesReceiver=*/false});
  }

  ModuleProblem parse() {
    module_ = parseSourceString<ModuleOp>(model, &context_);
    writeTopology(*module_, topology_);
    FailureOr<ModuleProblem> problem = readProblem(*module_);
    EXPECT_TRUE(succeeded(problem));
    return std::move(*problem);
  }

  Strategy expert(const ModuleProblem &problem, StringRef name,
                  uint64_t seed = 0) {
    return llvm::cantFail(expertStrategy(name, problem.get(), seed));
  }

  void partition(const ModuleProblem &problem, const Strategy &strategy) {
    writeStrategy(problem.extracted, strategy, topology_);
    PassManager passes(&context_);
    buildPartitionPipeline(passes);
    ASSERT_TRUE(succeeded(passes.run(*module_)));
  }

  func::FuncOp main() { return *getMainFunction(*module_); }

  void lower() {
    PassManager passes(&context_);
    CPUTarget target(HostProcessor::host());
    buildLowerPipeline(passes, target);
    ASSERT_TRUE(succeeded(passes.run(*module_)));
  }

  /// The error of a comparison that has to fail.
  template <typename OpT>
  std::string errorOf(const SimulatedProgram &simulated, OpT op) {
    std::string text;
    ScopedDiagnosticHandler handler(&context_, [&](Diagnostic &diagnostic) {
      text = diagnostic.str();
      return success();
    });
    EXPECT_TRUE(failed(simulated.compare(op)));
    return text;
  }

  MLIRContext context_;
  Topology topology_;
  OwningOpRef<ModuleOp> module_;
};
} // namespace

TEST_F(SimulatedProgramTest, AcceptsThePrograms) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    ModuleProblem problem = parse();
    Strategy strategy = seed == 0   ? expert(problem, "data-parallel")
                        : seed == 1 ? expert(problem, "model-parallel")
                                    : expert(problem, "random", seed);
    if (seed % 2)
      strategy.order = fifoOrder(problem.get(), strategy);
    SimulatedProgram simulated(problem, strategy);
    EXPECT_GT(simulated.stepNs(), 0);
    partition(problem, strategy);
    EXPECT_TRUE(succeeded(simulated.compare(main())));
    lower();
    EXPECT_TRUE(succeeded(simulated.compare(*module_)));
  }
}

TEST_F(SimulatedProgramTest, NoticesOtherMovements) {
  ModuleProblem problem = parse();
  SimulatedProgram other(problem, expert(problem, "model-parallel"));
  partition(problem, expert(problem, "data-parallel"));
  EXPECT_NE(errorOf(other, main()).find("expected the movements"),
            std::string::npos);
  lower();
  EXPECT_NE(errorOf(other, *module_).find("expected the movements"),
            std::string::npos);
}

TEST_F(SimulatedProgramTest, NoticesAnotherOrder) {
  ModuleProblem problem = parse();
  // `b` runs before `c` on the same device, and `d` waits for both.
  Strategy strategy = expert(problem, "single");
  int32_t b = problem.extracted.graph.find("b"),
          c = problem.extracted.graph.find("c");
  SimulatedProgram simulated(problem, strategy);
  Strategy swapped = strategy;
  for (int32_t id = 0; id < problem.extracted.graph.numNodes(); ++id)
    swapped.order.push_back(id == b ? c : id == c ? b : id);
  partition(problem, swapped);
  EXPECT_NE(errorOf(simulated, main()).find("to end at"), std::string::npos);
}

TEST_F(SimulatedProgramTest, WritesMovements) {
  ModuleProblem problem = parse();
  SimulatedProgram simulated(problem, expert(problem, "data-parallel"));
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse(simulated.movements().json());
  ASSERT_TRUE(static_cast<bool>(json));
  const llvm::json::Array *list = json->getAsObject()->getArray("movements");
  ASSERT_TRUE(list);
  // Half of the input to each device, half of the outputs from each.
  ASSERT_EQ(list->size(), 6u);
  const llvm::json::Object *feed = (*list)[0].getAsObject();
  EXPECT_EQ(feed->getString("phase"), "feed");
  EXPECT_EQ(feed->getString("kind"), "transfer");
  EXPECT_EQ(*feed->getArray("devices"), (llvm::json::Array{-1, 0}));
  EXPECT_EQ(*feed->getArray("bytes"), (llvm::json::Array{2 * 8 * 4}));
}
