//===- MemoryUseTest.cpp - Liveness, and strategies that fit --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/MemoryUse.h"
#include "Chain.h"
#include "ExampleGraphs.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/Random.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/SearchAlgorithm.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
TEST(MemoryUse, ValuesLiveToTheirLastReaderInLaunchOrder) {
  // 128 bytes each. In the list of a's readers, b is first and c last.
  GraphBuilder builder;
  int32_t x = builder.input("x", {4, 8});
  int32_t a = builder.relu("a", x);
  int32_t b = builder.relu("b", a);
  int32_t e = builder.relu("e", builder.relu("d", builder.relu("c", a)));
  builder.output("y", b);
  builder.output("z", e);
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(1);
  CostModel costs;
  TaskGraph tasks({graph, machine, costs});
  Strategy strategy = singleDevice(graph, machine);
  auto peak = [&](llvm::ArrayRef<const char *> names) {
    strategy.order.clear();
    for (const char *name : names)
      strategy.order.push_back(graph.find(name));
    EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
    tasks.setStrategy(strategy);
    MemoryPeak peak = memoryPeak(tasks, 0);
    EXPECT_EQ(tasks.peakMemory(), std::vector<int64_t>({peak.bytes}));
    return std::pair(peak.bytes, graph.node(peak.node).name);
  };
  // x is there all the time, y and z to the end. While d runs: a for b to come,
  // c and d.
  EXPECT_EQ(peak({"x", "a", "c", "d", "e", "b", "y", "z"}),
            std::pair(int64_t(128 * 4), std::string("d")));
  // While c runs: a, b and c.
  EXPECT_EQ(peak({"x", "a", "b", "c", "d", "e", "y", "z"}),
            std::pair(int64_t(128 * 4), std::string("c")));
  // An order with c last among a's readers is no other in what it needs, but in
  // when: b, which nobody but y reads, is early or late.
  EXPECT_EQ(peak({"x", "a", "c", "b", "d", "e", "y", "z"}),
            std::pair(int64_t(128 * 4), std::string("b")));
}

/// With as many copies as there are devices for.
Configuration configuration(std::initializer_list<int32_t> degrees,
                            std::initializer_list<int32_t> devices) {
  Configuration result;
  result.degrees.loops = degrees;
  result.degrees.replicate = static_cast<int32_t>(
      static_cast<int64_t>(devices.size()) / result.degrees.numTiles());
  result.devices = devices;
  return result;
}

/// Tensors of 64 bytes: a reads the parameter w, `update` makes its next value
/// of it, and `write` gives it that. `view` reads w, and `reader` what that
/// makes. Nodes can be changed.
struct UpdatedParameter {
  OperatorGraph graph;

  template <typename Change>
  explicit UpdatedParameter(Change change) {
    GraphBuilder builder;
    int32_t x = builder.input("x", {4, 4}), w = builder.parameter("w", {4, 4});
    builder.add("a", x, w);
    builder.output("y", builder.relu("reader", builder.relu("view", w)));
    builder.add("write", builder.add("update", w, x), w);
    for (GraphNode node : builder.graph.nodes()) {
      node.results.clear();
      if (node.name == "update")
        node.overwrites = Overwrites::PerElement;
      if (node.name == "write")
        node.writtenOperand = 1;
      change(node);
      bool hasResult = node.role != NodeRole::Output;
      graph.addNode(std::move(node), std::vector<Shape>(hasResult, Shape{4, 4}),
                    std::vector<int32_t>(hasResult, 4));
    }
    EXPECT_EQ(toString(graph.finish()), "");
  }

  /// In tensors, and while which node runs.
  std::pair<int64_t, std::string>
  peak(llvm::ArrayRef<const char *> order,
       llvm::function_ref<void(Strategy &)> change = nullptr,
       int32_t device = 0) const {
    Topology machine = plainMachine(2);
    CostModel costs;
    TaskGraph tasks({graph, machine, costs});
    Strategy strategy = singleDevice(graph, machine);
    for (const char *name : order)
      strategy.order.push_back(graph.find(name));
    if (change)
      change(strategy);
    EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
    tasks.setStrategy(strategy);
    MemoryPeak peak = memoryPeak(tasks, device);
    EXPECT_EQ(tasks.peakMemory()[device], peak.bytes);
    EXPECT_EQ(peak.bytes % 64, 0);
    return {peak.bytes / 64, graph.node(peak.node).name};
  }
};

