//===- ByteProducts.cpp - Products of 8-bit integers ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops for what oneDNN 2.6 does not compute exactly, or not at all: on
// processors without AVX512_VNNI, or where ONEDNN_MAX_CPU_ISA hides it, and of
// few convolutions (pads beyond the window).
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "CPU/ByteLoops.h"
#include "CPU/CPUKernels.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>
#include <array>
#include <optional>

using namespace soap;
using namespace soap::runtime;

bool runtime::multipliesBytes(const fb::Kernel &kernel) {
  auto is = [](const fb::TensorType *type, fb::ElementType element) {
    return type->element() == element;
  };
  const fb::Conv *conv = kernel.op_as_Conv();
  const fb::MatMul *matmul = kernel.op_as_MatMul();
  return (conv ? !conv->bias()
               : matmul && !matmul->bias() && matmul->alpha() == 1.0f) &&
         kernel.operands()->size() == 2 && !kernel.followers() &&
         is(kernel.operands()->Get(0), fb::ElementType::U8) &&
         is(kernel.operands()->Get(1), fb::ElementType::I8) &&
         is(kernel.results()->Get(0), fb::ElementType::I32);
}

namespace {
/// Iterations, each with the elements from one to the next in data, weights and
/// result.
struct Loop {
  int64_t size = 1;
  int64_t data = 0, weights = 0, result = 0;
};

/// A position of a window along one dim: the element of the data that iteration
/// o of the result and k of the window meet is o*stride + k*dilation - pad.
struct Position {
  int64_t outputs = 1, window = 1, extent = 1;
  int64_t stride = 1, dilation = 1, pad = 0;
  int64_t data = 0, weights = 0, result = 0; ///< Elements per step.

  /// Elements of the data, and of pads, that so many outputs read.
  int64_t reach(int64_t count) const {
    return (count - 1) * stride + (window - 1) * dilation + 1;
  }
};

/// All that is added up, for each filter and position of each batch. Where each
/// filter has a channel of its own (`filters.data` is not 0), the sum is that
/// of a window of it.
struct Product {
  std::vector<Loop> batches;
  std::array<Position, 3> positions;
  Loop filters, sum;

