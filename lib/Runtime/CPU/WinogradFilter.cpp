//===- WinogradFilter.cpp - Gradients of weights by Winograd --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/WinogradFilter.h"
#include "Backend/HostMemory.h"
#include "CPU/Reordering.h"
#include "CPU/Threads.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// Tiles of a block on one thread. The sums are read and written once for every
/// block, so larger blocks do that less often, and smaller ones stay in a cache
/// between their transforms and their products.
static constexpr int64_t tilesOfThread = 48;

WinogradFilterPlan::WinogradFilterPlan(const WinogradShape &shape,
                                       const WinogradLoops &loops,
                                       size_t threads)
    : shape_(shape), loops_(&loops), threads_(std::max<size_t>(1, threads)),
      tiling_(shape, loops.tile),
      panels_(divideUp(shape.filters, loops.panel())),
      blocks_(divideUp(tiling_.count,
                       tilesOfThread * static_cast<int64_t>(threads_))) {}

static int64_t rowOf(int64_t channels, int64_t multiple) {
  return divideUp(channels, multiple) * multiple + WinogradPlan::gap;
}

int64_t WinogradFilterPlan::sourceRow() const {
  return rowOf(shape_.channels, WinogradPlan::gap);
}
int64_t WinogradFilterPlan::sourcePoint() const {
  return mostTiles() * sourceRow() + WinogradPlan::gap;
}
int64_t WinogradFilterPlan::gradientRow() const {
  return rowOf(shape_.filters, loops_->panel());
}
int64_t WinogradFilterPlan::gradientPoint() const {
  return mostTiles() * gradientRow() + WinogradPlan::gap;
}
int64_t WinogradFilterPlan::zeroFloats() const {
  return rowOf(std::max(shape_.channels, shape_.filters), WinogradPlan::gap);
}
int64_t WinogradFilterPlan::scratchFloats() const {
  return loops_->points() * (sourcePoint() + gradientPoint() + sumsPoint()) +
         zeroFloats();
}

double WinogradFilterPlan::estimate() const {
  double wider = static_cast<double>(loops_->width) / 8;
  auto rows =
      static_cast<double>(shape_.groups * loops_->points() * tiling_.count);
  auto channels = static_cast<double>(shape_.channels),
       filters = static_cast<double>(panels_ * loops_->panel());
  // All sums, of each block of a group.
  auto sums = static_cast<double>(loops_->points() * sumsPoint());
  constexpr double cachedFloats = 1 << 18;
  double passes = static_cast<double>(shape_.groups * blocks_) *
                  (4 * std::min(sums, cachedFloats) +
                   14 * std::max(0.0, sums - cachedFloats));
  return rows * channels * filters + 20 * wider * rows * (channels + filters) +
         wider * (passes + 35 * static_cast<double>(shape_.groups) * sums);
}

