//===- ExampleGraphs.cpp - Operator graphs without IR ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "soap/Search/ConfigurationSpace.h"
#include "llvm/Support/ErrorHandling.h"
#include <array>

using namespace soap;
using namespace soap::test;

static const char *const dimNames[] = {"d0", "d1", "d2", "d3", "d4"};

int32_t GraphBuilder::elementwise(std::string name, std::string op,
                                  NodeRole role,
                                  llvm::ArrayRef<int32_t> operands, Shape shape,
                                  bool hasResult) {
  GraphNode node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.role = role;
  node.isFixed = role == NodeRole::Parameter && fixedParameters;
  if (followers && role == NodeRole::Compute &&
      graph.node(graph.value(operands.front()).producer).role ==
          NodeRole::Compute)
    node.followedOperand = 0;
  ValueAccess access;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    node.spec.loops.push_back({dimNames[dim], size});
    access.dims.push_back(DimAccess::identity(dim));
  }
  for (int32_t operand : operands) {
    node.operands.push_back(operand);
    node.spec.operands.push_back(access);
  }
  if (!hasResult) {
    graph.addNode(std::move(node), {}, {});
    return -1;
  }
  node.spec.results.push_back(access);
  return graph.valueOf(graph.addNode(std::move(node), {shape}, {elementBytes}));
}

int32_t GraphBuilder::input(std::string name, Shape shape) {
  return elementwise(std::move(name), "nn.input", NodeRole::Input, {}, shape);
}

int32_t GraphBuilder::parameter(std::string name, Shape shape) {
  return elementwise(std::move(name), "nn.parameter", NodeRole::Parameter, {},
                     shape);
}

int32_t GraphBuilder::matmul(std::string name, int32_t x, int32_t w,
                             int32_t group) {
  const Shape &a = graph.value(x).shape, &b = graph.value(w).shape;
  GraphNode node;
  node.group = group;
  node.name = std::move(name);
  node.op = "nn.matmul";
  node.operands = {x, w};
  node.spec.loops = {{"n", a[0]}, {"f", b[1]}, {"k", a[1]}};
  node.spec.operands.resize(2);
  node.spec.operands[0].dims = {DimAccess::identity(0), DimAccess::identity(2)};
  node.spec.operands[1].dims = {DimAccess::identity(2), DimAccess::identity(1)};
  node.spec.results.resize(1);
  node.spec.results[0].dims = {DimAccess::identity(0), DimAccess::identity(1)};
  node.spec.results[0].combine = Combine::Sum;
  Shape result{a[0], b[1]};
  return graph.valueOf(
      graph.addNode(std::move(node), {result}, {elementBytes}));
}

int32_t GraphBuilder::conv(std::string name, int32_t x, int64_t f,
                           int64_t kernel, int64_t stride, int64_t pad,
                           bool bias) {
  Shape in = graph.value(x).shape;
  int64_t height = (in[2] + 2 * pad - kernel) / stride + 1;
  int64_t width = (in[3] + 2 * pad - kernel) / stride + 1;
  int32_t weight = parameter(name + ".weight", {f, in[1], kernel, kernel});
  int32_t biasValue = bias ? parameter(name + ".bias", {f}) : -1;
  GraphNode node;
  node.name = std::move(name);
  node.op = "nn.conv";
  node.operands = {x, weight};
  node.spec.loops = {
      {"n", in[0]}, {"f", f}, {"h", height}, {"w", width}, {"c", in[1]}};
  node.spec.operands.resize(2);
  node.spec.operands[0].dims = {
      DimAccess::identity(0), DimAccess::identity(4),
      DimAccess::window(2, stride, -pad, kernel - 1 - pad),
      DimAccess::window(3, stride, -pad, kernel - 1 - pad)};
  node.spec.operands[1].dims = {DimAccess::identity(1), DimAccess::identity(4),
                                DimAccess::whole(kernel),
                                DimAccess::whole(kernel)};
  if (bias) {
    node.operands.push_back(biasValue);
    ValueAccess access;
    access.dims = {DimAccess::identity(1)};
    access.firstOnly = true;
    node.spec.operands.push_back(access);
  }
  node.spec.results.resize(1);
  node.spec.results[0].dims = {DimAccess::identity(0), DimAccess::identity(1),
                               DimAccess::identity(2), DimAccess::identity(3)};
  node.spec.results[0].combine = Combine::Sum;
  Shape result{in[0], f, height, width};
  return graph.valueOf(
      graph.addNode(std::move(node), {result}, {elementBytes}));
}

