//===- PointwiseKernel.cpp - Pointwise convolutions -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/PointwiseKernel.h"
#include "CPU/ChannelsLastKernel.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include "Followers.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Which convolutions
//===----------------------------------------------------------------------===//

/// Whether a convolution reads one pixel per result, and none beside the
/// source.
static bool readsPixels(const fb::Conv &op, const Shape &x, const Shape &w,
                        const Shape &y) {
  size_t spatial = x.size() - 2;
  if (items(op.strides()).size() != spatial ||
      items(op.pads_lo()).size() != spatial)
    return false;
  for (size_t d = 0; d != spatial; ++d) {
    int64_t stride = op.strides()->Get(d);
    if (w[2 + d] != 1 || op.pads_lo()->Get(d) != 0 || stride < 1 ||
        (y[2 + d] - 1) * stride >= x[2 + d])
      return false;
  }
  return true;
}

std::optional<PointwiseShape>
runtime::pointwiseShape(const fb::Kernel &kernel) {
  const fb::Conv *op = kernel.op_as_Conv();
  std::optional<ConvolutionShapes> shapes = convolutionShapes(kernel);
  if (!op || !shapes)
    return std::nullopt;
  const auto &[groups, x, w, y] = *shapes;
  if (!readsPixels(*op, x, w, y))
    return std::nullopt;
  PointwiseShape shape;
  shape.groups = groups;
  shape.channels = w[1];
  shape.filters = w[0] / groups;
  if (Shape(x.begin() + 2, x.end()) == Shape(y.begin() + 2, y.end())) {
    // Strides may be anything where there is one result along a dim.
    shape.rows = elementCount(y) / y[1];
    shape.starts = {0};
    return shape;
  }
  shape.rows = y.back();
  shape.step = op->strides()->Get(static_cast<uint32_t>(x.size() - 3));
  // Pixels of the source that runs begin with, dim by dim.
  for (int64_t image = 0; image != y[0]; ++image)
    shape.starts.push_back(image);
  for (size_t d = 2; d != x.size(); ++d) {
    bool isLast = d + 1 == x.size();
    std::vector<int64_t> outer = std::move(shape.starts);
    shape.starts.clear();
    for (int64_t start : outer)
      for (int64_t i = 0; i != (isLast ? 1 : y[d]); ++i)
        shape.starts.push_back(
            start * x[d] +
            i * op->strides()->Get(static_cast<uint32_t>(d - 2)));
  }
  return shape;
}

const PointwiseLoops *runtime::pointwiseLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return forVectors<const PointwiseLoops *>(&pointwiseAVX512, &pointwiseAVX2,
                                            nullptr);
#else
  return nullptr;
#endif
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {
class PointwiseLoop final : public ChannelsLastLoop {
public:
  PointwiseLoop(PointwiseShape shape, const PointwiseLoops &loops,
                size_t threads)
      : shape_(std::move(shape)), loops_(loops) {
    // Parts of less than a few microseconds are not worth waking threads up.
    constexpr int64_t leastProducts = int64_t{1} << 18;
    auto runs = static_cast<int64_t>(shape_.starts.size());
    int64_t products =
        runs * shape_.rows * shape_.groups * shape_.channels * shape_.filters;
    parts_ = std::clamp<int64_t>(products / leastProducts, 1,
                                 static_cast<int64_t>(threads));
    // All groups of a block read the same lines of a cache.
    constexpr int64_t blockRows = 128;
    blocks_ = std::clamp(std::max(divideUp(shape_.rows, blockRows),
                                  divideUp(parts_, runs * shape_.groups)),
                         int64_t{1}, shape_.rows);
  }

  std::string name() const override { return "soap:pointwise"; }
  std::string weightsLayout() const override {
    return text(name(), ":", loops_.width, ":", shape_.groups, ":",
                shape_.filters, ":", shape_.channels);
  }
  int64_t weightFloats() const override {
    return shape_.groups * groupFloats();
  }
  void packWeights(const float *weights, float *to) const override {
    for (int64_t group = 0; group != shape_.groups; ++group)
      loops_.pack({weights + group * shape_.filters * shape_.channels,
                   shape_.filters, shape_.channels, shape_.channels, 1},
                  to + group * groupFloats());
  }
  int64_t scratchFloats() const override { return 0; }

  void run(const ChannelsLastBuffers &buffers) const override {
    auto runs = static_cast<int64_t>(shape_.starts.size());
    int64_t items = runs * blocks_ * shape_.groups;
    forEachOf(items, parts_, [&](int64_t i) { runItem(buffers, i); });
  }

private:
  int64_t groupFloats() const {
    return loops_.packedFloats(shape_.filters, shape_.channels);
  }

  /// A group of a block of a run.
  void runItem(const ChannelsLastBuffers &buffers, int64_t item) const {
    int64_t group = item % shape_.groups,
            block = item / shape_.groups % blocks_,
            number = item / shape_.groups / blocks_;
    int64_t begin = shape_.rows * block / blocks_,
            end = shape_.rows * (block + 1) / blocks_;
    int64_t channels = shape_.groups * shape_.channels,
            filters = shape_.groups * shape_.filters;
    int64_t first =
        shape_.starts[static_cast<size_t>(number)] + begin * shape_.step;
    PointwiseRun run;
    run.rows = end - begin;
    run.depth = shape_.channels;
    run.filters = shape_.filters;
    run.source = buffers.source + first * channels + group * shape_.channels;
    run.sourceRow = shape_.step * channels;
    run.result = buffers.result;
    run.resultRow = filters;
    run.place = (number * shape_.rows + begin) * filters;
    run.channel = group * shape_.filters;
    run.weights = buffers.weights + group * groupFloats();
    run.followers = buffers.followers;
    loops_.run(run);
  }

  const PointwiseShape shape_;
  const PointwiseLoops &loops_;
  int64_t parts_ = 1, blocks_ = 1; ///< Of the work; of a run.
};
} // namespace

std::unique_ptr<Kernel>
runtime::makePointwiseKernel(const fb::Kernel &kernel,
                             const PointwiseShape &shape,
                             const PointwiseLoops &loops, size_t threads) {
  return makeChannelsLastKernel(
      kernel, std::make_shared<PointwiseLoop>(shape, loops, threads));
}

/// Whether a dense convolution has so few pixels, and so many weights, that
/// reading these takes a good part of its time. Loops with AVX-512 fetch them
/// ahead, oneDNN does not.
static bool waitsForWeights(const PointwiseShape &shape,
                            const PointwiseLoops &loops) {
  constexpr int64_t fewPixels = 200, manyWeights = int64_t{256} << 10;
  auto runs = static_cast<int64_t>(shape.starts.size());
  return loops.width == 16 && runs * shape.rows <= fewPixels &&
         shape.channels * shape.filters >= manyWeights;
}

std::unique_ptr<Kernel>
runtime::makePointwiseKernel(const fb::Kernel &kernel,
                             const std::vector<bool> &constant) {
  const PointwiseLoops *loops = pointwiseLoops();
  std::optional<PointwiseShape> shape =
      loops ? pointwiseShape(kernel) : std::nullopt;
  // Of filters that fill less than half a vector, most products are of zeros.
  if (!shape || (shape->groups == 1 && !waitsForWeights(*shape, *loops)) ||
      2 * shape->filters < loops->width || constant.size() < 2 ||
      !constant[1] || !touchesChannelsLast(kernel))
    return nullptr;
  return makePointwiseKernel(kernel, *shape, *loops, threadCount());
}
