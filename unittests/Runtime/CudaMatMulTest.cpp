//===- CudaMatMulTest.cpp - Products on GPUs ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include "EncodedFloats.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace soap;
using namespace soap::runtime;
using soap::test::decoded;
using soap::test::encoded;

// These run over the stand-ins for the driver and cuBLASLt
// (test/lib/Runtime/CUDA), or on a GPU.

namespace {
/// A product with a broadcast bias, by definition.
struct Case {
  Shape a, b, bias, y;
  bool transposesA, transposesB;
  float alpha;
  bool tf32 = false;
  fb::ElementType factors = fb::ElementType::F32;
  fb::ElementType biasType = fb::ElementType::F32;
  fb::ElementType result = fb::ElementType::F32;
};

/// The flat index in a tensor of `shape` of the element that index `at` of a
/// tensor of higher or equal rank reads, dims of 1 being repeated.
int64_t flatIndex(const Shape &shape, const Shape &at) {
  int64_t index = 0;
  size_t skip = at.size() - shape.size();
  for (size_t d = 0; d != shape.size(); ++d)
    index = index * shape[d] + (shape[d] == 1 ? 0 : at[d + skip]);
  return index;
}

std::vector<float> multiply(const Case &c, const std::vector<float> &a,
                            const std::vector<float> &b,
                            const std::vector<float> &bias) {
  size_t rank = c.y.size();
  int64_t k = c.a[c.a.size() - (c.transposesA ? 2 : 1)];
  std::vector<float> y(static_cast<size_t>(elementCount(c.y)));
  for (size_t i = 0; i != y.size(); ++i) {
    Shape at(rank);
    auto rest = static_cast<int64_t>(i);
    for (size_t d = rank; d-- > 0; rest /= c.y[d])
      at[d] = rest % c.y[d];
    float sum = 0;
    for (int64_t s = 0; s != k; ++s) {
      Shape aAt = at, bAt = at;
      aAt[rank - 1] = s;
      bAt[rank - 2] = s;
      if (c.transposesA)
        std::swap(aAt[rank - 1], aAt[rank - 2]);
      if (c.transposesB)
        std::swap(bAt[rank - 1], bAt[rank - 2]);
      sum += a[static_cast<size_t>(flatIndex(c.a, aAt))] *
             b[static_cast<size_t>(flatIndex(c.b, bAt))];
    }
    y[i] = c.alpha * sum;
    if (!bias.empty())
      y[i] += bias[static_cast<size_t>(flatIndex(c.bias, at))];
  }
  return y;
}

class CudaMatMul : public testing::Test {
protected:
  void SetUp() override {
    backend_ = &findBackend("cuda");
    device_ = backend_->makeDevice({});
    stream_ = device_->makeStream({}, /*hasPriority=*/false);
  }

  /// Random whole numbers, the products of which are exact.
  std::vector<float> values(const Shape &shape) {
    std::vector<float> result(static_cast<size_t>(elementCount(shape)));
    for (float &value : result)
      value = static_cast<float>(static_cast<int>(random_() % 9) - 4);
    return result;
  }
  DeviceBlock upload(const std::vector<float> &contents, fb::ElementType type) {
    std::vector<char> bytes = encoded(contents, type);
    DeviceBlock block(*device_, bytes.size());
    stream_->copyFromHost(StridedCopy::dense(bytes.size()), bytes.data(),
                          block.data());
    stream_->synchronize();
    return block;
  }
  void check(const Case &c);

  const Backend *backend_ = nullptr;
  std::unique_ptr<BackendDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::mt19937 random_{1};
};
} // namespace

