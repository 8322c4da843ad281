//===- PoolKernel.cpp - Pools with channels last --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/PoolKernel.h"
#include "Backend/HostMemory.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Which pools
//===----------------------------------------------------------------------===//

/// The windows along a dim of `size` elements; nothing if one of them is empty,
/// or very large.
static std::optional<PoolShape::Windows>
windowsOf(const fb::Pool &op, uint32_t dim, int64_t size, int64_t results) {
  constexpr int64_t most = 1 << 10; // Larger ones would take long to list.
  if (op.kernel()->Get(dim) > most)
    return std::nullopt;
  PoolShape::Windows windows(static_cast<size_t>(results));
  for (int64_t i = 0; i != results; ++i) {
    auto &window = windows[static_cast<size_t>(i)];
    for (int64_t k = 0; k != op.kernel()->Get(dim); ++k) {
      int64_t at = i * op.strides()->Get(dim) + k * op.dilations()->Get(dim) -
                   op.pads_lo()->Get(dim);
      if (at >= 0 && at < size)
        window.push_back(at);
    }
    if (window.empty())
      return std::nullopt;
  }
  return windows;
}

std::optional<PoolShape> runtime::poolShape(const fb::Kernel &kernel) {
  const fb::Pool *op = kernel.op_as_Pool();
  if (!op || items(kernel.operands()).size() != 1)
    return std::nullopt;
  const fb::TensorType &source = *kernel.operands()->Get(0);
  const fb::TensorType &result = *kernel.results()->Get(0);
  Shape x = toVector(source.shape()), y = toVector(result.shape());
  if (source.element() != fb::ElementType::F32 &&
      source.element() != fb::ElementType::BF16)
    return std::nullopt;
  for (const fb::TensorType *type : {&source, &result})
    if (type->element() != source.element() ||
        type->order() != fb::ElementOrder::ChannelsLast)
      return std::nullopt;
  for (const auto *list :
       {op->kernel(), op->strides(), op->dilations(), op->pads_lo()})
    if (items(list).size() != 2)
      return std::nullopt;
  if (x.size() != 4 || y.size() != 4 || x[0] != y[0] || x[1] != y[1] ||
      !elementCount(x) || !elementCount(y))
    return std::nullopt;
  auto rows = windowsOf(*op, 0, x[2], y[2]);
  auto columns = windowsOf(*op, 1, x[3], y[3]);
  if (!rows || !columns)
    return std::nullopt;
  PoolShape shape{
      x[0], x[1], x[2], x[3], std::move(*rows), std::move(*columns)};
  shape.isMaximum = op->kind() == fb::PoolKind::Max;
  shape.isBFloat = source.element() == fb::ElementType::BF16;
  if (op->count_include_pad())
    shape.divisor =
        static_cast<float>(op->kernel()->Get(0) * op->kernel()->Get(1));
  return shape;
}

const PoolLoops *runtime::poolLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return forVectors<const PoolLoops *>(&poolAVX512, &poolAVX2, nullptr);
#else
  return nullptr;
#endif
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {
/// What all launches of a kernel share.
class Pool {
public:
  Pool(PoolShape shape, const PoolLoops &loops, size_t threads)
      : shape_(std::move(shape)), loops_(loops) {
    // Parts of less than a few microseconds are not worth waking threads up.
    constexpr int64_t leastFloats = int64_t{1} << 14;
    int64_t floats =
        lines() * shape_.channels * static_cast<int64_t>(shape_.columns.size());
    parts_ =
        std::clamp<int64_t>(floats / leastFloats, 1,
                            std::min(lines(), static_cast<int64_t>(threads)));
  }

  void run(const char *source, char *result) const {
    if (shape_.isBFloat)
      runOf(reinterpret_cast<const uint16_t *>(source),
            reinterpret_cast<uint16_t *>(result));
    else
      runOf(reinterpret_cast<const float *>(source),
            reinterpret_cast<float *>(result));
  }

private:
  template <typename Element>
  void runOf(const Element *source, Element *result) const {
    forEachOf(lines(), parts_,
              [&](int64_t line) { runLine(source, result, line); });
  }

  /// Of the results of all images.
  int64_t lines() const {
    return shape_.images * static_cast<int64_t>(shape_.rows.size());
  }

  template <typename Element>
  void runLine(const Element *source, Element *result, int64_t line) const {
    auto down = static_cast<int64_t>(shape_.rows.size()),
         across = static_cast<int64_t>(shape_.columns.size());
    const PoolFunctions<Element> &loops = loops_.of<Element>();
    const Element *image =
        source + line / down * shape_.height * shape_.width * shape_.channels;
    const std::vector<int64_t> &rows =
        shape_.rows[static_cast<size_t>(line % down)];
    Element *to = result + line * across * shape_.channels;
    std::vector<const Element *> pixels;
    for (const std::vector<int64_t> &columns : shape_.columns) {
      pixels.clear();
      for (int64_t row : rows)
        for (int64_t column : columns)
          pixels.push_back(image +
                           (row * shape_.width + column) * shape_.channels);
      auto count = static_cast<int64_t>(pixels.size());
      if (shape_.isMaximum)
        loops.maximum(pixels.data(), count, shape_.channels, to);
      else
        loops.average(pixels.data(), count, shape_.channels,
                      shape_.divisor > 0 ? shape_.divisor
                                         : static_cast<float>(count),
                      to);
      to += shape_.channels;
    }
  }

  const PoolShape shape_;
  const PoolLoops &loops_;
  int64_t parts_ = 1;
};

class BoundPool final : public BoundKernel {
public:
  BoundPool(std::shared_ptr<const Pool> pool, const Binding &binding)
      : pool_(std::move(pool)), source_(hostAddress(binding.operands[0])),
        result_(hostAddress(binding.results[0])) {}
  void enqueue(Stream &) override { pool_->run(source_, result_); }

private:
  std::shared_ptr<const Pool> pool_;
  const char *source_;
  char *result_;
};

class PoolKernel final : public Kernel {
public:
  explicit PoolKernel(std::shared_ptr<const Pool> pool)
      : pool_(std::move(pool)) {
    implementation_ = "soap:pool";
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundPool>(pool_, binding);
  }

private:
  std::shared_ptr<const Pool> pool_;
};
} // namespace

std::unique_ptr<Kernel> runtime::makePoolKernel(PoolShape shape,
                                                const PoolLoops &loops,
                                                size_t threads) {
  return std::make_unique<PoolKernel>(
      std::make_shared<Pool>(std::move(shape), loops, threads));
}

std::unique_ptr<Kernel> runtime::makePoolKernel(const fb::Kernel &kernel) {
  const PoolLoops *loops = poolLoops();
  std::optional<PoolShape> shape = loops ? poolShape(kernel) : std::nullopt;
  return shape ? makePoolKernel(std::move(*shape), *loops, threadCount())
               : nullptr;
}
