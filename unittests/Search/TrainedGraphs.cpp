//===- TrainedGraphs.cpp - Graphs of training steps -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include <set>

using namespace soap;
using namespace soap::test;

/// The gradient of a matrix product by an operand, in the group of `leader`:
/// a(i, j) x b, whose element (p, q) sums over the loop that is left. Loops are
/// those of the leader, by name.
static int32_t addGradient(GraphBuilder &builder, std::string name, int32_t a,
                           llvm::StringRef aLoops, int32_t b,
                           llvm::StringRef bLoops, llvm::StringRef leader) {
  OperatorGraph &graph = builder.graph;
  GraphNode node;
  node.name = std::move(name);
  node.op = "nn.matmul";
  node.operands = {a, b};
  const GraphNode &forward = graph.node(graph.find(leader));
  const PartitionSpec &spec = forward.spec;
  node.group = forward.group;
  // Reversed: k f n, so that devices do not carry over as they stand.
  for (int16_t loop : {2, 1, 0}) {
    node.spec.loops.push_back(spec.loops[loop]);
    node.leaderLoops.push_back(loop);
  }
  auto access = [&](llvm::StringRef loops) {
    ValueAccess result;
    for (char loop : loops)
      result.dims.push_back(
          DimAccess::identity(node.spec.findLoop(llvm::StringRef(&loop, 1))));
    return result;
  };
  node.spec.operands = {access(aLoops), access(bLoops)};
  std::string left;
  for (char loop : (aLoops + bLoops).str())
    if (aLoops.contains(loop) != bLoops.contains(loop))
      left += loop;
  node.spec.results = {access(left)};
  node.spec.results[0].combine = Combine::Sum;
  Shape shape;
  for (const DimAccess &dim : node.spec.results[0].dims)
    shape.push_back(node.spec.loops[dim.loop].extent);
  return graph.valueOf(
      graph.addNode(std::move(node), {shape}, {builder.elementBytes}));
}

/// A node per element of weights, in the group of a matrix product that reads
/// them, along its k and f.
static GraphNode nodeOfWeights(const OperatorGraph &graph, std::string name,
                               std::string op, llvm::StringRef leader,
                               llvm::ArrayRef<int32_t> operands) {
  GraphNode node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.group = graph.node(graph.find(leader)).group;
  node.leaderLoops = {2, 1};
  const auto &shape = graph.value(operands.front()).shape;
  node.spec.loops = {{"d0", shape[0]}, {"d1", shape[1]}};
  ValueAccess access;
  access.dims = {DimAccess::identity(0), DimAccess::identity(1)};
  node.operands.assign(operands.begin(), operands.end());
  node.spec.operands.assign(operands.size(), access);
  node.spec.results = {access};
  return node;
}

/// Adds such a node, with a result.
static int32_t addWeights(GraphBuilder &builder, GraphNode node) {
  OperatorGraph &graph = builder.graph;
  Shape shape(graph.value(node.operands.front()).shape);
  return graph.valueOf(
      graph.addNode(std::move(node), {shape}, {builder.elementBytes}));
}

/// Adds the update of the weights `w` by their gradient, and the write.
static void addUpdate(GraphBuilder &builder, llvm::StringRef weights,
                      int32_t gradient, llvm::StringRef leader) {
  OperatorGraph &graph = builder.graph;
  int32_t w = graph.valueOf(graph.find(weights));
  GraphNode update = nodeOfWeights(graph, (weights + ".update").str(), "nn.sgd",
                                   leader, {gradient, w});
  update.update = w;
  update.leadsUpdate = true;
  update.overwrites = Overwrites::PerElement;
  int32_t updated = addWeights(builder, std::move(update));
  GraphNode write = nodeOfWeights(graph, (weights + ".write").str(), "nn.write",
                                  leader, {updated, w});
  write.writtenOperand = 1;
  write.update = w;
  addWeights(builder, std::move(write));
}

/// Adds the nodes of trainedProducts(), but for outputs. The gradients by w1
/// and w2.
static std::array<int32_t, 2> addTrainedProducts(GraphBuilder &builder) {
  int32_t x = builder.input("x", {8, 6}), dy = builder.input("dy", {8, 12});
  int32_t w1 = builder.parameter("w1", {6, 10});
  int32_t w2 = builder.parameter("w2", {10, 12});
  int32_t h = builder.matmul("fc1", x, w1, /*group=*/1);
  builder.matmul("fc2", h, w2, /*group=*/2);
  int32_t dw2 = addGradient(builder, "fc2.b.grad", h, "nk", dy, "nf", "fc2");
  int32_t dh = addGradient(builder, "fc2.a.grad", dy, "nf", w2, "kf", "fc2");
  int32_t dw1 = addGradient(builder, "fc1.b.grad", x, "nk", dh, "nf", "fc1");
  return {dw1, dw2};
}

OperatorGraph test::trainedProducts() {
  GraphBuilder builder;
  auto [dw1, dw2] = addTrainedProducts(builder);
  builder.output("dw1", dw1);
  builder.output("dw2", dw2);
  return builder.finish();
}

