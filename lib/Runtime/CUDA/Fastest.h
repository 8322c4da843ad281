//===- Fastest.h - Implementations chosen by measurement --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_FASTEST_H
#define SOAP_LIB_RUNTIME_CUDA_FASTEST_H

#include "CUDA/Device.h"
#include <functional>

namespace soap::runtime::cuda {

/// Enqueues one of several implementations of a kernel, which writes to
/// `result`.
using EnqueueProposal = std::function<void(CudaStream &stream, size_t proposal,
                                           DevicePointer result)>;

/// The fastest of `count` proposals, measured on the first call for a `key` and
/// GPU in this process. They write to memory of their own, of `resultBytes`:
/// what lies in the buffers is left as it is. Where there is no memory for
/// that, the first one.
size_t fastestProposal(CudaDevice &device, const std::string &key,
                       uint64_t resultBytes, size_t count,
                       const EnqueueProposal &enqueue);
/// The same for a kernel and its only result.
size_t fastestProposal(CudaDevice &device, const fb::Kernel &kernel,
                       size_t count, const EnqueueProposal &enqueue);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_FASTEST_H
