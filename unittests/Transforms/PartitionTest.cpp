//===- PartitionTest.cpp - What is simulated is what runs -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many strategies of small models: what the partitioned IR moves, and in which
// order, is what the task graph moves; run by a naive evaluator it computes
// what the whole model does; coverage is proved; CSE and canonicalization
// change nothing.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Dialect/SOAP/Transforms/Passes.h"
#include "soap/Search/TaskGraph.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/ScheduleSimulation.h"
#include "soap/Transforms/StrategyIR.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace soap;

namespace {
/// Branches, strides, reductions, a concatenation, a reshape, a bias.
const char *const convolutional = R"mlir(
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4x9x8xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<6x4x3x3xf32> from #nn.splat<1.0 : f32>
  %b1 = nn.parameter {nn.name = "b1"} : tensor<6xf32> from #nn.splat<1.0 : f32>
  %c1 = nn.conv %x, %w1 bias %b1 {nn.name = "c1", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x9x8xf32>
  %r1 = nn.relu %c1 {nn.name = "r1"} : tensor<2x6x9x8xf32>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<2x6x1x1xf32> from #nn.splat<1.0 : f32>
  %c2 = nn.conv %r1, %w2 {nn.name = "c2", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x6x9x8xf32>, tensor<2x6x1x1xf32>) -> tensor<2x2x5x4xf32>
  %p2 = nn.max_pool %r1 {nn.name = "p2", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 0>} : (tensor<2x6x9x8xf32>) -> tensor<2x6x5x4xf32>
  %cat = nn.concat %c2, %p2 {nn.name = "cat", axis = 1 : i64} : (tensor<2x2x5x4xf32>, tensor<2x6x5x4xf32>) -> tensor<2x8x5x4xf32>
  %sq = nn.mul %cat, %cat {nn.name = "sq"} : (tensor<2x8x5x4xf32>, tensor<2x8x5x4xf32>) -> tensor<2x8x5x4xf32>
  %flat = nn.reshape %sq {nn.name = "flat"} : (tensor<2x8x5x4xf32>) -> tensor<2x160xf32>
  %w3 = nn.parameter {nn.name = "w3"} : tensor<160x10xf32> from #nn.splat<1.0 : f32>
  %b3 = nn.parameter {nn.name = "b3"} : tensor<10xf32> from #nn.splat<1.0 : f32>
  %fc = nn.matmul %flat, %w3 bias %b3 {nn.name = "fc"} : (tensor<2x160xf32>, tensor<160x10xf32>, tensor<10xf32>) -> tensor<2x10xf32>
  %soft = nn.softmax %fc {nn.name = "soft", axis = 1 : i64} : tensor<2x10xf32>
  nn.output %soft {nn.name = "prob"} : tensor<2x10xf32>
  nn.output %fc {nn.name = "logits"} : tensor<2x10xf32>
  return
}
)mlir";

/// A value that is partial and read in several ways, and as an output.
const char *const perceptron = R"mlir(
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x12xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<12x16xf32> from #nn.splat<1.0 : f32>
  %h = nn.matmul %x, %w1 {nn.name = "h"} : (tensor<8x12xf32>, tensor<12x16xf32>) -> tensor<8x16xf32>
  %t = nn.tanh %h {nn.name = "t"} : tensor<8x16xf32>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<16x12xf32> from #nn.splat<1.0 : f32>
  %y = nn.matmul %t, %w2 {nn.name = "y"} : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %s = nn.add %x, %y {nn.name = "s"} : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x12xf32>
  %tr = nn.transpose %y {nn.name = "tr", permutation = array<i64: 1, 0>} : (tensor<8x12xf32>) -> tensor<12x8xf32>
  %m = nn.reduce %s {nn.name = "m", kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = true, scale = 0.25 : f32} : (tensor<8x12xf32>) -> tensor<8x1xf32>
  %d = nn.sub %s, %m {nn.name = "d"} : (tensor<8x12xf32>, tensor<8x1xf32>) -> tensor<8x12xf32>
  nn.output %d {nn.name = "out"} : tensor<8x12xf32>
  nn.output %tr {nn.name = "transposed"} : tensor<12x8xf32>
  nn.output %y {nn.name = "raw"} : tensor<8x12xf32>
  return
}
)mlir";

std::string describe(const Movement &movement) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << stringify(movement.kind) << " [";
  llvm::interleaveComma(movement.devices, os);
  os << "]: [";
  llvm::interleaveComma(movement.bytes, os);
  os << "]";
  return text;
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

class ContextTest : public testing::Test {
protected:
  ContextTest() {
    context_
        .loadDialect<func::FuncDialect, nn::NNDialect, soapir::SOAPDialect>();
  }

