//===- WinogradPlan.h - How a convolution runs by Winograd ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result is cut into tiles of 2x2 or 4x4, tiles into blocks. A block is
// transformed, multiplied and transformed back before the next one, so that
// what lies between stays in a cache.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_WINOGRADPLAN_H
#define SOAP_LIB_RUNTIME_CPU_WINOGRADPLAN_H

#include "CPU/CPUKernels.h"
#include "CPU/WinogradLoops.h"
#include <optional>
#include <vector>

namespace soap::runtime {

/// A convolution of 3x3 with stride and dilation 1 of a [images, groups *
/// channels, height, width] source.
struct WinogradShape {
  int64_t images = 0, groups = 1;
  int64_t channels = 0, filters = 0; ///< Of a group.
  int64_t height = 0, width = 0, resultHeight = 0, resultWidth = 0;
  int64_t padTop = 0, padLeft = 0;
  /// A transposed convolution, as the gradient of another one's source is:
  /// weights [groups * channels, filters, 3, 3] that are turned by half a
  /// circle, in place of [groups * filters, channels, 3, 3].
  bool transposed = false;
  /// Whether weights are the same in every run.
  bool constantWeights = true;
};

/// The shape of a kernel that is such a convolution of f32, or the transposed
/// one of such a convolution, and may be computed so; nothing for other
/// kernels.
std::optional<WinogradShape> winogradShape(const fb::Kernel &kernel,
                                           bool constantWeights = true);

/// A part of the work: tiles of all images, and panels of filters of a group.
struct WinogradItem {
  int64_t group, tileBegin, tileEnd, panelBegin, panelEnd;
};

/// The results of all images, cut into tiles of `side` x `side`.
struct WinogradTiles {
  int64_t side, down, across, count;

  WinogradTiles(const WinogradShape &shape, int64_t side)
      : side(side), down(divideUp(shape.resultHeight, side)),
        across(divideUp(shape.resultWidth, side)),
        count(shape.images * down * across) {}

  /// The first result of a tile.
  struct Corner {
    int64_t image, row, column;
  };
  Corner cornerOf(int64_t tile) const {
    return {tile / across / down, tile / across % down * side,
            tile % across * side};
  }
};

/// A group of the channels of a tensor with channels last, [images, height,
/// width, allChannels].
struct WinogradImage {
  const float *first;
  int64_t height, width, allChannels;
  const float *zeros; ///< For pixels outside.

  /// `side` x `side` pixels, row by row, from the one at `corner` on.
  void collect(const WinogradTiles::Corner &corner, int64_t side,
               const float **pixels) const {
    const float *image = first + corner.image * height * width * allChannels;
    for (int64_t i = 0; i != side; ++i)
      for (int64_t j = 0; j != side; ++j) {
        int64_t y = corner.row + i, x = corner.column + j;
        bool inside = y >= 0 && y < height && x >= 0 && x < width;
        pixels[i * side + j] =
            inside ? image + (y * width + x) * allChannels : zeros;
      }
  }
};

/// Points and results of the largest tiles.
constexpr int64_t mostWinogradPoints = 36, mostWinogradResults = 16;

class WinogradPlan {
public:
  WinogradPlan(const WinogradShape &shape, const WinogradLoops &loops,
               size_t threads);

  const WinogradShape &shape() const { return shape_; }
  const WinogradLoops &loops() const { return *loops_; }

  const WinogradTiles &tiling() const { return tiling_; }
  int64_t tiles() const { return tiling_.count; }
  /// Of the filters of a group.
  int64_t panels() const { return panels_; }

  /// How many items there are, of any threads; and each of them. All together
  /// are the convolution, none overlaps another.
  int64_t items() const { return shape_.groups * blocks_ * splits_; }
  WinogradItem item(int64_t index) const;

  /// @{ Floats of the transformed weights: of a panel at a point, of all panels
  /// of a group there, and of everything ([group, point, panel, channel,
  /// filter]).
  int64_t panelFloats() const { return shape_.channels * loops_->panel(); }
  int64_t pointFloats() const { return panels_ * panelFloats() + gap; }
  int64_t weightFloats() const {
    return shape_.groups * loops_->points() * pointFloats();
  }
  /// @}

  /// @{ What a thread needs for itself, in floats: the transformed source of an
  /// item as [point, tile, channel], its products as [point, tile, filter] of
  /// as many panels as are made at a time, a pixel of zeros beside the source,
  /// and one for what lies beside the result. Rows and points are set apart by
  /// more than they need, as addresses that differ by a power of two share a
  /// place in a cache.
  int64_t sourceRow() const;
  int64_t sourcePoint() const { return mostTiles_ * sourceRow() + gap; }
  int64_t productRow() const { return panelsAtOnce_ * loops_->panel(); }
  int64_t productPoint() const { return mostTiles_ * productRow() + gap; }
  int64_t threadFloats() const;
  /// @}

  int64_t panelsAtOnce() const { return panelsAtOnce_; }
  size_t threads() const { return threads_; }

  /// What it takes, in the time of a product's multiplications: a direct
  /// convolution and its gradients have their own estimate. All were fitted to
  /// measured times (docs/Runtime.md).
  double estimate() const;
  static double estimateDirect(const WinogradShape &shape);

  static constexpr int64_t gap = 16;

private:
  WinogradShape shape_;
  const WinogradLoops *loops_;
  size_t threads_;
  WinogradTiles tiling_;
  int64_t panels_;
  int64_t blocks_ = 1, splits_ = 1; ///< Of tiles, of panels.
  int64_t mostTiles_ = 0, panelsAtOnce_ = 0;
};

/// The loops that this processor can run, as far as the library may use it, too
/// (ONEDNN_MAX_CPU_ISA).
std::vector<const WinogradLoops *> winogradLoops();

/// The fastest way to run a convolution so, or nothing where a direct one is
/// faster or the processor has no loops.
std::optional<WinogradPlan> planWinograd(const WinogradShape &shape,
                                         size_t threads);

/// The kernel of a plan whose shape is that of `kernel`.
std::unique_ptr<Kernel> makeWinogradKernel(const fb::Kernel &kernel,
                                           const WinogradPlan &plan);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_WINOGRADPLAN_H
