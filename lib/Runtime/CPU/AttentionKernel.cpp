//===- AttentionKernel.cpp - Attention as one kernel ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/AttentionKernel.h"
#include "Backend/HostMemory.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Which attentions
//===----------------------------------------------------------------------===//

/// Strides of a mask that broadcasts to `scores`; nothing if it does not.
static std::optional<Shape> maskStrides(const Shape &mask,
                                        const Shape &scores) {
  if (mask.size() > scores.size())
    return std::nullopt;
  Shape strides(scores.size(), 0);
  int64_t stride = 1;
  for (size_t i = 1; i <= mask.size(); ++i) {
    int64_t size = mask[mask.size() - i];
    if (size != 1 && size != scores[scores.size() - i])
      return std::nullopt;
    if (size != 1)
      strides[scores.size() - i] = stride;
    stride *= size;
  }
  return strides;
}

std::optional<AttentionShape>
runtime::attentionShape(const fb::Kernel &kernel) {
  const fb::Attention *op = kernel.op_as_Attention();
  auto operands = items(kernel.operands());
  if (!op || (operands.size() != 3 && operands.size() != 4) ||
      items(kernel.results()).size() != 1)
    return std::nullopt;
  Shape query = toVector(operands[0]->shape());
  Shape keys = toVector(operands[1]->shape());
  Shape values = toVector(operands[2]->shape());
  if (query.size() < 2 || keys.size() != query.size() ||
      values.size() != query.size())
    return std::nullopt;
  auto isF32 = [](const fb::TensorType &type) {
    return type.element() == fb::ElementType::F32 &&
           type.order() == fb::ElementOrder::RowMajor;
  };
  for (size_t i = 0; i != 3; ++i)
    if (!isF32(*operands[i]))
      return std::nullopt;
  AttentionShape shape;
  shape.batch.assign(query.begin(), query.end() - 2);
  shape.rows = query[query.size() - 2];
  shape.depth = query.back();
  shape.steps = values[values.size() - 2];
  shape.features = values.back();
  shape.transposedKeys = op->transposed_keys();
  shape.scale = op->scale();
  auto with = [&](int64_t a, int64_t b) {
    Shape all = shape.batch;
    all.push_back(a);
    all.push_back(b);
    return all;
  };
  const fb::TensorType &result = *kernel.results()->Get(0);
  if (keys != (shape.transposedKeys ? with(shape.depth, shape.steps)
                                    : with(shape.steps, shape.depth)) ||
      values != with(shape.steps, shape.features) ||
      toVector(result.shape()) != with(shape.rows, shape.features) ||
      !isF32(result) || shape.steps < 1 || shape.depth < 1)
    return std::nullopt;
  if (operands.size() == 3)
    return shape;
  shape.isMaskAdded = isF32(*operands[3]);
  if (!shape.isMaskAdded && operands[3]->element() != fb::ElementType::Bool)
    return std::nullopt;
  shape.hides = op->hides() ? 1 : 0;
  shape.fill = op->fill();
  auto strides = maskStrides(toVector(operands[3]->shape()),
                             with(shape.rows, shape.steps));
  if (!strides)
    return std::nullopt;
  shape.maskStrides = std::move(*strides);
  return shape;
}

const AttentionLoops &runtime::attentionLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return *forVectors<const AttentionLoops *>(&attentionAVX512, &attentionAVX2,
                                             &attentionAny);
#else
  return attentionAny;
#endif
}

const AttentionLoops *runtime::narrowAttentionLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return hasTiles() ? &attentionAMX : nullptr;
#else
  return nullptr;