std::optional<WinogradFilterPlan>
runtime::planWinogradFilter(const WinogradShape &shape, size_t threads) {
  std::optional<WinogradFilterPlan> best;
  double least = WinogradPlan::estimateDirect(shape);
  for (const WinogradLoops *loops : winogradLoops()) {
    WinogradFilterPlan plan(shape, *loops, threads);
    if (double time = plan.estimate(); time < least) {
      least = time;
      best = plan;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {
class BoundFilter final : public BoundKernel {
public:
  explicit BoundFilter(const WinogradFilterPlan &plan)
      : plan_(plan), shape_(plan.shape()), loops_(plan.loops()) {}

  void enqueue(Stream &) override {
    for (Reordering &reordering : before)
      reordering.run();
    std::fill_n(zeros_, plan_.zeroFloats(), 0.0F);
    for (int64_t group = 0; group != shape_.groups; ++group) {
      for (int64_t block = 0; block != plan_.blocks(); ++block) {
        transformTiles(group, block);
        multiply(block);
      }
      transformSums(group);
    }
  }

  void setScratch(float *scratch) {
    source_ = scratch;
    gradient_ = source_ + loops_.points() * plan_.sourcePoint();
    sums_ = gradient_ + loops_.points() * plan_.gradientPoint();
    zeros_ = sums_ + loops_.points() * plan_.sumsPoint();
  }

  const float *source = nullptr, *gradient = nullptr; ///< With channels last.
  float *result = nullptr;
  std::vector<Reordering> before;

private:
  /// Calls body(i) for all i below `count`, on all threads.
  template <typename Body>
  void forEach(int64_t count, const Body &body) {
    forEachOf(count, std::min(static_cast<int64_t>(plan_.threads()), count),
              body);
  }

  void transformTiles(int64_t group, int64_t block) {
    const WinogradImage from = {source + group * shape_.channels, shape_.height,
                                shape_.width, shape_.groups * shape_.channels,
                                zeros_},
                        to = {gradient + group * shape_.filters,
                              shape_.resultHeight, shape_.resultWidth,
                              shape_.groups * shape_.filters, zeros_};
    int64_t begin = plan_.blockBegin(block);
    forEach(plan_.blockBegin(block + 1) - begin, [&](int64_t row) {
      WinogradTiles::Corner corner = plan_.tiling().cornerOf(begin + row);
      const float *pixels[mostWinogradPoints];
      to.collect(corner, loops_.tile, pixels);
      loops_.transformGradient(pixels, shape_.filters,
                               gradient_ + row * plan_.gradientRow(),
                               plan_.gradientPoint());
      corner.row -= shape_.padTop;
      corner.column -= shape_.padLeft;
      from.collect(corner, loops_.tile + 2, pixels);
      loops_.transformSource(pixels, shape_.channels,
                             source_ + row * plan_.sourceRow(),
                             plan_.sourcePoint());
    });
  }

  void multiply(int64_t block) {
    int64_t tiles = plan_.blockBegin(block + 1) - plan_.blockBegin(block);
    bool add = block != 0;
    if (SOAP_FAULT("winograd-block-lost"))
      add = false;
    forEach(loops_.points() * plan_.panels(), [&](int64_t item) {
      int64_t point = item / plan_.panels(), panel = item % plan_.panels();
      loops_.multiplyTransposed(
          source_ + point * plan_.sourcePoint(), plan_.sourceRow(),
          shape_.channels, tiles,
          gradient_ + point * plan_.gradientPoint() + panel * loops_.panel(),
          plan_.gradientRow(), /*panels=*/1,
          sums_ + point * plan_.sumsPoint() + panel * plan_.sumsPanel(), add);
    });
  }

  void transformSums(int64_t group) {
    forEach(plan_.panels(), [&](int64_t panel) {
      int64_t first = panel * loops_.panel();
      loops_.transformFilters(
          sums_ + panel * plan_.sumsPanel(), plan_.sumsPoint(),
          std::min(loops_.panel(), shape_.filters - first), shape_.channels,
          result + (group * shape_.filters + first) * shape_.channels * 9);
    });
  }

  const WinogradFilterPlan plan_;
  const WinogradShape &shape_;
  const WinogradLoops &loops_;
  float *source_ = nullptr, *gradient_ = nullptr, *sums_ = nullptr,
        *zeros_ = nullptr;
};

class FilterKernel final : public Kernel {
public:
  FilterKernel(const fb::Kernel &kernel, const WinogradFilterPlan &plan)
      : plan_(plan), source_(*kernel.operands()->Get(0)),
        gradient_(*kernel.operands()->Get(1)) {
    int64_t tile = plan.loops().tile;
    implementation_ = text("soap:winograd_", tile, "x", tile);
  }

  size_t scratchpadBytes() const override {
    return source_.bytes() + gradient_.bytes() +
           alignedBytes(static_cast<size_t>(plan_.scratchFloats()) *
                        sizeof(float));
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto bound = std::make_unique<BoundFilter>(plan_);
    char *temporary = hostAddress(binding.scratchpad);
    auto read = [&](size_t operand, const ChannelsLastLayouts &layouts) {
      char *values = hostAddress(binding.operands[operand]);
      if (layouts.differ()) {
        bound->before.push_back(layouts.before(values, temporary));
        values = temporary;
        temporary += layouts.bytes();
      }
      return reinterpret_cast<const float *>(values);
    };
    bound->source = read(0, source_);
    bound->gradient = read(1, gradient_);
    bound->result = reinterpret_cast<float *>(hostAddress(binding.results[0]));
    bound->setScratch(reinterpret_cast<float *>(temporary));
    return bound;
  }

private:
  WinogradFilterPlan plan_;
  ChannelsLastLayouts source_, gradient_;
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeWinogradFilterKernel(const fb::Kernel &kernel,
                                  const WinogradFilterPlan &plan) {
  return std::make_unique<FilterKernel>(kernel, plan);
}

std::unique_ptr<Kernel>
runtime::makeWinogradFilterKernel(const fb::Kernel &kernel) {
  std::optional<WinogradShape> shape = winogradFilterShape(kernel);
  std::optional<WinogradFilterPlan> plan =
      shape ? planWinogradFilter(*shape, threadCount()) : std::nullopt;
  return plan ? makeWinogradFilterKernel(kernel, *plan) : nullptr;
}