int32_t GraphBuilder::pool(std::string name, int32_t x, int64_t kernel,
                           int64_t stride, int64_t pad) {
  Shape in = graph.value(x).shape;
  int64_t height = (in[2] + 2 * pad - kernel) / stride + 1;
  int64_t width = (in[3] + 2 * pad - kernel) / stride + 1;
  GraphNode node;
  node.name = std::move(name);
  node.op = "nn.max_pool";
  node.operands = {x};
  node.spec.loops = {{"n", in[0]}, {"c", in[1]}, {"h", height}, {"w", width}};
  node.spec.operands.resize(1);
  node.spec.operands[0].dims = {
      DimAccess::identity(0), DimAccess::identity(1),
      DimAccess::window(2, stride, -pad, kernel - 1 - pad),
      DimAccess::window(3, stride, -pad, kernel - 1 - pad)};
  node.spec.results.resize(1);
  node.spec.results[0].dims = {DimAccess::identity(0), DimAccess::identity(1),
                               DimAccess::identity(2), DimAccess::identity(3)};
  Shape result{in[0], in[1], height, width};
  return graph.valueOf(
      graph.addNode(std::move(node), {result}, {elementBytes}));
}

int32_t GraphBuilder::upsample(std::string name, int32_t x, int64_t factor) {
  Shape shape = graph.value(x).shape;
  shape[2] *= factor;
  shape[3] *= factor;
  GraphNode node;
  node.name = std::move(name);
  node.op = "nn.resize";
  node.operands = {x};
  ValueAccess result, operand;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    node.spec.loops.push_back({dimNames[dim], size});
    result.dims.push_back(DimAccess::identity(dim));
    operand.dims.push_back(DimAccess::identity(dim));
    if (dim >= 2)
      operand.dims.back().div = factor;
  }
  node.spec.operands.push_back(operand);
  node.spec.results.push_back(result);
  return graph.valueOf(graph.addNode(std::move(node), {shape}, {elementBytes}));
}

int32_t GraphBuilder::relu(std::string name, int32_t x) {
  return elementwise(std::move(name), "nn.relu", NodeRole::Compute, {x},
                     Shape(graph.value(x).shape));
}

int32_t GraphBuilder::add(std::string name, int32_t a, int32_t b) {
  return elementwise(std::move(name), "nn.add", NodeRole::Compute, {a, b},
                     Shape(graph.value(a).shape));
}

int32_t GraphBuilder::concat(std::string name, llvm::ArrayRef<int32_t> values) {
  Shape shape = graph.value(values[0]).shape;
  shape[1] = 0;
  GraphNode node;
  node.name = std::move(name);
  node.op = "nn.concat";
  for (int32_t value : values) {
    ValueAccess access;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      access.dims.push_back(DimAccess::identity(dim));
    access.dims[1] = DimAccess::window(1, 1, -shape[1], -shape[1]);
    node.operands.push_back(value);
    node.spec.operands.push_back(access);
    shape[1] += graph.value(value).shape[1];
  }
  ValueAccess access;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    node.spec.loops.push_back({dimNames[dim], size});
    access.dims.push_back(DimAccess::identity(dim));
  }
  node.spec.results.push_back(access);
  return graph.valueOf(graph.addNode(std::move(node), {shape}, {elementBytes}));
}

void GraphBuilder::output(std::string name, int32_t value) {
  elementwise(std::move(name), "nn.output", NodeRole::Output, {value},
              Shape(graph.value(value).shape), /*hasResult=*/false);
}

OperatorGraph GraphBuilder::finish() {
  if (llvm::Error error = graph.finish())
    llvm::report_fatal_error(std::move(error));
  return std::move(graph);
}

