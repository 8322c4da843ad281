//===- CorruptDeviceCodeTest.cpp - Damaged tables of device code ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <functional>
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::test;

/// One native kernel with device code, of an operand and a result.
static ModelBuilder withDeviceCode(const Shape &operand, const Shape &result) {
  ModelBuilder b;
  auto bytes = [](const Shape &shape) {
    uint64_t count = sizeof(float);
    for (int64_t extent : shape)
      count *= static_cast<uint64_t>(extent);
    return count;
  };
  fb::NativeT native;
  native.symbol = b.native({bytes(operand), bytes(result)}, {}, 0);
  fb::KernelOpUnion op;
  op.Set(std::move(native));
  b.kernel(std::move(op), {operand}, {result});
  fb::LaunchT launch;
  launch.operands = {b.buffer(0, bytes(operand))};
  launch.results = {b.buffer(0, bytes(result))};
  b.row(0, launch);
  b.model.device_code = std::make_unique<fb::DeviceCodeT>();
  b.model.device_code->text = "code";
  return b;
}

/// What loading says against a model.
static std::string errorOf(const ModelBuilder &b) {
  return b.load() ? "" : std::string(soap_last_error());
}

static void expectError(const ModelBuilder &b, const std::string &reason) {
  std::string error = errorOf(b);
  EXPECT_NE(error.find(reason), std::string::npos)
      << "expected '" << reason << "' in: '" << error << "'";
}

/// Launches of device code are checked before a backend sees them; one that
/// runs native kernels on the host says that it cannot run them.
TEST(Corrupt, DeviceLaunches) {
  auto refused = [](const std::function<void(fb::ModelT &)> &change,
                    const std::string &reason) {
    ModelBuilder b = withDeviceCode({8}, {8});
    auto row = std::make_unique<fb::DeviceLaunchT>();
    row->entry = "f";
    row->threads = 32;
    row->blocks = 1;
    b.model.natives[0]->launches.push_back(std::move(row));
    change(b.model);
    expectError(b, reason);
  };
  auto launch = [](fb::ModelT &m) -> fb::DeviceLaunchT & {
    return *m.natives[0]->launches[0];
  };
  refused([](auto &) {},
          "expected a model whose native kernels run on the host");
  refused([&](auto &m) { launch(m).entry = ""; }, "a launch without an entry");
  refused([&](auto &m) { launch(m).threads = 0; }, "0 threads per block");
  refused([&](auto &m) { launch(m).threads = 1025; }, "1025 threads per block");
  refused([&](auto &m) { launch(m).blocks = 0; }, "a launch without blocks");
  refused([](auto &m) { m.natives[0]->scratch_bytes = ~uint64_t{0}; },
          "bytes of scratch memory");
  refused([](auto &m) { m.device_code = nullptr; },
          "launches without device code");
}

/// A product inside a kernel: its matrices lie in their buffers.
TEST(Corrupt, DeviceProducts) {
  auto refused = [](const std::function<void(fb::NativeKernelT &)> &change,
                    const std::string &reason) {
    // A product of 2 x 3 and 3 x 4 into the scratch memory.
    ModelBuilder b = withDeviceCode({2, 3}, {3, 4});
    fb::NativeKernelT &kernel = *b.model.natives[0];
    kernel.extents = {0, 0};
    kernel.scratch_bytes = 4 * 8;
    auto product = std::make_unique<fb::DeviceProductT>();
    product->rows = 2;
    product->columns = 4;
    product->depth = 3;
    product->a = std::make_unique<fb::ProductMatrix>(0, 0, 3, 1);
    product->b = std::make_unique<fb::ProductMatrix>(1, 0, 1, 3);
    product->c = std::make_unique<fb::ProductMatrix>(2, 0, 4, 1);
    kernel.products.push_back(std::move(product));
    auto row = std::make_unique<fb::DeviceLaunchT>();
    row->product = 0;
    row->constants = {0, 0, 0};
    kernel.launches.push_back(std::move(row));
    change(kernel);
    expectError(b, reason);
  };
  refused([](auto &) {},
          "expected a model whose native kernels run on the host");
  refused([](auto &k) { k.launches[0]->product = 1; }, "product 1 of 1");
  refused([](auto &k) { k.launches[0]->product = -2; }, "product -2 of 1");
  refused([](auto &k) { k.launches[0]->constants.pop_back(); },
          "2 places of three matrices");
  refused([](auto &k) { k.products[0]->rows = 0; },
          "a product of 1 x 0 x 4 x 3");
  refused([](auto &k) { k.products[0]->batch = int64_t{1} << 40; },
          "a product of 1099511627776 x");
  using Matrix = fb::ProductMatrix;
  for (const Matrix &a : {Matrix(0, 0, 2, 1), Matrix(0, 0, 3, 2),
                          Matrix(0, -1, 3, 1), Matrix(0, 0, -3, 1)})
    refused([&](auto &k) { *k.products[0]->a = a; },
            "a matrix of 2 x 3 with strides");
  refused([](auto &k) { *k.products[0]->a = Matrix(3, 0, 3, 1); },
          "a matrix in buffer 3 of 2");
  refused([](auto &k) { *k.products[0]->a = Matrix(0, 0, 4, 1); },
          "ends beyond the 24 bytes");
  refused([](auto &k) { *k.products[0]->a = Matrix(0, 0, INT64_MAX, 1); },
          "ends beyond the 24 bytes");
  refused([](auto &k) { k.launches[0]->constants[0] = 4; },
          "ends beyond the 24 bytes");
  refused([](auto &k) { k.launches[0]->constants[1] = -4; },
          "ends beyond the 48 bytes");
  refused([](auto &k) { k.scratch_bytes = 28; }, "ends beyond the 28 bytes");
  refused(
      [](auto &k) {
        k.size_count = 1;
        k.extents[1] = 1;
      },
      "ends beyond the 0 bytes");
  refused([](auto &k) { *k.products[0]->c = Matrix(1, 0, 1, 3); },
          "whose columns do not lie side by side");
  refused([](auto &k) { k.workspace_bytes = ~uint64_t{0}; },
          "bytes of scratch memory for the library");
}