  MLIRContext context_;
};

class PartitionTest : public ContextTest,
                      public testing::WithParamInterface<const char *> {
protected:
  /// Partitions the model with a strategy and compares with the task graph.
  void check(const Strategy &strategy, const Topology &topology) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(GetParam(), &context_);
    ASSERT_TRUE(module);
    auto main = *getMainFunction(*module);
    FailureOr<ExtractedGraph> extracted = extractOperatorGraph(main);
    ASSERT_TRUE(succeeded(extracted));
    ASSERT_EQ(toString(verify(strategy, extracted->graph, topology)), "");
    CostModel costs;
    TaskGraph tasks({extracted->graph, topology, costs});
    tasks.setStrategy(strategy);
    writeTopology(*module, topology);
    writeStrategy(*extracted, strategy, topology);
    // The order of the moves of the step, as (value, action).
    std::vector<std::pair<std::string, int64_t>> moves;
    for (const TaskNode &node : tasks.nodes())
      if (node.kind == TaskNode::Kind::Move) {
        const GraphValue &value = extracted->graph.value(node.value);
        moves.push_back(
            {extracted->graph.node(value.producer).name, node.action});
      }

    soapir::test::Outputs want = soapir::test::evaluateModel(main);
    PassManager manager(&context_);
    manager.addPass(createPartitionPass());
    ASSERT_TRUE(succeeded(manager.run(*module)));
    main = *getMainFunction(*module);

    const std::pair<Phase, Phase> phases[] = {{Phase::Step, Phase::Step},
                                              {Phase::Feed, Phase::Feed},
                                              {Phase::Drain, Phase::Drain}};
    for (auto [simulated, inIR] : phases) {
      std::vector<std::string> expected, got;
      for (const Movement &movement : tasks.movements(simulated))
        expected.push_back(describe(movement));
      for (const Movement &movement :
           soapir::collectMovements(main, inIR, topology.host()))
        got.push_back(describe(movement));
      EXPECT_EQ(expected, got) << "phase " << stringify(simulated).str();
      numMovements_ += got.size();
    }
    std::vector<std::pair<std::string, int64_t>> launched;
    main.walk([&](soapir::CommunicationOpInterface op) {
      if (op.getPhase() == Phase::Step)
        launched.push_back({cast<soapir::ShardOpInterface>(op.getOperation())
                                .getBox(0)
                                .getValue()
                                .str(),
                            static_cast<int64_t>(op.getAction())});
    });
    EXPECT_EQ(moves, launched);

    EXPECT_EQ(soapir::test::compare(want, soapir::test::evaluateProgram(main)),
              "");
    soapir::WaitStatistics waits;
    EXPECT_TRUE(succeeded(soapir::verifyWaits(main, waits)));
    std::string before = print(*module);
    PassManager cleaning(&context_);
    cleaning.addPass(createCSEPass());
    cleaning.addPass(createCanonicalizerPass());
    cleaning.addPass(createSchedulePass());
    ASSERT_TRUE(succeeded(cleaning.run(*module)));
    EXPECT_EQ(before, print(*module));

    // The block order costs what the task graph says, and so does the order of
    // its own times.
    FailureOr<ScheduleTimes> times = simulateSchedule(main, tasks);
    ASSERT_TRUE(succeeded(times));
    EXPECT_EQ(times->stepNs, FullSimulator(tasks).stepNs());
    // The tasks alone know their costs, too; the task graph takes tiles of
    // equal shape for equal, though those in the middle read more than those
    // at the rim.
    FailureOr<ScheduleTimes> alone =
        simulateSchedule(main, tasks.topology(), tasks.costs());
    ASSERT_TRUE(succeeded(alone));
    EXPECT_NEAR(alone->stepNs, times->stepNs, times->stepNs / 100.0);
    // Policies find orders that can run.
    SmallVector<StringRef> written;
    for (StringRef policy : {"fifo", "critical-path"}) {
      FailureOr<SmallVector<StringRef>> order =
          chooseTaskOrder(main, tasks.topology(), tasks.costs(), policy);
      ASSERT_TRUE(succeeded(order));
      if (written.empty())
        written = *order;
      EXPECT_EQ(written.size(), order->size());
      ASSERT_TRUE(succeeded(soapir::writeLaunchOrder(main, *order)));
      soapir::WaitStatistics reordered;
      EXPECT_TRUE(succeeded(soapir::verifyWaits(main, reordered)));
      EXPECT_EQ(reordered.rows, waits.rows);
      EXPECT_TRUE(
          succeeded(simulateSchedule(main, tasks.topology(), tasks.costs())));
    }
    numEqual_ += alone->stepNs == times->stepNs;
    ++numSimulated_;
    writeTimes(*times);
    ASSERT_TRUE(succeeded(soapir::writeSimulatedOrder(main)));
    EXPECT_TRUE(succeeded(soapir::verifyWaits(main, waits)));
    EXPECT_EQ(soapir::test::compare(want, soapir::test::evaluateProgram(main)),
              "");
  }

  size_t numMovements_ = 0, numEqual_ = 0, numSimulated_ = 0;
};

