//===- StrategyTest.cpp - Strategies, experts, files ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/Simulator.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace soap;
using namespace soap::test;

namespace {
using Ints = llvm::SmallVector<int32_t, 8>;

TEST(Strategy, Experts) {
  OperatorGraph graph = smallChain(3);
  Topology machine = plainMachine(4);
  CostModel costs;
  auto config = [&](const Strategy &strategy, llvm::StringRef name) {
    return strategy.configs[graph.find(name)];
  };

  Strategy data = dataParallel(graph, machine);
  EXPECT_EQ(toString(verify(data, graph, machine)), "");
  // min(P, batch); parameters are copied, without communication.
  EXPECT_EQ(config(data, "conv1").degrees.loops[0], 3);
  EXPECT_EQ(config(data, "conv1").devices, Ints({0, 1, 2}));
  EXPECT_EQ(config(data, "conv1.weight").degrees.replicate, 3);
  EXPECT_EQ(config(data, "x").devices, Ints({machine.host()}));
  EXPECT_EQ(config(data, "y").devices, Ints({machine.host()}));
  TaskGraph tasks({graph, machine, costs});
  tasks.setStrategy(data);
  EXPECT_EQ(tasks.bytes(Phase::Step), 0);
  EXPECT_EQ(tasks.bytes(Phase::Feed), graph.value(0).bytes());

  Strategy tensor = tensorParallel(graph, machine);
  EXPECT_EQ(toString(verify(tensor, graph, machine)), "");
  EXPECT_EQ(config(tensor, "conv1").degrees.loops[1], 4);
  EXPECT_EQ(config(tensor, "conv1.weight").degrees.loops[0], 4);
  EXPECT_EQ(config(tensor, "conv1.bias").degrees.loops[0], 4);
  // What has no parameters follows.
  EXPECT_EQ(config(tensor, "relu1").degrees.loops[1], 4);
  EXPECT_EQ(config(tensor, "relu1").devices, Ints({0, 1, 2, 3}));

  Strategy space = spatial(graph, machine);
  EXPECT_EQ(toString(verify(space, graph, machine)), "");
  EXPECT_EQ(config(space, "conv1").degrees.loops[2], 4);

  Strategy model = modelParallel({graph, machine, costs});
  EXPECT_EQ(toString(verify(model, graph, machine)), "");
  EXPECT_EQ(config(model, "conv1").devices.size(), 1u);
  EXPECT_LT(config(model, "conv1").devices[0],
            config(model, "conv2").devices[0]);
  EXPECT_EQ(config(model, "conv2.weight").devices,
            config(model, "conv2").devices);

  for (uint64_t seed = 0; seed < 50; ++seed)
    for (bool structured : {true, false}) {
      Strategy random = randomStrategy(graph, machine, seed, structured);
      EXPECT_EQ(toString(verify(random, graph, machine)), "")
          << "seed " << seed;
      EXPECT_EQ(random, randomStrategy(graph, machine, seed, structured));
    }
  EXPECT_FALSE(randomStrategy(graph, machine, 1) ==
               randomStrategy(graph, machine, 2));
  auto unknown = expertStrategy("best", {graph, machine, costs});
  EXPECT_NE(llvm::toString(unknown.takeError()).find("got: 'best'"),
            std::string::npos);
}

TEST(Strategy, RandomStrategiesSayEverything) {
  OperatorGraph graph = smallChain(4);
  Topology machine = plainMachine(4);
  for (auto draw : {uniformStrategy, teamStrategy}) {
    int repeated = 0, elsewhere = 0, regathered = 0, ordered = 0, partial = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Strategy random = draw(graph, machine, seed, /*devices=*/0);
      ASSERT_EQ(toString(verify(random, graph, machine)), "")
          << "seed " << seed;
      EXPECT_EQ(random, draw(graph, machine, seed, 0));
      ordered += !random.order.empty();
      Strategy derived = random;
      deriveEnds(derived, graph, machine);
      elsewhere += derived.configs != random.configs;
      for (auto [config, node] : llvm::zip(random.configs, graph.nodes())) {
        llvm::SmallVector<int32_t> devices(config.devices.begin(),
                                           config.devices.end());
        llvm::sort(devices);
        repeated +=
            std::unique(devices.begin(), devices.end()) != devices.end();
        regathered += !config.regather.empty();
        for (size_t loop = 0; loop < node.spec.loops.size(); ++loop)
          partial += config.degrees.loops[loop] > 1 &&
                     !node.spec.results.empty() &&
                     node.spec.isReduction(static_cast<unsigned>(loop));
      }
    }
    EXPECT_EQ(repeated > 0, draw == uniformStrategy);
    EXPECT_GT(elsewhere, 0);
    EXPECT_GT(regathered, 0);
    EXPECT_GT(ordered, 0);
    EXPECT_LT(ordered, 200);
    EXPECT_GT(partial, 0);
  }
}

