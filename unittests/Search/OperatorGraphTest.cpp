//===- OperatorGraphTest.cpp - Graphs, kinds, mistakes --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
TEST(OperatorGraph, KindsOfLoops) {
  OperatorGraph graph = smallChain();
  auto kinds = [&](llvm::StringRef name) {
    return graph.node(graph.find(name)).kinds;
  };
  // n f h w c of a convolution (Jia et al., table 1), and of what follows it.
  EXPECT_EQ(kinds("conv1"),
            (llvm::SmallVector<LoopKind, 6>{
                LoopKind::Sample, LoopKind::Parameter, LoopKind::Attribute,
                LoopKind::Attribute, LoopKind::Parameter}));
  EXPECT_EQ(kinds("relu1")[0], LoopKind::Sample);
  EXPECT_EQ(kinds("relu1")[1], LoopKind::Attribute);
  EXPECT_EQ(kinds("pool")[0], LoopKind::Sample);
}

TEST(OperatorGraph, UsesAreInNodeOrder) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {2, 4});
  int32_t a = builder.relu("a", x);
  int32_t b = builder.add("b", a, a);
  builder.add("c", b, a);
  OperatorGraph graph = builder.finish();
  ASSERT_EQ(graph.value(a).uses.size(), 3u);
  EXPECT_EQ(graph.value(a).uses[1].operand, 1);
  EXPECT_EQ(graph.value(a).uses[2].node, graph.find("c"));
  EXPECT_EQ(graph.find("nothing"), -1);
}

TEST(OperatorGraph, GroupsShareKinds) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {8, 4});
  int32_t w = builder.parameter("w", {4, 4});
  builder.matmul("alone", x, w);
  GraphNode node = builder.graph.node(builder.graph.find("alone"));
  node.name = "first";
  node.group = 7;
  builder.graph.addNode(node, {Shape{8, 4}}, {4});
  node.name = "second";
  node.operands = {w, w};
  node.spec.loops[0].extent = 4;
  builder.graph.addNode(node, {Shape{4, 4}}, {4});
  OperatorGraph graph = builder.finish();
  const GraphNode &first = graph.node(graph.find("first"));
  const GraphNode &second = graph.node(graph.find("second"));
  EXPECT_EQ(first.group, second.group);
  EXPECT_NE(first.group, graph.node(graph.find("alone")).group);
  EXPECT_EQ(graph.group(first.group).size(), 2u);
  // On its own, n of the second would index a parameter.
  EXPECT_EQ(second.kinds[0], LoopKind::Sample);
}

TEST(OperatorGraph, Mistakes) {
  auto errorOf = [](auto change) {
    GraphBuilder builder;
    int32_t x = builder.input("x", {2, 4});
    builder.relu("a", x);
    GraphNode node = builder.graph.node(1);
    node.name = "b";
    change(node);
    builder.graph.addNode(node, {Shape{2, 4}}, {4});
    return toString(builder.graph.finish());
  };
  EXPECT_EQ(errorOf([](GraphNode &) {}), "");
  EXPECT_EQ(errorOf([](GraphNode &node) { node.name = "a"; }),
            "node 'a': expected unique names, got: this one twice");
  EXPECT_NE(errorOf([](GraphNode &node) { node.name = ""; }).find("a name"),
            std::string::npos);
  EXPECT_EQ(errorOf([](GraphNode &node) { node.operands[0] = 2; }),
            "node 'b': expected operands that an earlier node produces, got: "
            "value 2");
  EXPECT_NE(errorOf([](GraphNode &node) {
              node.operands.push_back(0);
            }).find("expected accesses of 2 operands"),
            std::string::npos);
  EXPECT_NE(errorOf([](GraphNode &node) {
              node.spec.loops[0].extent = 3;
            }).find("node 'b': "),
            std::string::npos);
}

TEST(OperatorGraph, MistakesOfWrites) {
  // a reads x, then w; b writes w; c reads x, then w.
  auto errorOf = [](auto change) {
    GraphBuilder builder;
    int32_t x = builder.input("x", {2, 4}), w = builder.parameter("w", {2, 4});
    for (const char *name : {"a", "b", "c"})
      builder.add(name, x, w);
    OperatorGraph graph;
    for (GraphNode node : builder.graph.nodes()) {
      node.results.clear();
      if (node.name == "b")
        node.writtenOperand = 1;
      if (node.name == "c")
        node.operands = {0, 0};
      change(node);
      graph.addNode(node, {Shape{2, 4}}, {4});
    }
    return toString(graph.finish());
  };
  EXPECT_EQ(errorOf([](GraphNode &) {}), "");
  EXPECT_EQ(errorOf([](GraphNode &node) {
              if (node.name == "b")
                node.writtenOperand = 2;
            }),
            "node 'b': expected to write one of 2 operands, got: operand 2");
  EXPECT_EQ(errorOf([](GraphNode &node) {
              if (node.name == "b")
                node.writtenOperand = 0;
            }),
            "node 'b': expected to write a parameter, got: 'x', input");
  EXPECT_EQ(errorOf([](GraphNode &node) { node.isFixed = node.name == "w"; }),
            "node 'b': expected no write of 'w', which is the same in every "
            "step");
  EXPECT_EQ(errorOf([](GraphNode &node) {
              if (node.name == "c")
                node.operands = {0, 1};
            }),
            "node 'b': expected to stand behind all that reads 'w', got "
            "before: 'c'");
  EXPECT_EQ(errorOf([](GraphNode &node) {
              if (node.name != "a" && node.name != "c")
                return;
              node.operands = {0, 1};
              node.writtenOperand = node.name == "c" ? 1 : -1;
            }),
            "node 'b': expected one node that writes 'w', got also: 'c'");
}
} // namespace