TEST(MemoryUse, NextParametersLieWhereTheOldOnesDo) {
  using Peak = std::pair<int64_t, std::string>;
  constexpr const char *early[] = {"x",      "w",      "a",     "view",
                                   "reader", "update", "write", "y"};
  // The update is made while another value is there, so that it counts where it
  // is no part of the parameter: x, w, the reader's result and its own.
  auto plain = [](GraphNode &) {};
  UpdatedParameter usual(plain);
  EXPECT_EQ(usual.peak(early), Peak(4, "reader"));
  EXPECT_EQ(
      usual.peak({"x", "w", "view", "reader", "a", "update", "write", "y"}),
      Peak(4, "reader"));
  // Something reads the parameter after the update.
  EXPECT_EQ(
      usual.peak({"x", "w", "view", "reader", "update", "a", "write", "y"}),
      Peak(5, "a"));
  // What reads the view is no matter where that is a copy, but where it is
  // none.
  constexpr const char *late[] = {"x",      "w",      "a",     "view",
                                  "update", "reader", "write", "y"};
  EXPECT_EQ(usual.peak(late), Peak(4, "reader"));
  UpdatedParameter views(
      [](GraphNode &node) { node.makesViews = node.name == "view"; });
  EXPECT_EQ(views.peak(early), Peak(4, "reader"));
  EXPECT_EQ(views.peak(late), Peak(5, "reader"));
  // A node that needs a buffer for its result.
  UpdatedParameter apart(
      [](GraphNode &node) { node.overwrites = Overwrites::Nothing; });
  EXPECT_EQ(apart.peak(late), Peak(5, "reader"));
  // One that writes over its first operand, which is the parameter, or not.
  UpdatedParameter first([](GraphNode &node) {
    if (node.name == "update")
      node.overwrites = Overwrites::First;
  });
  EXPECT_EQ(first.peak(late), Peak(4, "reader"));
  UpdatedParameter second([](GraphNode &node) {
    if (node.name != "update")
      return;
    node.overwrites = Overwrites::First;
    std::swap(node.operands[0], node.operands[1]);
  });
  EXPECT_EQ(second.peak(late), Peak(5, "reader"));
  // An update on the other device: copies of w and x there, and the result.
  auto place = [&](std::initializer_list<const char *> names,
                   std::initializer_list<int32_t> devices) {
    return [&usual, names, devices](Strategy &strategy) {
      for (const char *name : names)
        strategy.configs[usual.graph.find(name)] =
            configuration({1, 1}, devices);
    };
  };
  EXPECT_EQ(usual.peak(late, place({"update"}, {1}), /*device=*/1),
            Peak(3, "update"));
  // Two tasks of a device that do the same: each has its result.
  EXPECT_EQ(usual.peak(late, place({"update", "write"}, {0, 0})),
            Peak(6, "reader"));
}

/// What each of two devices needs, where the first action on a value is a
/// collective of the kind `kind`.
std::vector<int64_t>
peaksOf(const OperatorGraph &graph,
        std::initializer_list<std::pair<const char *, Configuration>> configs,
        const char *value, ActionKind kind) {
  Topology machine = plainMachine(2);
  CostModel costs;
  Strategy strategy = singleDevice(graph, machine);
  for (const auto &[name, config] : configs)
    strategy.configs[graph.find(name)] = config;
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(strategy);
  EXPECT_EQ(tasks.valueTasks(graph.valueOf(graph.find(value))).actions[0].kind,
            kind);
  return tasks.peakMemory();
}

TEST(MemoryUse, PiecesThatAreNotContiguousNeedBuffers) {
  // 256 bytes of weights, of which two devices have a half each and both need
  // all: rows lie where they are received, columns do not.
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 8});
  builder.output("y", builder.matmul("a", x, builder.parameter("w", {8, 8})));
  OperatorGraph graph = builder.finish();
  auto peaks = [&](std::initializer_list<int32_t> degrees) {
    return peaksOf(graph,
                   {{"a", configuration({2, 1, 1}, {0, 1})},
                    {"w", configuration(degrees, {0, 1})}},
                   "w", ActionKind::AllGather);
  };
  // Half of x, of w, all of w, and half of the result.
  EXPECT_EQ(peaks({2, 1}), std::vector<int64_t>(2, 32 + 128 + 256 + 32));
  // Before the result is there: as much again for the columns.
  EXPECT_EQ(peaks({1, 2}), std::vector<int64_t>(2, 32 + 128 + 256 + 256));
}