OperatorGraph test::updatedProducts() {
  GraphBuilder builder;
  auto [dw1, dw2] = addTrainedProducts(builder);
  addUpdate(builder, "w1", dw1, "fc1");
  addUpdate(builder, "w2", dw2, "fc2");
  builder.output("y", builder.graph.valueOf(builder.graph.find("fc2")));
  return builder.finish();
}

OperatorGraph test::sharedProducts(int32_t uses, bool oneGroup) {
  GraphBuilder builder;
  OperatorGraph &graph = builder.graph;
  int32_t w = builder.parameter("w", {10, 10});
  int32_t x = builder.input("x", {8, 10}), sum = -1;
  for (int32_t use = 0; use < uses; ++use) {
    std::string name = "fc" + std::to_string(use);
    int32_t y = builder.matmul(name, x, w, /*group=*/oneGroup ? 1 : use + 1);
    int32_t dy = builder.input("dy" + std::to_string(use), {8, 10});
    int32_t dw = addGradient(builder, name + ".grad", x, "nk", dy, "nf", name);
    x = builder.relu(name + ".relu", y);
    if (sum < 0) {
      sum = dw;
      continue;
    }
    GraphNode node =
        nodeOfWeights(graph, name + ".sum", "nn.add", name, {sum, dw});
    node.spec.loops.push_back({"part0", 8});
    node.leaderLoops.push_back(0);
    for (ValueAccess &access : node.spec.operands)
      access.unreduced = true;
    node.spec.results[0].combine = Combine::Sum;
    sum = addWeights(builder, std::move(node));
  }
  addUpdate(builder, "w", sum, "fc0");
  builder.output("y", x);
  return builder.finish();
}

OperatorGraph test::deepProducts(int32_t layers, int64_t bucketBytes,
                                 int64_t prefetchBytes, int64_t scale) {
  GraphBuilder builder;
  builder.graph.bucketBytes = bucketBytes;
  builder.graph.prefetchBytes = prefetchBytes;
  auto width = [&](int32_t layer) { return scale * (6 + 4 * (layer % 3)); };
  std::vector<int32_t> inputs = {builder.input("x", {8, width(0)})};
  for (int32_t layer = 0; layer < layers; ++layer) {
    std::string name = std::to_string(layer);
    int32_t w = builder.parameter("w" + name, {width(layer), width(layer + 1)});
    inputs.push_back(builder.matmul("fc" + name, inputs.back(), w, layer + 1));
  }
  int32_t dy = builder.input("dy", {8, width(layers)});
  std::vector<int32_t> gradients(layers);
  for (int32_t layer = layers; layer-- > 0;) {
    std::string name = std::to_string(layer);
    int32_t w = builder.graph.valueOf(builder.graph.find("w" + name));
    gradients[layer] = addGradient(builder, "w" + name + ".grad", inputs[layer],
                                   "nk", dy, "nf", "fc" + name);
    if (layer > 0)
      dy = addGradient(builder, "fc" + name + ".grad", dy, "nf", w, "kf",
                       "fc" + name);
  }
  for (int32_t layer = 0; layer < layers; ++layer) {
    std::string name = std::to_string(layer);
    addUpdate(builder, "w" + name, gradients[layer], "fc" + name);
  }
  builder.output("y", inputs.back());
  return builder.finish();
}

OperatorGraph test::productsInARow(int32_t layers, int64_t prefetchBytes) {
  GraphBuilder builder;
  builder.graph.prefetchBytes = prefetchBytes;
  int32_t y = builder.input("x", {8, 12});
  for (int32_t layer = 0; layer < layers; ++layer) {
    std::string name = std::to_string(layer);
    y = builder.matmul("fc" + name, y, builder.parameter("w" + name, {12, 12}),
                       layer + 1);
  }
  builder.output("y", y);
  return builder.finish();
}

std::optional<Configuration> test::unevenShards(const Strategy &strategy,
                                                const OperatorGraph &graph,
                                                int32_t update) {
  Configuration config = followingUpdate(strategy, graph, update);
  int32_t copies = config.degrees.replicate;
  std::set<int32_t> distinct(config.devices.begin(), config.devices.end());
  if (copies == 1 || distinct.size() != static_cast<size_t>(copies) ||
      config.devices.size() != static_cast<size_t>(copies))
    return std::nullopt;
  config.degrees.replicate = 1;
  for (auto [degree, loop] :
       llvm::zip(config.degrees.loops,
                 graph.node(graph.update(update).front()).spec.loops)) {
    // The largest degree that is left and fits.
    for (degree = copies; degree > loop.extent || copies % degree != 0;)
      --degree;
    copies /= degree;
  }
  return copies == 1 ? std::optional(config) : std::nullopt;
}

Strategy test::shardedProducts(const OperatorGraph &graph,
                               const Topology &topology) {
  Strategy strategy = dataParallel(graph, topology);
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    if (auto shards = unevenShards(strategy, graph, update))
      assignUpdate(strategy, graph, update, *shards);
  deriveEnds(strategy, graph, topology);
  return strategy;
}
