//===- TransposedKernel.cpp - Transposed convolutions ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/TransposedKernel.h"
#include "CPU/ChannelsLastKernel.h"
#include "CPU/PointwiseKernel.h"
#include "CPU/Threads.h"
#include "Followers.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Which convolutions
//===----------------------------------------------------------------------===//

/// Whether windows [w...] of pixels y are all of x, each element once.
static bool areSideBySide(const fb::ConvBackward &op, const Shape &y,
                          const Shape &w, const Shape &x) {
  for (const auto *list : {op.strides(), op.dilations(), op.pads_lo()})
    if (items(list).size() != 2)
      return false;
  for (uint32_t d = 0; d != 2; ++d)
    if (op.strides()->Get(d) != w[2 + d] || op.pads_lo()->Get(d) != 0 ||
        (w[2 + d] > 1 && op.dilations()->Get(d) != 1) ||
        x[2 + d] != y[2 + d] * w[2 + d])
      return false;
  return true;
}

std::optional<TransposedShape>
runtime::transposedShape(const fb::Kernel &kernel) {
  const fb::ConvBackward *op = kernel.op_as_ConvBackward();
  std::optional<ConvolutionShapes> shapes = convolutionShapes(kernel);
  if (!op || !shapes)
    return std::nullopt;
  const auto &[groups, y, w, x] = *shapes;
  if (w.size() != 4 || !areSideBySide(*op, y, w, x))
    return std::nullopt;
  return TransposedShape{y[0], groups, w[0] / groups, w[1],
                         y[2], y[3],   w[2],          w[3]};
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {
class TransposedLoop final : public ChannelsLastLoop {
public:
  TransposedLoop(const TransposedShape &shape, const PointwiseLoops &loops,
                 size_t threads)
      : shape_(shape), loops_(loops) {
    // Parts of less than a few microseconds are not worth waking threads up.
    constexpr int64_t leastProducts = int64_t{1} << 18;
    int64_t lines = shape.images * shape.height;
    int64_t products = lines * shape.width * shape.groups * shape.channels *
                       shape.filters * shape.windowElements();
    parts_ = std::clamp<int64_t>(products / leastProducts, 1,
                                 static_cast<int64_t>(threads));
    // A block of the source stays in a second-level cache for all elements of
    // the window, whose weights are read again for each block.
    constexpr int64_t blockFloats = int64_t{1} << 16;
    int64_t most = blockFloats / (shape.width * shape.channels * shape.groups);
    blocks_ = std::clamp(divideUp(shape.height, std::max<int64_t>(1, most)),
                         std::min(parts_, shape.height), shape.height);
  }

  std::string name() const override { return "soap:transposed"; }
  std::string weightsLayout() const override {
    return text(name(), ":", loops_.width, ":", shape_.groups, ":",
                shape_.filters, ":", shape_.channels, ":",
                shape_.windowElements());
  }
  int64_t weightFloats() const override {
    return shape_.groups * shape_.windowElements() * elementFloats();
  }
  /// From [groups, channels, filters, window] to [groups, window].
  void packWeights(const float *weights, float *to) const override {
    int64_t window = shape_.windowElements(), channel = shape_.filters * window;
    for (int64_t group = 0; group != shape_.groups; ++group)
      for (int64_t element = 0; element != window; ++element) {
        loops_.pack({weights + group * shape_.channels * channel + element,
                     shape_.filters, shape_.channels, window, channel},
                    to);
        to += elementFloats();
      }
  }
  int64_t scratchFloats() const override { return 0; }

  void run(const ChannelsLastBuffers &buffers) const override {
    int64_t items = shape_.images * blocks_ * shape_.groups;
    forEachOf(items, parts_, [&](int64_t i) {
      for (int64_t element = 0; element != shape_.windowElements(); ++element)
        runElement(buffers, i, element);
    });
  }

private:
  /// Of the packed weights of a group.
  int64_t elementFloats() const {
    return loops_.packedFloats(shape_.filters, shape_.channels);
  }

  /// An element of the window, of a group of a block of lines.
  void runElement(const ChannelsLastBuffers &buffers, int64_t item,
                  int64_t element) const {
    int64_t group = item % shape_.groups,
            block = item / shape_.groups % blocks_,
            image = item / shape_.groups / blocks_;
    int64_t begin = shape_.height * block / blocks_,
            end = shape_.height * (block + 1) / blocks_;
    int64_t channels = shape_.groups * shape_.channels,
            filters = shape_.groups * shape_.filters;
    int64_t line = image * shape_.height + begin;
    PointwiseRun run;
    run.lines = end - begin;
    run.rows = shape_.width;
    run.depth = shape_.channels;
    run.filters = shape_.filters;
    run.sourceRow = channels;
    run.sourceLine = shape_.width * channels;
    run.source =
        buffers.source + line * run.sourceLine + group * shape_.channels;
    run.result = buffers.result;
    run.resultRow = shape_.windowWidth * filters;
    int64_t resultLine = shape_.width * run.resultRow;
    run.resultLine = shape_.windowHeight * resultLine;
    run.place = line * run.resultLine +
                element / shape_.windowWidth * resultLine +
                element % shape_.windowWidth * filters;
    run.channel = group * shape_.filters;
    run.weights = buffers.weights +
                  (group * shape_.windowElements() + element) * elementFloats();
    run.followers = buffers.followers;
    loops_.run(run);
  }

  const TransposedShape shape_;
  const PointwiseLoops &loops_;
  int64_t parts_ = 1, blocks_ = 1; ///< Of the work; of the lines of an image.
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeTransposedKernel(const fb::Kernel &kernel,
                              const TransposedShape &shape,
                              const PointwiseLoops &loops, size_t threads) {
  return makeChannelsLastKernel(
      kernel, std::make_shared<TransposedLoop>(shape, loops, threads));
}

std::unique_ptr<Kernel>
runtime::makeTransposedKernel(const fb::Kernel &kernel,
                              const std::vector<bool> &constant) {
  const PointwiseLoops *loops = pointwiseLoops();
  std::optional<TransposedShape> shape =
      loops ? transposedShape(kernel) : std::nullopt;
  // Of filters that fill less than half a vector, most products are of zeros.
  if (!shape || 2 * shape->filters < loops->width || constant.size() < 2 ||
      !constant[1] || !touchesChannelsLast(kernel))
    return nullptr;
  return makeTransposedKernel(kernel, *shape, *loops, threadCount());
}