TEST(MemoryUse, ChannelsOfOneImageMayNeedBuffers) {
  // Two devices have half of the channels of one image, or one of two images,
  // 256 bytes, and both need all: where an order with channels last may be
  // chosen, what is received of channels is not contiguous for sure.
  auto peaks = [](int64_t batch, bool hasImages) {
    GraphBuilder builder;
    int32_t x = builder.input("x", {batch, 8 / batch, 4, 4});
    builder.output("y", builder.pool("b", builder.relu("a", x), 4, 4));
    builder.graph.hasImages = hasImages;
    OperatorGraph graph = builder.finish();
    int32_t images = static_cast<int32_t>(batch), channels = 3 - images;
    return peaksOf(graph,
                   {{"a", configuration({images, channels, 1, 1}, {0, 1})},
                    {"b", configuration({1, 1, 1, 1}, {0, 1})}},
                   "a", ActionKind::AllGather);
  };
  // Half of x and of a, all of a; then as much again for the pieces, or b.
  EXPECT_EQ(peaks(1, true), std::vector<int64_t>(2, 256 + 256 + 512 + 512));
  EXPECT_EQ(peaks(1, false), std::vector<int64_t>(2, 256 + 256 + 512 + 32));
  EXPECT_EQ(peaks(2, true), std::vector<int64_t>(2, 256 + 256 + 512 + 32));
}

TEST(MemoryUse, CopiesOfFixedParametersAreMadeOnce) {
  // Each of two devices has 256 bytes of weights, of which a reads a half, in
  // columns, and b all. The outputs, of 64 bytes, are what needs most.
  struct Step {
    int64_t ns;
    std::vector<int64_t> peak;
    bool operator==(const Step &other) const {
      return ns == other.ns && peak == other.peak;
    }
  };
  DeviceKind kind = plainMachine(1).kinds()[0];
  kind.memoryBandwidth = 1e9;
  Topology machine =
      Topology::machine(2, {kind, 1e9, 10, 0, 1, /*occupiesReceiver=*/false});
  CostModel costs;
  auto stepOf = [&](bool isFixed, int32_t columns) {
    GraphBuilder builder;
    builder.fixedParameters = isFixed;
    int32_t x = builder.input("x", {2, 8}), w = builder.parameter("w", {8, 8});
    int32_t a = builder.matmul("a", x, w);
    int32_t b = builder.matmul("b", builder.relu("r", a), w);
    for (const char *name : {"c", "d", "e", "f"})
      builder.output(std::string(name) + ".y", builder.relu(name, b));
    OperatorGraph graph = builder.finish();
    Strategy strategy = singleDevice(graph, machine);
    auto set = [&](const char *name, Configuration config) {
      strategy.configs[graph.find(name)] = std::move(config);
    };
    set("w", configuration({1, columns}, {0, 1}));
    set("a", configuration({1, 2, 1}, {0, 1}));
    set("b", configuration({1, 1, 1}, {0, 1}));
    for (const char *name : {"r", "c", "d", "e", "f"})
      set(name, configuration({1, 1}, {0, 1}));
    EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(strategy);
    EXPECT_EQ(tasks.valueTasks(w).actions.empty(), columns == 1);
    return Step{FullSimulator(tasks).stepNs(), tasks.peakMemory()};
  };
  // The copies, of 128 bytes, take no time in the step, and are still there
  // when f runs.
  Step before = stepOf(false, 1), now = stepOf(true, 1);
  EXPECT_GT(CostModel::copyNs(128, kind), 0);
  EXPECT_EQ(before.ns - now.ns, CostModel::copyNs(128, kind));
  EXPECT_EQ(now.peak, std::vector<int64_t>(2, before.peak[0] + 128));
  // What moves, moves in every step.
  EXPECT_EQ(stepOf(false, 2), stepOf(true, 2));
}

