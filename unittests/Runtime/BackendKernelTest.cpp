//===- BackendKernelTest.cpp - Kernels and their errors -------------------===//
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
class BackendKernel : public BackendTest {};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// A kernel of the table, as the backend is given it.
class KernelRow {
public:
  KernelRow(fb::KernelOpUnion op, size_t operands, const Shape &shape,
            fb::ElementType element = fb::ElementType::F32) {
    fb::KernelT kernel;
    kernel.key = "the-key";
    kernel.op = std::move(op);
    for (size_t i = 0; i != operands + 1; ++i) {
      auto type = std::make_unique<fb::TensorTypeT>();
      type->element = element;
      type->shape = shape;
      (i == operands ? kernel.results : kernel.operands)
          .push_back(std::move(type));
    }
    builder_.Finish(fb::Kernel::Pack(builder_, &kernel));
  }
  const fb::Kernel &operator*() const {
    return *flatbuffers::GetRoot<fb::Kernel>(builder_.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder_;
};

fb::KernelOpUnion nativeOp() {
  fb::KernelOpUnion op;
  op.Set(fb::NativeT());
  return op;
}
} // namespace

TEST_P(BackendKernel, NativeKernelsRunInOrder) {
  KernelRow row(nativeOp(), 2, {16});
  NativeCode code;
  code.function = [](void *const *buffers, const int64_t *sizes) {
    for (int64_t i = 0; i != sizes[0]; ++i)
      static_cast<float *>(buffers[2])[i] +=
          static_cast<const float *>(buffers[0])[i] *
          static_cast<const float *>(buffers[1])[i];
  };
  auto kernel = device_->makeKernel(*row, {false, false}, code);
  auto floats = [](float value) {
    std::vector<float> values(16, value);
    Bytes bytes(64);
    std::memcpy(bytes.data(), values.data(), 64);
    return bytes;
  };
  DeviceBlock a = block(floats(3)), b = block(floats(5)), c = block(floats(1));
  Binding binding;
  binding.operands = {a.data(), b.data()};
  binding.results = {c.data()};
  binding.sizes = {16};
  auto bound = kernel->bind(binding);
  StridedCopy all = StridedCopy::dense(64);
  bound->enqueue(*stream_); // 1 + 15
  stream_->copy(all, c.data(), a.data());
  bound->enqueue(*stream_); // 16 + 80
  stream_->synchronize();
  EXPECT_EQ(download(*stream_, c.data(), 64), floats(96));
}

TEST_P(BackendKernel, AKernelThatFailsIsReported) {
  KernelRow row(nativeOp(), 1, {16});
  NativeCode code;
  code.function = [](void *const *, const int64_t *) {
    throw std::runtime_error("the kernel has failed");
  };
  auto kernel = device_->makeKernel(*row, {false}, code);
  DeviceBlock a = block(Bytes(64)), b = block(Bytes(64));
  Binding binding;
  binding.operands = {a.data()};
  binding.results = {b.data()};
  auto bound = kernel->bind(binding);
  try {
    bound->enqueue(*stream_);
    stream_->synchronize();
    FAIL() << "nothing was reported";
  } catch (const std::exception &error) {
    EXPECT_STREQ(error.what(), "the kernel has failed");
  }
}

TEST_P(BackendKernel, AKernelThatNothingImplementsIsNamed) {
  fb::KernelOpUnion op;
  op.Set(fb::SoftmaxT());
  KernelRow row(std::move(op), 1, {2, 3}, fb::ElementType::I64);
  try {
    (void)device_->makeKernel(*row, {false}, {});
    FAIL() << "a softmax of integers";
  } catch (const Error &error) {
    EXPECT_EQ(error.status, SOAP_INVALID);
    EXPECT_NE(std::string(error.what()).find("the-key"), std::string::npos)
        << error.what();
  }
}

SOAP_TEST_BACKENDS(BackendKernel);
