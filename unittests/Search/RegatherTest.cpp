//===- RegatherTest.cpp - Parameters that are gathered again --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Partition/Prefetches.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/Simulator.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
/// Products whose weights are sharded over two devices.
struct Sharded {
  explicit Sharded(int32_t layers, int64_t prefetchBytes = 0)
      : graph(deepProducts(layers, /*bucketBytes=*/0, prefetchBytes)),
        strategy(dataParallel(graph, machine)) {
    for (int32_t update = 0; update < graph.numUpdates(); ++update)
      if (auto shards = shardedUpdate(strategy, graph, update, 1))
        assignUpdate(strategy, graph, update, *shards);
    deriveEnds(strategy, graph, machine);
  }
  void regather() {
    for (int32_t update = 0; update < graph.numUpdates(); ++update)
      setRegathered(strategy, graph, update, true);
  }
  int32_t update(llvm::StringRef parameter) const {
    for (int32_t update = 0; update < graph.numUpdates(); ++update)
      if (graph.node(graph.parameterOf(update)).name == parameter)
        return update;
    return -1;
  }

  Topology machine = plainMachine(2);
  CostModel costs;
  OperatorGraph graph;
  Strategy strategy;
  SearchProblem problem{graph, machine, costs};
};

/// What is gathered, and the node behind it in launch order: "w1 fc0".
std::vector<std::string> gathers(const Sharded &step, const TaskGraph &tasks) {
  std::vector<std::string> found;
  std::vector<std::string> waiting;
  for (const TaskNode &node : tasks.nodes()) {
    if (node.kind == TaskNode::Kind::Move &&
        node.actionKind == ActionKind::AllGather) {
      int32_t producer = step.graph.value(node.value).producer;
      waiting.push_back(step.graph.node(producer).name);
    } else if (node.kind == TaskNode::Kind::Compute) {
      for (const std::string &name : waiting)
        found.push_back(name + " " + step.graph.node(node.node).name);
      waiting.clear();
    }
  }
  return found;
}

TEST(Regather, ReadersBehindThoseOfOtherParameters) {
  Sharded step(4);
  auto readers = [&](llvm::StringRef parameter) {
    std::vector<std::string> names;
    for (const GraphValue::Use &use :
         laterReaders(step.graph, step.update(parameter)))
      names.push_back(step.graph.node(use.node).name);
    return names;
  };
  // Nobody reads the first weights backwards, and between both readers of the
  // last ones nobody reads others.
  using Names = std::vector<std::string>;
  EXPECT_EQ(readers("w0"), Names());
  EXPECT_EQ(readers("w1"), Names{"fc1.grad"});
  EXPECT_EQ(readers("w2"), Names{"fc2.grad"});
  EXPECT_EQ(readers("w3"), Names());
  EXPECT_FALSE(isRegathered(step.strategy, step.graph, step.update("w1")));
  step.regather();
  EXPECT_TRUE(isRegathered(step.strategy, step.graph, step.update("w1")));
  EXPECT_TRUE(isRegathered(step.strategy, step.graph, step.update("w3")));
  EXPECT_EQ(toString(verify(step.strategy, step.graph, step.machine)), "");
}

TEST(Regather, RoundsAreLaunchedOneNodeBeforeTheirReaders) {
  Sharded step(4);
  TaskGraph tasks(step.problem);
  tasks.setStrategy(step.strategy);
  using Names = std::vector<std::string>;
  Names forward = {"w0 fc0", "w1 fc0", "w2 fc1", "w3 fc2"};
  EXPECT_EQ(gathers(step, tasks), forward);
  int64_t bytes = tasks.bytes(Phase::Step);
  step.regather();
  tasks.setStrategy(step.strategy);
  Names both = forward;
  for (const char *name : {"w2 w2.grad", "w1 w1.grad"})
    both.push_back(name);
  EXPECT_EQ(gathers(step, tasks), both);
  EXPECT_GT(tasks.bytes(Phase::Step), bytes);
  // What moves is listed round by round, as it is launched.
  std::vector<Movement> moved = tasks.movements(Phase::Step);
  EXPECT_EQ(llvm::count_if(moved,
                           [](const Movement &movement) {
                             return movement.kind == ActionKind::AllGather;
                           }),
            6);
}

using Positions = std::vector<int32_t>;

TEST(Prefetches, AreOneNodeAheadWithoutALimit) {
  EXPECT_EQ(prefetchPositions({}, 0), Positions());
  EXPECT_EQ(prefetchPositions({5, 0, 0, 5}, 0), (Positions{0, 0, 1, 2}));
}

TEST(Prefetches, PassNodesUpToALimit) {
  // What the reader reads itself does not count.
  EXPECT_EQ(prefetchPositions({0, 4, 0, 4, 0, 4, 0, 4, 9}, 4),
            (Positions{0, 0, 0, 0, 2, 2, 4, 4, 6}));
  EXPECT_EQ(prefetchPositions({0, 4, 0, 4, 0, 4, 0, 4, 9}, 8),
            (Positions{0, 0, 0, 0, 0, 0, 2, 2, 4}));
  // One node is passed whatever it reads.
  EXPECT_EQ(prefetchPositions({1, 9, 1, 9, 1}, 4), (Positions{0, 0, 1, 2, 3}));
}

