//===- ByteVectors.cpp - Products of 8-bit integers by vectors ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "CPU/ByteLoops.h"
#include "CPU/ByteProduct.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

namespace {
/// How a product is cut into blocks of results, whose data are widened to 16
/// bits, channels last, between their pads.
class BytePlan {
public:
  BytePlan(const ByteProduct &product, const ByteLoops &loops, size_t threads)
      : product_(product), loops_(loops) {
    const auto &[planes, lines, columns] = product_.positions;
    isByChannel_ = product_.isByChannel();
    channels_ = isByChannel_ ? product_.filters.size : product_.sum.size;
    channelStep_ = isByChannel_ ? product_.filters.data : product_.sum.data;
    // A row of a window is one piece if its columns have no gaps.
    bool joined =
        !isByChannel_ && (columns.dilation == 1 || columns.window == 1);
    joinedColumns_ = joined ? columns.window : 1;
    pieceCount_ =
        planes.window * lines.window * (columns.window / joinedColumns_);
    depth_ = isByChannel_ ? 1 : joinedColumns_ * channels_;
    chooseBlocks(static_cast<int64_t>(threads));
    for (int64_t i = 0; i != planes.window; ++i)
      for (int64_t j = 0; j != lines.window; ++j)
        for (int64_t k = 0; k != columns.window; k += joinedColumns_)
          pieces_.push_back(i * plane() + j * lines.dilation * line() +
                            k * columns.dilation * channels_);
    for (const ByteLoop &batch : product_.batches)
      if (batch.weights != 0)
        factors_ *= batch.size;
  }

  int64_t parts() const { return parts_; }
  /// Of the widened data of a part; one more pair is read and not used.
  int64_t partElements() const {
    return (product_.positions[0].window * plane() + 2 + 31) / 32 * 32;
  }
  int64_t packedElements() const { return factors_ * factorElements(); }
  std::string weightsLayout() const {
    std::string layout = text("soap:bytes:", loops_.panel, ":", isByChannel_,
                              ":", joinedColumns_);
    auto add = [&](int64_t size, int64_t step) {
      layout += text(":", size, ",", step);
    };
    for (const ByteLoop &batch : product_.batches)
      if (batch.weights != 0)
        add(batch.size, batch.weights);
    for (const BytePosition &position : product_.positions)
      add(position.window, position.weights);
    add(product_.filters.size, product_.filters.weights);
    add(product_.sum.size, product_.sum.weights);
    return layout;
  }

  void pack(const int8_t *weights, int16_t *to) const {
    forEachOf(factors_, std::min(factors_, parts_), [&](int64_t factor) {
      packFactor(weights + batchOf(factor, /*ofWeights=*/true).weights,
                 to + factor * factorElements());
    });
  }

  void run(const uint8_t *data, const int16_t *weights, int32_t *result,
           int16_t *scratch) const {
    forEachPart(static_cast<size_t>(parts_), [&](size_t part) {
      auto number = static_cast<int64_t>(part);
      int16_t *own = scratch + number * partElements();
      for (int64_t i = items() * number / parts_;
           i != items() * (number + 1) / parts_; ++i)
        runItem(i, data, weights, result, own);
    });
  }

private:
  /// Where a batch begins in all three; `size` counts its weights.
  ByteLoop batchOf(int64_t number, bool ofWeights) const {
    ByteLoop at{0, 0, 0, 0};
    int64_t factors = 1;
    for (size_t depth = product_.batches.size(); depth-- != 0;) {
      const ByteLoop &loop = product_.batches[depth];
      if (ofWeights && loop.weights == 0)
        continue;
      int64_t i = number % loop.size;
      number /= loop.size;
      at.data += i * loop.data;
      at.weights += i * loop.weights;
      at.result += i * loop.result;
      if (loop.weights != 0) {
        at.size += i * factors;
        factors *= loop.size;
      }
    }
    return at;
  }

  int64_t pairs() const { return (depth_ + 1) / 2; }
  int64_t factorElements() const {
    return isByChannel_ ? pieceCount_ * channels_
                        : loops_.packedElements(product_.filters.size,
                                                pieceCount_, pairs());
  }

  /// Of the widened data of a block: elements of a line, and of all lines that
  /// one plane of the window has.
  int64_t line() const {
    return product_.positions[2].reach(blockColumns_) * channels_;
  }
  int64_t plane() const {
    return product_.positions[1].reach(blockLines_) * line();
  }
  int64_t lineBlocks() const {
    return divideUp(product_.positions[1].outputs, blockLines_);
  }
  int64_t columnBlocks() const {
    return divideUp(product_.positions[2].outputs, blockColumns_);
  }
  int64_t items() const {
    int64_t count =
        product_.positions[0].outputs * lineBlocks() * columnBlocks();
    for (const ByteLoop &batch : product_.batches)
      count *= batch.size;
    return count;
  }

