//===- ScheduleSimulationTest.cpp - Times of partitioned IR, by hand ------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/ScheduleSimulation.h"
#include "ExampleGraphs.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Search/Simulator.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/StrategyIR.h"
#include "gtest/gtest.h"
#include <memory>

using namespace mlir;
using namespace soap;

namespace {
/// Two chains of two products: 64 flops, which make 32 bytes, each.
const char *const chains = R"mlir(
func.func @main() {
  %x1 = nn.input {nn.name = "x1"} : tensor<2x4xf32>
  %x2 = nn.input {nn.name = "x2"} : tensor<2x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4xf32> from #nn.splat<1.0 : f32>
  %a1 = nn.matmul %x1, %w {nn.name = "a1"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %v1 = nn.parameter {nn.name = "v1"} : tensor<4x4xf32> from #nn.splat<1.0 : f32>
  %b1 = nn.matmul %a1, %v1 {nn.name = "b1"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %a2 = nn.matmul %x2, %w {nn.name = "a2"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %v2 = nn.parameter {nn.name = "v2"} : tensor<4x4xf32> from #nn.splat<1.0 : f32>
  %b2 = nn.matmul %a2, %v2 {nn.name = "b2"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  nn.output %b1 {nn.name = "y1"} : tensor<2x4xf32>
  nn.output %b2 {nn.name = "y2"} : tensor<2x4xf32>
  return
}
)mlir";

class ScheduleSimulation : public testing::Test {
protected:
  ScheduleSimulation() {
    context_
        .loadDialect<func::FuncDialect, nn::NNDialect, soapir::SOAPDialect>();
  }

  struct Configured {
    StringRef node;
    SmallVector<int32_t> degrees, devices;
  };

  /// Partitions the chains; the nodes that compute are launched in the order of
  /// `configs`.
  void partition(const Topology &topology, ArrayRef<Configured> configs,
                 StringRef text = chains) {
    topology_ = topology;
    module_ = parseSourceString<ModuleOp>(text, &context_);
    ASSERT_TRUE(module_);
    FailureOr<ExtractedGraph> extracted =
        extractOperatorGraph(*getMainFunction(*module_));
    ASSERT_TRUE(succeeded(extracted));
    graph_ = extracted->graph;
    Strategy strategy = singleDevice(graph_, topology_);
    std::vector<int32_t> outputs;
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      if (graph_.node(id).role == NodeRole::Output)
        outputs.push_back(id);
      else if (graph_.node(id).role != NodeRole::Compute)
        strategy.order.push_back(id);
    for (const Configured &entry : configs) {
      int32_t id = graph_.find(entry.node);
      strategy.order.push_back(id);
      Configuration &config = strategy.configs[id];
      config.degrees.loops.assign(entry.degrees.begin(), entry.degrees.end());
      config.devices.assign(entry.devices.begin(), entry.devices.end());
    }
    llvm::append_range(strategy.order, outputs);
    deriveEnds(strategy, graph_, topology_);
    ASSERT_EQ(toString(verify(strategy, graph_, topology_)), "");
    // While there are operations to ask for their costs.
    tasks_ =
        std::make_unique<TaskGraph>(SearchProblem{graph_, topology_, costs_});
    tasks_->setStrategy(strategy);
    writeTopology(*module_, topology_);
    writeStrategy(*extracted, strategy, topology_);
    PassManager manager(&context_);
    manager.addPass(createPartitionPass());
    ASSERT_TRUE(succeeded(manager.run(*module_)));
  }

  using Span = std::pair<int64_t, int64_t>;
  /// Start and end of what moves the result of a node.
  static Span spanOf(const ScheduleTimes &times, StringRef node) {
    for (auto [op, time] : times.ops)
      if (isa<soapir::CommunicationOpInterface>(op) &&
          cast<soapir::ShardOpInterface>(op).getBox(0).getValue() == node)
        return {time.start, time.end};
    ADD_FAILURE() << "nothing moves '" << node.str() << "'";
    return {};
  }

  /// Simulates with the costs of the task graph, then with those of the tasks.
  template <typename Fn>
  void simulate(Fn check) {
    func::FuncOp main = *getMainFunction(*module_);
    FailureOr<ScheduleTimes> times = simulateSchedule(main, *tasks_);
    ASSERT_TRUE(succeeded(times));
    check(*times);
    FailureOr<ScheduleTimes> alone = simulateSchedule(main, topology_, costs_);
    ASSERT_TRUE(succeeded(alone));
    check(*alone);
  }

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
  Topology topology_;
  CostModel costs_;
  OperatorGraph graph_;
  std::unique_ptr<TaskGraph> tasks_;
};

TEST_F(ScheduleSimulation, CollectivesHoldTheirLinks) {
  // Simulator.CollectivesHoldTheirLinks has the same times for the task graph.
  ASSERT_NO_FATAL_FAILURE(
      partition(test::plainBus(4), {{"a1", {2, 1, 1}, {0, 1}},
                                    {"b1", {1, 2, 1}, {0, 1}},
                                    {"a2", {2, 1, 1}, {2, 3}},
                                    {"b2", {1, 2, 1}, {2, 3}}}));
  simulate([](const ScheduleTimes &times) {
    EXPECT_EQ(spanOf(times, "a1"), Span(32, 74));
    EXPECT_EQ(spanOf(times, "a2"), Span(64, 106));
    EXPECT_EQ(times.stepNs, 106 + 32);
  });
}

TEST_F(ScheduleSimulation, TransfersHoldTheirLinks) {
  ASSERT_NO_FATAL_FAILURE(
      partition(test::plainBus(4), {{"a1", {1, 1, 1}, {0}},
                                    {"b1", {1, 1, 1}, {1}},
                                    {"a2", {1, 1, 1}, {2}},
                                    {"b2", {1, 1, 1}, {3}}}));
  simulate([](const ScheduleTimes &times) {
    EXPECT_EQ(spanOf(times, "a1"), Span(64, 64 + 42));
    // An action starts when its members can take part; its transfer waits until
    // the bus has carried 32 bytes.
    EXPECT_EQ(spanOf(times, "a2"), Span(64, 96 + 42));
    EXPECT_EQ(times.stepNs, 138 + 64);
  });
}

TEST_F(ScheduleSimulation, MembersUnpackWhatIsNotContiguous) {
  DeviceKind kind = test::plainMachine(1).kinds()[0];
  kind.boxBandwidth = 2e9;
  kind.boxRunSeconds = 10e-9;
  kind.boxLaunchNs = 5;
  ASSERT_NO_FATAL_FAILURE(partition(Topology::machine(2, {kind, 1e9, 10, 0, 1}),
                                    {{"a1", {1, 2, 1}, {0, 1}},
                                     {"b1", {1, 2, 1}, {0, 1}},
                                     {"a2", {1, 2, 1}, {0, 1}},
                                     {"b2", {1, 2, 1}, {0, 1}}}));
  simulate([&](const ScheduleTimes &times) {
    // Each copies its 16 bytes and receives as many. Then it puts two columns
    // from each into every row: 32 bytes in four runs.
    EXPECT_EQ(spanOf(times, "a1"), Span(32, 32 + 16 + 10 + 16));
    EXPECT_EQ(times.stepNs, 2 * (74 + (5 + 32 + 4 * 10) + 32));
    EXPECT_EQ(times.stepNs, FullSimulator(*tasks_).stepNs());
  });
}

TEST_F(ScheduleSimulation, FollowersTakeNoTimeWhereTheyAreJoined) {
  const char *const text = R"mlir(
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4xf32> from #nn.splat<1.0 : f32>
  %a = nn.matmul %x, %w {nn.name = "a"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %r = nn.relu %a {nn.name = "r", soap.follows = 0 : i64} : tensor<2x4xf32>
  nn.output %r {nn.name = "y"} : tensor<2x4xf32>
  return
}
)mlir";
  Topology machine = test::plainMachine(2);
  auto stepOf = [&](Configured product, Configured relu) {
    int64_t stepNs = 0;
    partition(machine, {product, relu}, text);
    if (!HasFatalFailure())
      simulate([&](const ScheduleTimes &times) {
        EXPECT_EQ(times.stepNs, FullSimulator(*tasks_).stepNs());
        stepNs = times.stepNs;
      });
    return stepNs;
  };
  EXPECT_EQ(stepOf({"a", {1, 1, 1}, {0}}, {"r", {1, 1}, {0}}), 64);
  EXPECT_TRUE(tasks_->apartNs(graph_.find("r")).empty());
  EXPECT_EQ(stepOf({"a", {2, 1, 1}, {0, 1}}, {"r", {2, 1}, {0, 1}}), 32);
  // On other devices, with other tiles, and behind a sum it is a kernel.
  EXPECT_GT(stepOf({"a", {1, 1, 1}, {0}}, {"r", {1, 1}, {1}}), 64 + 32);
  EXPECT_GT(stepOf({"a", {1, 1, 1}, {0}}, {"r", {2, 1}, {0, 0}}), 64);
  EXPECT_GT(stepOf({"a", {1, 1, 2}, {0, 0}}, {"r", {1, 1}, {0}}), 64);
}

TEST_F(ScheduleSimulation, ReceiversWithoutASpareCoreLoseTime) {
  DeviceKind kind = test::plainMachine(1).kinds()[0];
  for (bool occupies : {false, true}) {
    Topology topology = Topology::machine(2, {kind, 1e9, 10, 0, 1, occupies});
    // Device 1 runs the second chain while the 32 bytes of a1 arrive.
    ASSERT_NO_FATAL_FAILURE(partition(topology, {{"a1", {1, 1, 1}, {0}},
                                                 {"a2", {1, 1, 1}, {1}},
                                                 {"b2", {1, 1, 1}, {1}},
                                                 {"b1", {1, 1, 1}, {1}}}));
    simulate([&](const ScheduleTimes &times) {
      EXPECT_EQ(spanOf(times, "a1"), Span(64, 64 + 42));
      EXPECT_EQ(times.stepNs, 3 * 64 + (occupies ? 32 : 0));
    });
  }
}
} // namespace
