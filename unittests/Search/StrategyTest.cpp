//===- StrategyTest.cpp - Strategies, experts, files ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/Simulator.h"
#include "gtest/gtest.h"

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
  EXPECT_EQ(verify(data, graph, machine), "");
  // min(P, batch); parameters are copied, without communication.
  EXPECT_EQ(config(data, "conv1").degrees.loops[0], 3);
  EXPECT_EQ(config(data, "conv1").devices, Ints({0, 1, 2}));
  EXPECT_EQ(config(data, "conv1.weight").degrees.replicate, 3);
  EXPECT_EQ(config(data, "x").devices, Ints({machine.host()}));
  EXPECT_EQ(config(data, "y").devices, Ints({machine.host()}));
  TaskGraph tasks(graph, machine, costs);
  tasks.setStrategy(data);
  EXPECT_EQ(tasks.bytes(Phase::Step), 0);
  EXPECT_EQ(tasks.bytes(Phase::Feed), graph.value(0).bytes());

  Strategy tensor = tensorParallel(graph, machine);
  EXPECT_EQ(verify(tensor, graph, machine), "");
  EXPECT_EQ(config(tensor, "conv1").degrees.loops[1], 4);
  EXPECT_EQ(config(tensor, "conv1.weight").degrees.loops[0], 4);
  EXPECT_EQ(config(tensor, "conv1.bias").degrees.loops[0], 4);
  // What has no parameters follows.
  EXPECT_EQ(config(tensor, "relu1").degrees.loops[1], 4);
  EXPECT_EQ(config(tensor, "relu1").devices, Ints({0, 1, 2, 3}));

  Strategy space = spatial(graph, machine);
  EXPECT_EQ(verify(space, graph, machine), "");
  EXPECT_EQ(config(space, "conv1").degrees.loops[2], 4);

  Strategy model = modelParallel(graph, machine, costs);
  EXPECT_EQ(verify(model, graph, machine), "");
  EXPECT_EQ(config(model, "conv1").devices.size(), 1u);
  EXPECT_LT(config(model, "conv1").devices[0],
            config(model, "conv2").devices[0]);
  EXPECT_EQ(config(model, "conv2.weight").devices,
            config(model, "conv2").devices);

  for (uint64_t seed = 0; seed < 50; ++seed)
    for (bool structured : {true, false}) {
      Strategy random = randomStrategy(graph, machine, seed, structured);
      EXPECT_EQ(verify(random, graph, machine), "") << "seed " << seed;
      EXPECT_EQ(random, randomStrategy(graph, machine, seed, structured));
    }
  EXPECT_FALSE(randomStrategy(graph, machine, 1) ==
               randomStrategy(graph, machine, 2));
  auto unknown = expertStrategy("best", graph, machine, costs);
  EXPECT_NE(llvm::toString(unknown.takeError()).find("got: 'best'"),
            std::string::npos);
}

TEST(Strategy, RandomStrategiesSayEverything) {
  OperatorGraph graph = smallChain(4);
  Topology machine = plainMachine(4);
  for (auto draw : {uniformStrategy, teamStrategy}) {
    int repeated = 0, elsewhere = 0, regathered = 0, ordered = 0, partial = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Strategy random = draw(graph, machine, seed);
      ASSERT_EQ(verify(random, graph, machine), "") << "seed " << seed;
      EXPECT_EQ(random, draw(graph, machine, seed));
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
    EXPECT_EQ(verify(strategy, graph, machine), "");
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
    return verify(strategy, graph, machine);
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
              s.configs[conv].devices[1] = 7;
            }).find("expected devices from 0 to 1"),
            std::string::npos);
  EXPECT_EQ(errorOf([&](Strategy &s) { s.configs[conv].devices[1] = 2; }),
            "node 'conv1': expected devices that compute, got: the host");
  EXPECT_EQ(
      errorOf([&](Strategy &s) { s.configs[graph.find("x")].devices[0] = 0; }),
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

TEST(Strategy, FilesRoundTrip) {
  OperatorGraph graph = smallChain();
  Topology machine = plainMachine(4);
  StrategyInfo info;
  info.fingerprint = graph.fingerprint;
  info.topology = machine.name;
  info.simulatedNs = 12345;
  info.seed = 9;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Strategy strategy = randomStrategy(graph, machine, seed, seed % 2);
    strategy.configs[graph.find("conv2")].regather = {1};
    if (seed % 3 == 0)
      strategy.order = fifoOrder(graph, strategy, machine, CostModel());
    std::string text = toJSON(strategy, graph, info);
    StrategyInfo read;
    llvm::Expected<Strategy> again = parseStrategy(text, graph, machine, &read);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(*again, strategy) << "seed " << seed;
    EXPECT_EQ(read.simulatedNs, 12345);
    EXPECT_EQ(read.seed, 9u);
    EXPECT_EQ(toJSON(*again, graph, read), text);
    llvm::Expected<int32_t> devices = devicesOfStrategy(text);
    ASSERT_TRUE(bool(devices));
    EXPECT_LE(*devices, 4);
  }
}