OperatorGraph test::smallChain(int64_t batch) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {batch, 3, 16, 16});
  x = builder.conv("conv1", x, 8, 3, 1, 1, /*bias=*/true);
  x = builder.relu("relu1", x);
  x = builder.conv("conv2", x, 8, 3, 2, 1);
  x = builder.pool("pool", x, 2, 2);
  builder.output("y", x);
  builder.graph.fingerprint = "small-chain";
  return builder.finish();
}

OperatorGraph test::inception(int64_t batch, int32_t blocks) {
  GraphBuilder builder;
  int32_t x = builder.input("x", {batch, 3, 224, 224});
  auto convRelu = [&](const std::string &name, int32_t value, int64_t f,
                      int64_t kernel, int64_t stride = 1) {
    int32_t out =
        builder.conv(name, value, f, kernel, stride, kernel / 2, true);
    return builder.relu(name + ".relu", out);
  };
  x = convRelu("stem1", x, 64, 7, 2);
  x = builder.pool("stem.pool", x, 3, 2, 1);
  x = convRelu("stem2", x, 64, 1);
  x = convRelu("stem3", x, 192, 3);
  x = builder.pool("stem.pool2", x, 3, 2, 1);
  for (int32_t block = 0; block < blocks; ++block) {
    std::string name = "block" + std::to_string(block);
    int32_t a = convRelu(name + ".1x1", x, 64, 1);
    int32_t b = convRelu(name + ".3x3r", x, 64, 1);
    b = convRelu(name + ".3x3", b, 96, 3);
    int32_t c = convRelu(name + ".d3x3r", x, 64, 1);
    c = convRelu(name + ".d3x3a", c, 96, 3);
    c = convRelu(name + ".d3x3b", c, 96, 3);
    int32_t d = builder.pool(name + ".pool", x, 3, 1, 1);
    d = convRelu(name + ".proj", d, 32, 1);
    x = builder.concat(name + ".concat", {a, b, c, d});
    if (block % 4 == 3)
      x = builder.pool(name + ".down", x, 3, 2, 1);
  }
  builder.output("y", x);
  return builder.finish();
}

static int64_t pick(Random &random, llvm::ArrayRef<int64_t> choices) {
  return choices[random.below(choices.size())];
}

OperatorGraph test::randomLayers(uint64_t seed) {
  Random random(seed, /*chain=*/1, 0);
  GraphBuilder builder;
  builder.fixedParameters = seed % 2 == 1;
  int64_t batch = pick(random, {1, 2, 3, 8});
  bool image = random.below(2);
  int32_t number = 0;
  auto layer = [&](int32_t x) {
    std::string name = "op" + std::to_string(number++);
    Shape shape = builder.graph.value(x).shape;
    if (!image) {
      if (random.below(4) == 0)
        return builder.relu(name, x);
      int32_t w = builder.parameter(
          name + ".w", {shape[1], pick(random, {16, 40, 64, 256})});
      return builder.matmul(name, x, w);
    }
    switch (random.below(4)) {
    case 0:
      return builder.relu(name, x);
    case 1:
      return builder.pool(name, x, 3, 1, 1);
    default:
      return builder.conv(name, x, pick(random, {4, 7, 16}),
                          shape[2] < 3 ? 1 : pick(random, {1, 3}), 1, 0,
                          random.below(2));
    }
  };
  int64_t size = pick(random, {7, 9, 16});
  int32_t x = image ? builder.input("x", {batch, 8, size, size})
                    : builder.input("x", {batch, pick(random, {16, 100})});
  switch (random.below(4)) {
  case 0: { // Two branches that meet.
    int32_t a = builder.relu("left", layer(x)), b = layer(x);
    const Shape &left = builder.graph.value(a).shape,
                &right = builder.graph.value(b).shape;
    if (left == right)
      x = builder.add("meet", a, b);
    else if (!image || left[2] == right[2])
      x = builder.concat("meet", {a, b});
    else
      builder.output("other", b), x = a;
    break;
  }
  case 1: // A way around.
    x = layer(x);
    x = builder.add("meet", x, builder.relu("around", x));
    break;
  default:
    for (uint64_t i = 0, count = 1 + random.below(3); i < count; ++i)
      x = layer(x);
  }
  builder.output("y", layer(x));
  return builder.finish();
}

