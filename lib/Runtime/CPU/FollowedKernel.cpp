//===- FollowedKernel.cpp - Followers in a loop of their own --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which post-operations an implementation of oneDNN has, and how fast they are,
// depends on the processor and on the shapes. Where none has those of a kernel,
// the kernel runs without them, and a loop applies them to its result: in the
// scratchpad where the place of the result is that of an operand.
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/NarrowFloats.h"
#include "CPU/Threads.h"
#include "Followers.h"
#include <algorithm>
#include <cmath>

using namespace soap;
using namespace soap::runtime;

namespace {
/// A follower with what it reads of element i: element i / `divisor` % `count`
/// of its operand.
struct Step {
  fb::FollowerKind kind;
  float alpha, beta;
  size_t operand;
  int64_t divisor, count;
  bool isWhole = false, isBFloat = false;
  const char *values = nullptr;

  /// What it reads of elements [begin, end), in `space` unless it lies so.
  const float *read(int64_t begin, int64_t end, float *space) const;
  /// Applies it to so many elements at `y`.
  void run(float *y, const float *read, int64_t size) const;
};

float gelu(float x) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); }

float geluTanh(float x) {
  return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

const float *Step::read(int64_t begin, int64_t end, float *space) const {
  const auto *floats = reinterpret_cast<const float *>(values);
  const auto *narrow = reinterpret_cast<const uint16_t *>(values);
  if (!values || (isWhole && !isBFloat))
    return values ? floats + begin : nullptr;
  if (isWhole) {
    widenFloats(fb::ElementType::BF16, narrow + begin, space,
                static_cast<size_t>(end - begin));
    return space;
  }
  for (int64_t i = begin; i != end; ++i) {
    int64_t at = i / divisor % count;
    if (isBFloat)
      widenFloats(fb::ElementType::BF16, narrow + at, space + i - begin, 1);
    else
      space[i - begin] = floats[at];
  }
  return space;
}

void Step::run(float *y, const float *read, int64_t size) const {
  auto forEach = [&](auto body) {
    for (int64_t i = 0; i != size; ++i)
      y[i] = body(y[i]);
  };
  auto forBoth = [&](auto body) {
    for (int64_t i = 0; i != size; ++i)
      y[i] = body(y[i], read[i]);
  };
  switch (kind) {
  case fb::FollowerKind::Relu:
    return forEach([](float a) { return a < 0 ? 0 : a; });
  case fb::FollowerKind::Clip:
    return forEach([&](float a) {
      float least = a < alpha ? alpha : a;
      return least > beta ? beta : least;
    });
  case fb::FollowerKind::Gelu:
    return forEach(gelu);
  case fb::FollowerKind::GeluTanh:
    return forEach(geluTanh);
  case fb::FollowerKind::Add:
    return forBoth([](float a, float b) { return a + b; });
  case fb::FollowerKind::Subtract:
    return forBoth([](float a, float b) { return a - b; });
  case fb::FollowerKind::Multiply:
    return forBoth([](float a, float b) { return a * b; });
  }
}

class BoundFollowed final : public BoundKernel {
public:
  void enqueue(Stream &stream) override {
    kernel->enqueue(stream);
    constexpr int64_t leastElements = 1 << 14;
    forEachRange(count,
                 std::clamp<int64_t>(count / leastElements, 1,
                                     static_cast<int64_t>(threadCount())),
                 [this](int64_t begin, int64_t end) { run(begin, end); });
  }

  std::unique_ptr<BoundKernel> kernel;
  std::vector<Step> steps;
  float *from = nullptr;
  char *to = nullptr;
  bool rounds = false; ///< What lies at `to` is bf16.
  int64_t count = 0;

private:
  void run(int64_t begin, int64_t end) const {
    constexpr int64_t block = 1024; // Stays in the first-level cache.
    float space[block];
    for (int64_t at = begin; at < end; at += block) {
      int64_t last = std::min(at + block, end);
      // The result may lie where an operand does.
      for (const Step &step : steps)
        step.run(from + at, step.read(at, last, space), last - at);
      if (rounds)
        roundToBFloats(from + at, reinterpret_cast<uint16_t *>(to) + at,
                       static_cast<size_t>(last - at));
      else if (auto *floats = reinterpret_cast<float *>(to); from != floats)
        std::copy(from + at, from + last, floats + at);
    }
  }
};

class FollowedKernel final : public Kernel {
public:
  FollowedKernel(const fb::Kernel &kernel, const std::vector<bool> &constant) {
    const fb::TensorType &result = *kernel.results()->Get(0);
    Shape shape = toVector(result.shape());
    count_ = elementCount(shape);
    size_t channelDim = channelDimOf(kernel);
    bool isLast = result.order() == fb::ElementOrder::ChannelsLast;
    int64_t behind =
        isLast
            ? 1
            : elementCount(Shape(shape.begin() + channelDim + 1, shape.end()));
    for (const fb::Follower *follower : items(kernel.followers())) {
      Step step{follower->kind(),
                follower->alpha(),
                follower->beta(),
                follower->operand(),
                1,
                1};
      if (hasOperand(step.kind)) {
        const fb::TensorType &type = *kernel.operands()->Get(step.operand);
        Shape read = toVector(type.shape());
        step.isBFloat = type.element() == fb::ElementType::BF16;
        step.count = elementCount(read);
        step.isWhole = read == shape;
        step.divisor = step.isWhole ? 1 : behind;
      }
      steps_.push_back(step);
      usesScratch_ |= follower->in_place();
    }
    rounds_ = result.element() == fb::ElementType::BF16;
    usesScratch_ |= rounds_;
    std::unique_ptr<fb::KernelT> own(kernel.UnPack());
    own->results.at(0)->element = fb::ElementType::F32;
    own->followers.clear();
    own_ = own->operands.size() - followerOperands(kernel);
    own->operands.resize(own_);
    table_.Finish(fb::Kernel::Pack(table_, own.get()));
    std::vector<bool> constants(constant);
    constants.resize(own_);
    kernel_ = makeCPUKernel(
        *flatbuffers::GetRoot<fb::Kernel>(table_.GetBufferPointer()), constants,
        {});
    implementation_ = kernel_->implementation() + ", soap:followers";
  }

  size_t scratchpadBytes() const override {
    return alignedBytes(kernel_->scratchpadBytes()) + resultBytes();
  }
  std::vector<ConstantCopy> constantCopies() const override {
    return kernel_->constantCopies();
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto bound = std::make_unique<BoundFollowed>();
    char *temporary = hostAddress(binding.scratchpad) +
                      alignedBytes(kernel_->scratchpadBytes());
    bound->to = hostAddress(binding.results[0]);
    bound->from =
        reinterpret_cast<float *>(usesScratch_ ? temporary : bound->to);
    bound->rounds = rounds_;
    bound->count = count_;
    bound->steps = steps_;
    for (Step &step : bound->steps)
      if (hasOperand(step.kind))
        step.values = hostAddress(binding.operands[step.operand]);
    Binding inner = binding;
    inner.operands.resize(own_);
    if (usesScratch_)
      inner.results = {DevicePointer(temporary)};
    bound->kernel = kernel_->bind(inner);
    return bound;
  }

private:
  size_t resultBytes() const {
    return usesScratch_
               ? alignedBytes(static_cast<size_t>(count_) * sizeof(float))
               : 0;
  }

  flatbuffers::FlatBufferBuilder table_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Step> steps_;
  size_t own_ = 0; ///< Operands of the kernel without followers.
  int64_t count_ = 0;
  bool rounds_ = false;      ///< The result is bf16.
  bool usesScratch_ = false; ///< The kernel writes into the scratchpad.
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeFollowedKernel(const fb::Kernel &kernel,
                            const std::vector<bool> &constant) {
  return items(kernel.followers()).size() != 0
             ? std::make_unique<FollowedKernel>(kernel, constant)
             : nullptr;
}
