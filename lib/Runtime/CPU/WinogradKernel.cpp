//===- WinogradKernel.cpp - Convolutions of 3x3 by Winograd ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "CPU/DnnlKernel.h"
#include "CPU/Threads.h"
#include "CPU/WinogradPlan.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;
using dnnl::memory;

static size_t bytesOf(int64_t floats) {
  return alignedBytes(static_cast<size_t>(floats) * sizeof(float));
}

/// Runs `body(part)` for all parts below `parts` on the threads of the device.
template <typename Body>
static void forEachPart(size_t parts, const Body &body) {
  runParallel(
      parts,
      [](void *data, size_t part) { (*static_cast<const Body *>(data))(part); },
      const_cast<Body *>(&body));
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// `weights` [groups * filters, channels, 3, 3] at all points, in panels.
static void transformWeights(const WinogradPlan &plan, const float *weights,
                             float *to) {
  const WinogradShape &shape = plan.shape();
  const WinogradLoops &loops = plan.loops();
  auto all = static_cast<size_t>(shape.groups * plan.panels());
  forEachPart(all, [&](size_t part) {
    auto index = static_cast<int64_t>(part);
    int64_t group = index / plan.panels(), panel = index % plan.panels();
    int64_t first = panel * loops.panel();
    loops.transformWeights(
        weights + (group * shape.filters + first) * shape.channels * 9,
        std::min(loops.panel(), shape.filters - first), shape.channels,
        to + group * loops.points() * plan.pointFloats() +
            panel * plan.panelFloats(),
        plan.pointFloats());
  });
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

namespace {
/// Tensors with channels last, and memory of each thread.
struct Buffers {
  const float *source = nullptr, *weights = nullptr, *bias = nullptr;
  float *result = nullptr, *scratch = nullptr;
};

/// What one thread does, in memory of its own.
class Worker {
public:
  Worker(const WinogradPlan &plan, const Buffers &buffers, size_t thread)
      : plan_(plan), shape_(plan.shape()), loops_(plan.loops()),
        buffers_(buffers) {
    source_ =
        buffers.scratch + static_cast<int64_t>(thread) * plan.threadFloats();
    products_ = source_ + loops_.points() * plan.sourcePoint();
    zeros_ = products_ + loops_.points() * plan.productPoint();
    beside_ = zeros_ + (shape_.channels + WinogradPlan::gap - 1) /
                           WinogradPlan::gap * WinogradPlan::gap;
    std::fill(zeros_, zeros_ + shape_.channels, 0.0f);
  }

  void run(const WinogradItem &item) {
    for (int64_t tile = item.tileBegin; tile != item.tileEnd; ++tile)
      transformSource(item, tile);
    for (int64_t panel = item.panelBegin; panel < item.panelEnd;
         panel += plan_.panelsAtOnce()) {
      int64_t panels = std::min(plan_.panelsAtOnce(), item.panelEnd - panel);
      for (int64_t point = 0; point != loops_.points(); ++point)
        loops_.multiply(
            source_ + point * plan_.sourcePoint(), plan_.sourceRow(),
            item.tileEnd - item.tileBegin, shape_.channels,
            buffers_.weights +
                (item.group * loops_.points() + point) * plan_.pointFloats() +
                panel * plan_.panelFloats(),
            panels, products_ + point * plan_.productPoint(),
            plan_.productRow());
      for (int64_t tile = item.tileBegin; tile != item.tileEnd; ++tile)
        transformResult(item, tile, panel, panels);
    }
  }

private:
  static constexpr int64_t mostPoints = 36, mostResults = 16;

  /// The first result of a tile.
  struct Corner {
    int64_t image, row, column;
  };
  Corner cornerOf(int64_t tile) const {
    int64_t across = plan_.tilesAcross(), down = plan_.tilesDown();
    return {tile / across / down, tile / across % down * loops_.tile,
            tile % across * loops_.tile};
  }

  void transformSource(const WinogradItem &item, int64_t tile) {
    auto [image, row, column] = cornerOf(tile);
    int64_t side = loops_.tile + 2, all = shape_.groups * shape_.channels;
    const float *from = buffers_.source +
                        image * shape_.height * shape_.width * all +
                        item.group * shape_.channels;
    const float *pixels[mostPoints];
    for (int64_t i = 0; i != side; ++i)
      for (int64_t j = 0; j != side; ++j) {
        int64_t y = row + i - shape_.padTop, x = column + j - shape_.padLeft;
        bool inside = y >= 0 && y < shape_.height && x >= 0 && x < shape_.width;
        pixels[i * side + j] =
            inside ? from + (y * shape_.width + x) * all : zeros_;
      }
    loops_.transformSource(pixels, shape_.channels,
                           source_ +
                               (tile - item.tileBegin) * plan_.sourceRow(),
                           plan_.sourcePoint());
  }

  void transformResult(const WinogradItem &item, int64_t tile, int64_t panel,
                       int64_t panels) {
    auto [image, row, column] = cornerOf(tile);
    int64_t first = panel * loops_.panel(),
            all = shape_.groups * shape_.filters;
    int64_t filters = std::min(panels * loops_.panel(), shape_.filters - first);
    float *to = buffers_.result +
                image * shape_.resultHeight * shape_.resultWidth * all +
                item.group * shape_.filters + first;
    float *pixels[mostResults];
    for (int64_t i = 0; i != loops_.tile; ++i)
      for (int64_t j = 0; j != loops_.tile; ++j) {
        int64_t y = row + i, x = column + j;
        bool inside = y < shape_.resultHeight && x < shape_.resultWidth;
        if (SOAP_FAULT("winograd-rim-lost"))
          inside = row + loops_.tile <= shape_.resultHeight && inside;
        pixels[i * loops_.tile + j] =
            inside ? to + (y * shape_.resultWidth + x) * all : beside_;
      }
    WinogradFollowers followers;
    if (buffers_.bias)
      followers.bias = buffers_.bias + item.group * shape_.filters + first;
    loops_.transformResult(products_ +
                               (tile - item.tileBegin) * plan_.productRow(),
                           plan_.productPoint(), filters, followers, pixels);
  }

  const WinogradPlan &plan_;
  const WinogradShape &shape_;
  const WinogradLoops &loops_;
  const Buffers &buffers_;
  float *source_, *products_, *zeros_, *beside_;
};

/// A row-major tensor that is reordered in every run.
struct Reordering {
  memory from, to;
  dnnl::reorder primitive;

  Reordering(const memory &source, const memory &target)
      : from(source), to(target),
        primitive(dnnl::reorder::primitive_desc(source, target)) {}
  void run() { primitive.execute(dnnlStream(), from, to); }
};

class BoundWinograd final : public BoundKernel {
public:
  BoundWinograd(const WinogradPlan &plan) : plan(plan) {}

  void enqueue(Stream &) override {
    if (before)
      before->run();
    int64_t items = plan.items();
    auto parts = static_cast<int64_t>(
        std::min<size_t>(plan.threads(), static_cast<size_t>(items)));
    forEachPart(static_cast<size_t>(parts), [&](size_t part) {
      Worker worker(plan, buffers, part);
      auto number = static_cast<int64_t>(part);
      for (int64_t i = items * number / parts;
           i != items * (number + 1) / parts; ++i)
        worker.run(plan.item(i));
    });
    if (after)
      after->run();
  }

  const WinogradPlan plan;
  Buffers buffers;
  std::shared_ptr<void> weights;
  std::optional<Reordering> before, after;
};

/// How a tensor lies in its buffer, and with channels last.
struct Layouts {
  memory::desc own, channelsLast;

  explicit Layouts(const fb::TensorType &type)
      : own(orderedDesc(type)),
        channelsLast(own.dims(), own.data_type(), memory::format_tag::nhwc) {}
  bool differ() const { return own != channelsLast; }
  /// Of the reordered tensor, if there is one.
  size_t bytes() const { return differ() ? alignedBytes(own.get_size()) : 0; }
};

class WinogradKernel final : public Kernel {
public:
  WinogradKernel(const fb::Kernel &kernel, const WinogradPlan &plan)
      : plan_(plan), source_(*kernel.operands()->Get(0)),
        result_(*kernel.results()->Get(0)),
        hasBias_(kernel.op_as_Conv()->bias()) {
    int64_t tile = plan.loops().tile;
    implementation_ = text("soap:winograd_", tile, "x", tile);
  }

  size_t scratchpadBytes() const override {
    return source_.bytes() + result_.bytes() +
           plan_.threads() * bytesOf(plan_.threadFloats());
  }

  std::vector<ConstantCopy> constantCopies() const override {
    return {{1, layout(), bytesOf(plan_.weightFloats())}};
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto bound = std::make_unique<BoundWinograd>(plan_);
    char *temporary = hostAddress(binding.scratchpad);
    Buffers &buffers = bound->buffers;
    char *source = hostAddress(binding.operands[0]);
    if (source_.differ()) {
      bound->before.emplace(
          memory(source_.own, dnnlEngine(), source),
          memory(source_.channelsLast, dnnlEngine(), temporary));
      source = temporary;
      temporary += source_.bytes();
    }
    char *result = hostAddress(binding.results[0]);
    if (result_.differ()) {
      bound->after.emplace(
          memory(result_.channelsLast, dnnlEngine(), temporary),
          memory(result_.own, dnnlEngine(), result));
      result = temporary;
      temporary += result_.bytes();
    }
    bound->weights = transformed(binding);
    buffers.source = reinterpret_cast<const float *>(source);
    buffers.result = reinterpret_cast<float *>(result);
    buffers.weights = static_cast<const float *>(bound->weights.get());
    if (hasBias_)
      buffers.bias =
          reinterpret_cast<const float *>(hostAddress(binding.operands[2]));
    buffers.scratch = reinterpret_cast<float *>(temporary);
    return bound;
  }

private:
  std::string layout() const {
    const WinogradShape &shape = plan_.shape();
    return text(implementation_, ":", plan_.loops().width, ":", shape.groups,
                ":", shape.filters, ":", shape.channels);
  }

  std::shared_ptr<void> transformed(const Binding &binding) const {
    DevicePointer address = binding.operands[1];
    if (SOAP_FAULT("winograd-weights-stale"))
      address = DevicePointer();
    if (auto known = binding.constants->find(address, layout()))
      return known;
    size_t bytes = bytesOf(plan_.weightFloats());
    // All of them are read in every step, so large pages count.
    std::shared_ptr<void> copy(allocatePages(bytes), [bytes](void *block) {
      freePages(static_cast<char *>(block), bytes);
    });
    transformWeights(
        plan_,
        reinterpret_cast<const float *>(hostAddress(binding.operands[1])),
        static_cast<float *>(copy.get()));
    binding.constants->add(address, layout(), copy, bytes);
    return copy;
  }

  WinogradPlan plan_;
  Layouts source_, result_;
  bool hasBias_;
};
} // namespace

std::unique_ptr<Kernel> runtime::makeWinogradKernel(const fb::Kernel &kernel,
                                                    const WinogradPlan &plan) {
  return std::make_unique<WinogradKernel>(kernel, plan);
}

std::unique_ptr<Kernel>
runtime::makeWinogradKernel(const fb::Kernel &kernel,
                            const std::vector<bool> &constant) {
  std::optional<WinogradShape> shape = winogradShape(kernel);
  if (!shape || constant.size() < 2 || !constant[1])
    return nullptr;
  std::optional<WinogradPlan> plan = planWinograd(*shape, threadCount());
  return plan ? makeWinogradKernel(kernel, *plan) : nullptr;
}