TEST(MemoryUse, SumsThatAreCutIntoColumnsNeedBuffers) {
  // Each of two devices sums up a half of the products, 256 bytes, and gets a
  // half of the sums.
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 8});
  int32_t a = builder.matmul("a", x, builder.parameter("w", {8, 8}));
  builder.output("y", builder.relu("b", a));
  OperatorGraph graph = builder.finish();
  auto peaks = [&](std::initializer_list<int32_t> degrees) {
    return peaksOf(graph,
                   {{"a", configuration({1, 1, 2}, {0, 1})},
                    {"w", configuration({2, 1}, {0, 1})},
                    {"b", configuration(degrees, {0, 1})}},
                   "a", ActionKind::ReduceScatter);
  };
  // Halves of x and w, what is summed up, a half of the sums, and one of b's.
  EXPECT_EQ(peaks({2, 1}),
            std::vector<int64_t>(2, 128 + 128 + 256 + 128 + 128));
  // Before b's: as much as is summed up, in columns.
  EXPECT_EQ(peaks({1, 2}),
            std::vector<int64_t>(2, 128 + 128 + 256 + 128 + 256));
}

/// The same graph with its nodes numbered in the order `order`.
OperatorGraph renumbered(const OperatorGraph &graph,
                         llvm::ArrayRef<int32_t> order) {
  OperatorGraph result;
  std::vector<int32_t> values(graph.numValues(), -1);
  for (int32_t id : order) {
    GraphNode node = graph.node(id);
    llvm::SmallVector<llvm::SmallVector<int64_t, 5>, 2> shapes;
    llvm::SmallVector<int32_t, 2> elementBytes;
    llvm::SmallVector<int32_t, 2> results(node.results.begin(),
                                          node.results.end());
    for (int32_t &operand : node.operands)
      operand = values[operand];
    for (int32_t value : results) {
      const auto &shape = graph.value(value).shape;
      shapes.emplace_back(shape.begin(), shape.end());
      elementBytes.push_back(graph.value(value).elementBytes);
    }
    node.results.clear();
    int32_t added = result.addNode(std::move(node), shapes, elementBytes);
    for (auto [index, value] : llvm::enumerate(results))
      values[value] = result.valueOf(added, static_cast<int32_t>(index));
  }
  EXPECT_EQ(toString(result.finish()), "");
  return result;
}

/// Any order in which operands come first, inputs in front and outputs at the
/// end.
std::vector<int32_t> randomOrder(const OperatorGraph &graph, Random &random) {
  std::vector<int32_t> missing(graph.numNodes()), ready, order;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    missing[id] = static_cast<int32_t>(graph.node(id).operands.size());
    if (missing[id] == 0)
      ready.push_back(id);
  }
  while (!ready.empty()) {
    size_t at = random.below(ready.size());
    int32_t id = ready[at];
    ready.erase(ready.begin() + static_cast<ptrdiff_t>(at));
    order.push_back(id);
    for (int32_t value : graph.node(id).results)
      for (const GraphValue::Use &use : graph.value(value).uses)
        if (--missing[use.node] == 0)
          ready.push_back(use.node);
  }
  keepPorts(order, graph);
  return order;
}

TEST(MemoryUse, DoesNotDependOnTheNumberingOfUses) {
  Topology machine = plainMachine(3);
  CostModel costs;
  int differing = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    OperatorGraph graph = randomGraph(seed);
    Random random(seed, 0, 0);
    // Launched in one order, numbered in another.
    std::vector<int32_t> launch = randomOrder(graph, random),
                         numbering = randomOrder(graph, random);
    OperatorGraph other = renumbered(graph, numbering);
    std::vector<int32_t> numberOf(graph.numNodes());
    for (auto [number, id] : llvm::enumerate(numbering))
      numberOf[id] = static_cast<int32_t>(number);
    for (const Strategy &chosen : {dataParallel(graph, machine),
                                   uniformStrategy(graph, machine, seed)}) {
      Strategy first = chosen, second;
      first.order = launch;
      second.configs.resize(graph.numNodes());
      for (int32_t id = 0; id < graph.numNodes(); ++id)
        second.configs[numberOf[id]] = first.configs[id];
      for (int32_t id : launch)
        second.order.push_back(numberOf[id]);
      ASSERT_EQ(toString(verify(second, other, machine)), "");
      TaskGraph tasks({graph, machine, costs}), others({other, machine, costs});
      tasks.setStrategy(first);
      others.setStrategy(second);
      ASSERT_EQ(tasks.peakMemory(), others.peakMemory()) << "seed " << seed;
      // The order matters.
      first.order.clear();
      std::vector<int64_t> peak = tasks.peakMemory();
      tasks.setStrategy(first);
      differing += tasks.peakMemory() != peak;
    }
  }
  EXPECT_GT(differing, 0);
}

