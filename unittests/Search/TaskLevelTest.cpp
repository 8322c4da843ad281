//===- TaskLevelTest.cpp - The paper's algorithms agree -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithms 1 and 2 of the paper, by hand and against each other: whatever is
// proposed and taken back, delta simulation ends with the timeline that full
// simulation of a new graph finds. On the plain machine one flop takes one ns,
// and a transfer 10 ns and one per byte.
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "TaskLevelGraph.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/RandomStrategies.h"
#include "gtest/gtest.h"
#include <ostream>

using namespace soap;
using namespace soap::test;

namespace soap::test {
static void PrintTo(const TaskTimes &task, std::ostream *os) {
  *os << "node " << task.node << " operand " << task.operand << " reader "
      << task.reader << " writer " << task.writer << " on " << task.device
      << "->" << task.target << ": ready " << task.readyNs << " start "
      << task.startNs << " end " << task.endNs;
}
} // namespace soap::test

namespace {
/// Products, sums, unary operations and concatenations of whatever there is.
/// Some values are read twice, some by nobody; some operations are free.
OperatorGraph randomGraph(uint64_t seed, int32_t size) {
  GraphBuilder builder;
  Random random(seed, 0, 0);
  std::vector<int32_t> values = {builder.input("x", {4, 4}),
                                 builder.input("z", {4, 4})};
  // Recent values rather than old ones, so that graphs are deep.
  auto any = [&] {
    size_t recent = std::min<size_t>(values.size(), 4);
    return values[values.size() - 1 - random.below(recent)];
  };
  for (int32_t i = 0; i < size; ++i) {
    std::string name = "n" + std::to_string(i);
    int32_t value = any();
    switch (random.below(5)) {
    case 0:
    case 1:
      value = builder.matmul(
          name, value, builder.parameter("w" + std::to_string(i), {4, 4}));
      break;
    case 2:
      value = builder.matmul(name, value, any());
      break;
    case 3:
      value = builder.add(name, value, any());
      break;
    default:
      value = builder.relu(name, value);
      break;
    }
    values.push_back(value);
  }
  builder.output("y", values.back());
  OperatorGraph graph = builder.finish();
  // Views take no time; equal times make ties.
  graph.setTaskWork([seed](int32_t node, const Degrees &degrees, int64_t) {
    Random random(seed, 1, node);
    double flops = random.below(3) ? 4.0 * random.below(20) : 0;
    return TaskWork{"", flops / degrees.numTiles(), 0.0};
  });
  return graph;
}

/// Gives one random operation a random configuration, as the paper proposes.
/// `before` takes its place in every node that changes.
struct Proposal {
  llvm::SmallVector<int32_t, 8> changed;
  std::vector<Configuration> before;