TEST(Strategy, FilesByHand) {
  OperatorGraph graph = smallChain();
  Topology machine = plainMachine(2);
  auto parse = [&](std::string ops, std::string more = "") {
    return parseStrategy("{\"ops\": [" + ops + "]" + more + "}", graph,
                         machine);
  };
  // Regular expressions match whole names, later entries win, ends follow.
  llvm::Expected<Strategy> strategy = parse(
      R"({"op": "(conv|relu).", "degrees": {"w": 1, "n": 2},
          "devices": [0, 1], "regather": []}, )"
      R"({"op": "pool", "devices": [1]}, {"op": "relu1", "devices": [1]})");
  EXPECT_FALSE(bool(strategy));
  EXPECT_NE(llvm::toString(strategy.takeError()).find("expected loops of node"),
            std::string::npos);
  strategy = parse(R"({"op": "conv.", "degrees": {"n": 2},
          "devices": [0, 1], "regather": ["conv1.weight"]}, )"
                   R"({"op": "conv2", "degrees": {"f": 2}, "devices": [1, 0]},
                      {"op": "pool|relu1", "devices": [1]})");
  EXPECT_FALSE(bool(strategy)); // conv2 does not read conv1.weight.
  llvm::consumeError(strategy.takeError());
  strategy = parse(R"({"op": "conv.", "degrees": {"n": 2},
          "devices": [0, 1], "regather": [1]}, )"
                   R"({"op": "conv2", "degrees": {"f": 2}, "devices": [1, 0]},
                      {"op": "pool|relu1", "devices": [1]})");
  ASSERT_TRUE(bool(strategy)) << llvm::toString(strategy.takeError());
  EXPECT_EQ(strategy->configs[graph.find("conv1")].degrees.loops[0], 2);
  EXPECT_EQ(strategy->configs[graph.find("conv2")].devices, Ints({1, 0}));
  EXPECT_EQ(strategy->configs[graph.find("conv2.weight")].devices,
            Ints({1, 0}));
  EXPECT_EQ(strategy->configs[graph.find("conv1")].regather.size(), 1u);

  std::string rest = R"({"op": "conv2|pool|relu1", "devices": [0]})";
  struct {
    std::string ops, more, expected;
  } cases[] = {
      {rest, "", "missing:\n  conv1"},
      {R"({"op": "conv1"}, )" + rest, "", "expected an array 'devices'"},
      {R"({"op": "conv9", "devices": [0]}, )" + rest, "", "got: 'conv9'"},
      {R"({"op": "conv(", "devices": [0]}, )" + rest, "",
       "a regular expression"},
      {R"({"op": "conv1", "devices": [2]}, )" + rest, "",
       "expected devices from 0 to 1 of topology"},
      {R"({"op": "conv1", "devices": [2]}, )" + rest, "", "got: 2; use a"},
      {R"({"op": "conv1", "devices": [3000000000]}, )" + rest, "",
       "got: 3000000000; use a"},
      {R"({"op": "conv1", "degrees": {"n": 0}, "devices": [0]}, )" + rest, "",
       "expected a degree of loop 'n' from 1 to 4, got: 0"},
      {R"({"op": "conv1", "degrees": {"n": 2}, "devices": [0]}, )" + rest, "",
       "expected 2 devices"},
      {R"({"op": ".*[0-9l]", "devices": [0]})",
       R"(, "model_fingerprint": "other")", "got: one of another model"},
      {R"({"op": ".*[0-9l]", "devices": [0]})", R"(, "order": "magic")",
       "expected 'order'"},
      {R"({"op": ".*[0-9l]", "devices": [0]})", R"(, "order": ["pool"])",
       "names every node that computes; add the missing:\n  conv1"},
      {R"({"op": ".*[0-9l]", "devices": [0]})",
       R"(, "order": ["conv1", "relu1", "pool", "conv2", "pool"])",
       "got: 'pool' twice"},
      {R"({"op": ".*", "device": [0]})", "", "did you mean 'devices'?"},
      {R"({"op": ".*", "devices": [0]})", R"(, "order": 3)", "got: 3"},
      {R"({"op": ".*", "devices": [0], "replicate": "2"})", "",
       "expected 'replicate' to be a whole number, got: \"2\""},
      {R"({"op": ".*", "devices": []})", "", "one device per task, got: []"},
      {R"({"op": ".*", "devices": [0, -1]})", "",
       "expected device numbers in 'devices', got: -1"},
      {R"({"op": "conv1", "degrees": {"n": 1.5}, "devices": [0]})", "",
       "from 1 to 4, got: 1.5"},
      {R"({"op": "conv1", "devices": [0], "regather": [7]})", "", "got: 7"},
      {R"({"op": ".*", "devices": [0], "devices": [1]})", "",
       "got: the key 'devices' twice in one object"},
  };
  for (const auto &[ops, more, expected] : cases) {
    llvm::Expected<Strategy> bad = parse(ops, more);
    ASSERT_FALSE(bool(bad)) << ops;
    std::string error = llvm::toString(bad.takeError());
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
}

TEST(Strategy, RegularExpressionsLeaveTheHostAlone) {
  OperatorGraph graph = smallChain();
  Topology machine = plainMachine(2);
  auto parse = [&](std::string ops) {
    return parseStrategy("{\"ops\": [" + ops + "]}", graph, machine);
  };
  llvm::Expected<Strategy> all = parse(R"({"op": ".*", "devices": [1]})");
  ASSERT_TRUE(bool(all)) << llvm::toString(all.takeError());
  EXPECT_EQ(all->configs[graph.find("conv1")].devices, Ints({1}));
  EXPECT_EQ(all->configs[graph.find("conv1.weight")].devices, Ints({1}));
  EXPECT_EQ(all->configs[graph.find("x")].devices, Ints({machine.host()}));
  // By name, or about the host, they are meant.
  llvm::Expected<Strategy> ends = parse(
      R"({"op": ".*", "devices": [1]}, {"op": "x|y", "devices": ["host"]})");
  ASSERT_TRUE(bool(ends)) << llvm::toString(ends.takeError());
  EXPECT_EQ(*ends, *all);
  llvm::Expected<Strategy> wrong =
      parse(R"({"op": ".*", "devices": [1]}, {"op": "x", "devices": [1]})");
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(llvm::toString(wrong.takeError()).find("on the host"),
            std::string::npos);
}

TEST(Strategy, OperandsToGatherAgainByName) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 8});
  int32_t w = builder.parameter("w", {8, 8});
  int32_t a = builder.matmul("a", x, w);
  builder.matmul("b", a, a);
  OperatorGraph graph = builder.finish();
  llvm::Expected<Strategy> strategy = parseStrategy(
      R"({"ops": [{"op": ".*", "devices": [0]},
                  {"op": "b", "devices": [0], "regather": ["a", 1]}]})",
      graph, plainMachine(1));
  ASSERT_TRUE(bool(strategy)) << llvm::toString(strategy.takeError());
  // All operands that a node of that name makes, each once.
  EXPECT_EQ(strategy->configs[graph.find("b")].regather,
            (llvm::SmallVector<int32_t, 1>{0, 1}));
}