  /// What a block reads stays in a second-level cache, and every part has one.
  void chooseBlocks(int64_t threads) {
    constexpr int64_t mostElements = int64_t{1} << 16, fewColumns = 16;
    // Parts of less than a few microseconds are not worth waking threads up.
    constexpr double leastProducts = 1 << 18;
    const auto &[planes, lines, columns] = product_.positions;
    int64_t window = planes.window;
    auto fits = [&] { return window * plane() <= mostElements; };
    blockColumns_ = std::max<int64_t>(1, columns.outputs);
    while (!fits() && blockColumns_ > fewColumns)
      blockColumns_ = divideUp(blockColumns_, 2);
    blockLines_ = std::max<int64_t>(1, lines.outputs);
    while (!fits() && blockLines_ > 1)
      blockLines_ = divideUp(blockLines_, 2);
    double most = product_.products() / leastProducts;
    parts_ = std::clamp<int64_t>(most < static_cast<double>(threads)
                                     ? static_cast<int64_t>(most)
                                     : threads,
                                 1, threads);
    while (items() < parts_ && blockLines_ > 1)
      blockLines_ = divideUp(blockLines_, 2);
    while (items() < parts_ && blockColumns_ > 1)
      blockColumns_ = divideUp(blockColumns_, 2);
    parts_ = std::clamp<int64_t>(items(), 1, parts_);
  }

  /// The weights of the pieces in their order; beside them, the elements of a
  /// piece.
  void packFactor(const int8_t *weights, int16_t *to) const {
    const auto &[planes, lines, columns] = product_.positions;
    std::vector<int64_t> elements;
    for (int64_t k = 0; k != joinedColumns_; ++k)
      for (int64_t c = 0; c != (isByChannel_ ? 1 : channels_); ++c)
        elements.push_back(k * columns.weights + c * product_.sum.weights);
    std::vector<int64_t> begins;
    for (int64_t i = 0; i != planes.window; ++i)
      for (int64_t j = 0; j != lines.window; ++j)
        for (int64_t k = 0; k != columns.window; k += joinedColumns_)
          begins.push_back(i * planes.weights + j * lines.weights +
                           k * columns.weights);
    int64_t step = product_.filters.weights, filters = product_.filters.size;
    if (isByChannel_) {
      for (int64_t begin : begins)
        for (int64_t c = 0; c != channels_; ++c)
          *to++ = weights[begin + c * step];
      return;
    }
    int64_t depth = SOAP_FAULT("bytes-odd-lost") ? depth_ - depth_ % 2 : depth_;
    for (int64_t first = 0; first < filters; first += loops_.panel)
      for (int64_t begin : begins)
        for (int64_t pair = 0; pair != pairs(); ++pair)
          for (int64_t filter = first; filter != first + loops_.panel; ++filter)
            for (int64_t i = 2 * pair; i != 2 * pair + 2; ++i)
              *to++ = filter < filters && i < depth
                          ? weights[begin + filter * step +
                                    elements[static_cast<size_t>(i)]]
                          : 0;
  }

  /// Widens `count` pixels of a line from column `begin` on, of which those
  /// outside are 0.
  void widenLine(const uint8_t *line, int64_t begin, int64_t count,
                 int16_t *to) const {
    const BytePosition &columns = product_.positions[2];
    int64_t from = std::clamp<int64_t>(-begin, 0, count),
            end = std::clamp<int64_t>(columns.extent - begin, from, count);
    std::fill(to, to + from * channels_, 0);
    std::fill(to + end * channels_, to + count * channels_, 0);
    const uint8_t *first = line + begin * columns.data;
    if (channelStep_ == 1) {
      for (int64_t i = from; i != end; ++i)
        for (int64_t c = 0; c != channels_; ++c)
          to[i * channels_ + c] = first[i * columns.data + c];
      return;
    }
    for (int64_t c = 0; c != channels_; ++c)
      for (int64_t i = from; i != end; ++i)
        to[i * channels_ + c] = first[i * columns.data + c * channelStep_];
  }