  Proposal(Strategy &strategy, const OperatorGraph &graph,
           const Topology &topology, const ConfigurationSpace &space,
           Random &random) {
    Strategy old = strategy;
    int32_t group = space.groups()[random.below(space.groups().size())];
    changed.append(graph.group(group).begin(), graph.group(group).end());
    space.assign(strategy, group, space.sample(group, random));
    deriveEnds(strategy, graph, topology, changed[0], &changed);
    for (int32_t node : changed)
      before.push_back(old.configs[node]);
  }
  void takeBack(Strategy &strategy) const {
    for (auto [node, config] : llvm::zip(changed, before))
      strategy.configs[node] = config;
  }
};

struct Counts {
  int64_t proposals = 0, simulated = 0, tasks = 0;
};

/// Proposes, simulates, takes back some, and compares with new graphs.
void compare(const OperatorGraph &graph, const Topology &topology,
             Strategy strategy, uint64_t seed, int proposals, Counts &counts) {
  CostModel costs;
  // Some operations have more tasks than there are devices.
  ConfigurationSpace space(graph, topology, topology.numDevices() + 2);
  TaskLevelGraph delta(graph, topology, costs), full(graph, topology, costs);
  auto expectEqual = [&](int64_t step) {
    full.build(strategy);
    ASSERT_EQ(step, full.simulateFull());
    ASSERT_EQ(delta.numTasks(), full.numTasks());
    ASSERT_EQ(delta.timeline(), full.timeline());
    counts.tasks += full.numTasks();
    ++counts.proposals;
  };
  delta.build(strategy);
  // From nothing, too.
  int64_t step = seed % 2 ? delta.simulateFull() : delta.simulateDelta();
  ASSERT_NO_FATAL_FAILURE(expectEqual(step));
  // A delta simulation gives every task a start once at most.
  auto simulate = [&] {
    int64_t before = delta.statistics().simulated;
    int64_t step = delta.simulateDelta();
    int64_t simulated = delta.statistics().simulated - before;
    EXPECT_LE(simulated, delta.numTasks());
    counts.simulated += simulated;
    return step;
  };
  for (int i = 0; i < proposals; ++i) {
    Random random(seed, 2, i);
    Proposal proposal(strategy, graph, topology, space, random);
    delta.update(strategy, proposal.changed);
    uint64_t fate = random.below(4);
    if (fate > 0) {
      SCOPED_TRACE("proposal " + std::to_string(i));
      ASSERT_NO_FATAL_FAILURE(expectEqual(simulate()));
    }
    if (fate > 1)
      continue;
    // It is taken back, simulated or not, and the next one may come before the
    // old timeline is there again.
    proposal.takeBack(strategy);
    delta.update(strategy, proposal.changed);
    if (random.below(2)) {
      SCOPED_TRACE("undo of proposal " + std::to_string(i));
      ASSERT_NO_FATAL_FAILURE(expectEqual(simulate()));
    }
  }
}

/// A machine whose transfers often end at the same time, one of unequal
/// devices, and one with slow links between nodes.
Topology machineOf(uint64_t seed) {
  switch (seed % 3) {
  case 0:
    return plainMachine(2 + static_cast<int32_t>(seed % 4));
  case 1: {
    Topology topology;
    for (int kind = 0; kind < 3; ++kind) {
      DeviceKind description = plainMachine(1).kinds()[0];
      description.name += std::to_string(kind);
      description.peakFlops *= kind + 1;
      topology.addDevice(topology.addKind(description));
    }
    for (int32_t from = 0; from < 3; ++from)
      for (int32_t to = from + 1; to < 3; ++to) {
        Link link;
        link.from = from;
        link.to = to;
        link.bandwidth = 1e9 / (1 + to);
        link.latencyNs = 3 * from;
        topology.addDuplexLink(link);
      }
    for (int32_t device = 0; device < 3; ++device) {
      Link host;
      host.from = Topology::hostVertex;
      host.to = device;
      host.bandwidth = 1e9;
      topology.addDuplexLink(host);
    }
    EXPECT_EQ(toString(topology.finish()), "");
    return topology;
  }
  default:
    return llvm::cantFail(Topology::load(SOAP_TOPOLOGIES "/k80-cluster.json"));
  }
}

TEST(TaskLevel, DeltaFindsTheTimelineOfFull) {
  Counts counts;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OperatorGraph graph =
        randomGraph(seed, 6 + static_cast<int32_t>(seed % 5) * 6);
    Topology topology = machineOf(seed);
    Strategy strategy = seed % 4 == 0 ? dataParallel(graph, topology)
                                      : uniformStrategy(graph, topology, seed);
    ASSERT_NO_FATAL_FAILURE(
        compare(graph, topology, strategy, seed, 200, counts));
  }
  EXPECT_GT(counts.proposals, 24 * 150);
  // It would be no delta simulation otherwise.
  EXPECT_LT(counts.simulated, counts.tasks / 2);
}

TEST(TaskLevel, DeltaFindsTheTimelineOfFullOnInception) {
  Counts counts;
  OperatorGraph graph = inception(8, 2);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Topology topology = plainMachine(4, 1e12);
    Strategy strategy = seed == 0 ? dataParallel(graph, topology)
                                  : randomStrategy(graph, topology, seed);
    ASSERT_NO_FATAL_FAILURE(
        compare(graph, topology, strategy, seed, 100, counts));
  }
  EXPECT_LT(counts.simulated, counts.tasks / 2);
}

/// Branches p, q, r that read x, of 64 flops and 32 bytes each, and s, which
/// joins the first two.
OperatorGraph branches() {
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 4});
  int32_t w = builder.parameter("w", {4, 4});
  int32_t p = builder.matmul("p", x, w), q = builder.matmul("q", x, w);
  builder.matmul("r", x, w);
  builder.add("s", p, q);
  return builder.finish();
}