Topology machine(int32_t devices) {
  DeviceKind kind;
  kind.name = "cpu";
  if (devices % 4 != 3) {
    kind.boxBandwidth = 10e9;
    kind.boxRunSeconds = 2e-9;
    kind.boxLaunchNs = 600;
  }
  return Topology::machine(devices,
                           {kind, /*copyBandwidth=*/5e9,
                            /*latencyNs=*/1000, /*memoryBytes=*/0,
                            /*coresPerDevice=*/1, /*occupiesReceiver=*/false});
}
} // namespace

TEST_P(PartitionTest, IRMovesWhatIsSimulated) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(GetParam(), &context_);
  ASSERT_TRUE(module);
  FailureOr<ExtractedGraph> extracted =
      extractOperatorGraph(*getMainFunction(*module));
  ASSERT_TRUE(succeeded(extracted));
  CostModel costs;
  for (int32_t devices : {1, 2, 3, 4}) {
    Topology topology = machine(devices);
    for (const NamedStrategy &named : namedStrategies()) {
      SCOPED_TRACE(named.name.str() + " on " + std::to_string(devices));
      check(named.make({extracted->graph, topology, costs}, /*devices=*/0,
                       /*seed=*/devices),
            topology);
    }
    for (uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE("random seed " + std::to_string(seed) + " on " +
                   std::to_string(devices));
      check(randomStrategy(extracted->graph, topology, seed,
                           /*structured=*/seed % 4 != 0),
            topology);
      if (HasFailure())
        return;
    }
  }
  EXPECT_GT(numMovements_, 1000u);
  EXPECT_GT(numEqual_, numSimulated_ / 2);
}

/// The comparison notices a convolution with the pads of another tile and an
/// assembly that leaves a piece out.
TEST_F(ContextTest, MutationsAreNoticed) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(convolutional, &context_);
  ASSERT_TRUE(module);
  FailureOr<ExtractedGraph> extracted =
      extractOperatorGraph(*getMainFunction(*module));
  ASSERT_TRUE(succeeded(extracted));
  Topology topology = machine(2);
  CostModel costs;
  llvm::Expected<Strategy> strategy =
      expertStrategy("spatial", {extracted->graph, topology, costs});
  ASSERT_TRUE(static_cast<bool>(strategy));
  writeTopology(*module, topology);
  writeStrategy(*extracted, *strategy, topology);
  soapir::test::Outputs want =
      soapir::test::evaluateModel(*getMainFunction(*module));
  PassManager manager(&context_);
  manager.addPass(createPartitionPass());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  auto main = *getMainFunction(*module);
  ASSERT_EQ(soapir::test::compare(want, soapir::test::evaluateProgram(main)),
            "");

  nn::ConvOp conv;
  main.walk([&](nn::ConvOp op) {
    if (!conv && op.getPadsLo() != op.getPadsHi())
      conv = op;
  });
  ASSERT_TRUE(conv);
  DenseI64ArrayAttr lo = conv.getPadsLoAttr(), hi = conv.getPadsHiAttr();
  conv.setPadsLoAttr(hi);
  conv.setPadsHiAttr(lo);
  EXPECT_NE(soapir::test::compare(want, soapir::test::evaluateProgram(main)),
            "");
  conv.setPadsLoAttr(lo);
  conv.setPadsHiAttr(hi);
  ASSERT_EQ(soapir::test::compare(want, soapir::test::evaluateProgram(main)),
            "");

  soapir::AssembleOp assemble;
  main.walk([&](soapir::AssembleOp op) { assemble = op; });
  ASSERT_TRUE(assemble);
  SmallVector<Attribute> pieces(assemble.getPieces().getValue());
  Box nothing = assemble.getPiece(0);
  nothing[0].hi = nothing[0].lo;
  pieces[0] = soapir::RangesAttr::get(&context_, nothing);
  assemble.setPiecesAttr(ArrayAttr::get(&context_, pieces));
  EXPECT_NE(soapir::test::compare(want, soapir::test::evaluateProgram(main)),
            "");
}

INSTANTIATE_TEST_SUITE_P(Models, PartitionTest,
                         testing::Values(convolutional, perceptron),
                         [](const auto &info) {
                           return info.index ? "Perceptron" : "Convolutional";
                         });
