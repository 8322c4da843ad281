//===- WidenKernel.h - 16-bit floats to f32, with a bias --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_WIDENKERNEL_H
#define SOAP_LIB_RUNTIME_CUDA_WIDENKERNEL_H

#include "CUDA/Device.h"

namespace soap::runtime::cuda {

/// to[i] = from[i] + bias[i / plane % channels], where `from` is of f16 or
/// bf16, and the others are of f32.
class WidenKernel {
public:
  struct Work {
    uint64_t count;    ///< Elements.
    uint64_t plane;    ///< Elements of a channel that follow one another.
    uint64_t channels; ///< Elements of the bias.
  };

  /// Elements that one launch widens: indices are of 32 bits.
  static constexpr uint64_t kMost = uint64_t{1} << 31;

  /// The kernel of a GPU, for `element`: F16 or BF16.
  static const WidenKernel &of(const Gpu &gpu, fb::ElementType element);
  WidenKernel(const Gpu &gpu, fb::ElementType element);

  /// `bias` may be null. Addresses are multiples of 16. Throws if there are
  /// more than 2^31 elements.
  void launch(CudaStream &stream, const Work &work, DevicePointer from,
              std::optional<DevicePointer> bias, DevicePointer to) const;

private:
  Module module_;
  CUfunction one_, four_; ///< A thread widens so many elements at a time.
};

/// The text of both.
std::string widenKernelText(fb::ElementType element);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_WIDENKERNEL_H