TEST(Strategy, ParametersLieWhereTheyAreRead) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 8});
  int32_t w = builder.parameter("w", {8, 8});
  int32_t a = builder.matmul("a", x, w);
  builder.matmul("b", a, w);
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(4);
  Strategy strategy = singleDevice(graph, machine);
  auto configure = [&](llvm::StringRef name, Ints loops, int32_t replicate,
                       Ints devices) {
    Configuration &config = strategy.configs[graph.find(name)];
    config.degrees.loops.assign(loops.begin(), loops.end());
    config.degrees.replicate = replicate;
    config.devices = devices;
  };
  auto place = [&] {
    deriveEnds(strategy, graph, machine);
    EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
    return strategy.configs[graph.find("w")];
  };
  // Both split f and k: tiles (k, f) of w on the devices of the tasks (f, k).
  configure("a", {1, 2, 2}, 1, {0, 1, 2, 3});
  configure("b", {1, 2, 2}, 1, {0, 1, 2, 3});
  EXPECT_EQ(place().degrees.loops, (llvm::SmallVector<int32_t, 6>{2, 2}));
  EXPECT_EQ(place().devices, Ints({0, 2, 1, 3}));
  // A split of n makes copies; two on one device are stored once.
  configure("a", {4, 1, 1}, 1, {0, 0, 3, 3});
  configure("b", {2, 1, 1}, 2, {0, 3, 0, 3});
  EXPECT_EQ(place().degrees.replicate, 2);
  EXPECT_EQ(place().devices, Ints({0, 3}));
  // Different tiles: whole copies wherever any is read, and nothing moves.
  configure("b", {1, 2, 1}, 1, {1, 2});
  EXPECT_EQ(place().degrees.replicate, 4);
  EXPECT_EQ(place().devices, Ints({0, 1, 2, 3}));
  EXPECT_TRUE(planOf(graph, strategy, machine, graph.valueOf(graph.find("w")))
                  .actions.empty());
}

