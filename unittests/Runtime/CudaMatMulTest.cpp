//===- CudaMatMulTest.cpp - Products on GPUs ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace soap;
using namespace soap::runtime;

// These run over the stand-ins for the driver and cuBLASLt
// (test/lib/Runtime/CUDA), or on a GPU.

namespace {
/// A product with a broadcast bias, by definition.
struct Case {
  Shape a, b, bias, y;
  bool transposesA, transposesB;
  float alpha;
  bool tf32 = false;
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
    stream_ = device_->makeStream({});
  }

  /// Random whole numbers, the products of which are exact.
  std::vector<float> values(const Shape &shape) {
    std::vector<float> result(static_cast<size_t>(elementCount(shape)));
    for (float &value : result)
      value = static_cast<float>(static_cast<int>(random_() % 9) - 4);
    return result;
  }
  DeviceBlock upload(const std::vector<float> &contents) {
    DeviceBlock block(*device_, contents.size() * 4);
    StridedCopy all = StridedCopy::dense(contents.size() * 4);
    stream_->copyFromHost(all, reinterpret_cast<const char *>(contents.data()),
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
            (c.tf32 ? " tf32" : "");
  row.op.Set(op);
  row.workspace_bytes = 4096;
  auto add = [](auto &list, const Shape &shape) {
    list.push_back(std::make_unique<fb::TensorTypeT>());
    list.back()->shape = shape;
  };
  add(row.operands, c.a);
  add(row.operands, c.b);
  if (op.bias)
    add(row.operands, c.bias);
  add(row.results, c.y);
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
  DeviceBlock aBlock = upload(a), bBlock = upload(b), biasBlock;
  std::vector<float> result(static_cast<size_t>(elementCount(c.y)), 77);
  DeviceBlock y = upload(result);
  binding.operands = {aBlock.data(), bBlock.data()};
  if (op.bias) {
    bias = values(c.bias);
    biasBlock = upload(bias);
    binding.operands.push_back(biasBlock.data());
  }
  binding.results = {y.data()};
  binding.scratchpad = scratchpad.data();
  auto bound = kernel->bind(binding);
  StridedCopy all = StridedCopy::dense(result.size() * 4);
  auto download = [&] {
    stream_->copyToHost(all, y.data(), reinterpret_cast<char *>(result.data()));
    stream_->synchronize();
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
