//===- SharedPlansTest.cpp - Compiled plans fit every value ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of one class share compiled plans. Delta and full simulation would
// both believe a plan that is not the value's own; planning it anew does not.
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/KernelDescription.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/TaskGraph.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace soap;
using namespace soap::test;

namespace {
struct Bytes {
  int64_t step = 0, feed = 0, drain = 0;
  /// Per device, what tasks write, and copies of it that are made once.
  std::map<int32_t, int64_t> shards;
  bool operator==(const Bytes &o) const {
    return step == o.step && feed == o.feed && drain == o.drain &&
           shards == o.shards;
  }
};

/// By a plan of its own.
Bytes planned(const OperatorGraph &graph, const Strategy &strategy,
              const Topology &machine, int32_t id) {
  Bytes bytes;
  int64_t elementBytes = graph.value(id).elementBytes;
  ValuePlan plan = planOf(graph, strategy, machine, id);
  for (const Action &action : plan.actions) {
    Phase phase = phaseOf(action, plan, machine.host());
    (phase == Phase::Step   ? bytes.step
     : phase == Phase::Feed ? bytes.feed
                            : bytes.drain) += linkBytes(action, elementBytes);
  }
  for (const Shard &shard : plan.shards)
    if (shard.origin == Shard::Origin::Task && shard.device != machine.host() &&
        !isEmpty(shard.box))
      bytes.shards[shard.device] += volume(shard.box) * elementBytes;
  // What is cut out of them once, as far as it is no view.
  if (!graph.node(graph.value(id).producer).isFixed || !plan.actions.empty())
    return bytes;
  std::set<std::pair<int32_t, std::string>> boxes;
  for (const Read &read : plan.reads) {
    const Shard &first = plan.shards[read.pieces.front().shard];
    bool isView = read.pieces.size() == 1 &&
                  CostModel::isView(read.box, first.box,
                                    static_cast<int32_t>(elementBytes),
                                    machine.kindOf(read.device));
    if (!isView && boxes.insert({read.device, toString(read.box)}).second)
      bytes.shards[read.device] += volume(read.box) * elementBytes;
  }
  return bytes;
}

Bytes compiled(const detail::ValueTasks &tasks) {
  Bytes bytes{tasks.stepBytes, tasks.feedBytes, tasks.drainBytes, {}};
  for (auto [device, size] : tasks.shardBytes)
    bytes.shards[device] += size;
  return bytes;
}

/// Strategies of all kinds over a graph; returns how many plans were shared.
uint64_t compare(const OperatorGraph &graph, const Topology &machine,
                 uint64_t seed) {
  CostModel costs;
  TaskGraph tasks({graph, machine, costs});
  for (const Strategy &strategy :
       {dataParallel(graph, machine), tensorParallel(graph, machine),
        uniformStrategy(graph, machine, seed),
        teamStrategy(graph, machine, seed)}) {
    tasks.setStrategy(strategy);
    for (int32_t id = 0; id < graph.numValues(); ++id) {
      Bytes own = planned(graph, strategy, machine, id),
            shared = compiled(tasks.valueTasks(id));
      EXPECT_TRUE(own == shared)
          << "seed " << seed << ", value of "
          << graph.node(graph.value(id).producer).name << ": " << own.step
          << ", " << own.feed << ", " << own.drain << " bytes planned, "
          << shared.step << ", " << shared.feed << ", " << shared.drain
          << " compiled";
      if (!(own == shared))
        return 0;
    }
  }
  return tasks.statistics().reused;
}

TEST(SharedPlans, AreThoseOfEveryValue) {
  Topology machine = plainMachine(4);
  uint64_t shared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    shared += compare(randomSmallGraph(seed, 1), machine, seed);
    shared += compare(randomGraph(seed), machine, seed);
    if (HasFailure())
      return;
  }
  EXPECT_GT(shared, 100u);
}