TEST(Strategy, VerifyFindsMistakes) {
  OperatorGraph graph = smallChain();
  Topology machine = plainMachine(2);
  int32_t conv = graph.find("conv1");
  auto errorOf = [&](auto change) {
    Strategy strategy = dataParallel(graph, machine);
    change(strategy);
    return toString(verify(strategy, graph, machine));
  };
  EXPECT_EQ(errorOf([](Strategy &) {}), "");
  EXPECT_EQ(errorOf([&](Strategy &s) { s.configs[conv].degrees.loops[4] = 4; }),
            "node 'conv1': expected a degree of loop 'c' from 1 to 3, got: 4");
  EXPECT_EQ(errorOf([&](Strategy &s) { s.configs[conv].degrees.loops[0] = 4; }),
            "node 'conv1': expected 4 devices (product of degrees and "
            "replicate), got: 2");
  EXPECT_EQ(
      errorOf([&](Strategy &s) { s.configs[conv].degrees.replicate = 0; }),
      "node 'conv1': expected replicate of 1 or more, got: 0");
  EXPECT_NE(errorOf([&](Strategy &s) {
              s.configs[conv].devices.edit()[1] = 7;
            }).find("expected devices from 0 to 1"),
            std::string::npos);
  EXPECT_EQ(
      errorOf([&](Strategy &s) { s.configs[conv].devices.edit()[1] = 2; }),
      "node 'conv1': expected devices that compute, got: the host");
  EXPECT_EQ(errorOf([&](Strategy &s) {
              s.configs[graph.find("x")].devices.edit()[0] = 0;
            }),
            "node 'x': expected an input on the host, got: device 0");
  EXPECT_EQ(
      errorOf([&](Strategy &s) { s.configs[conv].degrees.loops.pop_back(); }),
      "node 'conv1': expected a degree for each of 5 loops, got: 4");
  EXPECT_EQ(errorOf([&](Strategy &s) { s.configs[conv].regather = {3}; }),
            "node 'conv1': expected operand numbers below 3 in regather, got: "
            "3");
  EXPECT_NE(errorOf([&](Strategy &s) {
              s.configs.pop_back();
            }).find("expected a configuration for each of"),
            std::string::npos);
  EXPECT_NE(errorOf([&](Strategy &s) {
              s.order = {0, 0};
            }).find("names every node once"),
            std::string::npos);
  EXPECT_NE(errorOf([&](Strategy &s) {
              for (int32_t id = graph.numNodes(); id-- > 0;)
                s.order.push_back(id);
            }).find("in which operands come first"),
            std::string::npos);
}

/// conv - relu - 1x1 conv - pool, then two fully connected layers with a bias.
OperatorGraph classifier(int64_t batch) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {batch, 3, 8, 8});
  x = builder.relu("relu1", builder.conv("conv1", x, 8, 3, 1, 1));
  x = builder.conv("conv2", x, 8, 1);
  x = builder.pool("pool", x, 8, 8);
  // Channels of the image are what the layers behind it multiply.
  int32_t y = builder.input("y", {batch, 32});
  y = builder.matmul("fc1", y, builder.parameter("fc1.weight", {32, 16}));
  y = builder.relu("relu2", y);
  y = builder.matmul("fc2", y, builder.parameter("fc2.weight", {16, 8}));
  builder.output("out1", x);
  builder.output("out2", y);
  return builder.finish();
}

TEST(Strategy, OneWeirdTrick) {
  OperatorGraph graph = classifier(8);
  Topology machine = plainMachine(4);
  // A convolution is one whatever the size of its kernel.
  for (auto [name, expected] :
       {std::pair("conv1", false), std::pair("conv2", false),
        std::pair("relu1", false), std::pair("fc1", true),
        std::pair("fc2", true), std::pair("relu2", false)})
    EXPECT_EQ(isFullyConnected(graph, graph.find(name)), expected) << name;
  Strategy owt = oneWeirdTrick(graph, machine);
  EXPECT_EQ(toString(verify(owt, graph, machine)), "");
  auto degrees = [&](llvm::StringRef name) {
    return owt.configs[graph.find(name)].degrees.loops;
  };
  using Loops = llvm::SmallVector<int32_t, 6>;
  EXPECT_EQ(degrees("conv1"), Loops({4, 1, 1, 1, 1}));
  EXPECT_EQ(degrees("relu1"), Loops({4, 1, 1, 1}));
  EXPECT_EQ(degrees("conv2"), Loops({4, 1, 1, 1, 1}));
  EXPECT_EQ(degrees("fc1"), Loops({1, 4, 1}));
  // What has no weights stays where its operand is.
  EXPECT_EQ(degrees("relu2"), Loops({1, 4}));
  EXPECT_EQ(degrees("fc2"), Loops({1, 4, 1}));
  EXPECT_EQ(owt.configs[graph.find("fc1.weight")].degrees.loops, Loops({1, 4}));
}

