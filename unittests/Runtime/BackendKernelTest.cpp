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

/// Native kernels, as functions of the host or as PTX, by the target.
class NativeRows {
public:
  /// The same function twice; in PTX an entry `kernel` for blocks of 32
  /// threads, with a parameter per buffer and size.
  NativeRows(const std::string &target, soap_native_kernel function,
             const std::string &ptx, uint32_t sizeCount) {
    if (target != "cuda") {
      code_.function = function;
      return;
    }
    fb::ModelT model;
    auto native = std::make_unique<fb::NativeKernelT>();
    native->size_count = sizeCount;
    auto launch = std::make_unique<fb::DeviceLaunchT>();
    launch->entry = "kernel";
    launch->threads = 32;
    launch->blocks = 2;
    native->launches.push_back(std::move(launch));
    model.natives.push_back(std::move(native));
    model.device_code = std::make_unique<fb::DeviceCodeT>();
    model.device_code->text =
        ".version 7.0\n.target sm_80\n.address_size 64\n" + ptx;
    model.device_code->architecture = 80;
    builder_.Finish(fb::Model::Pack(builder_, &model));
    const auto *table =
        flatbuffers::GetRoot<fb::Model>(builder_.GetBufferPointer());
    code_.description = table->natives()->Get(0);
    code_.device = table->device_code();
  }
  const NativeCode &code() const { return code_; }

private:
  flatbuffers::FlatBufferBuilder builder_;
  NativeCode code_;
};

/// c[i] += a[i] * b[i] for i below the size; the threads share the work.
constexpr const char *multiplyAddText = R"(
.visible .entry kernel(.param .u64 a, .param .u64 b, .param .u64 c,
                       .param .u64 size) .reqntid 32, 1, 1
{
  .reg .pred %p;
  .reg .b32 %t, %n, %block, %blocks;
  .reg .b64 %i, %size, %step, %a, %b, %c, %at;
  .reg .f32 %x, %y, %z;
  mov.u32 %t, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.s32 %t, %block, %n, %t;
  cvt.u64.u32 %i, %t;
  mul.wide.u32 %step, %blocks, %n;
  ld.param.u64 %size, [size];
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u64 %c, [c];
$next:
  setp.ge.u64 %p, %i, %size;
  @%p bra $end;
  shl.b64 %at, %i, 2;
  add.s64 %at, %at, %a;
  ld.global.f32 %x, [%at];
  shl.b64 %at, %i, 2;
  add.s64 %at, %at, %b;
  ld.global.f32 %y, [%at];
  shl.b64 %at, %i, 2;
  add.s64 %at, %at, %c;
  ld.global.f32 %z, [%at];
  fma.rn.f32 %z, %x, %y, %z;
  st.global.f32 [%at], %z;
  add.s64 %i, %i, %step;
  bra.uni $next;
$end:
  ret;
}
)";

fb::KernelOpUnion nativeOp() {
  fb::KernelOpUnion op;
  op.Set(fb::NativeT());
  return op;
}
} // namespace

TEST_P(BackendKernel, NativeKernelsRunInOrder) {
  KernelRow row(nativeOp(), 2, {16});
  soap_native_kernel multiplyAdd = [](void *const *buffers,
                                      const int64_t *sizes) {
    for (int64_t i = 0; i != sizes[0]; ++i)
      static_cast<float *>(buffers[2])[i] +=
          static_cast<const float *>(buffers[0])[i] *
          static_cast<const float *>(buffers[1])[i];
  };
  NativeRows native(GetParam(), multiplyAdd, multiplyAddText, 1);
  auto kernel = device_->makeKernel(*row, {false, false}, native.code());
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
  if (GetParam() == std::string("cuda"))
    GTEST_SKIP() << "a kernel that fails ends the GPU's work: CudaTest.cpp";
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
