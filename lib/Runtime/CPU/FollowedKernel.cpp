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
  bool isWhole = false;
  const float *values = nullptr;

  void run(float *y, int64_t begin, int64_t end) const;
};

float gelu(float x) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); }

float geluTanh(float x) {
  return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

/// Calls y = body(y, operand) for elements [begin, end), of which the first one
/// is at y.
template <typename Body>
void forEach(const Step &step, float *y, int64_t begin, int64_t end,
             const Body &body) {
  if (!step.values) {
    for (int64_t i = begin; i != end; ++i)
      y[i - begin] = body(y[i - begin], 0.0f);
    return;
  }
  if (step.isWhole) {
    for (int64_t i = begin; i != end; ++i)
      y[i - begin] = body(y[i - begin], step.values[i]);
    return;
  }
  for (int64_t i = begin; i != end; ++i)
    y[i - begin] =
        body(y[i - begin], step.values[i / step.divisor % step.count]);
}

void Step::run(float *y, int64_t begin, int64_t end) const {
  switch (kind) {
  case fb::FollowerKind::Relu:
    return forEach(*this, y, begin, end,
                   [](float a, float) { return a < 0 ? 0 : a; });
  case fb::FollowerKind::Clip:
    return forEach(*this, y, begin, end, [&](float a, float) {
      float least = a < alpha ? alpha : a;
      return least > beta ? beta : least;
    });
  case fb::FollowerKind::Gelu:
    return forEach(*this, y, begin, end,
                   [](float a, float) { return gelu(a); });
  case fb::FollowerKind::GeluTanh:
    return forEach(*this, y, begin, end,
                   [](float a, float) { return geluTanh(a); });
  case fb::FollowerKind::Add:
    return forEach(*this, y, begin, end,
                   [](float a, float b) { return a + b; });
  case fb::FollowerKind::Subtract:
    return forEach(*this, y, begin, end,
                   [](float a, float b) { return a - b; });
  case fb::FollowerKind::Multiply:
    return forEach(*this, y, begin, end,
                   [](float a, float b) { return a * b; });
  }
}

class BoundFollowed final : public BoundKernel {
public:
  void enqueue(Stream &stream) override {
    kernel->enqueue(stream);
    constexpr int64_t leastElements = 1 << 14;
    parts_ = std::clamp<int64_t>(count / leastElements, 1,
                                 static_cast<int64_t>(threadCount()));
    runParallel(
        parts_,
        [](void *self, size_t part) {
          const auto &bound = *static_cast<const BoundFollowed *>(self);
          auto at = static_cast<int64_t>(part);
          bound.run(bound.count * at / bound.parts_,
                    bound.count * (at + 1) / bound.parts_);
        },
        this);
  }

  std::unique_ptr<BoundKernel> kernel;
  std::vector<Step> steps;
  float *from = nullptr, *to = nullptr;
  int64_t count = 0;

private:
  void run(int64_t begin, int64_t end) const {
    constexpr int64_t block = 1024; // Stays in the first-level cache.
    for (int64_t at = begin; at < end; at += block) {
      int64_t last = std::min(at + block, end);
      // The result may lie where an operand does.
      for (const Step &step : steps)
        step.run(from + at, at, last);
      if (from != to)
        std::copy(from + at, from + last, to + at);
    }
  }

  int64_t parts_ = 1;
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
        Shape read =
            toVector(kernel.operands()->Get(follower->operand())->shape());
        step.count = elementCount(read);
        step.isWhole = read == shape;
        step.divisor = step.isWhole ? 1 : behind;
      }
      steps_.push_back(step);
      inPlace_ |= follower->in_place();
    }
    std::unique_ptr<fb::KernelT> own(kernel.UnPack());
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
    bound->to = reinterpret_cast<float *>(hostAddress(binding.results[0]));
    bound->from = inPlace_ ? reinterpret_cast<float *>(temporary) : bound->to;
    bound->count = count_;
    bound->steps = steps_;
    for (Step &step : bound->steps)
      if (hasOperand(step.kind))
        step.values = reinterpret_cast<const float *>(
            hostAddress(binding.operands[step.operand]));
    Binding inner = binding;
    inner.operands.resize(own_);
    if (inPlace_)
      inner.results = {DevicePointer(temporary)};
    bound->kernel = kernel_->bind(inner);
    return bound;
  }

private:
  size_t resultBytes() const {
    return inPlace_ ? alignedBytes(static_cast<size_t>(count_) * sizeof(float))
                    : 0;
  }

  flatbuffers::FlatBufferBuilder table_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Step> steps_;
  size_t own_ = 0; ///< Operands of the kernel without followers.
  int64_t count_ = 0;
  bool inPlace_ = false;
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeFollowedKernel(const fb::Kernel &kernel,
                            const std::vector<bool> &constant) {
  return items(kernel.followers()).size() != 0
             ? std::make_unique<FollowedKernel>(kernel, constant)
             : nullptr;
}