/// Layers a, b, c; b runs in two steps that share its weights, the second of
/// which reads what c made of the first.
OperatorGraph recurrent(int64_t batch) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {batch, 16});
  int32_t wb = builder.parameter("wb", {16, 16});
  x = builder.matmul("a", x, builder.parameter("wa", {16, 16}));
  x = builder.relu("relu", x);
  int32_t step = builder.matmul("b1", x, wb);
  step = builder.matmul("c", step, builder.parameter("wc", {16, 16}));
  builder.output("y", builder.matmul("b2", builder.add("sum", x, step), wb));
  return builder.finish();
}

TEST(Strategy, ExpertRNN) {
  OperatorGraph graph = recurrent(6);
  std::vector<int32_t> depths = layerDepths(graph);
  for (auto [name, depth] :
       {std::pair("a", 1), std::pair("relu", 1), std::pair("b1", 2),
        std::pair("c", 3), std::pair("sum", 3), std::pair("b2", 2)})
    EXPECT_EQ(depths[graph.find(name)], depth) << name;

  // Four machines of four devices: samples over machines, a layer per device.
  llvm::Expected<Topology> cluster =
      Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  CostModel costs;
  Strategy expert = expertRNN({graph, *cluster, costs});
  EXPECT_EQ(toString(verify(expert, graph, *cluster)), "");
  auto devices = [&](const Strategy &strategy, llvm::StringRef name) {
    return strategy.configs[graph.find(name)].devices;
  };
  EXPECT_EQ(devices(expert, "a"), Ints({0, 4, 8, 12}));
  EXPECT_EQ(devices(expert, "b1"), Ints({1, 5, 9, 13}));
  EXPECT_EQ(devices(expert, "c"), Ints({2, 6, 10, 14}));
  EXPECT_EQ(devices(expert, "b2"), devices(expert, "b1"));
  EXPECT_EQ(expert.configs[graph.find("a")].degrees.loops[0], 4);

  // One machine of fewer devices than layers: blocks of layers, each whole.
  Topology machine = plainMachine(2);
  Strategy blocks = expertRNN({graph, machine, costs});
  EXPECT_EQ(toString(verify(blocks, graph, machine)), "");
  EXPECT_EQ(devices(blocks, "b1"), devices(blocks, "b2"));
  EXPECT_NE(devices(blocks, "a"), devices(blocks, "c"));
}

TEST(Strategy, ModelParallelIsABalancedCut) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {4, 16});
  int64_t before = 16;
  for (auto [i, width] : llvm::enumerate(Shape({16, 64, 16, 16, 24, 64}))) {
    std::string name = "m" + std::to_string(i);
    x = builder.matmul(name, x,
                       builder.parameter(name + ".w", {before, width}));
    before = width;
  }
  builder.output("y", x);
  OperatorGraph graph = builder.finish();
  CostModel costs;
  for (int32_t devices : {1, 2, 3, 4, 9}) {
    Topology machine = plainMachine(devices);
    Strategy cut = modelParallel({graph, machine, costs});
    ASSERT_EQ(toString(verify(cut, graph, machine)), "");
    std::vector<int64_t> ns, blocks(devices, 0);
    TaskGraph tasks({graph, machine, costs});
    tasks.setStrategy(cut);
    int32_t last = 0;
    for (int32_t id : tasks.order()) {
      ns.push_back(tasks.nodeNs(id));
      ASSERT_EQ(cut.configs[id].devices.size(), 1u);
      int32_t device = cut.configs[id].devices[0];
      EXPECT_GE(device, last);
      last = device;
      blocks[device] += ns.back();
    }
    // Every way to cut the chain, by dynamic programming.
    std::vector<int64_t> best(ns.size() + 1, INT64_MAX);
    best[0] = 0;
    for (int32_t block = 0; block < devices; ++block)
      for (size_t end = ns.size(); end > 0; --end) {
        int64_t sum = 0;
        for (size_t begin = end; begin-- > 0;) {
          sum += ns[begin];
          if (best[begin] != INT64_MAX)
            best[end] = std::min(best[end], std::max(best[begin], sum));
        }
      }
    EXPECT_EQ(*llvm::max_element(blocks), best[ns.size()]) << devices;
  }
}

