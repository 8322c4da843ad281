//===- WinogradPlan.cpp - How a convolution runs by Winograd --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/WinogradPlan.h"
#include "CPU/ChannelsLastKernel.h"
#include "CPU/VectorLevel.h"
#include "CPU/WinogradFilter.h"
#include "Followers.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Which convolutions
//===----------------------------------------------------------------------===//

static bool areF32(const fb::Kernel &kernel) {
  for (const auto *types : {kernel.operands(), kernel.results()})
    for (const fb::TensorType *type : items(types))
      if (type->element() != fb::ElementType::F32)
        return false;
  return true;
}

/// Of a convolution y of x and w by a window of 3x3 that moves by one.
template <typename Conv>
static std::optional<WinogradShape> shapeOf(const Conv &op, const Shape &x,
                                            const Shape &w, const Shape &y) {
  auto isOne = [](int64_t value) { return value == 1; };
  auto areOnes = [&](const flatbuffers::Vector<int64_t> *list) {
    return items(list).size() == 2 &&
           std::all_of(list->begin(), list->end(), isOne);
  };
  int64_t groups = op.groups();
  if (!op.winograd() || x.size() != 4 || w.size() != 4 || y.size() != 4 ||
      w[2] != 3 || w[3] != 3 || !areOnes(op.strides()) ||
      !areOnes(op.dilations()) || items(op.pads_lo()).size() != 2 ||
      groups < 1 || w[0] % groups || x[1] != w[1] * groups || y[1] != w[0] ||
      y[0] != x[0] || !elementCount(x) || !elementCount(w) || !elementCount(y))
    return std::nullopt;
  WinogradShape shape;
  shape.images = x[0];
  shape.groups = groups;
  shape.channels = w[1];
  shape.filters = w[0] / groups;
  shape.height = x[2];
  shape.width = x[3];
  shape.resultHeight = y[2];
  shape.resultWidth = y[3];
  shape.padTop = op.pads_lo()->Get(0);
  shape.padLeft = op.pads_lo()->Get(1);
  return shape;
}

/// The transposed convolution: element y + k - pad of x is read with weight k
/// for result y, so result x of the transposed one reads x + pad - k of y.
static WinogradShape transposed(WinogradShape shape) {
  std::swap(shape.channels, shape.filters);
  std::swap(shape.height, shape.resultHeight);
  std::swap(shape.width, shape.resultWidth);
  shape.padTop = 2 - shape.padTop;
  shape.padLeft = 2 - shape.padLeft;
  shape.transposed = true;
  return shape;
}

std::optional<WinogradShape> runtime::winogradShape(const fb::Kernel &kernel,
                                                    bool constantWeights) {
  std::optional<ConvolutionShapes> shapes = convolutionShapes(kernel);
  if (!shapes)
    return std::nullopt;
  const auto &[groups, from, weights, to] = *shapes;
  const fb::Conv *conv = kernel.op_as_Conv();
  const fb::ConvBackward *back = kernel.op_as_ConvBackward();
  std::optional<WinogradShape> shape = conv ? shapeOf(*conv, from, weights, to)
                                            : shapeOf(*back, to, weights, from);
  if (!shape)
    return std::nullopt;
  if (back)
    shape = transposed(*shape);
  shape->constantWeights = constantWeights;
  return shape;
}

std::optional<WinogradShape>
runtime::winogradFilterShape(const fb::Kernel &kernel) {
  const fb::ConvBackward *back = kernel.op_as_ConvBackward();
  auto operands = items(kernel.operands());
  if (!back || !back->of_filter() || back->bias() || operands.size() != 2 ||
      followerOperands(kernel) != 0 || !areF32(kernel))
    return std::nullopt;
  return shapeOf(*back, toVector(operands[0]->shape()),
                 toVector(kernel.results()->Get(0)->shape()),
                 toVector(operands[1]->shape()));
}

std::vector<const WinogradLoops *> runtime::winogradLoops() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return forVectors<std::vector<const WinogradLoops *>>(
      {&winogradAVX512Of2, &winogradAVX512Of4},
      {&winogradAVX2Of2, &winogradAVX2Of4}, {});
#else
  return {};
#endif
}

//===----------------------------------------------------------------------===//
// The division of the work
//===----------------------------------------------------------------------===//

/// Tiles of a block, at most. What is between should fit into a second-level
/// cache, as it is written and read again; but where the weights do not, a
/// block reads them all, and larger blocks do so less often.
static int64_t mostTilesOf(const WinogradShape &shape,
                           const WinogradLoops &loops) {
  constexpr int64_t cachedWeights = int64_t{1} << 20; // In floats.
  bool cached =
      shape.channels * shape.filters * loops.points() <= cachedWeights;
  return (cached ? 36 : 72) * (loops.tile == 2 ? 2 : 1);
}