  void runItem(int64_t item, const uint8_t *data, const int16_t *weights,
               int32_t *result, int16_t *scratch) const {
    const auto &[planes, lines, columns] = product_.positions;
    int64_t columnBlock = item % columnBlocks();
    item /= columnBlocks();
    int64_t lineBlock = item % lineBlocks();
    item /= lineBlocks();
    int64_t atPlane = item % planes.outputs;
    ByteLoop batch = batchOf(item / planes.outputs, /*ofWeights=*/false);
    int64_t firstLine = lineBlock * blockLines_,
            firstColumn = columnBlock * blockColumns_;
    ByteProductRun run;
    run.lines = std::min(blockLines_, lines.outputs - firstLine);
    run.rows = std::min(blockColumns_, columns.outputs - firstColumn);
    for (int64_t i = 0; i != planes.window; ++i)
      for (int64_t j = 0; j != lines.reach(run.lines); ++j) {
        int64_t readPlane =
            atPlane * planes.stride + i * planes.dilation - planes.pad;
        int64_t readLine = firstLine * lines.stride + j - lines.pad;
        int16_t *to = scratch + i * plane() + j * line();
        if (readPlane < 0 || readPlane >= planes.extent || readLine < 0 ||
            readLine >= lines.extent)
          std::fill(to, to + line(), 0);
        else
          widenLine(data + batch.data + readPlane * planes.data +
                        readLine * lines.data,
                    firstColumn * columns.stride - columns.pad,
                    columns.reach(run.rows), to);
      }
    run.source = scratch;
    run.sourceRow = columns.stride * channels_;
    run.sourceLine = lines.stride * line();
    run.pieces = pieces_.data();
    run.pieceCount = pieceCount_;
    run.weights = weights + batch.size * factorElements();
    run.result = result + batch.result + atPlane * planes.result +
                 firstLine * lines.result + firstColumn * columns.result;
    run.resultRow = columns.result;
    run.resultLine = lines.result;
    run.resultFilter = product_.filters.result;
    if (isByChannel_) {
      ByteChannelRun channels;
      static_cast<ByteRun &>(channels) = run;
      channels.channels = channels_;
      loops_.multiplyChannels(channels);
      return;
    }
    run.pairs = pairs();
    run.filters = product_.filters.size;
    loops_.multiply(run);
  }

  const ByteProduct product_;
  const ByteLoops &loops_;
  bool isByChannel_;
  int64_t channels_, channelStep_; ///< Of the data, and its elements.
  int64_t joinedColumns_, pieceCount_, depth_;
  int64_t blockLines_ = 1, blockColumns_ = 1; ///< Of the result.
  int64_t parts_ = 1;
  int64_t factors_ = 1; ///< Weights of different batches.
  std::vector<int64_t> pieces_;
};

class VectorByteKernel final : public Kernel {
public:
  VectorByteKernel(std::shared_ptr<const BytePlan> plan, bool constantWeights)
      : plan_(std::move(plan)), constantWeights_(constantWeights) {
    implementation_ = "soap:bytes_vectors";
  }

  size_t scratchpadBytes() const override {
    return dataBytes() + (constantWeights_ ? 0 : weightBytes());
  }
  std::vector<ConstantCopy> constantCopies() const override {
    if (!constantWeights_)
      return {};
    return {{1, plan_->weightsLayout(), weightBytes()}};
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto bound = std::make_unique<Bound>();
    bound->plan = plan_;
    bound->data =
        reinterpret_cast<const uint8_t *>(hostAddress(binding.operands[0]));
    bound->weights =
        reinterpret_cast<const int8_t *>(hostAddress(binding.operands[1]));
    bound->result =
        reinterpret_cast<int32_t *>(hostAddress(binding.results[0]));
    char *scratch = hostAddress(binding.scratchpad);
    bound->scratch = reinterpret_cast<int16_t *>(scratch);
    bound->packed = reinterpret_cast<int16_t *>(scratch + dataBytes());
    if (constantWeights_) {
      std::string layout = plan_->weightsLayout();
      bound->kept = binding.constants->find(binding.operands[1], layout);
      if (!bound->kept) {
        bound->kept = binding.constants->allocate(weightBytes());
        plan_->pack(bound->weights, static_cast<int16_t *>(bound->kept.get()));
        binding.constants->add(binding.operands[1], layout, bound->kept,
                               weightBytes());
      }
      bound->packed = static_cast<int16_t *>(bound->kept.get());
    }
    return bound;
  }

private:
  struct Bound final : BoundKernel {
    void enqueue(Stream &) override {
      if (!kept)
        plan->pack(weights, packed);
      plan->run(data, packed, result, scratch);
    }

    std::shared_ptr<const BytePlan> plan;
    const uint8_t *data;
    const int8_t *weights;
    int32_t *result;
    int16_t *scratch, *packed;
    std::shared_ptr<void> kept; ///< Constant weights, packed.
  };

  static size_t bytesOf(int64_t elements) {
    return alignedBytes(static_cast<size_t>(elements) * sizeof(int16_t));
  }
  size_t dataBytes() const {
    return bytesOf(plan_->parts() * plan_->partElements());
  }
  size_t weightBytes() const { return bytesOf(plan_->packedElements()); }

  std::shared_ptr<const BytePlan> plan_;
  bool constantWeights_;
};
} // namespace

const ByteLoops *runtime::byteLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return forVectors<const ByteLoops *>(&byteAVX512, &byteAVX2, nullptr);
#else
  return nullptr;
#endif
}

std::unique_ptr<Kernel>
runtime::makeVectorByteKernel(const ByteProduct &product,
                              const ByteLoops &loops, size_t threads,
                              bool constantWeights) {
  return std::make_unique<VectorByteKernel>(
      std::make_shared<BytePlan>(product, loops, threads), constantWeights);
}
