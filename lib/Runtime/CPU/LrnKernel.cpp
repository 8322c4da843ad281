//===- LrnKernel.cpp - Local response norms with channels last ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "CPU/CPUKernels.h"
#include "CPU/LrnLoops.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

namespace {
/// `pixels` are those of all images; `squares` is where the scratchpad begins.
class BoundLrn final : public BoundKernel {
public:
  BoundLrn(const LrnLoops &loops, const LrnPixels &pixels, size_t parts,
           size_t floatsOfPart)
      : loops_(loops), all_(pixels), parts_(parts), space_(floatsOfPart) {}

  void enqueue(Stream &) override {
    forEachPart(parts_, [&](size_t part) {
      auto at = static_cast<int64_t>(part);
      auto count = static_cast<int64_t>(parts_);
      int64_t begin = all_.pixels * at / count;
      LrnPixels own = all_;
      own.pixels = all_.pixels * (at + 1) / count - begin;
      own.x += begin * all_.channels;
      own.y += begin * all_.channels;
      own.squares += part * space_;
      loops_.normalize(own);
    });
  }

private:
  const LrnLoops &loops_;
  const LrnPixels all_;
  const size_t parts_, space_;
};

class LrnKernel final : public Kernel {
public:
  LrnKernel(const LrnLoops &loops, const LrnPixels &pixels, size_t threads)
      : loops_(loops), pixels_(pixels) {
    // Parts of less than a few microseconds are not worth waking threads up.
    constexpr int64_t leastFloats = int64_t{1} << 14;
    parts_ = static_cast<size_t>(
        std::clamp<int64_t>(pixels.pixels * pixels.channels / leastFloats, 1,
                            static_cast<int64_t>(threads)));
    implementation_ = "soap:lrn";
  }

  size_t scratchpadBytes() const override { return parts_ * bytesOfPart(); }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    LrnPixels bound = pixels_;
    bound.x = reinterpret_cast<const float *>(hostAddress(binding.operands[0]));
    bound.y = reinterpret_cast<float *>(hostAddress(binding.results[0]));
    bound.squares = reinterpret_cast<float *>(hostAddress(binding.scratchpad));
    return std::make_unique<BoundLrn>(loops_, bound, parts_,
                                      bytesOfPart() / sizeof(float));
  }

private:
  size_t bytesOfPart() const {
    return alignedBytes(
        static_cast<size_t>(pixels_.channels + pixels_.size - 1) *
        sizeof(float));
  }

  const LrnLoops &loops_;
  const LrnPixels pixels_;
  size_t parts_ = 1;
};
} // namespace

static const LrnLoops *lrnLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return forVectors<const LrnLoops *>(&lrnAVX512, &lrnAVX2, nullptr);
#else
  return nullptr;
#endif
}

std::unique_ptr<Kernel> runtime::makeLrnKernel(const fb::Kernel &kernel) {
  const LrnLoops *loops = lrnLoops();
  const fb::Lrn *op = kernel.op_as_Lrn();
  if (!loops || !op || items(kernel.operands()).size() != 1 ||
      op->beta() != 0.75f || op->size() < 1 || op->size() % 2 == 0 ||
      op->size() > 1 << 10)
    return nullptr;
  Shape shape = toVector(kernel.operands()->Get(0)->shape());
  for (const auto *type : {kernel.operands()->Get(0), kernel.results()->Get(0)})
    if (type->element() != fb::ElementType::F32 ||
        type->order() != fb::ElementOrder::ChannelsLast ||
        toVector(type->shape()) != shape)
      return nullptr;
  LrnPixels pixels{elementCount(shape) / shape[1],
                   shape[1],
                   op->size(),
                   op->alpha(),
                   op->bias(),
                   nullptr,
                   nullptr,
                   nullptr};
  return std::make_unique<LrnKernel>(*loops, pixels, threadCount());
}
