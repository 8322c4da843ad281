//===- BackendProductTest.cpp - Products of 16-bit floats -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackendTest.h"
#include <cstring>

using namespace soap;
using namespace soap::test;

namespace {
/// Factors are of bf16 or f16, the bias, if there is one, and the result of
/// f32.
class BackendProduct : public BackendTest {
protected:
  using Values = std::vector<float>;

  /// The bits of a small whole number, which both types have exactly.
  static uint16_t bitsOf(float value, fb::ElementType element) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    if (element == fb::ElementType::BF16)
      return static_cast<uint16_t>(bits >> 16);
    if (value == 0)
      return 0;
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
    return static_cast<uint16_t>(sign | exponent << 10 | (bits >> 13 & 0x3ff));
  }
  DeviceBlock blockOf(const void *contents, size_t bytes) {
    const char *first = static_cast<const char *>(contents);
    return block(Bytes(first, first + bytes));
  }

  /// Runs `op` twice on x, w and perhaps a bias, with w constant or not.
  Values run(fb::KernelOpUnion op, fb::ElementType element,
             const std::vector<std::pair<Shape, Values>> &operands,
             const Shape &result, bool isConstant);

  /// Whole numbers from -4 to 4 whose sums are exact.
  static Values numbers(const Shape &shape, unsigned step) {
    Values values(static_cast<size_t>(elementCount(shape)));
    for (size_t i = 0; i != values.size(); ++i)
      values[i] = static_cast<float>(static_cast<int>(i * step % 9) - 4);
    return values;
  }
};
} // namespace

BackendProduct::Values
BackendProduct::run(fb::KernelOpUnion op, fb::ElementType element,
                    const std::vector<std::pair<Shape, Values>> &operands,
                    const Shape &result, bool isConstant) {
  fb::KernelT row;
  row.key = "product";
  row.op = std::move(op);
  row.workspace_bytes = 1 << 20;
  auto type = [](const Shape &shape, fb::ElementType of) {
    auto made = std::make_unique<fb::TensorTypeT>();
    made->shape = shape;
    made->element = of;
    return made;
  };
  std::vector<DeviceBlock> blocks;
  Binding binding;
  for (size_t i = 0; i != operands.size(); ++i) {
    const auto &[shape, values] = operands[i];
    bool isFactor = i < 2;
    row.operands.push_back(
        type(shape, isFactor ? element : fb::ElementType::F32));
    std::vector<uint16_t> narrow;
    for (float value : values)
      narrow.push_back(bitsOf(value, element));
    blocks.push_back(isFactor ? blockOf(narrow.data(), narrow.size() * 2)
                              : blockOf(values.data(), values.size() * 4));
    binding.operands.push_back(blocks.back().data());
  }
  row.results.push_back(type(result, fb::ElementType::F32));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Kernel::Pack(builder, &row));
  std::vector<bool> constant(operands.size(), false);
  constant[1] = isConstant;
  auto kernel = device_->makeKernel(
      *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()), constant,
      {});
  Values values(static_cast<size_t>(elementCount(result)), 77);
  DeviceBlock y = blockOf(values.data(), values.size() * 4);
  DeviceBlock scratchpad(*device_,
                         std::max<size_t>(kernel->scratchpadBytes(), 1));
  ConstantCache constants;
  binding.results = {y.data()};
  binding.scratchpad = scratchpad.data();
  binding.constants = &constants;
  // The second launch shares the constants of the first.
  auto first = kernel->bind(binding), second = kernel->bind(binding);
  uint64_t bytes = 0;
  for (const ConstantCopy &copy : kernel->constantCopies())
    bytes += copy.bytes;
  EXPECT_EQ(constants.bytes(), bytes);
  first->enqueue(*stream_);
  second->enqueue(*stream_);
  stream_->copyToHost(StridedCopy::dense(values.size() * 4), y.data(),
                      reinterpret_cast<char *>(values.data()));
  stream_->synchronize();
  return values;
}

TEST_P(BackendProduct, OfMatrices) {
  const int64_t m = 5, n = 19, k = 33;
  std::vector<std::pair<Shape, Values>> operands;
  for (const Shape &shape : {Shape{m, k}, Shape{k, n}, Shape{n}})
    operands.emplace_back(shape, numbers(shape, operands.empty() ? 5 : 7));
  Values expected;
  for (int64_t i = 0; i != m; ++i)
    for (int64_t j = 0; j != n; ++j) {
      float sum = operands[2].second[static_cast<size_t>(j)];
      for (int64_t s = 0; s != k; ++s)
        sum += operands[0].second[static_cast<size_t>(i * k + s)] *
               operands[1].second[static_cast<size_t>(s * n + j)];
      expected.push_back(sum);
    }
  for (auto element : {fb::ElementType::BF16, fb::ElementType::F16})
    for (bool isConstant : {false, true}) {
      fb::MatMulT op;
      op.bias = true;
      fb::KernelOpUnion kernel;
      kernel.Set(std::move(op));
      EXPECT_EQ(run(std::move(kernel), element, operands, {m, n}, isConstant),
                expected)
          << fb::EnumNameElementType(element) << ", constant " << isConstant;
    }
}

TEST_P(BackendProduct, OfConvolutions) {
  // A row of samples: y[f][o] is the sum over c, t of x[c][o + t - 1]
  // w[f][c][t].
  const int64_t channels = 16, filters = 32, size = 20;
  Shape xs = {1, channels, size}, ws = {filters, channels, 3},
        ys = {1, filters, size};
  Values x = numbers(xs, 5), w = numbers(ws, 7), dy = numbers(ys, 4);
  Values y(dy.size(), 0), dx(x.size(), 0), dw(w.size(), 0);
  for (int64_t f = 0; f != filters; ++f)
    for (int64_t c = 0; c != channels; ++c)
      for (int64_t o = 0; o != size; ++o)
        for (int64_t t = 0; t != 3; ++t) {
          int64_t from = o + t - 1;
          if (from < 0 || from >= size)
            continue;
          auto xAt = static_cast<size_t>(c * size + from),
               wAt = static_cast<size_t>((f * channels + c) * 3 + t),
               yAt = static_cast<size_t>(f * size + o);
          y[yAt] += x[xAt] * w[wAt];
          dx[xAt] += dy[yAt] * w[wAt];
          dw[wAt] += dy[yAt] * x[xAt];
        }
  for (auto element : {fb::ElementType::BF16, fb::ElementType::F16})
    for (bool isConstant : {false, true}) {
      SCOPED_TRACE(fb::EnumNameElementType(element));
      fb::ConvT forward;
      fb::ConvBackwardT ofData, ofFilter;
      auto set = [](auto &op) {
        op.strides = op.dilations = op.pads_lo = op.pads_hi = {1};
      };
      set(forward);
      set(ofData);
      set(ofFilter);
      ofFilter.of_filter = true;
      fb::KernelOpUnion kernel;
      kernel.Set(std::move(forward));
      EXPECT_EQ(
          run(std::move(kernel), element, {{xs, x}, {ws, w}}, ys, isConstant),
          y);
      kernel.Set(std::move(ofData));
      EXPECT_EQ(
          run(std::move(kernel), element, {{ys, dy}, {ws, w}}, xs, isConstant),
          dx);
      kernel.Set(std::move(ofFilter));
      EXPECT_EQ(run(std::move(kernel), element, {{xs, x}, {ys, dy}}, ws,
                    /*isConstant=*/false),
                dw);
    }
}

SOAP_TEST_BACKENDS(BackendProduct);