TEST(Regather, RoundsAreLaunchedAhead) {
  using Names = std::vector<std::string>;
  // The widths of layers are 6, 10, 14, 6, 10: weights of 240, 560, 336 and 240
  // bytes. Gradients of weights read none.
  Sharded step(4, /*prefetchBytes=*/600);
  step.regather();
  TaskGraph tasks(step.problem);
  tasks.setStrategy(step.strategy);
  EXPECT_EQ(gathers(step, tasks), (Names{"w0 fc0", "w1 fc0", "w2 fc1", "w3 fc2",
                                         "w2 fc3", "w1 w3.grad"}));
  // In launch order of their readers, where several are launched at one place.
  Sharded far(4, /*prefetchBytes=*/1 << 20);
  far.regather();
  TaskGraph all(far.problem);
  all.setStrategy(far.strategy);
  EXPECT_EQ(gathers(far, all), (Names{"w0 fc0", "w1 fc0", "w2 fc0", "w3 fc0",
                                      "w2 fc0", "w1 fc0"}));
}

/// What is gathered is held from its launch on.
TEST(Regather, MemoryFromTheLaunchOn) {
  int64_t before = 0;
  for (int64_t bytes : {0, 600, 1200, 1 << 20}) {
    Sharded step(6, bytes);
    step.regather();
    TaskGraph tasks(step.problem);
    tasks.setStrategy(step.strategy);
    int64_t peak = tasks.peakMemory().front();
    EXPECT_GE(peak, before) << bytes;
    before = peak;
  }
  Sharded near(6), far(6, 1 << 20);
  near.regather();
  far.regather();
  TaskGraph one(near.problem), all(far.problem);
  one.setStrategy(near.strategy);
  all.setStrategy(far.strategy);
  EXPECT_GT(all.peakMemory().front(), one.peakMemory().front());
  EXPECT_LE(FullSimulator(all).stepNs(), FullSimulator(one).stepNs());
}

/// Files say it of parameters, and of their readers where it is not said of
/// all.
TEST(Regather, Files) {
  Sharded step(4);
  step.regather();
  auto again = [&] {
    llvm::Expected<Strategy> read = parseStrategy(
        toJSON(step.strategy, step.graph, StrategyInfo()), step.problem);
    EXPECT_TRUE(bool(read)) << llvm::toString(read.takeError());
    return read ? std::move(*read) : Strategy();
  };
  EXPECT_EQ(again().configs, step.strategy.configs);
  std::string text = toJSON(step.strategy, step.graph, StrategyInfo());
  EXPECT_EQ(llvm::StringRef(text).count("\"regather\": true"), 4u);
  EXPECT_EQ(text.find("\"op\": \"fc1.grad\""), std::string::npos);
  int32_t update = step.update("w1");
  assignUpdate(step.strategy, step.graph, update,
               followingUpdate(step.strategy, step.graph, update));
  deriveEnds(step.strategy, step.graph, step.machine);
  EXPECT_EQ(again().configs, step.strategy.configs);
  text = toJSON(step.strategy, step.graph, StrategyInfo());
  EXPECT_NE(text.find("\"op\": \"fc1.grad\""), std::string::npos);

  llvm::Expected<Strategy> wrong = parseStrategy(
      R"({"ops": [{"op": ".*", "devices": [0]}], "parameters": [
          {"parameter": "w1", "devices": [0], "regather": ["fc1"]}]})",
      step.problem);
  ASSERT_FALSE(bool(wrong));
  EXPECT_EQ(llvm::toString(wrong.takeError()),
            "parameter 0 ('w1'): expected 'regather' to be true or false, got: "
            "[\"fc1\"]");
}

/// Policies launch a round with its first reader, and their orders are valid.
TEST(Regather, Policies) {
  Sharded step(5);
  step.regather();
  for (llvm::StringRef policy : launchPolicyNames()) {
    Strategy strategy = step.strategy;
    strategy.order = launchOrder(policy, step.problem, strategy);
    EXPECT_EQ(toString(verify(strategy, step.graph, step.machine)), "");
    TaskGraph tasks(step.problem);
    tasks.setStrategy(strategy);
    // In this graph the last layer's backward pass may run first; then its
    // forward pass, which is said to gather, gathers again.
    EXPECT_GE(gathers(step, tasks).size(), 8u) << policy.str();
    EXPECT_LE(gathers(step, tasks).size(), 9u) << policy.str();
  }
}

/// What a group does may change; what is gathered again stays.
TEST(Regather, StaysWhenAGroupChanges) {
  Sharded step(4);
  step.regather();
  ConfigurationSpace space(step.graph, step.machine);
  int32_t group = step.graph.node(step.graph.find("fc1")).group;
  space.assign(step.strategy, group,
               onDevice(step.graph.node(step.graph.find("fc1")), 1));
  EXPECT_TRUE(isRegathered(step.strategy, step.graph, step.update("w1")));
}

} // namespace
