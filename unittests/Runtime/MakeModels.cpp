//===- MakeModels.cpp - Model tables for the tests of soap-run ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes tables that CMake links into shared libraries: y = softmax(x w) + 10
// on one device, the same on two devices (split over the inner dimension, so
// that the parts are summed), the latter with a wrong combiner, and a different
// one. With --seal, appends what the end of a linked library must be.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "soap/Runtime/ModelHash.h"
#include "soap/Runtime/RandomRecipe.h"
#include <fstream>
#include <iostream>
#include <iterator>

using namespace soap;
using namespace soap::test;

static constexpr int64_t rows = 4, inner = 32, columns = 10;

static void addLoad(ModelBuilder &b, uint32_t device, uint32_t buffer,
                    fb::Range range, uint64_t seed) {
  auto load = std::make_unique<fb::LoadT>();
  load->name = "w";
  load->buffer = buffer;
  load->shape = {inner, columns};
  load->box = {range, fb::Range(0, columns)};
  fb::RandomT random;
  random.seed = seed;
  random.name_hash = recipe::hashName("w", 1);
  load->source.Set(std::move(random));
  b.model.devices[device]->loads.push_back(std::move(load));
}

static fb::LaunchT launch(uint32_t kernel, std::vector<uint32_t> operands,
                          uint32_t result) {
  fb::LaunchT l;
  l.kernel = kernel;
  l.operands = std::move(operands);
  l.results = {result};
  return l;
}

static ModelBuilder makeModel(uint32_t devices, uint64_t seed) {
  ModelBuilder b(devices);
  b.model.name = "perceptron";
  b.model.fingerprint = "0123456789abcdef";
  b.model.strategy = R"({"ops": [{"op": "y"}], "order": "graph"})";
  b.model.programs[0]->simulated_ns = 12345;
  b.native({4, 4}, {1, 1}, 2); // y = x + sizes[1], of sizes[0] elements.
  uint32_t input = b.input("x", {rows, inner});
  uint32_t output = b.output("y", {rows, columns});
  int64_t part = inner / devices;
  fb::KernelOpUnion matmul;
  matmul.Set(fb::MatMulT());
  uint32_t product = b.kernel(
      std::move(matmul), {{rows, part}, {part, columns}}, {{rows, columns}});
  b.model.kernels[product]->flops = 2 * rows * part * columns;
  fb::KernelOpUnion op;
  fb::SoftmaxT softmax;
  softmax.axis = 1;
  op.Set(std::move(softmax));
  uint32_t shares =
      b.kernel(std::move(op), {{rows, columns}}, {{rows, columns}});
  fb::KernelOpUnion native;
  native.Set(fb::NativeT());
  uint32_t add =
      b.kernel(std::move(native), {{rows, columns}}, {{rows, columns}});
  uint64_t bytes = rows * columns * 4;
  uint32_t values[] = {
      b.value("x", {rows, inner}), b.value("w", {inner, columns}),
      b.value("product", {rows, columns}), b.value("shares", {rows, columns}),
      b.value("sum", {rows, columns})};
  const fb::Range allRows(0, rows), allColumns(0, columns);
  for (uint32_t d = 0; d != devices; ++d) {
    uint32_t x = b.buffer(d, rows * part * 4), y = b.buffer(d, bytes);
    uint32_t w = b.buffer(d, part * columns * 4, fb::Space::Parameters);
    const fb::Range own(d * part, (d + 1) * part);
    addLoad(b, d, w, own, seed);
    b.tile(d, values[1], w, {own, allColumns}, -1);
    b.tile(d, values[0], x, {allRows, own}, 0);
    fb::FeedT feed;
    feed.input = input;
    auto copy = denseCopy(0, x, part * 4, d * part * 4);
    copy->extents = {rows};
    copy->from_strides = {inner * 4};
    copy->to_strides = {part * 4};
    feed.copies.push_back(std::move(copy));
    b.row(d, std::move(feed), fb::Stream::Compute, fb::Phase::Feed);
    fb::LaunchT multiply = launch(product, {x, w}, y);
    multiply.constant_operands = {1};
    uint32_t last = b.row(d, std::move(multiply));
    fb::TileT &partial = b.tile(d, values[2], y, {allRows, allColumns}, last);
    if (devices > 1) {
      partial.parts = {d};
      partial.part_count = devices;
      last = b.row(d, allReduce(devices, d, y, bytes),
                   fb::Stream::Communication, fb::Phase::Step, {last});
      b.tile(d, values[2], y, {allRows, allColumns}, last);
    }
    if (d != 0)
      continue;
    uint32_t z = b.buffer(d, bytes);
    last = b.row(d, launch(shares, {y}, z), fb::Stream::Compute,
                 fb::Phase::Step, {last});
    b.tile(d, values[3], z, {allRows, allColumns}, last);
    fb::LaunchT plus = launch(add, {z}, z);
    plus.sizes = {rows * columns, 10};
    last = b.row(d, std::move(plus));
    b.tile(d, values[4], z, {allRows, allColumns}, last);
    b.drain(d, output, z);
  }
  return b;
}

static void write(const std::string &path, const ModelBuilder &builder) {
  std::vector<uint8_t> table = builder.finish();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(table.data()),
             static_cast<std::streamsize>(table.size()));
}

/// Appends the seal of a shared library, in place of one that it has.
static int seal(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::string contents(std::istreambuf_iterator<char>(file), {});
  file.close();
  if (checkSeal(contents.data(), contents.size()) != Seal::Missing)
    contents.resize(contents.size() - sealBytes);
  contents += sealOf(contents.data(), contents.size());
  std::ofstream sealed(path, std::ios::binary);
  sealed << contents;
  sealed.close();
  return sealed ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc == 3 && std::string(argv[1]) == "--seal")
    return seal(argv[2]);
  if (argc != 2) {
    std::cerr << "error: expected a folder, or --seal and a library, got: "
              << argc - 1 << " arguments\n";
    return 2;
  }
  std::string folder = std::string(argv[1]) + "/";
  write(folder + "one.bin", makeModel(1, 1));
  write(folder + "two.bin", makeModel(2, 1));
  write(folder + "bare.bin", makeModel(2, 1));
  ModelBuilder wrong = makeModel(2, 1);
  for (auto &device : wrong.model.devices)
    device->programs[0]->rows[2]->body.AsCollective()->combine =
        fb::Combine::Max;
  write(folder + "wrong.bin", wrong);
  write(folder + "other.bin", makeModel(1, 2));
  ModelBuilder old = makeModel(1, 1);
  old.model.abi = SOAP_ABI_VERSION + 1;
  write(folder + "abi.bin", old);
  return 0;
}
