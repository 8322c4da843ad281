//===- CudaConvolutionTest.cpp - Convolutions on GPUs ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include "EncodedFloats.h"
#include "Error.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace soap;
using namespace soap::runtime;
using soap::test::decoded;
using soap::test::encoded;

// These run over the stand-ins for the driver and cuDNN
// (test/lib/Runtime/CUDA), or on a GPU.

namespace {
enum class Of { Result, Data, Filter };

/// A convolution in one to three dims.
struct Case {
  Shape x, w, y;
  std::vector<int64_t> strides, dilations, pads;
  bool hasBias = false;
  bool tf32 = false;
  fb::ElementType factors = fb::ElementType::F32;
  /// Of the factors' type, instead of f32.
  bool hasNarrowBias = false, hasNarrowResult = false;
};

/// Calls visit(index in y, in x, in w) for every product, by definition.
template <typename Visit>
void forEachProduct(const Case &c, Visit visit) {
  size_t dims = c.x.size() - 2;
  int64_t perGroup = c.w[0] * c.w[1] / c.x[1];
  auto indexOf = [](int64_t flat, const Shape &shape) {
    Shape at(shape.size());
    for (size_t d = shape.size(); d-- > 0; flat /= shape[d])
      at[d] = flat % shape[d];
    return at;
  };
  Shape window = c.w;
  window[0] = 1;
  for (int64_t y = 0; y != elementCount(c.y); ++y)
    for (int64_t k = 0; k != elementCount(window); ++k) {
      Shape yAt = indexOf(y, c.y), kAt = indexOf(k, window);
      int64_t x = yAt[0] * c.x[1] + yAt[1] / perGroup * c.w[1] + kAt[1];
      bool isInside = true;
      for (size_t i = 0; i != dims; ++i) {
        int64_t place =
            yAt[2 + i] * c.strides[i] - c.pads[i] + kAt[2 + i] * c.dilations[i];
        isInside &= place >= 0 && place < c.x[2 + i];
        x = x * c.x[2 + i] + place;
      }
      if (isInside)
        visit(y, x, yAt[1] * elementCount(window) + k);
    }
}

class CudaConvolution : public testing::Test {
protected:
  using Floats = std::vector<float>;

  void SetUp() override {
    backend_ = &findBackend("cuda");
    device_ = backend_->makeDevice({});
    stream_ = device_->makeStream({}, /*hasPriority=*/false);
  }

  /// Random whole numbers, so that a product too few or too many shows.
  Floats values(const Shape &shape) {
    Floats result(static_cast<size_t>(elementCount(shape)));
    for (float &value : result)
      value = static_cast<float>(static_cast<int>(random_() % 9) - 4);
    return result;
  }
  DeviceBlock upload(const Floats &contents,
                     fb::ElementType type = fb::ElementType::F32) {
    std::vector<char> bytes = encoded(contents, type);
    DeviceBlock block(*device_, bytes.size());
    stream_->copyFromHost(StridedCopy::dense(bytes.size()), bytes.data(),
                          block.data());
    stream_->synchronize();
    return block;
  }

  /// What the backend computes of operands of these shapes; the first two are
  /// of type `factors`, all others of f32, or as the case says.
  Floats run(fb::KernelT row, const std::vector<Shape> &shapes,
             const std::vector<Floats> &operands, const Shape &result,
             const Case &c = {});
  void check(const Case &c, Of of);

  const Backend *backend_ = nullptr;
  std::unique_ptr<BackendDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::mt19937 random_{1};
  int kernels_ = 0;
};
} // namespace

