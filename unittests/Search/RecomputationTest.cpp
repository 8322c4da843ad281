//===- RecomputationTest.cpp - Values that are made again -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/MemoryUse.h"
#include "soap/Search/RecomputationChoice.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The same graph, in which the first of each pair is launched behind the
/// second.
OperatorGraph rebuilt(const OperatorGraph &graph, const Pairs &after) {
  OperatorGraph result;
  std::vector<int32_t> values(graph.numValues(), -1);
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    GraphNode node = graph.node(id);
    llvm::SmallVector<llvm::SmallVector<int64_t, 5>, 2> shapes;
    llvm::SmallVector<int32_t, 2> bytes,
        results(node.results.begin(), node.results.end());
    for (int32_t &operand : node.operands)
      operand = values[operand];
    for (int32_t value : results) {
      shapes.push_back(graph.value(value).shape);
      bytes.push_back(graph.value(value).elementBytes);
    }
    for (const auto &[late, first] : after)
      if (late == node.name) {
        node.after = result.find(first);
        // "a.again" is in the group of "a".
        node.group =
            result.node(result.find(llvm::StringRef(late).split('.').first))
                .group;
      }
    int32_t added = result.addNode(std::move(node), shapes, bytes);
    for (auto [index, value] : llvm::enumerate(results))
      values[value] = result.valueOf(added, static_cast<int32_t>(index));
  }
  EXPECT_EQ(toString(result.finish()), "");
  return result;
}

/// a, b and c, one after the other, a loss of c, and gradients of c and b, of
/// which the second needs a, or the copy of it.
OperatorGraph step(bool again) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {4, 8});
  int32_t a = builder.relu("a", x), b = builder.relu("b", a);
  int32_t c = builder.relu("c", b), loss = builder.relu("loss", c);
  int32_t dc = builder.add("dc", loss, c);
  int32_t copy = again ? builder.relu("a.again", x) : a;
  builder.output("y", builder.add("db", dc, copy));
  OperatorGraph graph = builder.finish();
  return again ? rebuilt(graph, {{"a.again", "dc"}}) : std::move(graph);
}

int64_t positionOf(const OperatorGraph &graph, llvm::ArrayRef<int32_t> order,
                   const char *name) {
  return llvm::find(order, graph.find(name)) - order.begin();
}

TEST(Recomputation, CopiesAreLaunchedBehindTheGradientThatTheyWaitFor) {
  OperatorGraph graph = step(/*again=*/true);
  Topology machine = plainMachine(2);
  CostModel costs;
  SearchProblem problem{graph, machine, costs};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Strategy strategy = randomStrategy(graph, machine, seed);
    for (llvm::StringRef policy : {"fifo", "critical-path"}) {
      strategy.order = launchOrder(policy, problem, strategy);
      EXPECT_EQ(positionOf(graph, strategy.order, "a.again"),
                positionOf(graph, strategy.order, "dc") + 1)
          << policy.str() << ", seed " << seed;
      EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
    }
  }
}

TEST(Recomputation, EarlyCopiesAreRefused) {
  OperatorGraph graph = step(/*again=*/true);
  Topology machine = plainMachine(1);
  Strategy strategy = singleDevice(graph, machine);
  for (const char *name :
       {"x", "a", "a.again", "b", "c", "loss", "dc", "db", "y"})
    strategy.order.push_back(graph.find(name));
  EXPECT_EQ(toString(verify(strategy, graph, machine)),
            "node 'a.again': expected a launch order in which it stands behind "
            "'dc', where what it makes is needed, got: 'dc' later");
}