TEST(SharedPlans, FollowersAreToldApart) {
  // Two chains of which one has an operation that follows what it reads.
  GraphBuilder builder;
  for (bool follows : {false, true}) {
    builder.followers = follows;
    std::string name = follows ? "follower" : "relu";
    int32_t x = builder.input(name + ".x", {8, 8});
    int32_t w = builder.parameter(name + ".w", {8, 8});
    x = builder.relu(name, builder.matmul(name + ".product", x, w));
    builder.output(name + ".y", x);
  }
  OperatorGraph graph = builder.finish();
  std::vector<std::string> names;
  for (const GraphNode &node : graph.nodes())
    names.push_back(node.name);
  graph.setTaskWork([names](int32_t node, const Degrees &, int64_t) {
    return TaskWork{names[node], /*flops=*/1000};
  });
  Topology machine = plainMachine(2);
  CostModel costs;
  Strategy strategy = singleDevice(graph, machine);
  TaskGraph tasks({graph, machine, costs});
  int32_t relu = graph.find("relu"), follower = graph.find("follower");
  tasks.setStrategy(strategy);
  int64_t alone = tasks.nodeNs(relu);
  EXPECT_GT(alone, 0);
  EXPECT_EQ(tasks.nodeNs(follower), 0);
  EXPECT_EQ(kernelsOf(graph, strategy).count("follower"), 0u);
  EXPECT_EQ(kernelsOf(graph, strategy).count("relu"), 1u);
  for (int32_t id : {relu, follower})
    strategy.configs[id].devices.edit()[0] = 1;
  tasks.setStrategy(strategy);
  EXPECT_EQ(tasks.nodeNs(relu), alone);
  EXPECT_EQ(tasks.nodeNs(follower), alone);
  EXPECT_EQ(kernelsOf(graph, strategy).count("follower"), 1u);
}

TEST(SharedPlans, FixedParametersAreToldApart) {
  // Two products that differ in nothing else: two devices have all of the
  // weights, and read half of the columns each.
  GraphBuilder builder;
  for (bool isFixed : {false, true}) {
    builder.fixedParameters = isFixed;
    std::string name = isFixed ? "fixed" : "written";
    int32_t x = builder.input(name + ".x", {8, 8});
    int32_t w = builder.parameter(name + ".w", {8, 8});
    builder.output(name + ".y", builder.matmul(name, x, w));
  }
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(2);
  CostModel costs;
  Strategy strategy = singleDevice(graph, machine);
  for (std::string name : {"written", "fixed"}) {
    Configuration &product = strategy.configs[graph.find(name)],
                  &whole = strategy.configs[graph.find(name + ".w")];
    product.degrees.loops = {1, 2, 1};
    whole.degrees.loops = {1, 1};
    whole.degrees.replicate = 2;
    product.devices = whole.devices = {0, 1};
  }
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(strategy);
  auto copiesOf = [&](const char *name) {
    return tasks.valueTasks(graph.valueOf(graph.find(name)))
        .uses[0]
        .unpackDevices.size();
  };
  EXPECT_EQ(copiesOf("written.w"), 2u);
  EXPECT_EQ(copiesOf("fixed.w"), 0u);
}

TEST(SharedPlans, ElementSizesAreToldApart) {
  // Two chains that differ in nothing else.
  GraphBuilder builder;
  for (int32_t bytes : {2, 8}) {
    builder.elementBytes = bytes;
    std::string name = "n" + std::to_string(bytes);
    int32_t x = builder.input(name + ".x", {8, 8});
    x = builder.relu(name + ".b", builder.relu(name + ".a", x));
    builder.output(name + ".y", x);
  }
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(2);
  CostModel costs;
  Strategy strategy = singleDevice(graph, machine);
  for (const char *name : {"n2.b", "n8.b"})
    strategy.configs[graph.find(name)] =
        onDevice(graph.node(graph.find(name)), 1);
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(strategy);
  EXPECT_EQ(tasks.valueTasks(graph.valueOf(graph.find("n2.a"))).stepBytes, 128);
  EXPECT_EQ(tasks.valueTasks(graph.valueOf(graph.find("n8.a"))).stepBytes, 512);
}
} // namespace
