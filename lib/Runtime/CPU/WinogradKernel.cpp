//===- WinogradKernel.cpp - Convolutions of 3x3 by Winograd ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/ChannelsLastKernel.h"
#include "CPU/Threads.h"
#include "CPU/WinogradPlan.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// `weights` as the shape has them at all points, in panels.
static void transformWeights(const WinogradPlan &plan, const float *weights,
                             float *to) {
  const WinogradShape &shape = plan.shape();
  const WinogradLoops &loops = plan.loops();
  auto all = static_cast<size_t>(shape.groups * plan.panels());
  forEachPart(all, [&](size_t part) {
    auto index = static_cast<int64_t>(part);
    int64_t group = index / plan.panels(), panel = index % plan.panels();
    int64_t first = panel * loops.panel();
    WinogradWeights from = {weights +
                                group * shape.filters * shape.channels * 9,
                            9 * shape.channels, 9, false};
    if (shape.transposed)
      from = {from.first, 9, 9 * shape.filters, true};
    from.first += first * from.filter;
    loops.transformWeights(from, std::min(loops.panel(), shape.filters - first),
                           shape.channels,
                           to + group * loops.points() * plan.pointFloats() +
                               panel * plan.panelFloats(),
                           plan.pointFloats());
  });
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

namespace {
/// What one thread does, in memory of its own.
class Worker {
public:
  Worker(const WinogradPlan &plan, const ChannelsLastBuffers &buffers,
         size_t thread)
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
  void transformSource(const WinogradItem &item, int64_t tile) {
    WinogradTiles::Corner corner = plan_.tiling().cornerOf(tile);
    corner.row -= shape_.padTop;
    corner.column -= shape_.padLeft;
    WinogradImage source = {buffers_.source + item.group * shape_.channels,
                            shape_.height, shape_.width,
                            shape_.groups * shape_.channels, zeros_};
    const float *pixels[mostWinogradPoints];
    source.collect(corner, loops_.tile + 2, pixels);
    loops_.transformSource(pixels, shape_.channels,
                           source_ +
                               (tile - item.tileBegin) * plan_.sourceRow(),
                           plan_.sourcePoint());
  }

  void transformResult(const WinogradItem &item, int64_t tile, int64_t panel,
                       int64_t panels) {
    WinogradTiles::Corner corner = plan_.tiling().cornerOf(tile);
    int64_t first = panel * loops_.panel(),
            all = shape_.groups * shape_.filters;
    int64_t filters = std::min(panels * loops_.panel(), shape_.filters - first);
    int64_t channel = item.group * shape_.filters + first;
    auto placeOf = [&](int64_t y, int64_t x) {
      return ((corner.image * shape_.resultHeight + y) * shape_.resultWidth +
              x) *
             all;
    };
    float *pixels[mostWinogradResults];
    int64_t places[mostWinogradResults];
    for (int64_t i = 0; i != loops_.tile; ++i)
      for (int64_t j = 0; j != loops_.tile; ++j) {
        int64_t y = corner.row + i, x = corner.column + j,
                number = i * loops_.tile + j;
        bool inside = y < shape_.resultHeight && x < shape_.resultWidth;
        if (SOAP_FAULT("winograd-rim-lost"))
          inside = corner.row + loops_.tile <= shape_.resultHeight && inside;
        places[number] =
            inside ? placeOf(y, x) : placeOf(corner.row, corner.column);
        pixels[number] =
            inside ? buffers_.result + places[number] + channel : beside_;
        if (SOAP_FAULT("winograd-residual-of-corner"))
          places[number] = placeOf(corner.row, corner.column);
      }
    loops_.transformResult(products_ +
                               (tile - item.tileBegin) * plan_.productRow(),
                           plan_.productPoint(), filters,
                           {buffers_.followers, channel, places}, pixels);
  }

  const WinogradPlan &plan_;
  const WinogradShape &shape_;
  const WinogradLoops &loops_;
  const ChannelsLastBuffers &buffers_;
  float *source_, *products_, *zeros_, *beside_;
};

class WinogradLoop final : public ChannelsLastLoop {
public:
  explicit WinogradLoop(const WinogradPlan &plan) : plan_(plan) {}

  std::string name() const override {
    int64_t tile = plan_.loops().tile;
    return text("soap:winograd_", tile, "x", tile);
  }
  std::string weightsLayout() const override {
    const WinogradShape &shape = plan_.shape();
    return text(name(), shape.transposed ? ":transposed:" : ":",
                plan_.loops().width, ":", shape.groups, ":", shape.filters, ":",
                shape.channels);
  }
  int64_t weightFloats() const override { return plan_.weightFloats(); }
  void packWeights(const float *weights, float *to) const override {
    transformWeights(plan_, weights, to);
  }
  int64_t scratchFloats() const override {
    return static_cast<int64_t>(plan_.threads()) * plan_.threadFloats();
  }

  void run(const ChannelsLastBuffers &buffers) const override {
    int64_t items = plan_.items();
    auto parts = std::min(static_cast<int64_t>(plan_.threads()), items);
    forEachPart(static_cast<size_t>(parts), [&](size_t part) {
      Worker worker(plan_, buffers, part);
      auto number = static_cast<int64_t>(part);
      for (int64_t i = items * number / parts;
           i != items * (number + 1) / parts; ++i)
        worker.run(plan_.item(i));
    });
  }

private:
  const WinogradPlan plan_;
};
} // namespace

std::unique_ptr<Kernel> runtime::makeWinogradKernel(const fb::Kernel &kernel,
                                                    const WinogradPlan &plan) {
  return makeChannelsLastKernel(kernel, std::make_shared<WinogradLoop>(plan),
                                plan.shape().constantWeights);
}

std::unique_ptr<Kernel>
runtime::makeWinogradKernel(const fb::Kernel &kernel,
                            const std::vector<bool> &constant) {
  std::optional<WinogradShape> shape =
      winogradShape(kernel, constant.size() > 1 && constant[1]);
  if (!shape)
    return nullptr;
  std::optional<WinogradPlan> plan = planWinograd(*shape, threadCount());
  return plan ? makeWinogradKernel(kernel, *plan) : nullptr;
}
