//===- ChannelsLastKernel.cpp - Convolutions with channels last -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/ChannelsLastKernel.h"
#include "Backend/HostMemory.h"
#include "CPU/Reordering.h"
#include "Followers.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Followers
//===----------------------------------------------------------------------===//

static std::optional<VectorFollower::Kind> vectorKind(fb::FollowerKind kind) {
  switch (kind) {
  case fb::FollowerKind::Relu:
    return VectorFollower::Relu;
  case fb::FollowerKind::Clip:
    return VectorFollower::Clip;
  case fb::FollowerKind::Add:
    return VectorFollower::Add;
  case fb::FollowerKind::Subtract:
    return VectorFollower::Subtract;
  case fb::FollowerKind::Multiply:
    return VectorFollower::Multiply;
  case fb::FollowerKind::Gelu:
  case fb::FollowerKind::GeluTanh:
    break;
  }
  return std::nullopt;
}

/// Whether loops apply all followers of a kernel.
static bool hasVectorFollowers(const fb::Kernel &kernel) {
  for (const fb::Follower *follower : items(kernel.followers()))
    if (!vectorKind(follower->kind()))
      return false;
  return true;
}

/// Whether all operands and the result are f32, and `own` operands are not
/// those of followers.
static bool isOfF32(const fb::Kernel &kernel, size_t own) {
  auto isF32 = [](const fb::TensorType *type) {
    return type->element() == fb::ElementType::F32;
  };
  for (const fb::TensorType *operand : items(kernel.operands()))
    if (!isF32(operand))
      return false;
  return items(kernel.operands()).size() == own + followerOperands(kernel) &&
         isF32(kernel.results()->Get(0));
}

std::optional<ConvolutionShapes>
runtime::convolutionShapes(const fb::Kernel &kernel) {
  const fb::Conv *conv = kernel.op_as_Conv();
  const fb::ConvBackward *transposed = kernel.op_as_ConvBackward();
  if (!conv && (!transposed || transposed->of_filter()))
    return std::nullopt;
  bool hasBias = conv ? conv->bias() : transposed->bias();
  if (!isOfF32(kernel, hasBias ? 3 : 2) || !hasVectorFollowers(kernel))
    return std::nullopt;
  auto shapeOf = [&](uint32_t operand) {
    return toVector(kernel.operands()->Get(operand)->shape());
  };
  ConvolutionShapes shapes;
  shapes.groups = conv ? conv->groups() : transposed->groups();
  shapes.source = shapeOf(0);
  shapes.weights = shapeOf(1);
  shapes.result = toVector(kernel.results()->Get(0)->shape());
  const Shape &w = shapes.weights,
              &before = conv ? shapes.source : shapes.result,
              &behind = conv ? shapes.result : shapes.source;
  if (w.size() < 3 || w.size() > 5 || before.size() != w.size() ||
      behind.size() != w.size() || shapes.groups < 1 || w[0] % shapes.groups ||
      before[1] != w[1] * shapes.groups || behind[1] != w[0] ||
      before[0] != behind[0] ||
      (hasBias && shapeOf(2) != Shape{shapes.result[1]}) || !elementCount(w) ||
      !elementCount(before) || !elementCount(behind))
    return std::nullopt;
  return shapes;
}

bool runtime::touchesChannelsLast(const fb::Kernel &kernel) {
  auto isLast = [](const fb::TensorType *type) {
    return type->order() == fb::ElementOrder::ChannelsLast;
  };
  return isLast(kernel.operands()->Get(0)) || isLast(kernel.results()->Get(0));
}

static VectorFollower::Reads readsOf(const fb::Kernel &kernel,
                                     const fb::Follower &follower) {
  if (!hasOperand(follower.kind()))
    return VectorFollower::Nothing;
  Shape shape = toVector(kernel.operands()->Get(follower.operand())->shape());
  if (shape == toVector(kernel.results()->Get(0)->shape()))
    return VectorFollower::Whole;
  return elementCount(shape) == 1 ? VectorFollower::One
                                  : VectorFollower::Channel;
}

static bool hasBias(const fb::Kernel &kernel) {
  const fb::Conv *conv = kernel.op_as_Conv();
  return conv ? conv->bias() : kernel.op_as_ConvBackward()->bias();
}

namespace {
/// A follower, with the number of the operand that it reads, if any.
struct BoundFollower {
  VectorFollower follower;
  size_t operand;
};

class BoundChannelsLast final : public BoundKernel {
public:
  explicit BoundChannelsLast(std::shared_ptr<const ChannelsLastLoop> shared)
      : loop(std::move(shared)) {}

  void enqueue(Stream &) override {
    for (Reordering &reordering : before)
      reordering.run();
    if (changing)
      loop->packWeights(changing, packed);
    if (SOAP_FAULT("winograd-weights-kept"))
      changing = nullptr;
    loop->run(buffers);
    if (after)
      after->run();
  }

