//===- StrategyJSONTest.cpp - Strategies in files -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/RandomStrategies.h"
#include "soap/Search/Simulator.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
using Ints = llvm::SmallVector<int32_t, 8>;

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
      strategy.order = fifoOrder({graph, machine, CostModel()}, strategy);
    std::string text = toJSON(strategy, graph, info);
    StrategyInfo read;
    llvm::Expected<Strategy> again =
        parseStrategy(text, {graph, machine, CostModel()}, &read);
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
    return parseStrategy("{\"ops\": [" + ops + "]" + more + "}",
                         {graph, machine, CostModel()});
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
    return parseStrategy("{\"ops\": [" + ops + "]}",
                         {graph, machine, CostModel()});
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
      {graph, plainMachine(1), CostModel()});
  ASSERT_TRUE(bool(strategy)) << llvm::toString(strategy.takeError());
  // All operands that a node of that name makes, each once.
  EXPECT_EQ(strategy->configs[graph.find("b")].regather,
            (llvm::SmallVector<int32_t, 1>{0, 1}));
}
} // namespace