CudaConvolution::Floats
CudaConvolution::run(fb::KernelT row, const std::vector<Shape> &shapes,
                     const std::vector<Floats> &operands, const Shape &result,
                     const Case &c) {
  constexpr auto f32 = fb::ElementType::F32;
  auto resultType = c.hasNarrowResult ? c.factors : f32;
  std::vector<fb::ElementType> types(shapes.size(), c.factors);
  if (types.size() > 2 && !c.hasNarrowBias)
    types[2] = f32;
  row.key = "convolution " + std::to_string(kernels_++);
  row.workspace_bytes = 1 << 20;
  auto add = [](auto &list, const Shape &shape, fb::ElementType type) {
    list.push_back(std::make_unique<fb::TensorTypeT>());
    list.back()->shape = shape;
    list.back()->element = type;
  };
  for (size_t i = 0; i != shapes.size(); ++i)
    add(row.operands, shapes[i], types[i]);
  add(row.results, result, resultType);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Kernel::Pack(builder, &row));
  auto kernel = device_->makeKernel(
      *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()),
      std::vector<bool>(shapes.size(), false), {});
  EXPECT_EQ(kernel->implementation(), "cudnn");
  EXPECT_LE(kernel->scratchpadBytes(), row.workspace_bytes);
  DeviceBlock scratchpad(*device_,
                         std::max<size_t>(kernel->scratchpadBytes(), 1));
  Binding binding;
  std::vector<DeviceBlock> blocks;
  for (const Floats &operand : operands)
    blocks.push_back(upload(operand, types[blocks.size()]));
  for (const DeviceBlock &block : blocks)
    binding.operands.push_back(block.data());
  Floats values(static_cast<size_t>(elementCount(result)), 77);
  DeviceBlock own = upload(values, resultType);
  binding.results = {own.data()};
  binding.scratchpad = scratchpad.data();
  auto bound = kernel->bind(binding);
  bound->enqueue(*stream_);
  bound->enqueue(*stream_); // A second run finds the first one's result.
  std::vector<char> bytes(values.size() * elementSize(resultType));
  stream_->copyToHost(StridedCopy::dense(bytes.size()), own.data(),
                      bytes.data());
  stream_->synchronize();
  return decoded(bytes, resultType);
}

void CudaConvolution::check(const Case &c, Of of) {
  Floats x = values(c.x), w = values(c.w), y = values(c.y);
  Floats bias = values({c.w[0]});
  fb::KernelT row;
  auto window = [&](auto op) {
    op.strides = c.strides;
    op.dilations = c.dilations;
    op.pads_lo = op.pads_hi = c.pads;
    op.groups = c.x[1] / c.w[1];
    op.tf32 = c.tf32;
    return op;
  };
  Floats expected, got;
  if (of == Of::Result) {
    auto op = window(fb::ConvT());
    op.bias = c.hasBias;
    row.op.Set(op);
    expected.assign(y.size(), 0);
    forEachProduct(c, [&](int64_t yAt, int64_t xAt, int64_t wAt) {
      expected[yAt] += x[xAt] * w[wAt];
    });
    int64_t plane = elementCount(c.y) / (c.y[0] * c.y[1]);
    for (size_t i = 0; c.hasBias && i != expected.size(); ++i)
      expected[i] += bias[static_cast<int64_t>(i) / plane % c.y[1]];
    std::vector<Shape> shapes = {c.x, c.w};
    std::vector<Floats> operands = {x, w};
    if (c.hasBias) {
      shapes.push_back({c.w[0]});
      operands.push_back(bias);
    }
    got = run(std::move(row), shapes, operands, c.y, c);
  } else {
    auto op = window(fb::ConvBackwardT());
    op.of_filter = of == Of::Filter;
    row.op.Set(op);
    expected.assign((op.of_filter ? w : x).size(), 0);
    forEachProduct(c, [&](int64_t yAt, int64_t xAt, int64_t wAt) {
      if (of == Of::Filter)
        expected[wAt] += x[xAt] * y[yAt];
      else
        expected[xAt] += w[wAt] * y[yAt];
    });
    got = of == Of::Filter ? run(std::move(row), {c.x, c.y}, {x, y}, c.w, c)
                           : run(std::move(row), {c.y, c.w}, {y, w}, c.x, c);
  }
  ASSERT_EQ(got.size(), expected.size());
  // Whole numbers; algorithms that transform tiles (Winograd, FFT) round, as do
  // results of bf16 from 256 on.
  float bits = c.factors == fb::ElementType::BF16 ? 256 : 1e6;
  for (size_t i = 0; i != got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], 1e-3 + std::abs(expected[i]) / bits) << i;
}