  const std::shared_ptr<const ChannelsLastLoop> loop;
  ChannelsLastBuffers buffers;
  std::vector<VectorFollower> steps;
  std::shared_ptr<void> weights; ///< Constant ones, packed.
  /// Weights that are packed in every run, if they are, and where to.
  const float *changing = nullptr;
  float *packed = nullptr;
  std::vector<Reordering> before;
  std::optional<Reordering> after;
};

class ChannelsLastKernel final : public Kernel {
public:
  ChannelsLastKernel(const fb::Kernel &kernel,
                     std::shared_ptr<const ChannelsLastLoop> loop,
                     bool constantWeights)
      : loop_(std::move(loop)), constantWeights_(constantWeights),
        source_(*kernel.operands()->Get(0)), result_(*kernel.results()->Get(0)),
        hasBias_(hasBias(kernel)) {
    implementation_ = loop_->name();
    for (const fb::Follower *follower : items(kernel.followers()))
      steps_.push_back(
          {{*vectorKind(follower->kind()), readsOf(kernel, *follower),
            follower->alpha(), follower->beta(), nullptr},
           follower->operand()});
  }

  size_t scratchpadBytes() const override {
    size_t bytes =
        source_.bytes() + result_.bytes() + bytesOf(loop_->scratchFloats());
    for (const BoundFollower &step : steps_)
      if (isReordered(step))
        bytes += result_.bytes();
    if (!constantWeights_)
      bytes += weightBytes();
    return bytes;
  }

  std::vector<ConstantCopy> constantCopies() const override {
    if (!constantWeights_)
      return {};
    return {{1, loop_->weightsLayout(), weightBytes()}};
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto bound = std::make_unique<BoundChannelsLast>(loop_);
    char *temporary = hostAddress(binding.scratchpad);
    auto take = [&](const ChannelsLastLayouts &layouts) {
      char *place = temporary;
      temporary += layouts.bytes();
      return place;
    };
    ChannelsLastBuffers &buffers = bound->buffers;
    char *source = hostAddress(binding.operands[0]);
    if (source_.differ())
      source = reorder(*bound, source_, source, take(source_));
    char *result = hostAddress(binding.results[0]);
    if (result_.differ()) {
      char *own = result;
      result = take(result_);
      bound->after.emplace(result_.after(result, own));
    }
    for (const BoundFollower &step : steps_) {
      VectorFollower &follower = bound->steps.emplace_back(step.follower);
      if (follower.reads == VectorFollower::Nothing)
        continue;
      char *values = hostAddress(binding.operands[step.operand]);
      if (isReordered(step))
        values = reorder(*bound, result_, values, take(result_));
      follower.values = reinterpret_cast<const float *>(values);
    }
    if (constantWeights_) {
      bound->weights = packed(binding);
      buffers.weights = static_cast<const float *>(bound->weights.get());
    } else {
      bound->changing = weightsOf(binding);
      bound->packed = reinterpret_cast<float *>(temporary);
      buffers.weights = bound->packed;
      temporary += weightBytes();
    }
    buffers.source = reinterpret_cast<const float *>(source);
    buffers.result = reinterpret_cast<float *>(result);
    buffers.scratch = reinterpret_cast<float *>(temporary);
    if (hasBias_)
      buffers.followers.bias =
          reinterpret_cast<const float *>(hostAddress(binding.operands[2]));
    buffers.followers.steps = bound->steps.data();
    buffers.followers.count = static_cast<int64_t>(bound->steps.size());
    return bound;
  }

private:
  static size_t bytesOf(int64_t floats) {
    return alignedBytes(static_cast<size_t>(floats) * sizeof(float));
  }
  size_t weightBytes() const { return bytesOf(loop_->weightFloats()); }
  static const float *weightsOf(const Binding &binding) {
    return reinterpret_cast<const float *>(hostAddress(binding.operands[1]));
  }

  /// What lies as the result does is reordered where the result is.
  bool isReordered(const BoundFollower &step) const {
    return step.follower.reads == VectorFollower::Whole && result_.differ();
  }

  static char *reorder(BoundChannelsLast &bound,
                       const ChannelsLastLayouts &layouts, char *from,
                       char *to) {
    bound.before.push_back(layouts.before(from, to));
    return to;
  }

  std::shared_ptr<void> packed(const Binding &binding) const {
    DevicePointer address = binding.operands[1];
    if (SOAP_FAULT("winograd-weights-stale"))
      address = DevicePointer();
    std::string layout = loop_->weightsLayout();
    if (auto known = binding.constants->find(address, layout))
      return known;
    size_t bytes = weightBytes();
    // All of them are read in every step, so large pages count.
    std::shared_ptr<void> copy = binding.constants->allocate(bytes);
    loop_->packWeights(weightsOf(binding), static_cast<float *>(copy.get()));
    binding.constants->add(address, layout, copy, bytes);
    return copy;
  }

  std::shared_ptr<const ChannelsLastLoop> loop_;
  bool constantWeights_;
  ChannelsLastLayouts source_, result_;
  bool hasBias_;
  std::vector<BoundFollower> steps_;
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeChannelsLastKernel(const fb::Kernel &kernel,
                                std::shared_ptr<const ChannelsLastLoop> loop,
                                bool constantWeights) {
  return std::make_unique<ChannelsLastKernel>(kernel, std::move(loop),
                                              constantWeights);
}