/// Fast devices take more.
TEST(Strategy, ModelParallelKnowsUnequalDevices) {
  Topology machine;
  DeviceKind slow;
  slow.name = "slow";
  slow.peakFlops = 1e9;
  slow.memoryBandwidth = 1e18;
  slow.halfRows = slow.halfColumns = slow.halfDepth = 0;
  slow.launchNs = 0;
  DeviceKind fast = slow;
  fast.name = "fast";
  fast.peakFlops = 3e9;
  machine.addDevice(machine.addKind(slow));
  machine.addDevice(machine.addKind(fast));
  Link link;
  link.from = 0;
  link.to = 1;
  link.bandwidth = 1e9;
  machine.addDuplexLink(link);
  for (int32_t device : {0, 1}) {
    link.from = Topology::hostVertex;
    link.to = device;
    machine.addDuplexLink(link);
  }
  ASSERT_EQ(toString(machine.finish()), "");
  GraphBuilder builder;
  int32_t x = builder.input("x", {4, 16});
  for (int layer = 0; layer < 4; ++layer) {
    std::string name = "m" + std::to_string(layer);
    x = builder.matmul(name, x, builder.parameter(name + ".w", {16, 16}));
  }
  builder.output("y", x);
  OperatorGraph graph = builder.finish();
  Strategy cut = modelParallel({graph, machine, CostModel()});
  EXPECT_EQ(cut.configs[graph.find("m0")].devices, Ints({0}));
  for (llvm::StringRef name : {"m1", "m2", "m3"})
    EXPECT_EQ(cut.configs[graph.find(name)].devices, Ints({1}));
}