TEST_F(CudaConvolution, ResultsAndGradients) {
  for (const Case &c : {
           Case{{2, 3, 6, 5},
                {4, 3, 3, 3},
                {2, 4, 6, 5},
                {1, 1},
                {1, 1},
                {1, 1}},
           // Strides, dilations, groups; the last row of x is not read.
           Case{{1, 4, 10, 8},
                {6, 2, 3, 2},
                {1, 6, 4, 4},
                {2, 2},
                {2, 1},
                {1, 0}},
           Case{{2, 3, 7}, {2, 3, 3}, {2, 2, 4}, {2}, {1}, {1}},
           Case{{1, 2, 4, 3, 5},
                {3, 2, 2, 1, 3},
                {1, 3, 3, 3, 3},
                {1, 1, 1},
                {1, 1, 1},
                {0, 0, 0}},
       })
    for (Of of : {Of::Result, Of::Data, Of::Filter})
      check(c, of);
}

TEST_F(CudaConvolution, ABiasIsAddedByThePlanOrBefore) {
  Case c{{2, 3, 6, 5}, {4, 3, 3, 3}, {2, 4, 6, 5}, {1, 1}, {1, 1}, {1, 1}};
  c.hasBias = true;
  check(c, Of::Result);
  setenv("SOAP_CUDNN_REFUSES", "bias", 1);
  check(c, Of::Result);
  Case line{{2, 3, 7}, {2, 3, 3}, {2, 2, 4}, {2}, {1}, {1}};
  line.hasBias = true;
  check(line, Of::Result);
  unsetenv("SOAP_CUDNN_REFUSES");
}

// The stand-in leaves only the engine with tensor cores, which rounds f32.
// Whole numbers below 2^11 are TF32 as they are.
TEST_F(CudaConvolution, FactorsThatMayBeRounded) {
  Case c{{2, 3, 6, 5}, {4, 3, 3, 3}, {2, 4, 6, 5}, {1, 1}, {1, 1}, {1, 1}};
  c.tf32 = true;
  setenv("SOAP_CUDNN_REFUSES", "f32", 1);
  for (Of of : {Of::Result, Of::Data, Of::Filter})
    check(c, of);
  unsetenv("SOAP_CUDNN_REFUSES");
}

// Results of 16 bits are widened, four at a time where planes have such sizes.
TEST_F(CudaConvolution, FactorsOf16Bits) {
  Case odd{{2, 3, 5, 5}, {4, 3, 3, 3}, {2, 4, 5, 5}, {1, 1}, {1, 1}, {1, 1}};
  Case even{{1, 4, 6, 6}, {6, 2, 3, 3}, {1, 6, 6, 6}, {1, 1}, {1, 1}, {1, 1}};
  Case line{{2, 3, 7}, {2, 3, 3}, {2, 2, 4}, {2}, {1}, {1}};
  for (Case c : {odd, even, line})
    for (auto type : {fb::ElementType::BF16, fb::ElementType::F16})
      for (bool hasBias : {false, true})
        for (Of of : {Of::Result, Of::Data, Of::Filter}) {
          c.factors = type;
          c.hasBias = hasBias;
          check(c, of);
        }
}

// A bias of 16 bits is added to a result of either type, by the plan or before.
TEST_F(CudaConvolution, BiasesAndResultsOf16Bits) {
  Case c{{1, 4, 6, 6}, {6, 2, 3, 3}, {1, 6, 6, 6}, {1, 1}, {1, 1}, {1, 1}};
  c.hasBias = c.hasNarrowBias = true;
  for (auto type : {fb::ElementType::BF16, fb::ElementType::F16})
    for (bool hasNarrowResult : {false, true}) {
      c.factors = type;
      c.hasNarrowResult = hasNarrowResult;
      check(c, Of::Result);
      setenv("SOAP_CUDNN_REFUSES", "bias", 1);
      check(c, Of::Result);
      unsetenv("SOAP_CUDNN_REFUSES");
    }
}

TEST_F(CudaConvolution, WhatTheLibraryLacksIsRefused) {
  // Windows begin behind the start of x.
  fb::KernelT row;
  fb::ConvT op;
  op.strides = op.dilations = {1, 1};
  op.pads_lo = {0, -1};
  op.pads_hi = {0, 0};
  row.op.Set(op);
  try {
    (void)run(std::move(row), {{1, 1, 4, 4}, {1, 1, 2, 2}}, {}, {1, 1, 3, 2});
    FAIL() << "expected a refusal";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("cuBLASLt or cuDNN implements"),
              std::string::npos)
        << error.what();
  }
}