class TaskLevelByHand : public ::testing::Test {
protected:
  void putOn(const char *name, int32_t device) {
    llvm::SmallVector<int32_t, 8> changed = {graph.find(name)};
    strategy.configs[changed[0]].devices = {device};
    deriveEnds(strategy, graph, machine, changed[0], &changed);
    ASSERT_EQ(toString(verify(strategy, graph, machine)), "");
    tasks.update(strategy, changed);
  }
  /// Start and end of the only task of a node, or of a transfer to it.
  std::pair<int64_t, int64_t> times(const char *name, int32_t operand = -1) {
    for (const TaskTimes &task : tasks.timeline())
      if (task.node == graph.find(name) && task.operand == operand)
        return {task.startNs, task.endNs};
    return {-1, -1};
  }

  using Span = std::pair<int64_t, int64_t>;
  OperatorGraph graph = branches();
  Topology machine = plainMachine(3);
  CostModel costs;
  Strategy strategy = singleDevice(graph, machine, 0);
  TaskLevelGraph tasks{graph, machine, costs};
};

TEST_F(TaskLevelByHand, TimelineOfAProposalAndBack) {
  tasks.build(strategy);
  EXPECT_EQ(tasks.numTasks(), 4);
  // All are ready at 0 but s, and take turns in the order of the graph.
  EXPECT_EQ(tasks.simulateFull(), 3 * 64 + 8);
  EXPECT_EQ(times("r"), Span(128, 192));
  EXPECT_EQ(times("s"), Span(192, 200));

  // Two transfers over one connection, one after the other, though both pieces
  // go to one task. r keeps its place.
  putOn("s", 1);
  EXPECT_EQ(tasks.simulateDelta(), 192);
  EXPECT_EQ(tasks.numTasks(), 6);
  EXPECT_EQ(times("s", 0), Span(64, 106));
  EXPECT_EQ(times("s", 1), Span(128, 170));
  EXPECT_EQ(times("s"), Span(170, 178));
  EXPECT_EQ(times("r"), Span(128, 192));

  // p and q end together on devices of their own: s waits for the latency. Its
  // transfers use connections of their own, at the same time.
  putOn("q", 2);
  EXPECT_EQ(tasks.simulateDelta(), 128);
  EXPECT_EQ(times("s", 0), Span(64, 106));
  EXPECT_EQ(times("s", 1), Span(64, 106));
  EXPECT_EQ(times("s"), Span(106, 114));
  EXPECT_EQ(times("r"), Span(64, 128));

  putOn("q", 0);
  putOn("s", 0);
  EXPECT_EQ(tasks.simulateDelta(), 200);
  EXPECT_EQ(tasks.numTasks(), 4);
}

TEST_F(TaskLevelByHand, DevicesTakeWhatIsReadyFirst) {
  tasks.build(strategy);
  tasks.simulateFull();
  // With q elsewhere, s is ready late, behind r.
  putOn("q", 1);
  EXPECT_EQ(tasks.simulateDelta(), 136);
  EXPECT_EQ(times("r"), Span(64, 128));
  EXPECT_EQ(times("s", 1), Span(64, 106));
  EXPECT_EQ(times("s"), Span(128, 136));
  // On the device of q it waits for p alone, and for nobody in front of it.
  putOn("s", 1);
  EXPECT_EQ(tasks.simulateDelta(), 128);
  EXPECT_EQ(times("s", 0), Span(64, 106));
  EXPECT_EQ(times("s"), Span(106, 114));
}

TEST(TaskLevel, ParametersThatMoveAreTransferredFromTheStart) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 4});
  builder.matmul("a", x, builder.parameter("w", {4, 4}));
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(3);
  CostModel costs;
  Strategy strategy = singleDevice(graph, machine, 0);
  strategy.configs[graph.find("w")].devices = {2};
  TaskLevelGraph tasks(graph, machine, costs);
  tasks.build(strategy);
  EXPECT_EQ(tasks.numTasks(), 2);
  // 64 bytes.
  EXPECT_EQ(tasks.simulateFull(), 10 + 64 + 64);
  strategy.configs[graph.find("w")].devices = {0};
  tasks.update(strategy, graph.find("w"));
  EXPECT_EQ(tasks.simulateDelta(), 64);
}
} // namespace
