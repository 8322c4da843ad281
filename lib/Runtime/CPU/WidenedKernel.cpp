//===- WidenedKernel.cpp - Products of 16-bit floats, in f32 --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN 2.6 multiplies bf16 on processors with AVX-512 alone, and f16 on none.
// Elsewhere operands are widened to f32, which is exact, and so are products of
// two of them: the result is what a processor with such instructions makes, but
// for the order in which it sums. A result of bf16 is rounded behind the
// kernel.
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/NarrowFloats.h"
#include "CPU/Threads.h"
#include <algorithm>
#include <cstdlib>

using namespace soap;
using namespace soap::runtime;

namespace {
/// Bytes of so many wide elements.
size_t wideBytes(size_t count) {
  return alignedBytes(std::max(count, size_t{1}) * sizeof(float));
}

/// Calls `body` of parts of `count` elements, by their begin and their number.
template <typename Body>
void forEachPartOf(size_t count, const Body &body) {
  constexpr size_t leastElements = size_t{1} << 15;
  size_t parts = std::clamp<size_t>(count / leastElements, 1, threadCount());
  forEachPart(parts, [&](size_t part) {
    size_t begin = count * part / parts;
    body(begin, count * (part + 1) / parts - begin);
  });
}

/// An operand that is widened.
struct Widening {
  size_t operand = 0, count = 0;
  fb::ElementType element = fb::ElementType::BF16;
  bool isConstant = false;
  bool isPlace = false; ///< The wide kernel adds to it, in the result's place.

  size_t bytes() const { return wideBytes(count); }
  void run(const char *from, char *to) const {
    forEachPartOf(count, [&](size_t begin, size_t size) {
      widenFloats(element, reinterpret_cast<const uint16_t *>(from) + begin,
                  reinterpret_cast<float *>(to) + begin, size);
    });
  }
};

class BoundWidened final : public BoundKernel {
public:
  void enqueue(Stream &stream) override {
    for (const auto &[widening, from, to] : steps)
      widening.run(from, to);
    kernel->enqueue(stream);
    if (narrowResult)
      forEachPartOf(count, [&](size_t begin, size_t size) {
        roundToBFloats(wideResult + begin, narrowResult + begin, size);
      });
  }

  struct Step {
    Widening widening;
    const char *from;
    char *to;
  };
  std::vector<Step> steps;
  std::vector<std::shared_ptr<void>> constants;
  std::unique_ptr<BoundKernel> kernel;
  const float *wideResult = nullptr;
  uint16_t *narrowResult = nullptr; ///< Null: the kernel writes the result.
  size_t count = 0;                 ///< Of its elements.
};

class WidenedKernel final : public Kernel {
public:
  WidenedKernel(const fb::Kernel &kernel, const std::vector<bool> &constant) {
    std::unique_ptr<fb::KernelT> wide(kernel.UnPack());
    for (auto [i, type] : enumerateOperands(*wide)) {
      if (!isNarrow(type->element))
        continue;
      int64_t count = elementCount(type->shape);
      widenings_.push_back({i, static_cast<size_t>(count), type->element,
                            i < constant.size() && constant[i],
                            isPlace(*wide, i)});
      type->element = fb::ElementType::F32;
    }
    fb::TensorTypeT &result = *wide->results.at(0);
    if (isNarrow(result.element)) {
      rounded_ = static_cast<size_t>(elementCount(result.shape));
      result.element = fb::ElementType::F32;
    }
    table_.Finish(fb::Kernel::Pack(table_, wide.get()));
    kernel_ = makeCPUKernel(
        *flatbuffers::GetRoot<fb::Kernel>(table_.GetBufferPointer()), constant,
        {});
    implementation_ = kernel_->implementation() + ", widened";
  }

  size_t scratchpadBytes() const override {
    size_t bytes = alignedBytes(kernel_->scratchpadBytes());
    for (const Widening &widening : widenings_)
      if (!widening.isConstant && !widening.isPlace)
        bytes += widening.bytes();
    return bytes + (rounded_ ? wideBytes(*rounded_) : 0);
  }

