//===- WinogradFilter.h - Gradients of weights by Winograd ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of the weights of a 3x3 convolution: tiles of the source and of
// the gradient of the result are transformed, block by block, and multiplied at
// each point; the sums over all tiles are transformed to weights at the end.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_WINOGRADFILTER_H
#define SOAP_LIB_RUNTIME_CPU_WINOGRADFILTER_H

#include "CPU/WinogradPlan.h"

namespace soap::runtime {

/// The shape of the convolution, if a kernel is the gradient of its weights;
/// nothing for other kernels.
std::optional<WinogradShape> winogradFilterShape(const fb::Kernel &kernel);

class WinogradFilterPlan {
public:
  WinogradFilterPlan(const WinogradShape &shape, const WinogradLoops &loops,
                     size_t threads);

  const WinogradShape &shape() const { return shape_; }
  const WinogradLoops &loops() const { return *loops_; }
  const WinogradTiles &tiling() const { return tiling_; }
  size_t threads() const { return threads_; }
  int64_t panels() const { return panels_; }

  /// Tiles are transformed and multiplied block by block.
  int64_t blocks() const { return blocks_; }
  int64_t blockBegin(int64_t block) const {
    return tiling_.count * block / blocks_;
  }

  /// @{ Scratch memory, in floats: the source and the gradient of a block as
  /// [point, tile, channel or filter], the sums as [point, panel, channel,
  /// filter], and a pixel of zeros.
  int64_t sourceRow() const;
  int64_t sourcePoint() const;
  int64_t gradientRow() const;
  int64_t gradientPoint() const;
  int64_t sumsPanel() const { return shape_.channels * loops_->panel(); }
  int64_t sumsPoint() const {
    return panels_ * sumsPanel() + WinogradPlan::gap;
  }
  int64_t zeroFloats() const;
  int64_t scratchFloats() const;
  /// @}

  /// As WinogradPlan::estimate().
  double estimate() const;

private:
  int64_t mostTiles() const { return divideUp(tiling_.count, blocks_); }

  WinogradShape shape_;
  const WinogradLoops *loops_;
  size_t threads_;
  WinogradTiles tiling_;
  int64_t panels_, blocks_;
};

/// The fastest way to compute a gradient so, or nothing where a direct one is
/// faster or the processor has no loops.
std::optional<WinogradFilterPlan> planWinogradFilter(const WinogradShape &shape,
                                                     size_t threads);

/// The kernel of a plan whose shape is that of `kernel`.
std::unique_ptr<Kernel>
makeWinogradFilterKernel(const fb::Kernel &kernel,
                         const WinogradFilterPlan &plan);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_WINOGRADFILTER_H
