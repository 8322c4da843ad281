//===- StridedKernel.cpp - Convolutions with strides ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/StridedKernel.h"
#include "CPU/ChannelsLastKernel.h"
#include "CPU/PointwiseKernel.h"
#include "CPU/Threads.h"
#include "Followers.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Which convolutions
//===----------------------------------------------------------------------===//

/// Whether strides and gaps are those of a shape, and all windows lie within
/// the source and its pads, of which those to the left are narrower than a
/// window.
static bool hasWindows(const fb::Conv &op, const Shape &x, const Shape &w,
                       const Shape &y) {
  for (const auto *list :
       {op.strides(), op.dilations(), op.pads_lo(), op.pads_hi()})
    if (items(list).size() != 2)
      return false;
  for (uint32_t d = 0; d != 2; ++d) {
    int64_t stride = op.strides()->Get(d), dilation = op.dilations()->Get(d),
            low = op.pads_lo()->Get(d), high = op.pads_hi()->Get(d),
            window = w[2 + d];
    if (stride < 1 || dilation < 1 || low < 0 || high < 0 ||
        (y[2 + d] - 1) * stride + (window - 1) * dilation + 1 >
            x[2 + d] + low + high)
      return false;
  }
  return op.pads_lo()->Get(1) < w[3] &&
         (w[3] == 1 || op.dilations()->Get(1) == 1);
}

