//===- ChannelsLastKernel.h - Convolutions with channels last ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What our own convolutions share: tensors that are row-major are reordered in
// every run, weights are packed when a kernel is bound if they are constant and
// else in every run, and followers are applied inside of the loops.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_CHANNELSLASTKERNEL_H
#define SOAP_LIB_RUNTIME_CPU_CHANNELSLASTKERNEL_H

#include "CPU/CPUKernels.h"
#include "CPU/VectorFollowers.h"
#include <optional>

namespace soap::runtime {

/// Tensors with channels last, and what else a loop works on.
struct ChannelsLastBuffers {
  const float *source = nullptr, *weights = nullptr; ///< Packed weights.
  float *result = nullptr, *scratch = nullptr;
  VectorFollowers followers; ///< With the bias.
};

/// A convolution of tensors with channels last. It belongs to a kernel and to
/// all launches of it.
class ChannelsLastLoop {
public:
  virtual ~ChannelsLastLoop() = default;

  /// The name of the implementation.
  virtual std::string name() const = 0;
  /// Equal for equal packed weights of one operand.
  virtual std::string weightsLayout() const = 0;
  virtual int64_t weightFloats() const = 0;
  virtual void packWeights(const float *weights, float *to) const = 0;
  /// Of scratch memory, on all threads.
  virtual int64_t scratchFloats() const = 0;
  virtual void run(const ChannelsLastBuffers &buffers) const = 0;
};

/// Shapes of a convolution, none of them without elements: in groups from
/// [images, channels, ...] and weights [filters, channels of a group, ...] to
/// [images, filters, ...], or of a transposed one from the last to the first.
struct ConvolutionShapes {
  int64_t groups = 1;
  Shape source, weights, result;
};
/// Those of a kernel that is a convolution or a transposed one, all of f32, and
/// of which loops apply all followers. Pads and strides were not looked at.
std::optional<ConvolutionShapes> convolutionShapes(const fb::Kernel &kernel);

/// Whether the source or the result has channels last.
bool touchesChannelsLast(const fb::Kernel &kernel);

/// The kernel of a convolution whose followers are such.
std::unique_ptr<Kernel>
makeChannelsLastKernel(const fb::Kernel &kernel,
                       std::shared_ptr<const ChannelsLastLoop> loop,
                       bool constantWeights = true);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_CHANNELSLASTKERNEL_H
