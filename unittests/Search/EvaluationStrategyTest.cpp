//===- EvaluationStrategyTest.cpp - A strategy that follows a step's ------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Partition/PartitionSpec.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/Strategy.h"
#include "gtest/gtest.h"
#include <set>

using namespace soap;
using namespace soap::test;

namespace {

/// The model of updatedProducts(), and behind it nodes that the step does not
/// have. `reversed`: the second product is another operation, which declares
/// its loops from the last to the first.
OperatorGraph model(bool reversed) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 6});
  int32_t w1 = builder.parameter("w1", {6, 10});
  int32_t w2 = builder.parameter("w2", {10, 12});
  int32_t h = builder.matmul("fc1", x, w1);
  int32_t y = -1;
  if (reversed) {
    GraphNode node;
    node.name = "fc2";
    node.op = "nn.other";
    node.operands = {h, w2};
    node.spec.loops = {{"k", 10}, {"f", 12}, {"n", 8}};
    auto access = [](int16_t row, int16_t column) {
      ValueAccess result;
      result.dims = {DimAccess::identity(row), DimAccess::identity(column)};
      return result;
    };
    node.spec.operands = {access(2, 0), access(0, 1)};
    node.spec.results = {access(2, 1)};
    node.spec.results[0].combine = Combine::Sum;
    int32_t id = builder.graph.addNode(std::move(node), {{8, 12}}, {4});
    y = builder.graph.valueOf(id);
  } else {
    y = builder.matmul("fc2", h, w2);
  }
  builder.output("scores", builder.relu("new2", builder.relu("new1", y)));
  return builder.finish();
}

/// Which device makes which elements of a node's result.
std::multiset<std::pair<std::string, int32_t>>
places(const OperatorGraph &graph, const Strategy &strategy,
       llvm::StringRef name) {
  int32_t id = graph.find(name);
  const GraphNode &node = graph.node(id);
  const Configuration &config = strategy.configs[id];
  std::multiset<std::pair<std::string, int32_t>> result;
  for (int64_t task = 0; task < config.degrees.numTasks(); ++task)
    result.insert({toString(resultBox(node.spec, 0, config.degrees, task,
                                      graph.value(node.results[0]).shape)),
                   config.devices[task]});
  return result;
}

TEST(EvaluationStrategy, RunsWhereTheStepDoes) {
  OperatorGraph step = updatedProducts();
  Topology machine = randomMachine(3);
  for (bool reversed : {false, true}) {
    OperatorGraph evaluation = model(reversed);
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Strategy strategy = randomStrategy(step, machine, seed, seed % 2 == 0);
      ASSERT_EQ(toString(verify(strategy, step, machine)), "");
      Strategy follows =
          evaluationStrategy(step, strategy, evaluation, machine);
      ASSERT_EQ(toString(verify(follows, evaluation, machine)), "") << seed;
      for (llvm::StringRef name : {"fc1", "fc2"})
        EXPECT_EQ(places(evaluation, follows, name),
                  places(step, strategy, name))
            << name.str() << ", " << seed;
      // What the step writes stays where it is.
      for (llvm::StringRef name : {"w1", "w2"})
        EXPECT_EQ(follows.configs[evaluation.find(name)],
                  strategy.configs[step.find(name)]);
      // What it does not have follows its operand.
      for (llvm::StringRef name : {"new1", "new2"})
        EXPECT_EQ(places(evaluation, follows, name),
                  places(evaluation, follows, "fc2"))
            << name.str() << ", " << seed;
    }
  }
}

TEST(EvaluationStrategy, OfAModelThatTheStepDoesNotKnow) {
  OperatorGraph step = updatedProducts(), evaluation = smallChain();
  Topology machine = plainMachine(3);
  Strategy strategy = dataParallel(step, machine);
  Strategy follows = evaluationStrategy(step, strategy, evaluation, machine);
  EXPECT_EQ(toString(verify(follows, evaluation, machine)), "");
  for (const GraphNode &node : evaluation.nodes())
    if (node.role == NodeRole::Compute)
      EXPECT_EQ(follows.configs[evaluation.find(node.name)], onDevice(node, 0));
}

} // namespace