/// The device of a leader's task at the same tile computes a member's task.
TEST(Strategy, MembersFollowTheirLeaders) {
  OperatorGraph graph = trainedProducts();
  Topology machine = plainMachine(16);
  const GraphNode &leader = graph.node(graph.find("fc2"));
  Configuration config;
  config.degrees.loops = {2, 3, 2}; // n f k
  config.degrees.replicate = 1;
  for (int32_t task = 0; task < 12; ++task)
    config.devices.push_back(task);
  Strategy strategy = singleDevice(graph, machine);
  ConfigurationSpace space(graph, machine);
  space.assign(strategy, leader.group, config);
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  // Loops k f n.
  const GraphNode &member = graph.node(graph.find("fc2.b.grad"));
  const Configuration &other = strategy.configs[graph.find("fc2.b.grad")];
  EXPECT_EQ(other.degrees.loops, (llvm::SmallVector<int32_t, 6>{2, 3, 2}));
  for (int64_t task = 0; task < 12; ++task) {
    auto at = taskIndices(other.degrees, task);
    EXPECT_EQ(other.devices[task], at[2] * 6 + at[1] * 2 + at[0]);
  }
  // Loops that a member does not have make copies.
  GraphNode columns = member;
  columns.leaderLoops = {-1, 1, -1};
  Configuration copies = memberConfiguration(leader, config, columns);
  EXPECT_EQ(copies.degrees.loops, (llvm::SmallVector<int32_t, 6>{1, 3, 1}));
  EXPECT_EQ(copies.degrees.replicate, 4);
  EXPECT_EQ(copies.devices, Ints({0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
  // A device that was copied as it stands is a mistake.
  strategy.configs[graph.find("fc2.b.grad")].devices = config.devices;
  EXPECT_NE(toString(verify(strategy, graph, machine))
                .find("expected the configuration that follows from that of "
                      "its group's leader, 'fc2'"),
            std::string::npos);
}

TEST(Strategy, WrittenParametersLiveWhereTheyAreWritten) {
  OperatorGraph graph = updatedProducts();
  Topology machine = plainMachine(16);
  int32_t w2 = graph.find("w2"), write = graph.find("w2.write");
  Strategy strategy = singleDevice(graph, machine);
  Configuration config;
  config.degrees.loops = {2, 3, 2}; // n f k
  for (int32_t task = 0; task < 12; ++task)
    config.devices.push_back(task);
  ConfigurationSpace(graph, machine)
      .assign(strategy, graph.node(write).group, config);
  deriveEnds(strategy, graph, machine);
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  // By k and f, a copy per n, where the tasks of the write are.
  EXPECT_EQ(strategy.configs[w2].degrees.loops,
            (llvm::SmallVector<int32_t, 6>{2, 3}));
  EXPECT_EQ(strategy.configs[w2].degrees.replicate, 2);
  EXPECT_EQ(strategy.configs[w2].devices, strategy.configs[write].devices);

  Strategy elsewhere = strategy;
  llvm::MutableArrayRef<int32_t> places = elsewhere.configs[w2].devices.edit();
  std::swap(places[0], places[1]);
  EXPECT_EQ(toString(verify(elsewhere, graph, machine)),
            "node 'w2': expected a parameter that is written to live where it "
            "is written; leave its configuration out");
  Strategy gathered = strategy;
  gathered.configs[write].regather = {1};
  EXPECT_EQ(toString(verify(gathered, graph, machine)),
            "node 'w2.write': expected what is written not to be gathered "
            "again, got: operand 1");
}

TEST(Strategy, WritesAreLaunchedBehindReaders) {
  OperatorGraph graph = updatedProducts();
  Topology machine = plainMachine(4);
  CostModel costs;
  auto isBehind = [&](llvm::ArrayRef<int32_t> order) {
    std::vector<int32_t> position(graph.numNodes());
    for (auto [index, id] : llvm::enumerate(order))
      position[id] = static_cast<int32_t>(index);
    for (const char *name : {"w1", "w2"}) {
      const GraphValue &value = graph.value(graph.valueOf(graph.find(name)));
      int32_t write = graph.findWrite(&value - &graph.value(0))->node;
      for (const GraphValue::Use &use : value.uses)
        if (position[use.node] > position[write])
          return false;
    }
    return true;
  };
  for (uint64_t seed = 0; seed < 100; ++seed)
    for (auto draw : {uniformStrategy, teamStrategy}) {
      Strategy strategy = draw(graph, machine, seed, /*devices=*/0);
      ASSERT_EQ(toString(verify(strategy, graph, machine)), "")
          << "seed " << seed;
      if (!strategy.order.empty())
        EXPECT_TRUE(isBehind(strategy.order)) << "seed " << seed;
      for (llvm::StringRef policy : launchPolicyNames()) {
        Strategy launched = strategy;
        launched.order = launchOrder(policy, {graph, machine, costs}, strategy);
        EXPECT_EQ(toString(verify(launched, graph, machine)), "")
            << policy.str();
      }
    }
  Strategy strategy = singleDevice(graph, machine);
  deriveEnds(strategy, graph, machine);
  strategy.order.resize(graph.numNodes());
  std::iota(strategy.order.begin(), strategy.order.end(), 0);
  EXPECT_EQ(toString(verify(strategy, graph, machine)), "");
  // dh reads w2; nothing that the write of w2 needs comes of it.
  int32_t reader = graph.find("fc2.a.grad"), write = graph.find("w2.write");
  llvm::erase(strategy.order, reader);
  for (const char *name : {"fc1.b.grad", "w1.update", "w1.write"})
    llvm::erase(strategy.order, graph.find(name));
  auto at = llvm::find(strategy.order, write) + 1;
  strategy.order.insert(at, {reader, graph.find("fc1.b.grad"),
                             graph.find("w1.update"), graph.find("w1.write")});
  EXPECT_EQ(toString(verify(strategy, graph, machine)),
            "node 'w2.write': expected a launch order in which it stands "
            "behind all that reads what it writes, got: 'fc2.a.grad' later");
}

/// A member may have fewer units of a loop than its leader.
TEST(Strategy, NamedOnesFitAllMembers) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 12}), small = builder.input("z", {3, 5});
  int32_t y = builder.relu("before", x);
  builder.relu("copied", y);
  GraphNode node = builder.graph.node(builder.graph.find("copied"));
  node.group = 7;
  node.name = "leader";
  builder.graph.addNode(node, {Shape{8, 12}}, {4});
  node.name = "member";
  node.operands = {small};
  node.spec.loops[0].extent = 3;
  node.spec.loops[1].extent = 5;
  builder.graph.addNode(node, {Shape{3, 5}}, {4});
  OperatorGraph graph = builder.finish();
  Topology machine = plainMachine(8);
  CostModel costs;
  for (const NamedStrategy &named : namedStrategies())
    for (uint64_t seed = 0; seed < 20; ++seed)
      EXPECT_EQ(toString(verify(named.make({graph, machine, costs}, 0, seed),
                                graph, machine)),
                "")
          << named.name.str();
  for (uint64_t seed = 0; seed < 100; ++seed)
    for (bool structured : {false, true})
      EXPECT_EQ(
          toString(verify(randomStrategy(graph, machine, seed, structured),
                          graph, machine)),
          "");
}