TEST(ConfigurationSpace, CountsAndDraws) {
  OperatorGraph graph = smallChain(1);
  Topology machine = plainMachine(2);
  ConfigurationSpace space(graph, machine);
  int32_t group = graph.node(graph.find("conv1")).group;
  // No split (2 placements); f, h, w, c or copies in two (4 placements each);
  // n cannot be split.
  EXPECT_EQ(space.size(group), 2 + 5 * 4);
  std::vector<Configuration> all = space.all(group);
  EXPECT_EQ(all.size(), 22u);
  std::vector<bool> drawn(all.size());
  for (uint64_t step = 0; step < 2000; ++step) {
    Random random(1, 2, step);
    Configuration config = step % 2 ? space.sample(group, random)
                                    : space.sampleStructured(group, random);
    auto it = llvm::find(all, config);
    ASSERT_NE(it, all.end());
    drawn[it - all.begin()] = true;
  }
  EXPECT_EQ(llvm::count(drawn, true), 22);
  // Many devices: the space stays small enough to list.
  OperatorGraph network = inception(64, 1);
  Topology cluster = plainMachine(64);
  ConfigurationSpace large(network, cluster);
  EXPECT_LT(large.degrees(large.groups()[0]).size(), 3000u);
}

TEST(ConfigurationSpace, FollowsOperands) {
  OperatorGraph graph = smallChain();
  Topology machine = plainMachine(4);
  Strategy strategy = singleDevice(graph, machine);
  int32_t conv = graph.find("conv1"), relu = graph.find("relu1");
  Configuration &config = strategy.configs[conv];
  config.degrees.loops[1] = 2;
  config.degrees.loops[4] = 2; // Partial results stay behind.
  config.devices = {3, 2, 1, 0};
  Configuration follower = followOperand(graph, strategy, relu, 0);
  EXPECT_EQ(follower.degrees.loops,
            (llvm::SmallVector<int32_t, 6>{1, 2, 1, 1}));
  EXPECT_EQ(follower.devices, Ints({3, 1}));
  EXPECT_EQ(mainOperand(graph, graph.find("conv2")), 0);
  EXPECT_EQ(mainOperand(graph, conv), -1);
}
} // namespace
