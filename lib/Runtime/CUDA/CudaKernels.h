//===- CudaKernels.h - Kernels of the CUDA backend --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_CUDAKERNELS_H
#define SOAP_LIB_RUNTIME_CUDA_CUDAKERNELS_H

#include "CUDA/Device.h"

namespace soap::runtime::cuda {

/// BackendDevice::makeKernel() of CUDA.
std::unique_ptr<Kernel> makeCudaKernel(CudaDevice &device,
                                       const fb::Kernel &kernel,
                                       const std::vector<bool> &constant,
                                       const NativeCode &native);

/// A product by cuBLASLt; null for what it lacks, and for operands that do not
/// fit the table. `kernel` outlives the result.
std::unique_ptr<Kernel> makeMatMulKernel(CudaDevice &device,
                                         const fb::Kernel &kernel);

/// A convolution, or a gradient of one, by cuDNN; null for what it lacks.
/// `kernel` outlives the result.
std::unique_ptr<Kernel> makeConvolutionKernel(CudaDevice &device,
                                              const fb::Kernel &kernel);

/// A kernel of the model's own code: the launches that the table describes.
std::unique_ptr<Kernel> makeNativeKernel(CudaDevice &device,
                                         const fb::Kernel &kernel,
                                         const NativeCode &native);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_CUDAKERNELS_H