#endif
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {
/// Where the tensors of a launch are.
struct Tensors {
  const float *query, *keys, *values;
  const char *mask;
  float *result;
  char *scratchpad;
};

/// What all launches of a kernel share.
class Attention {
public:
  Attention(AttentionShape shape, const AttentionLoops &loops, size_t threads)
      : shape_(std::move(shape)), loops_(loops) {
    // Parts of less than a few microseconds are not worth waking threads up.
    constexpr double leastWork = 1 << 18;
    double work = static_cast<double>(shape_.attentions()) *
                  static_cast<double>(shape_.rows) *
                  static_cast<double>(shape_.steps) *
                  static_cast<double>(shape_.depth + shape_.features);
    parts_ = static_cast<size_t>(
        std::clamp(work / leastWork, 1.0,
                   static_cast<double>(
                       std::min(blocks(), static_cast<int64_t>(threads)))));
  }

  size_t scratchpadBytes() const { return parts_ * partBytes(); }
  bool isNarrow() const { return &loops_ == narrowAttentionLoops(); }

  void run(const Tensors &tensors) const {
    forEachPart(parts_, [&](size_t part) { runPart(tensors, part); });
  }

private:
  int64_t blocksPerAttention() const {
    return divideUp(shape_.rows, loops_.rows);
  }
  int64_t blocks() const {
    return std::max<int64_t>(1, shape_.attentions() * blocksPerAttention());
  }
  /// As few rows as packing takes longer than them are computed without it.
  KeyOrder order() const {
    constexpr int64_t fewRows = 8;
    if (shape_.rows > fewRows || loops_.packsAlways)
      return KeyOrder::Packed;
    return shape_.transposedKeys ? KeyOrder::Depth : KeyOrder::Steps;
  }
  // A part of the scratchpad: packed keys, packed values, and the loops'.
  size_t keyBytes() const {
    return order() == KeyOrder::Packed
               ? whole(loops_.keyBytes(shape_.steps, shape_.depth))
               : 0;
  }
  size_t valueBytes() const {
    return whole(loops_.valueBytes(shape_.steps, shape_.features));
  }
  size_t partBytes() const {
    return keyBytes() + valueBytes() +
           whole(loops_.scratchBytes(shape_.depth, shape_.features));
  }
  static size_t whole(int64_t bytes) {
    return alignedBytes(static_cast<size_t>(bytes));
  }

  /// Where the mask of one attention begins, in elements.
  int64_t maskOffset(int64_t attention) const {
    int64_t offset = 0;
    for (size_t d = shape_.batch.size(); d-- > 0;) {
      offset += attention % shape_.batch[d] * shape_.maskStrides[d];
      attention /= shape_.batch[d];
    }
    return offset;
  }

  AttentionMask maskOf(const char *mask, int64_t attention, int64_t row) const {
    AttentionMask result;
    if (shape_.maskStrides.empty())
      return result;
    size_t rank = shape_.maskStrides.size();
    result.rowStride = shape_.maskStrides[rank - 2];
    result.stepStride = shape_.maskStrides[rank - 1];
    int64_t first =
        maskOffset(SOAP_FAULT("mask-of-first-head") ? 0 : attention);
    if (!SOAP_FAULT("mask-of-first-rows"))
      first += row * result.rowStride;
    if (shape_.isMaskAdded)
      result.added = reinterpret_cast<const float *>(mask) + first;
    else
      result.hidden = reinterpret_cast<const uint8_t *>(mask) + first;
    result.hides = shape_.hides;
    result.fill = shape_.fill;
    return result;
  }

  void runPart(const Tensors &tensors, size_t part) const {
    char *scratchpad = tensors.scratchpad + part * partBytes();
    char *keys = scratchpad, *values = scratchpad + keyBytes();
    AttentionBlock block = {};
    block.steps = shape_.steps;
    block.depth = shape_.depth;
    block.features = shape_.features;
    block.scale = shape_.scale;
    block.order = order();
    block.scratch = values + valueBytes();
    auto number = static_cast<int64_t>(part),
         parts = static_cast<int64_t>(parts_);
    int64_t packed = -1;
    for (int64_t unit = blocks() * number / parts;
         unit != blocks() * (number + 1) / parts; ++unit) {
      int64_t attention = unit / blocksPerAttention();
      int64_t row = unit % blocksPerAttention() * loops_.rows;
      if (attention != packed) {
        const float *from =
            tensors.keys + attention * shape_.steps * shape_.depth;
        block.keys = from;
        if (block.order == KeyOrder::Packed) {
          loops_.packKeys(from, shape_.steps, shape_.depth,
                          shape_.transposedKeys, keys);
          block.keys = keys;
        }
        from = tensors.values + attention * shape_.steps * shape_.features;
        block.values = from;
        if (valueBytes() != 0) {
          loops_.packValues(from, shape_.steps, shape_.features, values);
          block.values = values;
        }
        packed = attention;
      }
      int64_t first = attention * shape_.rows + row;
      block.query = tensors.query + first * shape_.depth;
      block.result = tensors.result + first * shape_.features;
      block.rows = std::min(loops_.rows, shape_.rows - row);
      block.mask = maskOf(tensors.mask, attention, row);
      loops_.attend(block);
    }
  }

  const AttentionShape shape_;
  const AttentionLoops &loops_;
  size_t parts_ = 1;
};

class BoundAttention final : public BoundKernel {
public:
  BoundAttention(std::shared_ptr<const Attention> attention,
                 const Binding &binding)
      : attention_(std::move(attention)) {
    auto floats = [](DevicePointer address) {
      return reinterpret_cast<float *>(hostAddress(address));
    };
    tensors_ = {floats(binding.operands[0]),
                floats(binding.operands[1]),
                floats(binding.operands[2]),
                binding.operands.size() > 3 ? hostAddress(binding.operands[3])
                                            : nullptr,
                floats(binding.results[0]),
                hostAddress(binding.scratchpad)};
  }
  void enqueue(Stream &) override { attention_->run(tensors_); }

private:
  std::shared_ptr<const Attention> attention_;
  Tensors tensors_;
};

class AttentionKernel final : public Kernel {
public:
  explicit AttentionKernel(std::shared_ptr<const Attention> attention)
      : attention_(std::move(attention)) {
    implementation_ =
        attention_->isNarrow() ? "soap:attention:amx" : "soap:attention";
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundAttention>(attention_, binding);
  }
  size_t scratchpadBytes() const override {
    return attention_->scratchpadBytes();
  }

private:
  std::shared_ptr<const Attention> attention_;
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeAttentionKernel(AttentionShape shape, const AttentionLoops &loops,
                             size_t threads) {
  return std::make_unique<AttentionKernel>(
      std::make_shared<Attention>(std::move(shape), loops, threads));
}

std::unique_ptr<Kernel> runtime::makeAttentionKernel(const fb::Kernel &kernel) {
  std::optional<AttentionShape> shape = attentionShape(kernel);
  if (!shape)
    return nullptr;
  // However few rows there are, so that strategies agree.
  const AttentionLoops *loops =
      kernel.op_as_Attention()->bf16() ? narrowAttentionLoops() : nullptr;
  return makeAttentionKernel(std::move(*shape),
                             loops ? *loops : attentionLoops(), threadCount());
}