TEST(Strategy, FilesNameLeaders) {
  OperatorGraph graph = trainedProducts();
  Topology machine = plainMachine(4);
  CostModel costs;
  SearchProblem problem{graph, machine, costs};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Strategy strategy = randomStrategy(graph, machine, seed, seed % 2);
    std::string text = toJSON(strategy, graph, StrategyInfo());
    llvm::Expected<Strategy> again = parseStrategy(text, problem);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(*again, strategy) << "seed " << seed;
  }
  llvm::Expected<Strategy> strategy = parseStrategy(
      R"({"ops": [{"op": "fc.*", "degrees": {"n": 2}, "devices": [2, 3]}]})",
      problem);
  ASSERT_TRUE(bool(strategy)) << llvm::toString(strategy.takeError());
  EXPECT_EQ(strategy->configs[graph.find("fc1.b.grad")].devices, Ints({2, 3}));
}

TEST(Strategy, NamedOnesKeepToTheirDevices) {
  CostModel costs;
  llvm::Expected<Topology> cluster =
      Topology::load(SOAP_TOPOLOGIES "/p100-cluster.json");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  std::string names = namedStrategyNames({"search"});
  for (const OperatorGraph &graph : {smallChain(8), classifier(3), recurrent(6),
                                     inception(1, 1), trainedProducts()})
    for (const NamedStrategy &named : namedStrategies()) {
      SCOPED_TRACE(named.name.str());
      EXPECT_NE(names.find(named.name.str() +
                           (&named == &namedStrategies().back() ? " or search"
                                                                : ", ")),
                std::string::npos);
      EXPECT_FALSE(named.description.empty());
      for (int32_t devices : {0, 1, 3, 4, 6, 99}) {
        Strategy strategy = named.make({graph, *cluster, costs}, devices, 7);
        EXPECT_EQ(toString(verify(strategy, graph, *cluster)), "");
        int32_t limit = devices == 0 || devices == 99 ? 16 : devices;
        int32_t used = 0;
        for (int32_t id = 0; id < graph.numNodes(); ++id)
          if (graph.node(id).role == NodeRole::Compute)
            for (int32_t device : strategy.configs[id].devices)
              used = std::max(used, device + 1);
        EXPECT_LE(used, limit);
        auto byName = expertStrategy(named.name, {graph, *cluster, costs}, 7);
        ASSERT_TRUE(bool(byName));
        if (limit == 16)
          EXPECT_EQ(*byName, strategy);
      }
    }
}
} // namespace