std::optional<StridedShape> runtime::stridedShape(const fb::Kernel &kernel) {
  const fb::Conv *op = kernel.op_as_Conv();
  std::optional<ConvolutionShapes> shapes = convolutionShapes(kernel);
  if (!op || !shapes || shapes->groups != 1)
    return std::nullopt;
  const auto &[groups, x, w, y] = *shapes;
  if (w.size() != 4 || !hasWindows(*op, x, w, y))
    return std::nullopt;
  StridedShape shape;
  shape.images = x[0];
  shape.channels = x[1];
  shape.filters = w[0];
  shape.height = x[2];
  shape.width = x[3];
  shape.resultHeight = y[2];
  shape.resultWidth = y[3];
  shape.windowHeight = w[2];
  shape.windowWidth = w[3];
  shape.strideDown = op->strides()->Get(0);
  shape.strideAcross = op->strides()->Get(1);
  shape.dilationDown = op->dilations()->Get(0);
  shape.padTop = op->pads_lo()->Get(0);
  shape.padLeft = op->pads_lo()->Get(1);
  return shape;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {
class StridedLoop final : public ChannelsLastLoop {
public:
  StridedLoop(const StridedShape &shape, const PointwiseLoops &loops,
              size_t threads)
      : shape_(shape), loops_(loops) {
    // Parts of less than a few microseconds are not worth waking threads up.
    constexpr int64_t leastProducts = int64_t{1} << 18;
    int64_t lines = shape.images * shape.resultHeight;
    int64_t products =
        lines * shape.resultWidth * shape.filters * shape.depth();
    int64_t read =
        (shape.resultWidth - 1) * shape.strideAcross + shape.windowWidth;
    hasPads_ = shape.padLeft > 0 || read > shape.width;
    lineFloats_ = (hasPads_ ? read : shape.width) * shape.channels;
    // What a block reads stays in a second-level cache.
    constexpr int64_t blockFloats = int64_t{1} << 16;
    int64_t most =
        (blockFloats / lineFloats_ - linesOf(1)) / shape.strideDown + 1;
    blocks_ = divideUp(shape.resultHeight, std::max<int64_t>(1, most));
    parts_ = std::clamp<int64_t>(products / leastProducts, 1,
                                 static_cast<int64_t>(threads));
    blocks_ =
        std::clamp(divideUp(parts_, shape.images), blocks_, shape.resultHeight);
    parts_ = std::min(parts_, shape.images * blocks_);
  }

  std::string name() const override { return "soap:strided"; }
  std::string weightsLayout() const override {
    return text(name(), ":", loops_.width, ":", shape_.filters, ":",
                shape_.channels, ":", shape_.windowHeight, ":",
                shape_.windowWidth);
  }
  int64_t weightFloats() const override {
    return loops_.packedFloats(shape_.filters, shape_.depth());
  }
  /// From [filters, channels, window] to [filters, window, channels].
  void packWeights(const float *weights, float *to) const override {
    int64_t window = shape_.windowHeight * shape_.windowWidth;
    loops_.pack({weights, shape_.filters, shape_.channels, shape_.depth(),
                 window, window},
                to);
  }
  int64_t scratchFloats() const override {
    return hasPads_ ? parts_ * partFloats() : 0;
  }

  void run(const ChannelsLastBuffers &buffers) const override {
    int64_t items = shape_.images * blocks_;
    forEachPart(static_cast<size_t>(parts_), [&](size_t part) {
      auto number = static_cast<int64_t>(part);
      float *scratch = buffers.scratch + (hasPads_ ? number * partFloats() : 0);
      for (int64_t i = items * number / parts_;
           i != items * (number + 1) / parts_; ++i)
        runBlock(buffers, i / blocks_, i % blocks_, scratch);
    });
  }

private:
  /// Lines of the source, and of pads, that so many lines of the result read.
  int64_t linesOf(int64_t results) const {
    return (results - 1) * shape_.strideDown +
           (shape_.windowHeight - 1) * shape_.dilationDown + 1;
  }
  /// Of the lines of a block, with pads.
  int64_t partFloats() const {
    return linesOf(divideUp(shape_.resultHeight, blocks_)) * lineFloats_;
  }

  /// The line of the source at which windows of a line of the result begin.
  int64_t topOf(int64_t line) const {
    return line * shape_.strideDown - shape_.padTop;
  }
  /// The first row of such windows that is at `end` or below it.
  int64_t rowsBefore(int64_t line, int64_t end) const {
    int64_t above = std::max<int64_t>(end - topOf(line), 0);
    return std::min(divideUp(above, shape_.dilationDown), shape_.windowHeight);
  }

  /// Copies lines [begin, end) of an image between their pads.
  void copyLines(const float *image, int64_t begin, int64_t end,
                 float *to) const {
    int64_t pad = shape_.padLeft * shape_.channels;
    int64_t floats =
        std::min(lineFloats_ - pad, shape_.width * shape_.channels);
    for (int64_t line = begin; line < end; ++line, to += lineFloats_) {
      const float *from = image + line * shape_.width * shape_.channels;
      std::fill(to, to + pad, 0.0F);
      std::copy(from, from + floats, to + pad);
      std::fill(to + pad + floats, to + lineFloats_, 0.0F);
    }
  }

  /// A block of lines of the result.
  void runBlock(const ChannelsLastBuffers &buffers, int64_t image,
                int64_t block, float *scratch) const {
    int64_t begin = shape_.resultHeight * block / blocks_,
            end = shape_.resultHeight * (block + 1) / blocks_;
    const float *source =
        buffers.source + image * shape_.height * shape_.width * shape_.channels;
    int64_t first = 0; // The line of the image that `source` begins with.
    if (hasPads_) {
      first = std::max<int64_t>(topOf(begin), 0);
      copyLines(source, first,
                std::min(topOf(begin) + linesOf(end - begin), shape_.height),
                scratch);
      source = scratch;
    }
    // Of windows that reach beyond the image, rows that lie in it are summed.
    for (int64_t line = begin, next; line != end; line = next) {
      int64_t from = rowsBefore(line, 0), to = rowsBefore(line, shape_.height);
      if (SOAP_FAULT("strided-rim-shifted"))
        to -= from, from = 0;
      for (next = line + 1; next != end && rowsBefore(next, 0) == from &&
                            rowsBefore(next, shape_.height) == to;)
        ++next;
      PointwiseRun run;
      run.lines = next - line;
      run.rows = shape_.resultWidth;
      run.depth = shape_.rowDepth();
      run.filters = shape_.filters;
      run.pieces = to - from;
      run.pieceStep = shape_.dilationDown * lineFloats_;
      run.packedDepth = shape_.depth();
      run.packedBefore = from * run.depth;
      run.pixelFloats =
          shape_.strideDown * shape_.strideAcross * shape_.channels;
      int64_t top = topOf(line) + from * shape_.dilationDown;
      run.source = source + (run.pieces ? top - first : 0) * lineFloats_;
      run.sourceRow = shape_.strideAcross * shape_.channels;
      run.sourceLine = shape_.strideDown * lineFloats_;
      run.result = buffers.result;
      run.resultRow = shape_.filters;
      run.resultLine = shape_.resultWidth * shape_.filters;
      run.place = (image * shape_.resultHeight + line) * run.resultLine;
      run.channel = 0;
      run.weights = buffers.weights;
      run.followers = buffers.followers;
      loops_.run(run);
    }
  }

  const StridedShape shape_;
  const PointwiseLoops &loops_;
  bool hasPads_ = false;           ///< To the left or the right.
  int64_t lineFloats_ = 0;         ///< Of the source, with these.
  int64_t parts_ = 1, blocks_ = 1; ///< Of the work; of the lines of an image.
};
} // namespace

std::unique_ptr<Kernel> runtime::makeStridedKernel(const fb::Kernel &kernel,
                                                   const StridedShape &shape,
                                                   const PointwiseLoops &loops,
                                                   size_t threads,
                                                   bool constantWeights) {
  return makeChannelsLastKernel(
      kernel, std::make_shared<StridedLoop>(shape, loops, threads),
      constantWeights);
}

/// Whether loops of our own are faster than oneDNN's. With AVX-512 nothing was
/// measured.
static bool isFaster(const StridedShape &shape, bool constantWeights,
                     const PointwiseLoops &loops, size_t threads) {
  // Of windows of few numbers, sums are stored too often; of filters that fill
  // less than half a vector, most products are of zeros.
  constexpr int64_t leastDepth = 256;
  // Weights that change are packed in every run, by one thread.
  constexpr int64_t leastPixels = 512;
  int64_t pixels = shape.images * shape.resultHeight * shape.resultWidth;
  return loops.width == 8 && shape.strideDown * shape.strideAcross > 1 &&
         shape.windowHeight * shape.windowWidth > 1 &&
         shape.depth() >= leastDepth && 2 * shape.filters >= loops.width &&
         (constantWeights ||
          pixels >= leastPixels * static_cast<int64_t>(threads));
}

std::unique_ptr<Kernel>
runtime::makeStridedKernel(const fb::Kernel &kernel,
                           const std::vector<bool> &constant) {
  const PointwiseLoops *loops = pointwiseLoops();
  std::optional<StridedShape> shape =
      loops ? stridedShape(kernel) : std::nullopt;
  bool constantWeights = constant.size() > 1 && constant[1];
  if (!shape || !touchesChannelsLast(kernel) ||
      !isFaster(*shape, constantWeights, *loops, threadCount()))
    return nullptr;
  return makeStridedKernel(kernel, *shape, *loops, threadCount(),
                           constantWeights);
}
