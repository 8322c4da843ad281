//===- CopyKernel.h - Copies of boxes within a GPU --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_COPYKERNEL_H
#define SOAP_LIB_RUNTIME_CUDA_COPYKERNEL_H

#include "CUDA/Device.h"

namespace soap::runtime::cuda {

/// The PTX of kernels that copy boxes, an entry per width of the elements that
/// a thread moves.
std::string copyKernelText();

/// Copies of boxes on one GPU.
class CopyKernel {
public:
  /// Dims of a box that one launch copies; the host loops over others.
  static constexpr size_t kDims = 6;

  /// The kernels of a GPU, compiled at the first call.
  static const CopyKernel &of(const Gpu &gpu);

  /// Enqueues a copy of at least one byte.
  void launch(CudaStream &stream, const StridedCopy &box, DevicePointer from,
              DevicePointer to) const;

  explicit CopyKernel(const Gpu &gpu);

private:
  Module module_;
  CUfunction functions_[5]; ///< By the logarithm of the width in bytes.
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_COPYKERNEL_H