Topology test::randomMachine(uint64_t seed) {
  Random random(seed, /*chain=*/2, 0);
  auto devices = static_cast<int32_t>(2 + random.below(3));
  DeviceKind kind;
  kind.name = "cpu";
  kind.peakFlops = static_cast<double>(pick(random, {1, 4, 30})) * 1e9;
  kind.memoryBandwidth = 8e9;
  kind.launchNs = pick(random, {0, 300, 2000});
  if (seed % 3 != 0) {
    // Copies of boxes that cost next to nothing, or more than kernels.
    kind.boxBandwidth = seed % 3 == 1 ? 1e12 : 4e9;
    kind.boxRunSeconds = seed % 3 == 1 ? 0 : 3e-9;
    kind.boxLaunchNs = seed % 3 == 1 ? 1 : 700;
  }
  double bandwidth = static_cast<double>(pick(random, {1, 6, 40})) * 1e9;
  int64_t latency = pick(random, {100, 1500});
  // Of no values, of some, and of all of most graphs.
  int64_t priorityBytes = std::array<int64_t, 3>{0, 2000, 65536}[seed / 3 % 3];
  if (random.below(2)) {
    Topology topology =
        Topology::machine(devices, {kind, bandwidth, latency, 0, 1,
                                    /*occupiesReceiver=*/random.below(2) == 1,
                                    /*sharesMemory=*/random.below(2) == 1});
    topology.priorityBytes = priorityBytes;
    return topology;
  }
  Topology topology;
  topology.priorityBytes = priorityBytes;
  int32_t slow = topology.addKind(kind);
  kind.name = "fast";
  kind.peakFlops *= 2;
  int32_t fast = topology.addKind(kind);
  bool cluster = random.below(2);
  for (int32_t device = 0; device < devices; ++device)
    topology.addDevice(random.below(3) ? slow : fast,
                       /*node=*/cluster ? device % 2 : 0);
  std::string shared = random.below(2) ? "bus" : "";
  Link link;
  for (link.from = 0; link.from < devices; ++link.from)
    for (link.to = link.from + 1; link.to < devices; ++link.to) {
      bool far = cluster && (link.to - link.from) % 2;
      link.bandwidth = far ? bandwidth / 5 : bandwidth;
      link.latencyNs = far ? 2 * latency : latency;
      link.shared = far && seed % 2 ? "network" : shared;
      topology.addDuplexLink(link);
    }
  link.shared = "";
  link.from = Topology::hostVertex;
  for (link.to = 0; link.to < devices; ++link.to)
    topology.addDuplexLink(link);
  if (llvm::Error error = topology.finish())
    llvm::report_fatal_error(std::move(error));
  return topology;
}

int32_t test::fewTasks(const OperatorGraph &graph, const Topology &topology,
                       double limit) {
  for (int32_t tasks = topology.numDevices(); tasks > 0; --tasks) {
    ConfigurationSpace space(graph, topology, tasks);
    double strategies = 1;
    for (int32_t group : space.groups())
      strategies *= space.size(group);
    if (strategies <= limit)
      return tasks;
  }
  return 0;
}

static DeviceKind plainKind(double flops) {
  DeviceKind kind;
  kind.name = "plain";
  kind.peakFlops = flops;
  kind.memoryBandwidth = 1e18;
  kind.halfRows = kind.halfColumns = kind.halfDepth = 0;
  kind.launchNs = 0;
  return kind;
}

Topology test::plainMachine(int32_t devices, double flops) {
  return Topology::machine(
      devices, {plainKind(flops), 1e9, 10, 0, 1, /*occupiesReceiver=*/false});
}

Topology test::plainBus(int32_t devices, double flops) {
  Topology topology;
  int32_t kind = topology.addKind(plainKind(flops));
  for (int32_t device = 0; device < devices; ++device)
    topology.addDevice(kind);
  auto connect = [&](int32_t from, int32_t to) {
    Link link;
    link.from = from;
    link.to = to;
    link.bandwidth = 1e9;
    link.latencyNs = 10;
    link.shared = "bus";
    topology.addDuplexLink(link);
  };
  for (int32_t from = 0; from < devices; ++from) {
    connect(from, Topology::hostVertex);
    for (int32_t to = from + 1; to < devices; ++to)
      connect(from, to);
  }
  if (llvm::Error error = topology.finish())
    llvm::report_fatal_error(std::move(error));
  return topology;
}

