//===- JoinKernel.h - Joins of partial results within a GPU -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_JOINKERNEL_H
#define SOAP_LIB_RUNTIME_CUDA_JOINKERNEL_H

#include "CUDA/Device.h"

namespace soap::runtime::cuda {

/// Joins elements of several tensors of one GPU, in their order, as
/// reduceElements() does on the host.
class JoinKernel {
public:
  /// Tensors that one launch joins.
  static constexpr size_t kSources = 8;

  /// The kernel of a GPU, compiled at the first call; null for what is left to
  /// the host.
  static const JoinKernel *of(const Gpu &gpu, fb::Combine combine,
                              fb::ElementType element);

  /// Enqueues target[i] = sources[0][i] op sources[1][i] ...; the target may be
  /// one of the sources, of which there is at least one and at most kSources.
  void launch(CudaStream &stream, const std::vector<DevicePointer> &sources,
              DevicePointer target, uint64_t bytes) const;

  JoinKernel(const Gpu &gpu, const std::string &text, uint64_t elementBytes);

private:
  Module module_;
  CUfunction function_;
  uint64_t elementBytes_;
};

/// The PTX of a join; "" for what is left to the host.
std::string joinKernelText(fb::Combine combine, fb::ElementType element);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_JOINKERNEL_H