  bool isByChannel() const { return filters.data != 0; }
  double products() const {
    auto count = static_cast<double>(filters.size * sum.size);
    for (const Loop &loop : batches)
      count *= static_cast<double>(loop.size);
    for (const Position &position : positions)
      count *= static_cast<double>(position.outputs * position.window);
    return count;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// One by one
//===----------------------------------------------------------------------===//

namespace {
class Multiplier {
public:
  Multiplier(const Product &product, const uint8_t *data, const int8_t *weights,
             uint32_t *result)
      : loops_(product.batches), product_(product), data_(data),
        weights_(weights), result_(result) {
    loops_.push_back(product.filters);
  }

  void run() const {
    int64_t all = 1;
    for (const Loop &loop : loops_)
      all *= loop.size;
    forEachOf(all, std::min(all, static_cast<int64_t>(threadCount())),
              [&](int64_t i) { iterate(i); });
  }

private:
  /// An iteration of the outer loops, of all of them.
  void iterate(int64_t number) const {
    int64_t data = 0, weights = 0, result = 0;
    for (size_t depth = loops_.size(); depth-- != 0;) {
      const Loop &loop = loops_[depth];
      int64_t i = number % loop.size;
      number /= loop.size;
      data += i * loop.data;
      weights += i * loop.weights;
      result += i * loop.result;
    }
    place(0, data, weights, result, {});
  }

  /// Every position of the result.
  void place(size_t dim, int64_t data, int64_t weights, int64_t result,
             std::array<int64_t, 3> at) const {
    if (dim == at.size()) {
      result_[result] = window(0, data, weights, at);
      return;
    }
    const Position &position = product_.positions[dim];
    for (at[dim] = 0; at[dim] != position.outputs; ++at[dim])
      place(dim + 1, data, weights, result + at[dim] * position.result, at);
  }

  /// The sum over the window at a position, inside of the data. It wraps
  /// around, as that of a signed integer may not.
  uint32_t window(size_t dim, int64_t data, int64_t weights,
                  const std::array<int64_t, 3> &at) const {
    uint32_t sum = 0;
    if (dim == at.size()) {
      const Loop &loop = product_.sum;
      for (int64_t i = 0; i != loop.size; ++i)
        sum += static_cast<uint32_t>(data_[data + i * loop.data] *
                                     weights_[weights + i * loop.weights]);
      return sum;
    }
    const Position &position = product_.positions[dim];
    for (int64_t k = 0; k != position.window; ++k) {
      int64_t read =
          at[dim] * position.stride + k * position.dilation - position.pad;
      if (read >= 0 && read < position.extent)
        sum += window(dim + 1, data + read * position.data,
                      weights + k * position.weights, at);
    }
    return sum;
  }

  std::vector<Loop> loops_;
  const Product &product_;
  const uint8_t *data_;
  const int8_t *weights_;
  uint32_t *result_;
};

class ByteKernel final : public Kernel {
public:
  explicit ByteKernel(Product product) : product_(std::move(product)) {
    implementation_ = "soap:bytes";
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<Bound>(product_, binding);
  }

private:
  class Bound final : public BoundKernel {
  public:
    Bound(Product product, const Binding &binding)
        : product_(std::move(product)), binding_(binding) {}
    void enqueue(Stream &) override {
      Multiplier(
          product_,
          reinterpret_cast<const uint8_t *>(hostAddress(binding_.operands[0])),
          reinterpret_cast<const int8_t *>(hostAddress(binding_.operands[1])),
          reinterpret_cast<uint32_t *>(hostAddress(binding_.results[0])))
          .run();
    }

  private:
    Product product_;
    Binding binding_;
  };

  Product product_;
};
} // namespace

//===----------------------------------------------------------------------===//
// By vectors
//===----------------------------------------------------------------------===//

namespace {
/// How a product is cut into blocks of results, whose data are widened to 16
/// bits, channels last, between their pads.
class BytePlan {
public:
  BytePlan(const Product &product, const ByteLoops &loops, size_t threads)
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
    for (const Loop &batch : product_.batches)
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
    for (const Loop &batch : product_.batches)
      if (batch.weights != 0)
        add(batch.size, batch.weights);
    for (const Position &position : product_.positions)
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
  Loop batchOf(int64_t number, bool ofWeights) const {
    Loop at{0, 0, 0, 0};
    int64_t factors = 1;
    for (size_t depth = product_.batches.size(); depth-- != 0;) {
      const Loop &loop = product_.batches[depth];
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
    for (const Loop &batch : product_.batches)
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
    const Position &columns = product_.positions[2];
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
    Loop batch = batchOf(item / planes.outputs, /*ofWeights=*/false);
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

  const Product product_;
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

//===----------------------------------------------------------------------===//
// Which products
//===----------------------------------------------------------------------===//

/// Elements from one to the next along each dim of a dense tensor.
static std::vector<int64_t> stridesOf(const fb::TensorType &type) {
  Shape shape = toVector(type.shape());
  std::vector<int64_t> strides(shape.size(), 1);
  bool last = type.order() == fb::ElementOrder::ChannelsLast;
  int64_t next = last ? shape[1] : 1;
  for (size_t d = shape.size(); d-- != 0;) {
    if (last && d == 1)
      continue;
    strides[d] = next;
    next *= shape[d];
  }
  return strides;
}

static std::optional<Product> convolution(const fb::Kernel &kernel,
                                          const fb::Conv &op) {
  const auto &data = *kernel.operands()->Get(0);
  const auto &weights = *kernel.operands()->Get(1);
  const auto &result = *kernel.results()->Get(0);
  Shape x = toVector(data.shape()), w = toVector(weights.shape()),
        y = toVector(result.shape());
  int64_t groups = op.groups();
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() ||
      y.size() != x.size() || groups < 1 || w[0] % groups ||
      x[1] != w[1] * groups || y[1] != w[0] || y[0] != x[0])
    return std::nullopt;
  auto xs = stridesOf(data), ws = stridesOf(weights), ys = stridesOf(result);
  int64_t outputs = w[0] / groups;
  Product product;
  product.batches = {{x[0], xs[0], 0, ys[0]}};
  if (groups > 1 && w[1] == 1 && outputs == 1) {
    product.filters = {groups, xs[1], ws[0], ys[1]};
  } else {
    product.batches.push_back(
        {groups, xs[1] * w[1], ws[0] * outputs, ys[1] * outputs});
    product.filters = {outputs, 0, ws[0], ys[1]};
  }
  size_t missing = product.positions.size() + 2 - x.size();
  for (size_t i = 0; i + 2 < x.size(); ++i)
    product.positions[missing + i] = {y[2 + i],
                                      w[2 + i],
                                      x[2 + i],
                                      op.strides()->Get(i),
                                      op.dilations()->Get(i),
                                      op.pads_lo()->Get(i),
                                      xs[2 + i],
                                      ws[2 + i],
                                      ys[2 + i]};
  product.sum = {w[1], xs[1], ws[1], 0};
  return product;
}

static std::optional<Product> matrixProduct(const fb::Kernel &kernel,
                                            const fb::MatMul &op) {
  const auto &first = *kernel.operands()->Get(0);
  const auto &second = *kernel.operands()->Get(1);
  const auto &result = *kernel.results()->Get(0);
  Shape a = toVector(first.shape()), b = toVector(second.shape()),
        y = toVector(result.shape());
  if (a.size() < 2 || b.size() < 2 || y.size() < 2 || a.size() > y.size() ||
      b.size() > y.size())
    return std::nullopt;
  auto as = stridesOf(first), bs = stridesOf(second), ys = stridesOf(result);
  if (op.transpose_a()) {
    std::swap(a[a.size() - 2], a.back());
    std::swap(as[as.size() - 2], as.back());
  }
  if (op.transpose_b()) {
    std::swap(b[b.size() - 2], b.back());
    std::swap(bs[bs.size() - 2], bs.back());
  }
  size_t rank = y.size();
  if (a.back() != b[b.size() - 2] || a[a.size() - 2] != y[rank - 2] ||
      b.back() != y.back())
    return std::nullopt;
  Product product;
  for (size_t d = 0; d + 2 < rank; ++d) {
    // Batch dims are aligned on the right; those of size 1 broadcast.
    auto strideIn = [&](const Shape &shape, const std::vector<int64_t> &all) {
      size_t missing = rank - shape.size();
      return d < missing || shape[d - missing] == 1 ? 0 : all[d - missing];
    };
    product.batches.push_back({y[d], strideIn(a, as), strideIn(b, bs), ys[d]});
  }
  Position &rows = product.positions.back();
  rows.outputs = rows.extent = y[rank - 2];
  rows.data = as[a.size() - 2];
  rows.result = ys[rank - 2];
  product.filters = {y[rank - 1], 0, bs[b.size() - 1], ys[rank - 1]};
  product.sum = {a.back(), as.back(), bs[b.size() - 2], 0};
  return product;
}

std::unique_ptr<Kernel>
runtime::makeByteKernel(const fb::Kernel &kernel,
                        const std::vector<bool> &constant,
                        const ByteLoops *loops, size_t threads) {
  if (!multipliesBytes(kernel))
    return nullptr;
  const fb::Conv *conv = kernel.op_as_Conv();
  std::optional<Product> product =
      conv ? convolution(kernel, *conv)
           : matrixProduct(kernel, *kernel.op_as_MatMul());
  if (!product)
    return nullptr;
  if (!loops)
    return std::make_unique<ByteKernel>(std::move(*product));
  return std::make_unique<VectorByteKernel>(
      std::make_shared<BytePlan>(*product, *loops, threads),
      constant.size() > 1 && constant[1]);
}

std::unique_ptr<Kernel>
runtime::makeByteKernel(const fb::Kernel &kernel,
                        const std::vector<bool> &constant) {
  return makeByteKernel(kernel, constant, byteLoops(), threadCount());
}