void CudaMatMul::check(const Case &c) {
  fb::KernelT row;
  fb::MatMulT op;
  op.transpose_a = c.transposesA;
  op.transpose_b = c.transposesB;
  op.alpha = c.alpha;
  op.bias = !c.bias.empty();
  op.tf32 = c.tf32;
  row.key = "product" + toString(c.a) + toString(c.b) + toString(c.bias) +
            (c.tf32 ? " tf32 " : " ") + fb::EnumNameElementType(c.factors) +
            fb::EnumNameElementType(c.biasType) +
            fb::EnumNameElementType(c.result);
  row.op.Set(op);
  row.workspace_bytes = 4096;
  auto add = [](auto &list, const Shape &shape, fb::ElementType type) {
    list.push_back(std::make_unique<fb::TensorTypeT>());
    list.back()->shape = shape;
    list.back()->element = type;
  };
  add(row.operands, c.a, c.factors);
  add(row.operands, c.b, c.factors);
  if (op.bias)
    add(row.operands, c.bias, c.biasType);
  add(row.results, c.y, c.result);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Kernel::Pack(builder, &row));
  auto kernel = device_->makeKernel(
      *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()),
      std::vector<bool>(row.operands.size(), false), {});
  EXPECT_LE(kernel->scratchpadBytes(), 4096u);

  std::vector<float> a = values(c.a), b = values(c.b), bias;
  DeviceBlock scratchpad(*device_,
                         std::max<size_t>(kernel->scratchpadBytes(), 1));
  Binding binding;
  DeviceBlock aBlock = upload(a, c.factors), bBlock = upload(b, c.factors);
  DeviceBlock biasBlock;
  std::vector<float> result(static_cast<size_t>(elementCount(c.y)), 77);
  DeviceBlock y = upload(result, c.result);
  binding.operands = {aBlock.data(), bBlock.data()};
  if (op.bias) {
    bias = values(c.bias);
    biasBlock = upload(bias, c.biasType);
    binding.operands.push_back(biasBlock.data());
  }
  binding.results = {y.data()};
  binding.scratchpad = scratchpad.data();
  auto bound = kernel->bind(binding);
  std::vector<char> bytes(result.size() * elementSize(c.result));
  auto download = [&] {
    stream_->copyToHost(StridedCopy::dense(bytes.size()), y.data(),
                        bytes.data());
    stream_->synchronize();
    result = decoded(bytes, c.result);
  };
  download();
  EXPECT_TRUE(std::all_of(result.begin(), result.end(), [](float value) {
    return value == 77;
  })) << "the choice of an algorithm has written a result";
  for (int run = 0; run != 2; ++run) { // The second one overwrites.
    bound->enqueue(*stream_);
    download();
    ASSERT_EQ(result, multiply(c, a, b, bias));
  }
}

TEST_F(CudaMatMul, MatricesAndTheirTransposes) {
  for (bool transposesA : {false, true})
    for (bool transposesB : {false, true})
      for (const Shape &bias :
           {Shape{}, Shape{5}, Shape{3, 5}, Shape{3, 1}, Shape{1, 1}, Shape{1}})
        check({transposesA ? Shape{4, 3} : Shape{3, 4},
               transposesB ? Shape{5, 4} : Shape{4, 5},
               bias,
               {3, 5},
               transposesA,
               transposesB,
               0.5F});
}

TEST_F(CudaMatMul, StacksOfMatrices) {
  for (const Shape &bias :
       {Shape{}, Shape{5}, Shape{2, 1, 3, 5}, Shape{1, 6, 1, 1}}) {
    Shape y = {2, 6, 3, 5};
    check({{2, 6, 3, 4}, {2, 6, 4, 5}, bias, y, false, false, 1});
    check({{2, 6, 3, 4}, {4, 5}, bias, y, false, false, 1});
    check({{2, 6, 4, 3}, {4, 5}, bias, y, true, false, 1});
    check({{3, 4}, {2, 6, 5, 4}, bias, y, false, true, 1});
    check({{2, 1, 3, 4}, {6, 4, 5}, bias, y, false, false, 2});
    check({{1, 6, 3, 4}, {2, 1, 4, 5}, bias, y, false, false, 1});
    check({{6, 3, 4}, {2, 6, 4, 5}, bias, y, false, false, 1});
  }
}

// Whole numbers below 2^11 are TF32 as they are.
TEST_F(CudaMatMul, FactorsThatMayBeRounded) {
  check({{3, 4}, {4, 5}, {5}, {3, 5}, false, false, 0.5F, /*tf32=*/true});
  check({{2, 6, 3, 4}, {4, 5}, {}, {2, 6, 3, 5}, false, false, 1, true});
}

// A bias is of the result's type for the library: of 16 bits it is widened for
// a result of f32.
TEST_F(CudaMatMul, FactorsOf16Bits) {
  constexpr auto f32 = fb::ElementType::F32;
  for (auto type : {fb::ElementType::BF16, fb::ElementType::F16})
    for (auto result : {f32, type})
      for (auto bias : {type, result}) {
        Case c{{3, 4}, {4, 5}, {5}, {3, 5}, false, false, 1};
        c.factors = type;
        c.biasType = bias;
        c.result = result;
        check(c);
        c.a = {2, 6, 3, 4};
        c.y = {2, 6, 3, 5};
        check(c);
        c.bias = {};
        check(c);
      }
}

TEST_F(CudaMatMul, WhatTheLibraryLacksIsNamed) {
  fb::KernelT row;
  row.key = "the-key";
  row.op.Set(fb::MatMulT());
  for (int i = 0; i != 3; ++i) {
    auto type = std::make_unique<fb::TensorTypeT>();
    type->element = fb::ElementType::I32;
    type->shape = {4, 4};
    (i == 2 ? row.results : row.operands).push_back(std::move(type));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Kernel::Pack(builder, &row));
  try {
    (void)device_->makeKernel(
        *flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()),
        {false, false}, {});
    FAIL() << "a product of integers";
  } catch (const Error &error) {
    EXPECT_EQ(error.status, SOAP_INVALID);
    EXPECT_NE(std::string(error.what()).find("the-key"), std::string::npos);
  }
}