TEST(MemoryUse, GuardAnswersAsTheWholeStep) {
  // Changes that may or may not fit, on devices with as much memory as the
  // start needs and a part of that more.
  CostModel costs;
  DeviceKind kind = plainMachine(1).kinds()[0];
  auto machineWith = [&](int64_t memory) {
    return Topology::machine(
        3, {kind, 1e9, 0, memory, 1, /*occupiesReceiver=*/false});
  };
  uint64_t fitting = 0, refused = 0, walks = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    OperatorGraph graph = seed % 3 == 0   ? randomGraph(seed)
                          : seed % 6 == 1 ? deepProducts(6, 4096)
                          : seed % 6 == 4 ? updatedProducts()
                                          : inception(2, 1);
    Topology unlimited = machineWith(0);
    Strategy strategy = dataParallel(graph, unlimited);
    TaskGraph start({graph, unlimited, costs});
    start.setStrategy(strategy);
    std::vector<int64_t> peaks = start.peakMemory();
    Topology machine =
        machineWith(*std::max_element(peaks.begin(), peaks.end()) *
                    static_cast<int64_t>(5 + seed / 3) / 5);
    ConfigurationSpace space(graph, machine);
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(strategy);
    detail::MemoryGuard guard(tasks);
    guard.reset();
    Random random(seed, 0, 0);
    for (int step = 0; step < 60; ++step) {
      Strategy changed = strategy;
      llvm::SmallVector<int32_t, 8> nodes;
      for (uint64_t groups = 1 + random.below(3); groups > 0; --groups) {
        int32_t group = space.groups()[random.below(space.groups().size())];
        space.assign(changed, group, space.sample(group, random));
        for (int32_t node : graph.group(group)) {
          nodes.push_back(node);
          deriveEnds(changed, graph, machine, node, &nodes);
        }
      }
      llvm::sort(nodes);
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      tasks.propose(changed, nodes);
      tasks.plan();
      bool fits = guard.fits();
      ASSERT_EQ(fits, tasks.fitsMemory())
          << "seed " << seed << " step " << step;
      (fits ? fitting : refused)++;
      if (fits) {
        guard.accept();
        tasks.accept();
        strategy = changed;
      } else {
        tasks.reject();
      }
    }
    walks += guard.numWalks();
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(fitting, 500u);
  // Most of what fits is known to fit from what changed.
  EXPECT_LT(walks - refused, fitting / 2);
}

TEST(MemoryUse, WhatASearchFindsFits) {
  // The best strategy without a limit misses it by one byte. Where that needs
  // less memory than any start, nothing is left to begin with.
  int found = 0;
  CostModel costs;
  GraphBuilder builder;
  int32_t x = builder.input("x", {16, 64});
  for (int i = 0; i < 4; ++i) {
    std::string name = "n" + std::to_string(i);
    x = builder.relu(
        name + ".relu",
        builder.matmul(name, x, builder.parameter(name + ".w", {64, 64})));
  }
  builder.output("y", x);
  OperatorGraph graph = builder.finish();
  DeviceKind kind = plainMachine(1).kinds()[0];
  auto machineWith = [&](int64_t memory) {
    return Topology::machine(
        3, {kind, 2e9, 50, memory, 1, /*occupiesReceiver=*/false});
  };
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SearchOptions options;
    options.seed = seed;
    options.proposals = 1500;
    options.threads = 1;
    Topology unlimited = machineWith(0);
    auto best = createMCMC()->run({graph, unlimited, costs}, options);
    ASSERT_TRUE(bool(best)) << llvm::toString(best.takeError());
    TaskGraph tasks({graph, unlimited, costs});
    tasks.setStrategy(best->strategy);
    std::vector<int64_t> peak = tasks.peakMemory();
    Topology limited =
        machineWith(*std::max_element(peak.begin(), peak.end()) - 1);
    SearchProblem problem{graph, limited, costs};
    ASSERT_NE(toString(problem.verify(best->strategy)), "");
    auto result = createMCMC()->run(problem, options);
    if (!result) {
      EXPECT_NE(llvm::toString(result.takeError()).find("a start that fits"),
                std::string::npos)
          << "seed " << seed;
      continue;
    }
    ++found;
    EXPECT_EQ(toString(problem.verify(result->strategy)), "")
        << "seed " << seed;
  }
  EXPECT_GE(found, 4);
}
} // namespace