/// `scale` 0: a large graph.
static OperatorGraph makeRandomGraph(uint64_t seed, int64_t scale,
                                     bool followers) {
  GraphBuilder builder;
  builder.followers = followers;
  builder.fixedParameters = seed % 2 == 1;
  Random random(seed, 0x67726170, scale);
  auto pick = [&](llvm::ArrayRef<int32_t> list) {
    // Mostly what was made last, now and then from far back.
    size_t back = random.below(4)
                      ? random.below(std::min<size_t>(3, list.size()))
                      : random.below(list.size());
    return list[list.size() - 1 - back];
  };
  int64_t batch = 1 + static_cast<int64_t>(random.below(16));
  int64_t width = 4 + static_cast<int64_t>(random.below(60));
  int64_t size = 5 + static_cast<int64_t>(random.below(12));
  if (scale != 0) {
    // What stays small is split unevenly.
    for (int64_t *extent : {&batch, &width, &size})
      if (random.below(3))
        *extent *= scale;
  }
  // Products of equal shape that may share their weights, and images.
  std::vector<int32_t> rows{builder.input("x", {batch, width})};
  std::vector<int32_t> weights{builder.parameter("w", {width, width})};
  std::vector<int32_t> images{builder.input("image", {batch, 3, size, size})};
  size_t count = scale != 0 ? 1 + random.below(5) : 10 + random.below(30);
  for (size_t i = 0; i < count; ++i) {
    if (scale != 0)
      builder.elementBytes = 2 << random.below(3);
    std::string name = "n" + std::to_string(i);
    auto same = [&](llvm::ArrayRef<int32_t> list, int32_t value) {
      std::vector<int32_t> found;
      for (int32_t other : list)
        if (builder.graph.value(other).shape ==
            builder.graph.value(value).shape)
          found.push_back(other);
      return pick(found);
    };
    int32_t row = pick(rows), image = pick(images);
    const Shape shape = builder.graph.value(image).shape;
    switch (random.below(scale != 0 ? 9 : 8)) {
    case 0:
    case 1:
      builder.fixedParameters = i % 2 == 1;
      if (random.below(3))
        weights.push_back(builder.parameter(name + ".w", {width, width}));
      rows.push_back(builder.matmul(name, row, pick(weights)));
      break;
    case 2:
      rows.push_back(builder.relu(name, row));
      break;
    case 3:
      rows.push_back(builder.add(name, row, same(rows, row)));
      break;
    case 4:
      images.push_back(builder.conv(
          name, image, 2 + static_cast<int64_t>(random.below(14)),
          shape[2] > 3 ? 3 : 1, 1, shape[2] > 3 ? 1 : 0, random.below(2)));
      break;
    case 5:
      if (shape[2] >= 4)
        images.push_back(builder.pool(name, image, 2, 2));
      break;
    case 6:
      images.push_back(builder.add(name, image, same(images, image)));
      break;
    case 7: {
      std::vector<int32_t> parts{image};
      for (int32_t other : images)
        if (parts.size() < 3 && other != image &&
            builder.graph.value(other).shape[2] == shape[2] &&
            builder.graph.value(other).shape[1] < 40)
          parts.push_back(other);
      images.push_back(builder.concat(name, parts));
      break;
    }
    case 8:
      images.push_back(builder.upsample(
          name, image, 2 + static_cast<int64_t>(random.below(5))));
      break;
    }
  }
  builder.output("y", rows.back());
  builder.output("z", images.back());
  return builder.finish();
}

OperatorGraph test::randomGraph(uint64_t seed, bool followers) {
  return makeRandomGraph(seed, 0, followers);
}

OperatorGraph test::randomSmallGraph(uint64_t seed, int64_t scale,
                                     bool followers) {
  return makeRandomGraph(seed, scale, followers);
}