/// Products of a block are made for as many filters at a time as keep them in a
/// cache.
static int64_t panelsAtOnceOf(int64_t panels, int64_t tiles,
                              const WinogradLoops &loops) {
  constexpr int64_t mostFloats = int64_t{1} << 18;
  int64_t one = loops.points() * tiles * loops.panel();
  int64_t parts = divideUp(panels, std::max<int64_t>(4, mostFloats / one));
  return divideUp(panels, parts);
}

WinogradPlan::WinogradPlan(const WinogradShape &shape,
                           const WinogradLoops &loops, size_t threads)
    : shape_(shape), loops_(&loops), threads_(std::max<size_t>(1, threads)),
      tiling_(shape, loops.tile),
      panels_(divideUp(shape.filters, loops.panel())) {
  auto all = static_cast<int64_t>(threads_);
  blocks_ = divideUp(tiles(), mostTilesOf(shape, loops));
  if (shape.groups * blocks_ >= all)
    blocks_ = divideUp(blocks_ * shape.groups, all) * all / shape.groups;
  else // Threads transform the same source, each for filters of its own.
    splits_ = std::min(panels_, divideUp(all, shape.groups * blocks_));
  blocks_ = std::clamp<int64_t>(blocks_, 1, tiles());
  mostTiles_ = divideUp(tiles(), blocks_);
  panelsAtOnce_ = panelsAtOnceOf(divideUp(panels_, splits_), mostTiles_, loops);
}

WinogradItem WinogradPlan::item(int64_t index) const {
  int64_t split = index % splits_, block = index / splits_ % blocks_;
  return {index / splits_ / blocks_, tiles() * block / blocks_,
          tiles() * (block + 1) / blocks_, panels_ * split / splits_,
          panels_ * (split + 1) / splits_};
}

int64_t WinogradPlan::sourceRow() const {
  return divideUp(shape_.channels, gap) * gap + gap;
}

int64_t WinogradPlan::threadFloats() const {
  int64_t pixels = divideUp(shape_.channels, gap) * gap +
                   divideUp(shape_.filters, gap) * gap;
  return loops_->points() * (sourcePoint() + productPoint()) + pixels;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

// Times are counted in multiplications of a product at full speed (8 at a time
// with AVX2). What was measured is in docs/Runtime.md.

double WinogradPlan::estimateDirect(const WinogradShape &shape) {
  auto results = static_cast<double>(shape.images * shape.groups *
                                     shape.resultHeight * shape.resultWidth);
  return 1.25 * 9 * results * static_cast<double>(shape.channels) *
         static_cast<double>(shape.filters);
}

double WinogradPlan::estimate() const {
  // Wider vectors multiply faster, and move as many bytes as narrow ones.
  double wider = static_cast<double>(loops_->width) / 8;
  auto rows = static_cast<double>(shape_.groups * loops_->points() * tiles());
  auto channels = static_cast<double>(shape_.channels),
       filters = static_cast<double>(panels_ * loops_->panel());
  // Weights come from memory, unless they are few enough to stay in a cache.
  // Processors with AVX-512 that were measured have larger caches.
  constexpr double cachedFloats = 1 << 18;
  double fromMemory = wider > 1 ? 7 : 10;
  auto weights = static_cast<double>(weightFloats());
  double reads = 4 * std::min(weights, cachedFloats) +
                 fromMemory * std::max(0.0, weights - cachedFloats);
  double transform = shape_.constantWeights ? 0 : 45 * weights;
  return rows * channels * filters + 20 * wider * rows * (channels + filters) +
         wider * (reads + transform);
}

std::optional<WinogradPlan> runtime::planWinograd(const WinogradShape &shape,
                                                  size_t threads) {
  // Weights of larger tiles take 2.25 times as much memory: where that is much,
  // they have to be clearly faster.
  constexpr int64_t smallWeights = int64_t{1} << 20; // In floats.
  constexpr double clearly = 0.9;
  std::optional<WinogradPlan> best;
  // Weights that change come from memory and go back to it.
  double least =
      (shape.constantWeights ? 1 : 0.9) * WinogradPlan::estimateDirect(shape);
  for (const WinogradLoops *loops : winogradLoops()) {
    WinogradPlan plan(shape, *loops, threads);
    bool small = !best || plan.weightFloats() <= smallWeights;
    if (double time = plan.estimate(); time < (small ? 1 : clearly) * least) {
      least = time;
      best = plan;
    }
  }
  return best;
}
