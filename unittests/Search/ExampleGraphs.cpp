//===- ExampleGraphs.cpp - Operator graphs without IR ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "llvm/Support/ErrorHandling.h"

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
  return graph.valueOf(graph.addNode(std::move(node), {shape}, {4}));
}

int32_t GraphBuilder::input(std::string name, Shape shape) {
  return elementwise(std::move(name), "nn.input", NodeRole::Input, {}, shape);
}

int32_t GraphBuilder::parameter(std::string name, Shape shape) {
  return elementwise(std::move(name), "nn.parameter", NodeRole::Parameter, {},
                     shape);
}

int32_t GraphBuilder::matmul(std::string name, int32_t x, int32_t w) {
  const Shape &a = graph.value(x).shape, &b = graph.value(w).shape;
  GraphNode node;
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
  return graph.valueOf(graph.addNode(std::move(node), {result}, {4}));
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
  return graph.valueOf(graph.addNode(std::move(node), {result}, {4}));
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
  return graph.valueOf(graph.addNode(std::move(node), {result}, {4}));
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
  return graph.valueOf(graph.addNode(std::move(node), {shape}, {4}));
}

void GraphBuilder::output(std::string name, int32_t value) {
  elementwise(std::move(name), "nn.output", NodeRole::Output, {value},
              Shape(graph.value(value).shape), /*hasResult=*/false);
}

OperatorGraph GraphBuilder::finish() {
  if (std::string error = graph.finish(); !error.empty())
    llvm::report_fatal_error(llvm::StringRef(error));
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

Topology test::plainMachine(int32_t devices, double flops) {
  DeviceKind kind;
  kind.name = "plain";
  kind.peakFlops = flops;
  kind.memoryBandwidth = 1e18;
  kind.halfRows = kind.halfColumns = kind.halfDepth = 0;
  kind.launchNs = 0;
  return Topology::machine(devices, kind, 1e9, 10, 0, 1,
                           /*occupiesReceiver=*/false);
}