TEST(Recomputation, WhatNobodyReadsAnyMoreDies) {
  Topology machine = plainMachine(1);
  CostModel costs;
  auto peak = [&](const OperatorGraph &graph) {
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(singleDevice(graph, machine));
    MemoryPeak peak = memoryPeak(tasks, 0);
    return std::pair(peak.bytes, graph.node(peak.node).name);
  };
  // 128 bytes each; x is there all the time. With a: x, a, c, loss, dc.
  EXPECT_EQ(peak(step(false)), std::pair(int64_t(5 * 128), std::string("dc")));
  // Without: x, c, loss, dc, and then x, dc, the copy, db.
  EXPECT_EQ(peak(step(true)), std::pair(int64_t(4 * 128), std::string("dc")));

  // A copy that reads what only it reads so late: that is kept for it.
  GraphBuilder builder;
  int32_t x = builder.input("x", {4, 8});
  int32_t a = builder.relu("a", x), b = builder.relu("b", a);
  int32_t c = builder.relu("c", b), d = builder.relu("d", c);
  int32_t e = builder.relu("e", d);
  builder.output("y", builder.add("db", e, builder.relu("b.again", a)));
  // While d runs: x, a, c and d.
  EXPECT_EQ(peak(rebuilt(builder.finish(), {{"b.again", "e"}})),
            std::pair(int64_t(4 * 128), std::string("c")));
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// ns, bytes, read by the backward pass, operands.
ForwardOperation forward(int64_t ns, int64_t bytes, bool isRead,
                         std::initializer_list<int32_t> operands) {
  ForwardOperation op;
  op.ns = ns;
  op.heldBytes = bytes;
  op.isRead = isRead;
  op.operands = operands;
  return op;
}

TEST(RecomputationChoice, TakesTheCheapestPerByteAndNoMore) {
  ForwardOperation ops[] = {
      forward(100, 10, true, {}), forward(10, 10, true, {0}),
      forward(10, 20, true, {1}), forward(5, 2, true, {2})};
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(chooseRecomputation(ops, 0), Ids());
  EXPECT_EQ(chooseRecomputation(ops, 1), Ids({2}));
  EXPECT_EQ(chooseRecomputation(ops, 20), Ids({2}));
  EXPECT_EQ(chooseRecomputation(ops, 21), Ids({1, 2}));
  EXPECT_EQ(chooseRecomputation(ops, 31), Ids({1, 2, 3}));
  EXPECT_EQ(chooseRecomputation(ops, 1000), Ids({0, 1, 2, 3}));
  // What is made again already saves nothing any more.
  ops[2].isRepeated = true;
  EXPECT_EQ(chooseRecomputation(ops, 1), Ids({1}));
}

TEST(RecomputationChoice, CountsWhatHasToBeMadeAgainFirst) {
  // 1 is not kept: who wants 2 again makes 1 again, too, from 0.
  ForwardOperation ops[] = {
      forward(50, 40, true, {}), forward(30, 0, false, {0}),
      forward(1, 10, true, {1}), forward(2, 1, true, {0})};
  using Ids = std::vector<int32_t>;
  // 50 / 40 before 2 / 1 before 31 / 10.
  EXPECT_EQ(chooseRecomputation(ops, 40), Ids({0}));
  EXPECT_EQ(chooseRecomputation(ops, 41), Ids({0, 3}));
  EXPECT_EQ(chooseRecomputation(ops, 42), Ids({0, 1, 2, 3}));
  // What is read by a copy is kept for it, and can be made again as well.
  ForwardOperation chain[] = {forward(5, 8, false, {}),
                              forward(1, 8, true, {0})};
  EXPECT_EQ(chooseRecomputation(chain, 8), Ids({0, 1}));
  chain[1].isRepeated = true;
  EXPECT_EQ(chooseRecomputation(chain, 8), Ids({0}));
}

//===----------------------------------------------------------------------===//
// Strategies of another step
//===----------------------------------------------------------------------===//

TEST(RecomputationChoice, TransfersStrategies) {
  OperatorGraph plain = step(false), again = step(true);
  Topology machine = plainMachine(2);
  CostModel costs;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SearchProblem problem{again, machine, costs};
    Strategy strategy = randomStrategy(again, machine, seed);
    strategy.order = launchOrder("fifo", problem, strategy);
    strategy.bucketBytes = 1000;
    Strategy without = transferStrategy(again, strategy, plain, machine);
    EXPECT_EQ(toString(verify(without, plain, machine)), "");
    Strategy back = transferStrategy(plain, without, again, machine);
    EXPECT_EQ(toString(verify(back, again, machine)), "");
    EXPECT_EQ(back.order, strategy.order);
    EXPECT_EQ(back.bucketBytes, strategy.bucketBytes);
    for (const char *name : {"a", "b", "c", "dc", "a.again", "db"})
      EXPECT_EQ(back.configs[again.find(name)],
                strategy.configs[again.find(name)]);
  }
}
} // namespace