  /// A constant is kept as the wide kernel reads it: widened, in its layout.
  std::vector<ConstantCopy> constantCopies() const override {
    std::vector<ConstantCopy> copies = kernel_->constantCopies();
    for (const Widening &widening : widenings_) {
      if (!widening.isConstant)
        continue;
      if (ConstantCopy *copy = findCopy(copies, widening.operand))
        copy->layout = prefix + copy->layout;
      else
        copies.push_back({widening.operand, prefix, widening.bytes()});
    }
    return copies;
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto bound = std::make_unique<BoundWidened>();
    Binding inner = binding;
    // Those of the wide kernel.
    auto layouts = ConstantCache::beside(*binding.constants);
    inner.constants = &layouts;
    char *temporary = hostAddress(binding.scratchpad) +
                      alignedBytes(kernel_->scratchpadBytes());
    if (rounded_) {
      bound->narrowResult =
          reinterpret_cast<uint16_t *>(hostAddress(binding.results[0]));
      bound->wideResult = reinterpret_cast<const float *>(temporary);
      bound->count = *rounded_;
      inner.results[0] = DevicePointer(temporary);
      temporary += wideBytes(*rounded_);
    }
    std::vector<std::shared_ptr<void>> wide;
    std::vector<ConstantCopy> copies = kernel_->constantCopies();
    for (const Widening &widening : widenings_) {
      DevicePointer from = binding.operands[widening.operand];
      if (widening.isPlace) {
        bound->steps.push_back(
            {widening, hostAddress(from), hostAddress(inner.results[0])});
        inner.operands[widening.operand] = inner.results[0];
        continue;
      }
      if (!widening.isConstant) {
        bound->steps.push_back({widening, hostAddress(from), temporary});
        inner.operands[widening.operand] = DevicePointer(temporary);
        temporary += widening.bytes();
        continue;
      }
      const ConstantCopy *copy = findCopy(copies, widening.operand);
      std::string id = copy ? prefix + copy->layout : prefix;
      if (auto known = binding.constants->find(from, id)) {
        bound->constants.push_back(known);
        if (copy)
          layouts.add(from, copy->layout, known, copy->bytes);
        else
          inner.operands[widening.operand] = DevicePointer(known.get());
        continue;
      }
      std::shared_ptr<void> made = widened(widening, hostAddress(from));
      inner.operands[widening.operand] = DevicePointer(made.get());
      wide.push_back(made);
      if (!copy) {
        binding.constants->add(from, id, made, widening.bytes());
        bound->constants.push_back(made);
      }
    }
    bound->kernel = kernel_->bind(inner);
    for (const ConstantCopy &copy : copies)
      keep(copy, binding, inner, layouts);
    return bound;
  }

private:
  static constexpr const char *prefix = "f32:";

  /// Whether a follower overwrites operand `number` of `kernel`.
  static bool isPlace(const fb::KernelT &kernel, size_t number) {
    return std::any_of(kernel.followers.begin(), kernel.followers.end(),
                       [&](const auto &follower) {
                         return follower->in_place &&
                                follower->operand == number;
                       });
  }

  static std::vector<std::pair<size_t, fb::TensorTypeT *>>
  enumerateOperands(const fb::KernelT &kernel) {
    std::vector<std::pair<size_t, fb::TensorTypeT *>> operands;
    for (const auto &type : kernel.operands)
      operands.emplace_back(operands.size(), type.get());
    return operands;
  }

  template <typename Copies>
  static auto findCopy(Copies &copies, size_t operand) -> decltype(&copies[0]) {
    for (auto &copy : copies)
      if (copy.operand == operand)
        return &copy;
    return nullptr;
  }

  static std::shared_ptr<void> widened(const Widening &widening,
                                       const char *from) {
    std::shared_ptr<void> copy(std::aligned_alloc(64, widening.bytes()),
                               std::free);
    if (!copy)
      invalid(
          "expected ", widening.bytes(),
          " bytes for a widened parameter, got: no memory; use more devices "
          "or a smaller batch");
    widening.run(from, static_cast<char *>(copy.get()));
    return copy;
  }

  /// Shares what the wide kernel made of a constant with other launches.
  void keep(const ConstantCopy &copy, const Binding &binding,
            const Binding &inner, const ConstantCache &layouts) const {
    bool isWidened = std::any_of(
        widenings_.begin(), widenings_.end(), [&](const Widening &widening) {
          return widening.operand == copy.operand && widening.isConstant;
        });
    std::string id = isWidened ? prefix + copy.layout : copy.layout;
    DevicePointer address = binding.operands[copy.operand];
    auto made = layouts.find(inner.operands[copy.operand], copy.layout);
    if (made && !binding.constants->find(address, id))
      binding.constants->add(address, id, made, copy.bytes);
  }

  flatbuffers::FlatBufferBuilder table_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Widening> widenings_;
  std::optional<size_t> rounded_; ///< Elements of a result of bf16.
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeWidenedKernel(const fb::Kernel &kernel,
                           const std::vector<bool> &constant) {
  bool anyNarrow = false;
  for (const auto *type : items(kernel.operands()))
    anyNarrow |= isNarrow(type->element());
  for (const auto *type : items(kernel.results()))
    if (type->element() == fb::ElementType::F16)
      return nullptr;
  return anyNarrow ? std::make_unique<WidenedKernel>(kernel, constant)
                   : nullptr;
}
